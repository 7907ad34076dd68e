package awslite

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// publicPrefix is where the parameters that AWS publishes are.
const publicPrefix = "/aws/service/"

// A publicFamily is a set of public parameters: names below /aws/service/ that match one expression.
// Their values are made up, and the same in each run.
type publicFamily struct {
	names  string   // an expression for the whole name
	listed []string // those that GetParametersByPath returns
	value  func(name, region string) string
}

// image is the id of a machine image. The zeros show that no image has it.
func image(name, region string) string {
	sum := sha256.Sum256([]byte(region + "\x00" + name))
	return "ami-00000000" + hex.EncodeToString(sum[:])[:9]
}

// imageFields are the members of the description of an image, which are parameters, too.
func imageFields(name, region string) map[string]any {
	base, _, _ := strings.Cut(name, "/recommended")
	return map[string]any{
		"image_id": image(base, region), "image_name": "made-up-by-cfn-serve", "image_version": "0.0.0", "release_version": "0.0.0", "os": "Linux", "schema_version": "1",
		"ecs_agent_version": "0.0.0", "ecs_runtime_version": "Docker version 0.0.0", "source_image_name": "made-up-by-cfn-serve",
	}
}

// describedImage is the value of an image's description, or of one of its members.
func describedImage(name, region string) string {
	member := name[strings.LastIndex(name, "/")+1:]
	fields := imageFields(strings.TrimSuffix(name, "/"+member), region)
	if value, ok := fields[member].(string); ok {
		return value
	}
	text, err := json.Marshal(imageFields(name, region))
	if err != nil {
		return ""
	}
	return string(text)
}

// layer is the ARN of a layer of functions, by the name of the layer in a parameter's name.
func layer(account, format string) func(name, region string) string {
	return func(name, region string) string {
		parts := strings.Split(name, "/")
		if strings.Contains(format, "%s") {
			return fmt.Sprintf("arn:%s:lambda:%s:%s:layer:%s:1", awswire.PartitionOf(region), region, account,
				fmt.Sprintf(format, strings.ReplaceAll(parts[3], ".", ""), parts[2]))
		}
		return fmt.Sprintf("arn:%s:lambda:%s:%s:layer:%s:1", awswire.PartitionOf(region), region, account, format)
	}
}

const (
	described    = `(/(image_id|image_name|image_version|release_version|os|schema_version|ecs_agent_version|ecs_runtime_version|source_image_name))?`
	architecture = `(x86_64|arm64)`
)

