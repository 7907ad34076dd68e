package simulate_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

func pointer(dotted string) document.Pointer { return strings.Split(dotted, ".") }

// plain is a value as the text of an attribute.
func plain(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case json.Number:
		return value.String()
	}
	return fmt.Sprint(value)
}

// declared is a schema with an identifier and some read-only properties, of which JSON Schemas are given by name.
func declared(name string, properties map[string]string, more string) string {
	var all, readOnly []string
	for property, text := range properties {
		text, writable := strings.CutPrefix(text, "writable ")
		all = append(all, fmt.Sprintf("%q: %s", property, text))
		if !writable {
			readOnly = append(readOnly, fmt.Sprintf("%q", "/properties/"+property))
		}
	}
	return fmt.Sprintf(`{"typeName": %q, "description": "A type.", "additionalProperties": false, "properties": {%s},
		"readOnlyProperties": [%s], "primaryIdentifier": ["/properties/Id"]%s,
		"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}}}`,
		name, strings.Join(all, ", "), strings.Join(readOnly, ", "), more)
}

// shelved imports schemas and returns the first type.
func shelved(t *testing.T, schemas ...string) (*operation.Type, func(invoke.Action, string, string, map[string]any) operation.Progress) {
	t.Helper()
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "*")
	var documents []simulate.Document
	for _, text := range schemas {
		documents = append(documents, simulate.Document{Name: "schema.json", Text: []byte(text)})
	}
	names, problems, err := shelf.Import(t.Context(), documents)
	if err != nil || len(problems) > 0 {
		t.Fatalf("Import: %v, %v", problems, err)
	}
	typ, err := shelf.Type(t.Context(), caller, names[0], "")
	if err != nil {
		t.Fatal(err)
	}
	return typ, func(action invoke.Action, token, identifier string, desired map[string]any) operation.Progress {
		t.Helper()
		p := call(t, typ, operation.Request{
			Caller: caller, Action: action, Token: token, Type: typ.Name, StackName: "Stack", LogicalID: "Thing", Identifier: identifier, Desired: desired,
		})
		if p.Status != types.OperationStatusSuccess {
			t.Fatalf("%s: %+v", action, p)
		}
		return p
	}
}

