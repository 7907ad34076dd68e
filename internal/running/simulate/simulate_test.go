package simulate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// queue is a type with everything that a simulation has to know.
const queue = `{
	"typeName": "Acme::Mail::Queue", "description": "A queue.", "additionalProperties": false,
	"properties": {
		"QueueName": {"type": "string", "maxLength": 40, "pattern": "^[a-z0-9-]+$"},
		"Alias": {"type": "string"},
		"Delay": {"type": "integer", "default": 5},
		"Secret": {"type": "string"},
		"Arn": {"type": "string"},
		"CreatedAt": {"type": "string", "format": "date-time"},
		"Mode": {"type": "string", "enum": ["fast", "slow"]},
		"Shard": {"type": "string", "pattern": "^shard-[0-9]{4}$"},
		"Tags": {"type": "array", "items": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}}}
	},
	"primaryIdentifier": ["/properties/QueueName"],
	"additionalIdentifiers": [["/properties/Alias"]],
	"readOnlyProperties": ["/properties/Arn", "/properties/CreatedAt", "/properties/Mode", "/properties/Shard"],
	"writeOnlyProperties": ["/properties/Secret"],
	"createOnlyProperties": ["/properties/QueueName"],
	"tagging": {"taggable": true, "tagProperty": "/properties/Tags"},
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}
}`

var caller = awswire.Caller{Place: awswire.Place{Account: "111122223333", Region: "eu-west-1"}}

func open(t *testing.T, place fixtures.Place, patterns ...string) *simulate.Shelf {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return simulate.New(simulate.Config{Store: opened, Patterns: patterns, Now: func() time.Time { return now }})
}

// imported is a shelf with the queue on it, which is simulated.
func imported(t *testing.T, place fixtures.Place) (*simulate.Shelf, *operation.Type) {
	t.Helper()
	shelf := open(t, place, "Acme::*")
	names, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "queue.json", Text: []byte(queue)}})
	if err != nil || len(problems) > 0 || !cmp.Equal(names, []string{"Acme::Mail::Queue"}) {
		t.Fatalf("Import: %v, %v, %v", names, problems, err)
	}
	typ, err := shelf.Type(t.Context(), caller, "Acme::Mail::Queue", "")
	if err != nil {
		t.Fatal(err)
	}
	if !typ.Simulated {
		t.Error("the type is not marked as simulated")
	}
	return shelf, typ
}

func request(action invoke.Action, token, identifier string, desired map[string]any) operation.Request {
	return operation.Request{
		Caller: caller, Action: action, Token: token, Type: "Acme::Mail::Queue", StackName: "Stack", LogicalID: "Queue",
		Identifier: identifier, Desired: desired, StackTags: map[string]string{"team": "mail"},
	}
}

func call(t *testing.T, typ *operation.Type, request operation.Request) operation.Progress {
	t.Helper()
	progress, err := typ.Provider.Call(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return progress
}

func TestLife(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			shelf, typ := imported(t, place)
			created := call(t, typ, request(invoke.Create, "t1", "", map[string]any{"Secret": "s3cret", "Alias": "a"}))
			if created.Status != types.OperationStatusSuccess {
				t.Fatalf("create: %+v", created)
			}
			name := created.Identifier
			if !strings.HasPrefix(name, "stack-queue-") {
				t.Errorf("generated name %q", name)
			}
			model := created.Model
			if model["Secret"] != nil {
				t.Error("the answer contains a write-only property")
			}
			want := map[string]any{
				"Arn": "arn:aws:mail:eu-west-1:111122223333:queue/" + name, "CreatedAt": "2026-01-02T03:04:05Z",
				"QueueName": name, "Alias": "a", "Delay": model["Delay"], "Mode": model["Mode"], "Shard": model["Shard"],
				"Tags": []any{map[string]any{"Key": "team", "Value": "mail"}},
			}
			if diff := cmp.Diff(want, model); diff != "" {
				t.Errorf("model (-want +got):\n%s", diff)
			}
			if violations := typ.Schema.Check(model, schema.CheckConfig{}); len(violations) > 0 {
				t.Errorf("the model breaks its schema: %v", violations)
			}
			if again := call(t, typ, request(invoke.Create, "t1", "", map[string]any{"Secret": "s3cret", "Alias": "a"})); again.Identifier != name || again.Status != types.OperationStatusSuccess {
				t.Errorf("the same create again: %+v", again)
			}

			updated := call(t, typ, request(invoke.Update, "t2", name, map[string]any{"Delay": 9, "Alias": "b"}))
			if updated.Status != types.OperationStatusSuccess || updated.Model["Arn"] != want["Arn"] || updated.Model["QueueName"] != name || updated.Model["Shard"] != model["Shard"] {
				t.Errorf("update: %+v", updated)
			}
			read := call(t, typ, request(invoke.Read, "t3", name, nil))
			if diff := cmp.Diff("9", string(mustNumber(t, read.Model["Delay"]))); diff != "" {
				t.Error(diff)
			}
			listed, err := shelf.ListResources(t.Context(), operation.ListRequest{Caller: caller, Type: typ.Name})
			if err != nil || len(listed.Resources) != 1 || listed.Resources[0].Identifier != name || listed.NextToken != "" {
				t.Errorf("ListResources: %+v, %v", listed, err)
			}
			if gone := call(t, typ, request(invoke.Delete, "t4", name, nil)); gone.Status != types.OperationStatusSuccess {
				t.Errorf("delete: %+v", gone)
			}
			for _, action := range []invoke.Action{invoke.Read, invoke.Update, invoke.Delete} {
				if p := call(t, typ, request(action, "t5", name, nil)); p.ErrorCode != "NotFound" {
					t.Errorf("%s after the delete: %+v", action, p)
				}
			}
		})
	}
}

