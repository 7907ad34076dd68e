package lint

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// styleRules are the house style of AWS for what does not fit elsewhere.
var styleRules = []Rule{{
	ID: "lint/GN001", Severity: diag.Warning,
	Upstream: "guard-rail: GN001",
	Purpose:  `The description starts with "Resource Type definition for".`,
	Why:      "It is the first sentence of the reference page of every AWS type.",
	Bad:      `"description": "Reports."`,
	Good:     `"description": "Resource Type definition for Initech::TPS::Report."`,
	kinds:    resources, check: descriptionBegins,
}, {
	ID: "lint/GN002", Severity: diag.Warning, Twin: "schema/malformed",
	Upstream: "guard-rail: GN002",
	Purpose:  "sourceUrl is an https URL.",
	Why:      "With https, readers receive what the author published.",
	Bad:      `"sourceUrl": "http://example.com/tps.git"`,
	Good:     `"sourceUrl": "https://example.com/tps.git"`,
	kinds:    resources, check: sourceSecure,
}, {
	ID: "lint/GN003", Severity: diag.Warning,
	Upstream: "guard-rail: GN003",
	Purpose:  "replacementStrategy, if it is given, is create_then_delete.",
	Why:      "The other order deletes the resource first: if the creation of its replacement fails, there is no resource at all.",
	Bad:      `"replacementStrategy": "delete_then_create"`,
	Good:     `"replacementStrategy": "create_then_delete"`,
	kinds:    resources, check: replacementSafe,
}, {
	ID: "lint/ARN001", Severity: diag.Warning,
	Upstream: "guard-rail: ARN001",
	Purpose:  "Top-level properties with Arn in their name are strings.",
	Why:      "An ARN is a string; other values under such a name are misleading.",
	Bad:      `"properties": {"TopicArn": {"type": "array", "items": {"type": "string"}}}`,
	Good:     `"properties": {"TopicArn": {"type": "string", "pattern": "^arn:"}}`,
	kinds:    resources, check: arnsAreStrings,
}, {
	ID: "lint/ARN002", Severity: diag.Warning,
	Upstream: "guard-rail: ARN002",
	Purpose:  "Top-level properties with Arn in their name have a pattern.",
	Why:      "With a pattern, a name or an ID instead of the ARN is rejected before anything is created.",
	Bad:      `"properties": {"TopicArn": {"type": "string"}}`,
	Good:     `"properties": {"TopicArn": {"type": "string", "pattern": "^arn:aws[a-z-]*:sns:"}}`,
	kinds:    resources, check: arnsHavePatterns,
}, {
	ID: "lint/COM001", Severity: diag.Warning,
	Upstream: "guard-rail: COM001",
	Purpose:  "Every top-level property has a type, or refers to a definition.",
	Why:      "Generated code and the conversion of values need the type.",
	Bad:      `"properties": {"Color": {"description": "The color."}}`,
	Good:     `"properties": {"Color": {"type": "string", "description": "The color."}}`,
	kinds:    resources, check: propertiesTyped,
}, {
	ID: "lint/COM002", Severity: diag.Warning,
	Upstream: "guard-rail: COM002",
	Purpose:  "A top-level property has only one type.",
	Why:      "In most languages, a value with several types becomes untyped.",
	Bad:      `"properties": {"Policy": {"type": ["object", "string"]}}`,
	Good:     `"properties": {"Policy": {"type": "object"}}`,
	kinds:    resources, check: typesSingle,
}, {
	ID: "lint/COM003", Severity: diag.Warning,
	Upstream: "guard-rail: COM003",
	Purpose:  "Top-level arrays describe their items.",
	Why:      "Without a description of the items, an array cannot be checked, and no code can be generated for it.",
	Bad:      `"properties": {"Pages": {"type": "array", "insertionOrder": true}}`,
	Good:     `"properties": {"Pages": {"type": "array", "insertionOrder": true, "items": {"type": "string"}}}`,
	kinds:    resources, check: arraysHaveItems,
}, {
	ID: "lint/COM004", Severity: diag.Warning,
	Upstream: "guard-rail: COM004",
	Purpose:  "The items of top-level arrays are not described by anyOf.",
	Why:      combinedItemsWhy,
	Bad:      `"properties": {"Pages": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}}}`,
	Good:     `"properties": {"Pages": {"type": "array", "items": {"type": "string"}}}`,
	kinds:    resources, check: itemsWithout("anyOf"),
}, {
	ID: "lint/COM005", Severity: diag.Warning,
	Upstream: "guard-rail: COM005",
	Purpose:  "The items of top-level arrays are not described by allOf.",
	Why:      combinedItemsWhy,
	Bad:      `"properties": {"Pages": {"type": "array", "items": {"allOf": [{"type": "string"}]}}}`,
	Good:     `"properties": {"Pages": {"type": "array", "items": {"type": "string"}}}`,
	kinds:    resources, check: itemsWithout("allOf"),
}, {
	ID: "lint/COM006", Severity: diag.Warning,
	Upstream: "guard-rail: COM006",
	Purpose:  "The items of top-level arrays are not described by oneOf.",
	Why:      combinedItemsWhy,
	Bad:      `"properties": {"Pages": {"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "object"}]}}}`,
	Good:     `"properties": {"Pages": {"type": "array", "items": {"type": "string"}}}`,
	kinds:    resources, check: itemsWithout("oneOf"),
}}

