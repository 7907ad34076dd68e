package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// A Kind is what sort of operation a hook evaluates.
type Kind string

// The kinds, with their names in TargetOperations.
const (
	Resource     Kind = "RESOURCE"
	Stack        Kind = "STACK"
	ChangeSet    Kind = "CHANGE_SET"
	CloudControl Kind = "CLOUD_CONTROL"
)

// TargetType is the targetType in the request of a hook.
func (k Kind) TargetType() string {
	if k == CloudControl {
		return string(Resource)
	}
	return string(k)
}

// Settings are the part of a hook's configuration that the service reads.
type Settings struct {
	HookInvocationStatus string
	TargetOperations     names
	TargetStacks         string
	FailureMode          types.HookFailureMode
	StackFilters         *StackFilters
	TargetFilters        *TargetFilters
}

// names is a list of names. A single name is a list of one.
type names []string

// UnmarshalJSON implements json.Unmarshaler.
func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("expected a list of names: %w", err)
	}
	*n = list
	return nil
}

// StackFilters limit a hook to some stacks.
type StackFilters struct {
	FilteringCriteria string // ALL or ANY
	StackNames        *Lists
	StackRoles        *Lists
}

// Lists are what a filter includes and excludes: names with wildcards.
type Lists struct{ Include, Exclude []string }

// TargetFilters limit a hook to some targets: Targets, or the other three.
type TargetFilters struct {
	Actions, TargetNames, InvocationPoints names
	Targets                                []TargetFilter
}

// A TargetFilter is one combination that a hook is for.
type TargetFilter struct{ TargetName, Action, InvocationPoint string }

// prePoint is the only invocation point.
const prePoint = "PRE_PROVISION"

// ParseSettings reads the configuration of a hook, as SetTypeConfiguration takes it, and returns
// the properties of the hook itself besides. Values of the properties may be dynamic references.
func ParseSettings(configuration []byte) (Settings, json.RawMessage, error) {
	var whole struct {
		CloudFormationConfiguration struct {
			HookConfiguration struct {
				Settings
				Properties json.RawMessage
			}
		}
	}
	if len(configuration) == 0 {
		return Settings{}, nil, nil
	}
	if err := json.Unmarshal(configuration, &whole); err != nil {
		return Settings{}, nil, fmt.Errorf("cannot read the configuration of the hook: %T", err) // the error would show a piece of it
	}
	found := whole.CloudFormationConfiguration.HookConfiguration
	return found.Settings, found.Properties, nil
}

// Enabled reports whether a hook is invoked at all: TargetStacks is the older way to say so.
func (s Settings) Enabled() bool {
	if s.HookInvocationStatus != "" {
		return s.HookInvocationStatus == "ENABLED"
	}
	return s.TargetStacks == "ALL"
}

// Mode is the failure mode, WARN if there is none.
func (s Settings) Mode() types.HookFailureMode {
	if s.FailureMode == types.HookFailureModeFail {
		return s.FailureMode
	}
	return types.HookFailureModeWarn
}

// A Target is what hooks are to evaluate.
type Target struct {
	Kind      Kind
	Name      string        // type of the resource; STACK or CHANGE_SET
	Action    invoke.Action // an invocation point, such as CREATE_PRE_PROVISION
	LogicalID string        // of the resource; the name of the stack, the ARN of the change set
	StackName string        // "" outside of stacks
	RoleARN   string        // of the stack, "" for none
}

// Verb is the action of the target: CREATE, UPDATE or DELETE.
func (t Target) Verb() string { return strings.TrimSuffix(string(t.Action), "_PRE_PROVISION") }

// selects reports whether the settings let a hook see a target.
func (s Settings) selects(t Target) bool {
	switch {
	case !s.Enabled(), !s.operates(t.Kind):
		return false
	case t.Kind == ChangeSet && t.Action != invoke.CreatePreProvision:
		return false
	case t.Kind != CloudControl && !s.StackFilters.match(t):
		return false
	}
	return s.TargetFilters.match(t)
}

// operates reports whether a hook is for operations of a kind. Without TargetOperations these are
// all that have to do with stacks.
func (s Settings) operates(k Kind) bool {
	if s.TargetOperations == nil {
		return k != CloudControl
	}
	return slices.Contains(s.TargetOperations, string(k))
}

func (f *StackFilters) match(t Target) bool {
	if f == nil || f.StackNames == nil && f.StackRoles == nil {
		return true
	}
	var matches []bool
	if f.StackNames != nil {
		matches = append(matches, f.StackNames.match(t.StackName))
	}
	if f.StackRoles != nil {
		matches = append(matches, f.StackRoles.match(t.RoleARN))
	}
	if f.FilteringCriteria == "ANY" {
		return slices.Contains(matches, true)
	}
	return !slices.Contains(matches, false)
}

// match reports whether the lists let a name pass: it is included, if anything is, and not
// excluded.
func (l *Lists) match(name string) bool {
	return (len(l.Include) == 0 || anyMatch(l.Include, name)) && !anyMatch(l.Exclude, name)
}

func anyMatch(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return schema.MatchTarget(pattern, name) })
}

// match reports whether the filters let a target pass. Names of types say nothing about stacks
// and change sets.
func (f *TargetFilters) match(t Target) bool {
	if f == nil {
		return true
	}
	named := t.Kind == Resource || t.Kind == CloudControl
	if len(f.Targets) > 0 {
		return slices.ContainsFunc(f.Targets, func(one TargetFilter) bool {
			return strings.EqualFold(one.Action, t.Verb()) && one.InvocationPoint == prePoint &&
				(!named || schema.MatchTarget(one.TargetName, t.Name))
		})
	}
	verb := func(action string) bool { return strings.EqualFold(action, t.Verb()) }
	return (len(f.Actions) == 0 || slices.ContainsFunc(f.Actions, verb)) &&
		(len(f.InvocationPoints) == 0 || slices.Contains(f.InvocationPoints, prePoint)) &&
		(!named || len(f.TargetNames) == 0 || anyMatch(f.TargetNames, t.Name))
}
