package console

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var home = awswire.Place{Account: "000000000000", Region: "us-east-1"}

var then = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// now is when the pages are looked at.
func now() time.Time { return then.Add(13 * time.Minute) }

// made is a folder with a store that has something of everything. It is made once, and every test has a copy.
var made struct {
	once  sync.Once
	dir   string // "" if it cannot be made
	lines map[string]int
}

// world are engines that have something of everything.
func world(t testing.TB) *engines {
	t.Helper()
	made.once.Do(func() {
		dir, err := os.MkdirTemp("", "console-world-")
		if err != nil {
			t.Fatal(err)
		}
		e := openEngines(t, dir)
		e.fill()
		e.close()
		made.dir, made.lines = dir, e.lines
	})
	if made.dir == "" {
		t.Fatal("the world of the tests cannot be made")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(made.dir)); err != nil {
		t.Fatal(err)
	}
	e := openEngines(t, dir)
	e.lines = maps.Clone(made.lines)
	t.Cleanup(e.close)
	return e
}

func (e *engines) fill() {
	e.registered()
	e.public()
	e.tested()
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
	e.stacked()
}

// A private type is one that an account has registered. Its versions have consecutive numbers.
type private struct {
	place       awswire.Place // home if it is zero
	kind, name  string
	description string
	standard    int // the default version
	more        row // columns of each version
	versions    []row
}

// typed writes private types.
func (e *engines) typed(list ...private) {
	e.t.Helper()
	var all, versions []row
	for _, p := range list {
		if p.place == (awswire.Place{}) {
			p.place = home
		}
		id := p.place.String() + " " + p.kind + " " + p.name
		all = append(all, row{
			"id": id, "account": p.place.Account, "region": p.place.Region, "kind": p.kind, "type_name": p.name, "default_version": p.standard, "next_version": len(p.versions) + 1,
			"created_at": store.At(then), "updated_at": store.At(then), "row_version": 1,
		})
		for i, v := range p.versions {
			version := row{
				"id": fmt.Sprint(id, " ", i+1), "type_id": id, "version": i + 1, "deprecated": false, "schema": "", "description": p.description, "test_status": types.TypeTestsStatusNotTested,
				"public_version": "", "provisioning_type": "", "execution_role": "", "log_group": "", "source_url": "", "documentation_url": "",
				"created_at": store.At(then.Add(-30 * time.Hour)), "updated_at": store.At(then), "row_version": 1,
			}
			maps.Copy(version, p.more)
			maps.Copy(version, v)
			versions = append(versions, version)
		}
	}
	e.insert("types", all...)
	e.insert("type_versions", versions...)
}

// registration is a row of a registration in home.
func registrationRow(token, kind, name string, version int, status types.RegistrationStatus, stage, description string) row {
	return row{
		"token": token, "account": home.Account, "region": home.Region, "kind": kind, "type_name": name, "version": version, "status": status, "stage": stage, "description": description,
		"created_at": store.At(then), "updated_at": store.At(then.Add(2 * time.Second)), "row_version": 1,
	}
}

