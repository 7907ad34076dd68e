package awslite

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestPublicParameters: each name of AWS's documentation has a value of its form, and no other has one.
func TestPublicParameters(t *testing.T) {
	const image, arn = `ami-00000000[0-9a-f]{9}`, `arn:aws:lambda:eu-west-1:\d{12}:layer:`
	b := onSQLite(t, Config{})
	caller := awswire.Caller{Place: home}
	for name, want := range map[string]string{
		"ami-amazon-linux-latest/al2023-ami-kernel-6.1-x86_64":                                image,
		"ami-amazon-linux-latest/al2023-ami-minimal-kernel-default-arm64":                     image,
		"ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2":                                    image,
		"ami-amazon-linux-latest/amzn2-ami-kernel-5.10-hvm-arm64-gp2":                         image,
		"ami-amazon-linux-latest/amzn-ami-hvm-x86_64-gp2":                                     image,
		"ami-windows-latest/Windows_Server-2022-English-Full-SQL_2022_Web":                    image,
		"ami-windows-latest/Windows_Server-2019-Japanese-Full-SQL_2019_Standard":              image,
		"ami-windows-latest/EC2LaunchV2-Windows_Server-2016-English-Full-Base":                image,
		"ami-windows-latest/Windows_Server-2022-English-Full-ECS_Optimized/image_id":          image,
		"ecs/optimized-ami/amazon-linux-2/recommended/image_id":                               image,
		"ecs/optimized-ami/amazon-linux-2023/arm64/recommended/image_id":                      image,
		"ecs/optimized-ami/amazon-linux-2/kernel-5.10/gpu/recommended/image_id":               image,
		"ecs/optimized-ami/amazon-linux-2/amzn2-ami-ecs-hvm-2.0.20231103-x86_64-ebs/image_id": image,
		"ecs/optimized-ami/amazon-linux-2/recommended/ecs_agent_version":                      `0\.0\.0`,
		"eks/optimized-ami/1.29/amazon-linux-2-gpu/recommended/image_id":                      image,
		"eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/recommended/release_version": `0\.0\.0`,
		"bottlerocket/aws-k8s-1.33-nvidia/x86_64/latest/image_id":                             image,
		"canonical/ubuntu/eks-pro/22.04/1.29/stable/current/amd64/hvm/ebs-gp2/ami-id":         image,
		"canonical/ubuntu/server/22.04/stable/20240101/arm64/hvm/ebs-gp3/ami-id":              image,
		"debian/release/10/latest/amd64":                                                      image,
		"cloud9/amis/amazonlinux-2-x86_64":                                                    image,
		"powertools/python/arm64/python3.12/latest":                                           arn + `AWSLambdaPowertoolsPythonV3-python312-arm64:1`,
		"powertools/typescript/generic/all/latest":                                            arn + `AWSLambdaPowertoolsTypeScriptV2:1`,
		"aws-for-fluent-bit/2.32.0":                                                           `\d{12}\.dkr\.ecr\.eu-west-1\.amazonaws\.com/aws-for-fluent-bit:2\.32\.0`,
		"global-infrastructure/current-region":                                                region,
		"global-infrastructure/regions/us-gov-west-1":                                         `us-gov-west-1`,
		"global-infrastructure/regions/us-gov-west-1/partition":                               `aws-us-gov`,
		"global-infrastructure/regions/cn-north-1/domain":                                     `amazonaws\.com\.cn`,
		"global-infrastructure/regions/sa-east-1/longName":                                    `South America \(Sao Paulo\)`,
		"global-infrastructure/regions/xx-nowhere-1":                                          "",
		"ami-amazon-linux-latest/al2023-ami-kernel-9.9-riscv":                                 "",
		"ami-amazon-linux-latest/al2023-ami-kernel-6.1-x86_64/x":                              "",
		"no-family/x": "",
		"":            "",
	} {
		value, _, err := b.Parameter(t.Context(), caller, publicPrefix+name, false)
		if want == "" {
			if codeOf(err) != "ParameterNotFound" {
				t.Errorf("%s: %q, %v", name, value, err)
			}
			continue
		}
		if err != nil || !regexp.MustCompile("^(?:"+want+")$").MatchString(value) {
			t.Errorf("%s: %q, %v; want %s", name, value, err, want)
		}
		again, err := b.Resolve(t.Context(), caller, "ssm", publicPrefix+name+":1")
		if err != nil || again != value {
			t.Errorf("%s in a dynamic reference: %q, %v; want %q", name, again, err, value)
		}
	}
	text, _, err := b.Parameter(t.Context(), caller, publicPrefix+"ecs/optimized-ami/amazon-linux-2/recommended", false)
	var fields map[string]string
	if err != nil || json.Unmarshal([]byte(text), &fields) != nil {
		t.Fatalf("the description of an image: %s, %v", text, err)
	}
	if one, _, err := b.Parameter(t.Context(), caller, publicPrefix+"ecs/optimized-ami/amazon-linux-2/recommended/image_id", false); err != nil || one != fields["image_id"] {
		t.Errorf("image_id is %q, %v; the description says %q", one, err, fields["image_id"])
	}
	if _, _, err := b.Parameter(t.Context(), caller, publicPrefix+"debian/release/10/latest/amd64:2", false); codeOf(err) != "ParameterVersionNotFound" {
		t.Errorf("a second version: %v", err)
	}
	elsewhere := caller
	elsewhere.Region = "us-west-2"
	here, _, _ := b.Parameter(t.Context(), caller, publicPrefix+"debian/release/10/latest/amd64", false)
	if there, _, err := b.Parameter(t.Context(), elsewhere, publicPrefix+"debian/release/10/latest/amd64", false); err != nil || there == here {
		t.Errorf("another region has the same image %q, %v", there, err)
	}
}

