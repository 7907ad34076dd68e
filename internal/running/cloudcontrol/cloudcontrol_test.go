package cloudcontrol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	engine "github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var (
	owner    = awswire.Caller{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}}
	stranger = awswire.Caller{Place: awswire.Place{Account: "444455556666", Region: "eu-west-1"}}
)

const site = "Acme::Web::Site"

const siteSchema = `{
	"typeName": "Acme::Web::Site", "description": "A site.", "additionalProperties": false,
	"properties": {
		"Zone": {"type": "string"}, "Name": {"type": "string", "maxLength": 20}, "Title": {"type": "string"}, "Size": {"type": "integer"},
		"Secret": {"type": "string"}, "Arn": {"type": "string"}, "Tags": {"type": "array", "items": {"type": "string"}}
	},
	"required": ["Zone", "Name"], "primaryIdentifier": ["/properties/Zone", "/properties/Name"], "readOnlyProperties": ["/properties/Arn"], "additionalIdentifiers": [["/properties/Arn"]],
	"writeOnlyProperties": ["/properties/Secret"], "createOnlyProperties": ["/properties/Zone", "/properties/Name"],
	"handlers": {
		"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []},
		"list": {"permissions": [], "handlerSchema": {"properties": {"Zone": {"$ref": "resource-schema.json#/properties/Zone"}}, "required": ["Zone"]}}
	}
}`

// A rig is an engine over a store, and the sites that it manages.
type rig struct {
	*engine.Engine
	t          *testing.T
	operations *operation.Engine
	typ        *operation.Type

	mu      sync.Mutex
	sites   map[string]map[string]any
	calls   []operation.Request
	clock   time.Time
	hold    chan struct{} // not nil: changes are IN_PROGRESS until it is closed
	fail    *operation.Progress
	lose    int  // answers of the next calls, which do what they should
	gone    bool // the type is unknown
	listing []operation.ListRequest
	hooks   hookWorld
}

func eachStore(t *testing.T, test func(t *testing.T, g *rig)) {
	t.Helper()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, place))
		})
	}
}

func newRig(t *testing.T, place fixtures.Place) *rig {
	t.Helper()
	g := &rig{t: t, sites: map[string]map[string]any{}, clock: time.Now()}
	parsed, problems := schema.Load("site.json", []byte(siteSchema), schema.Config{Kind: schema.Resource})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	g.typ = &operation.Type{Name: site, Version: "00000001", Schema: parsed, Provider: handler{g}}
	opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN, Sealer: reversed{}, Poll: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	g.operations = operation.New(operation.Config{
		Store: opened, Types: g, Retries: operation.Retries{Max: -1}, TimeScale: 100,
	})
	hooks := hook.New(hook.Config{Store: opened, Sources: []hook.Source{&g.hooks}, Operations: g.operations})
	g.operations.Own(engine.Owner, g)
	g.operations.Own(hook.OwnerName, hooks)
	g.Engine = engine.New(engine.Config{Store: opened, Types: g, Operations: g.operations, Hooks: hooks, Hold: 10 * time.Second, Now: g.now})
	hooks.Own(engine.HooksOwner, g.Engine)
	if err := opened.Work(t.Context(), g.operations.Workers()); err != nil {
		t.Fatal(err)
	}
	return g
}

// reversed is a sealer that tests can see through.
type reversed struct{}

func (reversed) Seal(_, text string) string {
	runes := []rune(text)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes)
}

func (r reversed) Open(key, sealed string) (string, error) { return r.Seal(key, sealed), nil }

func (g *rig) now() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock = g.clock.Add(time.Millisecond)
	return g.clock
}

// Type implements operation.Types.
func (g *rig) Type(_ context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if name != site || g.gone {
		return nil, &operation.UnknownTypeError{Name: name, Hint: "register it"}
	}
	return g.typ, nil
}

// A handler is the rig as the handler of the type.
type handler struct{ *rig }

