package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// SettingsFile is the name of the file with a project's choices of rules. It is not
// .rpdk-config, which the official tool rewrites without the keys that it does not know.
const SettingsFile = ".formwork.json"

// settingsRules are reported by [ParseSettings] and [Filter.Unused].
var settingsRules = []Rule{{
	ID: "lint/settings", Severity: diag.Error, Fault: true,
	Purpose: "The file .formwork.json contains only known keys, rules and severities.",
	Why:     "A misspelled setting would silently have no effect.",
	Bad:     `"rules": {"lint/PR006": "fatal"}`,
	Good:    `"rules": {"lint/PR006": "error", "lint/TAG*": "off"}`,
}, {
	ID: "lint/suppression-reason", Severity: diag.Error, Fault: true,
	Purpose: "Every suppression in .formwork.json has a reason.",
	Why:     "Later readers need the reason to decide whether the suppression still applies.",
	Bad:     `"suppress": [{"id": "lint/TAG015"}]`,
	Good:    `"suppress": [{"id": "lint/TAG015", "reason": "the service has no tags"}]`,
}, {
	ID: "lint/suppression-unused", Severity: diag.Warning, Fault: true,
	Purpose: "Every suppression in .formwork.json matches a finding.",
	Why:     "A suppression without a match is outdated or misspelled.",
	Bad:     `"suppress": [{"id": "lint/TAG015", "pointer": "/taging", "reason": "the service has no tags"}]`,
	Good:    `"suppress": [{"id": "lint/TAG015", "pointer": "/tagging", "reason": "the service has no tags"}]`,
}}

// Settings are a project's choices: the severities of rules that differ from the tables,
// findings that are known and accepted, and the sandbox of its handlers. The nil Settings change nothing. Settings are
// not changed after [ParseSettings].
//
//	{
//	  "rules": {"lint/TAG*": "off", "lint/PR006": "error", "breaking/PAT003": "error"},
//	  "suppress": [
//	    {"id": "lint/ARN002", "pointer": "/properties/*", "type": "Initech::TPS::*", "reason": "…"}
//	  ],
//	  "sandbox": "required", "mounts": ["testdata", "out:rw"]
//	}
//
// A "*" at the end of an id or a type matches any ending, the longest match counts; a "*" in a
// pointer matches any one token. A pointer covers everything inside it. Severities are off,
// info, warning and error; for changes between versions these mean compatible, warning and
// breaking. Errors that make a schema unusable, those of document/… and schema/…, can be
// neither lowered nor suppressed.
type Settings struct {
	rules    map[string]diag.Severity // off is severityOff
	suppress []suppression

	sandbox sandbox.Mode
	mounts  []string
}

// Sandbox is whether the handlers of the project run in a sandbox, "" if the file says nothing, and
// the paths below the folder of the file that they see, as PATH or PATH:rw.
func (s *Settings) Sandbox() (mode sandbox.Mode, mounts []string) {
	if s == nil {
		return "", nil
	}
	return s.sandbox, s.mounts
}

const severityOff diag.Severity = 255

type suppression struct {
	id, typeName, reason string
	pointer              document.Pointer // nil for anywhere
	at                   diag.Range
	index                int
}

// FindSettings returns the settings file of a folder: in it, or in the nearest folder above it
// up to the top of the git repository. Outside of repositories only the folder itself counts.
// It is "" if no file exists.
func FindSettings(dir string) string {
	inRepository := ""
	for folder := dir; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			inRepository = folder
			break
		}
		if filepath.Dir(folder) == folder {
			break
		}
	}
	for folder := dir; ; folder = filepath.Dir(folder) {
		path := filepath.Join(folder, SettingsFile)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
		if inRepository == "" || folder == inRepository || filepath.Dir(folder) == folder {
			return ""
		}
	}
}

var severityWords = map[string]diag.Severity{"off": severityOff, "info": diag.Info, "warning": diag.Warning, "error": diag.Error}