// TestFormsBySchema: without a form, a value has what the schema says: format, pattern, description, the name.
func TestFormsBySchema(t *testing.T) {
	const text = `{"type": "string"}`
	for name, test := range map[string]struct{ property, schema, want string }{
		"an identifier":                   {"Id", text, `[0-9a-f]{8}-[0-9a-f-]{27}`},
		"an identifier with a pattern":    {"Id", `{"type": "string", "pattern": "^gw-[0-9a-f]{17}$"}`, `gw-[0-9a-f]{17}`},
		"an identifier in a description":  {"Id", `{"type": "string", "description": "For example, gw-0123456789abcdef0."}`, `gw-[0-9a-f]{17}`},
		"an ARN":                          {"Arn", text, `arn:aws:net:eu-west-1:111122223333:big-gateway/[0-9a-f-]{36}`},
		"an ARN with a pattern":           {"Arn", `{"type": "string", "pattern": "^arn:aws[a-z-]*:nets:[a-z0-9-]+:[0-9]{12}:gate/[A-Z]{4}(/x)?$"}`, `arn:aws:nets:eu-west-1:111122223333:gate/[A-Z]{4}`},
		"an ARN without an account":       {"Arn", `{"type": "string", "pattern": "^arn:(aws|aws-cn):nets:::gate/(a|b)$"}`, `arn:aws:nets:::gate/a`},
		"an ARN with a loose pattern":     {"Arn", `{"type": "string", "pattern": "^arn:.*:gate/[0-9]{3}$"}`, `arn:aws:net:eu-west-1:111122223333:gate/[1-9]{3}`},
		"an ARN or an identifier":         {"Arn", `{"type": "string", "pattern": "^(gw-[0-9]{4}|arn:aws:nets:[a-z0-9-]*:\\d{12}:gate)$"}`, `arn:aws:nets:eu-west-1:111122223333:gate`},
		"an ARN in a description":         {"Arn", `{"type": "string", "description": "Such as arn:aws:nets:us-west-2:123456789012:gate/one."}`, `arn:aws:nets:eu-west-1:111122223333:gate/[0-9a-f-]{36}`},
		"the ARN of a secret":             {"LoginSecretArn", text, `arn:aws:secretsmanager:eu-west-1:111122223333:secret:Stack-Thing-[A-Z0-9]{12}-[0-9A-Za-z]{6}`},
		"a pattern that nothing explains": {"Code", `{"type": "string", "pattern": "^[a-z0-9]{12,99}$"}`, `simulated[0-9a-f]{8}`},
		"a lookahead":                     {"Code", `{"type": "string", "pattern": "^(?!aws)(?=.*x)[a-z]{2}x-\\u0041$"}`, `[a-z]{2}x-A`},
		"a text that nothing explains":    {"Code", text, `simulated-[0-9a-f]{8}`},
		"a time":                          {"CreationTime", text, `2026-01-02T03:04:05Z`},
		"a URL":                           {"ConsoleUrl", text, `https://[a-z0-9]{12}\.net\.eu-west-1\.amazonaws\.com`},
		"a host":                          {"DnsName", text, `[a-z0-9]{12}\.net\.eu-west-1\.amazonaws\.com`},
		"an address":                      {"PrivateIp", text, `10\.0\.[0-9]+\.[0-9]+`},
		"a network":                       {"Ipv6CidrBlocks", `{"type": "array", "items": {"type": "string", "pattern": ":"}}`, `\[2001:db8:[0-9a-f]+:[0-9a-f]{2}00::/56\]`},
		"a port":                          {"Port", `{"type": "integer"}`, `443`},
		"a port as text":                  {"Port", text, `443`},
		"a number in its bounds":          {"Weight", `{"type": "integer", "minimum": 5}`, `5`},
		"a state":                         {"Status", `{"type": "string", "enum": ["CREATING", "AVAILABLE", "DELETED"]}`, `AVAILABLE`},
		"an enumeration":                  {"Kind", `{"type": "string", "enum": ["b", "a"]}`, `b`},
		"an account":                      {"OwnerAccount", text, `111122223333`},
		"a region":                        {"HomeRegion", text, `eu-west-1`},
		"a zone":                          {"HostedZoneId", text, `Z[A-Z0-9]{20}`},
		"an attribute of another type":    {"Peer", `{"type": "string", "format": "AWS::EC2::VPC.Id"}`, `vpc-[0-9a-f]{17}`},
		"a format":                        {"Peer", `{"type": "string", "format": "ipv4"}`, `10\.0\.[0-9]+\.[0-9]+`},
		"an example":                      {"Code", `{"type": "string", "pattern": "^(?<a>x)\\k<a>$", "examples": ["xx"]}`, `xx`},
		"an object":                       {"Endpoint", `{"type": "object", "properties": {"Address": {"type": "string"}, "Port": {"type": "integer"}}}`, `map\[Address:[a-z0-9]{12}\.net\.\S+ Port:443\]`},
	} {
		t.Run(name, func(t *testing.T) {
			properties := map[string]string{"Id": text, test.property: test.schema, "KeyName": "writable " + text}
			typ, do := shelved(t, declared("Acme::Net::BigGateway", properties, ""))
			made := do(invoke.Create, "t1", "", map[string]any{"KeyName": "input"})
			if got := plain(made.Model[test.property]); !regexp.MustCompile(`^(?:` + test.want + `)$`).MatchString(got) {
				t.Errorf("%s is %q, want %s", test.property, got, test.want)
			}
			if violations := typ.Schema.Check(made.Model, schema.CheckConfig{}); len(violations) > 0 {
				t.Error(violations)
			}
			if again := do(invoke.Create, "t2", "", map[string]any{"KeyName": "input"}); again.Identifier == made.Identifier {
				t.Errorf("two resources have the identifier %s", made.Identifier)
			}
		})
	}
}