// Call implements operation.Provider.
func (g handler) Call(_ context.Context, r operation.Request) (operation.Progress, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, r)
	id := r.Identifier
	if id == "" {
		id = operation.IdentifierOf(g.typ.Schema, r.Desired)
	}
	if arn, ok := r.Desired["Arn"].(string); ok && r.Identifier == "" && r.Action == invoke.Read {
		id = strings.TrimPrefix(arn, "arn:")
	}
	failed := func(code, message string) (operation.Progress, error) {
		return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: code, Message: message}, nil
	}
	if g.fail != nil {
		return *g.fail, nil
	}
	if g.hold != nil && r.Action != invoke.Read {
		select {
		case <-g.hold:
		default:
			return operation.Progress{Status: cfn.OperationStatusInProgress, Identifier: id, Delay: time.Second}, nil
		}
	}
	model, exists := g.sites[id]
	switch {
	case r.Action == invoke.Create && exists:
		return failed("AlreadyExists", "it exists")
	case r.Action != invoke.Create && !exists:
		return failed("NotFound", "there is no such site")
	case r.Action == invoke.Delete:
		delete(g.sites, id)
		if g.lose--; g.lose >= 0 {
			return operation.Progress{}, errors.New("the answer is lost")
		}
		return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: id}, nil
	case r.Action != invoke.Read:
		model, _ = schema.Without(r.Desired, nil).(map[string]any)
		model["Arn"] = "arn:" + id
		g.sites[id] = model
	}
	return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: id, Model: model}, nil
}

// ListResources implements operation.Lister: a page for each site.
func (g handler) ListResources(_ context.Context, r operation.ListRequest) (*operation.Page, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listing = append(g.listing, r)
	if g.fail != nil {
		return &operation.Page{ErrorCode: g.fail.ErrorCode, Message: g.fail.Message}, nil
	}
	page := &operation.Page{NextToken: "more"}
	for id, model := range g.sites {
		page.Resources = append(page.Resources, operation.Listed{Identifier: id, Model: model})
	}
	return page, nil
}