// publicFamilies are the public parameters that exist here.
var publicFamilies = []publicFamily{
	{`ami-amazon-linux-latest/al2023-ami-(minimal-)?kernel-(default|6\.1|6\.12|6\.18)-` + architecture, under("ami-amazon-linux-latest/al2023-ami-kernel-", "default-x86_64", "default-arm64", "6.1-x86_64", "6.1-arm64"), image},
	{`ami-amazon-linux-latest/amzn2-ami-(minimal-)?(kernel-[\d.]+-)?hvm-(x86_64-gp2|x86_64-ebs|arm64-gp2|arm64-ebs)`, under("ami-amazon-linux-latest/amzn2-ami-", "hvm-x86_64-gp2", "hvm-arm64-gp2", "kernel-5.10-hvm-x86_64-gp2", "kernel-5.10-hvm-arm64-gp2"), image},
	{`ami-amazon-linux-latest/amzn-ami-(minimal-)?(hvm|pv)-x86_64-(gp2|ebs|s3)`, under("ami-amazon-linux-latest/amzn-ami-", "hvm-x86_64-gp2", "hvm-x86_64-ebs"), image},
	{`ami-windows-latest/((TPM|EC2LaunchV2)-)?Windows_Server-\d{4}[\w.]*-(\w+-)*(Full|Core)-[\w.-]+` + described, under("ami-windows-latest/Windows_Server-", "2025-English-Full-Base", "2022-English-Full-Base", "2022-English-Core-Base", "2019-English-Full-Base", "2016-English-Full-Base", "2022-English-Full-SQL_2022_Web"), windowsImage},
	{`ecs/optimized-ami/(amazon-linux(-2|-2023)?(/(arm64|gpu|inf|neuron|kernel-[\d.]+))*|windows_server/[\w/.-]+)/(recommended|(amzn|al20)[\w.-]+)` + described, under("ecs/optimized-ami/amazon-linux-", "2/recommended", "2/recommended/image_id", "2023/recommended", "2023/recommended/image_id", "2023/arm64/recommended/image_id"), describedImage},
	{`eks/optimized-ami/\d\.\d+/(amazon-linux-2(-gpu|-arm64)?|amazon-linux-2023/` + architecture + `/(standard|nvidia|neuron))/(recommended|amazon-eks-[\w.-]+)` + described, under("eks/optimized-ami/1.33/amazon-linux-2023/", "x86_64/standard/recommended/image_id", "arm64/standard/recommended/image_id"), describedImage},
	{`bottlerocket/aws-(ecs-\d+|k8s-\d\.\d+|dev)(-nvidia|-fips)*/` + architecture + `/(latest|\d[\w.-]*)/(image_id|image_version)`, under("bottlerocket/aws-", "ecs-2/x86_64/latest/image_id", "k8s-1.33/x86_64/latest/image_id", "k8s-1.33/arm64/latest/image_id"), describedImage},
	{`canonical/ubuntu/[a-z-]+(/[\w.-]+)+/(amd64|arm64)/hvm/(ebs-gp2|ebs-gp3|ebs-ssd|instance-store)/ami-id`, under("canonical/ubuntu/server/", "22.04/stable/current/amd64/hvm/ebs-gp2/ami-id", "24.04/stable/current/amd64/hvm/ebs-gp3/ami-id", "24.04/stable/current/arm64/hvm/ebs-gp3/ami-id"), image},
	{`debian/(release|daily)/\w+/(latest|\d{8}-\d+)/(amd64|arm64)`, under("debian/release/", "12/latest/amd64", "12/latest/arm64", "13/latest/amd64"), image},
	{`suse/[\w./-]+/` + architecture + `/latest`, nil, image},
	{`freebsd/(amd64|arm64)/[\w-]+/(ufs|zfs)/[\d.]+/RELEASE`, nil, image},
	{`marketplace/prod-\w+/[\w.-]+`, nil, image},
	{`deeplearning/ami/` + architecture + `/[\w.-]+/latest/ami-id`, nil, image},
	{`cloud9/amis/[\w.-]+`, under("cloud9/amis/", "amazonlinux-2023-x86_64", "ubuntu-22.04-x86_64"), image},
	{`storagegateway/ami/[A-Z0-9_]+/latest`, nil, image},
	{`ec2-macos/\w+/` + architecture + `_mac/(latest|[\d.-]+)/image_id`, under("ec2-macos/", "sequoia/arm64_mac/latest/image_id"), image},
	{`powertools/python/` + architecture + `/python3\.\d+/latest`, under("powertools/python/", "x86_64/python3.13/latest", "arm64/python3.13/latest"), layer("017000801446", "AWSLambdaPowertoolsPythonV3-%s-%s")},
	{`powertools/typescript/generic/all/latest`, under("powertools/typescript/", "generic/all/latest"), layer("094274105915", "AWSLambdaPowertoolsTypeScriptV2")},
	{`aws-sdk-pandas/\d+\.\d+\.\d+/([a-z0-9-]+/)?py3\.\d+/` + architecture + `/layer-arn`, nil, layer("336392948345", "AWSSDKPandas")},
	{`aws-for-fluent-bit/(stable|latest|\d+\.\d+\.\d+)`, under("aws-for-fluent-bit/", "stable", "latest"), func(name, region string) string {
		return fmt.Sprintf("906394416424.dkr.ecr.%s.amazonaws.com/aws-for-fluent-bit:%s", region, name[strings.LastIndex(name, "/")+1:])
	}},
	{`global-infrastructure/current-region`, under("global-infrastructure/", "current-region"), func(_, region string) string { return region }},
	{`global-infrastructure/regions/[a-z]{2,4}(-[a-z]+)+-\d(/(partition|longName|domain))?`, regionNames(), regionFact},
}

func windowsImage(name, region string) string {
	if strings.Count(name, "/") == 1 && !strings.Contains(name, "ECS_Optimized") && !strings.Contains(name, "EKS_Optimized") {
		return image(name, region)
	}
	return describedImage(name, region)
}

// under adds a prefix to the ends of names.
func under(prefix string, ends ...string) []string {
	for i := range ends {
		ends[i] = prefix + ends[i]
	}
	return ends
}

