package lint

import (
	"cmp"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Severity is the effect of a change on those who use the type. The zero value is Breaking: a
// forgotten severity is never ignored.
type Severity uint8

// The severities of changes.
const (
	Breaking   Severity = iota // existing stacks or templates stop working
	Risky                      // some may, or behave differently
	Compatible                 // nothing to do
)

// String returns "breaking", "warning" or "compatible".
func (s Severity) String() string {
	return [...]string{"breaking", "warning", "compatible"}[min(s, Compatible)]
}

// Problem is the severity that the change has among the problems of a document.
func (s Severity) Problem() diag.Severity {
	return [...]diag.Severity{diag.Error, diag.Warning, diag.Info}[min(s, Compatible)]
}

// A ChangeRule is one kind of change between two versions of a schema that [Diff]
// reports. A particular change may be less severe than the rule says.
type ChangeRule struct {
	ID       string // stable: "breaking/ML002", "compatible/property-added"
	Severity Severity
	Upstream string // the check of another tool that it matches, "" if it is this tool's own
	Purpose  string // what changed, one sentence
	Why      string // what follows for those who use the type

	// Effect is what happens to existing stacks: "fails: …", "replaces: …" or
	// "drifts: …" with the circumstances, "" for nothing.
	Effect string

	// Old and New are members of a schema, as JSON, that differ by such a change. The value
	// null means that the member is missing.
	Old, New string
}

// ChangeRules returns every rule about changes, in the order of the documentation: those
// of guard-rail first, then this tool's own that can break something, then those that
// cannot.
func ChangeRules() []ChangeRule {
	return slices.Concat(upstreamChanges(), ownChanges, compatibleChanges)
}

// A Change is one difference between two versions of a schema.
type Change struct {
	ID       string
	Severity Severity

	// Pointer names a property as the lists of a schema do (/properties/Tags/*/Key), or
	// another part of the schema by its JSON Pointer. A change in a definition is reported at
	// the first property that uses the definition, and Also has the others, up to twenty.
	Pointer string
	Also    []string

	Message  string     // one sentence without a final period
	Effect   string     // on existing stacks: "fails: …", "replaces: …", "drifts: …", "" for none
	At       diag.Range // in the new version, or in the old one for a removed part
	Accepted string     // the reason why the settings suppress it, "" if they do not
}

// Problem is the change as a problem of the new document, for the formats of package diag.
func (c Change) Problem() diag.Problem {
	p := diag.Problem{ID: c.ID, Severity: c.Severity.Problem(), At: c.At, Pointer: c.Pointer, Message: c.Message}
	if c.Effect != "" {
		p.Message += ": " + c.Effect
	}
	if c.Accepted != "" {
		p.Hint = "accepted: " + c.Accepted
	}
	return p
}

func sortChanges(changes []Change) {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(a.Severity, b.Severity),
			strings.Compare(a.Pointer, b.Pointer),
			strings.Compare(a.ID, b.ID),
			strings.Compare(a.Message, b.Message),
		)
	})
}

// The effects that several rules share.
const (
	failsWhenOutside = "fails: stacks whose values do not satisfy the new constraint fail at their next update of the resource"
	failsWhenSet     = "fails: templates that set the property are refused"
	replacesOnUpdate = "replaces: updates that change the property replace the resource, with a new identifier, where they changed it in place before"
	driftsOnRead     = "drifts: stacks that nobody touched may show drift"
)

