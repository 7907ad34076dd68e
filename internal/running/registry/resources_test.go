package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

type object = map[string]any

// A desk is the registry's resource types over a registry whose workers run.
type desk struct {
	*rig
	types *builtin.Types
	token int
}

func newDesk(t *testing.T, place fixtures.Place) *desk {
	g := newRig(t, place)
	all, err := builtin.New(builtin.Config{Published: g.Published, PublisherOf: g.PublisherOf, Tables: []*awswire.Table{{
		Service: "cloudformation", Protocol: awswire.Query,
		Operations: []awswire.Operation{
			awswire.Op("ActivateType", g.ActivateType), awswire.Op("BatchDescribeTypeConfigurations", g.BatchDescribeTypeConfigurations),
			awswire.Op("DeactivateType", g.DeactivateType), awswire.Op("DeregisterType", g.DeregisterType), awswire.Op("DescribePublisher", g.DescribePublisher),
			awswire.Op("DescribeType", g.DescribeType), awswire.Op("DescribeTypeRegistration", g.DescribeTypeRegistration),
			awswire.Op("ListTypeRegistrations", g.ListTypeRegistrations), awswire.Op("ListTypeVersions", g.ListTypeVersions), awswire.Op("ListTypes", g.ListTypes),
			awswire.Op("PublishType", g.PublishType), awswire.Op("RegisterPublisher", g.RegisterPublisher), awswire.Op("RegisterType", g.RegisterType),
			awswire.Op("SetTypeConfiguration", g.SetTypeConfiguration), awswire.Op("SetTypeDefaultVersion", g.SetTypeDefaultVersion), awswire.Op("TestType", g.TestType),
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{rig: g, types: all}
}

const prefix = "AWS::CloudFormation::"

// call makes one call of an operation.
func (d *desk) call(request operation.Request) operation.Progress {
	d.t.Helper()
	request.Type = prefix + request.Type
	request.Caller = owner
	typ, err := d.types.Type(d.t.Context(), owner, request.Type, "")
	if err != nil {
		d.t.Fatal(err)
	}
	progress, err := typ.Provider.Call(d.t.Context(), request)
	if err != nil {
		d.t.Fatal(err)
	}
	return progress
}

// run makes the calls of an operation until it ends, each twice, as if the process had died
// before the first answer was written down.
func (d *desk) run(action invoke.Action, typ, identifier string, desired object) operation.Progress {
	d.t.Helper()
	d.token++
	request := operation.Request{Action: action, Type: typ, Identifier: identifier, Desired: desired, Token: fmt.Sprintf("token-%d", d.token)}
	var end operation.Progress
	fixtures.Await(d.t, fmt.Sprintf("the end of %s %s", action, typ), func() bool {
		first := d.call(request)
		end = d.call(request)
		if first.Terminal() {
			if first.Status == types.OperationStatusSuccess && (end.Status != first.Status || end.Identifier != first.Identifier) {
				d.t.Fatalf("%s %s: the same call again: %+v; before: %+v", action, typ, end, first)
			}
			end = first
		}
		request.Callback = end.Callback
		if request.Identifier == "" {
			request.Identifier = end.Identifier
		}
		return end.Terminal()
	})
	return end
}

func (d *desk) must(action invoke.Action, typ, identifier string, desired object) operation.Progress {
	d.t.Helper()
	p := d.run(action, typ, identifier, desired)
	if p.Status != types.OperationStatusSuccess {
		d.t.Fatalf("%s %s %s: %s: %s", action, typ, identifier, p.ErrorCode, p.Message)
	}
	if action != invoke.Delete {
		parsed, err := d.types.Type(d.t.Context(), owner, prefix+typ, "")
		if err != nil {
			d.t.Fatal(err)
		}
		if violations := parsed.Schema.Check(p.Model, schema.CheckConfig{Shape: true}); len(violations) > 0 {
			d.t.Errorf("%s %s: the model breaks the schema: %v", action, typ, violations)
		}
		if id := operation.IdentifierOf(parsed.Schema, p.Model); id != p.Identifier {
			d.t.Errorf("%s %s: the model of %s has the identifier %s", action, typ, p.Identifier, id)
		}
	}
	return p
}

func (d *desk) gone(typ, identifier string) {
	d.t.Helper()
	if p := d.run(invoke.Read, typ, identifier, nil); p.ErrorCode != "NotFound" {
		d.t.Errorf("%s %s still exists: %+v", typ, identifier, p)
	}
}

func (d *desk) expect(want object, got operation.Progress) {
	d.t.Helper()
	if diff := cmp.Diff(want, got.Model); diff != "" {
		d.t.Errorf("model (-want +got):\n%s", diff)
	}
}

// listed are the identifiers that the list handler tells.
func (d *desk) listed(typ string, model object) []string {
	d.t.Helper()
	all := []string{}
	request := operation.ListRequest{Caller: owner, Type: prefix + typ, Model: model}
	for {
		page, err := d.types.ListResources(d.t.Context(), request)
		if err != nil || page.ErrorCode != "" {
			d.t.Fatalf("list %s: %+v, %v", typ, page, err)
		}
		for _, one := range page.Resources {
			all = append(all, one.Identifier)
		}
		if request.NextToken = page.NextToken; request.NextToken == "" {
			slices.Sort(all)
			return all
		}
	}
}

func (d *desk) expectListed(typ string, model object, want ...string) {
	d.t.Helper()
	if got := d.listed(typ, model); !slices.Equal(got, want) {
		d.t.Errorf("%s: listed %q, want %q", typ, got, want)
	}
}

// eachDesk runs a test on every kind of database, with the workers running.
func eachDesk(t *testing.T, test func(d *desk)) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, place)
			d.work()
			test(d)
		})
	}
}

