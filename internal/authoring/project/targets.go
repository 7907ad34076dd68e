package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A Target is a resource type that a hook judges, as far as the project knows it.
type Target struct {
	Name   string         // the type name
	Schema *schema.Schema // nil if only target-info.json knows the type and contains no schema
	Info   *document.Value
}

// Targets collects the resource types that the hook's handlers name and that the project has
// schemas of: in target-schemas/, in the files and folders given as extra (absolute), in
// target-info.json, and in the files that [FindTargets] has found. Names with * or ? match all known types. The targets are sorted by name;
// missing are the unknown names without wildcards, and the wildcards that match nothing.
//
// STACK and CHANGE_SET are no resource types and are left out.
func (p *Project) Targets(s *schema.Schema, extra []string, found ...codegen.File) (targets []Target, missing []string, problems diag.List, err error) {
	known := map[string]*Target{}
	problems, err = p.readTargets(known, extra)
	for _, file := range found {
		// FindTargets has returned its warnings.
		if faults := addTarget(known, p.Name(file.Path), file.Data); faults.HasErrors() {
			problems = append(problems, faults...)
		}
	}
	if err != nil || problems.HasErrors() {
		return nil, nil, problems, err
	}
	targets, missing = named(s, known)
	return targets, missing, problems, nil
}

// named picks the targets that the handlers of a hook name.
func named(s *schema.Schema, known map[string]*Target) (targets []Target, missing []string) {
	wanted := map[string]bool{}
	for _, h := range s.Handlers {
		for _, pattern := range h.TargetNames {
			if pattern == schema.StackTarget || pattern == schema.ChangeSetTarget {
				continue
			}
			found := false
			for name := range known {
				if schema.MatchTarget(pattern, name) {
					found, wanted[name] = true, true
				}
			}
			if !found && !slices.Contains(missing, pattern) {
				missing = append(missing, pattern)
			}
		}
	}
	for name := range wanted {
		targets = append(targets, *known[name])
	}
	slices.SortFunc(targets, func(a, b Target) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(missing)
	return targets, missing
}

// TargetSchemas returns the schemas of those targets that have one.
func TargetSchemas(targets []Target) []*schema.Schema {
	var out []*schema.Schema
	for _, t := range targets {
		if t.Schema != nil {
			out = append(out, t.Schema)
		}
	}
	return out
}

// readTargets fills known from the project and from extra.
func (p *Project) readTargets(known map[string]*Target, extra []string) (diag.List, error) {
	var problems diag.List
	data, err := document.ReadFile(p.Path(TargetsFile), 4*maxDocument)
	if err == nil {
		problems = append(problems, p.readTargetInfo(known, data)...)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the hook's targets: %w", err)
	}
	files := map[string]string{} // from the path to the name in messages
	for _, place := range append([]string{p.Path(TargetsDir)}, extra...) {
		found, err := jsonFiles(place)
		if errors.Is(err, fs.ErrNotExist) && place == p.Path(TargetsDir) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the hook's targets: %w", err)
		}
		for _, file := range found {
			files[file] = p.labelled(file)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		data, err := document.ReadFile(file, maxDocument)
		if err != nil {
			return nil, fmt.Errorf("read the hook's targets: %w", err)
		}
		problems = append(problems, addTarget(known, files[file], data)...)
	}
	return problems, nil
}

// labelled is a path as messages show it.
func (p *Project) labelled(path string) string {
	if rel, err := filepath.Rel(p.Dir, path); err == nil && filepath.IsLocal(rel) {
		return p.Name(rel)
	}
	return path
}

// jsonFiles lists a file, or the .json files in a folder.
func jsonFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	return filepath.Glob(filepath.Join(files.Pattern(path), "*.json"))
}

