package console

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/fixtures"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/store"
)

// A fakeRegistry answers as the registry does, from memory.
type fakeRegistry struct {
	mu            sync.Mutex
	types         []*fakeType
	registrations []fakeRegistration
	configuration string
	runs          []registry.TestRun
	reports       map[string][]byte
	reportError   error // of reading any of them
	listeners     map[chan registry.Change]bool
	calls         []string // that changed something
	refusal       error    // of everything that changes something
	broken        error    // of everything
}

type fakeType struct {
	place        awswire.Place
	kind, name   string
	description  string
	provisioning types.ProvisioningType
	versions     []fakeVersion
	standard     string // the default version
	publisher    string // "" of private types
	activated    bool
	original     string
	role, group  string
	source, docs string
}

type fakeVersion struct {
	id, schema string
	deprecated bool
	tests      types.TypeTestsStatus
}

type fakeRegistration struct {
	place             awswire.Place
	token, kind, name string
	version           string
	status            types.RegistrationStatus
	description       string
}

var home = awswire.Place{Account: "000000000000", Region: "us-east-1"}

var then = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

func (f *fakeRegistry) find(caller awswire.Caller, kind, name string) *fakeType {
	for _, t := range f.types {
		if t.kind == kind && t.name == name && (t.publisher != "" && !t.activated || t.place == caller.Place) {
			return t
		}
	}
	return nil
}

func (f *fakeRegistry) Types(_ context.Context, caller awswire.Caller, q registry.TypeQuery) ([]registry.TypeState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, f.broken
	}
	var all []registry.TypeState
	for _, t := range f.types {
		public := t.publisher != "" && !t.activated
		if public != q.Public || !public && t.place != caller.Place {
			continue
		}
		if q.Kind != "" && string(q.Kind) != t.kind || q.Deprecated || !strings.Contains(strings.ToLower(t.name), strings.ToLower(q.Search)) {
			continue
		}
		if q.Category != "" && (q.Category == types.CategoryActivated) != t.activated {
			continue
		}
		s := registry.TypeState{TypeSummary: types.TypeSummary{Type: types.RegistryType(t.kind), TypeName: &t.name, Description: &t.description, LastUpdated: aws.Time(then), TypeArn: aws.String(arnOf(t, ""))}}
		if t.publisher == "" {
			s.DefaultVersionId = &t.standard
			for _, v := range t.versions {
				if !v.deprecated {
					s.Versions++
				}
			}
		} else {
			s.PublisherId, s.IsActivated, s.LatestPublicVersion = &t.publisher, aws.Bool(t.activated), aws.String("1.2.0")
		}
		if t.original != "" {
			s.OriginalTypeName = &t.original
		}
		if behind(s.Key(), q.After) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b registry.TypeState) int {
		if behind(a.Key(), b.Key()) {
			return 1
		}
		return -1
	})
	return all[:min(q.Limit, len(all))], nil
}

// behind reports whether a type follows another one in lists.
func behind(a, b registry.TypeKey) bool {
	return cmp.Or(cmp.Compare(a.TypeName, b.TypeName), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Publisher, b.Publisher)) > 0
}

func arnOf(t *fakeType, version string) string {
	arn := fmt.Sprintf("arn:aws:cloudformation:%s:%s:type/%s/%s", t.place.Region, t.place.Account, strings.ToLower(t.kind), strings.ReplaceAll(t.name, "::", "-"))
	if version != "" {
		arn += "/" + version
	}
	return arn
}

