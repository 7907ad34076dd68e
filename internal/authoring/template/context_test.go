package template_test

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

func parsed(t *testing.T, resources string) *template.Template {
	t.Helper()
	out, err := template.Parse("t.yaml", []byte("Resources:\n"+resources), template.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestForbids: the deployed template decides what must never change, also where the next one says less.
func TestForbids(t *testing.T) {
	const never, names, free = `{mutable: must-never-change}`, `{why: printed, mutability: {Name: must-never-change}}`, `{mutable: must-never-change, mutability: {Size: free-to-tune}}`
	resource := func(context string) string {
		return "  A: {Type: 'Acme::A::B', Metadata: {com.aws.cloudformation.Context: " + context + "}}\n"
	}
	size, name := template.ResourceChange{LogicalID: "A", Properties: []string{"Size"}}, template.ResourceChange{LogicalID: "A", Properties: []string{"Name"}}
	removed, replaced := template.ResourceChange{LogicalID: "A", Removed: true}, template.ResourceChange{LogicalID: "A", Properties: []string{"Size"}, Replaced: true}
	for _, tc := range []struct {
		before, after string
		change        template.ResourceChange
		want          string
	}{
		{names, names, size, ""},
		{names, names, name, "the update changes the property Name of A, which must never change (printed)"},
		{names, "{}", name, "the update changes the property Name of A, which must never change (printed)"},
		{names, "{}", size, "the update lowers the level must-never-change of the property Name of A (printed)"},
		{names, never, size, ""},
		{names, names, replaced, "the update replaces A, which must never change (printed)"},
		{names, names, removed, "the update removes A, which must never change (printed)"},
		{never, never, size, "the update changes the property Size of A, which must never change ()"},
		{never, free, name, "the update changes the property Name of A, which must never change ()"},
		{never, free, template.ResourceChange{LogicalID: "A"}, "the update lowers the level must-never-change of the property Size of A ()"},
		{never, "{mutable: review-required}", template.ResourceChange{LogicalID: "A"}, "the update lowers the level must-never-change of A ()"},
		{free, free, size, ""},
		{"{mutable: review-required}", "{}", removed, ""},
		{"[]", "x", removed, ""},
		{"{mutability: [Name], mutable: {a: b}, must: x}", "{}", name, ""},
	} {
		var got []string
		for _, f := range parsed(t, resource(tc.before)).Forbids(parsed(t, resource(tc.after)), []template.ResourceChange{tc.change, {LogicalID: "Unknown", Removed: true}}) {
			got = append(got, f.Text+" ("+f.Why+")")
		}
		if text := strings.Join(got, "; "); text != tc.want {
			t.Errorf("%s → %s, %+v:\n got %s\nwant %s", tc.before, tc.after, tc.change, text, tc.want)
		}
	}
}

func TestContext(t *testing.T) {
	long := strings.Repeat("x", 1000)
	text := `  A: {Type: 'Acme::A::B', Metadata: {com.aws.cloudformation.Context: {why: ` + long + `, must: [a, 1, {b: c}], owner: me}}}
Metadata: {com.aws.cloudformation.Context: {arch: web, owner: shop, must: [stay], ref: ["https://example.com/more"], why: no}}
`
	tm := parsed(t, text)
	if c := tm.Context(); c == nil || c.Arch != "web" || c.Owner != "shop" || len(c.Must) != 1 || c.Why != "" {
		t.Errorf("the context of the template is %+v", c)
	}
	if c := tm.Resource("A").Context(); c == nil || len([]rune(c.Why)) != 300 || len(c.Must) != 1 || c.Owner != "" {
		t.Errorf("the context of the resource is %+v", c)
	}
	if c := parsed(t, "  A: {Type: 'Acme::A::B'}\n").Resource("A").Context(); c != nil {
		t.Errorf("a resource without metadata has the context %+v", c)
	}
}
