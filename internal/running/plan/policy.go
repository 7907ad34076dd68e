package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A Policy is a stack policy: which resources an update may modify, replace or delete.
type Policy struct{ statements []statement }

// A statement allows or denies actions on resources.
type statement struct {
	allow        bool
	actions      []string
	notActions   bool
	resources    []string
	notResources bool
	types        []string // of the condition, nil for none
	like         bool     // types are patterns
}

// The reasons of what a policy does not allow.
const (
	reasonPolicy        = "Action denied by stack policy: Statement [#%d] does not allow [%s] for resource [LogicalResourceId/%s];"
	reasonPolicyDefault = "Action not allowed by stack policy: no statement allows [%s] for resource [LogicalResourceId/%s];"
)

// errPolicy reports that a text is not a stack policy.
var errPolicy = errors.New("not a stack policy")

// words reads a string or a list of strings.
func words(raw json.RawMessage) ([]string, error) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var many []string
	if err := json.Unmarshal(raw, &many); err != nil || len(many) == 0 {
		return nil, errPolicy
	}
	return many, nil
}

// ParsePolicy reads a stack policy. The empty object is no policy: it allows everything.
func ParsePolicy(text string) (*Policy, error) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &document); err != nil || document == nil {
		return nil, errPolicy
	}
	p := &Policy{}
	if len(document) == 0 {
		return p, nil
	}
	raw, ok := document["Statement"]
	if !ok {
		return nil, errPolicy
	}
	var statements []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &statements); err != nil {
		var single map[string]json.RawMessage
		if json.Unmarshal(raw, &single) != nil || single == nil {
			return nil, errPolicy
		}
		statements = []map[string]json.RawMessage{single}
	}
	for _, s := range statements {
		parsed, err := parseStatement(s)
		if err != nil {
			return nil, err
		}
		p.statements = append(p.statements, parsed)
	}
	return p, nil
}

var policyActions = []string{"Update:Modify", "Update:Replace", "Update:Delete", "Update:*", "*"}

func parseStatement(members map[string]json.RawMessage) (s statement, err error) {
	var effect string
	if json.Unmarshal(members["Effect"], &effect) != nil || effect != "Allow" && effect != "Deny" {
		return s, errPolicy
	}
	s.allow = effect == "Allow"
	if s.actions, s.notActions, err = either(members, "Action", "NotAction"); err != nil {
		return s, err
	}
	for _, action := range s.actions {
		if !slices.Contains(policyActions, action) {
			return s, errPolicy
		}
	}
	if s.resources, s.notResources, err = either(members, "Resource", "NotResource"); err != nil {
		return s, err
	}
	for _, resource := range s.resources {
		if resource != "*" && !strings.HasPrefix(resource, "LogicalResourceId/") {
			return s, errPolicy
		}
	}
	principal, _, err := either(members, "Principal", "NotPrincipal")
	if err != nil || !slices.Equal(principal, []string{"*"}) {
		return s, errPolicy
	}
	if raw, ok := members["Condition"]; ok {
		if s.types, s.like, err = condition(raw); err != nil {
			return s, err
		}
	}
	return s, nil
}

// either reads the one of two members that is set.
func either(members map[string]json.RawMessage, name, not string) ([]string, bool, error) {
	if raw, ok := members[not]; ok && members[name] == nil {
		list, err := words(raw)
		return list, true, err
	}
	list, err := words(members[name])
	return list, false, err
}

// condition reads {"StringEquals": {"ResourceType": ["AWS::S3::Bucket"]}}.
func condition(raw json.RawMessage) (list []string, like bool, err error) {
	var operators map[string]map[string]json.RawMessage
	if json.Unmarshal(raw, &operators) != nil || len(operators) != 1 {
		return nil, false, errPolicy
	}
	for operator, keys := range operators {
		if operator != "StringEquals" && operator != "StringLike" || len(keys) != 1 || keys["ResourceType"] == nil {
			return nil, false, errPolicy
		}
		like = operator == "StringLike"
		list, err = words(keys["ResourceType"])
	}
	return list, like, err
}

// matches reports whether a statement is about an action on a resource.
func (s statement) matches(action, logicalID, typeName string) bool {
	if slices.ContainsFunc(s.actions, func(a string) bool { return a == action || a == "*" || a == "Update:*" }) == s.notActions {
		return false
	}
	if slices.ContainsFunc(s.resources, func(r string) bool {
		return r == "*" || schema.MatchTarget(strings.TrimPrefix(r, "LogicalResourceId/"), logicalID)
	}) == s.notResources {
		return false
	}
	return s.types == nil || slices.ContainsFunc(s.types, func(t string) bool {
		return t == typeName || s.like && schema.MatchTarget(t, typeName)
	})
}

// denies returns why a policy does not allow an action, "" if it does: an explicit denial
// counts more than any permission. Nil allows everything.
func (p *Policy) denies(action, logicalID, typeName string) string {
	if p == nil {
		return ""
	}
	allowed := len(p.statements) == 0
	for i, s := range p.statements {
		if !s.matches(action, logicalID, typeName) {
			continue
		}
		if !s.allow {
			return fmt.Sprintf(reasonPolicy, i+1, action, logicalID)
		}
		allowed = true
	}
	if allowed {
		return ""
	}
	return fmt.Sprintf(reasonPolicyDefault, action, logicalID)
}
