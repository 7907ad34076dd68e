package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// lintLevels are the values of --lint, the default first.
var lintLevels = []string{"auto", "all", "faults", "off"}

// linting applies the rules of package lint, and the projects' settings for them, in one
// run over any number of schemas.
type linting struct {
	*app
	level string
	quiet bool // "auto" is "faults" where there are no settings
	cfg   schema.Config

	byDir  map[string]*settings
	byFile map[string]*settings
}

// settings are those of one .formwork.json, may be nil.
type settings struct {
	*lint.Settings
	filter   *lint.Filter
	problems diag.List
}

// settingsOf finds the settings that govern a folder.
func (l *linting) settingsOf(dir string) (*settings, error) {
	if known := l.byDir[dir]; known != nil {
		return known, nil
	}
	if l.byDir == nil {
		l.byDir, l.byFile = map[string]*settings{}, map[string]*settings{}
	}
	path := lint.FindSettings(dir)
	s := l.byFile[path]
	if s == nil {
		s = &settings{filter: (*lint.Settings)(nil).Filter()}
		if path != "" {
			data, err := readSchemaFile(path)
			if err != nil {
				return nil, fmt.Errorf("read the settings: %w", err)
			}
			s.Settings, s.problems = lint.ParseSettings(l.shown(path), data)
			s.filter = s.Filter()
		}
		l.byFile[path] = s
	}
	l.byDir[dir] = s
	return s, nil
}

// config selects the rules for the schemas of a folder; run is false for none.
func (l *linting) config(dir string) (cfg lint.Config, run bool, err error) {
	s, err := l.settingsOf(dir)
	if err != nil {
		return lint.Config{}, false, err
	}
	switch l.level {
	case "off":
		return lint.Config{}, false, nil
	case "faults":
		cfg.FaultsOnly = true
	case "auto":
		cfg.FaultsOnly = l.quiet && s.Settings == nil
	}
	return cfg, true, nil
}

// judge adds to the problems of one schema, or of a project without one, what lint says,
// and applies the settings of the folder.
func (l *linting) judge(dir string, s *schema.Schema, problems diag.List) (diag.List, error) {
	cfg, run, err := l.config(dir)
	if err != nil {
		return nil, err
	}
	if run && s != nil {
		problems = append(problems, lint.Run(s, cfg)...)
	}
	out, err := l.apply(dir, typeName(s), problems)
	return append(out, l.finish()...), err
}

// apply has the settings of a folder change and suppress problems. Unless all rules are demanded, what two of them report
// is shown once.
func (l *linting) apply(dir, typeName string, problems diag.List) (diag.List, error) {
	s, err := l.settingsOf(dir)
	if err != nil {
		return nil, err
	}
	problems = s.filter.Apply(problems, typeName)
	if l.level == "auto" {
		problems = lint.WithoutTwins(problems)
	}
	return problems, nil
}

// finish returns the problems of the settings themselves. Suppressions without use are
// among them only if all rules have run.
func (l *linting) finish() diag.List {
	var out diag.List
	for _, s := range l.byFile {
		out.Add(s.problems...)
		if l.level == "all" || l.level == "auto" {
			out.Add(s.filter.Unused()...)
		}
	}
	return out
}

func typeName(s *schema.Schema) string {
	if s == nil {
		return ""
	}
	return s.TypeName.Value
}

// A subject is a schema file or a project that is to be checked.
type subject struct {
	name    string // as messages call it
	project bool
}

// validatePaths checks schema files, projects, and folders of them.
func (c *app) validatePaths(ctx context.Context, paths []string, level string) error {
	var subjects []subject
	for _, path := range paths {
		found, err := c.subjects(path)
		if err != nil {
			return err
		}
		subjects = append(subjects, found...)
	}
	subjects = unique(subjects)
	cfg, err := c.schemaConfig(ctx)
	if err != nil {
		return err
	}
	cfg.Remote = fetchOnce(cfg.Remote)
	l := &linting{app: c, level: level, cfg: cfg}
	problems, err := l.judgeAll(ctx, subjects)
	if err != nil {
		return err
	}
	if err := c.printer(c.source).Print(c.Stdout, problems, c.format); err != nil {
		return err
	}
	if c.format == "text" {
		c.printf("%s\n", verdict(len(subjects), problems))
	}
	if problems.HasErrors() {
		return &exitError{code: exitFailure}
	}
	return nil
}

func unique(subjects []subject) []subject {
	seen := map[string]bool{}
	return slices.DeleteFunc(subjects, func(s subject) bool {
		key := filepath.Clean(s.name)
		again := seen[key]
		seen[key] = true
		return again
	})
}

// verdict is the last line of the text format.
func verdict(n int, problems diag.List) string {
	return fmt.Sprintf("%s checked: %s, %s.", words.Count(n, "schema"), words.Count(problems.Count(diag.Error), "error"), words.Count(problems.Count(diag.Warning), "warning"))
}

