package stacktest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/proving/stacktest"
	"github.com/formwork-dev/formwork/internal/running/builtin"
)

// The schema of a type that is simulated: Name and Engine need another resource, Password is written and never read.
const databaseSchema = `{
  "typeName": "AWS::Test::Database", "description": "A database.", "additionalProperties": false,
  "properties": {
    "Name": {"type": "string"}, "Engine": {"type": "string"}, "Size": {"type": "integer"}, "Subnets": {"type": "array", "insertionOrder": true, "items": {"type": "string"}},
    "Password": {"type": "string"}, "Endpoint": {"type": "string"}
  },
  "required": ["Engine"], "primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name", "/properties/Engine"],
  "readOnlyProperties": ["/properties/Endpoint"], "writeOnlyProperties": ["/properties/Password"],
  "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}
}`

const shop = `Parameters:
  Stage: {Type: String, Default: dev, AllowedValues: [dev, prod]}
  Size: {Type: Number, Default: 3}
  Secret: {Type: String, NoEcho: true, Default: hunter2hunter2}
Conditions:
  IsProd: !Equals [!Ref Stage, prod]
Resources:
  Db:
    Type: AWS::Test::Database
    Properties: {Engine: pg, Size: !Ref Size, Password: !Ref Secret, Subnets: [a, b]}
  Limit:
    Type: AWS::SSM::Parameter
    Properties: {Type: String, Value: !If [IsProd, 100, 10]}
  Alarm:
    Type: AWS::SSM::Parameter
    Condition: IsProd
    DependsOn: Db
    Properties: {Type: String, Value: !GetAtt Db.Endpoint}
  Seed:
    Type: Custom::Seed
    Properties: {ServiceToken: !Sub "arn:aws:lambda:${AWS::Region}:${AWS::AccountId}:function:seed", Table: !Ref Db}
Outputs:
  Db: {Value: !Ref Db, Export: {Name: !Sub "${AWS::StackName}-db"}}
  Rows: {Value: !GetAtt Seed.Rows}
`

// config runs the cases of a test.
func config(t testing.TB) stacktest.Config {
	own, err := builtin.Schemas(false)
	if err != nil {
		t.Fatal(err)
	}
	return stacktest.Config{
		Schema: func(name string) (string, error) {
			if name == "AWS::Test::Database" {
				return databaseSchema, nil
			}
			return own[name], nil
		},
		Extension: func(context.Context, string, string) (*submit.Request, error) {
			return nil, errors.New("no projects here")
		},
		Shown:  func(path string) string { return filepath.Base(path) },
		Getenv: func(string) string { return "" }, Parallel: 2, Logger: slog.New(slog.DiscardHandler),
	}
}

