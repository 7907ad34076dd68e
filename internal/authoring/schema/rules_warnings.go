package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// warningRules are the rules for documents that are valid but probably wrong.
var warningRules = []Rule{{
	ID: "schema/identifier-unresolved", Severity: diag.Warning,
	Upstream: "guard-rail: PR005",
	Purpose:  "The members of primaryIdentifier and additionalIdentifiers are JSON pointers to properties of the schema.",
	Why:      "CloudFormation finds a resource by its identifier; if no model can have it, every read, update and delete fails. This is a warning, because the official tool and the Java library accept such schemas.",
	Example:  `wrong: "primaryIdentifier": ["/properties/id"] beside "properties": {"Id": …}` + "\n" + `right: "primaryIdentifier": ["/properties/Id"]`,
	kinds:    []Kind{Resource},
	check:    identifiersResolve,
}, {
	ID: "schema/write-only-unresolved", Severity: diag.Warning,
	Upstream: "guard-rail: PR008",
	Purpose:  "The members of writeOnlyProperties refer to properties of the schema.",
	Why:      "Otherwise, the intended property is not write-only, and its value, often a secret, is returned, logged and shown. This is a warning, because the official tool accepts it and schemas of AWS, such as AWS::EC2::Instance, contain it.",
	Example:  `wrong: "writeOnlyProperties": ["/properties/Pasword"]` + "\n" + `right: "writeOnlyProperties": ["/properties/Password"]`,
	kinds:    []Kind{Resource},
	check:    writeOnlyResolves,
}, {
	ID: "schema/handler-missing", Severity: diag.Warning,
	Upstream: "guard-rail: PER003, PER008",
	Purpose:  "A type with a create handler has read and delete handlers.",
	Why:      "CloudFormation reads a resource after it was created, and deletes it with the stack or in a rollback. Without these handlers, created resources cannot be deleted.",
	Example:  `wrong: "handlers": {"create": {…}}` + "\n" + `right: "handlers": {"create": {…}, "read": {…}, "delete": {…}}`,
	kinds:    []Kind{Resource},
	check:    handlersComplete,
}, {
	ID: "schema/identifier-mutable", Severity: diag.Warning,
	Upstream: "cfn validate; guard-rail: PID003",
	Purpose:  "Every member of the primary identifier is read-only or create-only.",
	Why:      "If an update could change the identifier, CloudFormation would lose the resource.",
	Example:  `right: "createOnlyProperties": ["/properties/Name"], "primaryIdentifier": ["/properties/Name"]`,
	kinds:    []Kind{Resource},
	check:    identifiersImmutable,
}, {
	ID: "schema/lowercase-property", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "Names of properties start with a capital letter.",
	Why:      "This is the style of CloudFormation; mixed styles in a template lead to typing errors.",
	Example:  `wrong: "bucketName": {…}` + "\n" + `right: "BucketName": {…}`,
	kinds:    []Kind{Resource},
	check:    propertiesCapitalised,
}, {
	ID: "schema/insertion-order", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "Every array sets insertionOrder to define whether the order of its items matters.",
	Why:      "The default is true: if the service returns the items in a different order, it is reported as drift.",
	Example:  `right: "Tags": {"type": "array", "insertionOrder": false, "items": {…}}`,
	kinds:    []Kind{Resource},
	check:    insertionOrderExplicit,
}, {
	ID: "schema/keyword-type", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "A keyword that constrains one type of value is used with that type.",
	Why:      "JSON Schema ignores it silently: minimum has no effect on a string.",
	Example:  `wrong: {"type": "string", "minimum": 1}` + "\n" + `right: {"type": "string", "minLength": 1}`,
	kinds:    []Kind{Resource},
	check:    keywordsFitTypes,
}, {
	ID: "schema/arn-partition", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "Patterns of ARNs do not include the partition aws.",
	Why:      "In China and GovCloud, ARNs start with arn:aws-cn and arn:aws-us-gov, so the type would not work there.",
	Example:  `wrong: "pattern": "^arn:aws:s3:::.+$"` + "\n" + `right: "pattern": "^arn:aws[a-z-]*:s3:::.+$"`,
	kinds:    []Kind{Resource},
	check:    partitionsOpen,
}, {
	ID: "schema/pattern", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "Patterns are regular expressions that the tools of all languages support.",
	Why:      "The pattern is compiled by the registry (Java), the official tool (Python) and cfn (ECMAScript). A pattern that cannot be compiled is not checked.",
	Example:  `wrong: "pattern": "^[a-z]+{1,8}$"` + "\n" + `right: "pattern": "^[a-z]{1,8}$"`,
	check:    patternsPortable,
}, {
	ID: "schema/long-enum", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "An enum has at most 15 values.",
	Why:      "Long lists (instance types, regions, runtimes) change over time, and every new value requires a new version of the type.",
	Example:  `right: "InstanceType": {"type": "string"}`,
	kinds:    []Kind{Resource},
	check:    enumsShort,
}, {
	ID: "schema/non-ascii", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "The strings of a schema are plain ASCII.",
	Why:      "Consoles and generated documentation can garble typographic quotes and dashes.",
	Example:  `wrong: "The bucket’s name"` + "\n" + `right: "The bucket's name"`,
	kinds:    []Kind{Resource},
	check:    textsASCII,
}, {
	ID: "schema/list-option", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "Options of list APIs (MaxResults, NextToken …) are not properties.",
	Why:      "They belong to a request, not to the resource, and cannot be read.",
	Example:  `wrong: "properties": {"NextToken": {"type": "string"}}`,
	kinds:    []Kind{Resource},
	check:    listOptionsAbsent,
}, {
	ID: "schema/read-only-overlap", Severity: diag.Warning,
	Upstream: "cfn validate; guard-rail: PR001, PR004",
	Purpose:  "Read-only properties are neither create-only, nor write-only, nor required.",
	Why:      "Users cannot set a read-only property: if it is required, every template is invalid, and the other lists contradict it.",
	Example:  `right: each path in one of the lists`,
	kinds:    []Kind{Resource},
	check:    readOnlyApart,
}, {
	ID: "schema/wildcard-permission", Severity: diag.Warning,
	Upstream: "cfn validate; guard-rail: PER002 …",
	Purpose:  "The permissions of handlers name operations, without wildcards.",
	Why:      "The execution role is generated from them, and a wildcard grants the handler more than it needs.",
	Example:  `wrong: "permissions": ["s3:*"]` + "\n" + `right: "permissions": ["s3:CreateBucket"]`,
	kinds:    []Kind{Resource},
	check:    permissionsSpecific,
}, {
	ID: "schema/additional-properties", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  `Objects with properties or patternProperties have "additionalProperties": false.`,
	Why:      "Without it, a misspelled key in a template is not detected. The official tool announces that it will become an error.",
	Example:  `right: {"type": "object", "properties": {…}, "additionalProperties": false}`,
	kinds:    []Kind{Resource},
	check:    objectsClosed,
}, {
	ID: "schema/tagging-missing", Severity: diag.Warning,
	Upstream: "cfn validate; guard-rail: TAG002",
	Purpose:  "The schema sets tagging to define whether the type supports tags.",
	Why:      "Without it, the type counts as taggable and fails the contract tests for tags.",
	Example:  `right: "tagging": {"taggable": false}`,
	kinds:    []Kind{Resource},
	check:    taggingExplicit,
}, {
	ID: "schema/large", Severity: diag.Warning,
	Upstream: "cfn validate",
	Purpose:  "The schema is at most 60 KiB as compact JSON.",
	Why:      "The official tool rejects larger schemas, although AWS publishes some.",
	Example:  `right: shorter descriptions, shared definitions`,
	kinds:    []Kind{Resource},
	check:    notLarge,
}}