// TestRevisions: the number in an identifier is the next one, which takes few attempts, and the same create finds its own
// resource again although others took the numbers around it.
func TestRevisions(t *testing.T) {
	source := declared("AWS::ECS::TaskDefinition", map[string]string{"TaskDefinitionArn": `{"type": "string"}`, "Family": `writable {"type": "string"}`}, "")
	_, do := shelved(t, strings.ReplaceAll(source, "/properties/Id", "/properties/TaskDefinitionArn"))
	create := func(token string) string {
		t.Helper()
		p := do(invoke.Create, token, "", map[string]any{"Family": "web"})
		if p.Status != types.OperationStatusSuccess {
			t.Fatalf("%+v", p)
		}
		return strings.TrimPrefix(p.Identifier, "arn:aws:ecs:eu-west-1:111122223333:task-definition/web:")
	}
	var identifiers []string
	for n := range 20 {
		revision := create("token-" + strconv.Itoa(n))
		if revision != strconv.Itoa(n+1) {
			t.Fatalf("the revision after %d is %s", n, revision)
		}
		identifiers = append(identifiers, "arn:aws:ecs:eu-west-1:111122223333:task-definition/web:"+revision)
	}
	if again := create("token-12"); again != "13" {
		t.Errorf("the create of revision 13 again: %s", again)
	}
	for _, n := range []int{3, 7, 15} { // what the search looks at
		if p := do(invoke.Delete, "d", identifiers[n], nil); p.Status != types.OperationStatusSuccess {
			t.Fatalf("%+v", p)
		}
	}
	if again := create("token-12"); again != "13" {
		t.Errorf("the create of revision 13 again, after others are gone: %s", again)
	}
}

// TestTakersOfOtherNodes: the patterns that other types of a service ask for are read again when another node has imported one.
func TestTakersOfOtherNodes(t *testing.T) {
	place := fixtures.Place{Dir: fixtures.TempDir(t)}
	opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	node := func() *simulate.Shelf {
		return simulate.New(simulate.Config{Store: opened, Patterns: []string{"Acme::*"}})
	}
	one, two := node(), node()
	add := func(shelf *simulate.Shelf, text string) {
		t.Helper()
		if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "s.json", Text: []byte(text)}}); err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
	}
	create := func(token string) string {
		t.Helper()
		typ, err := one.Type(t.Context(), caller, "Acme::Mail::Box", "")
		if err != nil {
			t.Fatal(err)
		}
		p := call(t, typ, operation.Request{Caller: caller, Action: invoke.Create, Token: token, Type: typ.Name, StackName: "Stack", LogicalID: "Thing"})
		return p.Identifier
	}
	add(one, declared("Acme::Mail::Box", map[string]string{"Id": `{"type": "string"}`}, ""))
	if id := create("t1"); strings.HasPrefix(id, "box-") {
		t.Fatalf("the identifier is %s already", id)
	}
	add(two, declared("Acme::Mail::Letter", map[string]string{"BoxId": `writable {"type": "string", "pattern": "^box-[0-9a-f]{17}$"}`, "Id": `{"type": "string"}`}, ""))
	if id := create("t2"); !strings.HasPrefix(id, "box-") {
		t.Errorf("the identifier is %s, which the type that another node imported refuses", id)
	}
}