func (g *rig) create(state string) (*types.ProgressEvent, error) {
	out, err := g.CreateResource(g.t.Context(), owner, &cloudcontrol.CreateResourceInput{TypeName: aws.String(site), DesiredState: &state})
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

func (g *rig) update(identifier, patch string) (*types.ProgressEvent, error) {
	out, err := g.UpdateResource(g.t.Context(), owner, &cloudcontrol.UpdateResourceInput{TypeName: aws.String(site), Identifier: &identifier, PatchDocument: &patch})
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

func (g *rig) remove(identifier string) (*types.ProgressEvent, error) {
	out, err := g.DeleteResource(g.t.Context(), owner, &cloudcontrol.DeleteResourceInput{TypeName: aws.String(site), Identifier: &identifier})
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

// ended waits for a request that was begun.
func (g *rig) ended(event *types.ProgressEvent, err error) *types.ProgressEvent {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	out, err := g.GetResourceRequestStatus(g.t.Context(), owner, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: event.RequestToken})
	if err != nil {
		g.t.Fatal(err)
	}
	return out.ProgressEvent
}

func (g *rig) read(identifier string) (string, error) {
	out, err := g.GetResource(g.t.Context(), owner, &cloudcontrol.GetResourceInput{TypeName: aws.String(site), Identifier: &identifier})
	if err != nil {
		return "", err
	}
	return *out.ResourceDescription.Properties, nil
}

const home = `{"Zone": "a", "Name": "home", "Title": "T", "Secret": "hush", "Tags": ["x"]}`

func TestLife(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		begun, err := g.create(home)
		if err != nil || begun.OperationStatus != types.OperationStatusInProgress || begun.RetryAfter == nil || begun.Operation != types.OperationCreate {
			t.Fatalf("create: %+v, %v", begun, err)
		}
		created := g.ended(begun, nil)
		if created.OperationStatus != types.OperationStatusSuccess || *created.Identifier != "a|home" || created.RetryAfter != nil {
			t.Errorf("created: %+v", created)
		}
		equalJSON(t, "created", `{"Zone": "a", "Name": "home", "Title": "T", "Arn": "arn:a|home", "Tags": ["x"]}`, aws.ToString(created.ResourceModel))

		begun, err = g.update("a|home", `[{"op": "test", "path": "/Title", "value": "T"}, {"op": "replace", "path": "/Title", "value": "U"}, {"op": "add", "path": "/Tags/-", "value": "y"}, {"op": "add", "path": "/Size", "value": 3}]`)
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, "first event of the update", `{"Zone": "a", "Name": "home", "Title": "U", "Size": 3, "Tags": ["x", "y"]}`, aws.ToString(begun.ResourceModel))
		updated := g.ended(begun, nil)
		if updated.OperationStatus != types.OperationStatusSuccess {
			t.Errorf("updated: %+v", updated)
		}
		last := g.calls[len(g.calls)-1]
		if last.Action != invoke.Update || last.Previous["Title"] != "T" || last.Desired["Arn"] != nil {
			t.Errorf("the update handler was called with %+v", last)
		}
		for _, identifier := range []string{"a|home", `{"Zone": "a", "Name": "home"}`} {
			model, err := g.read(identifier)
			if err != nil {
				t.Fatal(err)
			}
			equalJSON(t, identifier, `{"Zone": "a", "Name": "home", "Title": "U", "Size": 3, "Arn": "arn:a|home", "Tags": ["x", "y"]}`, model)
		}
		if gone := g.ended(g.remove("a|home")); gone.OperationStatus != types.OperationStatusSuccess || gone.ResourceModel != nil {
			t.Errorf("deleted: %+v", gone)
		}
		again := g.ended(g.remove("a|home"))
		if again.OperationStatus != types.OperationStatusFailed || again.ErrorCode != types.HandlerErrorCodeNotFound || *again.StatusMessage != "there is no such site" {
			t.Errorf("deleted twice: %+v", again)
		}
	})
}

// An additional identifier is resolved by a read; requests have the primary one.
func TestAdditionalIdentifiers(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.ended(g.create(home))
		const arn = `{"Arn": "arn:a|home"}`
		model, err := g.read(arn)
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, "read", `{"Zone": "a", "Name": "home", "Title": "T", "Arn": "arn:a|home", "Tags": ["x"]}`, model)
		if updated := g.ended(g.update(arn, `[{"op": "replace", "path": "/Title", "value": "U"}]`)); updated.OperationStatus != types.OperationStatusSuccess || *updated.Identifier != "a|home" {
			t.Errorf("updated: %+v", updated)
		}
		if _, err := g.remove(`{"Arn": "arn:b|away"}`); err == nil || !strings.Contains(err.Error(), "ResourceNotFoundException") {
			t.Errorf("deletion of nothing: %v", err)
		}
		for _, wrong := range []string{`{"Arn": "arn:a|home", "Zone": "a"}`, `{"Title": "U"}`, `{}`, `{"Arn": null}`, `{"Arn"`} {
			if _, err := g.read(wrong); err == nil || !strings.Contains(err.Error(), "is not valid for identifier") {
				t.Errorf("%s: %v", wrong, err)
			}
		}
		if gone := g.ended(g.remove(arn)); gone.OperationStatus != types.OperationStatusSuccess || *gone.Identifier != "a|home" {
			t.Errorf("deleted: %+v", gone)
		}
		if _, err := g.read(arn); err == nil {
			t.Error("it can still be read")
		}
	})
}

func TestAlreadyExists(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.ended(g.create(home))
		second := g.ended(g.create(home))
		if second.OperationStatus != types.OperationStatusFailed || second.ErrorCode != types.HandlerErrorCodeAlreadyExists {
			t.Errorf("created twice: %+v", second)
		}
	})
}

