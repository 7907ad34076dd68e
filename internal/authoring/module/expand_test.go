package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// shelf are fragments by the middle of their type: Acme::Name::Part::MODULE.
type shelf map[string]string

func (s shelf) Fragment(_ context.Context, typeName string) (*Fragment, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(typeName, "Acme::"), "::Part::MODULE")
	text, ok := s[name]
	if !ok {
		return nil, nil
	}
	f, problems := ParseFragment(name+".yaml", name+".yaml", []byte(text))
	if problems.HasErrors() {
		return nil, fmt.Errorf("%s: %v", name, problems)
	}
	return f, nil
}

func read(t testing.TB, text string) *document.Value {
	t.Helper()
	root, problems := template.ReadDocument("t.yaml", []byte(text))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return root
}

func compact(v *document.Value) string {
	var b bytes.Buffer
	if err := json.Compact(&b, v.AppendJSON(nil)); err != nil {
		panic(err)
	}
	return b.String()
}

// withoutOrigins removes the notes of the expansion.
func withoutOrigins(root *document.Value) *document.Value {
	resources := &document.Value{Kind: document.Object}
	for _, m := range root.Get("Resources").Distinct() {
		if metadata := m.Value.Get("Metadata"); metadata != nil {
			kept := &document.Value{Kind: document.Object}
			for _, note := range metadata.Distinct() {
				if note.Key != template.ModuleKey {
					kept.Members = append(kept.Members, note)
				}
			}
			m.Value = with(m.Value, "Metadata", kept)
			if len(kept.Members) == 0 {
				plain := &document.Value{Kind: document.Object}
				for _, part := range m.Value.Distinct() {
					if part.Key != "Metadata" {
						plain.Members = append(plain.Members, part)
					}
				}
				m.Value = plain
			}
		}
		resources.Members = append(resources.Members, m)
	}
	return with(root, "Resources", resources)
}

const part = "Acme::%s::Part::MODULE"

func use(id, name, rest string) string {
	return fmt.Sprintf("  %s:\n    Type: "+part+"\n%s", id, name, rest)
}

