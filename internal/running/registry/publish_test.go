package registry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestPublicVersions(t *testing.T) {
	for text, next := range map[string]string{
		"1.0.0": "1.1.0", "0.0.1": "0.1.0", "1.9.3": "1.10.0", "100000.0.0": "100000.1.0", "": "1.0.0",
	} {
		v, ok := parsePublicVersion(text)
		if text != "" && (!ok || v.String() != text) {
			t.Errorf("%q is read as %s", text, v)
		}
		if got := v.next().String(); got != next {
			t.Errorf("after %q comes %s, want %s", text, got, next)
		}
	}
	for _, text := range []string{"1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-rc1", "1.0.0+5", "v1.0.0", "-1.0.0", "1.0.x", "1.0.0\n", "100001.0.0", "1.0.9999999999", "１.0.0"} {
		if v, ok := parsePublicVersion(text); ok {
			t.Errorf("%q is read as %s", text, v)
		}
	}
	sorted := []string{"0.9.9", "1.0.0", "1.0.10", "1.2.0", "1.10.0", "2.0.0", "10.0.0"}
	for i := 1; i < len(sorted); i++ {
		a, _ := parsePublicVersion(sorted[i-1])
		b, _ := parsePublicVersion(sorted[i])
		if a.compare(b) >= 0 || b.compare(a) <= 0 || a.compare(a) != 0 {
			t.Errorf("%s is not before %s", a, b)
		}
	}
}

func TestPublisher(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		ctx := t.Context()
		_, err := s.DescribePublisher(ctx, owner, &cloudformation.DescribePublisherInput{})
		refused(t, err, codeRegistry, "This account is not registered as a publisher. Register it in eu-west-1 with RegisterPublisher.")
		for _, terms := range []*bool{nil, aws.Bool(false)} {
			_, err = s.RegisterPublisher(ctx, owner, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: terms})
			refused(t, err, codeRegistry, "You must accept the terms and conditions")
		}
		for connection, text := range map[string]string{
			"arn:aws:iam::123456789012:role/x":                                 "is not the ARN of a connection, as in arn:aws:codestar-connections:eu-west-1:123456789012:connection/ID.",
			"arn:aws:codestar-connections:eu-west-1:210987654321:connection/9": "belongs to another account",
		} {
			_, err = s.RegisterPublisher(ctx, owner, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true), ConnectionArn: &connection})
			refused(t, err, codeRegistry, text)
		}

		id := s.publisher(owner)
		if len(id) != 40 || strings.Trim(id, "0123456789abcdef") != "" {
			t.Errorf("publisher id %q", id)
		}
		connection := aws.String("arn:aws:codestar-connections:us-east-1:123456789012:connection/bitbucket-9")
		again, err := s.RegisterPublisher(ctx, owner, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true), ConnectionArn: connection})
		if err != nil || *again.PublisherId != id {
			t.Errorf("registered again: %v, %v", again, err)
		}
		elsewhere := awswire.Caller{Place: awswire.Place{Account: owner.Account, Region: "us-east-1"}}
		for _, in := range []*cloudformation.DescribePublisherInput{{}, {PublisherId: &id}} {
			_, err = s.DescribePublisher(ctx, elsewhere, in)
			refused(t, err, codeRegistry, map[bool]string{true: "Register it in us-east-1", false: "cannot be found"}[in.PublisherId == nil])
		}
		if there, err := s.RegisterPublisher(ctx, elsewhere, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true), ConnectionArn: connection}); err != nil || *there.PublisherId != id {
			t.Errorf("registered in another region: %v, %v", there, err)
		}
		if out, err := s.DescribePublisher(ctx, elsewhere, &cloudformation.DescribePublisherInput{}); err != nil || out.IdentityProvider != types.IdentityProviderBitbucket {
			t.Errorf("described in another region as %+v, %v", out, err)
		}
		out, err := s.DescribePublisher(ctx, reader, &cloudformation.DescribePublisherInput{PublisherId: &id})
		if err != nil || out.IdentityProvider != types.IdentityProviderAwsMarketplace || out.PublisherStatus != types.PublisherStatusVerified || *out.PublisherId != id {
			t.Errorf("described as %+v, %v", out, err)
		}
		_, err = s.DescribePublisher(ctx, reader, &cloudformation.DescribePublisherInput{PublisherId: aws.String("0123456789abcdef")})
		refused(t, err, codeRegistry, "The publisher '0123456789abcdef' cannot be found.")

		for account, want := range map[string]types.IdentityProvider{"111111111111": types.IdentityProviderBitbucket, "222222222222": types.IdentityProviderGitHub} {
			caller := awswire.Caller{Place: awswire.Place{Account: account, Region: "eu-west-1"}}
			connection := "arn:aws:codeconnections:eu-west-1:" + account + ":connection/" + map[bool]string{true: "bitbucket-1", false: "aEXAMPLE"}[want == types.IdentityProviderBitbucket]
			if _, err := s.RegisterPublisher(ctx, caller, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true), ConnectionArn: &connection}); err != nil {
				t.Fatal(err)
			}
			if out, err := s.DescribePublisher(ctx, caller, &cloudformation.DescribePublisherInput{}); err != nil || out.IdentityProvider != want || *out.PublisherId == id {
				t.Errorf("%s: %+v, %v", connection, out, err)
			}
		}
	})
}