// writeOnlyResolves ignores texts that are not paths, which other tools accept.
func writeOnlyResolves(in *inspection) {
	for _, p := range in.list("writeOnlyProperties") {
		if p.Text != "" && in.leadsNowhere(p.Path) {
			hint := in.nearestProperty(p.Path)
			if hint == "" {
				hint = "name a property of the schema, or remove the path"
			}
			in.report(p.At, p.pointer, fmt.Sprintf("%q is not a property, so it has no effect", diag.Cut(p.Text)), hint)
		}
	}
}

func identifiersResolve(in *inspection) {
	check := func(p listed) {
		if in.leadsNowhere(p.Path) {
			in.report(p.At, p.pointer, fmt.Sprintf("%q is not a property", diag.Cut(p.Text)), in.nearestProperty(p.Path))
		}
	}
	for _, p := range in.list("primaryIdentifier") {
		if !strings.HasPrefix(p.Text, "/") && !strings.HasPrefix(p.Text, "#/") && !in.leadsNowhere(p.Path) {
			in.report(p.At, p.pointer, fmt.Sprintf("%q is not a JSON pointer", diag.Cut(p.Text)),
				fmt.Sprintf("write %q", document.Pointer{"properties"}.Append(p.Tokens...).String()))
			continue
		}
		check(p)
	}
	additional := in.Root.Get("additionalIdentifiers")
	if additional == nil {
		return
	}
	for i, list := range additional.Items {
		for j, item := range list.Items {
			if item.Kind == document.String {
				check(listed{in.path(item.Text, item.At), document.Pointer{"additionalIdentifiers", fmt.Sprint(i), fmt.Sprint(j)}})
			}
		}
	}
}

