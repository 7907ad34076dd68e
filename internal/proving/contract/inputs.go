package contract

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// An InputSet is what one run of the suite sends to the handlers: the files
// inputs/inputs_N_create.json, …_update.json and …_invalid.json.
type InputSet struct {
	Number  int
	Create  map[string]any // nil only in a set that is faulty
	Update  map[string]any // nil if there is no such file
	Invalid map[string]any // nil if there is no such file; no test of the core suite uses it

	// Tests are the inputs for single cases, by name and kind of input:
	// Tests["contract_create_read"]["create"]. They take precedence over those of the set.
	Tests map[string]map[string]map[string]any

	// Hook is what inputs_N_pre_create.json and its like say of the targets of a hook, by
	// the kind of input: Hook["pre_create"] = {target name: {"resourceProperties": {…}}}.
	Hook map[string]map[string]any

	// Wire is the encoding of scalars of this set. Empty means Config.Wire.
	Wire invoke.Wire
}

// Overrides replace parts of generated inputs: the file overrides.json.
type Overrides struct {
	Create []Override
	Update []Override // the same as Create if the file has no UPDATE

	// Hook are those of the targets of a hook, by the keys of the file
	// ("CREATE_PRE_PROVISION", "INVALID") and the names of the targets. Their pointers start
	// with resourceProperties or previousResourceProperties.
	Hook map[string]map[string][]Override
}

// An Override puts a value at a place of a model.
type Override struct {
	Pointer document.Pointer
	Value   any
}

// Exports finds the value of an export of a stack, for {{Name}} in an input.
type Exports func(name string) (value string, found bool)

// InputsConfig says where inputs come from.
type InputsConfig struct {
	// Files is the folder of the project, with inputs/ and overrides.json in it.
	Files fs.FS

	// Label is put before the names of files in messages, "" if the folder is the user's
	// working folder. Otherwise it ends in a slash.
	Label string

	Schema  *schema.Schema
	Exports Exports // may be nil

	// Env finds a variable of the environment for {{env:NAME}}. Nil finds none.
	Env func(name string) (value string, found bool)

	// NewToken generates the value of {{uuid}}. Nil means random UUIDs.
	NewToken func() string
}

// Inputs are all inputs of a project.
type Inputs struct {
	Sets      []InputSet // in the order of their numbers; none if they are to be generated
	Overrides *Overrides // may be nil; ignored if there are Sets
}

// maxInput bounds an input file.
const maxInput = 1 << 20

var inputFile = lazyregexp.New(`^inputs_(0|[1-9][0-9]*)_(.+?)(?:__([A-Za-z0-9_]+))?\.json$`)

// kinds are the kinds of input files in the order in which the official tool looks for
// their names within a file name.
var kinds = []string{
	"invalid_pre_create", "invalid_pre_update", "invalid_pre_delete",
	"pre_create", "pre_update", "pre_delete", "create", "update", "invalid",
}

// LoadInputs reads the inputs of a resource type. The error is that of the file system.
//
// Problems have the IDs of document.ParseJSON, and inputs/name, inputs/gap,
// inputs/duplicate, inputs/incomplete, inputs/export, inputs/environment, inputs/not-a-model, inputs/null,
// inputs/unknown-property, inputs/schema and inputs/valid (warnings), overrides/structure and
// overrides/pointer.
func LoadInputs(cfg InputsConfig) (*Inputs, diag.List, error) {
	l := &loader{cfg: cfg, uuids: map[int]string{}}
	sets, err := l.sets()
	if err != nil {
		return nil, nil, err
	}
	overrides, err := l.overrides()
	if err != nil {
		return nil, nil, err
	}
	if overrides != nil && len(sets) > 0 {
		l.report(diag.Warning, "overrides/unused", diag.Range{File: cfg.Label + "overrides.json"},
			"overrides.json has no effect, because there are inputs", "change the files in inputs/, or remove either the inputs or overrides.json")
	}
	return &Inputs{Sets: sets, Overrides: overrides}, l.problems, nil
}

type loader struct {
	cfg      InputsConfig
	problems diag.List
	uuids    map[int]string // by the numbers of sets, 0 for overrides.json
}

func (l *loader) report(severity diag.Severity, id string, at diag.Range, message, hint string) {
	l.problems.Add(diag.Problem{ID: id, Severity: severity, At: at, Message: message, Hint: hint})
}