// TestRefused holds every refusal to its code and text.
func TestRefused(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Stores(t)[0])
	g.ended(g.create(home))
	patch := func(operations string) func() error {
		return func() error { _, err := g.update("a|home", operations); return err }
	}
	create := func(state string) func() error {
		return func() error { _, err := g.create(state); return err }
	}
	list := func(model *string) func() error {
		return func() error {
			_, err := g.ListResources(t.Context(), owner, &cloudcontrol.ListResourcesInput{TypeName: aws.String(site), ResourceModel: model})
			return err
		}
	}
	read := func(identifier string) func() error {
		return func() error { _, err := g.read(identifier); return err }
	}
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"unknown type", func() error {
			_, err := g.CreateResource(t.Context(), owner, &cloudcontrol.CreateResourceInput{TypeName: aws.String("Acme::Web::Nothing"), DesiredState: aws.String("{}")})
			return err
		}, "TypeNotFoundException: The type 'Acme::Web::Nothing' cannot be found. (register it)"},
		{"not JSON", create(`{"Zone"`), "ValidationException: DesiredState is not valid JSON: line 1, column 8: "},
		{"not an object", create(`[]`), "ValidationException: DesiredState must be a JSON object"},
		{"NUL", create(`{"Zone": "a", "Name": "b", "Tags": ["\u0000"]}`), "ValidationException: DesiredState contains the character U+0000 at /Tags/0"},
		{"long identifier", read("a|" + strings.Repeat("b", 2047)), "ValidationException: Identifier has 2049 bytes; at most 2048 are allowed"},
		{"two objects", create(`{} {}`), "ValidationException: DesiredState is not valid JSON: "},
		{"extraneous", create(`{"Zone": "a", "Name": "b", "X": 1}`), "ValidationException: Model validation failed (#: extraneous key [X] is not permitted)"},
		{"type", create(`{"Zone": "a", "Name": true}`), "ValidationException: Model validation failed (#/Name: expected type: String, found: Boolean)"},
		{"two faults", create(`{"Zone": "a", "X": 1}`), "ValidationException: Model validation failed (#: required key [Name] not found\n#: extraneous key [X] is not permitted)"},
		{"required", create(`{"Zone": "a"}`), "ValidationException: Model validation failed (#: required key [Name] not found)"},
		{"read-only", create(`{"Zone": "a", "Name": "b", "Arn": "c"}`), "ValidationException: Model validation failed (readOnlyProperties [/properties/Arn] cannot be set)"},
		{"identifier", read("a"), "ValidationException: Identifier a is not valid for identifier [/properties/Zone, /properties/Name]"},
		{"identifier object", read(`{"Zone": "a"}`), "ValidationException: Identifier {\"Zone\": \"a\"} is not valid for identifier [/properties/Zone, /properties/Name]"},
		{"missing", read("a|b"), "ResourceNotFoundException: Acme::Web::Site Handler returned status FAILED: there is no such site (HandlerErrorCode: NotFound, RequestToken: "},
		{"patch of what is missing", func() error { _, err := g.update("a|b", `[]`); return err }, "ResourceNotFoundException: "},
		{"patch not JSON", patch(`[`), "ValidationException: PatchDocument is not valid JSON: "},
		{"patch not a list", patch(`{}`), "ValidationException: PatchDocument must be a JSON array of patch operations (RFC 6902), each with an op, a path and what the op needs"},
		{"patch operation", patch(`[{"op": "merge", "path": "/Title"}]`), "ValidationException: PatchDocument must be a JSON array of patch operations (RFC 6902), each with an op, a path and what the op needs"},
		{"patch path", patch(`[{"op": "remove", "path": "Title"}]`), "ValidationException: [REMOVE Operation] noSuchPath in source, path provided : /Title"},
		{"patch value", patch(`[{"op": "add", "path": "/Title"}]`), "ValidationException: PatchDocument must be a JSON array of patch operations (RFC 6902), each with an op, a path and what the op needs"},
		{"patch from", patch(`[{"op": "move", "path": "/Title"}]`), "ValidationException: PatchDocument must be a JSON array of patch operations (RFC 6902), each with an op, a path and what the op needs"},
		{"patch nothing", patch(`[{"op": "remove", "path": "/Size"}]`), "ValidationException: [REMOVE Operation] noSuchPath in source, path provided : //Size"},
		{"patch replaces nothing", patch(`[{"op": "add", "path": "/Title", "value": "t"}, {"op": "replace", "path": "/Size", "value": 3}, {"op": "remove", "path": "/Tags"}]`),
			"ValidationException: [REPLACE Operation] noSuchPath in source, path provided : //Size"},
		{"patch below nothing", patch(`[{"op": "add", "path": "/Nothing/Size", "value": 3}]`), "ValidationException: [ADD Operation] noSuchPath in source, path provided : //Nothing/Size"},
		{"patch copies nothing", patch(`[{"op": "copy", "from": "/Size", "path": "/Title"}]`), "ValidationException: [COPY Operation] noSuchPath in source, path provided : //Size"},
		{"patch moves to nothing", patch(`[{"op": "move", "from": "/Title", "path": "/No/Title"}]`), "ValidationException: [MOVE Operation] noSuchPath in source, path provided : //No/Title"},
		{"patch empty name", patch(`[{"op": "add", "path": "//Title", "value": "x"}]`), "ValidationException: [ADD Operation] noSuchPath in source, path provided : ///Title"},
		{"patch empty from", patch(`[{"op": "copy", "from": "/", "path": "/Title"}]`), "ValidationException: [COPY Operation] noSuchPath in source, path provided : //"},
		{"patch far index", patch(`[{"op": "add", "path": "/Tags/999999999", "value": "x"}]`), "ValidationException: [ADD Operation] noSuchPath in source, path provided : //Tags/999999999"},
		{"patch test", patch(`[{"op": "test", "path": "/Title", "value": "V"}]`), "ValidationException: [TEST Operation] value mismatch"},
		{"patch whole", patch(`[{"op": "replace", "path": "", "value": 3}]`), "ValidationException: Invalid patch update: "},
		{"create-only", patch(`[{"op": "replace", "path": "/Name", "value": "V"}]`), "NotUpdatableException: Invalid patch update: createOnlyProperties [/properties/Name] cannot be updated"},
		{"patch read-only", patch(`[{"op": "remove", "path": "/Arn"}]`), "ValidationException: Invalid patch update: readOnlyProperties [/properties/Arn] cannot be updated"},
		{"patch breaks", patch(`[{"op": "add", "path": "/Size", "value": "x"}]`), "ValidationException: Model validation failed (#/Size: expected type: Integer, found: String)"},
		{"list without model", list(nil), "InvalidRequestException: Missing or invalid ResourceModel property in Acme::Web::Site list handler request input. Required property: (#: required key [Zone] not found)"},
		{"list not JSON", list(aws.String("x")), "ValidationException: ResourceModel is not valid JSON: "},
		{"token", func() error {
			_, err := g.GetResourceRequestStatus(t.Context(), owner, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: aws.String("t")})
			return err
		}, "RequestTokenNotFoundException: Request with token t was not found"},
		{"cancel of nothing", func() error {
			_, err := g.CancelResourceRequest(t.Context(), owner, &cloudcontrol.CancelResourceRequestInput{RequestToken: aws.String("t")})
			return err
		}, "RequestTokenNotFoundException: Request with token t was not found"},
		{"page", func() error {
			_, err := g.ListResourceRequests(t.Context(), owner, &cloudcontrol.ListResourceRequestsInput{NextToken: aws.String("t")})
			return err
		}, "ValidationException: Invalid NextToken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.do()
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			var refusal *awswire.Error
			if !errors.As(err, &refusal) {
				t.Errorf("%T is not a refusal", err)
			}
		})
	}
}

