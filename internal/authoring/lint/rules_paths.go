package lint

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// pathRules judge what a schema refers to: properties by their paths, and definitions.
var pathRules = []Rule{{
	ID: "lint/path-unresolved", Severity: diag.Warning, Fault: true,
	Purpose: "Every path in deprecatedProperties, conditionalCreateOnlyProperties, nonPublicProperties, propertyTransform and resourceLink refers to a property. Paths in nonPublicDefinitions refer to definitions.",
	Why:     "The meta-schema does not check the target of a path, so a misspelled path silently has no effect.",
	Bad:     `"deprecatedProperties": ["/properties/Colour"]`,
	Good:    `"deprecatedProperties": ["/properties/Color"]`,
	check:   pathsResolve,
}, {
	ID: "lint/replacement-unused", Severity: diag.Warning, Fault: true,
	Purpose: "replacementStrategy is set only for a type whose updates can replace a resource: it has create-only properties, or no update handler.",
	Why:     "The specification calls it not valid for a type that never needs a replacement; it has no effect there.",
	Bad:     `"replacementStrategy": "delete_then_create", "createOnlyProperties": [], "primaryIdentifier": ["/properties/Id"]`,
	Good:    `"replacementStrategy": "delete_then_create", "createOnlyProperties": ["/properties/Name"]`,
	kinds:   resources, check: replacementUsed,
}, {
	ID: "lint/path-notation", Severity: diag.Warning, Fault: true,
	Purpose: `Paths use the notation of the specification: they start with /properties, use "*" for items of arrays and maps, and leave out inner "properties" and "items".`,
	Why:     "Tools disagree about other notations, so the path may have no effect in some of them.",
	Bad:     `"deprecatedProperties": ["/properties/Tags/Key"]`,
	Good:    `"deprecatedProperties": ["/properties/Tags/*/Key"]`,
	check:   pathsWellSpelled,
}, {
	ID: "lint/path-repeated", Severity: diag.Warning, Fault: true,
	Purpose: "Lists of paths and identifiers have no duplicates.",
	Why:     "The second entry has no effect; often another property was intended.",
	Bad:     `"readOnlyProperties": ["/properties/Id", "/properties/Id"]`,
	Good:    `"readOnlyProperties": ["/properties/Id"]`,
	check:   pathsOnce,
}, {
	ID: "lint/identifier-not-scalar", Severity: diag.Warning, Fault: true,
	Purpose: "The members of identifiers are strings, numbers or booleans.",
	Why:     "Cloud Control and the registry write an identifier as one string; for an object or an array in it, the service returns an internal failure without an explanation.",
	Bad:     `"primaryIdentifier": ["/properties/Tags"]`,
	Good:    `"primaryIdentifier": ["/properties/Id"]`,
	kinds:   resources, check: identifiersScalar,
}, {
	ID: "lint/unused-definition", Severity: diag.Warning, Fault: true,
	Purpose: "Every definition is used by a property, directly or through other definitions.",
	Why:     "An unused definition is outdated or misspelled, and counts towards the size limit of the registry.",
	Bad:     `"definitions": {"Page": {"type": "string"}}`,
	Good:    `"definitions": {"Page": {"type": "string"}}, "properties": {"Cover": {"$ref": "#/definitions/Page"}}`,
	check:   definitionsUsed,
}, {
	ID: "lint/ref-circular", Severity: diag.Warning, Fault: true,
	Purpose: "A chain of $ref ends at a schema.",
	Why:     "References that form a cycle describe no value: tools accept any value, or hang.",
	Bad:     `"definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"$ref": "#/definitions/A"}}`,
	Good:    `"definitions": {"A": {"$ref": "#/definitions/B"}, "B": {"type": "string"}}`,
	check:   refsEnd,
}, {
	ID: "lint/ref-sibling", Severity: diag.Warning, Fault: true,
	Purpose: "No constraint is used next to $ref.",
	Why:     "draft-07 ignores everything next to $ref; only a description is useful there.",
	Bad:     `"properties": {"Owner": {"$ref": "#/definitions/Tag", "minProperties": 1}}`,
	Good:    `"properties": {"Owner": {"$ref": "#/definitions/Tag", "description": "The owner."}}`,
	check:   refsAlone,
}}

// otherLists are the lists of paths that guard-rail does not judge.
var otherLists = [...]string{"deprecatedProperties", "conditionalCreateOnlyProperties", "nonPublicProperties"}

