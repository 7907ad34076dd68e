package permissions

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A Statement is one of a policy.
type Statement struct {
	Effect    string                         `json:"Effect"`
	Action    []string                       `json:"Action"`
	Resource  []string                       `json:"Resource"`
	Condition map[string]map[string][]string `json:"Condition,omitempty"`
}

// A Policy is the document of a policy.
type Policy struct {
	Version   string      `json:"Version"`
	Statement []Statement `json:"Statement"`
}

// Statements allow what entries need, with one statement for each list of resources.
func Statements(entries []Entry) []Statement {
	// Actions that are on the same resources, under the same conditions.
	on := map[string]map[string]bool{} // resources by action and condition
	when := map[string]map[string][]string{}
	for _, e := range entries {
		condition, _ := json.Marshal(e.When) // texts
		key := e.Action + "\x00" + string(condition)
		if on[key] == nil {
			on[key], when[key] = map[string]bool{}, e.When
		}
		for _, arn := range e.On {
			on[key][arn] = true
		}
	}
	grouped := map[string]*Statement{}
	for _, key := range slices.Sorted(maps.Keys(on)) {
		action, condition, _ := strings.Cut(key, "\x00")
		arns := slices.Sorted(maps.Keys(on[key]))
		if slices.Contains(arns, "*") {
			arns = []string{"*"}
		}
		group := strings.Join(arns, "\x00") + "\x01" + condition
		if grouped[group] == nil {
			grouped[group] = &Statement{Effect: "Allow", Resource: arns}
			if len(when[key]) > 0 {
				grouped[group].Condition = map[string]map[string][]string{"StringEquals": when[key]}
			}
		}
		grouped[group].Action = append(grouped[group].Action, action)
	}
	out := []Statement{}
	for _, group := range slices.Sorted(maps.Keys(grouped)) {
		out = append(out, *grouped[group])
	}
	return out
}

// MaxPolicy is the length of a managed policy of IAM, in characters without white space.
const MaxPolicy = 6144

// Policies are documents that allow what entries need, none longer than limit. A statement that is longer by itself becomes two, each
// with half of the resources or actions, whichever take more characters.
func Policies(entries []Entry, limit int) []Policy {
	var out []Policy
	current := Policy{Version: "2012-10-17"}
	for left := Statements(entries); len(left) > 0; {
		s := left[0]
		next := Policy{current.Version, append(slices.Clone(current.Statement), s)}
		switch first, second, divided := s.halves(); {
		case length(next) <= limit, len(current.Statement) == 0 && !divided:
			current, left = next, left[1:]
		case divided && length(Policy{current.Version, []Statement{s}}) > limit:
			left = append([]Statement{first, second}, left[1:]...)
		default:
			out = append(out, current)
			current.Statement = nil
		}
	}
	if len(current.Statement) > 0 {
		out = append(out, current)
	}
	return out
}

// length is that of a document without white space, in characters.
func length(v any) int {
	text, _ := json.Marshal(v) // texts
	return len(text)
}

// halves divides a statement, if it has more than one resource or action.
func (s Statement) halves() (first, second Statement, divided bool) {
	first, second = s, s
	actions, resources := len(s.Action), len(s.Resource)
	switch {
	case resources > 1 && (actions < 2 || length(s.Resource) > length(s.Action)):
		first.Resource, second.Resource = s.Resource[:resources/2], s.Resource[resources/2:]
	case actions > 1:
		first.Action, second.Action = s.Action[:actions/2], s.Action[actions/2:]
	}
	return first, second, actions > 1 || resources > 1
}
