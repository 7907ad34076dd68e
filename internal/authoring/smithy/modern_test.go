package smithy

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// TestModern shows each accident of the reference implementation beside what Modern does.
func TestModern(t *testing.T) {
	const resource = `@cfnResource(additionalSchemas: [More])
resource R {
    identifiers: {zId: String, aId: String}
    read: Read
    create: Create
    delete: Delete
}
structure More {
    @cfnAdditionalIdentifier
    alias: String
    @property(name: "other")
    named: String
    @timestampFormat("http-date")
    when: Timestamp
    nothing: String = null
    body: Body
}
@mediaType("text/plain")
string Body
@readonly
operation Read {
    input := { @required zId: String, @required aId: String }
    output: AOutput
}
structure AOutput { @required zId: String, @required aId: String, seen: String, n: String }
@aws.iam#iamAction(name: "MakeIt")
operation Create {
    input: BInput
    output := { @required zId: String, @required aId: String }
}
structure BInput {
    @cfnExcludeProperty
    seen: String
    /// From the caller.
    @required
    n: String
}
@idempotent
operation Delete {
    input := { @required zId: String, @required aId: String }
}
`
	m, events := Load([]Source{{File: "m.smithy", Data: []byte(base + resource)}}, Config{})
	if events.hasErrors() {
		t.Fatal(events)
	}
	settings := Settings{Service: "a#S", OrganizationName: "Acme", SchemaDocumentExtensions: document.NewObject(document.Member{Key: "replacementStrategy", Value: document.NewString("create_then_delete")})}
	exact := convertOne(t, m, settings).Schema
	settings.Modern = true
	modern := convertOne(t, m, settings).Schema
	tests := []struct {
		about, pointer string
		exact, modern  string // compact JSON, "" if absent
	}{
		{"the name of @property is capitalised", "/properties/Other", ``, `{"type":"string"}`},
		{"the name of @property is capitalised", "/properties/other", `{"type":"string"}`, ``},
		{"http-date is not a date-time", "/properties/When/format", `"date-time"`, ``},
		{"null is not a default", "/properties/Nothing/default", `null`, ``},
		{"contentMediaType is unknown to CloudFormation", "/properties/Body/contentMediaType", `"text/plain"`, ``},
		{"the order of identifiers is the model's", "/primaryIdentifier", `["/properties/AId","/properties/ZId"]`, `["/properties/ZId","/properties/AId"]`},
		{"additional identifiers come from read inputs only", "/additionalIdentifiers", `[["/properties/Alias"]]`, ``},
		{"excluded members have no say", "/createOnlyProperties", `["/properties/N","/properties/Seen"]`, `["/properties/N"]`},
		{"what the caller gives speaks for a property", "/properties/N/description", ``, `"From the caller."`},
		{"required where a caller must give it", "/required", ``, `["N"]`},
		{"permissions by their IAM names", "/handlers/create/permissions", `["s:Create"]`, `["s:MakeIt"]`},
		{"extensions of the document", "/replacementStrategy", ``, `"create_then_delete"`},
	}
	for _, test := range tests {
		pointer, _ := document.ParsePointer(test.pointer)
		for _, side := range []struct {
			name, want string
			schema     *document.Value
		}{{"exact", test.exact, exact}, {"modern", test.modern, modern}} {
			got := ""
			if v := side.schema.Lookup(pointer); v != nil {
				got = printJSON(v)
			}
			if got != side.want {
				t.Errorf("%s: %s has %s = %s, want %s", test.about, side.name, test.pointer, got, side.want)
			}
		}
	}
	var order []string
	for _, h := range modern.Get("handlers").Members {
		order = append(order, h.Key)
	}
	if got := strings.Join(order, " "); got != "create read delete" {
		t.Errorf("handlers come as %s", got)
	}
}
