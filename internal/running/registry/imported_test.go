package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

// TestImported describes and lists types that were imported.
func TestImported(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	shelf := simulate.New(simulate.Config{Store: g.store, Patterns: []string{"AWS::AA::*"}, Now: func() time.Time { return at }})
	var documents []simulate.Document
	add := func(typeName string, names ...string) {
		handlers := ""
		if len(names) > 0 {
			handlers = `, "handlers": {"` + strings.Join(names, `": {}, "`) + `": {}}`
		}
		documents = append(documents, simulate.Document{Name: "schema.json", Text: []byte(`{"typeName": "` + typeName + `", "description": "A thing.", "sourceUrl": "https://example.com",
			"properties": {"Name": {"type": "string"}}, "primaryIdentifier": ["/properties/Name"], "additionalProperties": false` + handlers + `}`)})
	}
	add("AWS::AA::Fixed", "create", "read", "delete")
	add("AWS::AA::None", "read")
	add("AWS::AA::Thing", "create", "read", "update", "delete")
	add("Acme::AA::Bare")
	for i := range 250 {
		add(fmt.Sprintf("Zeta::AA::T%03d", i))
	}
	if _, problems, err := shelf.Import(t.Context(), documents); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	g.config.Imported = shelf
	ctx := t.Context()
	for _, in := range []cloudformation.DescribeTypeInput{
		{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::AA::Thing")},
		{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::AA::Thing"), VersionId: aws.String("00000001")},
		{Arn: aws.String("arn:aws:cloudformation:" + owner.Region + "::type/resource/AWS-AA-Thing")},
	} {
		out, err := g.DescribeType(ctx, owner, &in)
		if err != nil {
			t.Fatal(err)
		}
		if aws.ToString(out.Description) != "[simulated] A thing." || out.Visibility != types.VisibilityPublic || out.ProvisioningType != types.ProvisioningTypeFullyMutable ||
			aws.ToString(out.Arn) != "arn:aws:cloudformation:"+owner.Region+"::type/resource/AWS-AA-Thing" || aws.ToString(out.SourceUrl) != "https://example.com" || !out.TimeCreated.Equal(at) {
			t.Errorf("described as %+v", out)
		}
		versions, err := g.ListTypeVersions(ctx, owner, &cloudformation.ListTypeVersionsInput{Type: in.Type, TypeName: in.TypeName, Arn: in.Arn})
		if err != nil || len(versions.TypeVersionSummaries) != 1 || aws.ToString(versions.TypeVersionSummaries[0].VersionId) != "00000001" {
			t.Errorf("versions: %+v, %v", versions, err)
		}
	}
	for _, in := range []cloudformation.DescribeTypeInput{
		{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::AA::Thing"), VersionId: aws.String("00000002")},
		{Type: types.RegistryTypeHook, TypeName: aws.String("AWS::AA::Thing")},
		{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::AA::Other")},
		{Type: types.RegistryTypeResource, TypeName: aws.String("AWS::AA::Thing"), PublisherId: aws.String("0123456789012345678901234567890123456789")},
	} {
		if out, err := g.DescribeType(ctx, owner, &in); !isTypeNotFound(err) {
			t.Errorf("%v: %v, %v", in, out, err)
		}
	}
	list := func(in cloudformation.ListTypesInput) []string {
		var names []string
		for {
			out, err := g.ListTypes(ctx, owner, &in)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range out.TypeSummaries {
				names = append(names, aws.ToString(s.TypeName))
			}
			if in.NextToken = out.NextToken; in.NextToken == nil {
				return names
			}
		}
	}
	public := types.VisibilityPublic
	for name, test := range map[string]struct {
		in   cloudformation.ListTypesInput
		want []string
	}{
		"of the account": {cloudformation.ListTypesInput{}, nil},
		"Amazon's":       {cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{Category: types.CategoryAwsTypes}}, []string{"AWS::AA::Thing"}},
		"immutable":      {cloudformation.ListTypesInput{Visibility: public, ProvisioningType: types.ProvisioningTypeImmutable}, []string{"AWS::AA::Fixed"}},
		"prefix":         {cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{TypeNamePrefix: aws.String("Acme::")}}, []string{"Acme::AA::Bare"}},
		"activated":      {cloudformation.ListTypesInput{Visibility: public, Filters: &types.TypeFilters{Category: types.CategoryActivated}}, nil},
		"hooks":          {cloudformation.ListTypesInput{Visibility: public, Type: types.RegistryTypeHook}, nil},
	} {
		if got := list(test.in); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := list(cloudformation.ListTypesInput{Visibility: public, MaxResults: aws.Int32(7)}); len(got) != 252 || !slices.IsSorted(got) || len(slices.Compact(got)) != 252 {
		t.Errorf("all, by pages: %d types", len(got))
	}
}
