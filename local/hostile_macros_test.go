package local_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/local"
)

// hostileMacro answers as its parameter says.
const hostileMacro = `
import os, sys
def lambda_handler(event, context):
    handle = {"Type": "AWS::CloudFormation::WaitConditionHandle"}
    def answer(fragment, **more):
        return {"requestId": event["requestId"], "status": "success", "fragment": fragment, **more}
    def nest(n):
        v = "x"
        for _ in range(n):
            v = {"a": v}
        return v
    again = {"Fn::Transform": {"Name": "Hostile", "Parameters": {"Do": event["params"]["Do"]}}}
    do = event["params"]["Do"]
    if do == "another request":
        return answer({}, requestId="another")
    if do == "no JSON":
        return float("nan")
    if do == "7 MB":
        return answer({"Resources": {"R": handle}, "Metadata": {"x": "y" * (7 << 20)}})
    if do == "2 MB":
        return answer({"Resources": {"R": handle}, "Metadata": {"x": "y" * (2 << 20)}})
    if do == "deep":
        return answer({"Resources": {"R": {**handle, "Metadata": nest(900)}}})
    if do == "1,000 resources":
        return answer({"Resources": {"R%d" % i: handle for i in range(1000)}})
    if do == "itself":
        return answer({"Resources": {"R": {**handle, "Metadata": again}}})
    if do == "itself as a transform":
        return answer({"Transform": {"Name": "Hostile", "Parameters": event["params"]}, "Resources": {"R": handle}})
    if do == "expands":
        v = "x"
        for _ in range(40):
            v = {"Fn::Sub": ["${A}${A}", {"A": v}]}
        return answer({"Resources": {"R": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": v}}}})
    if do == "NUL":
        return answer({"Description": "a\0b", "Resources": {"R": handle}})
    if do == "no template":
        return answer(["R"])
    if do == "names":
        return answer({"Resources": {"../../x\u202e": handle}})
    if do == "ends":
        os._exit(0)
    if do == "prints":
        for _ in range(400):
            sys.stdout.write("x" * 100_000 + "\n")
        os._exit(1)
    if do == "reads":
        return answer({"Resources": {"R": handle}}, status=["success"], errorMessage={"x": 1})
`

// TestHostileMacros runs macros that answer what no macro should: the stack fails with a reason, nothing grows, and the
// server goes on.
func TestHostileMacros(t *testing.T) {
	if exec.Command("python3", "--version").Run() != nil {
		t.Skip("python3 is not installed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(hostileMacro), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serving(t, local.ServerConfig{Config: local.Config{Functions: []string{"hostile=" + dir}}})
	b := &bombed{newClients(t, server.URL()), t, server.URL()}
	if stack := b.create(t, "macros", `{"Resources": {"M": {"Type": "AWS::CloudFormation::Macro", "Properties": {"Name": "Hostile", "FunctionName": "hostile"}}}}`); stack.StackStatus != types.StackStatusCreateComplete {
		t.Fatalf("%+v", stack)
	}
	tests := map[string]string{
		"another request":       "Received malformed response from transform " + account + "::Hostile",
		"no JSON":               "Received malformed response from transform " + account + "::Hostile",
		"7 MB":                  "the reply is too large: 7340217 bytes, the limit is 6291556 bytes",
		"2 MB":                  "Template may not exceed 1000000 bytes in size",
		"deep":                  "Received malformed response",
		"1,000 resources":       "Number of resources, 1000, is greater than maximum allowed, 500",
		"itself":                "transforms nest deeper than 10 levels",
		"itself as a transform": "transforms nest deeper than 10 levels",
		"expands":               "the values of the template exceed 33554432 bytes",
		"NUL":                   "the character U+0000 is not allowed in templates",
		"no template":           "unsupported structure",
		"names":                 "is non alphanumeric",
		"ends":                  "Transform",
		"prints":                "Transform",
		"reads":                 "Received malformed response",
	}
	peak := watchHeap(t)
	for i, do := range slices.Sorted(maps.Keys(tests)) {
		t.Run(do, func(t *testing.T) {
			name, body := fmt.Sprintf("macro-%d", i), encoded(object{"Transform": object{"Name": "Hostile", "Parameters": object{"Do": do}}, "Resources": object{"R": handle}})
			if _, err := b.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body, Capabilities: expanding}); err != nil {
				t.Fatal(err)
			}
			stack := b.ended(t, name)
			reasons := b.reasons(name)
			if stack.StackStatus != types.StackStatusRollbackComplete || !strings.Contains(reasons, tests[do]) || len(reasons) > 64<<10 {
				t.Errorf("%s: %.600s\nwant %s", stack.StackStatus, reasons, tests[do])
			}
			if _, err := b.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: aws.String(name)}); err != nil {
				t.Error(err)
			}
		})
	}
	if most := peak(); most > 256<<20 {
		t.Errorf("the answers took %d MB of memory", most>>20)
	}
	response, err := http.Get(server.URL() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", response.Status)
	}
}