// TestTakers: an identifier matches the patterns of the properties of the service that take it.
func TestTakers(t *testing.T) {
	gateway := declared("Acme::Net::Gateway", map[string]string{"Id": `{"type": "string"}`, "Arn": `{"type": "string"}`, "Alias": `{"type": "string"}`}, "")
	for name, test := range map[string]struct{ properties, property, want string }{
		"by the name":             {`"GatewayId": {"type": "string", "pattern": "^gate-[0-9]{6}$"}`, "Id", `gate-[1-9]{6}`},
		"a list, by reference":    {`"GatewayArns": {"type": "array", "items": {"$ref": "#/definitions/Arn"}}`, "Arn", `arn:aws:gates:eu-west-1:111122223333:gate:[a-z]{3}`},
		"as the schema says":      {`"Target": {"type": "string", "pattern": "^alias/[0-9a-f]{4}$", "relationshipRef": {"typeName": "Acme::Net::Gateway", "propertyPath": "/properties/Alias"}}`, "Alias", `alias/[0-9a-f]{4}`},
		"a pattern of its own":    {`"GatewayId": {"type": "string", "pattern": "^(gate|way)-[0-9]{6}$"}`, "Id", `gate-[1-9]{6}`},
		"an unusable one":         {`"GatewayId": {"type": "string", "pattern": "^gate-(["}`, "Id", `[0-9a-f]{8}-[0-9a-f-]{27}`},
		"one that nothing passes": {`"GatewayId": {"type": "string", "pattern": "^(?!.)x$"}`, "Id", `[0-9a-f]{8}-[0-9a-f-]{27}`},
	} {
		t.Run(name, func(t *testing.T) {
			route := fmt.Sprintf(`{"typeName": "Acme::Net::Route", "description": "A route.", "additionalProperties": false,
				"definitions": {"Arn": {"type": "string", "pattern": "^arn:aws:gates:[a-z0-9-]+:[0-9]{12}:gate:[a-z]{3}$"}},
				"properties": {"Name": {"type": "string"}, %s}, "primaryIdentifier": ["/properties/Name"], "handlers": {}}`, test.properties)
			other := strings.NewReplacer("Acme::Net::Route", "Other::Net::Route", "gate", "port").Replace(route) // of another service
			_, do := shelved(t, gateway, route, other)
			if got := plain(do(invoke.Create, "t1", "", nil).Model[test.property]); !regexp.MustCompile(`^(?:` + test.want + `)$`).MatchString(got) {
				t.Errorf("%s is %q, want %s", test.property, got, test.want)
			}
		})
	}
}

// TestNestedAttributes: read-only properties exist although the template leaves out the object around them, and stay.
func TestNestedAttributes(t *testing.T) {
	const text = `{"type": "string"}`
	source := declared("Acme::Net::Cluster", map[string]string{
		"Id":     text,
		"Note":   "writable " + text,
		"Main":   `writable {"type": "object", "properties": {"Address": {"type": "string"}, "Size": {"type": "integer"}}}`,
		"Strict": `writable {"type": "object", "required": ["Size"], "properties": {"Address": {"type": "string"}, "Size": {"type": "integer"}}}`,
		"Spare":  `writable {"type": "array", "items": {"type": "object", "properties": {"Address": {"type": "string"}}}}`,
	}, "")
	source = strings.Replace(source, `"readOnlyProperties": [`, `"readOnlyProperties": ["/properties/Main/Address", "/properties/Strict/Address", "/properties/Spare/*/Address", `, 1)
	_, do := shelved(t, source)
	made := do(invoke.Create, "t1", "", map[string]any{"Note": "a"})
	address := plain(made.Model["Main"].(map[string]any)["Address"])
	if !strings.HasSuffix(address, ".amazonaws.com") || made.Model["Strict"] != nil || made.Model["Spare"] != nil {
		t.Fatalf("%v", made.Model)
	}
	for _, desired := range []map[string]any{{"Note": "b"}, {"Main": map[string]any{"Size": 3}}, {}} {
		main, _ := do(invoke.Update, "t2", made.Identifier, desired).Model["Main"].(map[string]any)
		if main["Address"] != address {
			t.Errorf("after an update to %v: %v", desired, main)
		}
	}
	if full := do(invoke.Create, "t3", "", map[string]any{"Strict": map[string]any{"Size": 1}}); plain(full.Model["Strict"].(map[string]any)["Address"]) == "" {
		t.Errorf("%v", full.Model)
	}
}