func handlersComplete(in *inspection) {
	handlers := in.Root.Member("handlers")
	if in.Handler("create") == nil {
		return
	}
	var missing, members []string
	for _, action := range []string{"read", "delete"} {
		if in.Handler(action) == nil {
			missing = append(missing, action)
			members = append(members, fmt.Sprintf(`%q: {"permissions": […]}`, action))
		}
	}
	if missing != nil {
		in.report(handlers.KeyAt, document.Pointer{"handlers"}, fmt.Sprintf("the type has a create handler, but no %s handler", strings.Join(missing, " and no ")),
			fmt.Sprintf(`add %s to "handlers"`, strings.Join(members, ", ")))
	}
}

func identifiersImmutable(in *inspection) {
	readOnly, createOnly := in.byProperty("readOnlyProperties"), in.byProperty("createOnlyProperties")
	for _, p := range in.list("primaryIdentifier") {
		_, assigned := readOnly[p.property()]
		_, fixed := createOnly[p.property()]
		if !assigned && !fixed && !in.leadsNowhere(p.Path) { // already reported
			in.report(p.At, p.pointer, fmt.Sprintf("%q identifies the resource, but is neither read-only nor create-only", diag.Cut(p.Text)),
				"add it to createOnlyProperties, or to readOnlyProperties if the service assigns it")
		}
	}
}

func propertiesCapitalised(in *inspection) {
	for _, p := range in.reachable() {
		if isName(p.name) && p.name[0] >= 'a' && p.name[0] <= 'z' {
			in.report(p.at, p.pointer, fmt.Sprintf("the property %q starts with a lowercase letter", p.name),
				fmt.Sprintf("rename it to %q, in the style of CloudFormation", properName(p.name)))
		}
	}
}

func insertionOrderExplicit(in *inspection) {
	for _, p := range in.reachable() {
		if p.types() == "array" && p.member("insertionOrder") == nil {
			in.report(p.at, p.pointer, fmt.Sprintf("the array %q does not define whether the order of its items matters", diag.Cut(p.name)),
				`add "insertionOrder": true if it matters, otherwise false`)
		}
	}
}

// keywordsOf are the keywords that concern one type of value only.
var keywordsOf = map[string][]string{
	"number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"string": {"minLength", "maxLength", "pattern"},
	"object": {"minProperties", "maxProperties", "additionalProperties", "patternProperties"},
	"array":  {"minItems", "maxItems", "additionalItems", "uniqueItems", "insertionOrder"},
}