// ParseSettings reads the content of a [SettingsFile]. The problems have the IDs
// lint/settings, lint/suppression-reason and those of [document.ParseJSON]; what is faulty
// has no effect. The Settings are nil only if the file cannot be read at all.
func ParseSettings(file string, data []byte) (*Settings, diag.List) {
	root, problems := document.ParseJSON(file, data, document.Limits{Bytes: 1 << 20})
	if root == nil {
		return nil, problems
	}
	p := &settingsParser{problems: problems, settings: &Settings{rules: map[string]diag.Severity{}}, ids: ruleIDs()}
	if root.Kind != document.Object {
		p.fault(root.At, nil, "the settings are a JSON object", `they read like {"rules": {"lint/TAG015": "off"}}`)
		return nil, p.problems
	}
	for _, m := range root.Members {
		switch m.Key {
		case "rules":
			p.rules(m.Value)
		case "suppress":
			p.suppressions(m.Value)
		case "sandbox":
			p.sandbox(m.Value)
		case "mounts":
			p.mounts(m.Value)
		case "$schema", "$comment":
		default:
			p.fault(m.KeyAt, document.Pointer{m.Key}, quote(m.Key)+" is not a key of the settings", `known are "rules", "suppress", "sandbox" and "mounts"`)
		}
	}
	p.problems.Sort()
	return p.settings, p.problems
}

type settingsParser struct {
	settings *Settings
	problems diag.List
	ids      []string // of all rules
}

func (p *settingsParser) fault(at diag.Range, pointer document.Pointer, message, hint string) {
	p.problems.Add(diag.Problem{ID: "lint/settings", At: at, Pointer: pointer.String(), Message: message, Hint: hint})
}

func (p *settingsParser) rules(v *document.Value) {
	if v.Kind != document.Object {
		p.fault(v.At, document.Pointer{"rules"}, `"rules" is an object of severities by rule`, `it reads like {"lint/TAG015": "off"}`)
		return
	}
	for _, m := range v.Members {
		at := document.Pointer{"rules", m.Key}
		severity, known := severityWords[m.Value.Str()]
		switch {
		case !p.known(m.Key):
			p.fault(m.KeyAt, at, quote(m.Key)+" is not a rule", "run cfn explain to list the rules")
		case !known || m.Value.Kind != document.String:
			p.fault(m.Value.At, at, "a severity is off, info, warning or error", "")
		case severity != diag.Error && fixed(m.Key):
			p.fault(m.KeyAt, at, quote(m.Key)+" cannot be lowered: its findings make the schema unusable", "")
		default:
			p.settings.rules[m.Key] = severity
		}
	}
}

func (p *settingsParser) sandbox(v *document.Value) {
	mode, err := sandbox.ParseMode(v.Str())
	if v.Kind != document.String || err != nil || mode == sandbox.Off {
		p.fault(v.At, document.Pointer{"sandbox"}, `"sandbox" is on or required`, "only --sandbox=off turns the sandbox off, since a project may come from anybody")
		return
	}
	p.settings.sandbox = mode
}

// mounts reads paths that stay in the folder: a project that was just cloned must not grant itself
// anything else.
func (p *settingsParser) mounts(v *document.Value) {
	if v.Kind != document.Array {
		p.fault(v.At, document.Pointer{"mounts"}, `"mounts" is a list of paths`, `it reads like ["testdata", "out:rw"]`)
		return
	}
	for i, item := range v.Items {
		at := document.Pointer{"mounts", strconv.Itoa(i)}
		text := item.Str()
		path := strings.TrimSuffix(strings.TrimSuffix(text, ":rw"), ":ro")
		switch {
		case item.Kind != document.String || text == "":
			p.fault(item.At, at, "a mount is a path, such as testdata or out:rw", "")
		case !filepath.IsLocal(filepath.FromSlash(path)):
			p.fault(item.At, at, quote(path)+" is outside the folder of the settings", "pass it to the commands that run handlers: --mount "+text)
		default:
			p.settings.mounts = append(p.settings.mounts, text)
		}
	}
}