// eachOther calls f for the paths that guard-rail does not judge.
func (in *inspection) eachOther(f func(p listed)) {
	for _, key := range otherLists {
		for _, p := range in.list(key) {
			f(p)
		}
	}
	for _, t := range in.PropertyTransform {
		f(listed{t.Path, document.Pointer{"propertyTransform", t.Path.Text}})
	}
}

func pathsResolve(in *inspection) {
	in.eachOther(func(p listed) {
		if !in.Leads(p.Path) {
			in.report(p.At, p.pointer, quote(p.Text)+" is not a property", in.nearest(p.Path))
		}
	})
	for i, item := range itemsOf(in.Root.Get("nonPublicDefinitions")) {
		tokens, ok := document.ParsePointer(item.Str())
		if item.Kind == document.String && (!ok || len(tokens) < 2 || tokens[0] != "definitions" || in.Root.Lookup(tokens) == nil) {
			in.report(item.At, document.Pointer{"nonPublicDefinitions", strconv.Itoa(i)}, quote(item.Text)+" is not a definition", "it reads like /definitions/Name")
		}
	}
	in.checkLink()
}

func replacementUsed(in *inspection) {
	strategy := in.Root.Member("replacementStrategy")
	replaceable := in.Root.Get("handlers").Get("update") == nil || len(itemsOf(in.Root.Get("createOnlyProperties")))+len(itemsOf(in.Root.Get("conditionalCreateOnlyProperties"))) > 0
	if strategy != nil && !replaceable {
		in.report(strategy.KeyAt, document.Pointer{"replacementStrategy"}, "replacementStrategy has no effect: no update of this type replaces a resource", "remove it, or list the properties whose change needs a replacement in createOnlyProperties")
	}
}

// linkVariable matches a variable of templateUri, and linkConstants are those that the service sets.
var (
	linkVariable  = lazyregexp.New(`\$\{([^{}]+)\}`)
	linkConstants = []string{"awsPartition", "awsRegion", "awsAccountId"}
)

// checkLink looks at the variables of resourceLink and their mappings, whose values are paths.
func (in *inspection) checkLink() {
	link := in.Root.Get("resourceLink")
	if uri := link.Get("templateUri"); uri != nil && uri.Kind == document.String {
		for _, variable := range linkVariable.FindAllStringSubmatch(uri.Text, -1) {
			if name := variable[1]; link.Get("mappings").Member(name) == nil && !slices.Contains(linkConstants, name) {
				in.report(uri.At, document.Pointer{"resourceLink", "templateUri"}, fmt.Sprintf("the variable %s has no mapping", quote("${"+name+"}")), fmt.Sprintf("add %s to mappings with the path of a property", quote(name)))
			}
		}
	}
	for _, m := range membersOf(link.Get("mappings")) {
		tokens, ok := document.ParsePointer(m.Value.Str())
		if m.Value.Kind != document.String {
			continue
		}
		if ok && len(tokens) > 0 && tokens[0] == "properties" {
			tokens = tokens[1:]
		}
		if !ok || len(tokens) == 0 || in.Property(tokens) == nil {
			in.report(m.Value.At, document.Pointer{"resourceLink", "mappings", m.Key}, quote(m.Value.Text)+" is not a property", "")
		}
	}
}

func pathsWellSpelled(in *inspection) {
	check := func(p listed) {
		if in.Leads(p.Path) && p.Text != p.spelling() {
			in.report(p.At, p.pointer, quote(p.Text)+" is not in the path notation of the specification", "write "+quote(p.spelling()))
		}
	}
	in.eachOther(check)
	for _, identifier := range in.additional() {
		for _, p := range identifier {
			check(p)
		}
	}
}

// pathLists are the top-level keys with paths, additionalIdentifiers apart.
var pathLists = [...]string{
	"primaryIdentifier", "readOnlyProperties", "writeOnlyProperties", "createOnlyProperties",
	"conditionalCreateOnlyProperties", "deprecatedProperties", "nonPublicProperties",
}

