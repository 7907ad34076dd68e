package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// fill writes types as registrations leave them: n resource types "Acme::Fill::T00000" and
// so on, every tenth immutable, every hundredth deregistered.
func (g *rig) fill(caller awswire.Caller, n int, schemaText string) {
	g.t.Helper()
	now := store.At(time.Now())
	typ := make([]typeRow, n)
	versions := make([]versionRow, n)
	one := int64(1)
	for i := range n {
		typ[i] = typeRow{
			ID: fmt.Sprintf("%s-%s-t%d", caller.Account, caller.Region, i), Account: caller.Account, Region: caller.Region, Kind: "RESOURCE", TypeName: fmt.Sprintf("Acme::Fill::T%05d", i),
			DefaultVersion: &one, NextVersion: 2, Deprecated: i%100 == 99, CreatedAt: now, UpdatedAt: now,
		}
		versions[i] = versionRow{
			ID: fmt.Sprintf("%s-%s-v%d", caller.Account, caller.Region, i), TypeID: typ[i].ID, Version: 1, Schema: schemaText, Description: "filled in",
			PackageHash: fmt.Sprintf("%064d", i), ProvisioningType: "FULLY_MUTABLE", Deprecated: i%100 == 99, TestStatus: "NOT_TESTED", CreatedAt: now, UpdatedAt: now,
		}
		if i%10 == 5 {
			versions[i].ProvisioningType = "IMMUTABLE"
		}
	}
	for at := 0; at < n; at += 500 {
		end := min(at+500, n)
		err := g.store.Write(g.t.Context(), func(ctx context.Context, tx *store.Tx) error {
			part, partVersions := typ[at:end], versions[at:end]
			if err := store.Insert(ctx, tx, store.Pointers(part)...); err != nil {
				return err
			}
			return store.Insert(ctx, tx, store.Pointers(partVersions)...)
		})
		if err != nil {
			g.t.Fatal(err)
		}
	}
}

// list pages through ListTypes.
func (g *rig) list(caller awswire.Caller, in cloudformation.ListTypesInput) []types.TypeSummary {
	g.t.Helper()
	size := int32(100)
	if in.MaxResults != nil {
		size = *in.MaxResults
	}
	var all []types.TypeSummary
	for {
		out, err := g.ListTypes(g.t.Context(), caller, &in)
		if err != nil {
			g.t.Fatal(err)
		}
		all = append(all, out.TypeSummaries...)
		if out.NextToken == nil {
			return all
		}
		if len(out.TypeSummaries) != int(size) {
			g.t.Fatalf("a page with another one behind it has %d results", len(out.TypeSummaries))
		}
		in.NextToken = out.NextToken
	}
}