func TestUnsupportedActions(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Stores(t)[0])
	bare, problems := schema.Load("site.json", []byte(strings.Replace(siteSchema, `"handlers": {`, `"handlers": {}, "x": {`, 1)), schema.Config{Kind: schema.Resource})
	if bare == nil {
		t.Fatal(problems)
	}
	g.typ.Schema = bare
	_, read := g.read("a|b")
	_, create := g.create(home)
	_, update := g.update("a|b", "[]")
	_, remove := g.remove("a|b")
	_, list := g.ListResources(t.Context(), owner, &cloudcontrol.ListResourcesInput{TypeName: aws.String(site)})
	for action, err := range map[string]error{"READ": read, "CREATE": create, "UPDATE": update, "DELETE": remove, "LIST": list} {
		if want := "UnsupportedActionException: Resource type Acme::Web::Site does not support " + action + " action"; err == nil || err.Error() != want {
			t.Errorf("%s: %v", action, err)
		}
	}
}

func TestHandlerErrors(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Stores(t)[0])
	for code, want := range map[string]string{
		"AccessDenied": "AccessDeniedException", "NotFound": "ResourceNotFoundException", "Throttling": "ThrottlingException",
		"InternalFailure": "HandlerInternalFailureException", "SomethingElse": "HandlerFailureException",
	} {
		g.fail = &operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: code, Message: "no"}
		_, read := g.read("a|b")
		_, list := g.ListResources(t.Context(), owner, &cloudcontrol.ListResourcesInput{TypeName: aws.String(site), ResourceModel: aws.String(`{"Zone": "a"}`)})
		for name, err := range map[string]error{"GetResource": read, "ListResources": list} {
			if err == nil || !strings.HasPrefix(err.Error(), want+": Acme::Web::Site Handler returned status FAILED: no (HandlerErrorCode: "+code+", RequestToken: ") {
				t.Errorf("%s, %s: %v", name, code, err)
			}
		}
	}
	for code, want := range map[string]types.HandlerErrorCode{
		"NotStabilized": "NotStabilized", "InvalidTypeConfiguration": "InvalidRequest", "SomethingElse": "GeneralServiceException",
	} {
		g.fail = &operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: code, Message: "no"}
		if event := g.ended(g.create(home)); event.ErrorCode != want || *event.StatusMessage != "no" {
			t.Errorf("%s: %+v", code, event)
		}
	}
	g.fail = &operation.Progress{Status: cfn.OperationStatusInProgress}
	if _, err := g.read("a|b"); err == nil || !strings.HasPrefix(err.Error(), "HandlerInternalFailureException: ") {
		t.Errorf("a read handler that is IN_PROGRESS: %v", err)
	}
}