func TestVersionsAreResources(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(d *desk) {
		t := d.t
		const name = "Acme::Web::Site"
		d.packages.put("s3://packages/one.zip", resourcePackage(t, name, nil))
		d.packages.put("s3://packages/two.zip", resourcePackage(t, name, func(s map[string]any) { s["description"] = "Changed." }))
		arn := func(n int) string { return versionARN("resource", name, n) }
		typeARN := strings.TrimSuffix(arn(1), "/00000001")

		one := d.must(invoke.Create, "ResourceVersion", "", object{
			"TypeName": name, "SchemaHandlerPackage": "s3://packages/one.zip", "ExecutionRoleArn": "arn:aws:iam::123456789012:role/site",
			"LoggingConfig": object{"LogGroupName": "/site", "LogRoleArn": "arn:aws:iam::123456789012:role/logs"},
		})
		d.expect(object{
			"Arn": arn(1), "TypeArn": typeARN, "TypeName": name, "VersionId": "00000001", "IsDefaultVersion": true, "Visibility": "PRIVATE",
			"ProvisioningType": "FULLY_MUTABLE", "ExecutionRoleArn": "arn:aws:iam::123456789012:role/site",
			"LoggingConfig": object{"LogGroupName": "/site", "LogRoleArn": "arn:aws:iam::123456789012:role/logs"},
		}, one)
		two := d.must(invoke.Create, "ResourceVersion", "", object{"TypeName": name, "SchemaHandlerPackage": "s3://packages/two.zip"})
		if two.Identifier != arn(2) || two.Model["IsDefaultVersion"] != false {
			t.Errorf("the second version: %+v", two)
		}
		d.expectListed("ResourceVersion", nil, arn(1), arn(2))
		d.expectListed("ResourceVersion", object{"TypeName": name}, arn(1), arn(2))
		d.expectListed("ResourceVersion", object{"TypeArn": typeARN}, arn(1), arn(2))
		d.expectListed("HookVersion", nil)

		first := d.must(invoke.Create, "ResourceDefaultVersion", "", object{"TypeName": name, "VersionId": "00000001"})
		d.expect(object{"Arn": typeARN, "TypeVersionArn": arn(1), "VersionId": "00000001", "TypeName": name}, first)
		second := d.must(invoke.Update, "ResourceDefaultVersion", typeARN, object{"TypeVersionArn": arn(2)})
		d.expect(object{"Arn": typeARN, "TypeVersionArn": arn(2), "VersionId": "00000002", "TypeName": name}, second)
		d.expectListed("ResourceDefaultVersion", nil, typeARN)

		if p := d.run(invoke.Delete, "ResourceVersion", arn(2), nil); p.ErrorCode != "GeneralServiceException" || !strings.HasPrefix(p.Message, "This type has more than one active version.") {
			t.Errorf("deletion of the default version of several: %+v", p)
		}
		d.must(invoke.Delete, "ResourceVersion", arn(1), nil)
		d.gone("ResourceVersion", arn(1))
		d.must(invoke.Delete, "ResourceDefaultVersion", typeARN, nil)
		if out, err := d.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Arn: &typeARN}); err != nil || *out.DefaultVersionId != "00000002" {
			t.Errorf("the default version after the deletion of the resource that set it: %+v, %v", out, err)
		}
		d.must(invoke.Delete, "ResourceVersion", arn(2), nil)
		d.gone("ResourceVersion", arn(2))
		d.gone("ResourceDefaultVersion", typeARN)
		if p := d.run(invoke.Delete, "ResourceVersion", arn(2), nil); p.ErrorCode != "NotFound" {
			t.Errorf("deletion of what is gone: %+v", p)
		}
		d.expectListed("ResourceVersion", nil)
	})
}

