package schema_test

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// TestTypeNameFault names the part of a type name that is wrong.
func TestTypeNameFault(t *testing.T) {
	for _, test := range []struct {
		kind       schema.Kind
		name, want string
	}{
		{schema.Resource, "Acme::Foo::Bar", ""},
		{schema.Module, "Acme::Foo::Bar::MODULE", ""},
		{schema.Resource, "", "the name is empty"},
		{schema.Resource, "Acme:Foo:Bar", "its parts are separated by two colons"},
		{schema.Resource, "Acme::Foo", "it has 2 of the 3 parts"},
		{schema.Hook, "Acme::Foo::Bar::Baz", "it has 4 parts, 1 too many; the form is Organization::Service::Hook"},
		{schema.Resource, "Acme::Foo::Bar::MODULE", "names that end in ::MODULE belong to modules"},
		{schema.Module, "Acme::Foo::Bar::Module", `the last part is "Module", not "MODULE"`},
		{schema.Resource, "Acme::F::Bar", `the part "F" is too short`},
		{schema.Resource, "Acme::Foo::" + strings.Repeat("x", 65), "is too long: a part has at most 64 characters"},
		{schema.Resource, "Acme::Foo::Ba-r", `the part "Ba-r" has the character '-'`},
		{schema.Resource, "Acme::Föö::Bar", `the part "Föö" has the character 'ö'`},
	} {
		got := schema.TypeNameFault(test.kind, test.name)
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s %q: %q, want %q", test.kind, test.name, got, test.want)
		}
	}
}