func (f *fakeRegistry) DescribeType(_ context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return nil, f.broken
	}
	t := f.find(caller, string(in.Type), aws.ToString(in.TypeName))
	missing := awswire.Errorf("TypeNotFoundException", 404, "The type '%s' cannot be found.", aws.ToString(in.TypeName))
	if t == nil || t.publisher != "" && !t.activated && in.PublisherId == nil {
		return nil, missing
	}
	id := aws.ToString(in.VersionId)
	if id == "" {
		id = t.standard
	}
	i := slices.IndexFunc(t.versions, func(v fakeVersion) bool { return v.id == id })
	if i < 0 {
		return nil, missing
	}
	v := t.versions[i]
	out := &cloudformation.DescribeTypeOutput{
		Arn: aws.String(arnOf(t, v.id)), Type: in.Type, TypeName: in.TypeName, Description: &t.description, Schema: &v.schema, TimeCreated: aws.Time(then.Add(-30 * time.Hour)),
		LastUpdated: aws.Time(then), Visibility: types.VisibilityPrivate, DeprecatedStatus: types.DeprecatedStatusLive, ProvisioningType: t.provisioning,
		SourceUrl: &t.source, DocumentationUrl: &t.docs,
	}
	if t.publisher == "" {
		out.DefaultVersionId, out.IsDefaultVersion = &t.standard, aws.Bool(v.id == t.standard)
	} else {
		out.PublisherId, out.IsActivated, out.PublicVersionNumber = &t.publisher, aws.Bool(t.activated), aws.String("1.2.0")
		if !t.activated {
			out.Visibility = types.VisibilityPublic
		} else {
			out.OriginalTypeName, out.AutoUpdate = &t.original, aws.Bool(true)
		}
	}
	if in.VersionId != nil {
		out.TypeTestsStatus = v.tests
	}
	switch {
	case t.role != "":
		out.ExecutionRoleArn = &t.role
	case t.kind == "RESOURCE" && t.publisher == "": // as the service answers it
		out.ExecutionRoleArn = aws.String("arn:aws:iam::" + t.place.Account + ":role/aws-service-role/resources.cloudformation.amazonaws.com/CloudFormationResourceTypeDefault")
	}
	if t.group != "" {
		out.LoggingConfig = &types.LoggingConfig{LogGroupName: &t.group}
	}
	return out, nil
}

func (f *fakeRegistry) TypeVersions(_ context.Context, caller awswire.Caller, kind schema.Kind, name string) ([]registry.VersionState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.find(caller, string(kind), name)
	if t == nil {
		return nil, nil
	}
	published := map[string]map[string]string{"MongoDB::Atlas::Cluster": {"00000002": "1.4.0"}}[name]
	var out []registry.VersionState
	for _, v := range slices.Backward(t.versions) {
		out = append(out, registry.VersionState{
			ID: v.id, Default: v.id == t.standard, Deprecated: v.deprecated, Created: then.Add(-time.Duration(len(t.versions)) * time.Hour),
			Tests: v.tests, PublicVersion: published[v.id],
		})
	}
	return out, nil
}

func (f *fakeRegistry) Registrations(_ context.Context, caller awswire.Caller, q registry.RegistrationQuery) ([]registry.Registration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []registry.Registration
	for _, g := range f.registrations {
		if g.place == caller.Place && g.status == q.Status && (q.TypeName == "" || q.TypeName == g.name) && len(out) < q.Limit {
			out = append(out, registry.Registration{
				Token: g.token, Kind: schema.Kind(g.kind), TypeName: g.name, Version: g.version, Status: g.status, Description: g.description,
				Started: then, Updated: then.Add(2 * time.Second),
			})
		}
	}
	return out, nil
}

func (f *fakeRegistry) BatchDescribeTypeConfigurations(_ context.Context, _ awswire.Caller, in *cloudformation.BatchDescribeTypeConfigurationsInput) (*cloudformation.BatchDescribeTypeConfigurationsOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &cloudformation.BatchDescribeTypeConfigurationsOutput{TypeConfigurations: []types.TypeConfigurationDetails{{
		Alias: aws.String("default"), Configuration: &f.configuration, LastUpdated: aws.Time(then),
	}}}, nil
}

func (f *fakeRegistry) did(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.refusal
}

func (f *fakeRegistry) SetTypeDefaultVersion(_ context.Context, caller awswire.Caller, in *cloudformation.SetTypeDefaultVersionInput) (*cloudformation.SetTypeDefaultVersionOutput, error) {
	err := f.did("default %s %s %s in %s/%s", in.Type, aws.ToString(in.TypeName), aws.ToString(in.VersionId), caller.Account, caller.Region)
	if err == nil {
		f.mu.Lock()
		f.find(caller, string(in.Type), *in.TypeName).standard = *in.VersionId
		f.mu.Unlock()
	}
	return &cloudformation.SetTypeDefaultVersionOutput{}, err
}