func TestClientToken(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		ask := func(caller awswire.Caller, state string) (*types.ProgressEvent, error) {
			out, err := g.CreateResource(t.Context(), caller, &cloudcontrol.CreateResourceInput{TypeName: aws.String(site), DesiredState: &state, ClientToken: aws.String("mine")})
			if err != nil {
				return nil, err
			}
			return out.ProgressEvent, nil
		}
		first, err := ask(owner, home)
		if err != nil {
			t.Fatal(err)
		}
		g.ended(first, nil)
		again, err := ask(owner, home)
		if err != nil || *again.RequestToken != *first.RequestToken || again.OperationStatus != types.OperationStatusSuccess {
			t.Errorf("again: %+v, %v", again, err)
		}
		_, err = ask(owner, `{"Zone": "a", "Name": "other"}`)
		want := "ClientTokenConflictException: ClientToken mine is already associated with an existing operation with RequestToken " + *first.RequestToken
		if err == nil || err.Error() != want {
			t.Errorf("another input: %v", err)
		}
		if theirs, err := ask(stranger, home); err != nil || *theirs.RequestToken == *first.RequestToken {
			t.Errorf("another account: %+v, %v", theirs, err)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		created := 0
		for _, call := range g.calls {
			if call.Action == invoke.Create && call.Caller == owner {
				created++
			}
		}
		if created != 1 {
			t.Errorf("the create handler was called %d times", created)
		}
	})
}