func TestExpand(t *testing.T) {
	bucket := "Parameters:\n  Name: {Type: String}\nResources:\n  B: {Type: T, Properties: {N: !Ref Name}}\n"
	plain := "Resources:\n  B: {Type: T}\n"
	two := "Resources:\n  A: {Type: T}\n  B: {Type: T, DependsOn: A}\n"
	tests := []struct {
		name, template string
		modules        shelf
		want           string
	}{
		{"a literal", "Resources:\n" + use("M", "X", "    Properties: {Name: n}\n"), shelf{"X": bucket},
			"Resources:\n  MB: {Type: T, Properties: {N: n}}"},
		{"a reference of the template", "Parameters: {P: {Type: String}}\nResources:\n" + use("M", "X", "    Properties: {Name: !Ref P}\n"), shelf{"X": bucket},
			"Parameters: {P: {Type: String}}\nResources:\n  MB: {Type: T, Properties: {N: !Ref P}}"},
		{"a default", "Resources:\n" + use("M", "X", ""), shelf{"X": "Parameters:\n  Name: {Type: String, Default: d, AllowedValues: [x], MinLength: 9}\nResources:\n  B: {Type: T, Properties: {N: !Ref Name}}\n"},
			"Resources:\n  MB: {Type: T, Properties: {N: d}}"},
		{"constraints are not enforced", "Resources:\n" + use("M", "X", "    Properties: {Name: {a: [1]}}\n"), shelf{"X": "Parameters:\n  Name: {Type: Number, MaxValue: 3}\nResources:\n  B: {Type: T, Properties: {N: !Ref Name}}\n"},
			"Resources:\n  MB: {Type: T, Properties: {N: {a: [1]}}}"},
		{"a list", "Resources:\n" + use("M", "X", "    Properties: {Name: 'a, b'}\n"), shelf{"X": "Parameters:\n  Name: {Type: CommaDelimitedList}\nResources:\n  B: {Type: T, Properties: {N: !Ref Name}}\n"},
			"Resources:\n  MB: {Type: T, Properties: {N: [a, b]}}"},
		{"a dynamic reference", "Resources:\n" + use("M", "X", "    Properties: {Name: '{{resolve:ssm:a:1}}'}\n"), shelf{"X": bucket},
			"Resources:\n  MB: {Type: T, Properties: {N: '{{resolve:ssm:a:1}}'}}"},
		{"no value keeps the default", "Resources:\n" + use("M", "X", "    Properties: {Name: !Ref AWS::NoValue}\n"), shelf{"X": "Parameters:\n  Name: {Type: String, Default: d}\nResources:\n  B: {Type: T, Properties: {N: !Ref Name}}\n"},
			"Resources:\n  MB: {Type: T, Properties: {N: d}}"},
		{"no value without a default", "Resources:\n" + use("M", "X", "    Properties: {Name: !Ref AWS::NoValue}\n"), shelf{"X": bucket},
			"Resources:\n  MB: {Type: T, Properties: {N: !Ref AWS::NoValue}}"},
		{"pseudo parameters and literals", "Resources:\n" + use("M", "X", ""), shelf{"X": "Resources:\n  B: {Type: T, Properties: {R: !Ref AWS::Region, S: !Sub '${AWS::StackName}-${!P}', Condition: C}}\n"},
			"Resources:\n  MB: {Type: T, Properties: {R: !Ref AWS::Region, S: !Sub '${AWS::StackName}-${!P}', Condition: C}}"},
		{"references inside", "Resources:\n" + use("M", "X", ""),
			shelf{"X": "Resources:\n  A: {Type: T}\n  B: {Type: T, DependsOn: A, Properties: {R: !Ref A, G: !GetAtt A.X.Y, H: {'Fn::GetAtt': [A, X]}, S: !Sub '${A} ${A.X} ${V}', T: !Sub ['${V}${A}', {V: !Ref A}]}}\n"},
			"Resources:\n  MA: {Type: T}\n  MB: {Type: T, DependsOn: MA, Properties: {R: !Ref MA, G: !GetAtt MA.X.Y, H: !GetAtt MA.X, S: !Sub '${MA} ${MA.X} ${MV}', T: !Sub ['${V}${MA}', {V: !Ref MA}]}}"},
		{"references from outside", "Resources:\n" + use("M", "X", "") + `  R:
    Type: T
    DependsOn: [M.B, MB]
    Properties: {A: !Ref M.B, B: !Ref MB, C: !GetAtt M.B.X.Y, D: !GetAtt MB.X, E: {'Fn::GetAtt': [M, B.X]}, F: !Sub '${M.B}-${MB}-${M.B.X}-${R.X}'}
Outputs:
  O: {Value: !Ref M.B}
`, shelf{"X": plain}, `Resources:
  MB: {Type: T}
  R:
    Type: T
    DependsOn: [MB]
    Properties: {A: !Ref MB, B: !Ref MB, C: !GetAtt MB.X.Y, D: !GetAtt MB.X, E: !GetAtt MB.X, F: !Sub '${MB}-${MB}-${MB.X}-${R.X}'}
Outputs:
  O: {Value: !Ref MB}`},
		{"a name that leads nowhere stays", "Resources:\n" + use("M", "X", "") + "  R: {Type: T, Properties: {A: !Ref M.C, B: !Ref M, C: !GetAtt N.B.X}}\n", shelf{"X": plain},
			"Resources:\n  MB: {Type: T}\n  R: {Type: T, Properties: {A: !Ref M.C, B: !Ref M, C: !GetAtt N.B.X}}"},
		{"depending on a module", "Resources:\n" + use("M", "X", "") + "  R: {Type: T, DependsOn: M}\n  S: {Type: T, DependsOn: [R, M]}\n", shelf{"X": two},
			"Resources:\n  MA: {Type: T}\n  MB: {Type: T, DependsOn: MA}\n  R: {Type: T, DependsOn: [MA, MB]}\n  S: {Type: T, DependsOn: [R, MA, MB]}"},
		{"a module that depends", "Resources:\n  R: {Type: T}\n" + use("M", "X", "    DependsOn: R\n") + use("N", "X", "    DependsOn: [M, R]\n"), shelf{"X": two},
			`Resources:
  R: {Type: T}
  MA: {Type: T, DependsOn: [R]}
  MB: {Type: T, DependsOn: [MA, R]}
  NA: {Type: T, DependsOn: [MA, MB, R]}
  NB: {Type: T, DependsOn: [NA, MA, MB, R]}`},
		{"policies", "Resources:\n" + use("M", "X", "    DeletionPolicy: Retain\n    UpdateReplacePolicy: Delete\n    Metadata: {AWS::CloudFormation::Init: {}}\n"),
			shelf{"X": "Resources:\n  A: {Type: T}\n  B: {Type: T, DeletionPolicy: Delete, Metadata: {K: V}}\n"},
			"Resources:\n  MA: {Type: T, DeletionPolicy: Retain, UpdateReplacePolicy: Delete}\n  MB: {Type: T, DeletionPolicy: Delete, Metadata: {K: V}, UpdateReplacePolicy: Delete}"},
		{"outputs", "Resources:\n" + use("M", "X", "") + "Outputs:\n  O: {Value: x}\n", shelf{"X": plain + "Outputs:\n  Arn: {Description: the arn, Value: !GetAtt B.Arn}\n"},
			"Resources:\n  MB: {Type: T}\nOutputs:\n  O: {Value: x}\n  MArn: {Description: the arn, Value: !GetAtt MB.Arn}"},
		{"conditions and mappings", "Parameters: {E: {Type: String}}\nConditions:\n  Prod: !Equals [!Ref E, prod]\nResources:\n" + use("M", "X", "    Properties: {Env: !Ref E}\n"),
			shelf{"X": `Parameters: {Env: {Type: String}}
Mappings: {Sizes: {prod: {N: 2}}}
Conditions:
  Prod: !Equals [!Ref Env, p]
  Not: !Not [Condition: Prod]
Resources:
  B: {Type: T, Condition: Prod, Properties: {A: !If [Not, 1, !Ref Env], B: !FindInMap [Sizes, !Ref Env, N]}}
Outputs:
  O: {Condition: Not, Value: x}
`},
			`Parameters: {E: {Type: String}}
Conditions:
  Prod: !Equals [!Ref E, prod]
  MProd: !Equals [!Ref E, p]
  MNot: !Not [Condition: MProd]
Mappings: {MSizes: {prod: {N: 2}}}
Resources:
  MB: {Type: T, Condition: MProd, Properties: {A: !If [MNot, 1, !Ref E], B: !FindInMap [MSizes, !Ref E, N]}}
Outputs:
  MO: {Condition: MNot, Value: x}`},
		{"a mapping named by a parameter", "Resources:\n" + use("M", "X", "    Properties: {Map: Sizes}\n"), shelf{"X": "Parameters: {Map: {Type: String}}\nMappings: {Sizes: {a: {b: c}}}\nResources:\n  B: {Type: T, Properties: {A: !FindInMap [!Ref Map, a, b]}}\n"},
			"Mappings: {MSizes: {a: {b: c}}}\nResources:\n  MB: {Type: T, Properties: {A: !FindInMap [MSizes, a, b]}}"},
		{"a condition of the module", "Conditions:\n  C: !Equals [a, a]\nResources:\n" + use("M", "X", "    Condition: C\n"),
			shelf{"X": "Conditions:\n  K: !Equals [b, b]\nResources:\n  A: {Type: T}\n  B: {Type: T, Condition: K}\nOutputs:\n  O: {Value: !Ref A}\n  P: {Value: x, Condition: K}\n"},
			`Conditions:
  C: !Equals [a, a]
  MK: !Equals [b, b]
  CAndMK: !And [Condition: C, Condition: MK]
Resources:
  MA: {Type: T, Condition: C}
  MB: {Type: T, Condition: CAndMK}
Outputs:
  MO: {Value: !Ref MA, Condition: C}
  MP: {Value: x, Condition: CAndMK}`},
		{"Fn::Sub with parameters", "Resources:\n  R: {Type: T}\n" + use("M", "X", "    Properties: {A: lit, B: !Ref R, C: !GetAtt R.X, D: !Join ['', [x]], E: 3}\n"),
			shelf{"X": "Parameters: {A: {Type: String}, B: {Type: String}, C: {Type: String}, D: {Type: String}, E: {Type: Number}}\nResources:\n  Q: {Type: T, Properties: {V: !Sub '${A}-${B}-${C}-${E}', W: !Sub '${D}${A}', X: !Sub ['${A}${D}', {A: !Ref B}]}}\n"},
			"Resources:\n  R: {Type: T}\n  MQ: {Type: T, Properties: {V: !Sub 'lit-${R}-${R.X}-3', W: !Sub ['${D}lit', {D: !Join ['', [x]]}], X: !Sub ['${A}${D}', {A: !Ref R, D: !Join ['', [x]]}]}}"},
		{"Fn::Sub keeps literals that look like names", "Resources:\n" + use("M", "X", "    Properties: {A: 'a${b}', B: 'x'}\n"),
			shelf{"X": "Parameters: {A: {Type: String}, B: {Type: String}}\nResources:\n  Q: {Type: T, Properties: {V: !Sub '${A}${B}'}}\n"},
			"Resources:\n  MQ: {Type: T, Properties: {V: !Sub ['${A}x', {A: 'a${b}'}]}}"},
		{"Fn::Sub does not confuse names and variables", "Parameters: {Name: {Type: String}}\nResources:\n" + use("M", "X", "    Properties: {Name: !Join ['', [x]], Other: !Ref Name}\n"),
			shelf{"X": "Parameters: {Name: {Type: String}, Other: {Type: String}}\nResources:\n  Q: {Type: T, Properties: {V: !Sub '${Name}-${Other}', W: !Sub ['${Q}${MQ}', {MQ: v}]}}\n"},
			"Parameters: {Name: {Type: String}}\nResources:\n  MQ: {Type: T, Properties: {V: !Sub ['${Name2}-${Name}', {Name2: !Join ['', [x]]}], W: !Sub ['${Q}${MQ}', {MQ: v, Q: !Ref MQ}]}}"},
		{"three levels below a module", "Resources:\n" + use("M", "X", "    Properties: {P: v}\n    DeletionPolicy: Retain\n") + "  R: {Type: T, DependsOn: M.C, Properties: {A: !Ref M.C.D.E.B, B: !GetAtt M.CDE.B.Arn, C: !GetAtt MCDEB.Arn, D: !Sub '${M.C.D.E.B.Arn}'}}\n",
			shelf{
				"X": "Parameters: {P: {Type: String}}\nResources:\n" + use("C", "Y", "    Properties: {P: !Sub 'x-${P}'}\n") + "  S: {Type: T, Properties: {A: !Ref C.D.E.B}}\n",
				"Y": "Parameters: {P: {Type: String}}\nResources:\n" + use("D", "Z", "    Properties: {P: !Ref P}\n"),
				"Z": "Parameters: {P: {Type: String}}\nResources:\n" + use("E", "W", "    Properties: {Name: !Ref P}\n") + "Outputs:\n  O: {Value: !GetAtt E.B.Arn}\n",
				"W": bucket,
			},
			`Resources:
  MCDEB: {Type: T, Properties: {N: !Sub 'x-v'}, DeletionPolicy: Retain}
  MS: {Type: T, Properties: {A: !Ref MCDEB}, DeletionPolicy: Retain}
  R: {Type: T, DependsOn: MCDEB, Properties: {A: !Ref MCDEB, B: !GetAtt MCDEB.Arn, C: !GetAtt MCDEB.Arn, D: !Sub '${MCDEB.Arn}'}}
Outputs:
  MCDO: {Value: !GetAtt MCDEB.Arn}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := Expand(t.Context(), read(t, test.template), test.modules, template.NewBudget())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := compact(withoutOrigins(out.Root)), compact(read(t, test.want)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	out, err := Expand(t.Context(), read(t, "Resources:\n  R: {Type: T}\n"+use("M", "X", "")), shelf{
		"X": "Resources:\n  A: {Type: T, Metadata: {K: V}}\n" + use("C", "Y", ""),
		"Y": "Resources:\n  B: {Type: T}\n",
	}, template.NewBudget())
	if err != nil {
		t.Fatal(err)
	}
	want := compact(read(t, `Resources:
  R: {Type: T}
  MA: {Type: T, Metadata: {K: V, "AWS::Cloudformation::Module": {TypeHierarchy: "Acme::X::Part::MODULE", LogicalIdHierarchy: M}}}
  MCB: {Type: T, Metadata: {"AWS::Cloudformation::Module": {TypeHierarchy: "Acme::Y::Part::MODULE/Acme::X::Part::MODULE", LogicalIdHierarchy: C/M}}}
`))
	if got := compact(out.Root); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := fmt.Sprint(out.Modules); got != "[MC (Acme::Y::Part::MODULE) M (Acme::X::Part::MODULE)]" {
		t.Errorf("modules: %s", got)
	}
	if at := out.Root.Get("Resources").Member("MCB").KeyAt.String(); at != "Y.yaml:2:3" {
		t.Errorf("the resource of the child is at %s", at)
	}
}

func TestExpandRefuses(t *testing.T) {
	plain := "Resources:\n  B: {Type: T}\n"
	required := "Parameters: {P: {Type: String}, Q: {Type: String}}\nResources:\n  B: {Type: T, Properties: {A: !Ref P}}\n"
	child := func(name string) string { return "Resources:\n" + use("C", name, "") }
	tests := []struct {
		name, template string
		modules        shelf
		want           string
	}{
		{"an unknown module", "Resources:\n" + use("M", "X", ""), nil, "t.yaml:3:11: Template format error: Unrecognized resource types: [Acme::X::Part::MODULE]"},
		{"an unknown child", "Resources:\n" + use("M", "X", ""), shelf{"X": child("Y")}, "X.yaml:3:11: Template format error: Unrecognized resource types: [Acme::Y::Part::MODULE]"},
		{"parameters without values", "Resources:\n" + use("M", "X", ""), shelf{"X": required}, "t.yaml:2:3: Parameters: [P, Q] must have values"},
		{"parameters of two modules", "Resources:\n" + use("M", "X", "    Properties: {P: a, Qq: b}\n") + use("N", "X", "    Properties: {P: a, Q: b, R: c}\n"), shelf{"X": required},
			"t.yaml:4:5: Parameters: [Q] must have values; t.yaml:4:24: Parameters: [Qq] do not exist in the template; t.yaml:7:30: Parameters: [R] do not exist in the template"},
		{"parameters that do not exist", "Resources:\n" + use("M", "X", "    Properties: {P: a, Q: b, Tags: [], R: 1}\n"), shelf{"X": required}, "t.yaml:4:30: Parameters: [Tags, R] do not exist in the template; t.yaml:4:40: Parameters: [R] do not exist in the template"},
		{"a module in itself", "Resources:\n" + use("M", "X", ""), shelf{"X": child("Y"), "Y": child("X")}, "Y.yaml:3:11: Template error: the module Acme::X::Part::MODULE contains itself"},
		{"four levels", "Resources:\n" + use("M", "A", ""), shelf{"A": child("B"), "B": child("C"), "C": child("D"), "D": child("E"), "E": plain},
			"D.yaml:3:11: Template error: the module Acme::E::Part::MODULE is nested deeper than 3 levels below a module"},
		{"four levels, the lower ones known", "Resources:\n" + use("L", "B", "") + use("M", "A", ""), shelf{"A": child("B"), "B": child("C"), "C": child("D"), "D": child("E"), "E": plain},
			"A.yaml:3:11: Template error: the module Acme::B::Part::MODULE is nested deeper than 3 levels below a module"},
		{"a name that is taken", "Resources:\n" + use("M", "X", "") + "  MB: {Type: T}\n", shelf{"X": plain}, "t.yaml:4:3: Template format error: Duplicate name MB in the Resources block of the template after its modules were expanded"},
		{"a creation policy", "Resources:\n" + use("M", "X", "    CreationPolicy: {}\n"), shelf{"X": plain}, "t.yaml:4:5: Template error: CreationPolicy is not supported for the module M"},
		{"an update policy", "Resources:\n" + use("M", "X", "    UpdatePolicy: {}\n"), shelf{"X": plain}, "t.yaml:4:5: Template error: UpdatePolicy is not supported for the module M"},
		{"snapshots", "Resources:\n" + use("M", "X", "    UpdateReplacePolicy: Snapshot\n"), shelf{"X": plain}, "t.yaml:4:26: Template error: UpdateReplacePolicy Snapshot is not supported for the module M"},
		{"Fn::If in a condition", "Conditions: {C: !Equals [a, a]}\nResources:\n" + use("M", "X", "    Properties: {P: !If [C, x, y]}\n"),
			shelf{"X": "Parameters: {P: {Type: String}}\nConditions: {D: !Equals [!Ref P, x]}\nResources:\n  B: {Type: T}\n"}, "X.yaml:2:17: Template error: Fn::If cannot be preprocessed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Expand(t.Context(), read(t, test.template), test.modules, template.NewBudget())
			var texts []string
			for _, refused := range template.Refused(err) {
				texts = append(texts, refused.At.String()+": "+refused.Message)
			}
			if got := strings.Join(texts, "; "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestExpandIsBounded has modules that grow with every level.
func TestExpandIsBounded(t *testing.T) {
	many := func(name string, n int) string {
		var b strings.Builder
		b.WriteString("Resources:\n")
		for i := range n {
			b.WriteString(use(fmt.Sprintf("C%d", i), name, ""))
		}
		return b.String()
	}
	var twice strings.Builder
	twice.WriteString("Parameters: {P: {Type: String}}\nResources:\n  B: {Type: T, Properties: {A: [")
	for range 400 {
		twice.WriteString("!Ref P, ")
	}
	twice.WriteString("x]}}\n")
	list := "[" + strings.Repeat("abcdefghij, ", 9000) + "x]"
	nested := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	const tooMuch = "Template error: the values of the template exceed 33554432 bytes"
	tests := []struct {
		name, template string
		modules        shelf
		want           string
	}{
		{"resources", "Resources:\n" + use("M", "A", ""), shelf{"A": many("B", 400), "B": many("C", 400), "C": "Resources: {B: {Type: T}, D: {Type: T}}"}, "Template format error: Number of resources, 502, is greater than maximum allowed, 500"},
		{"values", "Resources:\n" + use("M", "A", "    Properties: {P: "+list+"}\n"), shelf{"A": twice.String()}, tooMuch + " (line 3, column 2398)"},
		{"texts", "Resources:\n" + use("M", "A", "    Properties: {P: "+strings.Repeat("x", 10_000)+"}\n"),
			shelf{"A": "Parameters: {P: {Type: String}}\nResources:\n  B: {Type: T, Properties: {A: !Sub '" + strings.Repeat("${P}", 10_000) + "'}}\n"}, tooMuch + " (line 3, column 37)"},
		{"uses", many("A", 5000), shelf{"A": many("B", 400), "B": "Resources: {B: {Type: T}}"}, tooMuch + " (line 214, column 3)"},
		{"depth", "Resources:\n" + use("M", "A", "    Properties: {P: "+nested+"}\n"), shelf{"A": "Parameters: {P: {Type: String}}\nResources:\n  B: {Type: T, Properties: {A: " + strings.Repeat("[", 60) + "!Ref P" + strings.Repeat("]", 60) + "}}\n"},
			"Template error: the values of the modules nest deeper than 128 levels"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Expand(t.Context(), read(t, test.template), test.modules, template.NewBudget())
			if refused := template.Refused(err); len(refused) != 1 || refused[0].Message != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestExpandStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Expand(ctx, read(t, "Resources:\n"+use("M", "X", "")), shelf{"X": "Resources: {B: {Type: T}}"}, template.NewBudget()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzExpand looks for templates and fragments that crash the expansion, and for results that
// still have modules or cannot be read again.
func FuzzExpand(f *testing.F) {
	f.Add("Resources:\n"+use("M", "X", "    Properties: {P: !Ref Q}\n    DependsOn: [R, M.B]\n"), "Parameters: {P: {Type: String, Default: ''}}\nResources:\n  B: {Type: T, Properties: {A: !Sub '${P}${B.C}'}}\nOutputs:\n  O: {Value: !GetAtt B.C}\n")
	f.Add("Resources:\n"+use("M", "X", "    Condition: C\n"), "Conditions: {C: !If [!Ref A]}\nMappings: {M: 1}\nResources:\n  B: {Type: T, Condition: C, DependsOn: {}}\n")
	f.Add("Resources: {M: {Type: 'Acme::X::Part::MODULE', Properties: 1}}", "Resources: {B: {Type: T, Properties: {A: {Fn::GetAtt: [], Fn::Sub: [[]]}, Ref: {Ref: []}}}}")
	f.Fuzz(func(t *testing.T, text, fragment string) {
		root, problems := template.ReadDocument("t", []byte(text))
		if root == nil || problems.HasErrors() || root.Kind != document.Object {
			return
		}
		out, err := Expand(t.Context(), root, shelf{"X": fragment}, template.NewBudget())
		if err != nil {
			return
		}
		for _, m := range out.Root.Get("Resources").Distinct() {
			if IsModule(m.Value) {
				t.Errorf("%s is still a module", m.Key)
			}
		}
		if _, problems := document.ParseJSON("out", out.Root.AppendJSON(nil), document.Limits{Depth: maxValues}); problems.HasErrors() {
			t.Errorf("the result cannot be read: %v", problems)
		}
	})
}