func TestHas(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			shelf, typ := imported(t, place)
			call(t, typ, request(invoke.Create, "t1", "", map[string]any{"QueueName": "one"}))
			two := strings.Replace(strings.Replace(queue, "Queue\"", "Pair\"", 1), `["/properties/QueueName"],`, `["/properties/QueueName", "/properties/Delay"],`, 1)
			if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "pair.json", Text: []byte(two)}}); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			pair, err := shelf.Type(t.Context(), caller, "Acme::Mail::Pair", "")
			if err != nil {
				t.Fatal(err)
			}
			create := request(invoke.Create, "t2", "", map[string]any{"QueueName": "two", "Delay": 17})
			create.Type = pair.Name
			call(t, pair, create)
			for of, want := range map[[2]string]bool{
				{typ.Name, "one"}: true, {typ.Name, "ne"}: false, {typ.Name, "two"}: false, {pair.Name, "two|17"}: true, {pair.Name, "17"}: true, {pair.Name, "7"}: false,
			} {
				if got, err := shelf.Has(t.Context(), caller, of[0], of[1]); err != nil || got != want {
					t.Errorf("%v: %t, %v", of, got, err)
				}
			}
		})
	}
}

func mustNumber(t *testing.T, value any) []byte {
	t.Helper()
	number, ok := value.(interface{ String() string })
	if !ok {
		t.Fatalf("%v (%T) is not a number", value, value)
	}
	return []byte(number.String())
}