// known reports whether an id, or one with "*" at its end, is that of a rule.
func (p *settingsParser) known(id string) bool {
	return slices.ContainsFunc(p.ids, func(one string) bool { return matchEnd(id, one) })
}

// fixed reports whether an id is that of an error that cannot be lowered.
func fixed(id string) bool {
	if strings.HasSuffix(id, "*") {
		return false // it covers those of the rules that can
	}
	for _, rule := range schema.Rules() {
		if rule.ID == id {
			return rule.Severity == diag.Error
		}
	}
	return strings.HasPrefix(id, "document/")
}

// ruleIDs are the IDs of all rules that settings can name: those of schemas, those of this
// package, and those about changes.
func ruleIDs() []string {
	var out []string
	for _, r := range schema.Rules() {
		out = append(out, r.ID)
	}
	for _, r := range Rules() {
		out = append(out, r.ID)
	}
	for _, r := range ChangeRules() {
		out = append(out, r.ID)
	}
	return out
}

func matchEnd(pattern, text string) bool {
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == text
}

func (p *settingsParser) suppressions(v *document.Value) {
	if v.Kind != document.Array {
		p.fault(v.At, document.Pointer{"suppress"}, `"suppress" is a list`, `it reads like [{"id": "lint/TAG015", "reason": "the service has no tags"}]`)
		return
	}
	for i, item := range v.Items {
		at := document.Pointer{"suppress", strconv.Itoa(i)}
		if item.Kind != document.Object {
			p.fault(item.At, at, "a suppression is an object", `it reads like {"id": "lint/TAG015", "reason": "the service has no tags"}`)
			continue
		}
		if s, ok := p.suppression(item, at); ok {
			s.index = len(p.settings.suppress)
			p.settings.suppress = append(p.settings.suppress, s)
		}
	}
}

func (p *settingsParser) suppression(item *document.Value, at document.Pointer) (suppression, bool) {
	s := suppression{at: item.At, id: item.Get("id").Str(), typeName: item.Get("type").Str(), reason: strings.TrimSpace(item.Get("reason").Str())}
	ok := true
	fault := func(where diag.Range, key, message, hint string) {
		p.fault(where, at.Append(key), message, hint)
		ok = false
	}
	for _, m := range item.Members {
		switch {
		case !slices.Contains([]string{"id", "type", "pointer", "reason"}, m.Key):
			fault(m.KeyAt, m.Key, quote(m.Key)+" is not a key of a suppression", `known are "id", "pointer", "type" and "reason"`)
		case m.Value.Kind != document.String:
			fault(m.Value.At, m.Key, m.Key+" is a text", "")
		}
	}
	where := item.At
	if m := item.Member("id"); m != nil {
		where = m.Value.At
	}
	switch {
	case s.id == "":
		fault(where, "id", "the suppression has no rule id", `add "id"`)
	case !p.known(s.id):
		fault(where, "id", quote(s.id)+" is not a rule", "run cfn explain to list the rules")
	case fixed(s.id):
		fault(where, "id", quote(s.id)+" cannot be suppressed: its findings make the schema unusable", "")
	}
	if m := item.Member("pointer"); m != nil && m.Value.Kind == document.String {
		pointer, valid := document.ParsePointer(m.Value.Text)
		if !valid {
			fault(m.Value.At, "pointer", quote(m.Value.Text)+" is not a JSON Pointer", "it reads like /properties/Name")
		}
		s.pointer = pointer
	}
	if s.reason == "" {
		p.problems.Add(diag.Problem{
			ID: "lint/suppression-reason", At: where, Pointer: at.String(),
			Message: "the suppression of " + quote(s.id) + " has no reason", Hint: `add "reason"`,
		})
		ok = false
	}
	return s, ok
}