// load writes the files of a test into a folder and reads the suite.
func load(t testing.TB, template, suite string) (*stacktest.Suite, diag.List, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"shop.yaml": template, "shop.stacktest.yaml": suite} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, problems, err := stacktest.Load("shop.stacktest.yaml", filepath.Join(dir, "shop.stacktest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s, problems, dir
}

// run runs a suite and returns all problems as text.
func run(t testing.TB, template, suite string) (*stacktest.Summary, string) {
	t.Helper()
	s, problems, _ := load(t, template, suite)
	if s == nil {
		t.Fatal(problems.Err())
	}
	summary, err := stacktest.Run(t.Context(), config(t), []*stacktest.Suite{s})
	if err != nil {
		t.Fatal(err)
	}
	return summary, text(summary.All())
}

func text(l diag.List) string {
	var b bytes.Buffer
	if err := diag.Print(&b, l, "text"); err != nil {
		return err.Error()
	}
	for _, p := range l {
		for _, n := range p.Related {
			b.WriteString("note: " + n.Message + "\n")
		}
	}
	return b.String()
}

const head = "stacktest: 1\ntemplate: shop.yaml\nfunctions: {seed: {answer: {Data: {Rows: 7}}}}\n"

// TestFaults has a fault put into the template, or into what happens to the stack, and a test that finds it. The twin
// without the fault passes.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name, suite    string
		fault, instead string // in the template
		want           string
	}{
		{"an output of another resource", "steps: [{deploy: {}, expect: {Outputs: {Db: !Ref Db}}}]", "Db: {Value: !Ref Db", "Db: {Value: !Ref Limit", "Outputs.Db: expected "},
		{"a renamed export", "steps: [{deploy: {}, expect: {exports: {t-shop-db: {$any: true}}}}]", `"${AWS::StackName}-db"`, `"${AWS::StackName}-database"`, "exports.t-shop-db: expected a value but got nothing"},
		{"an update that replaces", "steps: [{deploy: {}}, {update: {Parameters: {Size: 5}}, expect: {replaced: none}}]", "Engine: pg", `Engine: !Sub "pg${Size}"`, "Db is replaced because of "},
		{"a resource that is not kept", "steps: [{deploy: {}}, {update: {Parameters: {Size: 5}}, expect: {keeps: [Db]}}]", "Engine: pg", `Engine: !Sub "pg${Size}"`, "Db was "},
		{"more changes than wanted", "steps: [{deploy: {}}, {update: {Parameters: {Size: 5}}, expect: {changes: {Db: Modify}}}]", "[IsProd, 100, 10]", "[IsProd, 100, !Ref Size]", "Limit: expected no change but got Modify because of Value"},
		{"a change that spreads", "steps: [{deploy: {}}, {update: {Parameters: {Size: 5}}, expect: {onlyChanges: [Db]}}]", "[IsProd, 100, 10]", "[IsProd, 100, !Ref Size]", "Limit changes, too (UPDATE)"},
		{"a value that does not arrive", "steps: [{deploy: {Parameters: {Size: 5}}, expect: {resources: {Db: {sent: {Size: 5}}}}}]", "Size: !Ref Size", "Size: 3", `Db.sent.Size: expected 5 but got 3`},
		{"a list in another order", "steps: [{deploy: {}, expect: {resources: {Db: {sent: {Subnets: [a, b]}}}}}]", "[a, b]", "[b, a]", `Db.sent.Subnets[0]: expected "a" but got "b"`},
		{"a missing dependency", "Parameters: {Stage: prod}\nsteps: [{deploy: {}, expect: {events: [Db CREATE_COMPLETE < Alarm CREATE_IN_PROGRESS]}}]\n", "DependsOn: Db\n    Properties: {Type: String, Value: !GetAtt Db.Endpoint}", "Properties: {Type: String, Value: x}", "Db CREATE_COMPLETE comes after Alarm CREATE_IN_PROGRESS"},
		{"a swapped condition", "Parameters: {Stage: prod}\nsteps: [{deploy: {}, expect: {resources: {Alarm: {ResourceStatus: CREATE_COMPLETE}}}}]", "prod]\nResources", "dev]\nResources", "the stack has no resource Alarm"},
		{"a swapped branch", "matrix: {Conditions: {IsProd: [true]}}\nsteps: [{deploy: {}, expect: {resources: {Limit: {sent: {Value: 100}}}}}]", "[IsProd, 100, 10]", "[IsProd, 10, 100]", "Limit.sent.Value: expected 100 but got \"10\""},
		{"a template that is refused for one stage", "matrix: {Parameters: {Stage: '*'}}\nsteps: [{deploy: {}}]", "Value: !GetAtt Db.Endpoint", "Value: !GetAtt Db.Port", "[Stage=prod]: "},
		{"a custom resource called with something else", "steps: [{deploy: {}, expect: {calls: [{to: Seed, action: Create, desired: {Table: !Ref Db}}]}}]", "Table: !Ref Db", "Table: !Ref Limit", "desired.Table: expected "},
		{"an attribute that the function does not return", "steps: [{deploy: {}}]", "Seed.Rows", "Seed.Count", "CREATE_COMPLETE but got "},
		{"a resource that nothing covers", "coverage: {resources: 75}\nsteps: [{deploy: {}}]", "  Limit:\n", "  More: {Type: AWS::SSM::Parameter, Condition: IsProd, Properties: {Type: String, Value: x}}\n  Limit:\n", "60% of the resources are covered"},
		{"a fixed name in two stacks", "steps: [{deploy: {stack: one}}, {deploy: {stack: two}}]", "Engine: pg,", "Engine: pg, Name: shop,", "deploy: expected CREATE_COMPLETE but got "},
		{"an unknown property", "steps: [{deploy: {}}]", "Size: !Ref Size", "Sise: !Ref Size", "Sise"},
		{"a parameter without a value", "steps: [{deploy: {}}]", "Size: {Type: Number, Default: 3}", "Size: {Type: Number}", "Size"},
		{"a value that a parameter allows no more", "steps: [{deploy: {Parameters: {Stage: prod}}}]", "[dev, prod]", "[dev, live]", "Stage"},
		{"an update that becomes a replacement", "steps: [{deploy: {}}, {update: {Parameters: {Size: 5}}, fail: {at: Db, action: UPDATE}, expect: {StackStatus: UPDATE_ROLLBACK_COMPLETE}}]", "Engine: pg", `Engine: !Sub "pg${Size}"`, `StackStatus: expected "UPDATE_ROLLBACK_COMPLETE" but got "UPDATE_COMPLETE"`},
		{"a resource that is not retained", "steps: [{deploy: {}}, {delete: {}, expect: {events: [Limit DELETE_COMPLETE]}}]", "  Limit:\n    Type", "  Limit:\n    DeletionPolicy: Retain\n    Type", "there is no event Limit DELETE_COMPLETE"},
		{"drift of what should be left alone", "steps:\n- deploy: {}\n- change: {Limit: {Value: 99}}\n- {drift: {}, expect: {drift: {Limit: {PropertyDifferences: [{PropertyPath: /Value, ExpectedValue: 10}]}}}}", "[IsProd, 100, 10]", "[IsProd, 100, 11]", "ExpectedValue: expected 10 but got \"11\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if n := strings.Count(test.suite, "\n"); n > 12 {
				t.Fatalf("the test has %d lines", n)
			}
			if !strings.Contains(shop, test.fault) {
				t.Fatalf("the template has no %q", test.fault)
			}
			if summary, problems := run(t, shop, head+test.suite); !summary.OK() {
				t.Fatalf("the twin fails:\n%s", problems)
			}
			summary, problems := run(t, strings.Replace(shop, test.fault, test.instead, 1), head+test.suite)
			if summary.OK() || !strings.Contains(problems, test.want) {
				t.Fatalf("expected %q but got:\n%s", test.want, problems)
			}
			if strings.Contains(problems, "hunter2") {
				t.Errorf("a secret is shown:\n%s", problems)
			}
		})
	}
}