const thingName = "Initech::Store::Thing"

func TestPublishRules(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		ctx := t.Context()
		publish := func(arn, number string) error {
			_, err := s.PublishType(ctx, owner, &cloudformation.PublishTypeInput{Arn: &arn, PublicVersionNumber: absent(number)})
			return err
		}
		first := s.thing(owner, thingName, "one")
		refused(t, publish(first, ""), codeRegistry, "This account is not registered as a publisher. Register it in eu-west-1")
		id := s.publisher(owner)
		refused(t, publish(first, ""), codeRegistry, "Version '00000001' of the type 'Initech::Store::Thing' cannot be published: its test status is NOT_TESTED, and must be PASSED.")
		refused(t, publish("arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Initech-Store-Nothing", ""), codeTypeNotFound, "The type 'Initech::Store::Nothing' cannot be found.")
		refused(t, publish(strings.Replace(first, owner.Account, reader.Account, 1), ""), codeTypeNotFound, "cannot be found")

		if out := s.tested(owner, first); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Fatalf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		refused(t, publish(first, "1.0.0"), codeRegistry, "You cannot specify a version number the first time you publish a type")
		refused(t, publish(first, "1.0"), codeRegistry, "PublicVersionNumber '1.0' is not a version of the form MAJOR.MINOR.PATCH")
		public := s.publish(owner, first, "")
		if want := "arn:aws:cloudformation:eu-west-1::type/resource/" + id + "/Initech-Store-Thing"; public != want {
			t.Errorf("published as %s, want %s", public, want)
		}
		refused(t, publish(first, ""), codeRegistry, "Version '00000001' of the type 'Initech::Store::Thing' is already published as public version 1.0.0.")

		second := s.thing(owner, thingName, "two")
		s.tested(owner, second)
		for _, number := range []string{"1.0.0", "0.9.0"} {
			refused(t, publish(second, number), codeRegistry, "PublicVersionNumber "+number+" must be greater than 1.0.0, the latest public version")
		}
		s.publish(owner, second, "1.0.1")
		third := s.thing(owner, thingName, "three")
		s.tested(owner, third)
		s.publish(owner, third, "")
		versions, err := s.ListTypeVersions(ctx, reader, &cloudformation.ListTypeVersionsInput{Arn: &public})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range versions.TypeVersionSummaries {
			got = append(got, *v.VersionId+" "+*v.PublicVersionNumber+" "+*v.Description)
		}
		if want := []string{"00000001 1.0.0 one", "00000002 1.0.1 two", "00000003 1.1.0 three"}; !slices.Equal(got, want) {
			t.Errorf("public versions %q, want %q", got, want)
		}

		// What a private type may be called and a public one may not.
		for _, name := range []string{"amazon::Store::Thing", "awsquickstart::Store::Thing"} {
			version := s.thing(owner, name, "x")
			s.tested(owner, version)
			refused(t, publish(version, ""), codeRegistry, "cannot be published: the namespace")
		}
	})
}