func (f *fakeRegistry) DeregisterType(_ context.Context, _ awswire.Caller, in *cloudformation.DeregisterTypeInput) (*cloudformation.DeregisterTypeOutput, error) {
	return &cloudformation.DeregisterTypeOutput{}, f.did("deregister %s %s %s", in.Type, aws.ToString(in.TypeName), aws.ToString(in.VersionId))
}

func (f *fakeRegistry) TestType(_ context.Context, _ awswire.Caller, in *cloudformation.TestTypeInput) (*cloudformation.TestTypeOutput, error) {
	return &cloudformation.TestTypeOutput{}, f.did("test %s %s %s", in.Type, aws.ToString(in.TypeName), aws.ToString(in.VersionId))
}

func (f *fakeRegistry) ActivateType(_ context.Context, _ awswire.Caller, in *cloudformation.ActivateTypeInput) (*cloudformation.ActivateTypeOutput, error) {
	return &cloudformation.ActivateTypeOutput{}, f.did("activate %s %s of %s as %s, updates %v", in.Type, aws.ToString(in.TypeName), aws.ToString(in.PublisherId), aws.ToString(in.TypeNameAlias), aws.ToBool(in.AutoUpdate))
}

func (f *fakeRegistry) DeactivateType(_ context.Context, _ awswire.Caller, in *cloudformation.DeactivateTypeInput) (*cloudformation.DeactivateTypeOutput, error) {
	return &cloudformation.DeactivateTypeOutput{}, f.did("deactivate %s %s", in.Type, aws.ToString(in.TypeName))
}

func (f *fakeRegistry) TestRuns(_ context.Context, caller awswire.Caller, q registry.TestQuery) ([]registry.TestRun, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []registry.TestRun
	for _, r := range f.runs {
		if caller.Place == home && (q.ID == "" || r.ID == q.ID) && (q.TypeName == "" || q.TypeName == r.TypeName) && len(out) < q.Limit {
			out = append(out, r)
		}
	}
	return out, nil
}

func (f *fakeRegistry) TestReport(_ context.Context, _ awswire.Caller, id string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reports[id], f.reportError
}

func (f *fakeRegistry) Subscribe(ctx context.Context) <-chan registry.Change {
	channel := make(chan registry.Change, 8)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners == nil {
		f.listeners = map[chan registry.Change]bool{}
	}
	f.listeners[channel] = true
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, channel)
		close(channel)
	})
	return channel
}

// change does something and tells everybody.
func (f *fakeRegistry) change(what func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what()
	for channel := range f.listeners {
		channel <- registry.Change{Place: awswire.Place{Account: home.Account, Region: home.Region}}
	}
}

func (f *fakeRegistry) subscribers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.listeners)
}

