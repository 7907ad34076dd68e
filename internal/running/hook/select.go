package hook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Hook is a hook that an account has in use.
type Hook struct {
	TypeName     string // in the account: of an activated hook its alias
	TypeARN      string
	Version      string // "00000001"
	OriginalName string // of an activated hook the public name, "" for others

	// ConfigurationVersion identifies the configuration.
	ConfigurationVersion string

	Settings Settings

	// Targets are the target names of the handlers, by invocation point. Any names every target.
	Targets map[invoke.Action][]string
	Any     bool
}

// ConfigurationVersion is the version of a configuration: the same text has the same one.
func ConfigurationVersion(configuration string) string {
	sum := sha256.Sum256([]byte(configuration))
	return hex.EncodeToString(sum[:8])
}

// Sees reports whether a hook is to evaluate a target.
func (h *Hook) Sees(t Target) bool {
	return h.Settings.selects(t) && (h.Any || h.handles(t))
}

// handles reports whether a handler of the hook has the target among its target names. Wildcards
// are for names of types.
func (h *Hook) handles(t Target) bool {
	return slices.ContainsFunc(h.Targets[t.Action], func(pattern string) bool {
		if t.Kind == Stack || t.Kind == ChangeSet {
			return pattern == t.Name
		}
		return schema.MatchTarget(pattern, t.Name)
	})
}

// HandlerTargets are the targets of a [Hook] whose handlers a schema declares.
func HandlerTargets(s *schema.Schema) map[invoke.Action][]string {
	targets := map[invoke.Action][]string{}
	for _, action := range invoke.HookActions {
		if h := s.Handler(action.Handler()); h != nil {
			targets[action] = h.TargetNames
		}
	}
	return targets
}

// A Source finds hooks and makes them ready for calls.
type Source interface {
	// Hooks are the hooks of an account that have a configuration. It is called outside of
	// transactions.
	Hooks(ctx context.Context, caller awswire.Caller) ([]Hook, error)

	// Ready prepares the calls of a hook. The error is an *awswire.Error if it cannot be called.
	// ok is false if the source does not have the hook.
	Ready(ctx context.Context, caller awswire.Caller, name, version string) (ready *Ready, ok bool, err error)
}

// A Ready hook can be called.
type Ready struct {
	Config     invoke.Config // with Function
	TypeName   string        // as the hook knows itself
	Properties any           // of its configuration, dynamic references resolved
	Whole      bool          // it gets the document about a stack or change set, not its URL
}

// A Set is the hooks that an account has in use, in the order in which they are invoked and
// shown: by name.
type Set []Hook

// For are the hooks that see a target. An empty set, as accounts without hooks have it, costs
// nothing.
func (s Set) For(t Target) []Hook {
	var out []Hook
	for i := range s {
		if s[i].Sees(t) {
			out = append(out, s[i])
		}
	}
	return out
}

// InUse are the enabled hooks of an account. It is called outside of transactions.
func (e *Engine) InUse(ctx context.Context, caller awswire.Caller) (Set, error) {
	var out Set
	for _, source := range e.config.Sources {
		hooks, err := source.Hooks(ctx, caller)
		if err != nil {
			return nil, err
		}
		for i := range hooks {
			if hooks[i].Settings.Enabled() {
				out = append(out, hooks[i])
			}
		}
	}
	slices.SortFunc(out, func(a, b Hook) int { return strings.Compare(a.TypeName, b.TypeName) })
	return out, nil
}