func TestRefusals(t *testing.T) {
	_, typ := imported(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	first := call(t, typ, request(invoke.Create, "t1", "", map[string]any{"QueueName": "one", "Alias": "a"}))
	if first.Identifier != "one" {
		t.Fatalf("create: %+v", first)
	}
	second := call(t, typ, request(invoke.Create, "t2", "", map[string]any{"QueueName": "two", "Alias": "b"}))
	for name, test := range map[string]struct {
		request operation.Request
		code    string
		message string
	}{
		"the same identifier": {request(invoke.Create, "t3", "", map[string]any{"QueueName": "one"}), "AlreadyExists",
			"Resource of type 'Acme::Mail::Queue' with identifier 'one' already exists."},
		"the same additional identifier": {request(invoke.Create, "t4", "", map[string]any{"QueueName": "three", "Alias": "a"}), "AlreadyExists",
			"Resource of type 'Acme::Mail::Queue' with identifier 'a' already exists."},
		"an update to a taken identifier": {request(invoke.Update, "t5", second.Identifier, map[string]any{"Alias": "a"}), "AlreadyExists",
			"Resource of type 'Acme::Mail::Queue' with identifier 'a' already exists."},
		"a create-only property": {request(invoke.Update, "t6", "one", map[string]any{"QueueName": "other"}), "NotUpdatable",
			"The property /QueueName of 'Acme::Mail::Queue' can only be set when the resource is created."},
		"no such resource": {request(invoke.Delete, "t7", "nowhere", nil), "NotFound",
			"Resource of type 'Acme::Mail::Queue' with identifier 'nowhere' was not found."},
		"a list": {request(invoke.List, "t8", "", nil), "InvalidRequest", "LIST is not an action of a resource."},
		"no such additional identifier": {request(invoke.Read, "t9", "", map[string]any{"Alias": "z"}), "NotFound",
			"Resource of type 'Acme::Mail::Queue' with identifier 'z' was not found."},
	} {
		t.Run(name, func(t *testing.T) {
			p := call(t, typ, test.request)
			if p.Status != types.OperationStatusFailed || p.ErrorCode != test.code || p.Message != test.message {
				t.Errorf("got %+v", p)
			}
		})
	}
	if p := call(t, typ, request(invoke.Read, "t9", "", map[string]any{"Alias": "b"})); p.Status != types.OperationStatusSuccess || p.Identifier != "two" {
		t.Errorf("read by the additional identifier: %+v", p)
	}
	if p := call(t, typ, request(invoke.Update, "t9", "two", map[string]any{"Alias": "c"})); p.Status != types.OperationStatusSuccess {
		t.Fatalf("update: %+v", p)
	}
	if p := call(t, typ, request(invoke.Create, "t10", "", map[string]any{"QueueName": "three", "Alias": "b"})); p.Status != types.OperationStatusSuccess {
		t.Errorf("an identifier that was given up cannot be used again: %+v", p)
	}
}

// TestNearest: the nearest name is that of a type of the same service that is simulated.
func TestNearest(t *testing.T) {
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "Acme::Mail::*")
	list := strings.ReplaceAll(queue, "Acme::Mail::Queue", "Acme::News::List")
	if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "queue.json", Text: []byte(queue)}, {Name: "list.json", Text: []byte(list)}}); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	for name, want := range map[string]string{
		"Acme::Mail::Queu":  "Acme::Mail::Queue",
		"Acme::Mall::Queue": "", // another service
		"Acme::Mail::Topic": "",
		"Acme::News::Lis":   "", // not simulated
		"Queue":             "",
	} {
		if got, err := shelf.Nearest(t.Context(), name); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestOnlyWhatIsNamedIsSimulated(t *testing.T) {
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "Acme::Mail::*")
	for name, hint := range map[string]string{
		"Acme::Mail::Queue": "import the schema of the type with cfn types import, so that it can be simulated",
		"Acme::Web::Site":   "register a type of that name with cfn submit, or import its schema with cfn types import and start cfn serve with --simulate Acme::Web::Site",
	} {
		_, err := shelf.Type(t.Context(), caller, name, "")
		var unknown *operation.UnknownTypeError
		if !errors.As(err, &unknown) || unknown.Hint != hint {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "good.json", Text: []byte(queue)}, {Name: "bad.json", Text: []byte(`{"typeName": 3}`)}})
	if err != nil || len(problems) == 0 {
		t.Errorf("a bad schema: %v, %v", problems, err)
	}
	if found, err := shelf.Find(t.Context(), "Acme::Mail::Queue"); found != nil || err != nil {
		t.Errorf("an import with problems left %v, %v", found, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := shelf.Import(ended, []simulate.Document{{Name: "good.json", Text: []byte(queue)}}); err == nil {
		t.Error("an import whose context ended went on")
	}
}

// TestPublishedTypes runs the life of a resource of every published schema.
func TestPublishedTypes(t *testing.T) {
	folder := fixtures.Dir(t, "schemas/aws")
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) < 600 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "AWS::*")
	var documents []simulate.Document
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, simulate.Document{Name: filepath.Base(file), Text: text})
	}
	names, problems, err := shelf.Import(t.Context(), documents)
	if err != nil || len(problems) > 0 {
		t.Fatalf("Import: %v, %v", problems, err)
	}
	incomplete := 0
	for _, name := range names {
		typ, err := shelf.Type(t.Context(), caller, name, "")
		if err != nil {
			t.Fatal(err)
		}
		desired, err := sample.New(typ.Schema, sample.Config{Seed: 1, Profile: sample.Minimal}).Create()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := operation.Request{Caller: caller, Action: invoke.Create, Token: "token", Type: name, StackName: "stack", LogicalID: "Resource", Desired: desired}
		created := call(t, typ, r)
		if created.Status != types.OperationStatusSuccess {
			if name != "AWS::SageMaker::Device" { // its identifier is inside of an optional structure
				t.Errorf("%s: create: %s %s", name, created.ErrorCode, created.Message)
			}
			continue
		}
		for _, violation := range typ.Schema.Check(created.Model, schema.CheckConfig{Shape: true}) {
			t.Errorf("%s: %s: %s", name, violation.Pointer, violation.Message)
		}
		for _, path := range typ.Schema.ReadOnly {
			if len(path.Tokens) == 1 && len(schema.Present(created.Model, []schema.Path{path})) == 0 {
				incomplete++
			}
		}
		r.Action, r.Identifier, r.Desired = invoke.Delete, created.Identifier, nil
		if deleted := call(t, typ, r); deleted.Status != types.OperationStatusSuccess {
			t.Errorf("%s: delete: %s", name, deleted.Message)
		}
	}
	if incomplete > 0 {
		t.Errorf("%d read-only properties have no value", incomplete)
	}
}

