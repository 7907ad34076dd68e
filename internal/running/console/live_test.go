package console

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/logs"
)

const partSchema = `{
	"typeName": "Acme::Shop::Part", "description": "A part.", "additionalProperties": false,
	"properties": {"Id": {"type": "string"}, "Fail": {"type": "string"}, "Note": {"type": "string"}},
	"readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}
}`

// A shop is an engine of stacks that runs, and parts that it provisions. A part fails whose property Fail has the
// name of the action.
type shop struct {
	*engines
	part      *operation.Type
	own       operation.Types
	templates map[string]string // by URL
	hooks     []hook.Hook
	message   string        // of parts that fail
	hold      chan struct{} // what a part waits for whose property Fail is WAIT
	broken    atomic.Bool   // parts cannot be rolled back
}

func newShop(t testing.TB) *shop {
	t.Helper()
	e := newEngines(t)
	part, list := schema.Load("part.json", []byte(partSchema), schema.Config{})
	if part == nil {
		t.Fatal(list)
	}
	s := &shop{engines: e, templates: map[string]string{}, message: "the <b>disk</b> is on fire"}
	s.part = &operation.Type{Name: "Acme::Shop::Part", Version: "00000001", Schema: part, Provider: s}
	operations := operation.New(operation.Config{Store: e.store, Types: s, Retries: operation.Retries{First: time.Millisecond}})
	hooks := hook.New(hook.Config{Store: e.store, Sources: []hook.Source{s}, Operations: operations})
	s.stacks = stack.New(stack.Config{Store: e.store, Types: s, Operations: operations, Hooks: hooks, Object: s.object})
	operations.Own(stack.Owner, s.stacks)
	operations.Own(hook.OwnerName, hooks)
	hooks.Own(stack.HooksOnResource, s.stacks)
	s.own = s.stacks.OwnTypes()
	workers := operations.Workers()
	maps.Copy(workers, s.stacks.Workers())
	if err := e.store.Work(t.Context(), workers); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) Type(ctx context.Context, caller awswire.Caller, name, version string) (*operation.Type, error) {
	if name == s.part.Name {
		return s.part, nil
	}
	return s.own.Type(ctx, caller, name, version)
}

func (s *shop) object(_ context.Context, _ awswire.Caller, url string, _ int64) ([]byte, error) {
	if text, found := s.templates[url]; found {
		return []byte(text), nil
	}
	return nil, stack.ErrNotObject
}

// Call implements [operation.Provider]. The call of a part that fails is recorded, with its log.
func (s *shop) Call(ctx context.Context, r operation.Request) (operation.Progress, error) {
	if r.Desired["Fail"] == "WAIT" {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return operation.Progress{}, ctx.Err()
		}
	}
	if r.Desired["Fail"] != string(r.Action) && !(r.Rollback && r.Action == invoke.Update && s.broken.Load()) {
		model := maps.Clone(r.Desired)
		model["Id"] = strings.ToLower(r.LogicalID) + "-1"
		return operation.Progress{Status: types.OperationStatusSuccess, Identifier: model["Id"].(string), Model: model}, nil
	}
	s.fails(handlers.Invocation{
		ID: r.Token, Kind: schema.Resource, TypeName: r.Type, Action: string(r.Action), StackID: r.StackID, LogicalID: r.LogicalID,
		Reply: `{"status": "FAILED", "errorCode": "InternalFailure", "message": "` + s.message + `"}`,
	}, "looking for a disk", "Traceback (most recent call last):", `  File "/var/task/cloudformation_cli_python_lib/resource.py", line 94, in _invoke_handler`, `  File "/var/task/shop/handlers.py", line 38, in create`, "    disk = allocate(model.size)", "OSError: "+s.message)
	return operation.Progress{Status: types.OperationStatusFailed, ErrorCode: "InternalFailure", Message: s.message}, nil
}

// fails records a call that failed, with its log.
func (s *shop) fails(call handlers.Invocation, lines ...string) {
	s.t.Helper()
	now := s.store.Now()
	call.Account, call.Region, call.Version, call.Status, call.StartedAt, call.Request = home.Account, home.Region, "00000001", "FAILED", now, "{}"
	call.LogGroup, call.LogStream = "/aws/lambda/parts", "stream-"+call.ID
	var all []logs.Line
	for _, line := range slices.Concat([]string{"START RequestId: " + call.ID + " Version: $LATEST"}, lines, []string{"REPORT RequestId: " + call.ID + " Duration: 1 ms"}) {
		all = append(all, logs.Line{Time: now.Time, Text: line})
	}
	if err := s.logs.Append(s.t.Context(), home, call.LogGroup, call.LogStream, all); err != nil {
		s.t.Error(err)
	}
	err := s.store.Write(s.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return store.Insert(ctx, tx, &call)
	})
	if err != nil {
		s.t.Error(err)
	}
}

