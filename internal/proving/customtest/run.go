package customtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// Config says what is tested, and how. Name, the fields of the Sender and Create must be set.
type Config struct {
	Sender

	Name string // of the handler, for reports

	// Create are the properties of the resource, as in a template, Update those that it is
	// updated to, and Replace those that need another resource. Update and Replace may be nil.
	Create, Update, Replace map[string]any

	// Renew makes the next call run in a new process. Nil for handlers that are run by
	// another program.
	Renew func()

	Identity Identity
	Keywords *contract.Expression // selects tests by their names
	FailFast bool                 // stop after the first failure

	// CleanupTimeout bounds the deletion of what is left when the context has ended. Zero
	// means half a second.
	CleanupTimeout time.Duration

	Secrets  *secret.Set       // what is hidden in reports; nil for none but what responses hide
	Reporter contract.Reporter // may be nil
	NewID    func() string     // nil means random UUIDs
}

// An Identity is what requests say about where they come from.
type Identity struct {
	Type, LogicalID string // of the resource
	ServiceToken    string // ARN of the handler
	Region, Account string
}

// NewRequest makes a request of a stack of its own.
func (i Identity) NewRequest(kind customresource.RequestType, id string) *customresource.Request {
	return &customresource.Request{
		RequestType: kind, ServiceToken: i.ServiceToken, RequestID: id, LogicalResourceID: i.LogicalID, ResourceType: i.Type,
		StackID: fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/%s", i.Region, i.Account, stackName, id),
	}
}

const (
	stackName   = "cfn-cr-test"
	ownCleanup  = 500 * time.Millisecond
	reasonURL   = secret.Reason("presigned URL")
	reasonMask  = secret.Reason("NoEcho")
	interrupted = "the run was interrupted"
)

// ErrNothingSelected reports that no test matches the selection.
var ErrNothingSelected = errors.New("no tests selected")

// Select returns the tests that an expression takes, and how many it leaves out.
func Select(keywords *contract.Expression) (selected []contract.Case, deselected int) {
	selection := contract.Selection{Keywords: keywords}
	for i := range cases {
		if selection.Picks(&cases[i].Case) {
			selected = append(selected, cases[i].Case)
		} else {
			deselected++
		}
	}
	return selected, deselected
}

// A run is one run of the tests.
type run struct {
	Config
	summary *contract.Summary
	stop    string // why the other tests are skipped; "" while they are run
}