// TestPublicParameterClients: the operations of the service have public parameters, with the values of
// the configuration in place of made-up ones.
func TestPublicParameterClients(t *testing.T) {
	const own, other = "/aws/service/debian/release/12/latest/amd64", "/aws/service/acme/one"
	b := onSQLite(t, Config{PublicParameters: map[string]string{own: "ami-0123", other: "text"}})
	c, ctx := ssm.NewFromConfig(b.config(account)), t.Context()
	one, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: new(own)})
	ok(t, err)
	if p := one.Parameter; *p.Value != "ami-0123" || *p.DataType != "aws:ec2:image" || *p.ARN != "arn:aws:ssm:eu-west-1::parameter"+own || p.Version != 1 {
		t.Errorf("got %+v", p)
	}
	byARN, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: one.Parameter.ARN})
	ok(t, err)
	if *byARN.Parameter.Name != own {
		t.Errorf("by its ARN: %s", *byARN.Parameter.Name)
	}
	several, err := c.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{other, "/aws/service/acme/two"}})
	ok(t, err)
	if len(several.Parameters) != 1 || *several.Parameters[0].Value != "text" || *several.Parameters[0].DataType != "text" || !slices.Equal(several.InvalidParameters, []string{"/aws/service/acme/two"}) {
		t.Errorf("got %+v", several)
	}
	var names []string
	pages := ssm.NewGetParametersByPathPaginator(c, &ssm.GetParametersByPathInput{Path: aws.String("/aws/service"), Recursive: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		ok(t, err)
		for _, p := range page.Parameters {
			names = append(names, *p.Name)
			if *p.Value == "" || strings.Contains(*p.ARN, account) {
				t.Errorf("%s is %q, %s", *p.Name, *p.Value, *p.ARN)
			}
		}
	}
	if !slices.Equal(names, b.publicNames()) || len(names) < 80 {
		t.Errorf("a list has %d names, want %d", len(names), len(b.publicNames()))
	}
	below, err := c.GetParametersByPath(ctx, &ssm.GetParametersByPathInput{Path: aws.String("/aws/service/acme")})
	ok(t, err)
	if len(below.Parameters) != 1 || *below.Parameters[0].Name != other {
		t.Errorf("below /aws/service/acme: %+v", below.Parameters)
	}
	if _, err := c.PutParameter(ctx, &ssm.PutParameterInput{Name: new(other), Value: aws.String("x"), Type: "String"}); codeOf(err) != "AccessDeniedException" {
		t.Errorf("put: %v", err)
	}
}

// codeOf is the code of a refusal, "" for any other error and for none.
func codeOf(err error) string {
	var refusal interface{ ErrorCode() string }
	var own *awswire.Error
	switch {
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, &refusal):
		return refusal.ErrorCode()
	}
	return ""
}

func TestCheckPublicParameter(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"/aws/service/x", "v", ""},
		{"/aws/service/", "v", "is not the name of a public parameter"},
		{"/own/x", "v", "which begins with /aws/service/"},
		{"/aws/service/ä", "v", "is not the name of a public parameter"},
		{"/aws/service/x", "", "has 0 bytes; between 1 and 4096 are allowed"},
		{"/aws/service/x", strings.Repeat("v", 4097), "has 4097 bytes"},
	} {
		err := CheckPublicParameter(test.name, test.value)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s=%.9s: %v", test.name, test.value, err)
		}
	}
}