// regions are the regions of AWS with their long names.
var regions = map[string]string{
	"af-south-1": "Africa (Cape Town)", "ap-east-1": "Asia Pacific (Hong Kong)", "ap-east-2": "Asia Pacific (Taipei)", "ap-northeast-1": "Asia Pacific (Tokyo)",
	"ap-northeast-2": "Asia Pacific (Seoul)", "ap-northeast-3": "Asia Pacific (Osaka)", "ap-south-1": "Asia Pacific (Mumbai)", "ap-south-2": "Asia Pacific (Hyderabad)",
	"ap-southeast-1": "Asia Pacific (Singapore)", "ap-southeast-2": "Asia Pacific (Sydney)", "ap-southeast-3": "Asia Pacific (Jakarta)", "ap-southeast-4": "Asia Pacific (Melbourne)",
	"ap-southeast-5": "Asia Pacific (Malaysia)", "ap-southeast-6": "Asia Pacific (New Zealand)", "ap-southeast-7": "Asia Pacific (Thailand)", "ca-central-1": "Canada (Central)",
	"ca-west-1": "Canada West (Calgary)", "cn-north-1": "China (Beijing)", "cn-northwest-1": "China (Ningxia)", "eu-central-1": "Europe (Frankfurt)", "eu-central-2": "Europe (Zurich)",
	"eu-north-1": "Europe (Stockholm)", "eu-south-1": "Europe (Milan)", "eu-south-2": "Europe (Spain)", "eu-west-1": "Europe (Ireland)", "eu-west-2": "Europe (London)",
	"eu-west-3": "Europe (Paris)", "il-central-1": "Israel (Tel Aviv)", "me-central-1": "Middle East (UAE)", "me-south-1": "Middle East (Bahrain)", "mx-central-1": "Mexico (Central)",
	"sa-east-1": "South America (Sao Paulo)", "us-east-1": "US East (N. Virginia)", "us-east-2": "US East (Ohio)", "us-gov-east-1": "AWS GovCloud (US-East)",
	"us-gov-west-1": "AWS GovCloud (US-West)", "us-west-1": "US West (N. California)", "us-west-2": "US West (Oregon)",
}

func regionNames() []string {
	return under("global-infrastructure/regions/", slices.Sorted(maps.Keys(regions))...)
}

// regionFact is the name of a region, or what is said of it; "" for one that does not exist.
func regionFact(name, _ string) string {
	parts := strings.Split(name, "/")
	region := parts[2]
	switch {
	case regions[region] == "":
		return ""
	case len(parts) == 3:
		return region
	case parts[3] == "partition":
		return awswire.PartitionOf(region)
	case parts[3] == "domain":
		return awswire.DomainOf(region)
	}
	return regions[region]
}

// publicSince is when the made-up parameters were last modified.
var publicSince = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// publicExpressions are those of publicFamilies.
var publicExpressions = sync.OnceValue(func() (out []*regexp.Regexp) {
	for _, family := range publicFamilies {
		out = append(out, regexp.MustCompile("^(?:"+family.names+")$"))
	}
	return out
})

// publicParameter is a public parameter in a region, nil if it does not exist. Those of the
// configuration come first.
func (s *Services) publicParameter(region, name string) *parameterVersion {
	value := s.config.PublicParameters[name]
	if short := strings.TrimPrefix(name, publicPrefix); value == "" {
		for i, expression := range publicExpressions() {
			if expression.MatchString(short) {
				value = publicFamilies[i].value(short, region)
				break
			}
		}
	}
	if value == "" {
		return nil
	}
	v := &parameterVersion{Region: region, Name: name, Version: 1, Type: ssmtypes.ParameterTypeString, Value: value, Tier: ssmtypes.ParameterTierStandard, DataType: "text", ModifiedAt: store.At(publicSince)}
	if strings.HasPrefix(value, "ami-") {
		v.DataType = "aws:ec2:image"
	}
	return v
}

// CheckPublicParameter returns why a public parameter cannot have a value, nil if it can.
func CheckPublicParameter(name, value string) error {
	switch {
	case !strings.HasPrefix(name, publicPrefix) || !parameterName.MatchString(name) || strings.HasSuffix(name, "/"):
		return fmt.Errorf("%q is not the name of a public parameter, which begins with %s", words.Cut(name, 200), publicPrefix)
	case value == "" || len(value) > maxStandardValue:
		return fmt.Errorf("the value of %s has %d bytes; between 1 and %d are allowed", words.Cut(name, 200), len(value), maxStandardValue)
	}
	return nil
}

// publicNames are the names of public parameters that lists return, sorted.
func (s *Services) publicNames() []string {
	names := slices.Collect(maps.Keys(s.config.PublicParameters))
	for _, family := range publicFamilies {
		names = append(names, under(publicPrefix, slices.Clone(family.listed)...)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