func TestModulesAndHooksAreResources(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(d *desk) {
		t := d.t
		const name = "Acme::Web::Part::MODULE"
		d.packages.put("s3://packages/part.zip", modulePackage(t, name))
		arn := func(n int) string { return versionARN("module", name, n) }
		for n := 1; n <= 2; n++ {
			p := d.must(invoke.Create, "ModuleVersion", "", object{"ModuleName": name, "ModulePackage": "s3://packages/part.zip"})
			if created, _ := p.Model["TimeCreated"].(string); len(created) != len("2006-01-02T15:04:05.000Z") {
				t.Errorf("TimeCreated %q", created)
			}
			delete(p.Model, "TimeCreated")
			if text, _ := p.Model["Schema"].(string); !json.Valid([]byte(text)) {
				t.Errorf("Schema %q", text)
			}
			delete(p.Model, "Schema")
			d.expect(object{
				"Arn": arn(n), "ModuleName": name, "VersionId": fmt.Sprintf("%08d", n), "IsDefaultVersion": n == 1, "Visibility": "PRIVATE",
				"Description": "Schema for Module Fragment of type " + name, "DocumentationUrl": "",
			}, p)
		}
		d.expect(object{"Arn": arn(2)}, d.must(invoke.Create, "ModuleDefaultVersion", "", object{"Arn": arn(2)}))
		d.expectListed("ModuleDefaultVersion", nil, arn(2))
		d.expect(object{"Arn": arn(1)}, d.must(invoke.Create, "ModuleDefaultVersion", "", object{"ModuleName": name, "VersionId": "00000001"}))
		d.gone("ModuleDefaultVersion", arn(2))
		d.must(invoke.Delete, "ModuleDefaultVersion", arn(1), nil)
		d.must(invoke.Delete, "ModuleVersion", arn(2), nil)
		d.must(invoke.Delete, "ModuleVersion", arn(1), nil)
		d.gone("ModuleVersion", arn(1))

		const hook = "LocalStack::Testing::DeployableHook"
		d.packages.put("s3://packages/hook.zip", extension(t, "localstack-testing-deployablehook"))
		hookARN := versionARN("hook", hook, 1)
		typeARN := strings.TrimSuffix(hookARN, "/00000001")
		version := d.must(invoke.Create, "HookVersion", "", object{"TypeName": hook, "SchemaHandlerPackage": "s3://packages/hook.zip"})
		d.expect(object{"Arn": hookARN, "TypeArn": typeARN, "TypeName": hook, "VersionId": "00000001", "IsDefaultVersion": true, "Visibility": "PRIVATE"}, version)
		d.must(invoke.Create, "HookDefaultVersion", "", object{"TypeVersionArn": hookARN})
		d.expectListed("HookVersion", nil, hookARN)
		d.expectListed("HookDefaultVersion", nil, typeARN)
		d.expectListed("HookTypeConfig", nil)

		configuration := func(targets string) string {
			return `{"CloudFormationConfiguration":{"HookConfiguration":{"FailureMode":"FAIL","Properties":{},"TargetStacks":"` + targets + `"}}}`
		}
		configurationARN := strings.Replace(typeARN, ":type/", ":type-configuration/", 1) + "/default"
		d.gone("HookTypeConfig", configurationARN)
		set := d.must(invoke.Create, "HookTypeConfig", "", object{"TypeName": hook, "Configuration": configuration("NONE")})
		want := object{"ConfigurationArn": configurationARN, "TypeArn": typeARN, "TypeName": hook, "ConfigurationAlias": "default", "Configuration": configuration("NONE")}
		d.expect(want, set)
		want["Configuration"] = configuration("ALL")
		d.expect(want, d.must(invoke.Update, "HookTypeConfig", configurationARN, object{"TypeArn": typeARN, "Configuration": configuration("ALL")}))
		d.expectListed("HookTypeConfig", nil, configurationARN)
		d.expectListed("HookTypeConfig", object{"TypeName": hook}, configurationARN)
		d.must(invoke.Delete, "HookTypeConfig", configurationARN, nil)
		want["Configuration"] = configuration("NONE")
		d.expect(want, d.must(invoke.Read, "HookTypeConfig", configurationARN, nil))

		d.must(invoke.Delete, "HookVersion", hookARN, nil)
		d.gone("HookTypeConfig", configurationARN)
	})
}

