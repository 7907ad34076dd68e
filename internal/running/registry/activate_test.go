package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestActivateRefusals(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		id := s.publisher(owner)
		public := s.offer(owner, thingName, "one", "")
		s.thing(reader, "Mine::Store::Thing", "private")
		otherID := s.publisher(reader)
		other := s.offer(reader, "Other::Store::Thing", "other", "")
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public})
		resource := types.ThirdPartyTypeResource
		for name, test := range map[string]struct {
			in         cloudformation.ActivateTypeInput
			code, text string
		}{
			"nothing":          {cloudformation.ActivateTypeInput{}, codeRegistry, "You must specify either PublicTypeArn, or TypeName, Type, and PublisherId."},
			"no publisher":     {cloudformation.ActivateTypeInput{Type: resource, TypeName: aws.String(thingName)}, codeRegistry, "You must specify either PublicTypeArn"},
			"no type":          {cloudformation.ActivateTypeInput{PublisherId: &id, TypeName: aws.String(thingName)}, codeRegistry, "You must specify either PublicTypeArn"},
			"unknown":          {cloudformation.ActivateTypeInput{Type: resource, TypeName: aws.String("No::Such::Type"), PublisherId: &id}, codeTypeNotFound, "The type 'No::Such::Type' cannot be found."},
			"of another":       {cloudformation.ActivateTypeInput{Type: resource, TypeName: aws.String(thingName), PublisherId: &otherID}, codeTypeNotFound, "cannot be found"},
			"private ARN":      {cloudformation.ActivateTypeInput{PublicTypeArn: aws.String(versionARN("resource", thingName, 1))}, codeRegistry, "is not the ARN of a public third-party extension."},
			"no ARN":           {cloudformation.ActivateTypeInput{PublicTypeArn: aws.String("arn:x")}, codeRegistry, "TypeName is invalid"},
			"two names":        {cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeName: aws.String("Other::Store::Thing")}, codeRegistry, "name different extensions"},
			"two bumps":        {cloudformation.ActivateTypeInput{PublicTypeArn: &public, MajorVersion: aws.Int64(1), VersionBump: types.VersionBumpMajor}, codeRegistry, "You can specify MajorVersion or VersionBump, but not both."},
			"no such major":    {cloudformation.ActivateTypeInput{PublicTypeArn: &public, MajorVersion: aws.Int64(7), TypeNameAlias: aws.String("A::Store::Thing2")}, codeRegistry, ""},
			"major 7":          {cloudformation.ActivateTypeInput{PublicTypeArn: &public, MajorVersion: aws.Int64(7)}, codeRegistry, "Major version 7 of the type 'Initech::Store::Thing' is not published. The latest version is 1.0.0."},
			"alias of private": {cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String("Mine::Store::Thing")}, codeRegistry, "A private type named 'Mine::Store::Thing' is registered"},
			"alias of other":   {cloudformation.ActivateTypeInput{PublicTypeArn: &other, TypeNameAlias: aws.String(thingName)}, codeRegistry, "The type name 'Initech::Store::Thing' is already in use for"},
			"alias of module":  {cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String("Mine::Store::Thing::MODULE")}, codeRegistry, "the name of a module"},
			"odd role":         {cloudformation.ActivateTypeInput{PublicTypeArn: &public, ExecutionRoleArn: aws.String("arn:aws:iam::210987654321:role/\x00")}, codeRegistry, "ExecutionRoleArn has control characters."},
			"alias of Amazon":  {cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String("AWS::Store::Thing")}, codeRegistry, "in a namespace that is reserved"},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := s.ActivateType(t.Context(), reader, &test.in)
				refused(t, err, test.code, test.text)
			})
		}
		_, err := s.ActivateType(t.Context(), owner, &cloudformation.ActivateTypeInput{PublicTypeArn: &public})
		refused(t, err, codeRegistry, "A private type named 'Initech::Store::Thing' is registered in this account and Region. Specify another TypeNameAlias.")
		_, err = s.RegisterType(t.Context(), reader, &cloudformation.RegisterTypeInput{
			Type: types.RegistryTypeResource, TypeName: aws.String(thingName), SchemaHandlerPackage: aws.String(s.things(thingName, "one")),
		})
		refused(t, err, codeRegistry, "is that of an activated public type")
	})
}

