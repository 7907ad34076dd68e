package registry

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

const (
	acme   = "0123456789abcdef"
	globex = "fedcba9876543210"
)

// publicShelf is what is public: by publisher and name, then by major version.
type publicShelf map[string]map[int64][]types.RequiredActivatedType

func (s publicShelf) majors(_ context.Context, key extensionKey) (map[int64][]types.RequiredActivatedType, error) {
	return s[key.Publisher+" "+key.TypeName], nil
}

func needs(publisher, typeName string, majors ...int32) types.RequiredActivatedType {
	return types.RequiredActivatedType{TypeNameAlias: aws.String("Alias::" + typeName), OriginalTypeName: &typeName, PublisherId: &publisher, SupportedMajorVersions: majors}
}

// use is a resource of a fragment that a third party has published.
func use(alias, publisher, original string, majors string) string {
	return fmt.Sprintf(`{"Type": %q, "Metadata": {"PublisherId": %q, "OriginalTypeName": %q, "SupportMajorVersions": %s}}`, alias, publisher, original, majors)
}

func TestModuleRequirements(t *testing.T) {
	level := func(n int) string { return fmt.Sprintf("Acme::Level::L%d::MODULE", n) }
	shelf := publicShelf{
		acme + " Acme::DB::Table":           {1: nil, 2: nil},
		acme + " Acme::Web::Site::MODULE":   {1: {needs(acme, "Acme::DB::Table", 1)}, 3: {needs(acme, "Acme::DB::Table", 1, 2)}},
		globex + " Globex::A::Ring::MODULE": {1: {needs(acme, "Acme::Own::Shop::MODULE", 1)}},
		acme + " " + level(1):               {1: {needs(acme, level(2), 1)}},
		acme + " " + level(2):               {1: {needs(acme, level(3), 1)}},
		acme + " " + level(3):               {1: {needs(acme, level(4), 1)}},
		acme + " " + level(4):               {1: nil},
		// Two modules that contain each other, as no check lets them: the walk must end.
		acme + " Acme::Loop::One::MODULE": {1: {needs(acme, "Acme::Loop::Two::MODULE", 1)}},
		acme + " Acme::Loop::Two::MODULE": {1: {needs(acme, "Acme::Loop::One::MODULE", 1)}},
	}
	for name, test := range map[string]struct {
		resources string
		problems  []string // the beginnings or parts of them
		required  string
	}{
		"of Amazon":        {resources: `"A": {"Type": "AWS::S3::Bucket"}, "B": {"Type": "Alexa::ASK::Skill"}`},
		"third party":      {resources: `"A": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[2, 1]"), required: "M::DB::Table 1, 2"},
		"majors as texts":  {resources: `"A": ` + use("M::DB::Table", acme, "Acme::DB::Table", `["2"]`), required: "M::DB::Table 2"},
		"regional":         {resources: `"A": {"Type": "M::DB::Table", "Metadata": {"PublisherId": "x", "RegionalPublisherId": {"eu-west-1": "` + acme + `"}, "OriginalTypeName": "Acme::DB::Table", "SupportMajorVersions": [1]}}`, required: "M::DB::Table 1"},
		"custom":           {resources: `"A": {"Type": "Custom::Thing"}, "B": {"Type": "AWS::CloudFormation::CustomResource"}`, problems: []string{"Resource A (Custom::Thing) is a custom resource", "Resource B (AWS::CloudFormation::CustomResource) is a custom resource"}},
		"private":          {resources: `"A": {"Type": "Acme::DB::Table"}`, problems: []string{"Resource A (Acme::DB::Table) is not a public resource of Amazon, and its Metadata has no PublisherId, OriginalTypeName, SupportMajorVersions."}},
		"half":             {resources: `"A": {"Type": "Acme::DB::Table", "Metadata": {"PublisherId": "` + acme + `", "SupportMajorVersions": [0, -1, "x"]}}`, problems: []string{"its Metadata has no OriginalTypeName, SupportMajorVersions."}},
		"no type":          {resources: `"A": {"Type": 7}`, problems: []string{"Resource A has no Type."}},
		"not public":       {resources: `"A": ` + use("M::DB::Table", globex, "Acme::DB::Table", "[1]"), problems: []string{"Acme::DB::Table of publisher " + globex + " is not public in eu-west-1 in any of the major versions 1."}},
		"no such major":    {resources: `"A": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[3, 4]"), problems: []string{"in any of the major versions 3, 4."}},
		"one alias, two":   {resources: `"A": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[1]") + `, "B": ` + use("M::DB::Table", globex, "Globex::DB::Table", "[1]"), problems: []string{"Resource B: the alias M::DB::Table stands for Acme::DB::Table of publisher"}},
		"one alias, twice": {resources: `"A": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[1, 2]") + `, "B": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[2, 5]"), required: "M::DB::Table 2"},
		"nothing common":   {resources: `"A": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[1]") + `, "B": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[2]"), problems: []string{"has no version in common"}},
		"module as type":   {resources: `"A": ` + use("M::Web::Site", acme, "Acme::Web::Site::MODULE", "[1]"), problems: []string{"are not both modules"}},
		"child":            {resources: `"A": ` + use("M::Web::Site::MODULE", acme, "Acme::Web::Site::MODULE", "[1]"), required: "M::Web::Site::MODULE 1"},
		"subset": {
			resources: `"A": ` + use("M::Web::Site::MODULE", acme, "Acme::Web::Site::MODULE", "[1, 3]") + `, "B": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[1, 2]"),
			required:  "M::DB::Table 1, 2; M::Web::Site::MODULE 1, 3",
		},
		"no subset": {
			resources: `"A": ` + use("M::Web::Site::MODULE", acme, "Acme::Web::Site::MODULE", "[1]") + `, "B": ` + use("M::DB::Table", acme, "Acme::DB::Table", "[1, 2]"),
			problems:  []string{"The module supports major version 2 of Acme::DB::Table of publisher " + acme + ", its child module M::Web::Site::MODULE only 1."},
		},
		"itself":       {resources: `"A": ` + use("M::Own::Shop::MODULE", acme, "Acme::Own::Shop::MODULE", "[1]"), problems: []string{"The module contains itself as M::Own::Shop::MODULE."}},
		"circle":       {resources: `"A": ` + use("M::A::Ring::MODULE", globex, "Globex::A::Ring::MODULE", "[1]"), problems: []string{"The child module M::A::Ring::MODULE contains this module"}},
		"three levels": {resources: `"A": ` + use("M::L::L2::MODULE", acme, level(2), "[1]"), required: "M::L::L2::MODULE 1"},
		"four levels":  {resources: `"A": ` + use("M::L::L1::MODULE", acme, level(1), "[1]"), problems: []string{"Modules nest more than 3 levels deep below the child module M::L::L1::MODULE."}},
		"endless":      {resources: `"A": ` + use("M::Loop::One::MODULE", acme, "Acme::Loop::One::MODULE", "[1]"), required: "M::Loop::One::MODULE 1"},
	} {
		t.Run(name, func(t *testing.T) {
			root, problems := document.ParseJSON("f.json", []byte(`{"Resources": {`+test.resources+`}}`), document.Limits{})
			if root == nil || problems.HasErrors() {
				t.Fatal(problems)
			}
			check := &moduleCheck{region: "eu-west-1", majors: shelf.majors, self: extensionKey{schema.Module, acme, "Acme::Own::Shop::MODULE"}}
			if err := check.run(t.Context(), root); err != nil {
				t.Fatal(err)
			}
			if len(check.problems) != len(test.problems) {
				t.Fatalf("problems %q, want %q", check.problems, test.problems)
			}
			for i, part := range test.problems {
				if !strings.Contains(check.problems[i], part) {
					t.Errorf("problem %q, want %q", check.problems[i], part)
				}
			}
			var required []string
			for _, one := range check.required {
				required = append(required, *one.TypeNameAlias+" "+listOf(one.SupportedMajorVersions))
			}
			if got := strings.Join(required, "; "); len(test.problems) == 0 && got != test.required {
				t.Errorf("required are %q, want %q", got, test.required)
			}
		})
	}
}
