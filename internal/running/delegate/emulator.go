package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxAtOnce bounds the calls made at once to one emulator.
const maxAtOnce = 16

// recheck is how long what was found out about an emulator counts.
const recheck = 30 * time.Second

// An emulator is a program at a URL.
type emulator struct {
	url   string
	http  *http.Client
	now   func() time.Time
	place chan struct{} // one per call

	mu      sync.Mutex
	kind    kind
	checked time.Time
	knows   map[string]bool            // types, by the probe
	lacks   map[string]map[string]bool // attributes that do not exist, by the shape of the resource
}

// A kind is a program and its version.
type kind struct{ name, version string }

func (k kind) String() string { return strings.TrimSpace(k.name + " " + k.version) }

func newEmulator(url string, client *http.Client, now func() time.Time) *emulator {
	return &emulator{url: url, http: client, now: now, place: make(chan struct{}, maxAtOnce), knows: map[string]bool{}, lacks: map[string]map[string]bool{}}
}

// enter waits for a place. Leave it by the function.
func (e *emulator) enter(ctx context.Context) (leave func(), err error) {
	select {
	case e.place <- struct{}{}:
		return func() { <-e.place }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// identify finds out which program it is. What it knew of another version is forgotten.
func (e *emulator) identify(ctx context.Context) (kind, error) {
	e.mu.Lock()
	known, fresh := e.kind, e.kind.name != "" && e.now().Sub(e.checked) < recheck
	e.mu.Unlock()
	if fresh {
		return known, nil
	}
	found, err := e.health(ctx)
	if err != nil {
		return kind{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kind != found {
		clear(e.lacks)
	}
	clear(e.knows)
	e.kind, e.checked = found, e.now()
	return found, nil
}

// lastKind is what the emulator was when it was last reached.
func (e *emulator) lastKind() kind {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kind
}

var version = lazyregexp.New(`^[0-9A-Za-z.+-]{1,40}$`)

// health asks for the program: only ministack is delegated to, since the stacks of other emulators report
// resources that do not exist.
func (e *emulator) health(ctx context.Context) (kind, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/_ministack/health", nil)
	if err != nil {
		return kind{}, err
	}
	response, err := e.http.Do(request)
	if err != nil {
		return kind{}, e.explain(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	var health struct {
		Version string `json:"version"`
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return kind{}, e.explain(ctx, err)
	}
	if response.StatusCode != http.StatusOK || json.Unmarshal(text, &health) != nil || !version.MatchString(health.Version) {
		return kind{}, faultf(invoke.InvalidRequest, "What listens at %s is not ministack, the emulator that --delegate supports.", e.url)
	}
	return kind{"ministack", health.Version}, nil
}

// unrecognized is the message about a template with unknown types.
var unrecognized = lazyregexp.New(`Unrecognized resource types: \[([^\]]*)\]`)

// provides reports whether the emulator knows a type, as it says before anything is made.
func (e *emulator) provides(ctx context.Context, caller awswire.Caller, typeName string) (bool, error) {
	if _, err := e.identify(ctx); err != nil {
		return false, err
	}
	e.mu.Lock()
	knows, found := e.knows[typeName]
	e.mu.Unlock()
	if found {
		return knows, nil
	}
	leave, err := e.enter(ctx)
	if err != nil {
		return false, err
	}
	defer leave()
	body := fmt.Sprintf(`{"Resources":{"Probe":{"Type":%q}}}`, typeName)
	_, err = e.cloudFormation(caller).ValidateTemplate(ctx, &cloudformation.ValidateTemplateInput{TemplateBody: &body})
	var api smithy.APIError
	switch {
	case err == nil:
		knows = true
	case errors.As(err, &api) && unrecognized.MatchString(api.ErrorMessage()):
		knows = false
	default:
		return false, e.explain(ctx, err)
	}
	e.mu.Lock()
	e.knows[typeName] = knows
	e.mu.Unlock()
	return knows, nil
}

// missingAttribute is the message about an attribute that the emulator does not have.
var missingAttribute = lazyregexp.New(`Requested attribute ([A-Za-z0-9_.]{1,200}) does not exist`)

const maxShapes = 10000 // which an emulator is remembered to lack attributes for

// lack notes that resources of a shape have no such attribute.
func (e *emulator) lack(shape, attribute string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lacks) >= maxShapes {
		clear(e.lacks)
	}
	if e.lacks[shape] == nil {
		e.lacks[shape] = map[string]bool{}
	}
	e.lacks[shape][attribute] = true
}

func (e *emulator) lacking(shape string) map[string]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.lacks[shape])
}

// A remote is a stack in the emulator.
type remote struct {
	id, status, reason, description string
	outputs                         map[string]string
}

// settled reports whether no operation on the stack is in progress.
func (r *remote) settled() bool { return !strings.HasSuffix(r.status, "_IN_PROGRESS") }

// find returns nil for a stack that does not exist, or was deleted.
func (e *emulator) find(ctx context.Context, client *cloudformation.Client, name string) (*remote, error) {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	var api smithy.APIError
	switch {
	case errors.As(err, &api) && strings.Contains(api.ErrorMessage(), "does not exist"):
		return nil, nil
	case err != nil:
		return nil, e.explain(ctx, err)
	case len(out.Stacks) == 0:
		return nil, nil
	}
	s := out.Stacks[0]
	if string(s.StackStatus) == "DELETE_COMPLETE" {
		return nil, nil
	}
	found := &remote{aws.ToString(s.StackId), string(s.StackStatus), aws.ToString(s.StackStatusReason), aws.ToString(s.Description), map[string]string{}}
	for _, o := range s.Outputs {
		found.outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return found, nil
}

// patience is how long a call waits for a stack. After that the next call looks at it again.
const patience = 2 * time.Second

// errPending says that a stack is in progress for longer than a call waits.
var errPending = errors.New("the stack is in progress")

// errUpdating says so of the stack of an update that was sent.
var errUpdating = fmt.Errorf("%w after an update was sent", errPending)

// errAttributes says so of the stack of an update for attributes.
var errAttributes = fmt.Errorf("%w after an update for attributes was sent", errPending)

// updated waits for the end of an update that was sent.
func (e *emulator) updated(ctx context.Context, client *cloudformation.Client, name string) (*remote, error) {
	found, err := e.settle(ctx, client, name)
	if errors.Is(err, errPending) {
		return nil, errUpdating
	}
	return found, err
}

// settle waits for the end of what is done on a stack; nil means that it does not exist.
func (e *emulator) settle(ctx context.Context, client *cloudformation.Client, name string) (found *remote, err error) {
	err = poll(ctx, func() (done bool, err error) {
		found, err = e.find(ctx, client, name)
		return found == nil || found.settled(), err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// poll looks again and again until what is waited for is done, or fails. It returns errPending when it has lost its patience.
func poll(ctx context.Context, look func() (done bool, err error)) error {
	waited := time.Duration(0)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		if done, err := look(); done || err != nil {
			return err
		}
		if waited >= patience {
			return errPending
		}
		if err := invoke.Sleep(ctx, wait); err != nil {
			return err
		}
		waited += wait
	}
}

// reasons returns why the latest operation on a stack failed: what its events say about the resource.
func (e *emulator) reasons(ctx context.Context, client *cloudformation.Client, id string) string {
	out, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &id})
	if err != nil {
		return ""
	}
	for _, event := range out.StackEvents { // the newest first
		reason := aws.ToString(event.ResourceStatusReason)
		if strings.HasSuffix(string(event.ResourceStatus), "_FAILED") && reason != "" {
			return reason
		}
	}
	return ""
}
