package project

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
)

// maxUnpacked is what a function of Lambda may have in all.
const maxUnpacked = 250 << 20

// packPython adds the package with the handlers and their libraries as ResourceProvider.zip, and the
// sources beside it: the layout of the official plug-in.
func (p *Project) packPython(a *archiver, config ArchiveConfig) error {
	name := codegen.PythonPackage(p.TypeName)
	sources := "src/" + name
	if info, err := os.Stat(p.Path(sources)); err != nil || !info.IsDir() {
		return &BuildError{fmt.Sprintf("the project has no folder %s with its handlers", p.Name(sources)), "cfn init " + p.Language + " writes one"}
	}
	inner := newArchiver(a.ctx, p.Dir)
	if config.Libraries != "" {
		if err := inner.tree(config.Libraries, "", name); err != nil {
			return err
		}
	}
	if err := inner.tree(sources, name, ""); err != nil {
		return err
	}
	if err := a.provider(inner, "requirements.txt"); err != nil {
		return err
	}
	return a.tree(sources, sources, "")
}

// provider adds handlers and their libraries as ResourceProvider.zip. list is the file that names
// the libraries.
func (a *archiver) provider(inner *archiver, list string) error {
	if inner.size > maxUnpacked {
		return &BuildError{
			fmt.Sprintf("the handlers and their libraries have %d MB, more than the 250 MB of a Lambda function", inner.size>>20),
			"remove libraries from " + list,
		}
	}
	data, err := inner.finish()
	if err != nil {
		return err
	}
	a.add("ResourceProvider.zip", data, 0o644)
	return nil
}

// tree appends the files below a folder of the project under another name, but no compiled files. The
// entry skip of the folder itself is left out.
func (a *archiver) tree(from, to, skip string) error {
	entries, err := a.entries(from)
	if err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if name == "__pycache__" || strings.HasSuffix(name, ".pyc") || name == skip {
			continue
		}
		inside := path.Join(to, name)
		if entry.IsDir() {
			err = a.tree(from+"/"+name, inside, "")
		} else {
			err = a.file(from+"/"+name, inside, mode(entry))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mode is that of a file in the archive: whether it can be executed is kept.
func mode(entry fs.DirEntry) fs.FileMode {
	if info, err := entry.Info(); err == nil && info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}
