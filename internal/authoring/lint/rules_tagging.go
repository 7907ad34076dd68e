package lint

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// taggingWhy is why everything about tags is written out.
const taggingWhy = "The defaults (all true) promise more than most services keep; what is written down is checked by the contract tests."

// taggingRules judge what the schema says about tags.
var taggingRules = []Rule{{
	ID: "lint/TAG001", Severity: diag.Warning,
	Upstream: "guard-rail: TAG001",
	Purpose:  "The deprecated key taggable is not used.",
	Why:      "It cannot define where the tags are and when they can be changed, but tagging can.",
	Bad:      `"tagging": null, "taggable": true`,
	Good:     `"tagging": {"taggable": true}`,
	kinds:    resources, check: taggableUnused,
}, {
	ID: "lint/TAG002", Severity: diag.Warning, Twin: "schema/tagging-missing",
	Upstream: "guard-rail: TAG002",
	Purpose:  "The schema has the key tagging.",
	Why:      "Without it, the type counts as taggable.",
	Bad:      `"tagging": null`,
	Good:     `"tagging": {"taggable": true}`,
	kinds:    resources, check: taggingExists,
}, {
	ID: "lint/TAG003", Severity: diag.Error, Fault: true, Twin: "schema/taggable-and-tagging",
	Upstream: "guard-rail: TAG003",
	Purpose:  "taggable and tagging are not used together.",
	Why:      "The two can contradict each other, so the registry rejects a schema with both.",
	Bad:      `"taggable": true`,
	Good:     `"tagging": {"taggable": true}`,
	kinds:    resources, check: taggingOnce,
}, {
	ID: "lint/TAG004", Severity: diag.Warning,
	Upstream: "guard-rail: TAG004",
	Purpose:  "A type with taggable true has a property Tags.",
	Why:      "CloudFormation passes the tags of the stack in this property.",
	Bad:      `"tagging": null, "taggable": true, "properties": {"Tags": null}`,
	Good:     `"tagging": null, "taggable": true`,
	kinds:    resources, check: tagsBesideTaggable,
}, {
	ID: "lint/TAG005", Severity: diag.Error, Fault: true, Twin: "schema/wrong-type",
	Upstream: "guard-rail: TAG005",
	Purpose:  "tagging is an object.",
	Why:      "The registry rejects the schema.",
	Bad:      `"tagging": true`,
	Good:     `"tagging": {"taggable": true}`,
	kinds:    resources, check: taggingIsObject,
}, {
	ID: "lint/TAG006", Severity: diag.Error, Fault: true, Twin: "schema/missing-key",
	Upstream: "guard-rail: TAG006",
	Purpose:  "tagging has the key taggable.",
	Why:      "The registry rejects the schema.",
	Bad:      `"tagging": {"taggable": null}`,
	Good:     `"tagging": {"taggable": true}`,
	kinds:    resources, check: taggingComplete("taggable"),
}, {
	ID: "lint/TAG007", Severity: diag.Warning,
	Upstream: "guard-rail: TAG007",
	Purpose:  "tagging of a taggable type defines whether tags can be set at creation.",
	Why:      taggingWhy,
	Bad:      `"tagging": {"tagOnCreate": null}`,
	Good:     `"tagging": {"tagOnCreate": true}`,
	kinds:    resources, check: taggingComplete("tagOnCreate"),
}, {
	ID: "lint/TAG008", Severity: diag.Warning,
	Upstream: "guard-rail: TAG008",
	Purpose:  "tagging of a taggable type defines whether tags can be updated.",
	Why:      taggingWhy,
	Bad:      `"tagging": {"tagUpdatable": null}`,
	Good:     `"tagging": {"tagUpdatable": true}`,
	kinds:    resources, check: taggingComplete("tagUpdatable"),
}, {
	ID: "lint/TAG009", Severity: diag.Warning,
	Upstream: "guard-rail: TAG009",
	Purpose:  "tagging of a taggable type defines whether CloudFormation's own tags are applied.",
	Why:      taggingWhy,
	Bad:      `"tagging": {"cloudFormationSystemTags": null}`,
	Good:     `"tagging": {"cloudFormationSystemTags": false}`,
	kinds:    resources, check: taggingComplete("cloudFormationSystemTags"),
}, {
	ID: "lint/TAG010", Severity: diag.Warning,
	Upstream: "guard-rail: TAG010",
	Purpose:  "tagging of a taggable type names its tagProperty.",
	Why:      taggingWhy,
	Bad:      `"tagging": {"tagProperty": null}`,
	Good:     `"tagging": {"tagProperty": "/properties/Tags"}`,
	kinds:    resources, check: taggingComplete("tagProperty"),
}, {
	ID: "lint/TAG011", Severity: diag.Warning,
	Upstream: "guard-rail: TAG011",
	Purpose:  "A taggable type has a property named Tags.",
	Why:      "Users expect the tags there, as in other types.",
	Bad:      `"properties": {"Tags": null, "Labels": {"type": "object"}}, "tagging": {"tagProperty": "/properties/Labels"}`,
	Good:     `"tagging": {"tagProperty": "/properties/Tags"}`,
	kinds:    resources, check: tagsBesideTagging,
}, {
	ID: "lint/TAG012", Severity: diag.Warning,
	Upstream: "guard-rail: TAG012",
	Purpose:  "tagging of a taggable type lists the permissions that tagging needs.",
	Why:      "This distinguishes roles that can change a resource but not its tags from roles that can change both.",
	Bad:      `"tagging": {"permissions": null}`,
	Good:     `"tagging": {"permissions": ["tps:TagReport", "tps:UntagReport"]}`,
	kinds:    resources, check: taggingComplete("permissions"),
}, {
	ID: "lint/TAG013", Severity: diag.Error, Fault: true, Twin: "schema/tag-property",
	Upstream: "guard-rail: TAG013",
	Purpose:  "tagProperty of a taggable type names a property of the schema.",
	Why:      "CloudFormation passes the tags of the stack in this property.",
	Bad:      `"tagging": {"tagProperty": "/properties/Labels"}`,
	Good:     `"tagging": {"tagProperty": "/properties/Tags"}`,
	kinds:    resources, check: tagPropertyExists,
}, {
	ID: "lint/TAG014", Severity: diag.Warning, Fault: true,
	Upstream: "guard-rail: TAG014",
	Purpose:  "The property with the tags is not write-only.",
	Why:      "Tags that are never returned cannot be compared: drift of tags is not detected, and the contract tests for tags fail.",
	Bad:      `"writeOnlyProperties": ["/properties/Tags"]`,
	Good:     `"writeOnlyProperties": ["/properties/Secret"]`,
	kinds:    resources, check: tagPropertyNotIn("writeOnlyProperties", "write-only: nobody can read the tags back"),
}, {
	ID: "lint/TAG015", Severity: diag.Warning,
	Upstream: "guard-rail: TAG015",
	Purpose:  "The type is now taggable.",
	Why:      "Users assign costs and permissions by tags, and AWS requires them for its own types. If the service does not support tags, suppress the rule.",
	Bad:      `"tagging": {"taggable": false}`,
	Good:     `"tagging": {"taggable": true}`,
	kinds:    resources, check: canBeTagged,
}, {
	ID: "lint/TAG016", Severity: diag.Warning,
	Upstream: "guard-rail: TAG016",
	Purpose:  `A type that is not taggable has no property whose name contains "Tag".`,
	Why:      "If a property contains tags but tagging does not name it, it gets no tags of the stack and its tags are not checked. Names such as ImageTagMutability are false positives.",
	Bad:      `"tagging": {"taggable": false}`,
	Good:     `"tagging": {"taggable": false}, "properties": {"Tags": null}`,
	kinds:    resources, check: noTagsUntold,
}, {
	ID: "lint/TAG017", Severity: diag.Warning,
	Upstream: "guard-rail: TAG017",
	Purpose:  "The property with the tags is not create-only.",
	Why:      "Changing a tag would replace the resource.",
	Bad:      `"createOnlyProperties": ["/properties/Tags"]`,
	Good:     `"createOnlyProperties": ["/properties/Name"]`,
	kinds:    resources, check: tagPropertyNotIn("createOnlyProperties", "create-only: a changed tag replaces the resource"),
}, {
	ID: "lint/TAG018", Severity: diag.Warning, Fault: true,
	Upstream: "guard-rail: TAG018",
	Purpose:  "Tags that are create-only have tagUpdatable false.",
	Why:      "The schema contradicts itself about whether tags can be updated.",
	Bad:      `"createOnlyProperties": ["/properties/Tags"], "tagging": {"tagUpdatable": true}`,
	Good:     `"createOnlyProperties": ["/properties/Tags"], "tagging": {"tagUpdatable": false}`,
	kinds:    resources, check: createOnlyTagsNotUpdatable,
}, {
	ID: "lint/TAG019", Severity: diag.Warning,
	Upstream: "guard-rail: TAG019",
	Purpose:  "tagProperty has no wildcard.",
	Why:      "The tags of the stack are passed once; in an array, they would be repeated in every item.",
	Bad:      `"properties": {"Pages": {"type": "array", "items": {"type": "object", "properties": {"Tags": {"type": "object"}}}}}, "tagging": {"tagProperty": "/properties/Pages/*/Tags"}`,
	Good:     `"tagging": {"tagProperty": "/properties/Tags"}`,
	kinds:    resources, check: tagPropertySingle,
}, {
	ID: "lint/tag-property-type", Severity: diag.Warning, Fault: true,
	Purpose: "The property with the tags is a list of objects with Key and Value, or a map of strings.",
	Why:     "CloudFormation passes the tags of the stack in one of these two formats; with any other, stacks with tags fail.",
	Bad:     `"properties": {"Tags": {"type": "string"}}`,
	Good:    `"properties": {"Tags": {"type": "object", "patternProperties": {"^.+$": {"type": "string"}}, "additionalProperties": false}}`,
	kinds:   resources, check: tagPropertyShape,
}}

