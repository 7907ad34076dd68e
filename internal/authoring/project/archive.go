package project

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// ArchiveConfig lists what an archive contains beside the project's own files.
type ArchiveConfig struct {
	// Version is that of this program; it is noted in .cfn_metadata.json.
	Version string

	// Schema is the schema of the type; nil for modules.
	Schema *schema.Schema

	// Fragment is the fragment of a module; nil for others.
	Fragment *module.Fragment

	// Libraries is the folder with what handlers in Python import, slash-separated and seen from
	// the project; "" for none. For TypeScript it contains node_modules.
	Libraries string

	// Built are the built files of handlers in TypeScript, likewise: those that npm packs.
	Built []string
}

// An Archive is a package that RegisterType takes.
type Archive struct {
	Data   []byte
	SHA256 string // hexadecimal
	Files  []string
}

// BuildError is the error of [Project.Archive] if the handlers are not built, or not built for
// Lambda. Hint is what to do.
type BuildError struct{ Message, Hint string }

func (e *BuildError) Error() string { return e.Message }

// UnsupportedLanguageError is the error of [Project.Archive] for handlers in a language
// whose build this program cannot run.
type UnsupportedLanguageError struct{ Language string }

func (e *UnsupportedLanguageError) Error() string {
	return fmt.Sprintf("packaging handlers in %s is not supported yet", e.Language)
}

// Archive packs the project. The same files give the same bytes: entries have a fixed
// order, a fixed time and fixed permissions.
//
// The layout is the official tool's. A hook's target schemas come from target-schemas/
// and target-info.json of the project.
//
// Errors: *[BuildError], *[UnsupportedLanguageError], *[diag.Invalid] for target schemas
// with faults, ctx's, or that of the file system.
func (p *Project) Archive(ctx context.Context, config ArchiveConfig) (*Archive, error) {
	a := newArchiver(ctx, p.Dir)
	if err := p.pack(a, config); err != nil {
		return nil, err
	}
	data, err := a.finish()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &Archive{Data: data, SHA256: hex.EncodeToString(sum[:]), Files: a.names}, nil
}

func (p *Project) pack(a *archiver, config ArchiveConfig) error {
	if s := config.Schema; s != nil && s.TypeConfiguration != nil {
		a.add("configuration-schema.json", encode(p.configurationSchema(s)), 0o644)
	}
	if err := a.file(SettingsFile, SettingsFile, 0o644); err != nil {
		return err
	}
	if p.Kind == schema.Module {
		if err := files.LinkOut(p.Dir, config.Fragment.File); err != nil {
			return fmt.Errorf("pack %s: %w", config.Fragment.File, err)
		}
		a.add(ModuleSchema, config.Fragment.Schema(p.TypeName), 0o644)
		a.add(FragmentsDir+"/"+path.Base(config.Fragment.File), config.Fragment.Data, 0o644)
		return p.packOverrides(a)
	}
	if err := a.file(p.SchemaFile(), "schema.json", 0o644); err != nil {
		return err
	}
	if err := a.folder(InputsDir, false); err != nil {
		return err
	}
	if p.Kind == schema.Hook {
		if err := p.packTargets(a, config.Schema); err != nil {
			return err
		}
	}
	if err := p.packHandlers(a, config); err != nil {
		return err
	}
	a.add(".cfn_metadata.json", encode(object{{"cli-version", config.Version}}), 0o644)
	return p.packOverrides(a)
}