// TestCases run and pass: what a step can do, and every expectation.
func TestCases(t *testing.T) {
	suite, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	summary, problems := run(t, shop, string(suite))
	if !summary.OK() {
		t.Fatal(problems)
	}
	if passed, _, skipped := summary.Count(); passed < 14 || skipped != 1 {
		t.Errorf("%d passed, %d skipped", passed, skipped)
	}
	if k := summary.Kinds; k.Simulated != 1 || k.BuiltIn < 2 {
		t.Errorf("kinds: %+v", k)
	}
}

// TestSelection: the coverage of a file is demanded only if all of its cases run.
func TestSelection(t *testing.T) {
	s, problems, _ := load(t, shop, head+"coverage: {resources: 100}\ncases:\n  dev: {steps: [{deploy: {}}]}\n  prod: {steps: [{deploy: {Parameters: {Stage: prod}}}]}\n")
	if s == nil {
		t.Fatal(problems.Err())
	}
	of := config(t)
	of.Selected = func(_, name string) bool { return name == "dev" }
	summary, err := stacktest.Run(t.Context(), of, []*stacktest.Suite{s})
	if err != nil || !summary.OK() || summary.Coverage[0].Counts["resources"].Covered != 3 {
		t.Fatalf("%v\n%s", err, text(summary.All()))
	}
}