// TestListShelf lists what is public and what is activated with every filter.
func TestListShelf(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		id, otherID := s.publisher(owner), s.publisher(reader)
		for _, name := range []string{"Initech::Store::Aa", "Initech::Store::Bb", "Umbrella::Store::Cc"} {
			s.offer(owner, name, "x", "")
		}
		s.offer(reader, "Initech::Store::Aa", "y", "")
		s.offer(owner, "Initech::Store::Bb", "later", "2.0.0")
		s.activate(reader, &cloudformation.ActivateTypeInput{
			Type: types.ThirdPartyTypeResource, TypeName: aws.String("Initech::Store::Bb"), PublisherId: &id, TypeNameAlias: aws.String("Mine::Store::Bb"), MajorVersion: aws.Int64(1),
		})
		private, public := types.VisibilityPrivate, types.VisibilityPublic
		for name, test := range map[string]struct {
			in   cloudformation.ListTypesInput
			want []string
		}{
			"default": {cloudformation.ListTypesInput{}, []string{"Initech::Store::Aa ", "Mine::Store::Bb Initech::Store::Bb 1.0.0 2.0.0 true"}},
			"activated": {
				cloudformation.ListTypesInput{Visibility: private, Filters: &types.TypeFilters{Category: types.CategoryActivated}},
				[]string{"Mine::Store::Bb Initech::Store::Bb 1.0.0 2.0.0 true"},
			},
			"registered": {cloudformation.ListTypesInput{Filters: &types.TypeFilters{Category: types.CategoryRegistered}}, []string{"Initech::Store::Aa "}},
			"publisher":  {cloudformation.ListTypesInput{Filters: &types.TypeFilters{PublisherId: &otherID}}, []string{}},
			"prefix":     {cloudformation.ListTypesInput{Filters: &types.TypeFilters{TypeNamePrefix: aws.String("Mine::")}}, []string{"Mine::Store::Bb Initech::Store::Bb 1.0.0 2.0.0 true"}},
			"private AWS": {
				cloudformation.ListTypesInput{Visibility: private, Filters: &types.TypeFilters{Category: types.CategoryAwsTypes}}, []string{},
			},
			"public": {
				cloudformation.ListTypesInput{Visibility: public},
				[]string{"Initech::Store::Aa false", "Initech::Store::Aa false", "Initech::Store::Bb Initech::Store::Bb 1.0.0 2.0.0 true", "Umbrella::Store::Cc false"},
			},
			"public third party": {
				cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{Category: types.CategoryThirdParty, PublisherId: &otherID}},
				[]string{"Initech::Store::Aa false"},
			},
			"public activated": {
				cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{Category: types.CategoryActivated}},
				[]string{"Initech::Store::Bb Initech::Store::Bb 1.0.0 2.0.0 true"},
			},
			"public registered": {cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{Category: types.CategoryRegistered}}, []string{}},
			"public prefix": {
				cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{TypeNamePrefix: aws.String("Umb")}}, []string{"Umbrella::Store::Cc false"},
			},
			"public AWS":        {cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{Category: types.CategoryAwsTypes}}, []string{}},
			"public hooks":      {cloudformation.ListTypesInput{Visibility: public, Type: types.RegistryTypeHook}, []string{}},
			"public deprecated": {cloudformation.ListTypesInput{Visibility: public, DeprecatedStatus: types.DeprecatedStatusDeprecated}, []string{}},
			"public immutable":  {cloudformation.ListTypesInput{Visibility: public, ProvisioningType: types.ProvisioningTypeImmutable}, []string{}},
		} {
			t.Run(name, func(t *testing.T) {
				// One at a time: every list continues where it stopped.
				var got []types.TypeSummary
				test.in.MaxResults = aws.Int32(1)
				for {
					out, err := s.ListTypes(t.Context(), reader, &test.in)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, out.TypeSummaries...)
					if test.in.NextToken = out.NextToken; out.NextToken == nil {
						break
					}
				}
				list := names(got, func(s types.TypeSummary) string {
					parts := []string{aws.ToString(s.OriginalTypeName), aws.ToString(s.PublicVersionNumber), aws.ToString(s.LatestPublicVersion)}
					if s.IsActivated != nil {
						parts = append(parts, map[bool]string{true: "true", false: "false"}[*s.IsActivated])
					}
					return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
				})
				for i := range test.want {
					test.want[i] = strings.TrimSpace(test.want[i])
				}
				if !slices.Equal(list, test.want) {
					t.Errorf("listed %q, want %q", list, test.want)
				}
				for _, one := range got {
					if one.PublisherId != nil && (one.PublisherIdentity != types.IdentityProviderAwsMarketplace || aws.ToString(one.PublisherName) == "") || one.TypeArn == nil {
						t.Errorf("%s: publisher %s, name %q, ARN %v", *one.TypeName, one.PublisherIdentity, aws.ToString(one.PublisherName), one.TypeArn)
					}
				}
			})
		}
	})
}

// fragmentPackage is a package of a module with resources.
func fragmentPackage(t testing.TB, typeName string, resources map[string]any) []byte {
	properties := map[string]any{}
	for name := range resources {
		properties[name] = map[string]any{"type": "object"}
	}
	return zipOf(t, map[string]string{
		".rpdk-config":          jsonOf(t, map[string]any{"artifact_type": "MODULE", "typeName": typeName, "settings": map[string]any{}}),
		"fragments/sample.json": jsonOf(t, map[string]any{"Resources": resources}),
		"schema.json": jsonOf(t, map[string]any{
			"typeName": typeName, "description": "A module.", "additionalProperties": true,
			"properties": map[string]any{"Resources": map[string]any{"type": "object", "additionalProperties": false, "properties": properties}},
		}),
	})
}