func (p *Project) packOverrides(a *archiver) error {
	err := a.file(OverridesFile, OverridesFile, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// configurationSchema is the schema's typeConfiguration with the definitions that it may
// refer to and the name of the type.
func (p *Project) configurationSchema(s *schema.Schema) object {
	out := object{}
	for _, m := range s.Root.Get("typeConfiguration").Members {
		if m.Key != "definitions" && m.Key != "typeName" {
			out = append(out, pair{m.Key, m.Value})
		}
	}
	var definitions any = object{}
	if v := s.Root.Get("definitions"); v != nil {
		definitions = v
	}
	return append(out, pair{"definitions", definitions}, pair{"typeName", p.TypeName})
}

// Program is the file that Lambda runs, slash-separated, seen from the project.
func (p *Project) Program() string {
	if p.Entrypoint != "" && !strings.HasPrefix(p.Runtime, "provided") {
		return "bin/" + p.Entrypoint // the retired runtime go1.x
	}
	return "bin/bootstrap"
}

// CheckBuilt looks whether bin/ holds the programs that Lambda runs. The error is a
// *[BuildError], or that of the file system.
func (p *Project) CheckBuilt() error {
	err := p.checkProgram(p.Program(), "-o "+p.Program()+" ./cmd")
	if custom := p.CustomProgram(); err == nil && custom != "" {
		name := "bin/" + CustomFolder + path.Ext(p.Program())
		err = p.checkProgram(name, "-C "+CustomFolder+" -o ../"+name+" "+custom)
	}
	return err
}

// checkProgram looks whether a program can run in Lambda. The last argument has the options that it is built with.
func (p *Project) checkProgram(name, options string) error {
	hint := `build it with "make" or with: GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go build ` + options
	file, err := files.Open(p.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return &BuildError{fmt.Sprintf("the handlers are not built: %s does not exist", p.Name(name)), hint}
	}
	if err != nil {
		return fmt.Errorf("read the handlers: %w", err)
	}
	defer file.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(file, head); err == nil && string(head) == "#!" {
		return nil // a script
	}
	binary, err := elf.NewFile(file)
	if err != nil {
		return &BuildError{fmt.Sprintf("%s is not a program for Linux, on which the handlers run", p.Name(name)), hint}
	}
	defer func() { _ = binary.Close() }() // only read
	if binary.Machine != elf.EM_X86_64 {
		return &BuildError{fmt.Sprintf("%s is built for another processor than x86-64, on which the handlers run", p.Name(name)), hint}
	}
	return nil
}

// WriteArchive puts an archive into its place, whole or not at all.
func WriteArchive(path string, a *Archive) error {
	if err := files.Write(filepath.Dir(path), filepath.Base(path), a.Data, 0o644); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

// archiver writes a zip file whose bytes depend on its contents only.
type archiver struct {
	ctx   context.Context
	dir   string // the project
	out   bytes.Buffer
	zip   *zip.Writer
	names []string
	size  int64 // of all files, unpacked
	err   error // the first one; nothing is added after it
}

// epoch is the time of all entries, the first that the format can hold.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

func newArchiver(ctx context.Context, dir string) *archiver {
	a := &archiver{ctx: ctx, dir: dir}
	a.zip = zip.NewWriter(&a.out)
	return a
}

// add appends an entry. Archives inside of the archive are stored uncompressed.
func (a *archiver) add(name string, data []byte, mode fs.FileMode) {
	if a.err == nil {
		a.err = a.ctx.Err()
	}
	if a.err != nil {
		return
	}
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch()}
	if ext := path.Ext(name); ext == ".zip" || ext == ".jar" || len(data) == 0 {
		header.Method = zip.Store
	}
	header.SetMode(mode)
	w, err := a.zip.CreateHeader(header)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		a.err = fmt.Errorf("pack %s: %w", name, err)
		return
	}
	a.names = append(a.names, name)
	a.size += int64(len(data))
}

// maxPacked bounds one file of an archive; Lambda takes functions of up to 250 MB.
const maxPacked = 512 << 20

// file appends a file of the project, whose name there is from. A link is followed as long
// as it stays in the project: what leaves with the archive is to be seen in the project.
func (a *archiver) file(from, name string, mode fs.FileMode) error {
	if err := files.LinkOut(a.dir, from); err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	data, err := document.ReadFile(filepath.Join(a.dir, filepath.FromSlash(from)), maxPacked)
	if err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	a.add(name, data, mode)
	return a.err
}

// entries lists a folder of the project, sorted by name.
func (a *archiver) entries(name string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(filepath.Join(a.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	if err := files.LinkOut(a.dir, name); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		path := filepath.Join(a.dir, filepath.FromSlash(name), entry.Name())
		if info, err := os.Stat(path); entry.Type()&fs.ModeSymlink != 0 && err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a link to a folder; links are not packaged: replace it with the folder", name+"/"+entry.Name())
		}
	}
	return entries, nil
}

// folder appends the files of a folder, with those of the folders in it if it is deep. A
// folder that does not exist is empty.
func (a *archiver) folder(name string, deep bool) error {
	entries, err := a.entries(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	for _, entry := range entries {
		inside := name + "/" + entry.Name()
		if !entry.IsDir() {
			err = a.file(inside, inside, 0o644)
		} else if deep {
			err = a.folder(inside, deep)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// flat appends the files of a folder without the folder's name.
func (a *archiver) flat(name string, mode fs.FileMode) error {
	entries, err := a.entries(name)
	if err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		if err := a.file(name+"/"+entry.Name(), entry.Name(), mode); err != nil {
			return err
		}
	}
	return nil
}

func (a *archiver) finish() ([]byte, error) {
	if a.err != nil {
		return nil, a.err
	}
	if err := a.zip.Close(); err != nil {
		return nil, fmt.Errorf("pack the project: %w", err)
	}
	return a.out.Bytes(), nil
}