// Run runs the selected tests. The error is ctx's, ErrNothingSelected, or that of a handler that
// cannot be called at all. Resources that the tests created are deleted, and the summary names
// those that are left.
func Run(ctx context.Context, cfg Config) (*contract.Summary, error) {
	cfg.complete()
	selected, deselected := Select(cfg.Keywords)
	if len(selected) == 0 {
		return nil, ErrNothingSelected
	}
	r := &run{Config: cfg, summary: &contract.Summary{TypeName: cfg.Name}}
	start := r.Now()
	r.Reporter.Report(contract.Event{Kind: contract.Planned, Plan: &contract.Plan{TypeName: cfg.Name, Cases: selected, Deselected: deselected, Custom: true}})
	var fatal error
	for i := range cases {
		if !slices.ContainsFunc(selected, func(c contract.Case) bool { return c.ID == cases[i].ID }) {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if fatal = r.test(ctx, &cases[i]); fatal != nil {
			break
		}
	}
	r.summary.Duration = r.Now().Sub(start)
	if fatal != nil && ctx.Err() == nil {
		return nil, fatal
	}
	r.Reporter.Report(contract.Event{Kind: contract.Ended, Summary: r.summary})
	return r.summary, ctx.Err()
}

func (c *Config) complete() {
	c.Sender.complete()
	if c.CleanupTimeout == 0 {
		c.CleanupTimeout = ownCleanup
	}
	if c.Secrets == nil {
		c.Secrets = &secret.Set{}
	}
	if c.Reporter == nil {
		c.Reporter = contract.Reporters(nil)
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
}

// test runs one test. The error is that of a handler that cannot be called.
func (r *run) test(ctx context.Context, c *testCase) error {
	t := &test{run: r, start: r.Now(), base: r.Identity.NewRequest(customresource.Create, r.NewID()), numbers: map[string]int{}}
	r.Reporter.Report(contract.Event{Kind: contract.Started, Case: &c.Case})
	err := error(skipped(r.stop))
	if r.stop == "" {
		err = c.run(ctx, t)
	}
	var stopped skipped
	fatal := err != nil && !errors.Is(err, errBroken) && !errors.As(err, &stopped) && !isFailure(err) && ctx.Err() == nil
	if !fatal {
		t.cleanUp(ctx)
	}
	result := t.result(c, err, ctx.Err() != nil)
	r.summary.Add(result)
	r.Reporter.Report(contract.Event{Kind: contract.Finished, Result: result})
	switch {
	case fatal:
		return err
	case r.FailFast && result.Outcome == contract.Failed:
		r.stop = "not run after the first failure"
	case t.hung:
		r.stop = fmt.Sprintf("not run: an invocation had not ended after %s", shownTime(r.Timeout))
	}
	return nil
}

// A test is one test while it runs.
type test struct {
	*run
	start   time.Time
	base    *customresource.Request // of the stack that the test plays
	calls   []contract.Call
	numbers map[string]int // deliveries by request
	found   customresource.Violations
	live    []resource // what exists
	made    bool       // the resource that the test needs was created
	hung    bool
}

// A resource is one that was created.
type resource struct {
	id         string
	properties map[string]any
	unknown    bool // the id is a placeholder: the response to Create has none
}

type skipped string

func (s skipped) Error() string { return string(s) }

// errBroken ends a test that has found violations.
var errBroken = errors.New("a rule is violated")

// A failure is a valid response that the test cannot continue with.
type failure struct{ message string }

func (f *failure) Error() string { return f.message }

func isFailure(err error) bool {
	var f *failure
	return errors.As(err, &f)
}

// request makes a request of the test's stack.
func (t *test) request(kind customresource.RequestType, id string, properties, old map[string]any) *customresource.Request {
	out := *t.base
	out.RequestType, out.RequestID, out.PhysicalResourceID = kind, t.NewID(), id
	out.Properties = withToken(properties, t.Identity.ServiceToken)
	if kind == customresource.Update {
		out.OldProperties = withToken(old, t.Identity.ServiceToken)
	}
	return &out
}

// withToken are properties as CloudFormation sends them: with the ServiceToken.
func withToken(properties map[string]any, token string) map[string]any {
	out := maps.Clone(properties)
	if out == nil {
		out = map[string]any{}
	}
	out[customresource.PropertyToken] = token
	return out
}

// open makes the URL of a request.
func (t *test) open(request *customresource.Request, life time.Duration) (*customresource.Slot, error) {
	slot, err := t.Receiver.open(request, life)
	if err != nil {
		return nil, err
	}
	if at, err := url.Parse(request.ResponseURL); err == nil {
		t.Secrets.AddFor(reasonURL, customresource.Signature(at.Query()))
	}
	return slot, nil
}

// send sends a request once.
func (t *test) send(ctx context.Context, request *customresource.Request) (*Exchange, error) {
	slot, err := t.open(request, t.Timeout)
	if err != nil {
		return nil, err
	}
	defer slot.Close()
	return t.deliver(ctx, request, slot, answered)
}

// deliver sends a request that has a URL, keeps the call for the report, and ends the test with
// errBroken if a rule is violated.
func (t *test) deliver(ctx context.Context, request *customresource.Request, slot *customresource.Slot, how mode) (*Exchange, error) {
	x, err := t.exchange(ctx, request, slot, how)
	if x == nil {
		return nil, err
	}
	t.record(x, ctx.Err())
	t.hung = t.hung || x.hung
	if request.RequestType != customresource.Delete {
		if id := x.physicalID(); id != "" {
			t.lives(resource{id: id, properties: request.Properties})
		} else if request.RequestType == customresource.Create && (x.Response == nil || x.Response.Succeeded()) {
			t.lives(resource{id: t.placeholder(), properties: request.Properties, unknown: true})
		}
	} else if x.Response != nil && x.Response.Succeeded() {
		t.live = slices.DeleteFunc(t.live, func(l resource) bool { return l.id == request.PhysicalResourceID })
	}
	if err != nil {
		return x, err
	}
	for _, v := range x.Violations {
		v.Message = string(request.RequestType) + ": " + v.Message
		t.found = append(t.found, v)
	}
	if len(x.Violations) > 0 {
		return x, errBroken
	}
	return x, nil
}

// lives notes that a resource may exist.
func (t *test) lives(l resource) {
	for i := range t.live {
		if t.live[i].id == l.id {
			t.live[i] = l
			return
		}
	}
	t.live = append(t.live, l)
}

// violated ends the test with a violation of a rule about several responses.
func (t *test) violated(id, format string, args ...any) error {
	t.found = append(t.found, broken(id, format, args...))
	return errBroken
}

// placeholder is an id as CloudFormation makes it for a resource that has none.
func (t *test) placeholder() string {
	random := strings.ToUpper(strings.ReplaceAll(t.NewID(), "-", ""))
	return stackName + "-" + t.Identity.LogicalID + "-" + random[:min(12, len(random))]
}

// record keeps a call for the report, secrets hidden.
func (t *test) record(x *Exchange, canceled error) {
	if x.Response != nil && x.Response.NoEcho {
		t.Secrets.AddFor(reasonMask, Leaves(x.Response.Data)...)
	}
	id := x.Request.RequestID
	t.numbers[id]++
	call := contract.Call{
		Action: invoke.Action(x.Request.RequestType), Number: t.numbers[id], Offset: max(0, x.Start.Sub(t.start)), Duration: x.Duration,
		Request: t.shown(x.Sent), Response: t.shown(x.Body), Log: t.Secrets.Hide(string(x.Log)),
	}
	switch {
	case x.Response != nil && x.Response.Succeeded():
		call.Status, call.Message = invoke.Success, x.Response.PhysicalResourceID
	case x.Response != nil:
		call.Status, call.Message = invoke.Failed, x.Response.Reason
	case x.Body != nil:
		call.Err = "the response is not valid"
	case canceled != nil:
		call.Err = "interrupted"
	default:
		call.Err = "no response"
	}
	if x.Err != nil && canceled == nil && !errors.Is(x.Err, errHeld) {
		call.Err = strings.TrimPrefix(call.Err+"; "+x.Err.Error(), "; ")
	}
	call.Message, call.Err = t.Secrets.Hide(call.Message), t.Secrets.Hide(call.Err)
	t.calls = append(t.calls, call)
	t.Reporter.Report(contract.Event{Kind: contract.Called, Call: &call})
}

// shown is a document of a report.
func (t *test) shown(data []byte) []byte { return Shown(t.Secrets, data) }

// Shown is a request or a response as reports show it: indented, secrets hidden.
func Shown(secrets *secret.Set, data []byte) []byte {
	if data == nil {
		return nil
	}
	text := []byte(secrets.Hide(string(data)))
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return out.Bytes()
}

// Leaves are the texts and numbers in a value, which are secret if the value is.
func Leaves(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, Leaves(item)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, Leaves(v[key])...)
		}
		return out
	}
	return nil
}

