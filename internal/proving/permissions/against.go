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
	actions, resources       []string
	notActions, notResources bool
	conditions               map[string][]string // of StringEquals
	conditional              bool                // there are others
}

// ErrNoPolicy reports that a document has no policy.
var ErrNoPolicy = errors.New("there is no policy: an object with \"Statement\"")

// Read reads the policies in a document: a policy, a list of policies, a role as IAM or a template describes it. What a
// role trusts is not among them.
func Read(root *document.Value) (*Given, error) {
	g := &Given{}
	g.find(root)
	if !g.found {
		return nil, ErrNoPolicy
	}
	return g, nil
}

// Given are the policies of a document.
type Given struct {
	statements []given
	found      bool
	remarks    []string
}

func (g *Given) remark(text string) {
	if !slices.Contains(g.remarks, text) {
		g.remarks = append(g.remarks, text)
	}
}

func (g *Given) find(v *document.Value) {
	if v == nil {
		return
	}
	for _, item := range v.Items {
		g.find(item)
	}
	if statement := v.Get("Statement"); statement != nil {
		g.found = true
		items := []*document.Value{statement}
		if statement.Kind == document.Array {
			items = statement.Items
		}
		for _, item := range items {
			g.statement(item)
		}
		return
	}
	for _, m := range v.Distinct() {
		switch m.Key {
		case "AssumeRolePolicyDocument":
		case "ManagedPolicyArns", "AttachedManagedPolicies", "PermissionsBoundary":
			g.remark(m.Key + " is not read: pass the documents of these policies, too")
		default:
			g.find(m.Value)
		}
	}
}

func (g *Given) statement(v *document.Value) {
	s := given{allow: text(v.Get("Effect")) == "Allow", conditions: map[string][]string{}}
	s.actions, s.notActions = g.texts(v.Get("Action")), false
	if v.Get("NotAction") != nil {
		s.actions, s.notActions = g.texts(v.Get("NotAction")), true
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

func text(v *document.Value) string {
	if v == nil || v.Kind != document.String {
		return ""
	}
	return v.Text
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

func (g *Given) allows(e Entry, arn string) verdict {
	out := denied
	for _, s := range g.statements {
		if !s.allow {
			if !s.conditional && len(s.conditions) == 0 && s.about(e.Action, arn) {
				return denied
			}
			continue
		}
		if !s.about(e.Action, arn) {
			continue
		}
		if s.fulfilled(e) {
			out = allowed
		} else if out == denied {
			out = perhaps
		}
	}
	return out
}

// about reports whether a statement is about an action on all resources that an ARN with wildcards matches.
func (s *given) about(action, arn string) bool {
	action = strings.ToLower(action)
	if slices.ContainsFunc(s.actions, func(a string) bool { return covers(strings.ToLower(a), action) }) == s.notActions {
		return false
	}
	return slices.ContainsFunc(s.resources, func(r string) bool { return covers(r, arn) }) != s.notResources
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