// subjects finds the documents for a path of the command line.
func (c *app) subjects(path string) ([]subject, error) {
	info, err := os.Stat(c.path(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, withHint(fmt.Errorf("no such file or folder: %s", path), "a PATH is a schema file, the folder of a project, or a folder of schemas")
	case err != nil:
		return nil, err
	case !info.IsDir() && filepath.Base(path) == project.SettingsFile:
		return []subject{{filepath.Dir(path), true}}, nil
	case !info.IsDir():
		return []subject{{path, false}}, nil
	case isProject(c.path(path)):
		return []subject{{path, true}}, nil
	}
	entries, err := os.ReadDir(c.path(path))
	if err != nil {
		return nil, err
	}
	var out []subject
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		switch {
		case entry.IsDir():
			if isProject(c.path(name)) {
				out = append(out, subject{name, true})
			}
		case isDocument(name) && entry.Type().IsRegular():
			if data, err := readSchemaFile(c.path(name)); err == nil && looksLikeSchema(name, data) {
				out = append(out, subject{name, false})
			}
		}
	}
	if len(out) == 0 {
		return nil, withHint(fmt.Errorf("folder %s does not contain a schema", path), "cfn looks for JSON and YAML files with a typeName and for projects directly below the folder")
	}
	return out, nil
}

// isDocument reports from its name whether a file of a folder may be a schema.
func isDocument(name string) bool {
	return slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(name)))
}

// typeNameLine matches the start of a member of the outermost mapping of YAML.
var typeNameLine = lazyregexp.New(`(?m)^["']?typeName["']?[ \t]*:`)

// looksLikeSchema reports whether a document has a typeName at its top level: a typeName
// further inside, as in a template, does not count. Documents with syntax errors count, so
// that the errors are reported.
func looksLikeSchema(name string, data []byte) bool {
	if !bytes.Contains(data, []byte("typeName")) {
		return false
	}
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return hasOuterKey(data, "typeName")
	}
	root, _ := document.Parse(name, data, document.Limits{})
	if root != nil {
		return root.Get("typeName") != nil
	}
	return typeNameLine.Match(data) || hasOuterKey(data, "typeName")
}

// hasOuterKey reports whether the outermost object of a text, which need not be wholly sound
// JSON, has a key. It reads no further than to the key.
func hasOuterKey(text []byte, key string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			start := i + 1
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth != 1 || i >= len(text) || string(text[start:i]) != key {
				continue
			}
			if rest := bytes.TrimLeft(text[i+1:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
				return true
			}
		}
	}
	return false
}

func isProject(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, project.SettingsFile))
	return err == nil && info.Mode().IsRegular()
}

// A finding is what came of one subject.
type finding struct {
	typeName string
	problems diag.List
	err      error
}

// judgeAll checks the subjects at once, as many as there are processors, and returns all
// problems in order.
func (l *linting) judgeAll(ctx context.Context, subjects []subject) (diag.List, error) {
	configs := make([]func(*schema.Schema) diag.List, len(subjects))
	for i, s := range subjects {
		cfg, run, err := l.config(l.dirOf(s))
		if err != nil {
			return nil, err
		}
		configs[i] = func(s *schema.Schema) diag.List {
			if !run || s == nil {
				return nil
			}
			return lint.Run(s, cfg)
		}
	}
	findings := make([]finding, len(subjects))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(subjects)) {
		workers.Go(func() {
			for i := range next {
				findings[i] = l.examine(subjects[i], configs[i])
			}
		})
	}
	for i := range subjects {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var out diag.List
	for i, f := range findings {
		if f.err != nil {
			return nil, f.err
		}
		problems, err := l.apply(l.dirOf(subjects[i]), f.typeName, f.problems)
		if err != nil {
			return nil, err
		}
		out.Add(problems...)
	}
	out.Add(l.finish()...)
	out.Sort()
	return out, nil
}

func (l *linting) dirOf(s subject) string {
	if s.project {
		return l.path(s.name)
	}
	return filepath.Dir(l.path(s.name))
}

// examine loads one subject and returns its problems.
func (l *linting) examine(s subject, more func(*schema.Schema) diag.List) finding {
	if s.project {
		return l.examineProject(s, more)
	}
	data, err := readSchemaFile(l.path(s.name))
	if err != nil {
		return finding{err: fmt.Errorf("read the schema: %w", err)}
	}
	loaded, problems := schema.Load(s.name, data, l.cfg)
	l.hintReferences(problems)
	return finding{typeName(loaded), append(problems, more(loaded)...), nil}
}

func (l *linting) examineProject(s subject, more func(*schema.Schema) diag.List) finding {
	label := s.name
	if filepath.Clean(l.path(label)) == filepath.Clean(l.Dir) {
		label = ""
	}
	p, problems, err := project.Open(l.path(s.name), label)
	if err != nil || p == nil {
		return finding{"", problems, err}
	}
	if p.Kind == schema.Module {
		_, found, err := p.Fragment()
		return finding{p.TypeName, append(problems, found...), err}
	}
	loaded, found, err := p.Schema(l.cfg)
	l.hintReferences(found)
	problems = append(problems, found...)
	if err == nil && !problems.HasErrors() {
		found, err = p.CheckExamples(loaded)
		problems = append(problems, found...)
	}
	return finding{p.TypeName, append(problems, more(loaded)...), err}
}