// history is what the handlers of a world were called for. The calls are those in its log.
func (e *engines) history(group string) {
	log, err := e.logs.Lines(e.t.Context(), home, group, "", 1000)
	if err != nil {
		e.t.Fatal(err)
	}
	actions := []string{"CREATE", "CREATE", "READ", "UPDATE", "READ", "LIST", "DELETE"}
	n := -1
	for _, line := range log {
		id, found := strings.CutPrefix(line.Text, "START RequestId: ")
		if !found {
			continue
		}
		n++
		call := handlers.Invocation{
			ID: strings.Fields(id)[0], Account: home.Account, Region: home.Region, Kind: schema.Resource, TypeName: "MongoDB::Atlas::Cluster", Version: "00000002",
			Action: actions[n%len(actions)], Status: "SUCCESS", LogGroup: "/aws/lambda/mongodb-atlas-cluster-logs", LogStream: line.Stream,
			Duration: time.Duration(40+n*n) * time.Millisecond, StartedAt: store.At(line.Time),
		}
		call.Token, call.Identifier = fmt.Sprintf("8f1f0c2e-0c7c-4f0e-9df5-%012d", n/3), "64f0a1b2c3d4e5f60718293a|billing"
		if n > 25 {
			call.Version = "00000003"
		}
		call.Request = `{
  "action": "` + call.Action + `",
  "bearerToken": "8f1f0c2e-0c7c-4f0e-9df5-5b6dfb0a6a10",
  "requestData": {
    "callerCredentials": "<hidden>",
    "resourceProperties": {
      "ProjectId": "64f0a1b2c3d4e5f60718293a",
      "Name": "billing",
      "ClusterType": "REPLICASET",
      "DiskSizeGB": 40,
      "PitEnabled": true
    },
    "logicalResourceId": "Billing"
  },
  "stackId": "arn:aws:cloudformation:us-east-1:000000000000:stack/contract-tests/1a2b3c4d"
}`
		call.Reply = `{
  "status": "SUCCESS",
  "resourceModel": {
    "ProjectId": "64f0a1b2c3d4e5f60718293a",
    "Name": "billing",
    "StateName": "IDLE"
  }
}`
		switch {
		case n == 24:
			call.Status, call.Reply = "ERROR", ""
			call.Error = "the handler ended while it worked: signal: killed; it printed last: <hidden> is not a key that the API of the cloud knows, and after that nothing more was heard of it for as long as 30 seconds"
		case n%9 == 4:
			call.Status, call.ErrorCode, call.Message = "FAILED", "NotStabilized", "the cluster billing did not reach the state IDLE within 30 seconds: HTTP 503"
			call.Reply = `{"status": "FAILED", "errorCode": "NotStabilized", "message": "the cluster billing did not reach the state IDLE within 30 seconds: HTTP 503"}`
		case call.Action == "CREATE" || call.Action == "UPDATE":
			call.Status = "IN_PROGRESS"
		}
		e.called(call)
	}
	e.called(handlers.Invocation{
		ID: "hook-call", Account: home.Account, Region: home.Region, Kind: schema.Hook, TypeName: "Acme::Security::Encryption", Version: "00000001", Action: "CREATE_PRE_PROVISION", Status: "SUCCESS",
		Request: `{"actionInvocationPoint": "CREATE_PRE_PROVISION"}`, Reply: `{"hookStatus": "SUCCESS"}`, Duration: 12 * time.Millisecond, StartedAt: store.At(then.Add(time.Minute)),
	})
	e.called(handlers.Invocation{
		ID: "stack-call", Account: home.Account, Region: home.Region, Kind: schema.Resource, TypeName: "MongoDB::Atlas::Cluster", Version: "00000002", Action: "CREATE", Status: "FAILED",
		Token: "of-the-stack", StackID: arnOfStack("shop"), LogicalID: "Billing",
		Request: "{}", Reply: `{"status": "FAILED"}`, Duration: 56 * time.Millisecond, StartedAt: store.At(then.Add(10 * time.Second)),
	})
	e.called(handlers.Invocation{
		ID: "aliased-call", Account: home.Account, Region: home.Region, Kind: schema.Resource, TypeName: "Example::Mail::List", Version: "1.2.0", Status: "ANSWERED",
		Request: `(2097152 bytes)`, Reply: "1 of " + strings.Repeat("long ", 20) + "…", Duration: 3 * time.Second, StartedAt: store.At(then.Add(-30 * time.Hour)),
	})
}

// read reads a file of the fixtures.
func read(t testing.TB, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, folder), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const moduleSchema = `{"typeName":"Acme::Net::Vpc::MODULE","description":"A VPC.","properties":{"Parameters":{"type":"object","properties":{"Cidr":{"type":"object","properties":{"Type":{"type":"string"}}}}},"Resources":{"type":"object"}},"additionalProperties":true}`