// TestProvisioned: how resources of an imported type are made depends on the patterns and on
// the services of the server.
func TestProvisioned(t *testing.T) {
	for _, test := range []struct {
		pattern string
		served  bool
		want    simulate.Provisioned
	}{
		{"Other::*", false, simulate.Unprovided},
		{"Other::*", true, simulate.ByServices},
		{"Acme::*", false, simulate.BySimulation},
		{"Acme::*", true, simulate.ByServices},
		{"Acme::Mail::Queue", true, simulate.BySimulation},
	} {
		opened, err := store.Open(t.Context(), store.Config{Dir: fixtures.TempDir(t)})
		if err != nil {
			t.Fatal(err)
		}
		served := map[string]string{}
		if test.served {
			served = map[string]string{"Acme::Mail::Queue": `{}`, "Acme::Mail::Zone": `{"typeName": "Acme::Mail::Zone"}`}
		}
		shelf := simulate.New(simulate.Config{Store: opened, Patterns: []string{test.pattern}, Served: served})
		if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "queue.json", Text: []byte(queue)}}); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		found, err := shelf.Find(t.Context(), "Acme::Mail::Queue")
		if err != nil || found.By != test.want {
			t.Errorf("%s, served %v: %+v, %v", test.pattern, test.served, found, err)
		}
		if listed, err := shelf.List(t.Context(), "", "", 1); err != nil || listed[0] != *found {
			t.Errorf("listed as %+v, %v", listed, err)
		}
		zone, err := shelf.Find(t.Context(), "Acme::Mail::Zone")
		listed, listErr := shelf.List(t.Context(), "Acme::", "Acme::Mail::Queue", 10)
		if err != nil || listErr != nil || (zone != nil) != test.served || len(listed) != len(served)/2 {
			t.Errorf("served %v: %+v, %+v; %v, %v", test.served, zone, listed, err, listErr)
		}
		if zone != nil && (*zone != listed[0] || zone.By != simulate.ByServices || !zone.Imported.IsZero() || zone.Schema != served[zone.TypeName]) {
			t.Errorf("a type of the server: %+v, listed as %+v", zone, listed)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCarriedTypes: the schemas of the types of the official tool's stacks need no import, but are
// used only if they are named; an import takes precedence.
func TestCarriedTypes(t *testing.T) {
	none := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "Acme::*")
	if found, err := none.List(t.Context(), "", "", 10); err != nil || len(found) > 0 {
		t.Errorf("listed though nobody named them: %v, %v", found, err)
	}
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, simulate.Infrastructure()...)
	for name, desired := range map[string]map[string]any{
		"AWS::IAM::Role": {"AssumeRolePolicyDocument": map[string]any{"Version": "2012-10-17", "Statement": []any{}}, "Path": "/"},
		"AWS::KMS::Key":  {"Description": "d", "EnableKeyRotation": true, "KeyPolicy": map[string]any{"Version": "2012-10-17", "Statement": []any{}}},
	} {
		if _, err := none.Type(t.Context(), caller, name, ""); err == nil {
			t.Errorf("%s is simulated though nobody named it", name)
		}
		typ, err := shelf.Type(t.Context(), caller, name, "")
		if err != nil {
			t.Fatal(err)
		}
		r := request(invoke.Create, "t", "", desired)
		r.Type = name
		created := call(t, typ, r)
		if created.Status != types.OperationStatusSuccess {
			t.Fatalf("%s: create: %+v", name, created)
		}
		if violations := typ.Schema.Check(created.Model, schema.CheckConfig{}); len(violations) > 0 {
			t.Errorf("%s: the model breaks its schema: %v", name, violations)
		}
		if arn, _ := created.Model["Arn"].(string); !strings.HasPrefix(arn, "arn:aws:") || !strings.Contains(arn, caller.Account) {
			t.Errorf("%s: ARN %q", name, arn)
		}
		r = request(invoke.Delete, "d", created.Identifier, nil)
		r.Type = name
		if p := call(t, typ, r); p.Status != types.OperationStatusSuccess {
			t.Errorf("%s: delete: %+v", name, p)
		}
	}
	names := func(prefix, after string, limit int) string {
		t.Helper()
		found, err := shelf.List(t.Context(), prefix, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, one := range found {
			all = append(all, one.TypeName)
		}
		return strings.Join(all, " ")
	}
	own := strings.ReplaceAll(queue, `"Acme::Mail::Queue", "description": "A queue."`, `"AWS::IAM::Role", "description": "Imported."`)
	if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "queue.json", Text: []byte(queue)}, {Name: "role.json", Text: []byte(own)}}); err != nil || len(problems) > 0 {
		t.Fatalf("%v, %v", problems, err)
	}
	for _, test := range []struct {
		prefix, after string
		limit         int
		want          string
	}{
		{"", "", 10, "AWS::IAM::Role AWS::KMS::Key Acme::Mail::Queue"},
		{"", "", 1, "AWS::IAM::Role"},
		{"", "AWS::IAM::Role", 1, "AWS::KMS::Key"},
		{"", "AWS::KMS::Key", 10, "Acme::Mail::Queue"},
		{"AWS::K", "", 10, "AWS::KMS::Key"},
	} {
		if got := names(test.prefix, test.after, test.limit); got != test.want {
			t.Errorf("List(%q, %q, %d): %q, want %q", test.prefix, test.after, test.limit, got, test.want)
		}
	}
	found, err := shelf.Find(t.Context(), "AWS::IAM::Role")
	if err != nil || !strings.Contains(found.Schema, "Imported.") || found.Imported.IsZero() {
		t.Errorf("an imported schema is not used: %+v, %v", found, err)
	}
	found, err = shelf.Find(t.Context(), "AWS::KMS::Key")
	if err != nil || found.By != simulate.BySimulation || !found.Imported.IsZero() {
		t.Errorf("a carried schema: %+v, %v", found, err)
	}
}