func (s *shop) fragment(typeName, version string, resources map[string]any) (versionARN string) {
	s.t.Helper()
	url := "s3://packages/" + strings.ReplaceAll(typeName, "::", "-") + "-" + version + ".zip"
	s.packages.put(url, fragmentPackage(s.t, typeName, resources))
	out := s.register(owner, schema.Module, typeName, url)
	if out.ProgressStatus != types.RegistrationStatusComplete {
		s.t.Fatalf("%s: %s", typeName, aws.ToString(out.Description))
	}
	return *out.TypeVersionArn
}

// TestPublicModules tests, publishes and activates modules that need other extensions.
func TestPublicModules(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		ctx := t.Context()
		const module = "Initech::Store::Shelf::MODULE"
		id := s.publisher(owner)
		things := map[string]any{
			"Bucket": map[string]any{"Type": "AWS::S3::Bucket"},
			"Thing": map[string]any{"Type": "Module::Store::Thing", "Metadata": map[string]any{
				"PublisherId": id, "OriginalTypeName": thingName, "SupportMajorVersions": []int{1},
			}},
		}
		first := s.fragment(module, "1", things)
		out := s.tested(owner, first)
		if want := "Initech::Store::Thing of publisher " + id + " is not public in eu-west-1 in any of the major versions 1."; out.TypeTestsStatus != types.TypeTestsStatusFailed ||
			!strings.Contains(aws.ToString(out.TypeTestsStatusDescription), want) {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		public := s.offer(owner, thingName, "one", "")
		if out := s.tested(owner, first); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Fatalf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		published := s.publish(owner, first, "")
		required := s.describe(reader, published).RequiredActivatedTypes
		if text, _ := json.Marshal(required); string(text) != `[{"OriginalTypeName":"Initech::Store::Thing","PublisherId":"`+id+`","SupportedMajorVersions":[1],"TypeNameAlias":"Module::Store::Thing"}]` {
			t.Errorf("required are %s", text)
		}

		_, err := s.ActivateType(ctx, reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &published})
		refused(t, err, codeRegistry, "requires extensions that are not activated in this account and Region: Module::Store::Thing (Initech::Store::Thing of publisher "+id+", major version 1)")
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String("Module::Store::Thing")})
		activated := s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &published})
		s.expectFragment(reader, module, "Bucket Thing")

		// A version that needs more is not taken until that is there.
		things["Other"] = map[string]any{"Type": "Module::Store::Other", "Metadata": map[string]any{
			"RegionalPublisherId": map[string]any{"eu-west-1": id}, "OriginalTypeName": thingName, "SupportMajorVersions": []int{1},
		}}
		second := s.fragment(module, "2", things)
		if out := s.tested(owner, second); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Fatalf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		s.publish(owner, second, "")
		s.until("the workers rest", s.idle)
		if out := s.describe(reader, activated); *out.PublicVersionNumber != "1.0.0" || !strings.Contains(s.log.text(), "a module is not updated") {
			t.Errorf("updated to %s", *out.PublicVersionNumber)
		}
		_, err = s.ActivateType(ctx, reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &published, VersionBump: types.VersionBumpMinor})
		refused(t, err, codeRegistry, "Module::Store::Other")
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String("Module::Store::Other")})
		s.activate(reader, &cloudformation.ActivateTypeInput{PublicTypeArn: &published, VersionBump: types.VersionBumpMinor})
		if out := s.describe(reader, activated); *out.PublicVersionNumber != "1.1.0" {
			t.Errorf("at %s", *out.PublicVersionNumber)
		}
		s.expectFragment(reader, module, "Bucket Other Thing")
		s.expectFragment(owner, module, "Bucket Thing") // the default version is still the first
		if _, err := s.SetTypeDefaultVersion(ctx, owner, &cloudformation.SetTypeDefaultVersionInput{Arn: &second}); err != nil {
			t.Error(err)
		}
		s.expectFragment(owner, module, "Bucket Other Thing")
		if _, err := s.DeactivateType(ctx, reader, &cloudformation.DeactivateTypeInput{Type: types.ThirdPartyTypeModule, TypeName: aws.String(module)}); err != nil {
			t.Error(err)
		}
		s.expectFragment(reader, module, "")
	})
}

// expectFragment checks the resources of the fragment that stacks of a caller use, "" for none.
func (s *shop) expectFragment(caller awswire.Caller, typeName, want string) {
	s.t.Helper()
	f, err := s.Fragment(s.t.Context(), caller, typeName)
	var names []string
	if f != nil {
		for _, m := range f.Root.Get("Resources").Distinct() {
			names = append(names, m.Key)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); err != nil || got != want {
		s.t.Errorf("the fragment has %q, %v; want %q", got, err, want)
	}
}
