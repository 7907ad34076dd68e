package stacktest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/proving/stacktest"
)

// plant is a template as the CDK writes it, with a wait condition.
const plant = `Parameters:
  Limit: {Type: Number, Default: 3}
Resources:
  LimitA1B2:
    Type: AWS::SSM::Parameter
    Metadata: {"aws:cdk:path": Plant/Limit/Resource}
    Properties: {Type: String, Value: !Ref Limit}
  OwnerC3D4:
    Type: AWS::SSM::Parameter
    Metadata: {"aws:cdk:path": Plant/Owner/Resource}
    Properties: {Type: String, Value: team}
  Handle: {Type: AWS::CloudFormation::WaitConditionHandle}
  Ready:
    Type: AWS::CloudFormation::WaitCondition
    DependsOn: LimitA1B2
    Properties: {Handle: !Ref Handle, Timeout: 43200, Count: 2}
Outputs:
  Name: {Value: !Ref LimitA1B2}
`

// half is a template with one of the resources of plant.
const half = "Resources:\n  OwnerC3D4: {Type: AWS::SSM::Parameter, Metadata: {\"aws:cdk:path\": Plant/Owner/Resource}, Properties: {Type: String, Value: team}}\n"

// TestActions: each action and expectation with a test that passes, and with a fault in the template or in the test that
// it finds.
func TestActions(t *testing.T) {
	signals := "- signal: {at: Handle, times: 2, data: done}\n"
	without := `[{path: /Resources/Handle}, {path: /Resources/Ready}]`
	for _, test := range []struct{ name, suite, fault, instead, want string }{
		{"signals", "steps:\n" + signals + "- deploy: {}\n  expect: {resources: {Ready: {ResourceStatus: CREATE_COMPLETE}}}\n",
			"Timeout: 43200, Count: 2", "Timeout: 1, Count: 3", "expected CREATE_COMPLETE but got ROLLBACK_COMPLETE"},
		{"a signal of failure", "steps:\n- signal: {at: Handle, status: FAILURE, reason: no disk}\n- deploy: {}\n  expect: {StackStatus: ROLLBACK_COMPLETE, reason: {$contains: no disk}}\n",
			"status: FAILURE", "times: 2", `StackStatus: expected "ROLLBACK_COMPLETE" but got "CREATE_COMPLETE"`},
		{"a signal that nothing waits for", "steps:\n" + signals + "- deploy: {}\n", "signal: {at: Handle", "signal: {at: OwnerC3D4", "the signal was not sent: OwnerC3D4 did not wait for it in the step"},
		{"constructs", "steps:\n" + signals + "- deploy: {}\n- update: {Parameters: {Limit: 5}}\n  fail: {at: Plant/Limit/Resource}\n" +
			"  expect: {StackStatus: UPDATE_ROLLBACK_COMPLETE, changes: {Plant/Limit/Resource: Modify}, keeps: [Plant/*/Resource], onlyChanges: [Plant/Limit/Resource], Outputs: {Name: !Ref Plant/Limit/Resource}, calls: [{to: Plant/Limit/Resource, action: UPDATE}], events: [Plant/Limit/Resource UPDATE_FAILED]}\n",
			"Properties: {Type: String, Value: team}", "Properties: {Type: String, Value: !Ref Limit}", "OwnerC3D4: expected no change but got Modify"},
		{"a misspelled construct", "steps:\n" + signals + "- deploy: {}\n  expect: {resources: {Plant/Limit/Resource: {sent: {Value: 3}}}}\n", "resources: {Plant/Limit/Resource", "resources: {Plant/Limt/Resource", `did you mean "Plant/Limit/Resource"?`},
		{"drift of a construct", "steps:\n- deploy: {edit: " + without + "}\n- change: {Plant/Limit/Resource: {Value: 9}}\n- drift: {}\n  expect: {drift: {Plant/Limit/Resource: MODIFIED}}\n", "Plant/Limit/Resource: MODIFIED", "Plant/Limit/Resource: IN_SYNC", "LimitA1B2: expected IN_SYNC but got MODIFIED"},
		{"refactor", "templates: {plant: plant.yaml, half: half.yaml}\nsteps:\n- deploy: {stack: plant, edit: " + without + "}\n" +
			"- refactor: {stacks: {plant: {template: plant, edit: [{path: /Resources/OwnerC3D4}, {path: /Resources/Handle}, {path: /Resources/Ready}]}, half: half}, mappings: {plant.OwnerC3D4: half.OwnerC3D4}}\n  expect: {calls: none}\n" +
			"- drift: {stack: half}\n  expect: {resources: {OwnerC3D4: {PhysicalResourceId: !Ref plant.OwnerC3D4}}}\n- delete: {stack: half}\n  expect: {leftover: none}\n",
			"{path: /Resources/OwnerC3D4}, ", "{path: /Resources/OwnerC3D4}, {path: /Resources/LimitA1B2/Properties/Value, value: 4}, ", "refactor: the request was refused: "},
		{"a refactor that is refused", "templates: {plant: plant.yaml, half: half.yaml}\nsteps:\n- deploy: {stack: plant, edit: " + without + "}\n" +
			"- refactor: {stacks: {plant: plant, half: half}}\n  expect: {error: {code: StackRefactorFailed}}\n", "error: {code: StackRefactorFailed}", "error: {code: Other}", `error.code: expected "Other" but got "StackRefactorFailed"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			head := "stacktest: 1\n"
			if !strings.Contains(test.suite, "templates:") {
				head += "template: plant.yaml\n"
			}
			twins(t, map[string]string{"plant.yaml": plant, "half.yaml": half, "x.stacktest.yaml": head + test.suite}, test.fault, test.instead, test.want, nil)
		})
	}
}

// twins runs a file of tests, which passes, and then with a fault in it or in its template, which it finds.
func twins(t *testing.T, files map[string]string, fault, instead, want string, change func(*stacktest.Config)) {
	t.Helper()
	once := func() (bool, string) {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, problems, err := stacktest.Load("x.stacktest.yaml", filepath.Join(dir, "x.stacktest.yaml"))
		if err != nil || s == nil {
			t.Fatal(errors.Join(err, problems.Err()))
		}
		of := config(t)
		if change != nil {
			change(&of)
		}
		summary, err := stacktest.Run(t.Context(), of, []*stacktest.Suite{s})
		if err != nil {
			t.Fatal(err)
		}
		return summary.OK(), text(summary.All())
	}
	if ok, problems := once(); !ok {
		t.Fatalf("the twin fails:\n%s", problems)
	}
	found := false
	for name, text := range files {
		if strings.Contains(text, fault) {
			files[name], found = strings.Replace(text, fault, instead, 1), true
		}
	}
	if !found {
		t.Fatalf("no file has %q", fault)
	}
	if ok, problems := once(); ok || !strings.Contains(problems, want) {
		t.Errorf("expected %q but got:\n%s", want, problems)
	}
}

// TestHooks: hooks of a message and of rules refuse, and a test says of which resource and why.
func TestHooks(t *testing.T) {
	files := func(suite string) map[string]string {
		return map[string]string{"half.yaml": half, "short.guard": "rule short {\n  Resources.*[ Type == 'AWS::SSM::Parameter' ] {\n    Properties.Value == 'team' <<the value is not team>>\n  }\n}\n", "x.stacktest.yaml": "stacktest: 1\ntemplate: half.yaml\n" + suite}
	}
	for _, test := range []struct {
		name, suite, fault, instead, want string
		guard                             bool
	}{
		{"a message", "hooks: {Acme::Sec::Guard: {fail: not today, targets: ['AWS::SSM::*'], actions: [CREATE]}}\nsteps:\n- deploy: {}\n" +
			"  expect: {StackStatus: ROLLBACK_COMPLETE, calls: none, hooks: {OwnerC3D4: {$contains: not today}}}\n", "fail: not today", "fail: tomorrow", "expected something that contains \"not today\" but got ", false},
		{"another target", "hooks: {Acme::Sec::Guard: {fail: not today, targets: ['AWS::SSM::*']}}\nsteps:\n- deploy: {}\n" +
			"  expect: {StackStatus: ROLLBACK_COMPLETE, hooks: {OwnerC3D4: {HookType: 'Acme::Sec::Guard', HookStatus: HOOK_COMPLETE_FAILED}}}\n", "targets: ['AWS::SSM::*']", "targets: ['AWS::SQS::*']", `StackStatus: expected "ROLLBACK_COMPLETE" but got "CREATE_COMPLETE"`, false},
		{"nothing refuses", "hooks: {Acme::Sec::Guard: {fail: not today, actions: [UPDATE]}}\nsteps:\n- deploy: {}\n  expect: {hooks: none}\n- update: {edit: [{path: /Resources/OwnerC3D4/Properties/Value, value: other}]}\n  expect: {StackStatus: UPDATE_ROLLBACK_COMPLETE, hooks: {OwnerC3D4: {$any: true}}}\n",
			"actions: [UPDATE]", "actions: [CREATE]", "but got ROLLBACK_COMPLETE", false},
		{"rules", "hooks: {Acme::Sec::Guard: {guard: short.guard}}\nsteps:\n- deploy: {}\n  expect: {hooks: none}\n- update: {edit: [{path: /Resources/OwnerC3D4/Properties/Value, value: other}]}\n" +
			"  expect: {StackStatus: UPDATE_ROLLBACK_COMPLETE, hooks: {OwnerC3D4: {$contains: short}}}\n", "Properties.Value == 'team'", "Properties.Value exists", `StackStatus: expected "UPDATE_ROLLBACK_COMPLETE" but got "UPDATE_COMPLETE"`, true},
		{"rules that are missing", "hooks: {Acme::Sec::Guard: {guard: short.guard}}\nsteps: [{deploy: {}}]\n", "guard: short.guard", "guard: long.guard", "there is no file long.guard", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.guard {
				if _, err := exec.LookPath("cfn-guard"); err != nil {
					t.Skip("skipped: cfn-guard is not installed")
				}
			}
			twins(t, files(test.suite), test.fault, test.instead, test.want, func(c *stacktest.Config) { c.Base.Environ = os.Environ() })
		})
	}
}

// TestCall calls a function, whose answer or error a test expects.
func TestCall(t *testing.T) {
	function := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var in struct{ Fail bool }
		if err := json.Unmarshal(event, &in); err != nil {
			t.Error(err)
		}
		if in.Fail {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			fmt.Fprint(w, `{"errorType": "Refused", "errorMessage": "not now"}`)
			return
		}
		fmt.Fprintf(w, `{"event": %s, "n": 7, "none": null}`, event)
	}))
	t.Cleanup(function.Close)
	for _, test := range []struct{ name, step, fault, instead, want string }{
		{"an answer", "call: {function: echo, payload: {name: !Ref OwnerC3D4}}\n  expect: {result: {n: 7, event: {name: !Ref OwnerC3D4}}}", "n: 7", "n: 8", "result.n: expected 8 but got 7"},
		{"null", "call: {function: echo}\n  expect: {result: {none: null}}", "none: null", "n: null", "result.n: expected null but got 7"},
		{"an error", "call: {function: echo, payload: {Fail: true}}\n  expect: {error: {code: Refused, message: not now}}", "Fail: true", "Fail: false", "the request was not refused"},
		{"an unknown function", "call: {function: none}\n  expect: {error: {code: ResourceNotFoundException}}", "function: none", "function: echo", "the request was not refused"},
		{"no function", "call: {function: echo}\n  expect: {result: {n: {$any: true}}}", "call: {function: echo}", "drift: {}", "no function was called: use call"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			suite := "stacktest: 1\ntemplate: half.yaml\nfunctions: {echo: " + function.URL + "}\nsteps:\n- deploy: {}\n- " + test.step + "\n"
			twins(t, map[string]string{"half.yaml": half, "x.stacktest.yaml": suite}, test.fault, test.instead, test.want, nil)
		})
	}
}
