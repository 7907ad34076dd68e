// Package lsp is a language server for authors of extensions: it reports problems while they
// type, explains keywords, properties and rules, completes keywords, pointers and values, and
// finds the declaration of a name.
//
// It supports schemas of resource types, hooks and modules, type configurations, the inputs of
// contract tests, overrides.json, templates in JSON and YAML, and stack tests; it ignores every other document. Problems come from
// internal/authoring/schema, internal/authoring/template, internal/authoring/typecheck and the functions of [Config]; completions come from the same
// meta-schemas and schemas.
//
// [Serve] implements the language server protocol 3.17 (base protocol 0.9, JSON-RPC 2.0) with
// one client. Notifications are processed in their order. A request works on the document as
// it was when the request arrived, concurrently with later messages, and ends when it is
// canceled. Documents are usually invalid while a user types: [parseTree], [parseYAML], [cursorAt] and
// [yamlCursor] read every text, and never fail.
//
// The package opens files only through Config.ReadFile and starts no processes.
package lsp

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Project is the extension project of a file.
type Project struct {
	Dir        string      // absolute
	SchemaFile string      // absolute
	Kind       schema.Kind // of the extension
}

// An Explanation reports what a rule is about.
type Explanation struct {
	Purpose string // what it checks, one sentence
	Why     string // the consequence of a violation
	Example string // may be ""
}

// Config sets up a server. The zero Config serves schemas that are in no project.
type Config struct {
	Version string       // of this program, for the client's log
	Logger  *slog.Logger // nil discards

	// Debounce is how long a document must stay unchanged before it is checked again. Zero
	// means 150 ms.
	Debounce time.Duration

	// AfterFunc calls f in a separate goroutine after a time, unless stop is called before;
	// stop reports whether it prevented the call. Nil is time.AfterFunc.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)

	// ReadFile reads a whole file that is not an open document. Nil reads files of at most
	// 8 MiB from the disk.
	ReadFile func(path string) ([]byte, error)

	// FindProject returns the project of a file. With nil there are no projects, and inputs
	// and overrides are not recognized.
	FindProject func(path string) (Project, bool)

	// StackTests is the format of files of stack tests. Without it, they are not recognized.
	StackTests StackTests

	// Region is the region that templates are checked for. "" means us-east-1.
	Region string

	// Templates opens what the templates in folders refer to: types and modules. It is called again after files have
	// changed. With nil, the types of templates are not known.
	Templates func(ctx context.Context, folders []string) (*Templates, error)

	// Schema configures how schemas are loaded. Its Kind is not used.
	Schema schema.Config

	// Lint gets a schema, whose File is absolute, with the problems of its loading, and
	// returns the problems to show: more problems, or other severities. Nil shows the given
	// ones.
	Lint func(s *schema.Schema, found diag.List) diag.List

	// CheckInputs validates the inputs and the overrides in a project folder against the
	// schema. The open documents replace the files in the folder. Problems name files relative
	// to it, with slashes. With nil only the syntax is checked.
	CheckInputs func(project fs.FS, s *schema.Schema) (diag.List, error)

	// Explain knows the rules that internal/authoring/schema does not have. It may be nil.
	Explain func(id string) (Explanation, bool)
}

const maxFile = 8 << 20

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.Debounce == 0 {
		c.Debounce = 150 * time.Millisecond
	}
	if c.AfterFunc == nil {
		c.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	if c.ReadFile == nil {
		c.ReadFile = readFile
	}
	if c.FindProject == nil {
		c.FindProject = func(string) (Project, bool) { return Project{}, false }
	}
	return c
}

func readFile(path string) ([]byte, error) {
	return document.ReadFile(path, maxFile)
}

// ErrNoShutdown is the error of [Serve] for a client that exits without a shutdown request,
// for which the protocol requires exit code 1.
var ErrNoShutdown = errors.New("the client ended the session without a shutdown request")
