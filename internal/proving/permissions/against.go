package permissions

import (
	"errors"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Difference is that of a policy from what is needed.
type Difference struct {
	Missing     []Entry  `json:"missing"`     // not allowed, or denied
	Conditional []Entry  `json:"conditional"` // allowed under conditions, which are not evaluated
	Unused      []string `json:"unused"`      // allowed actions that nothing needs
	Remarks     []string `json:"remarks"`
}

// A given policy is read from a file.
type given struct {
	allow                    bool
	actions, lower           []string // the names of actions, and in lower case
	resources                []string
	notActions, notResources bool
	conditions               map[string][]string // of StringEquals
	conditional              bool                // there are others
}

// ErrNoPolicy reports that a document has no policy.
var ErrNoPolicy = errors.New("not a policy: no object has \"Statement\"")

// Given are the policies of documents.
type Given struct {
	statements []given
	remarks    []string
}

// Read adds the policies in a document: a policy, a list of policies, a role as IAM or a template describes it. What a
// role trusts is not among them.
func (g *Given) Read(root *document.Value) error {
	if !g.find(root) {
		return ErrNoPolicy
	}
	return nil
}

func (g *Given) remark(text string) {
	if !slices.Contains(g.remarks, text) {
		g.remarks = append(g.remarks, text)
	}
}

// find adds the policies in a value, and reports whether there are any.
func (g *Given) find(v *document.Value) (found bool) {
	if v == nil {
		return false
	}
	for _, item := range v.Items {
		found = g.find(item) || found
	}
	if statement := v.Get("Statement"); statement != nil {
		items := []*document.Value{statement}
		if statement.Kind == document.Array {
			items = statement.Items
		}
		for _, item := range items {
			if item.Kind != document.Object {
				g.remark("a statement that is not an object is not read")
				continue
			}
			g.statement(item)
		}
		return true
	}
	for _, m := range v.Distinct() {
		switch m.Key {
		case "AssumeRolePolicyDocument":
		case "ManagedPolicyArns", "AttachedManagedPolicies", "PermissionsBoundary":
			g.remark(m.Key + " is not read: pass the documents of these policies, too")
		default:
			found = g.find(m.Value) || found
		}
	}
	return found
}

func (g *Given) statement(v *document.Value) {
	s := given{allow: v.Get("Effect").Str() == "Allow", conditions: map[string][]string{}}
	s.actions = g.texts(v.Get("Action"))
	if v.Get("NotAction") != nil {
		s.actions, s.notActions = g.texts(v.Get("NotAction")), true
	}
	for _, a := range s.actions {
		s.lower = append(s.lower, strings.ToLower(a))
	}
	s.resources = g.texts(v.Get("Resource"))
	if v.Get("NotResource") != nil {
		s.resources, s.notResources = g.texts(v.Get("NotResource")), true
	}
	for _, operator := range v.Get("Condition").Distinct() {
		for _, key := range operator.Value.Distinct() {
			if operator.Key == "StringEquals" {
				s.conditions[strings.ToLower(key.Key)] = g.texts(key.Value)
				continue
			}
			s.conditional = true
		}
	}
	g.statements = append(g.statements, s)
}

// texts are a text or a list of texts. Of the functions of templates, Fn::Sub has "*" for its variables; others are "*".
func (g *Given) texts(v *document.Value) (out []string) {
	switch {
	case v == nil:
	case v.Kind == document.Array:
		for _, item := range v.Items {
			out = append(out, g.texts(item)...)
		}
	case v.Kind == document.String:
		out = append(out, v.Text)
	case template.FunctionName(v) == "Fn::Sub":
		of := v.Members[0].Value
		if of.Kind == document.Array && len(of.Items) > 0 {
			of = of.Items[0]
		}
		g.remark("variables of Fn::Sub are taken to match everything")
		out = append(out, variable.ReplaceAllString(of.Text, "*"))
	case template.FunctionName(v) != "":
		g.remark(template.FunctionName(v) + " is taken to match everything")
		out = append(out, "*")
	}
	return out
}

// Against compares a policy with what entries need.
func (g *Given) Against(entries []Entry) Difference {
	d := Difference{Missing: []Entry{}, Conditional: []Entry{}, Unused: []string{}, Remarks: append([]string{}, g.remarks...)}
	for _, e := range entries {
		missing, conditional := e, e
		missing.On, conditional.On = nil, nil
		for _, arn := range e.On {
			switch g.allows(e, arn) {
			case denied:
				missing.On = append(missing.On, arn)
			case perhaps:
				conditional.On = append(conditional.On, arn)
			}
		}
		if missing.On != nil {
			d.Missing = append(d.Missing, missing)
		}
		if conditional.On != nil {
			d.Conditional = append(d.Conditional, conditional)
		}
	}
	for _, s := range g.statements {
		if !s.allow || s.notActions {
			continue
		}
		for _, a := range s.actions {
			if !slices.Contains(d.Unused, a) && !slices.ContainsFunc(entries, func(e Entry) bool {
				return covers(strings.ToLower(a), strings.ToLower(e.Action)) || covers(strings.ToLower(e.Action), strings.ToLower(a))
			}) {
				d.Unused = append(d.Unused, a)
			}
		}
	}
	slices.Sort(d.Unused)
	return d
}

type verdict uint8

const (
	denied verdict = iota
	perhaps
	allowed
)

// allows is what the statements say of an action on the resources that an ARN matches. A denial of some of them, or under
// conditions, counts as a condition.
func (g *Given) allows(e Entry, arn string) verdict {
	out, certain := denied, true
	for _, s := range g.statements {
		about := s.about(e.Action, arn)
		switch {
		case about == none:
		case !s.allow && about == all && !s.conditional && len(s.conditions) == 0:
			return denied
		case !s.allow:
			certain = false
		case about == some:
		case s.fulfilled(e):
			out = allowed
		case out == denied:
			out = perhaps
		}
	}
	if !certain {
		return min(out, perhaps)
	}
	return out
}

// A share is of the actions and resources that two patterns match.
type share uint8

const (
	none share = iota
	some
	all
)

// about is the share of an action, and of the resources that an ARN matches, that a statement is about.
func (s *given) about(action, arn string) share {
	of := matched(s.lower, strings.ToLower(action), s.notActions)
	if of != none {
		of = min(of, matched(s.resources, arn, s.notResources))
	}
	return of
}

// matched is the share of what a pattern matches that one of other patterns matches, or none of them with not.
func matched(patterns []string, of string, not bool) share {
	out, begin := none, literal(of)
	for _, p := range patterns {
		switch own := literal(p); {
		case !strings.HasPrefix(own, begin) && !strings.HasPrefix(begin, own):
		case covers(p, of):
			out = all
		case out == none && overlap(p, of):
			out = some
		}
	}
	if not {
		return all - out
	}
	return out
}

// fulfilled reports whether the conditions of a statement are certainly true.
func (s *given) fulfilled(e Entry) bool {
	if s.conditional {
		return false
	}
	for key, values := range s.conditions {
		var need []string
		for name, wanted := range e.When {
			if strings.EqualFold(name, key) {
				need = wanted
			}
		}
		if need == nil || slices.ContainsFunc(need, func(v string) bool { return !slices.Contains(values, v) }) {
			return false
		}
	}
	return true
}

// covers reports whether a pattern matches everything that another pattern matches.
func covers(pattern, other string) bool {
	// Positions in pattern that other so far can be at: as long as both, not exponential.
	at := make([]bool, len(pattern)+1)
	stars := func() {
		for i := range len(pattern) {
			if at[i] && pattern[i] == '*' {
				at[i+1] = true
			}
		}
	}
	at[0] = true
	stars()
	for i := range len(other) {
		next := make([]bool, len(pattern)+1)
		for j := range len(pattern) {
			if !at[j] {
				continue
			}
			switch {
			case pattern[j] == '*':
				next[j] = true
			case pattern[j] == '?' && other[i] != '*', pattern[j] == other[i] && other[i] != '*':
				next[j+1] = true
			}
		}
		at = next
		stars()
	}
	return at[len(pattern)]
}

// literal is what a pattern begins with, before its wildcards.
func literal(pattern string) string {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// overlap reports whether two patterns of ARNs, or of actions, match a common one. The six parts of ARNs are compared each by itself.
func overlap(a, b string) bool {
	first, second := strings.SplitN(a, ":", 6), strings.SplitN(b, ":", 6)
	if len(first) != 6 || len(second) != 6 {
		return overlaps(a, b)
	}
	for i := range first {
		if !overlaps(first[i], second[i]) {
			return false
		}
	}
	return true
}

// overlaps reports whether two patterns match a common text.
func overlaps(a, b string) bool {
	// Whether a[i:] and b[j:] overlap, for all j; of i+1 it is in below.
	below := make([]bool, len(b)+1)
	for i := len(a); i >= 0; i-- {
		row := make([]bool, len(b)+1)
		for j := len(b); j >= 0; j-- {
			switch {
			case i < len(a) && a[i] == '*':
				row[j] = below[j] || j < len(b) && row[j+1]
			case j < len(b) && b[j] == '*':
				row[j] = row[j+1] || i < len(a) && below[j]
			case i == len(a) || j == len(b):
				row[j] = i == len(a) && j == len(b)
			default:
				row[j] = (a[i] == b[j] || a[i] == '?' || b[j] == '?') && below[j+1]
			}
		}
		below = row
	}
	return below[0]
}
