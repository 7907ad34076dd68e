// Package lint judges schemas that can be read: one schema by [Run], two versions of one
// by [Diff].
//
// internal/authoring/schema reports what the registry and the official tool report. The rules here are
// additional. Those with an upper-case name (lint/PR003, breaking/ML002) are the rules of
// AWS's resource-schema-guard-rail under its names, which mean different things in its two
// modes and therefore have the mode as a prefix; those with a lower-case name are this tool's,
// for errors that no other check finds.
//
// Everything is a row of a table, [Rules] and [ChangeRules], from which "cfn explain" and
// docs/rules.md are made. Severities can be changed per project, and findings suppressed
// for a reason, by [Settings].
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A Rule is one kind of problem that [Run] or [Settings] report. The fields but check and
// kinds are what "cfn explain" prints.
type Rule struct {
	ID       string // stable: "lint/PR006"
	Severity diag.Severity
	Upstream string // the check of another tool that it matches, "" if it is this tool's own
	Purpose  string // what it checks, one sentence
	Why      string // the consequence of a violation

	// Bad and Good are members of a schema, as JSON: in a valid schema, the rule reports Bad
	// and does not report Good. The value null means that the member is missing.
	Bad, Good string

	// Twin is the rule of internal/authoring/schema that reports the same fault, may be "". Faults are
	// contradictions within a schema; other problems are the house style of AWS, which its own
	// published types often violate.
	Twin  string
	Fault bool

	// Covered is a rule of internal/authoring/schema that reports some of the faults of this one, may be "".
	Covered string

	kinds []schema.Kind     // the kinds of document that it judges; all when nil
	check func(*inspection) // nil for what Settings reports
}

// Rules returns every rule, in the order of the documentation.
func Rules() []Rule {
	return slices.Concat(identifierRules, permissionRules, taggingRules, styleRules, pathRules, valueRules, settingsRules)
}

// Config says by which rules a schema is judged. The zero Config is all of them.
type Config struct {
	// FaultsOnly omits the house style of AWS, and problems that schema.Load has reported
	// already under another name.
	FaultsOnly bool
}

// Run judges a schema that schema.Load has returned. The problems are sorted; severities
// are those of the table, which [Settings.Apply] can change. Run never changes the schema,
// and it may run on any number of schemas at once.
func Run(s *schema.Schema, cfg Config) diag.List {
	if s == nil || s.Root == nil {
		return nil
	}
	var problems diag.List
	facts := newFacts(s)
	for _, rules := range [...][]Rule{identifierRules, permissionRules, taggingRules, styleRules, pathRules, valueRules} {
		for i := range rules {
			rule := &rules[i]
			if rule.kinds != nil && !slices.Contains(rule.kinds, s.Kind) || cfg.FaultsOnly && (!rule.Fault || rule.Twin != "") {
				continue
			}
			rule.check(&inspection{facts: facts, rule: rule, problems: &problems})
		}
	}
	problems.Sort()
	return problems
}

// WithoutTwins removes what internal/authoring/schema reports at the same place under another name, unless the settings made it more
// severe than that.
func WithoutTwins(problems diag.List) diag.List {
	type place struct {
		id, file string
		offset   int
	}
	reported := map[place]diag.Severity{}
	for _, p := range problems {
		reported[place{p.ID, p.At.File, p.At.Start.Offset}] = p.Severity
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p diag.Problem) bool {
		twin := twins()[p.ID]
		severity, both := reported[place{twin, p.At.File, p.At.Start.Offset}]
		return twin != "" && both && severity <= p.Severity
	})
}

// twins are the rules of internal/authoring/schema that report the same as rules of this package, by the IDs
// of those.
var twins = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for _, rule := range Rules() {
		found[rule.ID] = cmp.Or(rule.Twin, rule.Covered)
	}
	return found
})

// resources is the kinds of rules that only resource types have.
var resources = []schema.Kind{schema.Resource}

// An inspection is one run of a rule on one schema.
type inspection struct {
	*facts
	rule     *Rule
	problems *diag.List
}

// maxReports bounds the problems of one rule for one schema: beyond it, one more says the
// same as the others.
const maxReports = 200

// report adds a problem of the rule.
func (in *inspection) report(at diag.Range, pointer document.Pointer, message, hint string, related ...diag.Note) {
	if in.full() {
		return
	}
	in.problems.Add(diag.Problem{
		ID: in.rule.ID, Severity: in.rule.Severity, At: at, Pointer: pointer.String(),
		Message: message, Hint: hint, Related: related,
	})
}

// maxHints bounds for how many paths a nearby name is looked for.
const maxHints = 20

// full reports whether the rule has reported enough, so that hints need not be looked for.
func (in *inspection) full() bool {
	n := len(*in.problems)
	return n >= maxReports && (*in.problems)[n-maxReports].ID == in.rule.ID
}

// nearest proposes a property for a path that names none.
func (in *inspection) nearest(p schema.Path) string {
	if in.hints++; in.hints > maxHints {
		return ""
	}
	last := p.Text[strings.LastIndexAny(p.Text, "/.")+1:]
	var names []string
	for _, m := range in.Properties() {
		names = append(names, m.Key)
	}
	near := words.Nearest(last, names)
	if near == "" && len(p.Tokens) > 0 {
		near = words.Nearest(p.Tokens[0], names)
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", quote("/properties/"+near))
}

// absent is the place of what the document does not have: its first brace.
func (in *inspection) absent() diag.Range {
	at := in.Root.At
	at.End = at.Start
	at.End.Offset++
	at.End.Column++
	return at
}

// keyAt is the place of a top-level key, or of the document if it has no such key.
func (in *inspection) keyAt(key string) diag.Range {
	if m := in.Root.Member(key); m != nil {
		return m.KeyAt
	}
	return in.absent()
}