// upstreamChanges are the rules of guard-rail's comparison.
func upstreamChanges() []ChangeRule {
	out := slices.Clone(listChanges)
	for _, b := range bounds {
		if b.ids == ([3]string{}) {
			continue
		}
		out = append(out, ChangeRule{
			ID: "breaking/" + b.ids[0], Severity: Risky, Upstream: "guard-rail: " + b.ids[0],
			Purpose: "The bound " + b.keyword + " of a property was removed.",
			Why:     "Existing uses still work, so this is a warning. AWS rejects it for its own types, because programs that relied on the limit can receive other values.",
			Old:     b.example(b.strict), New: b.example(""),
		}, ChangeRule{
			ID: "breaking/" + b.ids[1], Upstream: "guard-rail: " + b.ids[1],
			Purpose: "An existing property gets the bound " + b.keyword + ".",
			Why:     "Values that were accepted are now rejected.",
			Effect:  failsWhenOutside,
			Old:     b.example(""), New: b.example(b.strict),
		}, ChangeRule{
			ID: "breaking/" + b.ids[2], Upstream: "guard-rail: " + b.ids[2],
			Purpose: "The bound " + b.keyword + " of a property is narrower.",
			Why:     "Values that were accepted are now rejected.",
			Effect:  failsWhenOutside,
			Old:     b.example(b.loose), New: b.example(b.strict),
		})
	}
	return slices.Concat(out, valueChanges)
}

// A bound is a keyword that limits values from one side.
type bound struct {
	keyword string
	lower   bool      // raising it narrows
	ids     [3]string // guard-rail's: removed, added, narrowed; empty for those that it does not watch
	types   string    // of the property in the example
	loose   string
	strict  string
}

func (b bound) example(value string) string {
	text := `"properties": {"Size": {` + b.types
	if value != "" {
		text += `, "` + b.keyword + `": ` + value
	}
	return text + "}}"
}

var bounds = []bound{
	{"minLength", true, [3]string{"ML001", "ML002", "ML003"}, `"type": "string"`, "1", "4"},
	{"maxLength", false, [3]string{"ML004", "ML005", "ML006"}, `"type": "string"`, "64", "32"},
	{"minItems", true, [3]string{"MI001", "MI002", "MI003"}, `"type": "array", "insertionOrder": false, "items": {"type": "string"}`, "1", "2"},
	{"maxItems", false, [3]string{"MI004", "MI005", "MI006"}, `"type": "array", "insertionOrder": false, "items": {"type": "string"}`, "20", "10"},
	{"minimum", true, [3]string{"MI007", "MI008", "MI009"}, `"type": "integer"`, "1", "2"},
	{"maximum", false, [3]string{"MI010", "MI011", "MI012"}, `"type": "integer"`, "20", "10"},
	{"exclusiveMinimum", true, [3]string{}, `"type": "integer"`, "0", "1"},
	{"exclusiveMaximum", false, [3]string{}, `"type": "integer"`, "20", "10"},
	{"minProperties", true, [3]string{}, `"type": "object"`, "1", "2"},
	{"maxProperties", false, [3]string{}, `"type": "object"`, "20", "10"},
}