func TestConcurrentAndCancel(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.ended(g.create(home))
		g.mu.Lock()
		g.hold = make(chan struct{})
		g.mu.Unlock()
		first, err := g.update("a|home", `[{"op": "add", "path": "/Size", "value": 1}]`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.remove("a|home")
		if err == nil || !strings.HasPrefix(err.Error(), "ConcurrentOperationException: ") || !strings.Contains(err.Error(), *first.RequestToken) {
			t.Errorf("a second request: %v", err)
		}
		if _, err := g.remove("a|other"); err != nil {
			t.Errorf("a request for another resource: %v", err)
		}
		cancel := func() (*types.ProgressEvent, error) {
			out, err := g.CancelResourceRequest(t.Context(), owner, &cloudcontrol.CancelResourceRequestInput{RequestToken: first.RequestToken})
			if err != nil {
				return nil, err
			}
			return out.ProgressEvent, nil
		}
		event, err := cancel()
		if err != nil || event.OperationStatus != types.OperationStatusCancelInProgress {
			t.Fatalf("cancel: %+v, %v", event, err)
		}
		if event := g.ended(event, nil); event.OperationStatus != types.OperationStatusCancelComplete || event.ErrorCode != "" {
			t.Errorf("cancelled: %+v", event)
		}
		if event, err := cancel(); err != nil || event.OperationStatus != types.OperationStatusCancelComplete {
			t.Errorf("cancelled twice: %+v, %v", event, err)
		}
		close(g.hold)
		done := g.ended(g.update("a|home", `[{"op": "add", "path": "/Size", "value": 2}]`))
		_, err = g.CancelResourceRequest(t.Context(), owner, &cloudcontrol.CancelResourceRequestInput{RequestToken: done.RequestToken})
		if want := fmt.Sprintf("ValidationException: Request %s is already in status SUCCESS", *done.RequestToken); err == nil || err.Error() != want {
			t.Errorf("cancel of what has ended: %v", err)
		}
	})
}