// Hooks implements [hook.Source].
func (s *shop) Hooks(context.Context, awswire.Caller) ([]hook.Hook, error) { return s.hooks, nil }

// Ready implements [hook.Source].
func (s *shop) Ready(_ context.Context, _ awswire.Caller, name, _ string) (*hook.Ready, bool, error) {
	return &hook.Ready{TypeName: name, Config: invoke.Config{Function: refusing{s}}}, true, nil
}

// A refusing hook lets nothing pass.
type refusing struct{ *shop }

func (r refusing) Call(_ context.Context, payload []byte) ([]byte, error) {
	var request struct{ StackID, ClientRequestToken string }
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	const reply = `{"hookStatus": "FAILED", "errorCode": "NonCompliant", "message": "no <b>key</b>"}`
	r.fails(handlers.Invocation{ID: "of-the-hook", Kind: schema.Hook, TypeName: "Acme::Shop::Policy", Action: "CREATE_PRE_PROVISION", StackID: request.StackID, Reply: reply}, "looking for a key")
	return []byte(reply), nil
}

// refuse has every part refused by a hook.
func (s *shop) refuse() {
	s.t.Helper()
	settings, _, err := hook.ParseSettings([]byte(`{"CloudFormationConfiguration": {"HookConfiguration": {"TargetStacks": "ALL", "FailureMode": "FAIL"}}}`))
	if err != nil {
		s.t.Fatal(err)
	}
	s.hooks = []hook.Hook{{
		TypeName: "Acme::Shop::Policy", TypeARN: arnOfHook, Version: "00000001", ConfigurationVersion: "1", Settings: settings,
		Targets: map[invoke.Action][]string{invoke.CreatePreProvision: {"Acme::Shop::Part"}},
	}}
}

// assembly is a template: "A: {Fail: CREATE}", "B: {}".
func assembly(lines ...string) *string {
	text := "Resources:\n"
	for _, line := range lines {
		id, properties, _ := strings.Cut(line, ": ")
		if strings.HasPrefix(properties, "https:") {
			text += "  " + id + ":\n    Type: AWS::CloudFormation::Stack\n    Properties: {TemplateURL: '" + properties + "'}\n"
			continue
		}
		text += "  " + id + ":\n    Type: Acme::Shop::Part\n    Properties: " + properties + "\n"
	}
	return &text
}

// settled waits until a stack is in a status.
func (s *shop) settled(name string, status types.StackStatus) *stack.StackState {
	s.t.Helper()
	var state *stack.StackState
	fixtures.Await(s.t, "the status "+string(status), func() bool {
		var err error
		if state, err = s.stacks.Stack(s.t.Context(), home, name); err != nil {
			s.t.Fatal(err)
		}
		if !state.Running() && state.Status != status {
			s.t.Fatalf("the stack is %s: %s", state.Status, state.Reason)
		}
		return state.Status == status
	})
	return state
}

func (s *shop) create(name string, status types.StackStatus, lines ...string) *stack.StackState {
	s.t.Helper()
	if _, err := s.stacks.CreateStack(s.t.Context(), caller, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: assembly(lines...)}); err != nil {
		s.t.Fatal(err)
	}
	return s.settled(name, status)
}

func (s *shop) update(name string, status types.StackStatus, lines ...string) *stack.StackState {
	s.t.Helper()
	if _, err := s.stacks.UpdateStack(s.t.Context(), caller, &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: assembly(lines...)}); err != nil {
		s.t.Fatal(err)
	}
	return s.settled(name, status)
}