// world is a registry with something of everything, and engines that have, too.
func world(t testing.TB) (*fakeRegistry, *engines) {
	t.Helper()
	report, err := os.ReadFile("../contract/testdata/report.json.golden") // what contract.WriteJSON writes
	if err != nil {
		t.Fatal(err)
	}
	cluster := read(t, "schemas/third-party/mongodb", "mongodb-atlas-cluster.json")
	older := strings.Replace(cluster, `"createOnlyProperties": [`, `"createOnlyProperties": [ "/properties/PitEnabled",`, 1)
	older = strings.Replace(older, `"PitEnabled": {`, `"PitWasEnabled": {"type": "boolean", "description": "Older name."}, "PitEnabled": {`, 1)
	trail := read(t, "schemas/aws", "aws-ecs-taskdefinition.json")
	f := &fakeRegistry{
		types: []*fakeType{
			{place: home, kind: "HOOK", name: "Acme::Security::Encryption", description: "Every bucket has to be encrypted with a key of the team that owns it.", standard: "00000001", versions: []fakeVersion{{id: "00000001", schema: hookSchema, tests: types.TypeTestsStatusNotTested}}},
			{place: home, kind: "RESOURCE", name: "Acme::Tasks::Definition", provisioning: types.ProvisioningTypeImmutable, description: "Resource Schema describing various properties for ECS TaskDefinition", standard: "00000001", versions: []fakeVersion{{id: "00000001", schema: trail, tests: types.TypeTestsStatusPassed}}},
			{place: home, kind: "MODULE", name: "Acme::Net::Vpc::MODULE", description: "A VPC.", standard: "00000002", versions: []fakeVersion{{id: "00000002", schema: moduleSchema}}},
			{
				place: home, kind: "RESOURCE", name: "MongoDB::Atlas::Cluster", provisioning: types.ProvisioningTypeFullyMutable,
				description: "The cluster resource provides access to your cluster configurations. The resource lets you create, edit and delete clusters. The resource requires your Project ID.",
				standard:    "00000002", role: "arn:aws:iam::000000000000:role/mongodb-atlas-cluster-role-stack-ExecutionRole-1JX0AA3FB5GRT", group: "/aws/lambda/mongodb-atlas-cluster-logs",
				source: "https://github.com/mongodb/mongodbatlas-cloudformation-resources/tree/master/cfn-resources/cluster", docs: "javascript:alert(1)",
				versions: []fakeVersion{
					{id: "00000001", schema: older, deprecated: true}, {id: "00000002", schema: older, tests: types.TypeTestsStatusPassed},
					{id: "00000003", schema: cluster, tests: types.TypeTestsStatusFailed}, {id: "00000004", schema: cluster, tests: types.TypeTestsStatusNotTested},
				},
			},
			{place: home, kind: "RESOURCE", name: "Acme::Mail::List", provisioning: types.ProvisioningTypeFullyMutable, publisher: "c830e97710da0c9954d80ba8df021e5439e7134b", activated: true, original: "Example::Mail::List", description: "A mailing list.", versions: []fakeVersion{{id: "", schema: `{"typeName":"Example::Mail::List","properties":{"Name":{"type":"string"}}}`}}},
			{kind: "RESOURCE", name: "Example::Mail::List", provisioning: types.ProvisioningTypeFullyMutable, publisher: "c830e97710da0c9954d80ba8df021e5439e7134b", description: "A mailing list.", versions: []fakeVersion{{id: "", schema: `{"typeName":"Example::Mail::List","properties":{"Name":{"type":"string"}}}`}}},
		},
		registrations: []fakeRegistration{
			{home, "6f5f0c2e-0c7c-4f0e-9df5-5b6dfb0a6a10", "RESOURCE", "MongoDB::Atlas::Cluster", "00000005", types.RegistrationStatusInProgress, "Deployment is currently in DEPLOY_STAGE of status IN_PROGRESS; "},
			{home, "51f3a5a3-54f3-4ab2-8f3f-8d6c0a2a2f3d", "RESOURCE", "Acme::Queue::Thing", "00000001", types.RegistrationStatusFailed, "Deployment is currently in VALIDATION_STAGE of status FAILED; The package does not hold a valid schema:\nthing.zip!/schema.json:12:3: primaryIdentifier names /properties/Arn, which the schema does not define [schema/path]"},
			{home, "3a2b1c0d-54f3-4ab2-8f3f-8d6c0a2a2f3d", "RESOURCE", "MongoDB::Atlas::Cluster", "00000004", types.RegistrationStatusComplete, "Deployment is currently in DEPLOY_STAGE of status COMPLETED; "},
		},
		configuration: `{"ApiKeys":{"PublicKey":"pk-geheim","PrivateKey":"{{resolve:secretsmanager:atlas:SecretString:key}}","Retries":3},"Regions":["eu-geheim-1"],"Debug":true}`,
		runs: []registry.TestRun{
			{ID: "run-3", Kind: schema.Resource, TypeName: "MongoDB::Atlas::Cluster", Version: "00000003", Status: types.TypeTestsStatusInProgress, Started: then, Progress: &registry.TestProgress{Test: "handler_update.py::contract_update_read", Number: 7, Total: 15, Shrinking: true}},
			{ID: "run-2", Kind: schema.Resource, TypeName: "MongoDB::Atlas::Cluster", Version: "00000003", Status: types.TypeTestsStatusFailed, Description: "2 of 7 contract tests failed.", Passed: 3, Failed: 2, Skipped: 2, Started: then.Add(-time.Hour), Ended: then},
			{ID: "run-1", Kind: schema.Resource, TypeName: "MongoDB::Atlas::Cluster", Version: "00000002", Status: types.TypeTestsStatusPassed, Passed: 41, Skipped: 3, Started: then.Add(-3 * time.Hour), Ended: then.Add(-2 * time.Hour)},
		},
		reports: map[string][]byte{"run-2": report},
	}
	e := newEngines(t)
	e.group("/aws/lambda/other")
	group := "/aws/lambda/mongodb-atlas-cluster-logs"
	for i := range 40 {
		e.write(group, fmt.Sprintf("START RequestId: 6f5f0c2e-0c7c-4f0e-9df5-%012d Version: $LATEST", i))
		e.write(group, `{"action":"CREATE","stage":"\u001b[32mpolling\u001b[0m","clusterName":"billing","state":"CREATING"}`)
		if i%9 == 4 {
			e.write(group, "\x1b[1;31mERROR\x1b[0m the cluster \x1b[36mbilling\x1b[0m did not reach the state IDLE within 30 seconds: HTTP 503 from https://cloud.mongodb.example/api/atlas/v2/groups/<script>alert(1)</script>")
		}
		if i%11 == 3 {
			e.write(group, "\x1b[33mWARN\x1b[0m retrying in 2 s (attempt 2 of 5)")
		}
		e.write(group, fmt.Sprintf("REPORT RequestId: 6f5f0c2e-0c7c-4f0e-9df5-%012d Duration: %d.00 ms", i, 40+i*i))
	}
	e.history(group)
	e.evaluated()
	e.requested()
	e.deployed()
	return f, e
}