func TestListTypes(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		g.fill(owner, 250, "{}")
		stranger := awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: owner.Region}}
		g.fill(stranger, 3, "{}")
		g.module(owner, "Acme::Fill::T00001::MODULE")
		g.packages.put("s3://b/h", extension(t, "localstack-testing-testhook"))
		g.register(owner, schema.Hook, "LocalStack::Testing::TestHook", "s3://b/h")

		for _, c := range []struct {
			what string
			in   cloudformation.ListTypesInput
			want int
		}{
			{"all", cloudformation.ListTypesInput{}, 250 - 2 - 25 + 2},
			{"by threes", cloudformation.ListTypesInput{MaxResults: aws.Int32(3)}, 250 - 2 - 25 + 2},
			{"immutable", cloudformation.ListTypesInput{ProvisioningType: types.ProvisioningTypeImmutable}, 25},
			{"not provisionable", cloudformation.ListTypesInput{ProvisioningType: types.ProvisioningTypeNonProvisionable}, 0},
			{"deprecated", cloudformation.ListTypesInput{DeprecatedStatus: types.DeprecatedStatusDeprecated}, 2},
			{"hooks", cloudformation.ListTypesInput{Type: types.RegistryTypeHook}, 1},
			{"modules", cloudformation.ListTypesInput{Type: types.RegistryTypeModule}, 1},
			{"prefix", cloudformation.ListTypesInput{Filters: &types.TypeFilters{TypeNamePrefix: aws.String("Acme::Fill::T0000")}}, 9 + 1},
			{"no such prefix", cloudformation.ListTypesInput{Filters: &types.TypeFilters{TypeNamePrefix: aws.String("acme::")}}, 0},
			{"no wildcard", cloudformation.ListTypesInput{Filters: &types.TypeFilters{TypeNamePrefix: aws.String("Acme%")}}, 0},
			{"registered", cloudformation.ListTypesInput{Filters: &types.TypeFilters{Category: types.CategoryRegistered}}, 225},
			{"third party", cloudformation.ListTypesInput{Filters: &types.TypeFilters{Category: types.CategoryThirdParty}}, 225},
			{"activated", cloudformation.ListTypesInput{Filters: &types.TypeFilters{Category: types.CategoryActivated}}, 0},
			{"of Amazon, private", cloudformation.ListTypesInput{Filters: &types.TypeFilters{Category: types.CategoryAwsTypes}}, 0},
			{"registered, public", cloudformation.ListTypesInput{Visibility: types.VisibilityPublic, Filters: &types.TypeFilters{Category: types.CategoryRegistered}}, 0},
			{"of a publisher", cloudformation.ListTypesInput{Filters: &types.TypeFilters{PublisherId: aws.String("0123456789ab")}}, 0},
		} {
			got := g.list(owner, c.in)
			if len(got) != c.want {
				t.Errorf("%s: %d types, want %d", c.what, len(got), c.want)
			}
			if !slices.IsSortedFunc(got, func(a, b types.TypeSummary) int { return compareKeys(keyOfSummary(a), keyOfSummary(b)) }) {
				t.Errorf("%s: not in order", c.what)
			}
		}
		if got := g.list(stranger, cloudformation.ListTypesInput{}); len(got) != 3 {
			t.Errorf("the other account has %d types", len(got))
		}
		got := g.list(owner, cloudformation.ListTypesInput{Type: types.RegistryTypeModule})[0]
		if got.LastUpdated == nil {
			t.Error("no time")
		}
		got.LastUpdated = nil
		want := types.TypeSummary{
			Type: "MODULE", TypeName: aws.String("Acme::Fill::T00001::MODULE"), DefaultVersionId: aws.String("00000001"),
			TypeArn:     aws.String("arn:aws:cloudformation:eu-west-1:123456789012:type/module/Acme-Fill-T00001-MODULE"),
			Description: aws.String("Schema for Module Fragment of type Acme::Fill::T00001::MODULE"),
		}
		if diff := cmp.Diff(described(t, want), described(t, got)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNextTokens(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	g.fill(owner, 5, "{}")
	first, err := g.ListTypes(t.Context(), owner, &cloudformation.ListTypesInput{MaxResults: aws.Int32(2)})
	if err != nil || first.NextToken == nil {
		t.Fatal(first, err)
	}
	stranger := awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: owner.Region}}
	for what, c := range map[string]struct {
		caller awswire.Caller
		in     cloudformation.ListTypesInput
	}{
		"another filter":  {owner, cloudformation.ListTypesInput{NextToken: first.NextToken, Type: types.RegistryTypeResource}},
		"another account": {stranger, cloudformation.ListTypesInput{NextToken: first.NextToken}},
		"no token":        {owner, cloudformation.ListTypesInput{NextToken: aws.String("no token")}},
		"no place":        {owner, cloudformation.ListTypesInput{NextToken: aws.String("W10")}},
		"cut":             {owner, cloudformation.ListTypesInput{NextToken: aws.String((*first.NextToken)[:10])}},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := g.ListTypes(t.Context(), c.caller, &c.in)
			refused(t, err, "CFNRegistryException", "NextToken is invalid")
		})
	}
	// A page of another size continues from the same place, also when what was there is gone.
	if _, err := g.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Type: "RESOURCE", TypeName: first.TypeSummaries[1].TypeName}); err != nil {
		t.Fatal(err)
	}
	rest, err := g.ListTypes(t.Context(), owner, &cloudformation.ListTypesInput{NextToken: first.NextToken, MaxResults: aws.Int32(50)})
	if err != nil || rest.NextToken != nil || len(rest.TypeSummaries) != 3 {
		t.Errorf("%+v, %v", rest, err)
	}
}

