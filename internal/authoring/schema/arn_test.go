package schema_test

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func TestTypeARN(t *testing.T) {
	publisher := strings.Repeat("0123456789", 4)
	for text, want := range map[string]schema.TypeARN{
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res":                    {"aws", "us-east-1", "123456789012", schema.Resource, "", "Org::Svc::Res", ""},
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/00000001":           {"aws", "us-east-1", "123456789012", schema.Resource, "", "Org::Svc::Res", "00000001"},
		"arn:aws-cn:cloudformation:cn-north-1::type/hook/" + publisher + "/Org-Svc-Res/1.0.0-beta.1": {"aws-cn", "cn-north-1", "", schema.Hook, publisher, "Org::Svc::Res", "1.0.0-beta.1"},
		"arn:aws:cloudformation:us-east-1::type/resource/AWS-S3-Bucket":                              {"aws", "us-east-1", "", schema.Resource, "", "AWS::S3::Bucket", ""},
		"arn:aws:cloudformation:us-east-1:123456789012:type/module/Org-Svc-Res-MODULE":               {"aws", "us-east-1", "123456789012", schema.Module, "", "Org::Svc::Res::MODULE", ""},
	} {
		arn, ok := schema.ParseTypeARN(text)
		if !ok || arn != want || arn.String() != text {
			t.Errorf("%s\n is read as %+v, %t, and written as %s", text, arn, ok, arn)
		}
		if arn.Public() != (want.Account == "") {
			t.Errorf("%s is public: %t", text, arn.Public())
		}
	}
	for _, text := range []string{
		"", "Org::Svc::Res", "arn:aws:s3:::bucket",
		"arn:aws:cloudformation:us-east-1:12345:type/resource/Org-Svc-Res",
		"arn:aws:cloudformation:us-east-1:123456789012:type/stack/Org-Svc-Res",
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc",
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/1/2",
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/1\x00", "arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/\xff",
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res\n",
		"arn:aws:cloudformation:us-east-1:123456789012:type-configuration/resource/Org-Svc-Res/default",
		"arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/" + strings.Repeat("1", 1024),
	} {
		if arn, ok := schema.ParseTypeARN(text); ok {
			t.Errorf("%.100q is read as %+v", text, arn)
		}
	}
}

func TestConfigurationARN(t *testing.T) {
	const text = "arn:aws:cloudformation:us-east-1:123456789012:type-configuration/resource/Org-Svc-Res/default"
	arn, alias, ok := schema.ParseConfigurationARN(text)
	if !ok || alias != "default" || arn.Version != "" || arn.TypeName != "Org::Svc::Res" || arn.Configuration(alias) != text {
		t.Errorf("%+v, %q, %t", arn, alias, ok)
	}
	for _, text := range []string{strings.TrimSuffix(text, "/default"), strings.Replace(text, "type-configuration", "type", 1)} {
		if _, _, ok := schema.ParseConfigurationARN(text); ok {
			t.Errorf("%s is the ARN of a configuration", text)
		}
	}
}

func FuzzTypeARN(f *testing.F) {
	f.Add("arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Acme-Test-Thing/00000001")
	f.Add("arn:aws:cloudformation:eu-west-1::type/resource/0123456789abcdef/Acme-Test-Thing/1.0.0")
	f.Add("arn:aws:cloudformation:eu-west-1:123456789012:type-configuration/hook/Acme-Test-Thing/default")
	f.Fuzz(func(t *testing.T, text string) {
		if arn, ok := schema.ParseTypeARN(text); ok && arn.String() != text {
			t.Errorf("%q is read as %q", text, arn)
		}
		if arn, alias, ok := schema.ParseConfigurationARN(text); ok && arn.Configuration(alias) != text {
			t.Errorf("%q is read as %q", text, arn.Configuration(alias))
		}
	})
}
