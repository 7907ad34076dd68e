package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/local"
)

// A Call is one operation on a resource.
type Call struct {
	LogicalID  string `json:"logicalId"` // a path
	Type       string `json:"resourceType"`
	Action     string `json:"action"` // CREATE, UPDATE, DELETE
	Rollback   bool   `json:"rollback"`
	Identifier string `json:"physicalId"` // before the call, "" for CREATE
	Failed     bool   `json:"failed"`
	Hook       string `json:"hook"` // that refused it, "" for none

	message string // why it failed
}

// A thing is a resource that exists in a rehearsal.
type thing struct {
	LogicalID, Type, Identifier string // the first is a path
	deployed                    string // the identifier of a nested stack that exists, which is another one in a rehearsal

	model  map[string]any
	before bool // it existed before the update
}

func (t *thing) key() string { return t.Type + "|" + t.Identifier }

// A fault is a failure at a step.
type fault struct {
	logicalID, action string
	after             bool // after the work was done
	code              string
}

// A world are the resources of one rehearsal. It answers in the place of all handlers but those of the extensions.
type world struct {
	deployed *deployed
	next     *source
	uses     map[string][]string // attributes that the templates use, by path
	exists   map[string]bool     // paths of resources whose names are in use elsewhere
	missed   atomic.Pointer[string]

	mu       sync.Mutex
	seeded   bool
	handled  map[string]bool   // types of which handlers run
	paths    map[string]string // of stacks, by name
	children map[string]string // paths of nested stacks, by the beginnings of their names
	things   map[string]*thing
	gone     []*thing // deleted ones that existed before
	calls    []Call
	seen     map[string]int // index of a call, by token
	verdicts []Verdict
	broken   *brokenError
	forward  *fault
	backward *fault
}

// nestedSuffix is the length of what ends the name of a nested stack.
const nestedSuffix = 12

// begins notes that a nested stack will be made.
func (w *world) begins(of local.ResourceCall) {
	w.children[operation.NamePrefix(of.StackName, of.LogicalID, 128-1-nestedSuffix)+"-"] = w.at(of)
}

// place is the path of a stack. ok is false for one that is not part of the rehearsal.
func (w *world) place(name string) (path string, ok bool) {
	if path, ok = w.paths[name]; ok {
		return path, true
	}
	if n := len(name) - nestedSuffix; n > 0 {
		if path, ok = w.children[name[:n]]; ok {
			w.paths[name] = path
		}
	}
	return path, ok
}

// at is the path of the resource of a call.
func (w *world) at(of local.ResourceCall) string {
	path, _ := w.place(of.StackName)
	return join(path, of.LogicalID)
}