func pathsOnce(in *inspection) {
	once := func(list []listed) {
		first := make(map[string]listed, len(list))
		for _, p := range list {
			if before, again := first[p.key()]; again {
				in.report(p.At, p.pointer, quote(p.Text)+" is a duplicate", "remove one of them", note(before.At, "the first mention"))
				continue
			}
			first[p.key()] = p
		}
	}
	for _, key := range pathLists {
		once(in.list(key))
	}
	seen := map[string]diag.Range{identifierKey(in.list("primaryIdentifier")): in.keyAt("primaryIdentifier")}
	for _, identifier := range in.additional() {
		once(identifier)
		if len(identifier) == 0 {
			continue
		}
		key := identifierKey(identifier)
		if before, again := seen[key]; again {
			in.report(identifier[0].At, identifier[0].pointer[:2], "duplicate identifier", "remove one of them", note(before, "the first mention"))
			continue
		}
		seen[key] = identifier[0].At
	}
}

// identifierKey is the same text for identifiers of the same properties in the same order.
func identifierKey(list []listed) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.key() + "\x00")
	}
	return b.String()
}

func identifiersScalar(in *inspection) {
	check := func(p listed) {
		if !in.Leads(p.Path) {
			return
		}
		node := in.resolved(in.Property(p.Tokens))
		if node == nil {
			return
		}
		for _, name := range typesOf(node) {
			if name == "array" || name == "object" {
				in.report(p.At, p.pointer, fmt.Sprintf("%s identifies the resource but is of type %s", quote(p.Text), name), "use a string that the service or the user assigns")
				return
			}
		}
	}
	for _, p := range in.list("primaryIdentifier") {
		check(p)
	}
	for _, identifier := range in.additional() {
		for _, p := range identifier {
			check(p)
		}
	}
}

// definitionsUsed follows the references from everything that is not a definition.
func definitionsUsed(in *inspection) {
	definitions := membersOf(in.Root.Get("definitions"))
	if len(definitions) == 0 {
		return
	}
	owner := make(map[*document.Value]string, len(in.sites)) // the definition that a schema is in
	refs := map[string][]*document.Value{}                   // the schemas with $ref, by that
	for _, site := range in.sites {
		name := ""
		if len(site.Pointer) > 1 && site.Pointer[0] == "definitions" {
			name = site.Pointer[1]
		}
		owner[site.Node] = name
		if site.Node.Get("$ref") != nil {
			refs[name] = append(refs[name], site.Node)
		}
	}
	used := map[string]bool{"": true}
	queue := []string{""}
	use := func(name string) {
		if !used[name] {
			used[name] = true
			queue = append(queue, name)
		}
	}
	for len(queue) > 0 {
		from := queue[0]
		queue = queue[1:]
		for _, node := range refs[from] {
			// The text names the references between here and the end of a chain.
			use(definitionOf(node.Get("$ref").Str()))
			if target := in.resolved(node); target != nil {
				use(owner[target])
			}
		}
	}
	for _, m := range definitions {
		if !used[m.Key] {
			in.report(m.KeyAt, document.Pointer{"definitions", m.Key}, fmt.Sprintf("the definition %s is not used", quote(m.Key)), "remove it")
		}
	}
}

// definitionOf is the name in a reference to a definition of the document, else "".
func definitionOf(ref string) string {
	_, fragment, _ := strings.Cut(ref, "#")
	tokens, ok := document.ParsePointer(fragment)
	if !ok || len(tokens) < 2 || tokens[0] != "definitions" {
		return ""
	}
	return tokens[1]
}

func refsEnd(in *inspection) {
	for _, site := range in.sites {
		ref := site.Node.Get("$ref")
		if ref == nil || ref.Kind != document.String || !in.circular(site.Node) {
			continue
		}
		in.report(ref.At, site.Pointer.Append("$ref"), fmt.Sprintf("the reference %s refers only to itself", quote(ref.Text)), "describe the value in one of the definitions")
	}
}

// circular reports whether the references from a schema lead only to each other.
func (in *inspection) circular(node *document.Value) bool {
	_, err := in.Resolve(node)
	return errors.Is(err, schema.ErrCircular)
}

// annotations are allowed next to $ref: they constrain nothing.
var annotations = map[string]bool{"$ref": true, "description": true, "title": true, "$comment": true, "examples": true, "default": true, "relationshipRef": true}

func refsAlone(in *inspection) {
	for _, site := range in.sites {
		if len(site.Pointer) == 0 || site.Node.Get("$ref") == nil {
			continue
		}
		for _, m := range site.Node.Members {
			if !annotations[m.Key] {
				in.report(m.KeyAt, site.Pointer.Append(m.Key), fmt.Sprintf("%s is ignored next to $ref", quote(m.Key)), "move it to the definition, or describe the value without $ref")
			}
		}
	}
}
