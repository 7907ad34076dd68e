package lint

import (
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// identifierRules judge the lists of paths: what identifies a resource, and which of its
// properties are read-only, create-only or write-only.
var identifierRules = []Rule{{
	ID: "lint/PID001", Severity: diag.Error, Fault: true, Twin: "schema/missing-key",
	Upstream: "guard-rail: PID001",
	Purpose:  "A resource type has a primaryIdentifier.",
	Why:      "Every read, update and delete identifies the resource by it; the registry rejects a schema without one.",
	Bad:      `"primaryIdentifier": null`,
	Good:     `"primaryIdentifier": ["/properties/Id"]`,
	kinds:    resources, check: identifierExists,
}, {
	ID: "lint/PID002", Severity: diag.Error, Fault: true, Twin: "schema/empty",
	Upstream: "guard-rail: PID002",
	Purpose:  "The primaryIdentifier has members.",
	Why:      "An empty identifier does not identify a resource.",
	Bad:      `"primaryIdentifier": []`,
	Good:     `"primaryIdentifier": ["/properties/Id"]`,
	kinds:    resources, check: identifierNotEmpty,
}, {
	ID: "lint/PID003", Severity: diag.Warning, Fault: true, Twin: "schema/identifier-mutable",
	Upstream: "guard-rail: PID003",
	Purpose:  "Every member of the primaryIdentifier is read-only or create-only.",
	Why:      "If an update could change the identifier, CloudFormation would lose the resource.",
	Bad:      `"primaryIdentifier": ["/properties/Color"]`,
	Good:     `"primaryIdentifier": ["/properties/Name"], "createOnlyProperties": ["/properties/Name"]`,
	kinds:    resources, check: identifierFixed,
}, {
	ID: "lint/PID004", Severity: diag.Warning, Fault: true,
	Upstream: "guard-rail: PID004",
	Purpose:  "No member of the primaryIdentifier is write-only.",
	Why:      "Write-only properties are never returned, so the identifier could not be read.",
	Bad:      `"primaryIdentifier": ["/properties/Secret"], "writeOnlyProperties": ["/properties/Secret"]`,
	Good:     `"primaryIdentifier": ["/properties/Id"], "writeOnlyProperties": ["/properties/Secret"]`,
	kinds:    resources, check: identifierReadable,
}, {
	ID: "lint/PR001", Severity: diag.Warning, Fault: true, Twin: "schema/read-only-overlap",
	Upstream: "guard-rail: PR001",
	Purpose:  "No property is both read-only and create-only.",
	Why:      "Users cannot set a read-only property, so they cannot set it at creation either.",
	Bad:      `"readOnlyProperties": ["/properties/Id", "/properties/Name"], "createOnlyProperties": ["/properties/Name"]`,
	Good:     `"readOnlyProperties": ["/properties/Id"], "createOnlyProperties": ["/properties/Name"]`,
	kinds:    resources, check: apart("readOnlyProperties", "createOnlyProperties"),
}, {
	ID: "lint/PR004", Severity: diag.Warning, Fault: true, Twin: "schema/read-only-overlap",
	Upstream: "guard-rail: PR004",
	Purpose:  "No property is both read-only and write-only.",
	Why:      "A property that can be neither set nor read has no use.",
	Bad:      `"readOnlyProperties": ["/properties/Id", "/properties/Secret"], "writeOnlyProperties": ["/properties/Secret"]`,
	Good:     `"readOnlyProperties": ["/properties/Id"], "writeOnlyProperties": ["/properties/Secret"]`,
	kinds:    resources, check: apart("readOnlyProperties", "writeOnlyProperties"),
}, {
	ID: "lint/PR005", Severity: diag.Warning, Fault: true, Twin: "schema/identifier-unresolved",
	Upstream: "guard-rail: PR005",
	Purpose:  "The members of the primaryIdentifier refer to properties of the schema, in the notation of the specification.",
	Why:      "CloudFormation finds a resource by its identifier; if no model can have it, every read, update and delete fails.",
	Bad:      `"primaryIdentifier": ["/properties/Ident"]`,
	Good:     `"primaryIdentifier": ["/properties/Id"]`,
	kinds:    resources, check: named("primaryIdentifier"),
}, {
	ID: "lint/PR006", Severity: diag.Warning, Fault: true,
	Upstream: "guard-rail: PR006",
	Purpose:  "createOnlyProperties name properties of the schema, in the notation of the specification.",
	Why:      "A misspelled path has no effect: an update that should replace the resource calls the update handler instead.",
	Bad:      `"createOnlyProperties": ["/properties/Nane"]`,
	Good:     `"createOnlyProperties": ["/properties/Name"]`,
	kinds:    resources, check: named("createOnlyProperties"),
}, {
	ID: "lint/PR007", Severity: diag.Warning, Fault: true,
	Upstream: "guard-rail: PR007",
	Purpose:  "readOnlyProperties name properties of the schema, in the notation of the specification.",
	Why:      "The intended property can still be set by users, and the values of the service are reported as drift.",
	Bad:      `"readOnlyProperties": ["/properties/Id", "/properties/Arn"]`,
	Good:     `"readOnlyProperties": ["/properties/Id"]`,
	kinds:    resources, check: named("readOnlyProperties"),
}, {
	ID: "lint/PR008", Severity: diag.Warning, Fault: true, Covered: "schema/write-only-unresolved",
	Upstream: "guard-rail: PR008",
	Purpose:  "writeOnlyProperties name properties of the schema, in the notation of the specification.",
	Why:      "Otherwise, the read handler returns the intended secret, and everyone who can describe the resource can see it.",
	Bad:      `"writeOnlyProperties": ["/properties/Password"]`,
	Good:     `"writeOnlyProperties": ["/properties/Secret"]`,
	kinds:    resources, check: named("writeOnlyProperties"),
}}

func identifierExists(in *inspection) {
	if in.Root.Get("primaryIdentifier") == nil {
		in.report(in.absent(), nil, "the type has no primaryIdentifier", `add "primaryIdentifier": ["/properties/…"] with the property that identifies a resource`)
	}
}

func identifierNotEmpty(in *inspection) {
	if m := in.Root.Member("primaryIdentifier"); m != nil && len(itemsOf(m.Value)) == 0 {
		in.report(m.KeyAt, []string{"primaryIdentifier"}, "the primaryIdentifier has no members", "set it to the property that identifies a resource")
	}
}

func identifierFixed(in *inspection) {
	for _, p := range in.list("primaryIdentifier") {
		_, assigned := in.find("readOnlyProperties", p)
		_, fixed := in.find("createOnlyProperties", p)
		if !assigned && !fixed {
			in.report(p.At, p.pointer, fmt.Sprintf("%s identifies the resource but is neither read-only nor create-only", quote(p.Text)),
				"add it to createOnlyProperties, or to readOnlyProperties if the service assigns it")
		}
	}
}

func identifierReadable(in *inspection) {
	for _, p := range in.list("primaryIdentifier") {
		if other, both := in.find("writeOnlyProperties", p); both {
			in.report(p.At, p.pointer, fmt.Sprintf("%s identifies the resource but is write-only and never returned", quote(p.Text)),
				"remove it from writeOnlyProperties", note(other.At, "write-only here"))
		}
	}
}

// apart checks that two lists have no property in common.
func apart(key, otherKey string) func(*inspection) {
	return func(in *inspection) {
		for _, p := range in.list(key) {
			if other, both := in.find(otherKey, p); both {
				in.report(p.At, p.pointer, fmt.Sprintf("%s is also in %s", quote(p.Text), otherKey), "keep it in one of the two lists",
					note(other.At, "the other entry"))
			}
		}
	}
}

// named checks that the paths of a list name properties, in the true spelling.
func named(key string) func(*inspection) {
	return func(in *inspection) {
		for _, p := range in.list(key) {
			in.checkPath(p)
		}
	}
}

// checkPath reports a path to an unknown property, or a path in an unusual spelling.
func (in *inspection) checkPath(p listed) {
	switch {
	case !in.Leads(p.Path):
		in.report(p.At, p.pointer, quote(p.Text)+" is not a property", in.nearest(p.Path))
	case p.Text != p.spelling():
		in.report(p.At, p.pointer, fmt.Sprintf("%s is not in the path notation of the specification", quote(p.Text)), "write "+quote(p.spelling()))
	}
}