var listChanges = []ChangeRule{{
	ID: "breaking/PR001", Upstream: "guard-rail: PR001",
	Purpose: "A property was removed.",
	Why:     "Templates that set it are rejected, and Fn::GetAtt references to it fail.",
	Effect:  failsWhenSet,
	Old:     `"properties": {"Size": {"type": "integer"}}`, New: `"properties": {"Size": null}`,
}, {
	ID: "breaking/PR002", Upstream: "guard-rail: PR002",
	Purpose: "An existing property becomes create-only.",
	Why:     "Updates now replace the resource, with a new identifier and loss of data.",
	Effect:  replacesOnUpdate,
	Old:     `"createOnlyProperties": ["/properties/Name"]`, New: `"createOnlyProperties": ["/properties/Name", "/properties/Color"]`,
}, {
	ID: "breaking/PR003", Upstream: "guard-rail: PR003",
	Purpose: "An existing property becomes write-only.",
	Why:     "It is no longer returned: Fn::GetAtt on it fails, and its drift is not detected.",
	Effect:  "fails: templates that read the property by Fn::GetAtt are refused; its drift stays unseen",
	Old:     `"writeOnlyProperties": ["/properties/Secret"]`, New: `"writeOnlyProperties": ["/properties/Secret", "/properties/Color"]`,
}, {
	ID: "breaking/PR004", Upstream: "guard-rail: PR004",
	Purpose: "An existing property becomes read-only.",
	Why:     "Users can no longer set it.",
	Effect:  failsWhenSet,
	Old:     `"readOnlyProperties": ["/properties/Id"]`, New: `"readOnlyProperties": ["/properties/Id", "/properties/Color"]`,
}, {
	ID: "breaking/PR005", Upstream: "guard-rail: PR005",
	Purpose: "A property is no longer read-only.",
	Why:     "Templates can now set a value that the service assigned. Fn::GetAtt on it no longer works for types that return only read-only properties.",
	Effect:  "fails: templates that read the property by Fn::GetAtt are refused",
	Old:     `"readOnlyProperties": ["/properties/Id", "/properties/Color"]`, New: `"readOnlyProperties": ["/properties/Id"]`,
}, {
	ID: "breaking/PID001", Upstream: "guard-rail: PID001",
	Purpose: "A member was added to the primaryIdentifier, or moved.",
	Why:     "Existing resources have the old identifier: Ref returns a different value, and the resources are no longer found.",
	Effect:  "fails: resources that exist are no longer found by the identifier that their stacks hold",
	Old:     `"primaryIdentifier": ["/properties/Id"]`, New: `"primaryIdentifier": ["/properties/Id", "/properties/Name"]`,
}, {
	ID: "breaking/PID002", Upstream: "guard-rail: PID002",
	Purpose: "A member of the primaryIdentifier was removed or moved.",
	Why:     "Existing resources have the old identifier: Ref returns a different value, and the resources are no longer found.",
	Effect:  "fails: resources that exist are no longer found by the identifier that their stacks hold",
	Old:     `"primaryIdentifier": ["/properties/Id", "/properties/Name"]`, New: `"primaryIdentifier": ["/properties/Id"]`,
}, {
	ID: "breaking/RQ001", Upstream: "guard-rail: RQ001",
	Purpose: "A property is now required.",
	Why:     "Templates without it are rejected.",
	Effect:  "fails: stacks whose templates leave the property out fail at their next update of the resource",
	Old:     `"required": ["Name"]`, New: `"required": ["Name", "Color"]`,
}, {
	ID: "breaking/TP001", Upstream: "guard-rail: TP001",
	Purpose: "A type was added to an existing property without a type.",
	Why:     "Values of other types were accepted and are now rejected.",
	Effect:  failsWhenOutside,
	Old:     `"properties": {"Size": {"description": "The size."}}`, New: `"properties": {"Size": {"description": "The size.", "type": "integer"}}`,
}, {
	ID: "breaking/TP002", Upstream: "guard-rail: TP002",
	Purpose: "The type of a property was removed.",
	Why:     "Handlers and generated code can receive values of any type, and stringified values are no longer converted.",
	Effect:  "drifts: values that CloudFormation passes as text are no longer turned into numbers and booleans",
	Old:     `"properties": {"Size": {"type": "integer"}}`, New: `"properties": {"Size": {}}`,
}, {
	ID: "breaking/TP003", Upstream: "guard-rail: TP003",
	Purpose: "The type of a property changed.",
	Why:     "Values of the old type are rejected, and code that reads the property receives a different type.",
	Effect:  failsWhenOutside,
	Old:     `"properties": {"Size": {"type": "integer"}}`, New: `"properties": {"Size": {"type": "string"}}`,
}, {
	ID: "breaking/ENM001", Upstream: "guard-rail: ENM001",
	Purpose: "A value of an enum or the whole enum was removed.",
	Why:     "Templates with the value are rejected. If the whole enum was removed, none is rejected, but code can receive values that it does not know.",
	Effect:  "fails: stacks that use the value fail at their next update of the resource",
	Old:     `"properties": {"Color": {"type": "string", "enum": ["RED", "BLUE"]}}`, New: `"properties": {"Color": {"type": "string", "enum": ["RED"]}}`,
}}

