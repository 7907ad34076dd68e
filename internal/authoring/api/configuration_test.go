package api

import (
	"slices"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func TestConfiguration(t *testing.T) {
	for _, test := range []struct{ kind, endpoint, want string }{
		{"none", "", `{"properties":{"Endpoint":{"type":"string","description":"The URL of the service."}},"additionalProperties":false}`},
		{"sigv4", "https://a.example", `{"properties":{"Endpoint":{"type":"string","description":"The URL of the service, if it is not https://a.example."},"Region":{"type":"string","description":"The region of the service, if it is not that of the stack."}},"additionalProperties":false}`},
		{"bearer", "", `{"properties":{"Endpoint":{"type":"string","description":"The URL of the service."},"BearerToken":{"type":"string","description":"The token for the service, as a dynamic reference to a secret."}},"additionalProperties":false}`},
	} {
		b := &Binding{Endpoint: test.endpoint, Auth: BoundAuth{Kind: test.kind}}
		if got := string(b.configuration(nil).AppendJSON(nil)); got != test.want {
			t.Errorf("%s: %s", test.kind, got)
		}
	}
	for kind, members := range map[string][]string{"basic": {"Basic"}, "oauth2": {"OAuth"}} {
		b := &Binding{Auth: BoundAuth{Kind: kind}}
		for _, name := range members {
			if b.configuration(nil).Get("properties").Get(name) == nil {
				t.Errorf("%s: no %s", kind, name)
			}
		}
	}
}

func TestUnremovable(t *testing.T) {
	changes := []string{"Name", "Size", "Color", "Mode"}
	send := []Bound{{Property: "Id", Required: true}, {Property: "Name"}, {Property: "Size", Reset: []byte("null")}, {Property: "Color"}, {Property: "Mode", Required: true}}
	for _, test := range []struct {
		protocol, method string
		want             []string
	}{
		{"openapi", "PUT", []string{"Mode"}}, {"openapi", "PATCH", []string{"Color", "Mode"}}, {"openapi", "POST", []string{"Color", "Mode"}}, {"restJson1", "PUT", []string{"Mode"}}, {"restJson1", "POST", []string{"Color", "Mode"}},
	} {
		b := &Binding{Protocol: test.protocol, Create: &Call{Name: "create", Send: []Bound{{Property: "Name", Required: true}}}, Update: []*Call{{Method: test.method, Changes: changes, Send: send}}}
		if got := b.unremovable(); !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %v", test.protocol, test.method, got)
		}
		b.Update[0].Name = "create"
		if got := b.unremovable(); !slices.Equal(got, []string{"Mode"}) {
			t.Errorf("%s %s that creates, too: %v", test.protocol, test.method, got)
		}
	}
}

func TestStays(t *testing.T) {
	text, list := &Shape{Kind: String}, &Shape{Kind: List, Item: &Shape{Kind: String}}
	for _, test := range []struct {
		name         string
		read, update *Member
		want         bool
	}{
		{"in all responses", &Member{Shape: text, Required: true}, &Member{Shape: text}, true},
		{"not in all responses", &Member{Shape: text}, &Member{Shape: text}, false},
		{"required", &Member{Shape: text, Required: true}, &Member{Shape: text, Required: true}, false},
		{"a default", &Member{Shape: text, Required: true}, &Member{Shape: text, Default: document.NewString("a")}, false},
		{"an empty list", &Member{Shape: list, Required: true}, &Member{Shape: list}, false},
	} {
		p := &Property{Uses: []Use{{Action: "read", Member: test.read}, {Action: "update", Member: test.update}}}
		if got := p.stays(); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