// checkRequestStates looks at requests as Go callers see them, "OPERATION identifier" each.
func checkRequestStates(t *testing.T, g *rig, want []string) {
	t.Helper()
	var all []string
	q := engine.RequestQuery{Place: owner.Place, Limit: 4}
	for range 3 {
		page, err := g.Requests(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			if r.Running() || r.EndedAt.IsZero() || r.Status != types.OperationStatusSuccess {
				t.Errorf("a request that has ended: %+v", r)
			}
			all = append(all, fmt.Sprintf("%s %s", r.Operation, r.Identifier))
			q.BeforeTime, q.BeforeToken = r.CreatedAt, r.Token
		}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if theirs, err := g.Requests(t.Context(), engine.RequestQuery{Place: stranger.Place, Limit: 10}); err != nil || len(theirs) > 0 {
		t.Errorf("another account sees %v, %v", theirs, err)
	}
	mark, err := g.Mark(t.Context(), owner.Place)
	if err != nil {
		t.Fatal(err)
	}
	g.ended(g.create(`{"Zone": "a", "Name": "more"}`))
	if after, err := g.Mark(t.Context(), owner.Place); err != nil || after == mark {
		t.Errorf("a request does not change the mark %d, %v", after, err)
	}
}

func TestRequestsAreListed(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		for i := range 5 {
			g.ended(g.create(fmt.Sprintf(`{"Zone": "a", "Name": "s%d"}`, i)))
		}
		g.ended(g.remove("a|s0"))
		list := func(caller awswire.Caller, filter *types.ResourceRequestStatusFilter, token *string) ([]string, *string) {
			t.Helper()
			out, err := g.ListResourceRequests(t.Context(), caller, &cloudcontrol.ListResourceRequestsInput{MaxResults: aws.Int32(2), NextToken: token, ResourceRequestStatusFilter: filter})
			if err != nil {
				t.Fatal(err)
			}
			var found []string
			for _, s := range out.ResourceRequestStatusSummaries {
				found = append(found, fmt.Sprintf("%s %s", s.Operation, *s.Identifier))
			}
			return found, out.NextToken
		}
		var all []string
		var token *string
		for range 3 {
			page, next := list(owner, nil, token)
			all, token = append(all, page...), next
		}
		want := []string{"DELETE a|s0", "CREATE a|s4", "CREATE a|s3", "CREATE a|s2", "CREATE a|s1", "CREATE a|s0"}
		if diff := cmp.Diff(want, all); diff != "" || token != nil {
			t.Errorf("all: %s %v", diff, token)
		}
		deletes, _ := list(owner, &types.ResourceRequestStatusFilter{Operations: []types.Operation{types.OperationDelete}, OperationStatuses: []types.OperationStatus{types.OperationStatusSuccess}}, nil)
		if diff := cmp.Diff(want[:1], deletes); diff != "" {
			t.Error(diff)
		}
		if theirs, _ := list(stranger, nil, nil); theirs != nil {
			t.Errorf("another account sees %v", theirs)
		}
		checkRequestStates(t, g, want)
		if err := g.Expire(t.Context(), g.now().Add(8*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if left, _ := list(owner, nil, nil); left != nil {
			t.Errorf("left after they expired: %v", left)
		}
	})
}

func TestListResources(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Stores(t)[0])
	g.ended(g.create(home))
	out, err := g.ListResources(t.Context(), owner, &cloudcontrol.ListResourcesInput{
		TypeName: aws.String(site), ResourceModel: aws.String(`{"Zone": "a"}`), MaxResults: aws.Int32(7), NextToken: aws.String("page"),
	})
	if err != nil || len(out.ResourceDescriptions) != 1 || *out.NextToken != "more" || *out.ResourceDescriptions[0].Identifier != "a|home" {
		t.Fatalf("%+v, %v", out, err)
	}
	if strings.Contains(*out.ResourceDescriptions[0].Properties, "hush") {
		t.Errorf("a write-only value is listed: %s", *out.ResourceDescriptions[0].Properties)
	}
	want := operation.ListRequest{Caller: owner, Type: site, Version: "00000001", Model: map[string]any{"Zone": "a"}, NextToken: "page", MaxResults: 7}
	if diff := cmp.Diff(want, g.listing[0]); diff != "" {
		t.Error(diff)
	}
}

// TestForeignRequests looks for the requests of another account.
func TestForeignRequests(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Stores(t)[0])
	mine := g.ended(g.create(home))
	_, status := g.GetResourceRequestStatus(t.Context(), stranger, &cloudcontrol.GetResourceRequestStatusInput{RequestToken: mine.RequestToken})
	_, cancel := g.CancelResourceRequest(t.Context(), stranger, &cloudcontrol.CancelResourceRequestInput{RequestToken: mine.RequestToken})
	for _, err := range []error{status, cancel} {
		if err == nil || !strings.HasPrefix(err.Error(), "RequestTokenNotFoundException: ") {
			t.Error(err)
		}
	}
}

func equalJSON(t *testing.T, what, want, got string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got), &b); err != nil {
		t.Fatalf("%s: %q: %v", what, got, err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// TestRepeatedDelete has the answer to a deletion lost: the call that follows finds nothing, because
// the one before has deleted the resource.
func TestRepeatedDelete(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.ended(g.create(home))
		g.mu.Lock()
		g.lose = 1
		g.mu.Unlock()
		if e := g.ended(g.remove("a|home")); e.OperationStatus != types.OperationStatusSuccess || e.ErrorCode != "" || e.StatusMessage != nil {
			t.Errorf("the repeated deletion is %s %s %s", e.OperationStatus, e.ErrorCode, aws.ToString(e.StatusMessage))
		}
		if e := g.ended(g.remove("a|home")); e.OperationStatus != types.OperationStatusFailed || e.ErrorCode != "NotFound" {
			t.Errorf("the deletion of what does not exist is %s %s", e.OperationStatus, e.ErrorCode)
		}
	})
}
