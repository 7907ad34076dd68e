package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const configured = "Acme::Test::Configured"

// credentials is the example of the user guide, and something of every other type.
func credentials(s map[string]any) {
	s["typeConfiguration"] = map[string]any{
		"properties": map[string]any{
			"ServiceCredentials": map[string]any{"$ref": "#/definitions/Credentials"},
			"Retries":            map[string]any{"type": "integer"},
			"Mode":               map[string]any{"type": "string", "enum": []string{"fast", "slow"}},
			"Choice":             map[string]any{"oneOf": []any{map[string]any{"type": "string", "maxLength": 3}, map[string]any{"type": "integer"}}},
		},
		"additionalProperties": false, "required": []string{"ServiceCredentials"},
	}
	s["definitions"] = map[string]any{"Credentials": map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"ApiKey"},
		"properties": map[string]any{
			"ApiKey":         map[string]any{"type": "string", "pattern": "{{resolve:.*:[a-zA-Z0-9_./-]+}}"},
			"ApplicationKey": map[string]any{"type": "string", "minLength": 100},
		},
	}}
}

// configurable is a rig with a resource type that has a configuration, one that has none,
// and a hook.
func configurable(t *testing.T, g *rig) {
	t.Helper()
	g.work()
	g.packages.put("s3://b/k", resourcePackage(t, configured, credentials))
	g.packages.put("s3://b/plain", resourcePackage(t, "Acme::Test::Plain", nil))
	g.packages.put("s3://b/hook", extension(t, "localstack-testing-testhook"))
	for _, out := range []*cloudformation.DescribeTypeRegistrationOutput{
		g.register(owner, schema.Resource, configured, "s3://b/k"),
		g.register(owner, schema.Resource, "Acme::Test::Plain", "s3://b/plain"),
		g.register(owner, schema.Hook, "LocalStack::Testing::TestHook", "s3://b/hook"),
	} {
		if out.ProgressStatus != types.RegistrationStatusComplete {
			t.Fatal(aws.ToString(out.Description))
		}
	}
}

func (g *rig) configure(kind schema.Kind, typeName, configuration string) error {
	_, err := g.SetTypeConfiguration(g.t.Context(), owner, &cloudformation.SetTypeConfigurationInput{Type: types.ThirdPartyType(kind), TypeName: &typeName, Configuration: &configuration})
	return err
}