// tagging returns the key of the schema, nil if it has none that is an object.
func (in *inspection) tagging() *document.Member {
	m := in.Root.Member("tagging")
	if m == nil || m.Value.Kind != document.Object {
		return nil
	}
	return m
}

// tagged returns the key tagging of a schema whose type is taggable.
func (in *inspection) tagged() *document.Member {
	m := in.tagging()
	if m == nil || !isTrue(m.Value.Get("taggable")) {
		return nil
	}
	return m
}

func taggableUnused(in *inspection) {
	if m := in.Root.Member("taggable"); m != nil {
		in.report(m.KeyAt, document.Pointer{"taggable"}, `"taggable" is deprecated`, fmt.Sprintf(`write "tagging": {"taggable": %v, …}`, isTrue(m.Value)))
	}
}

func taggingExists(in *inspection) {
	if in.Root.Member("tagging") == nil {
		in.report(in.absent(), nil, "the schema has no tagging", `add "tagging": {"taggable": false}, or describe its tags there`)
	}
}

func taggingOnce(in *inspection) {
	short, long := in.Root.Member("taggable"), in.Root.Member("tagging")
	if short != nil && long != nil {
		in.report(short.KeyAt, document.Pointer{"taggable"}, `"taggable" and "tagging" both describe tagging`, `remove "taggable", which is deprecated`, note(long.KeyAt, "described here"))
	}
}