// around is [local.Config.Around].
func (w *world) around(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if of.StackName == "" {
		return next(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.place(of.StackName); !ok {
		return next(ctx)
	}
	if isHookCall(of) {
		return w.judge(ctx, of, next)
	}
	switch {
	case of.LogicalID == "":
		return next(ctx)
	case of.Type == stackType && of.Action == "CREATE":
		w.begins(of)
	}
	switch {
	case of.Action == "READ":
		return w.read(ctx, of, next)
	case !w.seeded:
		return w.seed(ctx, of, next)
	}
	at, known := w.seen[of.Token]
	if !known {
		at = len(w.calls)
		w.seen[of.Token] = at
		w.calls = append(w.calls, Call{LogicalID: w.at(of), Type: of.Type, Action: of.Action, Rollback: of.Rollback, Identifier: of.Identifier})
	}
	fault := w.faultOf(of)
	if fault != nil && !fault.after {
		w.calls[at].Failed, w.calls[at].message = true, aFailure
		return failed(fault.code, aFailure), nil
	}
	answer, err := w.act(ctx, of, next)
	if err != nil {
		return answer, err
	}
	if fault != nil && answer.Status == "SUCCESS" {
		answer = local.ResourceAnswer{Status: "FAILED", ErrorCode: fault.code, Message: aFailure, Identifier: answer.Identifier}
	}
	if answer.Status == "FAILED" {
		w.calls[at].Failed, w.calls[at].message = true, answer.Message
	}
	return answer, nil
}

// aFailure is the message of a fault.
const aFailure = "a failure of the rehearsal"

// read answers a READ.
func (w *world) read(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	t := w.things[of.Type+"|"+of.Identifier]
	switch {
	case of.Type == stackType, w.handled[of.Type] && w.seeded:
		return next(ctx)
	case t == nil:
		return failed("NotFound", "%s does not exist", of.Identifier), nil
	}
	return local.ResourceAnswer{Status: "SUCCESS", Identifier: t.Identifier, Model: schema.Clone(t.model)}, nil
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
	if f == nil || f.logicalID != w.at(of) || f.action != of.Action {
		return nil
	}
	return f
}

// seed answers the creation of a resource with the one that is deployed.
func (w *world) seed(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	at := w.at(of)
	r := w.deployed.resources[at]
	if r == nil {
		return failed("NotFound", "the deployed stack has no resource %s", at), nil
	}
	if of.Type == stackType {
		return w.nest(ctx, of, r.PhysicalID, next)
	}
	model := schema.Clone(r.model)
	if r.model == nil {
		if w.handled[of.Type] {
			w.breaks(of.Type, at+" could not be read, so its handler has nothing to update")
			return failed("NotFound", "%s could not be read", at), nil
		}
		made, err := w.made(ctx, of, next)
		if err != nil || made.Status != "SUCCESS" {
			return made, err
		}
		model = made.Model
	}
	t := &thing{LogicalID: at, Type: of.Type, Identifier: r.PhysicalID, model: model, before: true}
	w.things[t.key()] = t
	return local.ResourceAnswer{Status: "SUCCESS", Identifier: t.Identifier, Model: schema.Clone(model)}, nil
}

// nest makes a call for a nested stack, which the engine answers. deployed is the ARN of one that exists.
func (w *world) nest(ctx context.Context, of local.ResourceCall, deployed string, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	answer, err := next(ctx)
	key := of.Type + "|" + cmp.Or(answer.Identifier, of.Identifier)
	switch {
	case err != nil || answer.Status != "SUCCESS":
	case of.Action == "CREATE":
		w.things[key] = &thing{LogicalID: w.at(of), Type: of.Type, Identifier: answer.Identifier, deployed: deployed, before: deployed != ""}
	case of.Action == "DELETE":
		w.lose(of.Type + "|" + of.Identifier)
	}
	return answer, err
}

// made makes up a resource.
func (w *world) made(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if !customresource.IsType(of.Type) {
		return next(ctx)
	}
	data := map[string]any{}
	for _, name := range w.uses[w.at(of)] {
		data[name] = "rehearsed-" + of.LogicalID + "-" + name
	}
	return local.ResourceAnswer{Status: "SUCCESS", Identifier: "rehearsed-" + of.LogicalID + "-" + of.Token, Model: map[string]any{"Data": data}}, nil
}

// act makes a call.
func (w *world) act(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	switch {
	case of.Type == stackType:
		return w.nest(ctx, of, "", next)
	case w.handled[of.Type]:
		return w.own(ctx, of, next)
	}
	key := of.Type + "|" + of.Identifier
	switch of.Action {
	case "CREATE":
		if w.exists[w.at(of)] && !of.Rollback {
			return failed("AlreadyExists", "the name of %s is in use", of.LogicalID), nil
		}
		answer, err := w.made(ctx, of, next)
		if err != nil || answer.Status != "SUCCESS" {
			return answer, err
		}
		t := &thing{LogicalID: w.at(of), Type: of.Type, Identifier: answer.Identifier, model: schema.Clone(answer.Model)}
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
		if w.lose(key); !t.before && !customresource.IsType(of.Type) {
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

// sorted are the resources that exist, in an order that is the same each time.
func (w *world) sorted() (out []*thing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.things)) {
		out = append(out, w.things[key])
	}
	return out
}

// judged are the refusals of hooks.
func (w *world) judged() []Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.verdicts)
}