func TestPublishingIsAResource(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(d *desk) {
		t := d.t
		const name = "Acme::Web::Part::MODULE"
		private := d.module(owner, name)
		notPublished := d.run(invoke.Create, "PublicTypeVersion", "", object{"Type": "MODULE", "TypeName": name})
		if notPublished.ErrorCode != "GeneralServiceException" || !strings.HasPrefix(notPublished.Message, "This account is not registered as a publisher.") {
			t.Errorf("published without a publisher: %+v", notPublished)
		}
		d.expectListed("Publisher", nil)
		publisher := d.must(invoke.Create, "Publisher", "", object{"AcceptTermsAndConditions": true, "ConnectionArn": "arn:aws:codestar-connections:eu-west-1:123456789012:connection/1"})
		id := publisherID(owner.Account)
		d.expect(object{
			"PublisherId": id, "AcceptTermsAndConditions": true, "IdentityProvider": "GitHub", "PublisherStatus": "VERIFIED",
			"ConnectionArn": "arn:aws:codestar-connections:eu-west-1:123456789012:connection/1",
		}, publisher)
		d.expect(publisher.Model, d.must(invoke.Create, "Publisher", "", object{"AcceptTermsAndConditions": true})) // idempotent
		d.expectListed("Publisher", nil, id)
		d.gone("Publisher", publisherID("999999999999"))

		d.expectListed("PublicTypeVersion", nil)
		public := "arn:aws:cloudformation:eu-west-1::type/module/" + id + "/Acme-Web-Part-MODULE"
		first := d.must(invoke.Create, "PublicTypeVersion", "", object{"Type": "MODULE", "TypeName": name})
		want := object{"PublicTypeArn": public, "PublisherId": id, "Type": "MODULE", "TypeName": name, "PublicVersionNumber": "1.0.0", "TypeVersionArn": private}
		d.expect(want, first)
		d.expect(want, d.must(invoke.Create, "PublicTypeVersion", "", object{"Arn": private})) // taken over
		if p := d.run(invoke.Create, "PublicTypeVersion", "", object{"Arn": private, "PublicVersionNumber": "3.0.0"}); p.ErrorCode != "GeneralServiceException" || !strings.Contains(p.Message, "already published as public version 1.0.0") {
			t.Errorf("published under another number: %+v", p)
		}
		next := d.module(owner, name)
		want["PublicVersionNumber"], want["TypeVersionArn"] = "2.1.0", next
		d.expect(want, d.must(invoke.Create, "PublicTypeVersion", "", object{"Arn": next, "PublicVersionNumber": "2.1.0"}))
		d.expectListed("PublicTypeVersion", nil, public)
		d.must(invoke.Delete, "PublicTypeVersion", public, nil)
		d.must(invoke.Delete, "Publisher", id, nil)
		d.expect(want, d.must(invoke.Read, "PublicTypeVersion", public, nil)) // what is published stays
		d.gone("PublicTypeVersion", strings.Replace(public, id, publisherID("999999999999"), 1))

		const alias = "Mine::Web::Part::MODULE"
		arn := "arn:aws:cloudformation:eu-west-1:123456789012:type/module/Mine-Web-Part-MODULE"
		active := d.must(invoke.Create, "TypeActivation", "", object{"PublicTypeArn": public, "TypeNameAlias": alias, "MajorVersion": "1", "AutoUpdate": false})
		d.expect(object{"Arn": arn, "PublicTypeArn": public, "PublisherId": id, "TypeName": name, "TypeNameAlias": alias}, active)
		at := func(want string) {
			t.Helper()
			out, err := d.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Arn: &arn})
			if err != nil || aws.ToString(out.PublicVersionNumber) != want {
				t.Errorf("the activated version: %+v, %v; want %s", out, err, want)
			}
		}
		at("1.0.0")
		d.must(invoke.Update, "TypeActivation", arn, object{"Type": "MODULE", "TypeName": name, "PublisherId": id, "TypeNameAlias": alias, "VersionBump": "MAJOR"})
		at("2.1.0")
		d.expectListed("TypeActivation", nil, arn)
		d.gone("ModuleVersion", arn+"/00000001")
		d.must(invoke.Delete, "TypeActivation", arn, nil)
		d.gone("TypeActivation", arn)
		if p := d.run(invoke.Delete, "TypeActivation", arn, nil); p.ErrorCode != "NotFound" {
			t.Errorf("deletion of what is not activated: %+v", p)
		}
	})
}