// TestForgedTokens: a token that fits the list and cannot be resolved is refused like any other,
// also where a database could not even be asked.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		g.module(owner, "Acme::Test::Part::MODULE")
		invalid := "NextToken is invalid"
		for _, keys := range [][]string{{"yesterday", "x"}, {time.Now().Format(time.RFC3339Nano), "a\x00b"}} {
			token := store.PageToken(keys, "ListTypeRegistrations", owner.Account, owner.Region, types.RegistrationStatusComplete, types.RegistryType(""), (*string)(nil), (*string)(nil))
			_, err := g.ListTypeRegistrations(t.Context(), owner, &cloudformation.ListTypeRegistrationsInput{NextToken: &token, RegistrationStatusFilter: types.RegistrationStatusComplete})
			refused(t, err, codeRegistry, invalid)
		}
		name := aws.String("Acme::Test::Part::MODULE")
		token := store.PageToken([]string{"first"}, "ListTypeVersions", owner.Account, owner.Region, (*string)(nil), types.RegistryTypeModule, name, (*string)(nil), types.DeprecatedStatus(""))
		_, err := g.ListTypeVersions(t.Context(), owner, &cloudformation.ListTypeVersionsInput{Type: types.RegistryTypeModule, TypeName: name, NextToken: &token})
		refused(t, err, codeRegistry, invalid)
		token = store.PageToken([]string{"\x00", "", ""}, "ListTypes", owner.Account, owner.Region, types.Visibility(""), types.ProvisioningType(""), types.DeprecatedStatus(""), types.RegistryType(""), types.Category(""), (*string)(nil), (*string)(nil))
		_, err = g.ListTypes(t.Context(), owner, &cloudformation.ListTypesInput{NextToken: &token})
		refused(t, err, codeRegistry, invalid)
	})
}

