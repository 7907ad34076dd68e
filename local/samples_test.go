package local_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/local"
)

// sampleRegion is where the image of the WordPress sample is.
const sampleRegion = "us-west-2"

// A sampleStack deploys one of the examples through the aws CLI. Its handlers provision at
// moto's server.
type sampleStack struct {
	*testing.T
	place    place
	emulator string
}

// TestSamples takes stacks of the WordPress and the Kinesis sample through their lives, and
// compares what moto has in between.
func TestSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what builds the examples")
	}
	program(t, "aws", "--version")
	program(t, "moto_server", "--help")
	emulator := startMoto(t)
	url := startWith(t, local.Config{
		Region: sampleRegion, TimeScale: 20,
		HandlerEnv: []string{"AWS_ENDPOINT_URL_EC2=" + emulator, "AWS_ENDPOINT_URL_KINESIS=" + emulator},
	})
	p := place{url: url, account: "123456789012", dir: t.TempDir()}
	for name, live := range map[string]func(sampleStack){"wordpress": sampleStack.wordPress, "kinesis-stream": sampleStack.kinesis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sampleStack{t, p, emulator}
			s.register(name)
			live(s)
		})
	}
}

// register builds an example and registers its type.
func (s sampleStack) register(example string) {
	s.Helper()
	dir := filepath.Join(s.TempDir(), example)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../examples", example))); err != nil {
		s.Fatal(err)
	}
	build := exec.CommandContext(s.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "bin", "bootstrap"), "./cmd")
	build.Dir = filepath.Join("../examples", example)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		s.Fatalf("build the example: %v\n%s", err, out)
	}
	writeFile(s.T, filepath.Join(s.place.dir, example+".zip"), packed(s.T, dir))
	s.aws("s3", "mb", "s3://"+example)
	s.aws("s3", "cp", example+".zip", "s3://"+example+"/handlers.zip", "--only-show-errors")
	token := s.aws("cloudformation", "register-type", "--type", "RESOURCE", "--type-name", map[string]string{
		"wordpress": "Example::Testing::WordPress", "kinesis-stream": "Initech::Kinesis::Stream",
	}[example], "--schema-handler-package", "s3://"+example+"/handlers.zip", "--query", "RegistrationToken", "--output", "text")
	eventually(s, 2*time.Minute, "the registration", func() bool {
		return s.aws("cloudformation", "describe-type-registration", "--registration-token", token, "--query", "ProgressStatus", "--output", "text") == "COMPLETE"
	})
}

// aws runs the CLI against the server and returns what it prints.
func (s sampleStack) aws(args ...string) string {
	s.Helper()
	return strings.TrimSpace(s.place.output(s.T, append([]string{"aws", "--region", sampleRegion}, args...)...))
}

// moto asks the emulator for a list.
func (s sampleStack) moto(args ...string) []string {
	s.Helper()
	out := s.aws(append([]string{"--endpoint-url", s.emulator, "--output", "text"}, args...)...)
	fields := strings.Fields(out)
	slices.Sort(fields)
	return fields
}

func (s sampleStack) want(what string, got []string, want ...string) {
	s.Helper()
	if !slices.Equal(got, want) {
		s.Errorf("%s: %q, expected %q", what, got, want)
	}
}

