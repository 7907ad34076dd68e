package api

import (
	"fmt"
	"testing"
)

// TestSmithyWire checks what only those read who write messages: XML names, formats of
// timestamps, headers of responses, codes of errors, operations without credentials.
func TestSmithyWire(t *testing.T) {
	a := readModel(t, `$version: "2"
namespace t
use aws.auth#sigv4
use aws.protocols#awsQueryError
use aws.protocols#restXml
@restXml(noErrorWrapping: true)
@sigv4(name: "t")
@xmlNamespace(uri: "urn:t")
service T { version: "1", operations: [Get, Ping] }
@http(method: "GET", uri: "/t")
operation Get {
    output := {
        @httpHeader("X-Count") count: Integer
        @httpResponseCode status: Integer
        @xmlName("Other") @xmlAttribute text: String
        @xmlFlattened names: Names
        @timestampFormat("http-date") at: Timestamp
    }
    errors: [Gone]
}
@optionalAuth
@http(method: "GET", uri: "/ping")
operation Ping {}
@error("client")
@awsQueryError(code: "Lost", httpResponseCode: 410)
structure Gone {}
@sparse
list Names { @xmlName("Name") member: String }
`)
	get, ping := a.Operations[0], a.Operations[1]
	got := fmt.Sprint(a.XMLNS, a.BareXML, get.Open, ping.Open, get.Errors[0].Code)
	for _, m := range append(get.OutHeaders, get.Output.Members...) {
		got += fmt.Sprintf(" %s=%s,%s,%t,%t,%s,%s,%t", m.Name, m.Wire, m.In, m.Flat, m.Attribute, m.Shape.Format, m.Shape.ItemName, m.Shape.Nullable)
	}
	want := "urn:ttrue false trueLost count=X-Count,header,false,false,int32,,false status=,header,false,false,int32,,false" +
		" text=Other,body,false,true,,,false names=names,body,true,false,,Name,true at=at,body,false,false,http-date,,false"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOpenAPIWire(t *testing.T) {
	a, problems := FromOpenAPI("t.yaml", []byte(`openapi: 3.1.0
info: {title: T, version: "1"}
security: [{key: []}]
paths:
  /t/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: string}, example: a}]
      responses: {"200": {description: d, headers: {X-Next: {schema: {type: string}}}, content: {application/json: {schema: {$ref: "#/components/schemas/T"}}}}}
    delete: {security: [], responses: {"204": {description: d}}}
components:
  schemas:
    T:
      type: object
      additionalProperties: true
      properties: {a: {type: [string, "null"], examples: [x]}, b: {anyOf: [{type: string}, {type: integer}, {type: "null"}]}}
`))
	if problems != nil {
		t.Fatal(problems)
	}
	get, remove := a.Operations[0], a.Operations[1]
	out := get.Output
	got := fmt.Sprint(get.Open, remove.Open, get.Param(InPath, "id").Example.Text, get.OutHeaders[0].Wire, get.OutType,
		out.More, out.Members[0].Shape.Nullable, out.Members[0].Example.Text, out.Members[1].Shape.Nullable, out.Members[1].Shape.More)
	if want := "false trueaX-Nextapplication/jsontrue truextrue true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
