// Package bundle reads the package that RegisterType takes: a zip file with the settings,
// the schema, the handlers and whatever else belongs to a version of an extension.
//
// A package is untrusted input. [Read] bounds its size, the number of its entries and their
// unpacked size; it refuses names that leave the folder, entries that are not regular files,
// archives whose two directories disagree, and the techniques of zip bombs. All problems are
// returned as one list with places inside of the zip file, as in
// "package.zip!/schema.json:3:14". The schema is checked as in the registry: its errors refuse
// the package, warnings do not, and it is not linted.
//
// [Bundle.Unpack] and [Cache] put the handlers on a disk, whole or not at all and nowhere
// but below the folder that was named.
//
// The layout is that of the official CloudFormation CLI and its language plug-ins. The
// format is PKWARE's APPNOTE 6.3.10, of which packages use the methods "stored" and
// "deflated"; several volumes and encryption are refused.
package bundle

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// Limits bound what is read. In a field, zero means the default.
type Limits struct {
	Packed   int64 // bytes of the zip file; 256 MiB
	Unpacked int64 // bytes of all its files, those of the handler archive included; 1 GiB
	Entries  int   // in the zip file and the handler archive together; 100,000
	Depth    int   // parts of a name; 32

	// Ratio bounds how many times larger than the zip file its contents are, which is only
	// checked beyond 1 MiB of contents; 200. Sources and programs have a ratio below 20.
	Ratio int64
}

func (l Limits) complete() Limits {
	orDefault(&l.Packed, 256<<20)
	orDefault(&l.Unpacked, 1<<30)
	orDefault(&l.Entries, 100_000)
	orDefault(&l.Depth, 32)
	orDefault(&l.Ratio, 200)
	return l
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Config configures how a package is read. The zero value accepts any package within the
// default limits.
type Config struct {
	// Label is what messages call the zip file. Empty means "package.zip".
	Label string

	// Kind and TypeName are those of the registration. A package of another kind or name is
	// rejected. Empty means those in the package.
	Kind     schema.Kind
	TypeName string

	Limits Limits
}

// A Bundle is a package without faults. It reads from the zip file as long as Files and
// Unpack are used.
type Bundle struct {
	Kind     schema.Kind
	TypeName string

	Schema     *schema.Schema
	SchemaText []byte // the content of schema.json

	Settings     project.Settings
	SettingsText []byte // the content of .rpdk-config

	// ConfigurationSchema describes the type configuration of the extension, without what
	// the service itself adds for hooks. Nil if the extension has none.
	ConfigurationSchema []byte

	// TargetInfo and TargetSchemas describe a hook's targets; nil if the package has none.
	TargetInfo    *document.Value
	TargetSchemas []*schema.Schema

	// Fragment is the template of a module; nil for others.
	Fragment *module.Fragment

	// Files has the folder inputs/ and the file overrides.json, if they exist.
	Files fs.FS

	// Handler is the code of the handlers; nil for modules, and for types without handlers.
	Handler *Handler

	archive *zip.File // of Handler
}

// Handler is the archive in the package that holds the code.
type Handler struct {
	Archive  string // its name in the package: "ResourceProvider.zip"
	Files    int
	Unpacked int64 // bytes
}

// Read reads a package of size bytes. The Bundle is nil if the list has error-severity
// problems; the list may contain warnings with a Bundle. The error means that r failed or that
// ctx ended, and nothing about the package.
func Read(ctx context.Context, r io.ReaderAt, size int64, config Config) (*Bundle, diag.List, error) {
	orDefault(&config.Label, "package.zip")
	config.Limits = config.Limits.complete()
	reader := &reader{ctx: ctx, config: config, limits: config.Limits}
	b, err := reader.run(r, size)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", config.Label, err)
	}
	reader.problems.Sort()
	if reader.problems.HasErrors() {
		return nil, reader.problems, nil
	}
	return b, reader.problems, nil
}

// reader reads one package.
type reader struct {
	ctx      context.Context
	config   Config
	limits   Limits // the remaining limits
	problems diag.List
}

// place is a file of the package as messages name it.
func (r *reader) place(name string) string { return r.config.Label + "!/" + name }

func (r *reader) add(id string, at diag.Range, message, hint string) {
	r.problems.Add(diag.Problem{ID: id, At: at, Message: message, Hint: hint})
}

// missing reports a missing required file.
func (r *reader) missing(name, what string) {
	r.add("package/missing-file", diag.Range{File: r.config.Label}, fmt.Sprintf("there is no %s, %s", name, what),
		"run cfn submit --dry-run to create a complete package")
}
