package rehearsal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// A Call is one operation on a resource.
type Call struct {
	LogicalID  string `json:"logicalId"`
	Type       string `json:"resourceType"`
	Action     string `json:"action"` // CREATE, UPDATE, DELETE
	Rollback   bool   `json:"rollback"`
	Identifier string `json:"physicalId"` // before the call, "" for CREATE
	Failed     bool   `json:"failed"`
}

// A thing is a resource that exists in a rehearsal.
type thing struct {
	LogicalID, Type, Identifier string
	model                       map[string]any
	before                      bool // it existed before the update
}

func (t *thing) key() string { return t.Type + "|" + t.Identifier }

// A fault is a failure at a step.
type fault struct {
	logicalID, action string
	after             bool // after the work was done
	code              string
}

// A world are the resources of one rehearsal. It answers in the place of all handlers.
type world struct {
	deployed *deployed
	stack    string
	uses     map[string][]string // attributes that the templates use, by logical ID
	exists   map[string]bool     // logical IDs whose names are in use elsewhere

	mu       sync.Mutex
	seeded   bool
	things   map[string]*thing
	gone     []*thing // deleted ones that existed before
	calls    []Call
	seen     map[string]int // index of a call, by token
	forward  *fault
	backward *fault
}

// around is [local.Config.Around].
func (w *world) around(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if of.LogicalID == "" || of.StackName != w.stack {
		return next(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case of.Action == "READ":
		if t := w.things[of.Type+"|"+of.Identifier]; t != nil {
			return local.ResourceAnswer{Status: "SUCCESS", Identifier: t.Identifier, Model: schema.Clone(t.model)}, nil
		}
		return failed("NotFound", "%s does not exist", of.Identifier), nil
	case !w.seeded:
		return w.seed(ctx, of, next)
	}
	at, known := w.seen[of.Token]
	if !known {
		at = len(w.calls)
		w.seen[of.Token] = at
		w.calls = append(w.calls, Call{LogicalID: of.LogicalID, Type: of.Type, Action: of.Action, Rollback: of.Rollback, Identifier: of.Identifier})
	}
	fault := w.faultOf(of)
	if fault != nil && !fault.after {
		w.calls[at].Failed = true
		return failed(fault.code, "a failure of the rehearsal"), nil
	}
	answer, err := w.act(ctx, of, next)
	if err != nil {
		return answer, err
	}
	if fault != nil && answer.Status == "SUCCESS" {
		answer = local.ResourceAnswer{Status: "FAILED", ErrorCode: fault.code, Message: "a failure of the rehearsal", Identifier: answer.Identifier}
	}
	w.calls[at].Failed = answer.Status == "FAILED"
	return answer, nil
}

func failed(code, format string, args ...any) local.ResourceAnswer {
	return local.ResourceAnswer{Status: "FAILED", ErrorCode: code, Message: fmt.Sprintf(format, args...)}
}

// faultOf is the fault that a call meets. A step that failed is set back afterwards: that is another operation.
func (w *world) faultOf(of local.ResourceCall) *fault {
	f := w.forward
	if of.Rollback {
		f = w.backward
	}
	if f == nil || f.logicalID != of.LogicalID || f.action != of.Action {
		return nil
	}
	return f
}

// seed answers the creation of a resource with the one that is deployed.
func (w *world) seed(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	r := w.deployed.resources[of.LogicalID]
	if r == nil {
		return failed("NotFound", "the deployed stack has no resource %s", of.LogicalID), nil
	}
	model := schema.Clone(r.model)
	if r.model == nil {
		made, err := w.made(ctx, of, next)
		if err != nil || made.Status != "SUCCESS" {
			return made, err
		}
		model = made.Model
	}
	t := &thing{LogicalID: of.LogicalID, Type: of.Type, Identifier: r.PhysicalID, model: model, before: true}
	w.things[t.key()] = t
	return local.ResourceAnswer{Status: "SUCCESS", Identifier: t.Identifier, Model: schema.Clone(model)}, nil
}

// made makes up a resource.
func (w *world) made(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if !customresource.IsType(of.Type) {
		return next(ctx)
	}
	data := map[string]any{}
	for _, name := range w.uses[of.LogicalID] {
		data[name] = "rehearsed-" + of.LogicalID + "-" + name
	}
	return local.ResourceAnswer{Status: "SUCCESS", Identifier: "rehearsed-" + of.LogicalID + "-" + of.Token, Model: map[string]any{"Data": data}}, nil
}

// act makes a call.
func (w *world) act(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	key := of.Type + "|" + of.Identifier
	switch of.Action {
	case "CREATE":
		if w.exists[of.LogicalID] && !of.Rollback {
			return failed("AlreadyExists", "the name of %s is in use", of.LogicalID), nil
		}
		answer, err := w.made(ctx, of, next)
		if err != nil || answer.Status != "SUCCESS" {
			return answer, err
		}
		t := &thing{LogicalID: of.LogicalID, Type: of.Type, Identifier: answer.Identifier, model: schema.Clone(answer.Model)}
		if other := w.taken(t); other != "" {
			return failed("AlreadyExists", "Resource of type '%s' with identifier '%s' already exists.", of.Type, other), nil
		}
		w.things[t.key()] = t
		return answer, nil
	case "UPDATE":
		t := w.things[key]
		if t == nil {
			return failed("NotFound", "%s does not exist", of.Identifier), nil
		}
		model := schema.Clone(t.model)
		if !customresource.IsType(of.Type) {
			for name := range of.Previous {
				if _, kept := of.Desired[name]; !kept {
					delete(model, name)
				}
			}
			maps.Copy(model, schema.Clone(of.Desired))
		}
		t.model = model
		return local.ResourceAnswer{Status: "SUCCESS", Identifier: t.Identifier, Model: schema.Clone(model)}, nil
	case "DELETE":
		t := w.things[key]
		if t == nil {
			return failed("NotFound", "%s does not exist", of.Identifier), nil
		}
		delete(w.things, key)
		if t.before {
			w.gone = append(w.gone, t)
		} else if !customresource.IsType(of.Type) {
			return next(ctx) // its simulation has it, too
		}
		return local.ResourceAnswer{Status: "SUCCESS"}, nil
	}
	return next(ctx)
}

// numbered are identifiers with a number that the service counts up.
var numbered = lazyregexp.New(`:[0-9]+$`)

// taken is an identifier of a new resource that another one has, "" if there is none.
func (w *world) taken(t *thing) string {
	if w.things[t.key()] != nil && !numbered.MatchString(t.Identifier) {
		return t.Identifier
	}
	s := w.deployed.schemas[t.Type]
	if s == nil {
		return ""
	}
	for _, paths := range s.AdditionalIdentifiers {
		mine, ok := identify(t.model, paths)
		if !ok {
			continue
		}
		for _, other := range w.things {
			if theirs, ok := identify(other.model, paths); ok && other.Type == t.Type && theirs == mine {
				return mine
			}
		}
	}
	return ""
}

func identify(model map[string]any, paths []schema.Path) (string, bool) {
	values, ok := schema.Identifier(model, paths)
	if !ok {
		return "", false
	}
	parts := make([]string, len(values))
	for i, value := range values {
		parts[i] = fmt.Sprint(value)
	}
	return strings.Join(parts, "|"), true
}

// left are the resources that exist and are none of those that the stack has, sorted.
func (w *world) left(has map[string]bool) (out []*thing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.things)) {
		if !has[key] {
			out = append(out, w.things[key])
		}
	}
	return out
}