// TestFailureStory: the pages of a stack that failed start with the cause, whatever came after it: a rollback, a
// rollback of an update, a deletion, a hook, a nested stack.
func TestFailureStory(t *testing.T) {
	s := newShop(t)
	c := newConsole(t, s.engines)
	const raised = "CREATE raised OSError: the &lt;b&gt;disk&lt;/b&gt; is on fire (shop/handlers.py:38)"
	var arn string
	for _, test := range []struct {
		name string
		do   func()
		path string
		want []string
		not  []string
	}{
		{"creation", func() {
			arn = s.create("made", types.StackStatusRollbackComplete, "A: {}", "B: {Fail: CREATE, Note: !Ref A}", "C: {Note: !Ref B}").ARN
		}, "/stacks/made", []string{
			"<b>B</b>", "Creation failed at", raised, "<code>InternalFailure</code>", "looking for a disk", "… 1 frame of libraries", "Line 5 of the template", "Failed call", "/types/RESOURCE/Acme::Shop::Part/calls?stack=", "stream-",
			`<a href="#r-B" class="node bad">`, `<a href="#r-C" class="node plain">`, "not created", ">create failed<",
		}, []string{"START RequestId", "<b>disk"}},
		{"its template", nil, "/stacks/made/template", []string{`<span id="line-B" class="failed">`, "← the &lt;b&gt;disk"}, []string{"Deployed"}},
		{"its time line", nil, "/stacks/made/timeline", []string{">create failed<", "CREATE failed", `class="on" aria-current="page">create `}, []string{"DELETE"}},
		{"its events", nil, "/stacks/made/events", []string{"Creation failed at", "the &lt;b&gt;disk"}, []string{"looking for a disk"}},
		{"deleted", func() {
			if _, err := s.stacks.DeleteStack(t.Context(), caller, &cloudformation.DeleteStackInput{StackName: aws.String("made")}); err != nil {
				t.Fatal(err)
			}
			s.settled(arn, types.StackStatusDeleteComplete)
		}, "/stacks/made?", nil, nil},
		{"update", func() {
			s.create("changed", types.StackStatusCreateComplete, "A: {}")
			s.update("changed", types.StackStatusUpdateRollbackComplete, "A: {Note: other}", "Fresh: {Fail: CREATE, Note: !Ref A}")
		}, "/stacks/changed", []string{"<b>Fresh</b>", "Update failed at", raised, "Line 5 of the template", `<a href="#r-Fresh" class="node bad">`, `<a href="#r-A" class="node good">`}, nil},
		{"its template", nil, "/stacks/changed/template", []string{`<span id="line-Fresh" class="failed">`, "Failed update", ">Deployed<"}, nil},
		{"its deployed template", nil, "/stacks/changed/template?of=stack", []string{`<span id="line-A">`}, []string{"Fresh:", `class="failed"`}},
		{"its time line", nil, "/stacks/changed/timeline", []string{">Fresh<", "CREATE failed"}, nil},
		{"update of the resource", func() {
			s.create("same", types.StackStatusCreateComplete, "A: {}")
			s.update("same", types.StackStatusUpdateRollbackComplete, "A: {Fail: UPDATE}")
		}, "/stacks/same", []string{"<b>A</b>", `<a href="#r-A" class="node bad">`, ">update complete<", ">first to fail<", "UPDATE raised OSError"}, nil},
		{"nested", func() {
			s.templates["https://t/inner"] = *assembly("Deep: {Fail: CREATE}")
			s.create("outer", types.StackStatusRollbackComplete, "Inner: https://t/inner")
		}, "/stacks/outer", []string{"<b>Deep</b>", `in the nested stack <a href="/_cfn/stacks/arn:aws:`, ">Inner</a>", raised, "Line 2 of the template", `<a href="#r-Inner" class="node bad">`}, nil},
		{"hook", func() {
			s.refuse()
			s.create("refused", types.StackStatusRollbackComplete, "A: {}")
		}, "/stacks/refused", []string{"<b>A</b>", "hook Acme::Shop::Policy refused it: no &lt;b&gt;key&lt;/b&gt;", "looking for a key", "/_cfn/calls/of-the-hook", "Hook results"}, []string{"The following hook(s) failed: [Acme::Shop::Policy]</p>"}},
	} {
		if test.do != nil {
			test.do()
		}
		path := test.path
		if path == "/stacks/made?" {
			path, test.want = "/stacks/"+url.PathEscape(arn), []string{"<b>B</b>", "Creation failed at", ">delete complete<"}
		}
		w := get(t, c, path)
		page := regexp.MustCompile(`\s*
\s*`).ReplaceAllString(w.Body.String(), " ")
		page = strings.NewReplacer("<b> ", "<b>", " </b>", "</b>").Replace(page)
		for _, want := range test.want {
			if !strings.Contains(page, want) {
				t.Errorf("%s: %s (%d) lacks %q", test.name, path, w.Code, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(page, not) {
				t.Errorf("%s: %s has %q", test.name, path, not)
			}
		}
		if t.Failed() && testing.Verbose() {
			t.Fatal(page)
		}
	}
}

// TestStackActions deploys a template from the form of the console, executes the change set, updates the stack, cancels,
// continues, rolls back and deletes it.
func TestStackActions(t *testing.T) {
	s := newShop(t)
	c := newConsole(t, s.engines)
	send := func(path string, form url.Values, status int) string {
		t.Helper()
		w := submit(t, c, path, form, nil)
		if w.Code != status {
			t.Fatalf("%s: %d %s", path, w.Code, regexp.MustCompile(`(?s)<main.*</main>`).FindString(w.Body.String()))
		}
		return w.Header().Get("Location")
	}
	deploy := func(status types.StackStatus, template, parameters string) {
		t.Helper()
		location := send("/deploy", url.Values{"stack": {"first"}, "template": {template}, "parameters": {parameters}}, 303)
		path, query, _ := strings.Cut(strings.TrimPrefix(location, Prefix), "?")
		if query != "done=planned" {
			t.Errorf("deployed to %s", location)
		}
		fixtures.Await(t, "the change set", func() bool { return strings.Contains(get(t, c, path).Body.String(), ">Execute</button>") })
		send(path+"/execute", nil, 303)
		s.settled("first", status)
	}
	const template = "Parameters:\r\n  Note: {Type: String}\r\n  Other: {Type: String, Default: o}\r\nResources:\r\n  A:\r\n    Type: Acme::Shop::Part\r\n    Properties: {Note: !Ref Note}\r\n"
	deploy(types.StackStatusCreateComplete, template, "Note=a=b\r\n")
	if source, err := s.stacks.Source(t.Context(), home, "first", "", false); err != nil || source.Text != strings.ReplaceAll(template, "\r", "") {
		t.Errorf("the template is %q, %v", source.Text, err)
	}
	// A parameter that is left out keeps its value, with the template before and with another one.
	deploy(types.StackStatusUpdateComplete, "", "Other=2")
	deploy(types.StackStatusUpdateComplete, strings.Replace(template, "{Note: !Ref Note}", "{Note: !Sub '${Note}2'}", 1), "")
	state := s.settled("first", types.StackStatusUpdateComplete)
	if got := *state.Parameters[0].ParameterValue + " " + *state.Parameters[1].ParameterValue; got != "a=b 2" {
		t.Errorf("the parameters are %s", got)
	}
	for path, form := range map[string]url.Values{
		"/deploy":                 {"stack": {"first"}, "parameters": {"=secret-value"}},
		"/deploy?x=1":             {"stack": {"not a name"}, "template": {template}},
		"/stacks/first/cancel":    nil,
		"/stacks/first/continue":  nil,
		"/stacks/first/rollback":  nil,
		"/stacks/missing/delete?": nil,
	} {
		want := 400
		if strings.Contains(path, "missing") {
			want = 404
		}
		if w := submit(t, c, path, form, nil); w.Code != want || strings.Contains(w.Body.String(), "secret-value") {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	buttons := func(path string, want ...string) {
		t.Helper()
		page := get(t, c, path).Body.String()
		for _, button := range []string{">Deploy…<", ">Delete…<", ">Cancel update<", ">Continue rollback…<", ">Roll back<"} {
			if strings.Contains(page, button) != slices.Contains(want, button) {
				t.Errorf("%s: the button %s: %t", path, button, strings.Contains(page, button))
			}
		}
	}
	buttons("/stacks/first", ">Deploy…<", ">Delete…<")

	// An update that is canceled, and one whose rollback fails.
	s.hold = make(chan struct{})
	if _, err := s.stacks.UpdateStack(t.Context(), caller, &cloudformation.UpdateStackInput{StackName: aws.String("first"), TemplateBody: assembly("A: {Fail: WAIT}")}); err != nil {
		t.Fatal(err)
	}
	s.settled("first", types.StackStatusUpdateInProgress)
	buttons("/stacks/first", ">Cancel update<")
	if location := send("/stacks/first/cancel", nil, 303); !strings.HasSuffix(location, "?done=canceling") {
		t.Errorf("canceled to %s", location)
	}
	close(s.hold)
	s.settled("first", types.StackStatusUpdateRollbackComplete)

	s.create("kept", types.StackStatusCreateComplete, "A: {}")
	if _, err := s.stacks.UpdateStack(t.Context(), caller, &cloudformation.UpdateStackInput{StackName: aws.String("kept"), TemplateBody: assembly("A: {Fail: UPDATE}"), DisableRollback: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	s.settled("kept", types.StackStatusUpdateFailed)
	buttons("/stacks/kept", ">Deploy…<", ">Delete…<", ">Roll back<")
	s.broken.Store(true)
	send("/stacks/kept/rollback", nil, 303)
	s.settled("kept", types.StackStatusUpdateRollbackFailed)
	buttons("/stacks/kept", ">Delete…<", ">Continue rollback…<")
	if page := get(t, c, "/stacks/kept").Body.String(); !strings.Contains(page, "Update failed at") || !strings.Contains(page, "Rollback failed at") {
		t.Error("the page does not show both causes")
	}
	if w := submit(t, c, "/stacks/kept/continue", url.Values{"skip": {"None"}}, nil); w.Code != 400 {
		t.Errorf("a resource to skip that does not exist: %d", w.Code)
	}
	send("/stacks/kept/continue", url.Values{"skip": {"A"}}, 303)
	s.settled("kept", types.StackStatusUpdateRollbackComplete)
	if location := send("/stacks/kept/delete", nil, 303); !strings.Contains(location, "/stacks/arn:aws:") || !strings.HasSuffix(location, "?done=deleting") {
		t.Errorf("deleted to %s", location)
	}
}