func keywordsFitTypes(in *inspection) {
	for _, p := range in.reachable() {
		own := p.types()
		group := own
		if own == "integer" {
			group = "number"
		}
		if keywordsOf[group] == nil {
			continue
		}
		for _, other := range []string{"number", "string", "object", "array"} {
			if other == group {
				continue
			}
			for _, keyword := range keywordsOf[other] {
				if m := p.member(keyword); m != nil {
					in.report(m.KeyAt, p.pointer, fmt.Sprintf("%s applies to values of type %s, but %q is of type %s", keyword, other, diag.Cut(p.name), own), "remove it, or fix the type")
				}
			}
		}
	}
}

func partitionsOpen(in *inspection) {
	in.eachText("pattern", func(at site, text *document.Value) {
		if strings.Contains(text.Text, "arn:aws:") {
			in.report(text.At, at.pointer.Append("pattern"), "the pattern includes the partition aws", `use arn:aws[a-z-]*: to support China and GovCloud`)
		}
	})
}

func patternsPortable(in *inspection) {
	check := func(at diag.Range, pointer document.Pointer, text string) {
		p := in.refs.pattern(text)
		if p.err != nil {
			in.report(at, pointer, fmt.Sprintf("the pattern %q is not a regular expression: %s", diag.Cut(text), diag.Cut(p.reason())), "fix it: values are not checked against it, and the registry may refuse the schema")
			return
		}
		if reason, hint := notPortable(text); reason != "" {
			in.report(at, pointer, "the pattern is not portable: "+reason, hint)
		}
	}
	in.eachText("pattern", func(at site, text *document.Value) {
		check(text.At, at.pointer.Append("pattern"), text.Text)
	})
	for _, at := range in.refs.sites {
		if at.own {
			for _, m := range at.node.Get("patternProperties").Distinct() {
				if p := in.refs.pattern(m.Key); p.err != nil {
					check(m.KeyAt, at.pointer.Append("patternProperties", m.Key), m.Key)
				}
			}
		}
	}
}

// eachText calls f for the schemas of the document that have a keyword with a text.
func (in *inspection) eachText(keyword string, f func(at site, text *document.Value)) {
	for _, at := range in.refs.sites {
		if text := at.node.Get(keyword); at.own && text != nil && text.Kind == document.String {
			f(at, text)
		}
	}
}

// longEnum is the number of values from which on an enum is better left out.
const longEnum = 15

func enumsShort(in *inspection) {
	for _, at := range in.refs.sites {
		if m := at.node.Member("enum"); at.own && m != nil && len(m.Value.Items) > longEnum {
			in.report(m.KeyAt, at.pointer.Append("enum"), fmt.Sprintf("the enum has %d values, more than %d", len(m.Value.Items), longEnum),
				"if the list changes over time, remove it and let the service check the value")
		}
	}
}

func textsASCII(in *inspection) {
	var visit func(v *document.Value, pointer document.Pointer)
	report := func(text string, at diag.Range, pointer document.Pointer) {
		for _, r := range text {
			if r > 0x7E {
				in.report(at, pointer, fmt.Sprintf("the string has the character %q (U+%04X), which is not ASCII", r, r), "")
				return
			}
		}
	}
	visit = func(v *document.Value, pointer document.Pointer) {
		switch v.Kind {
		case document.String:
			report(v.Text, v.At, pointer)
		case document.Array:
			for i, item := range v.Items {
				visit(item, pointer.Append(fmt.Sprint(i)))
			}
		case document.Object:
			for _, m := range v.Members {
				below := pointer.Append(m.Key)
				report(m.Key, m.KeyAt, below)
				visit(m.Value, below)
			}
		}
	}
	visit(in.Root, nil)
}

// listOptions are the options of list APIs, in lower case.
var listOptions = []string{"maxresults", "maxrecords", "maxitems", "nexttoken", "nextmarker", "nextpagetoken", "pagetoken", "paginationtoken"}

func listOptionsAbsent(in *inspection) {
	for _, m := range in.Properties() {
		if slices.Contains(listOptions, strings.ToLower(m.Key)) {
			in.report(m.KeyAt, document.Pointer{"properties", m.Key}, fmt.Sprintf("%q is an option of a list request, not a property of the resource", m.Key), "remove it")
		}
	}
}