// TestListsByInputs: lists have as many members as an input says.
func TestListsByInputs(t *testing.T) {
	for name, test := range map[string]struct {
		desired map[string]any
		want    int
	}{
		"none":     {nil, 1},
		"three":    {map[string]any{"AddressCount": 3}, 3},
		"no limit": {map[string]any{"AddressCount": 1000000}, 64},
		"negative": {map[string]any{"AddressCount": -1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, do := shelved(t, declared("Acme::Net::Card", map[string]string{
				"Id": `{"type": "string"}`, "AddressCount": `writable {"type": "integer"}`, "Addresses": `{"type": "array", "items": {"type": "string"}, "uniqueItems": true}`,
			}, ""))
			if got, _ := do(invoke.Create, "t1", "", test.desired).Model["Addresses"].([]any); len(got) != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestHostileSchemas: what is made for a resource is bounded.
func TestHostileSchemas(t *testing.T) {
	definitions := `, "definitions": {"Tree": {"type": "object", "properties": {"A": {"$ref": "#/definitions/Tree"}, "B": {"$ref": "#/definitions/Tree"},
		"C": {"$ref": "#/definitions/Tree"}, "D": {"type": "array", "minItems": 60, "items": {"$ref": "#/definitions/Tree"}}}}}`
	_, do := shelved(t, declared("Acme::Net::Tree", map[string]string{
		"Id": `{"type": "string"}`, "Tree": `{"$ref": "#/definitions/Tree"}`,
		"Long": `{"type": "string", "pattern": "^((((a{999}){999}){999}){9}|(x{900}){900}){1,999}$"}`,
	}, definitions))
	text, err := json.Marshal(do(invoke.Create, "t1", "", nil).Model)
	if err != nil || len(text) > 100_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestLongNames: names keep the beginnings of the name of the stack and of the logical id, in the limits of the schema.
func TestLongNames(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"no limit":          {`{"type": "string"}`, `s{128}-LogicalName-[A-Z0-9]{12}`},
		"maxLength":         {`{"type": "string", "maxLength": 40}`, `s{15}-LogicalName-[A-Z0-9]{12}`},
		"a pattern":         {`{"type": "string", "pattern": "^[a-zA-Z0-9-]{1,32}$"}`, `s{9}-LogicalNa-[A-Z0-9]{12}`},
		"a pattern of case": {`{"type": "string", "pattern": "^[a-z0-9]{1,63}$"}`, `s{39}logicalname[a-z0-9]{12}`},
	} {
		t.Run(name, func(t *testing.T) {
			shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "*")
			source := fmt.Sprintf(`{"typeName": "Acme::Net::Thing", "description": "A thing.", "additionalProperties": false, "properties": {"Name": %s},
				"createOnlyProperties": ["/properties/Name"], "primaryIdentifier": ["/properties/Name"], "handlers": {}}`, test.schema)
			if _, problems, err := shelf.Import(t.Context(), []simulate.Document{{Name: "thing.json", Text: []byte(source)}}); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			typ, err := shelf.Type(t.Context(), caller, "Acme::Net::Thing", "")
			if err != nil {
				t.Fatal(err)
			}
			made := call(t, typ, operation.Request{
				Caller: caller, Action: invoke.Create, Token: "t", Type: typ.Name, StackName: strings.Repeat("s", 128), LogicalID: "LogicalName",
			})
			if !regexp.MustCompile(`^` + test.want + `$`).MatchString(made.Identifier) {
				t.Errorf("%s, want %s", made.Identifier, test.want)
			}
		})
	}
}