// TestRegistrationByResource: what a registration says of a package is what the resource says,
// and a create that was canceled leaves nothing behind.
func TestRegistrationByResource(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(d *desk) {
		t := d.t
		const name = "Acme::Web::Site"
		p := d.run(invoke.Create, "ResourceVersion", "", object{"TypeName": name, "SchemaHandlerPackage": "s3://packages/none.zip"})
		want := "Resource of type 'AWS::CloudFormation::ResourceVersion' with identifier '" + versionARN("resource", name, 1) + "' did not stabilize. " +
			"Deployment is currently in FETCH_STAGE of status FAILED; The package s3://packages/none.zip cannot be read: The specified key does not exist. (NoSuchKey)"
		if p.ErrorCode != "NotStabilized" || p.Message != want {
			t.Errorf("a package that does not exist:\n%s: %s\nwant\n%s", p.ErrorCode, p.Message, want)
		}

		d.packages.put("s3://packages/one.zip", resourcePackage(t, name, nil))
		release := make(chan struct{})
		d.probe = func(ctx context.Context, _ bundle.Spec) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		begun := d.call(operation.Request{Action: invoke.Create, Type: "ResourceVersion", Token: "canceled", Desired: object{"TypeName": name, "SchemaHandlerPackage": "s3://packages/one.zip"}})
		arn := versionARN("resource", name, 2)
		if begun.Status != types.OperationStatusInProgress || begun.Identifier != arn {
			t.Fatalf("a registration in progress: %+v", begun)
		}
		deletion := operation.Request{Action: invoke.Delete, Type: "ResourceVersion", Token: "delete", Identifier: arn}
		waiting := d.call(deletion)
		if waiting.Status != types.OperationStatusInProgress {
			t.Fatalf("deletion of what is being registered: %+v", waiting)
		}
		close(release)
		fixtures.Await(t, "the end of the deletion", func() bool {
			deletion.Callback = waiting.Callback
			waiting = d.call(deletion)
			return waiting.Status != types.OperationStatusInProgress
		})
		if waiting.Status != types.OperationStatusSuccess {
			t.Errorf("deletion of what was being registered: %+v", waiting)
		}
		d.gone("ResourceVersion", arn)
		out, err := d.ListTypeRegistrations(t.Context(), owner, &cloudformation.ListTypeRegistrationsInput{RegistrationStatusFilter: types.RegistrationStatusComplete})
		if err != nil || len(out.RegistrationTokenList) != 1 {
			t.Errorf("%d registrations, %v", len(out.RegistrationTokenList), err)
		}
	})
}