// severity returns what the settings say about a rule: the exact id before patterns, of
// those the longest.
func (s *Settings) severity(id string) (diag.Severity, bool) {
	if s == nil {
		return 0, false
	}
	if severity, ok := s.rules[id]; ok {
		return severity, true
	}
	best := ""
	for pattern := range s.rules {
		if len(pattern) > len(best) && strings.HasSuffix(pattern, "*") && matchEnd(pattern, id) {
			best = pattern
		}
	}
	severity, ok := s.rules[best]
	return severity, ok
}

// suppresses returns the suppression of a finding.
func (s *Settings) suppresses(id, typeName, pointer string) (*suppression, bool) {
	if s == nil {
		return nil, false
	}
	for i := range s.suppress {
		one := &s.suppress[i]
		if matchEnd(one.id, id) && (one.typeName == "" || matchEnd(one.typeName, typeName)) && one.covers(pointer) {
			return one, true
		}
	}
	return nil, false
}

func (s *suppression) covers(pointer string) bool {
	tokens, _ := document.ParsePointer(pointer)
	if len(s.pointer) > len(tokens) {
		return false
	}
	for i, token := range s.pointer {
		if token != "*" && token != tokens[i] {
			return false
		}
	}
	return true
}

// A Filter applies settings to the problems of several schemas, and remembers which
// suppressions were of use. It is not for several goroutines.
type Filter struct {
	settings *Settings
	used     []bool
	types    []string
}

// Filter returns a filter that has seen nothing.
func (s *Settings) Filter() *Filter {
	f := &Filter{settings: s}
	if s != nil {
		f.used = make([]bool, len(s.suppress))
	}
	return f
}

// Apply changes the severities of the problems of one schema as the settings say, and
// leaves out what they suppress or switch off. Errors of document/… and schema/… stay.
func (f *Filter) Apply(problems diag.List, typeName string) diag.List {
	if f.settings == nil {
		return problems
	}
	if typeName != "" {
		f.types = append(f.types, typeName)
	}
	var out diag.List
	for _, p := range problems {
		if p.Severity == diag.Error && !strings.HasPrefix(p.ID, "lint/") {
			out.Add(p)
			continue
		}
		if one, ok := f.settings.suppresses(p.ID, typeName, p.Pointer); ok {
			f.used[one.index] = true
			continue
		}
		if severity, ok := f.settings.severity(p.ID); ok {
			p.Severity = severity
		}
		if p.Severity != severityOff {
			out.Add(p)
		}
	}
	return out
}

// Unused reports the suppressions that no problem needed. Those about changes between
// versions are not among them, nor those for types that were not looked at.
func (f *Filter) Unused() diag.List {
	var out diag.List
	if f.settings == nil {
		return nil
	}
	for i, one := range f.settings.suppress {
		seen := one.typeName == "" || slices.ContainsFunc(f.types, func(name string) bool { return matchEnd(one.typeName, name) })
		if f.used[i] || !seen || strings.HasPrefix(one.id, "breaking/") || strings.HasPrefix(one.id, "compatible/") {
			continue
		}
		out.Add(diag.Problem{
			ID: "lint/suppression-unused", Severity: diag.Warning, At: one.at, Pointer: fmt.Sprintf("/suppress/%d", i),
			Message: fmt.Sprintf("the suppression of %s matches nothing", quote(one.id)), Hint: "remove it",
		})
	}
	return out
}

// ApplyChanges is [Filter.Apply] for changes. A suppressed change stays in the list, as
// a compatible one that has the reason.
func (s *Settings) ApplyChanges(changes []Change, typeName string) []Change {
	if s == nil {
		return changes
	}
	var out []Change
	for _, c := range changes {
		severity, changed := s.severity(c.ID)
		switch {
		case changed && severity == severityOff:
			continue
		case changed:
			c.Severity = map[diag.Severity]Severity{diag.Error: Breaking, diag.Warning: Risky, diag.Info: Compatible}[severity]
		}
		if one, ok := s.suppresses(c.ID, typeName, c.Pointer); ok {
			c.Severity, c.Accepted = Compatible, one.reason
		}
		out = append(out, c)
	}
	sortChanges(out)
	return out
}
