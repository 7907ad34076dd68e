package template

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// FuzzTemplate takes any text through all steps. What is accepted must be accepted again in
// its processed form, and evaluate without a panic.
func FuzzTemplate(f *testing.F) {
	for _, c := range refusalCases() {
		if len(c.body) < 2000 {
			f.Add(c.body)
		}
	}
	f.Add(strings.ReplaceAll(evaluated, "VALUE", "!Sub '${Old.A}'"))
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 1<<16 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		parsed, err := Parse("t", []byte(body), ParseOptions{})
		if err != nil {
			return
		}
		parsed.Summary()
		bound, err := parsed.Bind(ctx, BindInput{Store: declaredStore{parsed}})
		if err != nil {
			return
		}
		processed, err := parsed.Expand(ctx, ExpandInput{Parameters: bound, Macros: answering(`{"status": "success", "fragment": {}}`)})
		if err != nil {
			return
		}
		again, err := Parse("t", processed.ProcessedJSON(), ParseOptions{Processed: true})
		if err != nil {
			t.Fatalf("the processed template is invalid: %v\n%s", err, processed.ProcessedJSON())
		}
		if processed.Check(ctx, nil) != nil {
			return
		}
		if err := again.Check(ctx, nil); err != nil {
			t.Fatalf("the processed template is invalid: %v\n%s", err, processed.ProcessedJSON())
		}
		scope, err := processed.NewScope(ScopeInput{Parameters: bound})
		if err != nil {
			return
		}
		if scope.Check(ctx) != nil {
			return
		}
		for _, r := range scope.ActiveResources() {
			value, err := scope.Properties(r, known{})
			if err == nil {
				StringifyScalars(value, "?")
				DynamicReferences(value)
			}
			if _, err := scope.Masked(r, known{}); errors.Is(err, errHidden) {
				t.Fatal("an error of the evaluator came out")
			}
			scope.Dependencies(r)
		}
		if _, err := scope.Order(); err != nil {
			t.Fatalf("Check found no cycle, Order did: %v", err)
		}
	})
}

// loopedTemplate is a template of nearly 1 MB whose loop makes 500 resources.
func loopedTemplate(yaml bool) []byte {
	var b strings.Builder
	if !yaml {
		b.WriteString(`{"Transform": "AWS::LanguageExtensions", "Metadata": {`)
		for i := range 9000 {
			fmt.Fprintf(&b, `"Key%d": "%s", `, i, strings.Repeat("x", 80))
		}
		b.WriteString(`"Last": "x"}, "Mappings": {"M": {"a": {"k": "v"}}}, "Resources": {"Fn::ForEach::L": ["N", [`)
		for i := range 500 {
			fmt.Fprintf(&b, `"%d",`, i)
		}
		return []byte(strings.TrimSuffix(b.String(), ",") + `], {"R${N}": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": {"Fn::Sub": "/a/${N}/${AWS::StackName}"}, "Value": {"Fn::Join": ["-", ["a", {"Ref": "N"}, {"Fn::FindInMap": ["M", "a", "k"]}]]}, "Tags": {"Stack": {"Ref": "AWS::StackId"}}}}}]}}`)
	}
	b.WriteString("Transform: AWS::LanguageExtensions\nMetadata:\n")
	for i := range 9000 {
		fmt.Fprintf(&b, "  Key%d: %s\n", i, strings.Repeat("x", 80))
	}
	b.WriteString("Mappings: {M: {a: {k: v}}}\nResources:\n  Fn::ForEach::L:\n    - N\n    - [")
	for i := range 500 {
		fmt.Fprintf(&b, "'%d', ", i)
	}
	b.WriteString("]\n    - R${N}:\n        Type: AWS::SSM::Parameter\n        Properties:\n          Type: String\n          Name: !Sub '/a/${N}/${AWS::StackName}'\n          Value: !Join ['-', [a, !Ref N, !FindInMap [M, a, k]]]\n          Tags: {Stack: !Ref AWS::StackId}\n")
	return []byte(b.String())
}

// evaluateAll is what planning needs of a template: every step, every resource.
func evaluateAll(tb testing.TB, body []byte) int {
	ctx := context.Background()
	parsed, err := Parse("t", body, ParseOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	bound, err := parsed.Bind(ctx, BindInput{})
	if err != nil {
		tb.Fatal(err)
	}
	pseudo := Pseudo{AccountID: "123456789012", Region: "us-east-1", StackName: "s", StackID: "arn:s"}
	processed, err := parsed.Expand(ctx, ExpandInput{Parameters: bound, Pseudo: pseudo})
	if err != nil {
		tb.Fatal(err)
	}
	if err := processed.Check(ctx, func(name string) bool { return name == "AWS::SSM::Parameter" }); err != nil {
		tb.Fatal(err)
	}
	scope, err := processed.NewScope(ScopeInput{Parameters: bound, Pseudo: pseudo})
	if err != nil {
		tb.Fatal(err)
	}
	if err := scope.Check(ctx); err != nil {
		tb.Fatal(err)
	}
	order, err := scope.Order()
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range order {
		if _, err := scope.Properties(r, NoReferences{}); err != nil {
			tb.Fatal(err)
		}
		if _, err := scope.Masked(r, NoReferences{}); err != nil {
			tb.Fatal(err)
		}
		scope.Dependencies(r)
	}
	return len(order)
}

func TestLargeTemplate(t *testing.T) {
	for _, yaml := range []bool{false, true} {
		body := loopedTemplate(yaml)
		if len(body) < 800_000 {
			t.Errorf("the template has only %d bytes", len(body))
		}
		if n := evaluateAll(t, body); n != 500 {
			t.Errorf("%d resources", n)
		}
	}
}

func BenchmarkTemplate(b *testing.B) {
	for _, yaml := range []bool{false, true} {
		body := loopedTemplate(yaml)
		b.Run(map[bool]string{false: "JSON", true: "YAML"}[yaml], func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				evaluateAll(b, body)
			}
		})
	}
}