// TestShelf walks the whole way of a public type: two accounts, two regions, one alias.
func TestShelf(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		ctx := t.Context()
		id := s.publisher(owner)
		public := s.offer(owner, thingName, "one", "")

		out := s.describe(reader, public)
		got := described(t, out)
		delete(got, "Schema")
		delete(got, "ConfigurationSchema")
		same(t, "the public type", got, map[string]any{
			"Arn": public + "/00000001", "Type": "RESOURCE", "TypeName": thingName, "Visibility": "PUBLIC", "Description": "one", "ProvisioningType": "FULLY_MUTABLE",
			"PublisherId": id, "IsActivated": false, "PublicVersionNumber": "1.0.0", "LatestPublicVersion": "1.0.0",
		})
		_, err := s.DescribeType(ctx, faraway, &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String(thingName), PublisherId: &id})
		refused(t, err, codeTypeNotFound, "The type 'Initech::Store::Thing' cannot be found.")
		_, err = s.DescribeType(ctx, reader, &cloudformation.DescribeTypeInput{Type: types.RegistryTypeResource, TypeName: aws.String(thingName)})
		refused(t, err, codeTypeNotFound, "The type 'Initech::Store::Thing' cannot be found.")
		_, err = s.ActivateType(ctx, faraway, &cloudformation.ActivateTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String(thingName), PublisherId: &id})
		refused(t, err, codeTypeNotFound, "cannot be found")

		const alias = "Mine::Store::Thing"
		activated := s.activate(reader, &cloudformation.ActivateTypeInput{
			PublicTypeArn: &public, TypeNameAlias: aws.String(alias), ExecutionRoleArn: aws.String("arn:aws:iam::210987654321:role/things"),
			LoggingConfig: &types.LoggingConfig{LogGroupName: aws.String("things"), LogRoleArn: aws.String("arn:aws:iam::210987654321:role/log")},
		})
		if want := "arn:aws:cloudformation:eu-west-1:210987654321:type/resource/Mine-Store-Thing"; activated != want {
			t.Errorf("activated as %s, want %s", activated, want)
		}
		got = described(t, s.describe(reader, activated))
		delete(got, "Schema")
		delete(got, "ConfigurationSchema")
		same(t, "the activated type", got, map[string]any{
			"Arn": activated + "/00000001", "Type": "RESOURCE", "TypeName": alias, "OriginalTypeName": thingName, "OriginalTypeArn": public, "Visibility": "PUBLIC",
			"Description": "one", "ProvisioningType": "FULLY_MUTABLE", "PublisherId": id, "IsActivated": true, "AutoUpdate": true,
			"PublicVersionNumber": "1.0.0", "LatestPublicVersion": "1.0.0", "TimeCreated": "datetime", "LastUpdated": "datetime",
		})
		if !*s.describe(reader, public).IsActivated || *s.describe(owner, public).IsActivated {
			t.Error("IsActivated is not that of the account")
		}
		v, err := s.Resolve(ctx, reader, "RESOURCE", alias, "")
		if err != nil || v.SchemaName != thingName || v.ExecutionRole != "arn:aws:iam::210987654321:role/things" || v.LogGroup != "things" || v.PublicVersion != "1.0.0" {
			t.Errorf("resolved to %+v, %v", v, err)
		}
		configuration := `{"Key": "{{resolve:ssm:/key}}"}`
		if _, err := s.SetTypeConfiguration(ctx, reader, &cloudformation.SetTypeConfigurationInput{TypeArn: &activated, Configuration: &configuration}); err != nil {
			t.Errorf("configure the activated type: %v", err)
		}

		at := func(want string) func() bool {
			return func() bool { return *s.describe(reader, activated).PublicVersionNumber == want }
		}
		if err := s.Workers()[workAutoUpdate].Fail(ctx, public, "broken"); err != nil { // the next publication updates all the same
			t.Error(err)
		}
		s.offer(owner, thingName, "two", "")
		s.until("1.1.0 is taken", at("1.1.0"))
		if out := s.describe(reader, activated); *out.Arn != activated+"/00000002" || *out.Description != "two" {
			t.Errorf("updated to %s %s", *out.Arn, *out.Description)
		}
		s.offer(owner, thingName, "three", "2.0.0")
		s.until("the workers rest", s.idle)
		if out := s.describe(reader, activated); *out.PublicVersionNumber != "1.1.0" || *out.LatestPublicVersion != "2.0.0" {
			t.Errorf("at %s of %s: major versions are not taken unasked", *out.PublicVersionNumber, *out.LatestPublicVersion)
		}
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String(alias), VersionBump: types.VersionBumpMinor})
		if !at("1.1.0")() {
			t.Error("VersionBump MINOR changed the major version")
		}
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String(alias), VersionBump: types.VersionBumpMajor})
		if !at("2.0.0")() {
			t.Error("VersionBump MAJOR did not change the version")
		}
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String(alias), MajorVersion: aws.Int64(1), AutoUpdate: aws.Bool(false)})
		if out := s.describe(reader, activated); *out.PublicVersionNumber != "1.1.0" || *out.AutoUpdate || out.LastUpdated != nil {
			t.Errorf("MajorVersion 1: at %s, AutoUpdate %v, LastUpdated %v", *out.PublicVersionNumber, *out.AutoUpdate, out.LastUpdated)
		}
		if v, err := s.Resolve(ctx, reader, "RESOURCE", alias, ""); err != nil || v.ExecutionRole == "" || v.LogGroup != "things" {
			t.Errorf("settings that were not given are lost: %+v, %v", v, err)
		}

		s.deregisterAll(thingName, 3)
		if out := s.describe(reader, activated); *out.PublicVersionNumber != "1.1.0" || len(*out.Schema) == 0 {
			t.Error("the public version is gone with the private one")
		}
		if _, err := s.DeactivateType(ctx, reader, &cloudformation.DeactivateTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String(alias)}); err != nil {
			t.Fatal(err)
		}
		_, err = s.DescribeType(ctx, reader, &cloudformation.DescribeTypeInput{Arn: &activated})
		refused(t, err, codeTypeNotFound, "The type 'Mine::Store::Thing' cannot be found.")
		_, err = s.DeactivateType(ctx, reader, &cloudformation.DeactivateTypeInput{Arn: &activated})
		refused(t, err, codeTypeNotFound, "The type 'Mine::Store::Thing' cannot be found.")
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String(alias)})
		batch, err := s.BatchDescribeTypeConfigurations(ctx, reader, &cloudformation.BatchDescribeTypeConfigurationsInput{
			TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{{TypeArn: &activated}},
		})
		if err != nil || len(batch.TypeConfigurations) != 1 || *batch.TypeConfigurations[0].Configuration != "{}" {
			t.Errorf("the configuration outlives the activation: %+v, %v", batch, err)
		}
	})
}

