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

// Policies are documents that allow what entries need, none longer than limit.
func Policies(entries []Entry, limit int) []Policy {
	var out []Policy
	current := Policy{Version: "2012-10-17"}
	length := func(p Policy) int {
		text, _ := json.Marshal(p) // texts
		return len(text)
	}
	add := func(s Statement) bool {
		next := Policy{current.Version, append(slices.Clone(current.Statement), s)}
		if length(next) > limit {
			return false
		}
		current = next
		return true
	}
	end := func() {
		if len(current.Statement) > 0 {
			out = append(out, current)
			current.Statement = nil
		}
	}
	for _, s := range Statements(entries) {
		if add(s) {
			continue
		}
		end()
		for len(s.Action) > 0 {
			n := len(s.Action)
			for n > 1 && !add(Statement{s.Effect, s.Action[:n], s.Resource, s.Condition}) {
				n /= 2
			}
			if n == 1 && !add(Statement{s.Effect, s.Action[:1], s.Resource, s.Condition}) {
				if len(current.Statement) > 0 {
					end()
					continue
				}
				current.Statement = []Statement{{s.Effect, s.Action[:1], s.Resource, s.Condition}} // one action with very many resources
			}
			s.Action = s.Action[n:]
			if len(s.Action) > 0 {
				end()
			}
		}
	}
	end()
	return out
}