var valueChanges = []ChangeRule{{
	ID: "breaking/PAT001", Severity: Risky, Upstream: "guard-rail: PAT001",
	Purpose: "A pattern was added to an existing property.",
	Why:     "Values that were accepted may be rejected; a tool cannot determine which ones from a pattern.",
	Effect:  failsWhenOutside,
	Old:     `"properties": {"Color": {"type": "string"}}`, New: `"properties": {"Color": {"type": "string", "pattern": "^[A-Z]+$"}}`,
}, {
	ID: "breaking/PAT002", Severity: Risky, Upstream: "guard-rail: PAT002",
	Purpose: "The pattern of a property was removed.",
	Why:     "Existing uses still work, but mistakes that the pattern detected now reach the service.",
	Old:     `"properties": {"Color": {"type": "string", "pattern": "^[A-Z]+$"}}`, New: `"properties": {"Color": {"type": "string"}}`,
}, {
	ID: "breaking/PAT003", Severity: Risky, Upstream: "guard-rail: PAT003",
	Purpose: "The pattern of a property changed.",
	Why:     "Values that were accepted may be rejected; a tool cannot determine which ones from two patterns.",
	Effect:  failsWhenOutside,
	Old:     `"properties": {"Color": {"type": "string", "pattern": "^[A-Z]+$"}}`, New: `"properties": {"Color": {"type": "string", "pattern": "^[A-Z]*$"}}`,
}, {
	ID: "breaking/TAG100", Upstream: "guard-rail: TAG100",
	Purpose: "tagging or one of its keys was removed.",
	Why:     "Defaults apply instead, and can differ; AWS rejects it for its own types.",
	Effect:  "fails: if the default differs, updates of tags fail or tags of stacks are not applied",
	Old:     `"tagging": {"permissions": ["tps:TagReport"]}`, New: `"tagging": {"permissions": null}`,
}, {
	ID: "breaking/TAG101", Upstream: "guard-rail: TAG101",
	Purpose: "A type is no longer taggable.",
	Why:     "Templates with tags are rejected, and the tags of stacks are no longer applied.",
	Effect:  "fails: templates that set tags are refused",
	Old:     `"tagging": {"taggable": true}`, New: `"tagging": {"taggable": false}`,
}, {
	ID: "breaking/TAG102", Upstream: "guard-rail: TAG102",
	Purpose: "Tags can no longer be set at creation.",
	Why:     "Policies that require tags at creation can no longer be satisfied.",
	Effect:  "fails: stacks whose policies demand tags at creation cannot create the resource",
	Old:     `"tagging": {"tagOnCreate": true}`, New: `"tagging": {"tagOnCreate": false}`,
}, {
	ID: "breaking/TAG103", Upstream: "guard-rail: TAG103",
	Purpose: "CloudFormation's own tags are no longer applied.",
	Why:     "Searches by aws:cloudformation:stack-name no longer find the resources.",
	Effect:  "drifts: resources lose the tags aws:cloudformation:… at their next update",
	Old:     `"tagging": {"cloudFormationSystemTags": true}`, New: `"tagging": {"cloudFormationSystemTags": false}`,
}, {
	ID: "breaking/TAG104", Upstream: "guard-rail: TAG104",
	Purpose: "The property with the tags changed.",
	Why:     "Templates set the old property, but the tags of the stack are passed in the new one.",
	Effect:  "fails: templates that set tags in the old property leave the resource without them",
	Old:     `"tagging": {"tagProperty": "/properties/Tags"}`, New: `"tagging": {"tagProperty": "/properties/Color"}`,
}, {
	ID: "breaking/TFDF001", Severity: Risky, Upstream: "guard-rail: TFDF001",
	Purpose: "The default of a property was removed.",
	Why:     "CloudFormation does not apply defaults, so handlers decide what happens; Terraform does apply them.",
	Effect:  "drifts: resources whose templates leave the property out may get another value at their next update",
	Old:     `"properties": {"Size": {"type": "integer", "default": 5}}`, New: `"properties": {"Size": {"type": "integer"}}`,
}, {
	ID: "breaking/TFDF002", Severity: Risky, Upstream: "guard-rail: TFDF002",
	Purpose: "The default of a property changed.",
	Why:     "CloudFormation does not apply defaults, so handlers decide what happens; Terraform does apply them.",
	Effect:  "drifts: resources whose templates leave the property out may get the new value at their next update",
	Old:     `"properties": {"Size": {"type": "integer", "default": 5}}`, New: `"properties": {"Size": {"type": "integer", "default": 6}}`,
}}