// registered writes the private types, and registrations.
func (e *engines) registered() {
	cluster := read(e.t, "schemas/third-party/mongodb", "mongodb-atlas-cluster.json")
	older := strings.Replace(cluster, `"createOnlyProperties": [`, `"createOnlyProperties": [ "/properties/PitEnabled",`, 1)
	older = strings.Replace(older, `"PitEnabled": {`, `"PitWasEnabled": {"type": "boolean", "description": "Older name."}, "PitEnabled": {`, 1)
	e.typed(
		private{kind: "HOOK", name: "Acme::Security::Encryption", description: "Every bucket has to be encrypted with a key of the team that owns it.", standard: 1, versions: []row{{"schema": hookSchema}}},
		private{
			kind: "RESOURCE", name: "Acme::Tasks::Definition", description: "Resource Schema describing various properties for ECS TaskDefinition", standard: 1,
			more: row{"provisioning_type": types.ProvisioningTypeImmutable}, versions: []row{{"schema": read(e.t, "schemas/aws", "aws-ecs-taskdefinition.json"), "test_status": types.TypeTestsStatusPassed}},
		},
		private{kind: "MODULE", name: "Acme::Net::Vpc::MODULE", description: "A VPC.", standard: 2, versions: []row{{"schema": moduleSchema, "deprecated": true}, {"schema": moduleSchema}}},
		private{
			kind: "RESOURCE", name: "MongoDB::Atlas::Cluster", standard: 2,
			description: "The cluster resource provides access to your cluster configurations. The resource lets you create, edit and delete clusters. The resource requires your Project ID.",
			more: row{
				"provisioning_type": types.ProvisioningTypeFullyMutable, "execution_role": "arn:aws:iam::000000000000:role/mongodb-atlas-cluster-role-stack-ExecutionRole-1JX0AA3FB5GRT",
				"log_group": "/aws/lambda/mongodb-atlas-cluster-logs", "documentation_url": "javascript:alert(1)",
				"source_url": "https://github.com/mongodb/mongodbatlas-cloudformation-resources/tree/master/cfn-resources/cluster",
			},
			versions: []row{
				{"schema": older, "deprecated": true}, {"schema": older, "test_status": types.TypeTestsStatusPassed, "public_version": "1.4.0"},
				{"schema": cluster, "test_status": types.TypeTestsStatusFailed}, {"schema": cluster},
			},
		},
	)
	e.typed(private{kind: "HOOK", name: "Acme::Old::Hook", description: "A hook of the past.", standard: 1, versions: []row{{"schema": hookSchema, "deprecated": true}}})
	e.exec("UPDATE types SET deprecated = ? WHERE type_name = 'Acme::Old::Hook'", true)
	e.insert("registrations",
		registrationRow("6f5f0c2e-0c7c-4f0e-9df5-5b6dfb0a6a10", "RESOURCE", "MongoDB::Atlas::Cluster", 5, types.RegistrationStatusInProgress, "DEPLOY_STAGE", ""),
		registrationRow("51f3a5a3-54f3-4ab2-8f3f-8d6c0a2a2f3d", "RESOURCE", "Acme::Queue::Thing", 1, types.RegistrationStatusFailed, "VALIDATION_STAGE",
			"The package does not hold a valid schema:\nthing.zip!/schema.json:12:3: primaryIdentifier names /properties/Arn, which the schema does not define [schema/path]"),
		registrationRow("3a2b1c0d-54f3-4ab2-8f3f-8d6c0a2a2f3d", "RESOURCE", "MongoDB::Atlas::Cluster", 4, types.RegistrationStatusComplete, "DEPLOY_STAGE", ""))
	e.insert("type_configurations", row{
		"account": home.Account, "region": home.Region, "type_arn": "arn:aws:cloudformation:us-east-1:000000000000:type/resource/MongoDB-Atlas-Cluster", "alias": "default", "updated_at": store.At(then),
		"configuration": `{"ApiKeys":{"PublicKey":"pk-geheim","PrivateKey":"{{resolve:secretsmanager:atlas:SecretString:key}}","Retries":3},"Regions":["eu-geheim-1"],"Debug":true}`,
	})
}

const publisher = "c830e97710da0c9954d80ba8df021e5439e7134b"

// public writes two public types, and the activation of one under another name.
func (e *engines) public() {
	for _, name := range []string{"Example::Mail::List", "Example::Chat::Room"} {
		e.insert("publications", row{
			"id": name + "-1.2.0", "region": home.Region, "kind": "RESOURCE", "publisher_id": publisher, "type_name": name, "number": 1, "major": 1, "minor": 2, "latest": true,
			"source_id": name, "account": "222222222222", "version": 1, "schema": `{"typeName":"` + name + `","properties":{"Name":{"type":"string"}}}`,
			"description": "People who talk.", "provisioning_type": types.ProvisioningTypeFullyMutable, "created_at": store.At(then),
		})
	}
	e.insert("activations", row{
		"account": home.Account, "region": home.Region, "kind": "RESOURCE", "type_name": "Acme::Mail::List", "publisher_id": publisher, "original_type_name": "Example::Mail::List",
		"publication_id": "Example::Mail::List-1.2.0", "auto_update": true, "created_at": store.At(then.Add(-30 * time.Hour)), "updated_at": store.At(then), "row_version": 1,
	})
}