func tagsBesideTaggable(in *inspection) {
	if m := in.Root.Member("taggable"); m != nil && isTrue(m.Value) && in.Root.Get("properties").Get("Tags") == nil {
		in.report(m.KeyAt, document.Pointer{"taggable"}, `the type is taggable, but has no property "Tags"`, `declare it, or set "taggable": false`)
	}
}

func taggingIsObject(in *inspection) {
	if m := in.Root.Member("tagging"); m != nil && m.Value.Kind != document.Object {
		in.report(m.Value.At, document.Pointer{"tagging"}, "tagging is not an object", `write "tagging": {"taggable": …}`)
	}
}

// taggingComplete checks that a key of tagging is written out; all but taggable itself
// only where the type is taggable.
func taggingComplete(key string) func(*inspection) {
	return func(in *inspection) {
		m := in.tagged()
		if key == "taggable" {
			m = in.tagging()
		}
		if m != nil && m.Value.Get(key) == nil {
			in.report(m.KeyAt, document.Pointer{"tagging"}, "tagging does not have "+key, "set it explicitly, even to the default")
		}
	}
}

func tagsBesideTagging(in *inspection) {
	if m := in.tagged(); m != nil && in.Root.Get("properties").Get("Tags") == nil {
		in.report(m.KeyAt, document.Pointer{"tagging"}, `the type is taggable, but has no property "Tags"`, "rename the property with the tags")
	}
}