func TestListTypeRegistrations(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		start, ticks := time.Now(), atomic.Int64{}
		g.config.Now = func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * time.Millisecond) }
		var tokens []string
		for i := range 7 {
			tokens = append(tokens, g.request(owner, schema.Resource, fmt.Sprintf("Acme::Test::T%d", i%2), "s3://b/k"))
		}
		slices.Reverse(tokens)
		page := func(in cloudformation.ListTypeRegistrationsInput) []string {
			t.Helper()
			var all []string
			for {
				out, err := g.ListTypeRegistrations(t.Context(), owner, &in)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, out.RegistrationTokenList...)
				if in.NextToken = out.NextToken; in.NextToken == nil {
					return all
				}
			}
		}
		if diff := cmp.Diff(tokens, page(cloudformation.ListTypeRegistrationsInput{MaxResults: aws.Int32(2)})); diff != "" {
			t.Error(diff)
		}
		listed, err := g.Registrations(t.Context(), owner, RegistrationQuery{TypeName: "Acme::Test::T1", Limit: 2})
		if err != nil || len(listed) != 2 || listed[0].Token != tokens[1] || listed[0].Version != "00000003" || listed[0].Started.Before(listed[1].Started) || listed[0].Status != "IN_PROGRESS" {
			t.Errorf("%+v %v", listed, err)
		}
		arn := "arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Test-T1"
		for _, in := range []cloudformation.ListTypeRegistrationsInput{{TypeName: aws.String("Acme::Test::T1"), Type: "RESOURCE"}, {TypeArn: &arn}, {TypeName: aws.String("Acme::Test::T1")}} {
			if got := page(in); len(got) != 3 {
				t.Errorf("%d registrations of one type", len(got))
			}
		}
		if got := page(cloudformation.ListTypeRegistrationsInput{Type: "HOOK"}); len(got) != 0 {
			t.Errorf("%d registrations of hooks", len(got))
		}
		g.work()
		for _, token := range tokens {
			g.wait(owner, token)
		}
		if got := page(cloudformation.ListTypeRegistrationsInput{}); len(got) != 0 {
			t.Errorf("%d registrations run", len(got))
		}
		if diff := cmp.Diff(tokens, page(cloudformation.ListTypeRegistrationsInput{RegistrationStatusFilter: types.RegistrationStatusFailed})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestVersions follows a module through the recorded conversation about its versions.
func TestVersions(t *testing.T) {
	t.Parallel()
	const name = "LocalStack::Testing::TestModule::MODULE"
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		g.packages.put("s3://b/m", extension(t, "localstack-testing-testmodule-module"))
		list := func(status types.DeprecatedStatus) []string {
			t.Helper()
			var lines []string
			in := cloudformation.ListTypeVersionsInput{Type: "MODULE", TypeName: aws.String(name), DeprecatedStatus: status, MaxResults: aws.Int32(1)}
			for {
				out, err := g.ListTypeVersions(t.Context(), owner, &in)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range out.TypeVersionSummaries {
					lines = append(lines, fmt.Sprintf("%s %t", *v.VersionId, *v.IsDefaultVersion))
					if *v.Arn != versionARN("module", name, 0)[:len(*v.Arn)-8]+*v.VersionId || v.TimeCreated == nil || *v.Description == "" || v.Type != "MODULE" || *v.TypeName != name {
						t.Errorf("incomplete: %+v", v)
					}
				}
				if in.NextToken = out.NextToken; in.NextToken == nil {
					return lines
				}
			}
		}
		for range 2 {
			g.register(owner, schema.Module, name, "s3://b/m")
		}
		if diff := cmp.Diff([]string{"00000001 true", "00000002 false"}, list("")); diff != "" {
			t.Error(diff)
		}
		setDefault := func(version int) error {
			arn := versionARN("module", name, version)
			_, err := g.SetTypeDefaultVersion(t.Context(), owner, &cloudformation.SetTypeDefaultVersionInput{Arn: &arn})
			return err
		}
		if err := setDefault(2); err != nil {
			t.Fatal(err)
		}
		deregister := func(in cloudformation.DeregisterTypeInput) error {
			_, err := g.DeregisterType(t.Context(), owner, &in)
			return err
		}
		whole := cloudformation.DeregisterTypeInput{Type: "MODULE", TypeName: aws.String(name)}
		version := func(n int) cloudformation.DeregisterTypeInput {
			return cloudformation.DeregisterTypeInput{Arn: aws.String(versionARN("module", name, n))}
		}
		refused(t, deregister(whole), "CFNRegistryException",
			"This type has more than one active version. Please deregister non-default active versions before attempting to deregister the type.")
		malformed := strings.Replace(versionARN("module", name, 2), "/00000002", "99999999", 1)
		refused(t, deregister(cloudformation.DeregisterTypeInput{Arn: &malformed}), "CFNRegistryException", "TypeName is invalid")
		refused(t, deregister(version(9)), "TypeNotFoundException", "Version '00000009'")
		if err := deregister(version(1)); err != nil {
			t.Fatal(err)
		}
		refused(t, deregister(version(1)), "TypeNotFoundException", "Version '00000001'")
		refused(t, setDefault(1), "CFNRegistryException", "Version '00000001'")
		refused(t, setDefault(9), "TypeNotFoundException", "Version '00000009'")
		refused(t, deregister(version(2)), "CFNRegistryException",
			"Version '00000002' is the default version and cannot be deregistered. Deregister the resource type '"+name+"' instead.")
		if diff := cmp.Diff([]string{"00000002 true"}, list("")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"00000001 false"}, list(types.DeprecatedStatusDeprecated)); diff != "" {
			t.Error(diff)
		}
		if err := deregister(whole); err != nil {
			t.Fatal(err)
		}
		refused(t, deregister(whole), "TypeNotFoundException", "The type '"+name+"' cannot be found.")
		out, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: "MODULE", TypeName: aws.String(name)})
		if err != nil || out.DeprecatedStatus != types.DeprecatedStatusDeprecated {
			t.Errorf("after deregistration: %+v, %v", out, err)
		}
		if _, err := g.Resolve(t.Context(), owner, schema.Module, name, ""); err == nil {
			t.Error("a deregistered type can still be used")
		}
		// The next one is the default again, and no number comes back.
		if out := g.register(owner, schema.Module, name, "s3://b/m"); *out.TypeVersionArn != versionARN("module", name, 3) {
			t.Error(*out.TypeVersionArn)
		}
		if diff := cmp.Diff([]string{"00000003 true"}, list("")); diff != "" {
			t.Error(diff)
		}
		if v, err := g.Resolve(t.Context(), owner, schema.Module, name, ""); err != nil || v.VersionID != "00000003" {
			t.Errorf("%+v, %v", v, err)
		}
		_, err = g.Resolve(t.Context(), owner, schema.Module, name, "00000001")
		refused(t, err, "TypeNotFoundException", "Version '00000001'")
	})
}

// TestDefaultAgainstDeregister: of two requests at the same moment, one to make a version
// the default and one to deregister it, one is refused.
func TestDefaultAgainstDeregister(t *testing.T) {
	t.Parallel()
	const name = "Acme::Test::Part::MODULE"
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		g.module(owner, name)
		for range 10 {
			arn := g.module(owner, name)
			set, gone := make(chan error), make(chan error)
			go func() {
				_, err := g.SetTypeDefaultVersion(t.Context(), owner, &cloudformation.SetTypeDefaultVersionInput{Arn: &arn})
				set <- err
			}()
			go func() {
				_, err := g.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Arn: &arn})
				gone <- err
			}()
			if errSet, errGone := <-set, <-gone; (errSet == nil) == (errGone == nil) {
				t.Fatalf("set: %v, deregistered: %v", errSet, errGone)
			}
			out, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: "MODULE", TypeName: aws.String(name)})
			if err != nil || out.DeprecatedStatus != types.DeprecatedStatusLive || !*out.IsDefaultVersion {
				t.Fatalf("the default version is %+v, %v", out, err)
			}
		}
	})
}