// TestGolden: golden files are written on request only, are the same for each run, have no secrets, and a difference fails.
func TestGolden(t *testing.T) {
	s, problems, dir := load(t, shop, head+"steps: [{deploy: {}}, {update: {Parameters: {Size: 5, Secret: swordfish1}}, expect: {plan: golden/size.json}}]")
	if s == nil {
		t.Fatal(problems.Err())
	}
	of := config(t)
	check := func(want string) {
		t.Helper()
		summary, err := stacktest.Run(t.Context(), of, []*stacktest.Suite{s})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(summary.All()); want == "" && got != "" || !strings.Contains(got, want) {
			t.Fatalf("expected %q but got:\n%s", want, got)
		}
	}
	check("there is no file golden/size.json; run with --update to write it")
	of.WriteFile = func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }
	check("")
	of.WriteFile = nil
	check("")
	file := filepath.Join(dir, "golden", "size.json")
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(golden), "swordfish") || strings.Contains(string(golden), "hunter2") {
		t.Errorf("a secret is in the golden file:\n%s", golden)
	}
	if err := os.WriteFile(file, bytes.Replace(golden, []byte(`"5"`), []byte(`"6"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	check("the changes are not those in golden/size.json")
}

// TestGoldenNames: an identifier that another one begins with is not taken for it.
func TestGoldenNames(t *testing.T) {
	const template = `Parameters: {N: {Type: Number, Default: 3}}
Resources:
  Limit: {Type: AWS::SSM::Parameter, Properties: {Name: /shop/limit, Type: String, Value: x}}
  Limits: {Type: AWS::SSM::Parameter, DependsOn: Limit, Properties: {Name: /shop/limits, Type: String, Value: x}}
  Text: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: !Sub "${Limits} ${N}"}}
`
	s, problems, dir := load(t, template, "stacktest: 1\ntemplate: shop.yaml\nsteps: [{deploy: {}}, {update: {Parameters: {N: 5}}, expect: {plan: plan.json}}]")
	if s == nil {
		t.Fatal(problems.Err())
	}
	of := config(t)
	of.WriteFile = func(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }
	if _, err := stacktest.Run(t.Context(), of, []*stacktest.Suite{s}); err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil || !strings.Contains(string(golden), `"BeforeValue": "<Limits> 3"`) {
		t.Errorf("%v\n%s", err, golden)
	}
}

// TestRetained: what a stack retains is not left over, also if a transform has made it.
func TestRetained(t *testing.T) {
	const template = `Transform: AWS::LanguageExtensions
Resources:
  Fn::ForEach::Limits:
  - Of
  - [One, Two]
  - Limit${Of}: {Type: AWS::SSM::Parameter, DeletionPolicy: Retain, Properties: {Type: String, Value: x}}
`
	if summary, problems := run(t, template, "stacktest: 1\ntemplate: shop.yaml\nsteps: [{deploy: {}}]"); !summary.OK() {
		t.Error(problems)
	}
}

// TestLoad: what is wrong with a file is reported with its place, all in one run.
func TestLoad(t *testing.T) {
	for _, test := range []struct{ name, suite, want string }{
		{"empty", "", "the document is empty"},
		{"no version", "template: a\nsteps: [{deploy: {}}]", "stacktest is missing in a file of stack tests"},
		{"a template", shop, "shop.stacktest.yaml:1:1: error: shop.stacktest.yaml is a template, not a file of stack tests [stacktest/required]\n    hint: write a file that begins with \"stacktest: 1\""},
		{"version", "stacktest: 2\ntemplate: a\nsteps: [{deploy: {}}]", `shop.stacktest.yaml:1:12: error: the version of the format is "2"`},
		{"unknown key", head + "stepps: []", `4:1: error: a file of stack tests has no key "stepps"`},
		{"near miss", head + "stepps: []", `did you mean "steps"?`},
		{"unknown expectation", head + "steps: [{deploy: {}, expect: {Output: {A: 1}}}]", `expect has no key "Output"`},
		{"unknown matcher", head + "steps: [{deploy: {}, expect: {Outputs: {A: {$matchs: x}}}}]", "there is no matcher $matchs"},
		{"bad pattern", head + "steps: [{deploy: {}, expect: {Outputs: {A: {$matches: '('}}}}]", "error parsing regexp"},
		{"matcher beside keys", head + "steps: [{deploy: {}, expect: {Outputs: {A: {$any: true, b: 1}}}}]", "the matcher $any is beside other keys"},
		{"no action", head + "steps: [{expect: {}}]", "the step has no action"},
		{"two actions", head + "steps: [{deploy: {}, delete: {}}]", "a step has one action"},
		{"no steps", head, "the file tests nothing"},
		{"no template", "stacktest: 1\nsteps: [{deploy: {}}]", "no template is named"},
		{"bad change", head + "steps: [{update: {}, expect: {changes: {A: Replaced}}}]", `a change is "Replaced"`},
		{"bad event", head + "steps: [{deploy: {}, expect: {events: [CREATE_COMPLETE]}}]", `"CREATE_COMPLETE" is not a logical ID and a status`},
		{"bad fault", head + "steps: [{deploy: {}, fail: {action: CREATE}}]", "at is missing in fail"},
		{"bad delay", head + "steps: [{deploy: {}, delay: {Db: 1}}]", "a delay is a duration of at most 1h"},
		{"kill at the end", head + "steps: [{deploy: {}}, {kill: {at: Db}}]", "kill is the last step"},
		{"type from nowhere", head + "types: {A::B::C: {}}\nsteps: [{deploy: {}}]", "a type does not say what it is, or says it more than once"},
		{"pattern of a project", head + "types: {'A::*': {project: x}}\nsteps: [{deploy: {}}]", "a project or a package is one type"},
		{"several", head + "a: 1\nb: 2\nsteps: [{deploy: {}}]", `no key "b"`},
		{"cases and steps", head + "cases: {a: {steps: [{deploy: {}}]}}\nsteps: [{deploy: {}}]", "either cases or steps"},
		{"deep", "stacktest: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "nest"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, problems, _ := load(t, shop, test.suite)
			if got := text(problems); s != nil || !strings.Contains(got, test.want) {
				t.Errorf("expected %q but got:\n%s", test.want, got)
			}
		})
	}
}

// TestRefusals: what keeps a file or a case from running is said, and does not stop the others.
func TestRefusals(t *testing.T) {
	for _, test := range []struct{ name, suite, want string }{
		{"no template file", "stacktest: 1\ntemplate: none.yaml\nsteps: [{deploy: {}}]", "there is no file none.yaml"},
		{"no parameter", head + "matrix: {Parameters: {None: [a]}}\nsteps: [{deploy: {}}]", "the template has no parameter None"},
		{"no condition", head + "matrix: {Conditions: {None: [true]}}\nsteps: [{deploy: {}}]", "the template has no condition None"},
		{"no allowed values", head + "matrix: {Parameters: {Size: '*'}}\nsteps: [{deploy: {}}]", "the parameter Size has no AllowedValues"},
		{"nothing left", head + "matrix: {Parameters: {Size: [1]}, exclude: [{Size: 1}]}\nsteps: [{deploy: {}}]", "the matrix has no variant"},
		{"update of nothing", head + "steps: [{update: {}}]", "there is no stack t-shop yet; deploy it first"},
		{"edit of nothing", head + "steps: [{deploy: {edit: [{path: /Resources/None/Properties, value: 1}]}}]", "the template has no /Resources/None/Properties"},
		{"unknown resource", head + "steps: [{deploy: {}}, {change: {None: deleted}}]", "has no resource None"},
		{"never called", head + "steps: [{kill: {at: None}}, {deploy: {}}]", "the server was not killed: None was not called in the step"},
		{"no change set", head + "steps: [{deploy: {}}, {execute: {}}]", "has no change set; make one with changeSet"},
		{"project", head + "types: {A::B::C: {project: x}}\nsteps: [{deploy: {}}]", "no projects here"},
		{"app", "stacktest: 1\ncdk: {dir: x}\nsteps: [{deploy: {}}]", "CDK apps are not run here"},
		{"misspelled resource", head + "steps: [{deploy: {}}, {update: {Parameters: {Size: 5}}, expect: {changes: {Dbb: Modify, '*': ignore}}}]", "hint: did you mean \"Db\"?"},
		{"misspelled resource that is kept", head + "steps: [{deploy: {}}, {update: {}, expect: {keeps: [Limt]}}]", "hint: did you mean \"Limit\"?"},
		{"unknown type", head + "steps: [{deploy: {edit: [{path: /Resources/Db/Type, value: Acme::None::None}]}}]", "hint: name a project of the type below types"},
		{"fault of nothing", head + "steps: [{deploy: {}, fail: {at: Limt}}]", "no resource has the name Limt: nothing can fail there [stacktest/expectation]\n    hint: did you mean \"Limit\"?"},
		{"delay of nothing", head + "steps: [{deploy: {}, delay: {Db: 1s, Limt: 5m}}]", "no resource has the name Limt: nothing can be delayed there"},
		{"change of nothing", head + "steps: [{change: {Limit: deleted}}]", "there is no stack t-shop yet; deploy it first"},
		{"too many parameters", head + "matrix: {Parameters: {Size: [" + strings.Repeat("1, ", 1001) + "]}}\nsteps: [{deploy: {}}]", "the matrix has more than 1000 variants"},
		{"too many conditions", head + "matrix: {Conditions: {IsProd: [" + strings.Repeat("true, ", 1001) + "]}}\nsteps: [{deploy: {}}]", "the matrix has more than 1000 variants"},
		{"unexpected refusal", head + "steps: [{deploy: {Parameters: {None: x}}}]", "deploy: the request was refused: "},
		{"unexpected success", head + "steps: [{deploy: {}, expect: {error: {code: ValidationError}}}]", "the request was not refused; the stack is in CREATE_COMPLETE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			summary, problems := run(t, shop, test.suite)
			if summary.OK() || !strings.Contains(problems, test.want) {
				t.Errorf("expected %q but got:\n%s", test.want, problems)
			}
		})
	}
}

// TestStops: a run that is interrupted ends at once, and leaves no folder.
func TestStops(t *testing.T) {
	temporary := t.TempDir()
	s, problems, _ := load(t, shop, head+"cases:\n  slow: {steps: [{deploy: {}, delay: {Db: 1h}}]}\n  quick: {steps: [{deploy: {}}]}\n  never: {steps: [{deploy: {}}]}\n")
	if s == nil {
		t.Fatal(problems.Err())
	}
	t.Setenv("TMPDIR", temporary)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	of := config(t)
	of.Done = func(r *stacktest.Result) {
		if r.Case == "quick" {
			stop()
		}
	}
	summary, err := stacktest.Run(ctx, of, []*stacktest.Suite{s})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if r := summary.Results[0]; r.Err == nil && r.Problems == nil {
		t.Error("the slow case was not interrupted")
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestReports: counts, JUnit and JSON say the same.
func TestReports(t *testing.T) {
	summary, _ := run(t, shop, head+"cases:\n  good: {steps: [{deploy: {}}]}\n  bad: {steps: [{deploy: {}, expect: {Outputs: {Rows: 8}}}]}\n  stuck: {steps: [{execute: {}}]}\n  later: {skip: not yet, steps: [{deploy: {}}]}\n")
	if passed, failed, skipped := summary.Count(); passed != 1 || failed != 2 || skipped != 1 {
		t.Fatal(passed, failed, skipped)
	}
	var junit, report bytes.Buffer
	again := func(r *stacktest.Result) string {
		return r.Again(func(s string) string { return fmt.Sprintf("%q", s) })
	}
	if err := errors.Join(summary.WriteJUnit(&junit, again), summary.WriteJSON(&report)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tests="4" failures="1" errors="1" skipped="1"`, `name="bad"`, `message="Outputs.Rows: expected 8 but got &#34;7&#34;"`, `message="not yet"`, `cfn stack test &#34;shop.stacktest.yaml&#34; --case &#34;bad&#34;`,
	} {
		if !strings.Contains(junit.String(), want) {
			t.Errorf("the JUnit report has no %s:\n%s", want, junit.String())
		}
	}
	for _, want := range []string{`"passed": 1`, `"failed": 2`, `"status": "skipped"`, `"builtIn": 2`, `"id": "stacktest/expectation"`, `"line": 6`} {
		if !strings.Contains(report.String(), want) {
			t.Errorf("the JSON report has no %s:\n%s", want, report.String())
		}
	}
}

// FuzzLoad: no file makes the reader fail.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(head + "steps: [{deploy: {}, expect: {changes: {A: Add}}}]"))
	suite, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(suite)
	file := filepath.Join(f.TempDir(), "x.stacktest.yaml")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Skip(err)
		}
		s, problems, err := stacktest.Load("x.stacktest.yaml", file)
		if err == nil && s == nil && !problems.HasErrors() {
			t.Error("no suite and no reason")
		}
	})
}