func TestSetTypeConfiguration(t *testing.T) {
	t.Parallel()
	hook := func(inner string) string {
		return `{"CloudFormationConfiguration": {"HookConfiguration": {` + inner + `}}}`
	}
	const secret = "geheim"
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	configurable(t, g)
	g.module(owner, "Acme::Test::Part::MODULE")
	for _, c := range []struct {
		what          string
		kind          schema.Kind
		typeName      string
		configuration string
		code          string // "" if it is taken
		messages      []string
	}{
		{"references", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/key}}", "ApplicationKey": "{{resolve:secretsmanager:arn:aws:secretsmanager:eu-west-1:123456789012:secret:x:SecretString:k}}"}}`, "", nil},
		{"reference in an enumeration", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm-secure:/key:3}}"}, "Mode": "{{resolve:ssm:/mode}}"}`, "", nil},
		{"reference in a combiner", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm-secure:/key:3}}"}, "Choice": "{{resolve:ssm:/mode}}"}`, "", nil},
		{"reference for a number", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/key}}"}, "Retries": "{{resolve:ssm:/n}}"}`, codeRegistry, []string{"/Retries", "[type]"}},
		{"plain secret where a reference is asked for", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "` + secret + `"}}`, codeRegistry, []string{"/ServiceCredentials/ApiKey", "[pattern]"}},
		{"everything at once", schema.Resource, configured, `{"ServiceCredentials": {"ApplicationKey": "` + secret + `", "` + "More" + `": 1}, "Mode": "` + secret + `", "Retries": 1.5}`, codeRegistry, []string{`is missing the property "ApiKey"`, "/ServiceCredentials/ApplicationKey", "/ServiceCredentials/More", "/Mode", "/Retries"}},
		{"unknown service", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:vault:/key}}"}}`, codeRegistry, []string{"/ServiceCredentials/ApiKey: the dynamic reference {{resolve:vault:/key}} does not use ssm"}},
		{"no reference", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:}}"}}`, codeRegistry, []string{"does not name a value of ssm"}},
		{"half a reference", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/key"}}`, codeRegistry, []string{"incomplete dynamic reference"}},
		{"reserved", schema.Resource, configured, `{"CloudFormation": 1, "ServiceCredentials": {"ApiKey": "{{resolve:ssm:/key}}"}}`, codeRegistry, []string{"/CloudFormation: the name is reserved"}},
		{"no JSON", schema.Resource, configured, "{\n \"ServiceCredentials\": " + secret + "}", codeRegistry, []string{"not valid JSON (line 2, column 24)"}},
		{"no object", schema.Resource, configured, `["` + secret + `"]`, codeRegistry, []string{"must be a JSON object"}},
		{"twice", schema.Resource, configured, `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/key}}"}, "Mode": "fast", "Mode": "slow"}`, codeRegistry, []string{"not valid JSON"}},
		{"too long", schema.Resource, configured, `{"ServiceCredentials": "` + strings.Repeat("x", MaxConfiguration) + `"}`, codeRegistry, []string{"longer than 204800 bytes"}},
		{"too deep", schema.Resource, configured, strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), codeRegistry, []string{"not valid JSON"}},
		{"nothing for nothing", schema.Resource, "Acme::Test::Plain", `{}`, "", nil},
		{"something for nothing", schema.Resource, "Acme::Test::Plain", `{"a": 1}`, codeRegistry, []string{"has no typeConfiguration"}},
		{"unknown type", schema.Resource, "Acme::Test::Unknown", `{}`, codeTypeNotFound, []string{"The type 'Acme::Test::Unknown' cannot be found."}},
		{"module", schema.Module, "Acme::Test::Part::MODULE", `{}`, codeRegistry, []string{"modules have no configuration"}},

		{"hook as recorded", schema.Hook, "LocalStack::Testing::TestHook", hook(`"TargetStacks": "ALL", "FailureMode": "FAIL"`), "", nil},
		{"hook with properties", schema.Hook, "LocalStack::Testing::TestHook", hook(`"TargetStacks": "ALL", "FailureMode": "WARN", "Properties": {"EncryptionAlgorithm": "{{resolve:ssm:/key}}"}, "TargetFilters": {"TargetNames": ["AWS::S3::*"]}`), "", nil},
		{"hook with filters", schema.Hook, "LocalStack::Testing::TestHook", hook(`"TargetStacks": "NONE", "FailureMode": "WARN", "StackFilters": {"FilteringCriteria": "ANY", "StackNames": {"Exclude": ["a", "b"]}}`), "", nil},
		{"hook without its wrapper", schema.Hook, "LocalStack::Testing::TestHook", `{"EncryptionAlgorithm": "AES256"}`, codeRegistry, []string{"CloudFormationConfiguration", "/EncryptionAlgorithm"}},
		{"hook with wrong values", schema.Hook, "LocalStack::Testing::TestHook", hook(`"TargetStacks": "SOME", "Properties": {"EncryptionAlgorithm": 1, "Unknown": 2}, "TargetFilters": {"Actions": ["READ"]}`), codeRegistry, []string{"TargetStacks: is not one of the 2 allowed values", `is missing the property "FailureMode"`, "Properties/EncryptionAlgorithm", "Properties/Unknown", "TargetFilters"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			err := g.configure(c.kind, c.typeName, c.configuration)
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, message := range c.messages {
				refused(t, err, c.code, message)
			}
			if strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("tells the value: %v", err)
			}
		})
	}
	if strings.Contains(g.log.text(), secret) {
		t.Error("the log has the secret")
	}
}