// addTarget loads the schema of a target. Only what prevents its use is an error: the schema is
// not the hook author's.
func addTarget(known map[string]*Target, file string, data []byte) diag.List {
	s, problems := loadTarget(file, data)
	if s == nil || problems.HasErrors() {
		return problems
	}
	name := s.TypeName.Value
	t := known[name]
	if t == nil {
		t = &Target{Name: name}
		known[name] = t
	}
	if t.Schema != nil && string(t.Schema.Root.AppendJSON(nil)) != string(s.Root.AppendJSON(nil)) {
		return diag.List{{
			ID: "project/target-twice", At: s.TypeName.At, Pointer: "/typeName",
			Message: fmt.Sprintf("duplicate schema of %s with different content", name),
			Hint:    "remove one of them",
			Related: []diag.Note{{At: t.Schema.TypeName.At, Message: "the other one"}},
		}}
	}
	t.Schema = s
	return problems
}

// loadTarget returns a schema with a type name, or errors. One warning contains all that is
// ignored in the schema.
func loadTarget(file string, data []byte) (*schema.Schema, diag.List) {
	s, found := schema.Load(file, data, schema.Config{Kind: schema.Resource})
	problems, ignored := schema.Foreign(found)
	if s == nil || problems.HasErrors() {
		return nil, problems
	}
	if s.TypeName.Value == "" {
		return nil, diag.List{{ID: "project/target-schema", At: s.Root.At, Message: "the schema has no typeName: it is not known which resource type it is of", Hint: "add typeName, or remove the file"}}
	}
	if len(ignored) == 0 {
		return s, nil
	}
	const shown = 3
	messages := make([]string, 0, shown+1)
	for i, p := range ignored {
		if i == shown {
			messages = append(messages, words.Count(len(ignored)-shown, "other"))
			break
		}
		messages = append(messages, p.Message)
	}
	first := ignored[0]
	return s, diag.List{{
		ID: "project/target-schema", Severity: diag.Warning, At: first.At, Pointer: first.Pointer,
		Message: "ignored in the schema of " + s.TypeName.Value + ": " + strings.Join(messages, "; "),
	}}
}

// readTargetInfo reads target-info.json: {typeName: {"Schema": …, …}}.
func (p *Project) readTargetInfo(known map[string]*Target, data []byte) diag.List {
	root, problems := document.ParseJSON(p.Name(TargetsFile), data, document.Limits{Bytes: 4 * maxDocument})
	if root == nil || problems.HasErrors() {
		return problems
	}
	if root.Kind != document.Object {
		return diag.List{{ID: "project/wrong-type", At: root.At, Message: "the hook's targets are not a JSON object", Hint: `write {"TYPE NAME": {"Schema": {…}}}`}}
	}
	for _, m := range root.Members {
		t := &Target{Name: m.Key, Info: m.Value}
		known[m.Key] = t
		held := m.Value.Get("Schema")
		if held == nil {
			continue
		}
		s, found := loadTarget(p.Name(TargetsFile)+"#/"+m.Key, held.AppendJSON(nil))
		if found.HasErrors() {
			return found
		}
		problems = append(problems, found...)
		t.Schema = s
	}
	return problems
}

// packTargets adds the data of a hook's targets for the registry.
func (p *Project) packTargets(a *archiver, s *schema.Schema) error {
	targets, _, problems, err := p.Targets(s, nil)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return err
	}
	info := object{}
	for _, t := range targets {
		info = append(info, pair{t.Name, t.info()})
	}
	a.add(TargetsFile, encode(info), 0o644)
	for _, t := range targets {
		if t.Schema != nil {
			a.add(TargetsDir+"/"+schema.Hyphenated(t.Name)+".json", encode(t.Schema.Root), 0o644)
		}
	}
	return nil
}

// info is the target's member of target-info.json; what the project's own file says
// comes first.
func (t *Target) info() object {
	out := object{}
	has := map[string]bool{}
	if t.Info != nil {
		for _, m := range t.Info.Members {
			has[m.Key] = true
			out = append(out, pair{m.Key, m.Value})
		}
	}
	add := func(key string, value any) {
		if !has[key] {
			out = append(out, pair{key, value})
		}
	}
	add("TargetName", t.Name)
	add("TargetType", "RESOURCE")
	if t.Schema != nil {
		add("Schema", t.Schema.Root)
	}
	add("IsCfnRegistrySupportedType", true)
	add("SchemaFileAvailable", t.Schema != nil)
	return out
}