// TestResourceRefusals: the failures of the types, by code and text.
func TestResourceRefusals(t *testing.T) {
	d := newDesk(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	d.work()
	module := d.module(owner, "Acme::Web::Part::MODULE")
	moduleARN := strings.TrimSuffix(module, "/00000001")
	for name, test := range map[string]struct {
		action     invoke.Action
		typ        string
		identifier string
		desired    object
		code, text string
	}{
		"no package":            {invoke.Create, "ResourceVersion", "", object{"TypeName": "Acme::Web::Site"}, "InvalidRequest", "Property validation failure: [The property {/SchemaHandlerPackage} is required]"},
		"unknown property":      {invoke.Create, "HookVersion", "", object{"TypeName": "Acme::Web::Site", "SchemaHandlerPackage": "s3://b/k", "Color": "red"}, "InvalidRequest", "Property validation failure: [Encountered unsupported properties in {}: [Color]]"},
		"no URL":                {invoke.Create, "ModuleVersion", "", object{"ModuleName": "Acme::Web::Part::MODULE", "ModulePackage": "part.zip"}, "GeneralServiceException", "SchemaHandlerPackage must be the URL of a zip file in S3, as in s3://bucket/key."},
		"reserved name":         {invoke.Create, "ResourceVersion", "", object{"TypeName": "Custom::Web::Site", "SchemaHandlerPackage": "s3://b/k"}, "GeneralServiceException", "The type 'Custom::Web::Site' cannot be registered: the namespace 'Custom' is reserved."},
		"no such type":          {invoke.Create, "ResourceDefaultVersion", "", object{"TypeName": "Acme::Web::Site", "VersionId": "00000001"}, "NotFound", "The type 'Acme::Web::Site' cannot be found."},
		"no such version":       {invoke.Create, "ModuleDefaultVersion", "", object{"Arn": moduleARN + "/00000009"}, "NotFound", "Version '00000009' of the MODULE type 'Acme::Web::Part::MODULE' cannot be found."},
		"neither ARN nor name":  {invoke.Create, "HookDefaultVersion", "", object{"VersionId": "00000001"}, "InvalidRequest", "Property validation failure: ["},
		"no such hook":          {invoke.Create, "HookTypeConfig", "", object{"TypeName": "Acme::Web::Hook", "Configuration": "{}"}, "NotFound", "The type 'Acme::Web::Hook' cannot be found."},
		"terms":                 {invoke.Create, "Publisher", "", object{"AcceptTermsAndConditions": false}, "GeneralServiceException", "You must accept the terms and conditions"},
		"nothing to publish":    {invoke.Create, "PublicTypeVersion", "", object{"Type": "RESOURCE", "TypeName": "Acme::Web::Site"}, "NotFound", "The type 'Acme::Web::Site' cannot be found."},
		"nothing to activate":   {invoke.Create, "TypeActivation", "", object{"Type": "RESOURCE", "TypeName": "Acme::Web::Site", "PublisherId": publisherID("1")}, "NotFound", "The type 'Acme::Web::Site' cannot be found."},
		"major version":         {invoke.Create, "TypeActivation", "", object{"Type": "RESOURCE", "TypeName": "Acme::Web::Site", "PublisherId": publisherID("1"), "MajorVersion": "two"}, "InvalidRequest", "MajorVersion 'two' is not a number."},
		"another type":          {invoke.Update, "ResourceDefaultVersion", versionARN("resource", "Acme::Web::Site", 1)[:len(versionARN("resource", "Acme::Web::Site", 1))-9], object{"TypeName": "Acme::Web::Other", "VersionId": "00000001"}, "NotUpdatable", "TypeVersionArn and TypeName of AWS::CloudFormation::ResourceDefaultVersion cannot name another extension in an update."},
		"another activation":    {invoke.Update, "TypeActivation", "arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Web-Site", object{"Type": "RESOURCE", "TypeName": "Acme::Web::Site", "PublisherId": publisherID("1"), "TypeNameAlias": "Acme::Web::Other"}, "NotUpdatable", "PublicTypeArn, Type, TypeName and TypeNameAlias of AWS::CloudFormation::TypeActivation cannot name another extension"},
		"another hook":          {invoke.Update, "HookTypeConfig", "arn:aws:cloudformation:eu-west-1:123456789012:type-configuration/hook/Acme-Web-Hook/default", object{"TypeName": "Acme::Web::Other", "Configuration": "{}"}, "NotUpdatable", "TypeArn and TypeName of AWS::CloudFormation::HookTypeConfig cannot name another extension"},
		"version of other kind": {invoke.Read, "ResourceVersion", module, nil, "NotFound", "Resource of type 'AWS::CloudFormation::ResourceVersion' with identifier '" + module + "' was not found."},
		"type as a version":     {invoke.Read, "ModuleVersion", moduleARN, nil, "NotFound", "was not found."},
		"not an ARN":            {invoke.Read, "ModuleVersion", "part", nil, "NotFound", "was not found."},
		"ARN of others":         {invoke.Read, "ModuleVersion", strings.Replace(module, "123456789012", "999999999999", 1), nil, "NotFound", "was not found."},
		"not a configuration":   {invoke.Delete, "HookTypeConfig", module, nil, "NotFound", "was not found."},
		"a list":                {invoke.List, "ModuleVersion", "", nil, "InvalidRequest", "LIST is not an action of a resource."},
	} {
		t.Run(name, func(t *testing.T) {
			p := d.run(test.action, test.typ, test.identifier, test.desired)
			if p.Status != types.OperationStatusFailed || p.ErrorCode != test.code || !strings.Contains(p.Message, test.text) {
				t.Errorf("got %s: %s\nwant %s: %s", p.ErrorCode, p.Message, test.code, test.text)
			}
		})
	}
	page, err := d.types.ListResources(t.Context(), operation.ListRequest{Caller: owner, Type: prefix + "ResourceVersion", NextToken: "x"})
	if err != nil || page.ErrorCode != "InvalidRequest" || page.Message != "NextToken is invalid." {
		t.Errorf("a token that no page had: %+v, %v", page, err)
	}
	page, err = d.types.ListResources(t.Context(), operation.ListRequest{Caller: owner, Type: prefix + "ResourceVersion", Model: object{"TypeArn": moduleARN}})
	if err != nil || page.ErrorCode != "InvalidRequest" {
		t.Errorf("the ARN of another kind: %+v, %v", page, err)
	}
}