// cleanUp deletes what the test has left, without judging the responses.
func (t *test) cleanUp(ctx context.Context) {
	within, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(t.CleanupTimeout, cancel) })()
	if ctx.Err() != nil {
		time.AfterFunc(t.CleanupTimeout, cancel)
	}
	for _, l := range slices.Clone(t.live) {
		if t.hung || within.Err() != nil {
			break
		}
		request := t.request(customresource.Delete, l.id, l.properties, nil)
		slot, err := t.open(request, t.Timeout)
		if err != nil {
			break
		}
		x, err := t.exchange(within, request, slot, answered)
		slot.Close()
		if err == nil {
			t.record(x, nil)
			t.hung = t.hung || x.hung
		}
		if err == nil && x.Response != nil && x.Response.Succeeded() {
			t.live = slices.DeleteFunc(t.live, func(other resource) bool { return other.id == l.id })
		}
	}
	for _, l := range t.live {
		name := t.Secrets.Hide(t.Identity.Type + " " + l.id)
		if l.unknown {
			name = t.Identity.Type + " of a Create whose response has no PhysicalResourceId"
		}
		if !slices.Contains(t.summary.LeftBehind, name) {
			t.summary.LeftBehind = append(t.summary.LeftBehind, name)
		}
	}
}

// result describes how a test ended.
func (t *test) result(c *testCase, err error, canceled bool) *contract.Result {
	result := &contract.Result{Case: &c.Case, Phase: contract.CallPhase, Outcome: contract.Passed, Calls: t.calls, Duration: max(0, t.Now().Sub(t.start))}
	var reason skipped
	switch {
	case len(t.found) > 0:
		result.Outcome = contract.Failed
		first := t.found[0]
		result.Message, result.Clause = first.Message, Clause(first.Rule)
		for _, v := range t.found {
			if !slices.Contains(result.Rules, v.Rule.ID) {
				result.Rules = append(result.Rules, v.Rule.ID)
			}
		}
		for _, v := range t.found[1:] {
			result.More = append(result.More, &contract.Violation{Clause: Clause(v.Rule), Message: t.Secrets.Hide(v.Message)})
		}
	case err == nil:
		return result
	case canceled:
		result.Outcome, result.Message = contract.Errored, interrupted
	case errors.As(err, &reason):
		result.Outcome, result.Message = contract.Skipped, err.Error()
	case !t.made && c.needs:
		result.Outcome, result.Phase, result.Message = contract.Errored, contract.Setup, err.Error()
	default:
		result.Outcome, result.Message = contract.Failed, err.Error()
	}
	result.Message = t.Secrets.Hide(result.Message)
	return result
}