// TestIdentifiersThatCannotBeKept is the same on both databases, of which one could keep them.
func TestIdentifiersThatCannotBeKept(t *testing.T) {
	long := strings.Repeat("x", store.MaxKey+1)
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			_, typ := imported(t, place)
			for want, desired := range map[string]map[string]any{
				"The primary identifier of Acme::Mail::Queue has 2049 bytes; at most 2048 are allowed.":   {"QueueName": long},
				"The primary identifier of Acme::Mail::Queue contains the character U+0000.":              {"QueueName": "a\x00"},
				"An additional identifier of Acme::Mail::Queue has 2049 bytes; at most 2048 are allowed.": {"Alias": long},
			} {
				if p := call(t, typ, request(invoke.Create, "t", "", desired)); p.ErrorCode != "InvalidRequest" || p.Message != want {
					t.Errorf("got %s %s, want %s", p.ErrorCode, p.Message, want)
				}
			}
			made := call(t, typ, request(invoke.Create, "t", "", map[string]any{"QueueName": long[1:], "Alias": long[3:]}))
			if made.Status != types.OperationStatusSuccess {
				t.Errorf("the longest: %+v", made)
			}
			if p := call(t, typ, request(invoke.Update, "u", made.Identifier, map[string]any{"Alias": long})); p.ErrorCode != "InvalidRequest" {
				t.Errorf("the update: %+v", p)
			}
		})
	}
}

// TestNoHandlers: a type whose published schema has no handlers has all of them.
func TestNoHandlers(t *testing.T) {
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "Acme::*", "AWS::*")
	text := `{"typeName": "Acme::Old::Thing", "description": "d", "additionalProperties": false, "properties": {"Name": {"type": "string"}, "Size": {"type": "integer"}},
		"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"]}`
	if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "thing.json", Text: []byte(text)}}); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	typ, err := shelf.Type(t.Context(), caller, "Acme::Old::Thing", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"create", "read", "update", "delete", "list"} {
		if typ.Schema.Handler(action) == nil {
			t.Errorf("there is no handler for %s", action)
		}
	}
	r := request(invoke.Create, "t", "", map[string]any{"Name": "n", "Size": 1})
	r.Type = typ.Name
	if p := call(t, typ, r); p.Status != types.OperationStatusSuccess {
		t.Fatalf("create: %+v", p)
	}
	r = request(invoke.Update, "u", "n", map[string]any{"Name": "n", "Size": 2})
	r.Type = typ.Name
	if p := call(t, typ, r); p.Status != types.OperationStatusSuccess || p.Model["Size"] != 2 {
		t.Errorf("update: %+v", p)
	}
	coverage, err := shelf.Coverage(t.Context())
	if err != nil || len(coverage) != 2 || coverage[0].Types != 1 || coverage[0].Imported.IsZero() || coverage[1].Types != 0 {
		t.Errorf("the patterns match %+v, %v", coverage, err)
	}
	if imported, err := shelf.Imported(t.Context(), "Acme::Old::Thing"); err != nil || imported == nil {
		t.Errorf("the imported schema: %v, %v", imported, err)
	}
	if carried, err := shelf.Imported(t.Context(), "AWS::IAM::Role"); err != nil || carried != nil {
		t.Errorf("a schema that was not imported: %v, %v", carried, err)
	}
	_, err = shelf.Type(t.Context(), caller, "AWS::Old::Thing", "")
	var unknown *operation.UnknownTypeError
	if !errors.As(err, &unknown) || unknown.Hint != "import the schema of the type with cfn types import aws, so that it can be simulated" {
		t.Errorf("a type of AWS without a schema: %#v", err)
	}
}