// tested writes runs of contract tests.
func (e *engines) tested() {
	report, err := os.ReadFile("../../proving/contract/testdata/report.json.golden") // what contract.WriteJSON writes
	if err != nil {
		e.t.Fatal(err)
	}
	run := func(id string, version int, started, ended time.Time, more row) row {
		out := row{
			"id": id, "account": home.Account, "region": home.Region, "kind": schema.Resource, "type_name": "MongoDB::Atlas::Cluster", "version": version, "status": "", "description": "",
			"passed": 0, "failed": 0, "skipped": 0, "report_hash": "", "notes": "", "started_at": store.At(started), "ended_at": store.At(ended), "row_version": 1,
		}
		maps.Copy(out, more)
		return out
	}
	e.insert("test_runs",
		run("run-3", 3, then, time.Time{}, row{
			"status": types.TypeTestsStatusInProgress, "notes": noteOf(registry.TestProgress{Test: "handler_update.py::contract_update_read", Number: 7, Total: 15, Shrinking: true}),
		}),
		run("run-2", 3, then.Add(-time.Hour), then, row{"status": types.TypeTestsStatusFailed, "description": "2 of 7 contract tests failed.", "passed": 3, "failed": 2, "skipped": 2, "report_hash": e.blob(string(report))}),
		run("run-1", 2, then.Add(-3*time.Hour), then.Add(-2*time.Hour), row{"status": types.TypeTestsStatusPassed, "description": "All contract tests passed.", "passed": 41, "skipped": 3}))
}

// noteOf is how a run notes its progress.
func noteOf(progress registry.TestProgress) string {
	return asJSON(map[string]any{"Progress": progress})
}

// asJSON is a value in a column.
func asJSON(value any) string { return store.JSONOf(value).Text() }

// blob stores a blob, and returns its hash.
func (e *engines) blob(text string) string {
	e.t.Helper()
	blob, err := e.store.Blobs().Put(e.t.Context(), strings.NewReader(text), int64(len(text)))
	if err != nil {
		e.t.Fatal(err)
	}
	return blob.Hash
}

// caller acts for home.
var caller = awswire.Caller{Place: home, AccessKeyID: "AKIDEXAMPLE", RequestID: "r"}

// version is the default version of the cluster.
func (e *engines) version() string {
	e.t.Helper()
	all, err := e.registry.TypeVersions(e.t.Context(), caller, schema.Resource, "MongoDB::Atlas::Cluster")
	if err != nil {
		e.t.Fatal(err)
	}
	for _, v := range all {
		if v.Default {
			return v.ID
		}
	}
	return ""
}

// setVersion makes a version of a type the default one, which notifies those who follow the registry.
func (e *engines) setVersion(caller awswire.Caller, typeName, version string) {
	e.t.Helper()
	_, err := e.registry.SetTypeDefaultVersion(e.t.Context(), caller, &cloudformation.SetTypeDefaultVersionInput{Type: types.RegistryTypeResource, TypeName: &typeName, VersionId: &version})
	if err != nil {
		e.t.Fatal(err)
	}
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

const hookSchema = `{"typeName":"Acme::Security::Encryption","description":"Every bucket has to be encrypted.","typeConfiguration":{"properties":{"MinKeyLength":{"type":"integer","minimum":128,"description":"Bits."},"Exempt":{"type":"array","items":{"type":"string"},"uniqueItems":true}},"additionalProperties":false},"handlers":{"preCreate":{"targetNames":["AWS::S3::Bucket"],"permissions":[]},"preUpdate":{"targetNames":["AWS::S3::Bucket"],"permissions":["s3:GetBucketEncryption"]}},"additionalProperties":false}`

// newConsole is a console over engines, which ends with the test.
func newConsole(t testing.TB, e *engines, changes ...func(*Config)) *Console {
	t.Helper()
	config := Config{
		TimeScale: 4, Registry: e.registry, Stacks: e.stacks, Refactors: e.refactors, Logs: e.logs, Calls: e.calls, Requests: e.requests, Hooks: e.hooks, StackSets: e.sets,
		Version: "0.6.0", Warning: "handlers run <without> a sandbox", Now: now, Poll: 20 * time.Millisecond,
		Places: func(context.Context) ([]awswire.Place, error) {
			return []awswire.Place{{Account: "000000000000", Region: "eu-central-1"}, {Account: "123456789012", Region: "us-east-1"}}, nil
		},
	}
	for _, change := range changes {
		change(&config)
	}
	c := New(config)
	t.Cleanup(c.Close)
	return c
}