// tagProperty returns the value of the key in the tagging of a taggable type, nil if it is
// missing.
func (in *inspection) tagProperty() *document.Value {
	m := in.tagged()
	if m == nil || m.Value.Get("tagProperty") == nil || m.Value.Get("tagProperty").Kind != document.String {
		return nil
	}
	return m.Value.Get("tagProperty")
}

var tagPropertyPointer = document.Pointer{"tagging", "tagProperty"}

func tagPropertyExists(in *inspection) {
	if v := in.tagProperty(); v != nil && !in.Leads(in.Tagging.Property) {
		in.report(v.At, tagPropertyPointer, fmt.Sprintf("tagProperty is %s, but there is no such property", quote(v.Text)), "")
	}
}

// tagPropertyNotIn checks that the tags are not in a list of paths.
func tagPropertyNotIn(key, message string) func(*inspection) {
	return func(in *inspection) {
		v := in.tagProperty()
		if v == nil {
			return
		}
		if other, both := in.find(key, listed{Path: in.Tagging.Property}); both {
			in.report(v.At, tagPropertyPointer, "the property with the tags is "+message, "remove it from "+key, note(other.At, "listed here"))
		}
	}
}

func canBeTagged(in *inspection) {
	if m := in.tagging(); m != nil && !isTrue(m.Value.Get("taggable")) {
		in.report(m.KeyAt, document.Pointer{"tagging"}, "the type cannot be tagged", "if the service has no tags, suppress the rule with a reason")
	}
}

func noTagsUntold(in *inspection) {
	m := in.tagging()
	if m == nil || !isFalse(m.Value.Get("taggable")) {
		return
	}
	in.eachProperty(func(p document.Member) bool {
		if !strings.Contains(p.Key, "Tag") {
			return true
		}
		in.report(m.KeyAt, document.Pointer{"tagging", "taggable"}, fmt.Sprintf("the type is not taggable but has the property %s", quote(p.Key)),
			"describe its tags in tagging; if they are not tags, suppress the rule with a reason", note(p.KeyAt, "the property"))
		return false
	})
}

func createOnlyTagsNotUpdatable(in *inspection) {
	v := in.tagProperty()
	if v == nil {
		return
	}
	other, both := in.find("createOnlyProperties", listed{Path: in.Tagging.Property})
	if both && !isFalse(in.tagged().Value.Get("tagUpdatable")) {
		in.report(v.At, tagPropertyPointer, "the tags are create-only, but tagUpdatable is not false", `set "tagUpdatable": false`, note(other.At, "create-only here"))
	}
}

func tagPropertySingle(in *inspection) {
	if v := in.tagProperty(); v != nil && strings.Contains(v.Text, "*") {
		in.report(v.At, tagPropertyPointer, fmt.Sprintf("tagProperty is %s: the tags would be repeated in every item", quote(v.Text)), "use the pointer of one property")
	}
}

func tagPropertyShape(in *inspection) {
	v := in.tagProperty()
	if v == nil || !in.Leads(in.Tagging.Property) {
		return
	}
	node := in.resolved(in.Property(in.Tagging.Property.Tokens))
	if node == nil {
		return
	}
	for _, name := range typesOf(node) {
		if name == "array" || name == "object" {
			return
		}
	}
	if len(typesOf(node)) > 0 {
		in.report(v.At, tagPropertyPointer, fmt.Sprintf("the property with the tags is of type %s", strings.Join(typesOf(node), " or ")),
			"make it an array of objects with Key and Value, or an object with patternProperties")
	}
}