const hookSchema = `{"typeName":"Acme::Security::Encryption","description":"Every bucket has to be encrypted.","typeConfiguration":{"properties":{"MinKeyLength":{"type":"integer","minimum":128,"description":"Bits."},"Exempt":{"type":"array","items":{"type":"string"},"uniqueItems":true}},"additionalProperties":false},"handlers":{"preCreate":{"targetNames":["AWS::S3::Bucket"],"permissions":[]},"preUpdate":{"targetNames":["AWS::S3::Bucket"],"permissions":["s3:GetBucketEncryption"]}},"additionalProperties":false}`

// worldRegistry is the registry of a world.
func worldRegistry(t testing.TB) *fakeRegistry {
	t.Helper()
	f, _ := world(t)
	return f
}

// newConsole is a console over a world, which ends with the test. Without engines it has the registry and
// stacks only.
func newConsole(t testing.TB, f *fakeRegistry, e *engines) *Console {
	t.Helper()
	stacks := newFakeStacks()
	config := Config{
		TimeScale: 4, Registry: f, Stacks: stacks, Refactors: stacks, Version: "0.6.0", Warning: "handlers run <without> a sandbox",
		Places: func(context.Context) ([]awswire.Place, error) {
			return []awswire.Place{{Account: "000000000000", Region: "eu-central-1"}, {Account: "123456789012", Region: "us-east-1"}}, nil
		},
		Now: func() time.Time { return then.Add(13 * time.Minute) }, Poll: 20 * time.Millisecond,
	}
	if e != nil {
		config.Logs, config.Calls, config.Requests, config.Hooks, config.StackSets = e.logs, e.calls, e.requests, e.hooks, e.sets
	}
	c := New(config)
	t.Cleanup(c.Close)
	return c
}