func TestTypeConfigurations(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		configurable(t, g)
		const text = `{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/key}}", "ApplicationKey": "a-{{resolve:ssm:/key}}-{{resolve:ssm-secure:/other}}{{resolve:ssm:/key}}"}, "Mode": "fast"}`
		if err := g.configure(schema.Resource, configured, text); err != nil {
			t.Fatal(err)
		}
		arn := "arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Test-Configured"
		out, err := g.SetTypeConfiguration(t.Context(), owner, &cloudformation.SetTypeConfigurationInput{
			TypeArn: &arn, ConfigurationAlias: aws.String("second"), Configuration: aws.String(`{"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/missing}}"}}`),
		})
		const configurationARN = "arn:aws:cloudformation:eu-west-1:123456789012:type-configuration/resource/Acme-Test-Configured/"
		if err != nil || *out.ConfigurationArn != configurationARN+"second" {
			t.Fatal(out, err)
		}

		v, err := g.Resolve(t.Context(), owner, schema.Resource, configured, "")
		if err != nil {
			t.Fatal(err)
		}
		resolved, secrets, err := g.Configuration(t.Context(), owner, v, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(secrets); got != "[0ther]" { // a plain parameter is not a secret
			t.Errorf("the secrets are %s", got)
		}
		var got any
		if err := json.Unmarshal(resolved, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"ServiceCredentials": map[string]any{"ApiKey": "s3cr3t", "ApplicationKey": "a-s3cr3t-0thers3cr3t"}, "Mode": "fast"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		_, _, err = g.Configuration(t.Context(), owner, v, "second")
		refused(t, err, "ParameterNotFound", "There is no ssm value /missing.")
		if none, _, err := g.Configuration(t.Context(), owner, v, "third"); err != nil || string(none) != "null" {
			t.Errorf("%s, %v", none, err)
		}

		hookARN := "arn:aws:cloudformation:eu-west-1:123456789012:type/hook/LocalStack-Testing-TestHook"
		batch, err := g.BatchDescribeTypeConfigurations(t.Context(), owner, &cloudformation.BatchDescribeTypeConfigurationsInput{TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{
			{TypeArn: &arn},
			{TypeArn: &hookARN},
			{TypeConfigurationArn: aws.String(configurationARN + "second")},
			{TypeConfigurationArn: aws.String(configurationARN + "third")},
			{Type: "RESOURCE", TypeName: aws.String("Acme::Test::Unknown")},
			{TypeArn: aws.String("nonsense")},
			{TypeConfigurationAlias: aws.String("default")},
			{TypeArn: aws.String("arn:aws:cloudformation:eu-west-1:210987654321:type/resource/Acme-Test-Configured")},
		}})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range batch.TypeConfigurations {
			lines = append(lines, fmt.Sprintf("%s %s %s %s %t", *c.Alias, *c.Arn, *c.TypeArn, *c.Configuration, c.LastUpdated != nil))
		}
		for _, e := range batch.Errors {
			lines = append(lines, fmt.Sprintf("%s: %s", *e.ErrorCode, *e.ErrorMessage))
		}
		if diff := cmp.Diff([]string{
			"default " + configurationARN + "default " + arn + " " + text + " true",
			"default arn:aws:cloudformation:eu-west-1:123456789012:type-configuration/hook/LocalStack-Testing-TestHook/default " + hookARN + " {} false",
			"second " + configurationARN + "second " + arn + ` {"ServiceCredentials": {"ApiKey": "{{resolve:ssm:/missing}}"}} true`,
			"TypeConfigurationNotFoundException: The type 'Acme::Test::Configured' has no configuration with the alias 'third'.",
			"TypeNotFoundException: The type 'Acme::Test::Unknown' cannot be found.",
			"CFNRegistryException: TypeName is invalid",
			"CFNRegistryException: Either Arn, or Type and TypeName, must be specified.",
			"TypeNotFoundException: The type 'Acme::Test::Configured' cannot be found.",
		}, lines); diff != "" {
			t.Error(diff)
		}

		// A type that is registered again must not get the secrets of the one before.
		if _, err := g.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Arn: &arn}); err != nil {
			t.Fatal(err)
		}
		refused(t, g.configure(schema.Resource, configured, text), "TypeNotFoundException", configured)
		g.register(owner, schema.Resource, configured, "s3://b/k")
		if left, _, err := g.Configuration(t.Context(), owner, v, ""); err != nil || string(left) != "null" {
			t.Errorf("left over: %s, %v", left, err)
		}
		if strings.Contains(g.log.text(), "s3cr3t") {
			t.Error("the log has a secret")
		}
	})
}