func TestDescribeType(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		const name = "Acme::Test::Thing"
		g.packages.put("s3://b/k", resourcePackage(t, name, func(s map[string]any) {
			delete(s["handlers"].(map[string]any), "update")
			s["typeConfiguration"] = map[string]any{"properties": map[string]any{"Key": map[string]any{"type": "string"}}, "additionalProperties": false}
		}))
		out, err := g.RegisterType(t.Context(), owner, &cloudformation.RegisterTypeInput{
			TypeName: aws.String(name), SchemaHandlerPackage: aws.String("s3://b/k"), ExecutionRoleArn: aws.String("arn:aws:iam::123456789012:role/r"),
			LoggingConfig: &types.LoggingConfig{LogGroupName: aws.String("group"), LogRoleArn: aws.String("arn:aws:iam::123456789012:role/l")},
		})
		if err != nil {
			t.Fatal(err)
		}
		g.wait(owner, *out.RegistrationToken)
		d, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: "RESOURCE", TypeName: aws.String(name), VersionId: aws.String("00000001")})
		if err != nil {
			t.Fatal(err)
		}
		answered := described(t, d)
		delete(answered, "Schema")
		want := map[string]any{
			"Arn": versionARN("resource", name, 1), "DefaultVersionId": "00000001", "DeprecatedStatus": "LIVE", "Description": "A thing of the tests.",
			"ExecutionRoleArn": "arn:aws:iam::123456789012:role/r", "IsDefaultVersion": true, "LastUpdated": "datetime", "TimeCreated": "datetime",
			"LoggingConfig":    map[string]any{"LogGroupName": "group", "LogRoleArn": "arn:aws:iam::123456789012:role/l"},
			"ProvisioningType": "IMMUTABLE", "Type": "RESOURCE", "TypeName": name, "Visibility": "PRIVATE", "TypeTestsStatus": "NOT_TESTED",
			"ConfigurationSchema": map[string]any{
				"properties": map[string]any{"Key": map[string]any{"type": "string"}}, "additionalProperties": false,
				"definitions": map[string]any{}, "typeName": name,
			},
		}
		if diff := cmp.Diff(want, answered); diff != "" {
			t.Errorf("(-want +answered):\n%s", diff)
		}

		stranger := awswire.Caller{Place: awswire.Place{Account: "210987654321", Region: owner.Region}}
		arn := versionARN("resource", name, 1)
		for what, c := range map[string]struct {
			caller        awswire.Caller
			in            cloudformation.DescribeTypeInput
			code, message string
		}{
			"nothing":         {owner, cloudformation.DescribeTypeInput{}, "CFNRegistryException", "Either Arn, or Type and TypeName, must be specified."},
			"no kind":         {owner, cloudformation.DescribeTypeInput{TypeName: aws.String(name)}, "CFNRegistryException", "Either Arn"},
			"another kind":    {owner, cloudformation.DescribeTypeInput{TypeName: aws.String(name), Type: "HOOK"}, "TypeNotFoundException", "The type 'Acme::Test::Thing' cannot be found."},
			"another account": {stranger, cloudformation.DescribeTypeInput{Arn: &arn}, "TypeNotFoundException", "cannot be found"},
			"another region":  {awswire.Caller{Place: awswire.Place{Account: owner.Account, Region: "us-east-1"}}, cloudformation.DescribeTypeInput{Arn: &arn}, "TypeNotFoundException", "cannot be found"},
			"another version": {owner, cloudformation.DescribeTypeInput{TypeName: aws.String(name), Type: "RESOURCE", VersionId: aws.String("00000002")}, "TypeNotFoundException", "Version '00000002'"},
			"no version":      {owner, cloudformation.DescribeTypeInput{TypeName: aws.String(name), Type: "RESOURCE", VersionId: aws.String("latest")}, "TypeNotFoundException", "Version 'latest'"},
			"two versions":    {owner, cloudformation.DescribeTypeInput{Arn: &arn, VersionId: aws.String("00000002")}, "CFNRegistryException", "names another version"},
			"two names":       {owner, cloudformation.DescribeTypeInput{Arn: &arn, TypeName: aws.String("Acme::Test::Other")}, "CFNRegistryException", "another type than the ARN"},
			"no ARN":          {owner, cloudformation.DescribeTypeInput{Arn: aws.String("arn:aws:s3:::bucket")}, "CFNRegistryException", "TypeName is invalid"},
		} {
			t.Run(what, func(t *testing.T) {
				_, err := g.DescribeType(t.Context(), c.caller, &c.in)
				refused(t, err, c.code, c.message)
			})
		}
		_, err = g.ListTypeVersions(t.Context(), owner, &cloudformation.ListTypeVersionsInput{Type: "HOOK", TypeName: aws.String(name)})
		refused(t, err, "CFNRegistryException", "The type 'Acme::Test::Thing' cannot be found.")
	})
}