// idle reports whether no worker has anything to do.
func (s *shop) idle() bool {
	waiting, err := store.Exists(s.t.Context(), s.store.Read(), "FROM wakeups")
	if err != nil {
		s.t.Fatal(err)
	}
	return !waiting
}

func (s *shop) deregisterAll(typeName string, versions int) {
	s.t.Helper()
	for i := 2; i <= versions+1; i++ {
		in := &cloudformation.DeregisterTypeInput{Type: types.RegistryTypeResource, TypeName: &typeName}
		if i <= versions {
			in.VersionId = aws.String(versionID(int64(i)))
		}
		if _, err := s.DeregisterType(s.t.Context(), owner, in); err != nil {
			s.t.Fatal(err)
		}
	}
}

// same compares descriptions member by member.
func same(t testing.TB, what string, got, want map[string]any) {
	t.Helper()
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: %s is %v, want %v", what, key, got[key], value)
		}
	}
	for key, value := range got {
		if _, wanted := want[key]; !wanted {
			t.Errorf("%s: %s is %v and should not be there", what, key, value)
		}
	}
}

// TestPublishAtOnce has several requests publish the same version, and others activate it.
func TestPublishAtOnce(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		s.publisher(owner)
		version := s.thing(owner, thingName, "one")
		s.tested(owner, version)
		results := atOnce(5, func(ctx context.Context) error {
			_, err := s.PublishType(ctx, owner, &cloudformation.PublishTypeInput{Arn: &version})
			return err
		})
		published := 0
		for _, err := range results {
			if err == nil {
				published++
			} else {
				refused(t, err, codeRegistry, "is already published as public version 1.0.0")
			}
		}
		if published != 1 {
			t.Errorf("published %d times", published)
		}
		id := publisherID(owner.Account)
		for _, err := range atOnce(5, func(ctx context.Context) error {
			_, err := s.ActivateType(ctx, reader, &cloudformation.ActivateTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String(thingName), PublisherId: &id})
			return err
		}) {
			if err != nil {
				t.Errorf("activated at once: %v", err)
			}
		}
	})
}

func atOnce(n int, f func(context.Context) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(context.Background()) })
	}
	all.Wait()
	return errs
}