const combinedItemsWhy = "Items of several shapes become untyped values in generated code, and order rules cannot be applied to them."

func descriptionBegins(in *inspection) {
	if strings.HasPrefix(in.Description, "Resource Type definition for") {
		return
	}
	at, pointer := in.absent(), document.Pointer(nil)
	if v := in.Root.Get("description"); v != nil {
		at, pointer = v.At, document.Pointer{"description"}
	}
	in.report(at, pointer, `the description does not start with "Resource Type definition for"`, fmt.Sprintf("write %q", "Resource Type definition for "+diag.Cut(in.TypeName.Value)))
}

func sourceSecure(in *inspection) {
	if v := in.Root.Get("sourceUrl"); v != nil && !strings.HasPrefix(v.Str(), "https:") {
		in.report(v.At, document.Pointer{"sourceUrl"}, "sourceUrl is not an https URL", "")
	}
}

func replacementSafe(in *inspection) {
	if v := in.Root.Get("replacementStrategy"); v != nil && v.Str() != "create_then_delete" {
		in.report(v.At, document.Pointer{"replacementStrategy"}, "a replacement deletes the resource before the new one is created", `remove it if both resources can exist at the same time`)
	}
}

// eachTop calls f for the top-level properties with their schema after references.
func (in *inspection) eachTop(f func(m document.Member, node *document.Value, pointer document.Pointer)) {
	for _, m := range in.Properties() {
		if node := in.resolved(m.Value); node != nil {
			f(m, node, document.Pointer{"properties", m.Key})
		}
	}
}

// namesArn is how guard-rail recognises such a property.
func namesArn(key string) bool {
	return strings.Contains(key, "Arn") || strings.Contains(key, "arn") || strings.Contains(key, "ARN")
}

func arnsAreStrings(in *inspection) {
	in.eachTop(func(m document.Member, node *document.Value, pointer document.Pointer) {
		if v := node.Get("type"); namesArn(m.Key) && v.Str() != "string" {
			in.report(m.KeyAt, pointer, fmt.Sprintf("%s is named like an ARN but is not a string", quote(m.Key)), "")
		}
	})
}

func arnsHavePatterns(in *inspection) {
	in.eachTop(func(m document.Member, node *document.Value, pointer document.Pointer) {
		if namesArn(m.Key) && node.Get("pattern") == nil {
			in.report(m.KeyAt, pointer, fmt.Sprintf("%s is named like an ARN but has no pattern", quote(m.Key)), `add "pattern": "^arn:aws[a-z-]*:service:…"`)
		}
	})
}

func propertiesTyped(in *inspection) {
	in.eachTop(func(m document.Member, node *document.Value, pointer document.Pointer) {
		if node.Get("type") == nil {
			in.report(m.KeyAt, pointer, quote(m.Key)+" has no type", `add "type"`)
		}
	})
}

func typesSingle(in *inspection) {
	in.eachTop(func(m document.Member, node *document.Value, pointer document.Pointer) {
		if v := node.Get("type"); v != nil && v.Kind == document.Array {
			in.report(m.KeyAt, pointer, fmt.Sprintf("%s has several types: %s", quote(m.Key), strings.Join(v.Strings(), ", ")), "keep one of them")
		}
	})
}

func arraysHaveItems(in *inspection) {
	in.eachTop(func(m document.Member, node *document.Value, pointer document.Pointer) {
		if node.Get("type").Str() == "array" && node.Get("items") == nil {
			in.report(m.KeyAt, pointer, fmt.Sprintf("the array %s does not describe its items", quote(m.Key)), `add "items"`)
		}
	})
}

func itemsWithout(combiner string) func(*inspection) {
	return func(in *inspection) {
		in.eachTop(func(m document.Member, node *document.Value, pointer document.Pointer) {
			if node.Get("type").Str() != "array" {
				return
			}
			if items := in.resolved(node.Get("items")); items != nil && items.Get(combiner) != nil {
				in.report(m.KeyAt, pointer, fmt.Sprintf("the items of %s are described by %s", quote(m.Key), combiner), "use one schema for all items")
			}
		})
	}
}