func TestARNs(t *testing.T) {
	for _, c := range []struct {
		region, want string
	}{
		{"eu-west-1", "arn:aws:cloudformation:eu-west-1:123456789012:type/module/A1-B2-C3-MODULE"},
		{"cn-north-1", "arn:aws-cn:cloudformation:cn-north-1:123456789012:type/module/A1-B2-C3-MODULE"},
		{"us-gov-west-1", "arn:aws-us-gov:cloudformation:us-gov-west-1:123456789012:type/module/A1-B2-C3-MODULE"},
		{"eusc-de-east-1", "arn:aws-eusc:cloudformation:eusc-de-east-1:123456789012:type/module/A1-B2-C3-MODULE"},
	} {
		caller := awswire.Caller{Place: awswire.Place{Account: owner.Account, Region: c.region}}
		arn := privateARN(caller, schema.Module, "A1::B2::C3::MODULE")
		if arn.String() != c.want {
			t.Error(arn)
		}
		for _, a := range []schema.TypeARN{arn, arn.WithVersion("00000012"), publicARN(caller, schema.Resource, "0123456789abcdef", "A1::B2::C3"), publicARN(caller, schema.Hook, "", "AWS::S3::Bucket").WithVersion("1.0.0")} {
			back, err := parseTypeARN(a.String())
			if err != nil || back != a {
				t.Errorf("%s came back as %+v, %v", a, back, err)
			}
		}
		back, alias, err := parseConfigurationARN(arn.Configuration("default"))
		if err != nil || back != arn || alias != "default" {
			t.Errorf("%+v %s %v", back, alias, err)
		}
	}
	_, err := parseTypeARN("arn:aws:cloudformation:eu-west-1:123456789012:type/resource/A1-B2")
	refused(t, err, "CFNRegistryException", "TypeName is invalid")
}

// TestChangesNameVersions: whatever a request calls a version, a change has its id.
func TestChangesNameVersions(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	g.work()
	for range 3 {
		g.module(owner, "Acme::Test::Part::MODULE")
	}
	changes := g.Subscribe(t.Context())
	kind, name := types.RegistryTypeModule, aws.String("Acme::Test::Part::MODULE")
	if _, err := g.SetTypeDefaultVersion(t.Context(), owner, &cloudformation.SetTypeDefaultVersionInput{Type: kind, TypeName: name, VersionId: aws.String("2")}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []*string{aws.String("1"), aws.String("003"), nil} {
		if _, err := g.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Type: kind, TypeName: name, VersionId: version}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"00000002", "00000001", "00000003", ""} {
		if change := <-changes; change.Version != want {
			t.Errorf("the change has the version %q, want %q", change.Version, want)
		}
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes := g.Subscribe(ctx)
	slow := g.Subscribe(t.Context())
	g.work()
	g.module(owner, "Acme::Test::Part::MODULE")
	var events []Event
	for change := range changes {
		events = append(events, change.What)
		if change.TypeName != "Acme::Test::Part::MODULE" || change.Version != "00000001" || change.Kind != schema.Module || change.Account != owner.Account {
			t.Errorf("%+v", change)
		}
		if change.What == RegistrationComplete {
			cancel()
		}
	}
	want := []Event{RegistrationStarted, RegistrationMoved, RegistrationMoved, RegistrationComplete}
	slices.Sort(events) // the worker may be faster than the answer
	slices.Sort(want)
	if diff := cmp.Diff(want, events); diff != "" {
		t.Error(diff)
	}
	for range 3 * pendingChanges { // nobody waits for the slow one
		g.changes.send(Change{What: DefaultChanged})
	}
	if len(slow) != pendingChanges {
		t.Errorf("%d changes wait", len(slow))
	}
}