func TestBatchDescribeTypeConfigurationsRefusals(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	const recorded = "1 validation error detected: Value null at 'typeConfigurationIdentifiers' failed to satisfy constraint: Member must not be null"
	for _, identifiers := range [][]types.TypeConfigurationIdentifier{nil, {}, {{}}} {
		_, err := g.BatchDescribeTypeConfigurations(t.Context(), owner, &cloudformation.BatchDescribeTypeConfigurationsInput{TypeConfigurationIdentifiers: identifiers})
		refused(t, err, "ValidationError", recorded)
	}
	many := make([]types.TypeConfigurationIdentifier, maxIdentifiers+3)
	for i := range many {
		many[i].TypeName, many[i].Type = aws.String(fmt.Sprintf("Acme::Test::T%d", i)), "RESOURCE"
	}
	out, err := g.BatchDescribeTypeConfigurations(t.Context(), owner, &cloudformation.BatchDescribeTypeConfigurationsInput{TypeConfigurationIdentifiers: many})
	if err != nil || len(out.Errors) != maxIdentifiers || len(out.UnprocessedTypeConfigurations) != 3 || out.TypeConfigurations == nil {
		t.Errorf("%d errors, %d unprocessed, %v", len(out.Errors), len(out.UnprocessedTypeConfigurations), err)
	}
}

// TestHookReferences: references inside of a hook's own schema lead to where its
// definitions stand in the schema around it.
func TestHookReferences(t *testing.T) {
	const own = `{"typeName": "A::B::C", "additionalProperties": false, "properties": {"Port": {"$ref": "#/definitions/Port"}}, "definitions": {"Port": {"type": "integer", "maximum": 65535}}}`
	v := &Version{Kind: schema.Hook, TypeName: "A::B::C", SchemaName: "A::B::C", Place: awswire.Place{Region: "eu-west-1"}, ConfigurationSchema: own}
	configuration := func(port string) string {
		return `{"CloudFormationConfiguration": {"HookConfiguration": {"TargetStacks": "ALL", "FailureMode": "FAIL", "Properties": {"Port": ` + port + `}}}}`
	}
	if err := checkConfiguration(v, configuration("443")); err != nil {
		t.Error(err)
	}
	refused(t, checkConfiguration(v, configuration("70000")), "CFNRegistryException", "/CloudFormationConfiguration/HookConfiguration/Properties/Port: ")
	text, err := describedConfigurationSchema(schema.Hook, "A::B::C", "", `eu"west`)
	if err != nil || !json.Valid([]byte(text)) || strings.Contains(text, "@") {
		t.Errorf("of a hook without properties: %s, %v", text, err)
	}
}

func FuzzCheckReferences(f *testing.F) {
	f.Add("{{resolve:ssm:/a/b:3}}")
	f.Add("x{{resolve:secretsmanager:a:SecretString:b::}}{{resolve:ssm-secure:c}}")
	f.Add("{{resolve:{{resolve:ssm:a}}}}")
	g := New(Config{})
	f.Fuzz(func(t *testing.T, text string) {
		if checkReferences(text) != nil {
			return
		}
		// What is taken can be resolved: nothing that looks like a reference is left as it is.
		asked := 0
		g.config.Resolve = func(context.Context, awswire.Caller, string, string) (string, error) { asked++; return "", nil }
		out, _, err := g.resolveReferences(t.Context(), awswire.Caller{}, map[string]any{"a": text})
		if err != nil || strings.Contains(text, "{{resolve:") && asked == 0 {
			t.Errorf("%q: %v, %v", text, out, err)
		}
	})
}