func (l *loader) sets() ([]InputSet, error) {
	entries, err := fs.ReadDir(l.cfg.Files, "inputs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the inputs: %w", err)
	}
	found := map[int]map[string]string{} // set number → kind → file
	for _, entry := range entries {
		if number, kind, ok := l.classify(entry); ok {
			if found[number] == nil {
				found[number] = map[string]string{}
			}
			if other := found[number][kind]; other != "" {
				l.report(diag.Error, "inputs/duplicate", l.file(entry.Name()),
					fmt.Sprintf("duplicate %s input of set %d: %s and %s", kind, number, other, entry.Name()), "remove one of them")
				continue
			}
			found[number][kind] = entry.Name()
		}
	}
	var sets []InputSet
	expected := 1
	for _, number := range sortedNumbers(found) {
		if number > expected {
			l.report(diag.Warning, "inputs/gap", l.file(""), fmt.Sprintf("there are inputs_%d files but no inputs_%d files", number, expected),
				"the official tool stops at the first number without files; number the sets 1, 2, 3 …")
		}
		expected = number + 1
		set, err := l.set(number, found[number])
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func (l *loader) file(name string) diag.Range {
	return diag.Range{File: l.cfg.Label + "inputs/" + name}
}

// classify reads the name of a file in inputs/.
func (l *loader) classify(entry fs.DirEntry) (number int, kind string, ok bool) {
	name := entry.Name()
	if entry.IsDir() || strings.HasPrefix(name, ".") {
		return 0, "", false
	}
	match := inputFile.FindStringSubmatch(name)
	if match == nil {
		l.report(diag.Warning, "inputs/name", l.file(name), "the file is not used: its name is not the name of an input", l.names())
		return 0, "", false
	}
	number, err := strconv.Atoi(match[1])
	if err != nil || number == 0 {
		l.report(diag.Warning, "inputs/name", l.file(name), "the file is not used: sets are numbered from 1", "")
		return 0, "", false
	}
	for _, k := range kinds {
		if !strings.Contains(match[2], k) {
			continue
		}
		if hook := l.cfg.Schema.Kind == schema.Hook; hook != strings.Contains(k, "pre_") && k != "invalid" {
			l.report(diag.Warning, "inputs/name", l.file(name), "the file is not used: it is an input for a "+map[bool]string{true: "resource type", false: "hook"}[hook], l.names())
			return 0, "", false
		}
		if k != match[2] {
			l.report(diag.Warning, "inputs/name", l.file(name), fmt.Sprintf("the file is used as the %s input of set %d", k, number),
				fmt.Sprintf("rename it to inputs_%d_%s.json", number, k))
		}
		if match[3] != "" {
			if !knownTest(match[3]) {
				l.report(diag.Error, "inputs/name", l.file(name), "unknown test "+match[3], "run cfn test --suite all -- --collect-only to list the tests")
				return 0, "", false
			}
			k += testMark + match[3]
		}
		return number, k, true
	}
	l.report(diag.Warning, "inputs/name", l.file(name), "the file is not used: its name does not include the kind of input", l.names())
	return 0, "", false
}

// knownTest reports whether a test can have inputs of its own: those of a file inputs_N_KIND__TEST.json.
func knownTest(name string) bool {
	return name == stackReplaceName || slices.ContainsFunc(Cases, func(c Case) bool { return c.Name() == name })
}

// testMark stands between the kind of an input and the only case that it is for.
const testMark = "__"

// names are what input files may be called.
func (l *loader) names() string {
	if l.cfg.Schema.Kind == schema.Hook {
		return "name it inputs_N_pre_create.json, inputs_N_invalid_pre_create.json or alike"
	}
	return "name it inputs_N_create.json, inputs_N_update.json or inputs_N_invalid.json, and inputs_N_create__TEST.json if it is for one test"
}

func sortedNumbers(found map[int]map[string]string) []int {
	numbers := make([]int, 0, len(found))
	for n := range found {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

// set reads the files of a set, which are named by their kinds.
func (l *loader) set(number int, files map[string]string) (InputSet, error) {
	set := InputSet{Number: number}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		kind, test, _ := strings.Cut(key, testMark)
		model, doc, err := l.model("inputs/"+files[key], number)
		if err != nil {
			return set, err
		}
		switch {
		case l.cfg.Schema.Kind == schema.Hook:
			if set.Hook == nil {
				set.Hook = map[string]map[string]any{}
			}
			set.Hook[kind] = model
			continue
		case test != "":
			if set.Tests == nil {
				set.Tests = map[string]map[string]map[string]any{}
			}
			if set.Tests[test] == nil {
				set.Tests[test] = map[string]map[string]any{}
			}
			set.Tests[test][kind] = model
		case kind == "create":
			set.Create = model
		case kind == "update":
			set.Update = model
		case kind == "invalid":
			set.Invalid = model
		}
		if kind != "invalid" && doc != nil {
			l.check(doc, model)
		}
		if kind == "invalid" && doc != nil && len(l.cfg.Schema.Check(model, schema.CheckConfig{})) == 0 {
			l.report(diag.Warning, "inputs/valid", doc.At, "the invalid input is valid against the schema", "the test contract_create_invalid fails if the handler accepts it")
		}
	}
	if files["create"] == "" && l.cfg.Schema.Kind != schema.Hook {
		l.report(diag.Error, "inputs/incomplete", l.file(fmt.Sprintf("inputs_%d_create.json", number)),
			fmt.Sprintf("set %d has no create input", number), "every test starts with a create, and inputs are generated only if there are no input files")
	}
	return set, nil
}

// model reads an input file. It is recast by the schema, as handlers' answers are: people
// write "5" for 5 because that is what handlers in Go used to return.
func (l *loader) model(name string, set int) (map[string]any, *document.Value, error) {
	doc, err := l.read(name, set)
	if doc == nil || err != nil {
		return nil, nil, err
	}
	if doc.Kind != document.Object {
		l.report(diag.Error, "inputs/not-a-model", doc.At, fmt.Sprintf("an input must be an object with the properties of the resource but is a JSON %s", doc.Kind), "")
		return nil, nil, nil
	}
	model, _ := withoutNulls(doc.Any()).(map[string]any)
	if l.cfg.Schema.Kind == schema.Hook {
		return model, doc, nil
	}
	if recast, ok := l.cfg.Schema.Recast(model).(map[string]any); ok {
		model = recast
	}
	return model, doc, nil
}

// check compares an input with the schema: the service would refuse it before any handler
// saw it.
func (l *loader) check(doc *document.Value, model map[string]any) {
	if at, found := findNull(doc.Any(), nil); found {
		l.report(diag.Error, "inputs/null", doc.At, fmt.Sprintf("the input contains null at %s", at), "remove properties without a value: no handler can return them as requested")
	}
	var names []string
	for _, m := range l.cfg.Schema.Properties() {
		names = append(names, m.Key)
	}
	for _, m := range doc.Members {
		if l.cfg.Schema.Property(document.Pointer{m.Key}) == nil {
			l.report(diag.Error, "inputs/unknown-property", diag.Range{File: m.KeyAt.File, Start: m.KeyAt.Start, End: m.KeyAt.End},
				fmt.Sprintf("the schema has no property %s", m.Key), words.DidYouMean(m.Key, names))
		}
	}
	for _, v := range l.cfg.Schema.Check(model, schema.CheckConfig{}) {
		if v.Keyword == "additionalProperties" && len(v.Pointer) <= 1 {
			continue // already reported
		}
		at := doc.At
		if value := doc.Lookup(v.Pointer); value != nil {
			at = value.At
		}
		l.problems.Add(diag.Problem{ID: "inputs/schema", Severity: diag.Warning, At: at, Pointer: v.Pointer.String(), Message: named(v),
			Hint: "the service would reject this before calling the handler"})
	}
}

// named is the message of a violation with the property that it is about.
func named(v schema.Violation) string {
	if len(v.Pointer) == 0 {
		return "the model " + v.Message
	}
	return v.Pointer.String() + " " + v.Message
}

// read reads a JSON file and substitutes exports. The document is nil if it is missing or
// invalid.
func (l *loader) read(name string, set int) (*document.Value, error) {
	data, err := document.ReadFS(l.cfg.Files, name, maxInput)
	var large *document.TooLargeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.As(err, &large):
		l.report(diag.Error, "inputs/not-a-model", diag.Range{File: l.cfg.Label + name}, fmt.Sprintf("the file is larger than %d bytes", large.Max), "")
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the inputs: %w", err)
	}
	data, ok := l.substitute(name, set, data)
	if !ok {
		return nil, nil
	}
	doc, problems := document.ParseJSON(l.cfg.Label+name, data, document.Limits{Depth: 100})
	l.problems.Add(problems...)
	if problems.HasErrors() {
		return nil, nil
	}
	return doc, nil
}

// withoutNulls copies a model without members that are null.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if value != nil {
				out[key] = withoutNulls(value)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutNulls(item)
		}
		return out
	}
	return v
}
