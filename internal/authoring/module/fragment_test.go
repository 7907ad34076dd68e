package module

import (
	"encoding/json"
	"testing"
)

// FuzzFragment looks for templates that crash the parser or the rules.
func FuzzFragment(f *testing.F) {
	for _, seed := range []string{
		"Resources:\n  A: !GetAtt a.b\n", `{"Resources": {"A": {"Type": "T"}}}`, "&a [*a]", "? [a]\n: b", "<<: {}", "!Ref", "a: !!int x", "Parameters: {P: {Description: 1}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root, problems := parseTemplate("f", []byte(text))
		if root == nil {
			if !problems.HasErrors() {
				t.Error("no template and no problem")
			}
			return
		}
		c := &fragmentCheck{file: "f", root: root}
		c.run(len(text))
		if !c.problems.HasErrors() {
			var v any
			if err := json.Unmarshal((&Fragment{Root: root}).Schema("A::B::C::MODULE"), &v); err != nil {
				t.Error(err)
			}
		}
	})
}