// wordPress deploys a site, replaces it by one of another name, and deletes it.
func (s sampleStack) wordPress() {
	writeFile(s.T, filepath.Join(s.place.dir, "wordpress.yaml"), []byte(`Parameters:
  SiteName: {Type: String}
  Subnet: {Type: String}
Resources:
  Site:
    Type: Example::Testing::WordPress
    Properties: {Name: !Ref SiteName, SubnetId: !Ref Subnet}
Outputs:
  InstanceId: {Value: !Ref Site}
  Address: {Value: !GetAtt Site.PublicIp}
`))
	running := func() []string {
		return s.moto("ec2", "describe-instances", "--filters", "Name=instance-state-name,Values=running", "--query", "Reservations[].Instances[].[InstanceId,PublicIpAddress,Tags[0].Value]")
	}
	groups := func() int {
		return len(s.moto("ec2", "describe-security-groups", "--filters", "Name=group-name,Values=wordpress-*", "--query", "SecurityGroups[].GroupId"))
	}
	output := func(key string) string {
		return s.aws("cloudformation", "describe-stacks", "--stack-name", "site", "--query", "Stacks[0].Outputs[?OutputKey=='"+key+"'].OutputValue", "--output", "text")
	}
	subnet := s.moto("ec2", "describe-subnets", "--query", "Subnets[0].SubnetId")[0]
	deploy := []string{"cloudformation", "deploy", "--stack-name", "site", "--template-file", "wordpress.yaml", "--parameter-overrides", "Subnet=" + subnet}
	s.aws(append(deploy, "SiteName=MyBlog")...)
	first := output("InstanceId")
	want := []string{first, output("Address"), "MyBlog"}
	slices.Sort(want)
	s.want("the instance after the creation", running(), want...)

	s.aws(append(deploy, "SiteName=OurBlog")...)
	second := output("InstanceId")
	if second == first {
		s.Errorf("the site was not replaced: %s", first)
	}
	want = []string{second, output("Address"), "OurBlog"}
	slices.Sort(want)
	s.want("the instance after the update", running(), want...)
	if n := groups(); n != 1 {
		s.Errorf("%d security groups after the update", n)
	}

	s.aws("cloudformation", "delete-stack", "--stack-name", "site")
	s.aws("cloudformation", "wait", "stack-delete-complete", "--stack-name", "site")
	s.want("the instances after the deletion", running())
	if n := groups(); n != 0 {
		s.Errorf("%d security groups are left", n)
	}
}

// kinesis creates a stream, changes it in place, and deletes it.
func (s sampleStack) kinesis() {
	writeFile(s.T, filepath.Join(s.place.dir, "stream.yaml"), []byte(`Parameters:
  Hours: {Type: Number, Default: 24}
  Team: {Type: String, Default: shop}
Resources:
  Stream:
    Type: Initech::Kinesis::Stream
    Properties: {Name: orders, ShardCount: 2, RetentionPeriodHours: !Ref Hours, Tags: [{Key: team, Value: !Ref Team}]}
Outputs:
  Arn: {Value: !GetAtt Stream.Arn}
`))
	state := func() []string {
		return append(
			s.moto("kinesis", "describe-stream-summary", "--stream-name", "orders", "--query", "StreamDescriptionSummary.[StreamARN,OpenShardCount,RetentionPeriodHours]"),
			s.moto("kinesis", "list-tags-for-stream", "--stream-name", "orders", "--query", "Tags[?Key=='team'].Value")...)
	}
	s.aws("cloudformation", "create-stack", "--stack-name", "orders", "--template-body", "file://stream.yaml")
	s.aws("cloudformation", "wait", "stack-create-complete", "--stack-name", "orders")
	arn := s.aws("cloudformation", "describe-stacks", "--stack-name", "orders", "--query", "Stacks[0].Outputs[0].OutputValue", "--output", "text")
	s.want("the stream after the creation", state(), "2", "24", arn, "shop")

	s.aws("cloudformation", "update-stack", "--stack-name", "orders", "--use-previous-template",
		"--parameters", "ParameterKey=Hours,ParameterValue=48", "ParameterKey=Team,ParameterValue=office")
	s.aws("cloudformation", "wait", "stack-update-complete", "--stack-name", "orders")
	s.want("the stream after the update", state(), "2", "48", arn, "office")

	s.aws("cloudformation", "delete-stack", "--stack-name", "orders")
	s.aws("cloudformation", "wait", "stack-delete-complete", "--stack-name", "orders")
	s.want("the streams after the deletion", s.moto("kinesis", "list-streams", "--query", "StreamNames"))
}
