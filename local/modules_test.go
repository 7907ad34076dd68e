package local_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/local"
)

// deepModules are the fragments of modules in modules, by their packages. The resource of the
// innermost one has the path Low/Mid/Note in a stack that uses Top as Note.
var deepModules = map[string]string{
	"bottom-1": bottomModule("one"),
	"bottom-2": bottomModule("two"),
	"middle": `
Parameters: {Path: {Type: String}, Text: {Type: String}}
Conditions: {HasText: !Not [!Equals [!Ref Text, ""]]}
Resources:
  Low: {Type: "Acme::Deep::Bottom::MODULE", Condition: HasText, Properties: {Name: !Sub "${Path}/note", Value: !Ref Text}}
  Sibling: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: !Ref Low.Setting}}
`,
	"top": `
Parameters: {Text: {Type: String}}
Mappings: {Paths: {all: {path: /deep}}}
Resources:
  Mid: {Type: "Acme::Deep::Middle::MODULE", Properties: {Path: !FindInMap [Paths, all, path], Text: !Ref Text}}
`,
}

func bottomModule(version string) string {
	return `
Parameters: {Name: {Type: String}, Value: {Type: String}}
Resources:
  Setting: {Type: AWS::SSM::Parameter, Properties: {Type: String, Name: !Ref Name, Value: !Sub "` + version + `: ${Value}"}}
Outputs:
  Name: {Value: !Ref Setting}
`
}

const deepTemplate = `
Parameters: {Text: {Type: String, Default: hello}}
Resources:
  Note: {Type: "Acme::Deep::Top::MODULE", Properties: {Text: !Ref Text}}
  After: {Type: AWS::SSM::Parameter, DependsOn: Note, Properties: {Type: String, Value: !GetAtt Note.Mid.Low.Setting.Value}}
`

// deepPackage is the package of one of the modules.
func deepPackage(t *testing.T, name string) []byte {
	t.Helper()
	kind, _, _ := strings.Cut(name, "-")
	typeName := "Acme::Deep::" + strings.ToUpper(kind[:1]) + kind[1:] + "::MODULE"
	fragment, problems := module.ParseFragment("fragments/f.yaml", name, []byte(deepModules[name]))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return zipped(t,
		entry{name: ".rpdk-config", data: []byte(`{"artifact_type": "MODULE", "typeName": "` + typeName + `", "settings": {"protocolVersion": "2.0.0"}}`)},
		entry{name: "schema.json", data: fragment.Schema(typeName)}, entry{name: "fragments/f.yaml", data: []byte(deepModules[name])})
}

// TestModulesWithTheCLI takes modules in modules through their lives with the AWS CLI.
func TestModulesWithTheCLI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the client of this test is a shell script")
	}
	program(t, "aws", "--version")
	if os.Getenv(clientsVar) == "" {
		t.Skip("skipped: the script takes minutes; it runs with " + clientsVar)
	}
	t.Parallel()
	p := place{url: startWith(t, local.Config{}), account: "777777777777", dir: t.TempDir()}
	for _, name := range []string{"client.sh", "modules.sh"} {
		writeFile(t, filepath.Join(p.dir, name), readFile(t, filepath.Join("testdata", name)))
	}
	for name := range deepModules {
		writeFile(t, filepath.Join(p.dir, name+".zip"), deepPackage(t, name))
	}
	writeFile(t, filepath.Join(p.dir, "modules.yaml"), []byte(deepTemplate))
	if out := p.output(t, "sh", "modules.sh"); !strings.HasSuffix(out, "\ndone\n") {
		t.Errorf("the script does not come to its end:\n%s", out)
	}
}

// TestModulesWithTheCDK deploys, updates and destroys an app that uses the modules as resources and
// in a template that it includes.
func TestModulesWithTheCDK(t *testing.T) {
	cdk := installed(t, "cdk/node_modules/aws-cdk/bin/cdk")
	t.Parallel()
	p, client := deployer(t, "888888888888")
	program(t, "aws", "--version")
	p.output(t, "aws", "s3", "mb", "s3://packages")
	for name := range deepModules {
		writeFile(t, filepath.Join(p.dir, name+".zip"), deepPackage(t, name))
	}
	p.output(t, "aws", "s3", "cp", ".", "s3://packages", "--recursive", "--exclude", "*", "--include", "*.zip", "--no-progress")
	register := func(name string) {
		t.Helper()
		kind, _, _ := strings.Cut(name, "-")
		out := must[*cloudformation.RegisterTypeOutput](t)(client.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{
			Type: types.RegistryTypeModule, TypeName: aws.String("Acme::Deep::" + strings.ToUpper(kind[:1]) + kind[1:] + "::MODULE"), SchemaHandlerPackage: aws.String("s3://packages/" + name + ".zip"),
		}))
		waiter := cloudformation.NewTypeRegistrationCompleteWaiter(client, func(o *cloudformation.TypeRegistrationCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = 100*time.Millisecond, time.Second
		})
		done, err := waiter.WaitForOutput(t.Context(), &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: out.RegistrationToken}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		must[*cloudformation.SetTypeDefaultVersionOutput](t)(client.SetTypeDefaultVersion(t.Context(), &cloudformation.SetTypeDefaultVersionInput{Arn: done.TypeVersionArn}))
	}
	for _, name := range []string{"bottom-1", "middle", "top"} {
		register(name)
	}
	p.cdkApp(t, cdk, filepath.Join("testdata", "cdk-modules.js"))
	writeFile(t, filepath.Join(p.dir, "included.yaml"), []byte("Resources:\n  Low: {Type: 'Acme::Deep::Bottom::MODULE', Properties: {Name: /included/note, Value: from a template}}\n"))
	run := func(value string, args ...string) string {
		t.Helper()
		return p.mustCDK(t, cdk, []string{"VALUE=" + value}, args...)
	}
	parameter := func(name, want string) {
		t.Helper()
		if got := strings.TrimSpace(p.output(t, "aws", "ssm", "get-parameter", "--name", name, "--query", "Parameter.Value", "--output", "text")); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	deploy := []string{"deploy", "--all", "--require-approval", "never"}
	expectOutput(t, run("first", deploy...), "Modules.NoteMidLowName = /deep/note")
	parameter("/deep/note", "one: first")
	parameter("/included/note", "one: from a template")
	register("bottom-2")
	run("second", deploy...)
	expectStacks(t, client, "Modules UPDATE_COMPLETE")
	parameter("/deep/note", "two: second")
	parameter("/included/note", "two: from a template")
	out := must[*cloudformation.DescribeStackResourceOutput](t)(client.DescribeStackResource(t.Context(), &cloudformation.DescribeStackResourceInput{
		StackName: aws.String("Modules"), LogicalResourceId: aws.String("NoteMidLowSetting"),
	}))
	if info := out.StackResourceDetail.ModuleInfo; info == nil || *info.LogicalIdHierarchy != "Low/Mid/Note" {
		t.Errorf("the modules of the resource: %v", info)
	}
	run("second", "destroy", "--all", "--force")
	expectStacks(t, client)
}
