package smithy

import (
	"slices"
	"strings"
	"testing"
)

const selectorModel = `$version: "2"
namespace a
@title("The service")
service S {
    version: "2020-01-01"
    operations: [O]
    resources: [R]
    errors: [E]
}
@readonly
@http(method: "PUT", uri: "/o")
operation O {
    input := { l: L, @required n: N }
    output := { t: Tree }
    errors: [E]
}
@internal
resource R {
    identifiers: {id: String}
    read: Get
    resources: [Sub]
}
resource Sub { identifiers: {id: String} }
@readonly
operation Get {
    input := for R { @required $id }
    output := {}
}
@error("client")
@tags(["x", "why"])
structure E { message: String }
@length(min: 3, max: 9)
@tags(["x"])
string T
list L { member: T }
@range(max: 10)
integer N
structure Tree {
    left: Tree
    @tags(["why", "x"])
    value: N
    kind: Kind
}
enum Kind { ONE, TWO }
intEnum Code {
    A = 1
}
map M { key: T, value: Code }
union U { a: T, b: M }
`

// selectorTests name, for each selector, the shapes of the model that it picks.
var selectorTests = []struct{ selector, want string }{
	{"service", "S"},
	{"resource", "R Sub"},
	{"collection", "L"},
	{"number", "Code N"},
	{"integer", "Code N"},
	{"intEnum", "Code"},
	{"string", "Kind T"},
	{"serviceType", "Get O R S Sub"},
	{"aggregateType [id|name='Tree']", "Tree"},
	{"simpleType", "Code Kind N T"},
	{":is(union, map)", "M U"},
	{":each(union, map)", "M U"},
	{"structure:not([trait|input]):not([trait|output])", "E Tree"},
	{"[trait|tags|(values)='why']", "E Tree$value"},
	{"[trait|tags|(length)=1]", "T"},
	{"[trait|length|min>=3]", "T"},
	{"[trait|length|min>3]", ""},
	{"[trait|length|max<10]", "T"},
	{"[trait|range|max<=10]", "N"},
	{"[trait|range|min]", ""},
	{"[trait|range|(keys)='max']", "N"},
	{"[trait|error='client']", "E"},
	{"[trait|error='CLIENT']", ""},
	{"[trait|error='CLIENT' i]", "E"},
	{"[trait|title^=The]", "S"},
	{"[trait|title$=service]", "S"},
	{"[trait|title*='e s']", "S"},
	{"[trait|title!=x]", "S"},
	{"service[trait|title?=true]", "S"},
	{"resource[trait|internal?=false]", "Sub"},
	{"[trait|(keys)='smithy.api#internal']", "R"},
	{"service[trait|(length)=1]", "S"},
	{"[trait|(values)='client']", "E"},
	{"[service|version='2020-01-01']", "S"},
	{"[service|version^='2020', '2021']", "S"},
	{"service[service|id|name=S]", "S"},
	{"[id='a#N']", "N"},
	{"[id|namespace=a][id|member=value]", "M$value Tree$value"},
	{"[id|name|(length)=4]:not(member)", "Code Kind Tree"},
	{"service > resource", "R"},
	{"service -[operation]-> *", "O"},
	{"service -[error]-> *", "E"},
	{"operation -[input, output]-> *", "GetInput GetOutput OInput OOutput"},
	{"operation -[input]-> > [trait|required] > *", "N"},
	{"string < member", "E$message GetInput$id L$member M$key Tree$kind U$a"},
	{"resource <-[resource]- *", "R S"},
	{"resource -[bound]-> *", "R S"},
	{"structure :test(> member > collection)", "OInput"},
	{"structure :test(> member > union, > member > collection)", "OInput"},
	{"operation[id|name=O] ~> integer", "N"},
	{":topdown([trait|title])", "O R S Sub"}, // operations of a life cycle are not walked to,
	{":topdown([trait|title], [trait|internal])", "O S"},
	{":recursive(> member > *) [id|name=Tree]", "Tree"},
	{":root(service ~> *) string :not(:in(:root(service ~> *)))", ""},
	{"string :in(:root(service ~> *))", "Kind T"},
	{"union :not(:in(:root(service ~> *)))", "U"},
	{"service $ops(~> operation) $res(~> resource) ${res} [trait|internal]", "R"},
	{"service $ops(~> operation) ~> structure :not(<-[input]- ${ops})", "E GetOutput OOutput Tree"},
	{"service $ops(-[operation]-> *) ~> operation [@: @{id} = @{var|ops|id}]", "O"},
	{"[@trait|length: @{min} = 3 && @{max} = 9, 10]", "T"},
	{"[@trait|length: @{min} >= @{max}]", ""},
	{"[@trait|length: @{max} >= @{min}]", "T"},
	{"[@trait|tags|(values): @{(length)} > 1]", "E Tree$value"},
	{"[@: @{trait|tags|(values)} {<} @{trait|tags|(values)}][trait|tags]", "E T Tree$value"},
	{"[@: @{trait|tags|(values)} {<<} @{trait|tags|(values)}]", ""},
	{"[@: @{trait|tags|(values)} {=} @{trait|tags|(values)}][trait|tags]", "E T Tree$value"},
	{"[@: @{trait|tags|(values)} {!=} @{trait|tags|(values)}][trait|tags]", ""},
	{"[@: @{trait|tags|(values)|(first)} = why]", "Tree$value"},
	{":unknown(string)", ""},
}

func TestSelectors(t *testing.T) {
	m := mustLoad(t, selectorModel)
	for _, test := range selectorTests {
		sel, err := parseSelector(test.selector)
		if err != nil {
			t.Errorf("%s: %v", test.selector, err)
			continue
		}
		picked := map[string]bool{}
		newSelection(m).pick(sel, func(s *Shape) {
			if s.ID.Namespace() == "a" {
				picked[strings.TrimPrefix(string(s.ID), "a#")] = true
			}
		})
		var got []string
		for id := range picked {
			got = append(got, id)
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s picks %q, want %q", test.selector, s, test.want)
		}
	}
}

func TestSelectorFaults(t *testing.T) {
	tests := []struct{ selector, want string }{
		{"", "Unexpected selector EOF"},
		{"!", "Unexpected selector character: !"},
		{"nothing", "Unknown shape type: nothing"},
		{"[trait|x", "Unknown attribute comparator token"},
		{"[trait|x=]", "identifier"},
		{"[trait|x='y]", "to close"},
		{"[id~1]", "Unknown attribute comparator token '~'"},
		{":not(string, number)", "requires a single selector argument"},
		{":in(string, number)", "requires a single selector argument"},
		{":root(string, number)", "requires a single selector argument"},
		{":recursive(string, number)", "requires a single selector argument"},
		{":topdown(string, string, string)", "accepts 1 or 2 selectors, but found 3"},
		{":not(string", "Expected"},
		{":not", "Expected"},
		{"-[x", "Expected"},
		{"$x", "Expected"},
		{"${x", "Expected"},
		{"[@trait|x @{y}=1]", "Expected"},
		{"[@trait|x: @{y=1]", "Expected"},
		{strings.Repeat(":not(", 5000), "nesting depth"},
	}
	for _, test := range tests {
		_, err := parseSelector(test.selector)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: %v, want %q", test.selector, err, test.want)
		}
	}
}
