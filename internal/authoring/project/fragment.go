package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Fragment reads and checks the template fragment of a module: the rules of the user
// guide's chapter on modules, with the official tool's messages. The fragment is nil
// if it could not be read as a template.
func (p *Project) Fragment() (*module.Fragment, diag.List, error) {
	files, err := p.fragmentFiles()
	if err != nil {
		return nil, nil, fmt.Errorf("list the module's fragments: %w", err)
	}
	if problems := module.OneFragment(p.Name(FragmentsDir), files); problems != nil {
		return nil, problems, nil
	}
	data, err := document.ReadFile(p.Path(files[0]), maxDocument)
	if err != nil {
		return nil, nil, fmt.Errorf("read the module's fragment: %w", err)
	}
	f, problems := module.ParseFragment(files[0], p.Name(files[0]), data)
	return f, problems, nil
}

// fragmentFiles lists the templates in fragments/ and the folders below it, sorted.
func (p *Project) fragmentFiles() ([]string, error) {
	var files []string
	err := filepath.WalkDir(p.Path(FragmentsDir), func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) {
				return nil
			}
			return err
		}
		if !entry.IsDir() && module.IsFragment(entry.Name()) {
			rel, err := filepath.Rel(p.Dir, name)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	return files, err
}

// ModuleSchemaState compares schema.json of a module with its fragment. The file always counts
// as generated, because nothing else could be in it.
func (p *Project) ModuleSchemaState(f *module.Fragment) (State, error) {
	want := f.Schema(p.TypeName)
	data, err := document.ReadHead(p.Path(ModuleSchema), int64(len(want)+1))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing, nil
	case err != nil:
		return "", fmt.Errorf("read the module's schema: %w", err)
	case bytes.Equal(data, want):
		return Current, nil
	}
	return Stale, nil
}

// WriteModuleSchema updates schema.json and returns the state that it had.
func (p *Project) WriteModuleSchema(ctx context.Context, f *module.Fragment) (State, error) {
	state, err := p.ModuleSchemaState(f)
	if err != nil || state == Current {
		return state, err
	}
	b := batch{dir: p.Dir}
	b.put(ModuleSchema, f.Schema(p.TypeName))
	return state, b.run(ctx)
}