func readOnlyApart(in *inspection) {
	createOnly, writeOnly := in.byProperty("createOnlyProperties"), in.byProperty("writeOnlyProperties")
	for _, p := range in.list("readOnlyProperties") {
		var clash string
		var at diag.Range
		if other, both := createOnly[p.property()]; both {
			clash, at = "in createOnlyProperties too", other.At
		} else if other, both := writeOnly[p.property()]; both {
			clash, at = "in writeOnlyProperties too", other.At
		} else if len(p.Tokens) == 1 && slices.Contains(in.Required, p.Tokens[0]) {
			clash, at = "required", in.Root.Member("required").KeyAt
		} else {
			continue
		}
		in.report(p.At, p.pointer, fmt.Sprintf("%q is read-only, and %s", diag.Cut(p.Text), clash), "users cannot set a read-only property: remove it from one of the two",
			diag.Note{At: at, Message: "the other entry"})
	}
}

func permissionsSpecific(in *inspection) {
	in.eachPermission(func(at *document.Value, pointer document.Pointer) {
		if strings.Contains(at.Text, "*") {
			in.report(at.At, pointer, fmt.Sprintf("the permission %q has a wildcard", diag.Cut(at.Text)), "list the operations that the handler calls")
		}
	})
}

// objectsClosed looks where the official tool does: at property definitions at any depth,
// not at the values of patternProperties and not at the top of the schema.
func objectsClosed(in *inspection) {
	for _, at := range in.refs.sites {
		if !at.own || len(at.pointer) == 0 || at.node.Get("additionalProperties") != nil ||
			at.pointer[0] != "properties" && at.pointer[0] != "definitions" || at.pattern {
			continue
		}
		for _, keyword := range []string{"properties", "patternProperties"} {
			if m := at.node.Member(keyword); m != nil {
				in.report(m.KeyAt, at.pointer, fmt.Sprintf("%s has %s but not \"additionalProperties\": false", nameOf(at.pointer), keyword), `add "additionalProperties": false`)
				break
			}
		}
	}
}

func taggingExplicit(in *inspection) {
	if in.Root.Get("tagging") != nil {
		return
	}
	at, pointer := in.Root.At, document.Pointer{}
	at.End = at.Start
	message := "the schema does not say whether the type has tags"
	if m := in.Root.Member("taggable"); m != nil {
		at, pointer, message = m.KeyAt, document.Pointer{"taggable"}, `"taggable" is deprecated`
	}
	in.report(at, pointer, message, `add "tagging": {"taggable": false}, or describe its tags there`)
}

// largeDocument is the limit of the official tool in bytes.
const largeDocument = 60 << 10

func notLarge(in *inspection) {
	if size := dumpedSize(in.Root); size > largeDocument {
		in.report(diag.Range{File: in.File}, nil, fmt.Sprintf("the schema has %d bytes; the limit of the official tool is %d", size, largeDocument), "")
	}
}

// dumpedSize is the length of a document as the official tool measures it: with ", " and
// ": " between its parts, and everything beyond ASCII as \uXXXX.
func dumpedSize(v *document.Value) int {
	switch v.Kind {
	case document.String:
		return dumpedString(v.Text)
	case document.Array:
		n := 2 + 2*max(0, len(v.Items)-1)
		for _, item := range v.Items {
			n += dumpedSize(item)
		}
		return n
	case document.Object:
		all := v.Distinct()
		n := 2 + 2*max(0, len(all)-1)
		for _, m := range all {
			n += dumpedString(m.Key) + 2 + dumpedSize(m.Value)
		}
		return n
	}
	return len(v.AppendJSON(nil))
}

func dumpedString(text string) int {
	n := 2
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
			n += 2
		case r < 0x20 || r > 0x7E && r <= 0xFFFF && r != 0x7F:
			n += 6
		case utf16.RuneLen(r) == 2:
			n += 12
		default:
			n++
		}
	}
	return n
}
