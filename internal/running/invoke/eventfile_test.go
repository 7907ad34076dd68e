package invoke

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestReadState(t *testing.T) {
	event, problems := ReadState("r.json", []byte(`{"desiredResourceState":{"A":1},"previousResourceState":null,"typeConfiguration":{"K":"v"},"ignored":1}`), Create)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	want := Request{Action: Create, Model: map[string]any{"A": json.Number("1")}, TypeConfiguration: map[string]any{"K": "v"}}
	if !reflect.DeepEqual(event.Request, want) {
		t.Errorf("got %+v", event.Request)
	}
	event, problems = ReadState("r.json", []byte(`{"targetName":"A::B::C","targetModel":{"resourceProperties":{}}}`), CreatePreProvision)
	if problems.HasErrors() || event.Request.Target.Name != "A::B::C" {
		t.Errorf("%+v %v", event, problems)
	}
}

func TestReadEvent(t *testing.T) {
	tests := []struct {
		name, text string
		want       EventFile
	}{
		{"test entrypoint", `{"credentials":{"accessKeyId":"A","secretAccessKey":"B","sessionToken":"C"},"action":"UPDATE",
			"request":{"clientRequestToken":"t","desiredResourceState":{"X":1},"previousResourceState":{"X":0},"logicalResourceIdentifier":"L","desiredResourceTags":{"a":"b"},
			"region":"eu-west-1","awsAccountId":"1","rollback":true,"typeConfiguration":{"k":1}},"callbackContext":{"n":1}}`,
			EventFile{Shape: ShapeTest, Credentials: &Credentials{"A", "B", "C"}, Region: "eu-west-1", AccountID: "1", Request: Request{
				Action: Update, Token: "t", LogicalID: "L", Model: map[string]any{"X": json.Number("1")}, Previous: map[string]any{"X": json.Number("0")},
				StackTags: map[string]string{"a": "b"}, Rollback: true, CallbackContext: map[string]any{"n": json.Number("1")}, TypeConfiguration: map[string]any{"k": json.Number("1")}}}},
		{"as the user guide prints it", `{"credentials":{"accessKeyId":"<Access Key Id>","secretAccessKey":"","sessionToken":""},"action":"CREATE","request":{"desiredResourceState":{}},"callbackContext":null}`,
			EventFile{Shape: ShapeTest, Request: Request{Action: Create, Model: map[string]any{}}}},
		{"full", `{"action":"READ","bearerToken":"t","region":"r","resourceType":"A::B::C","features":{"f":1},"requestData":{"resourceProperties":{"X":"1"},"stackTags":{"a":"b"}}}`,
			EventFile{Shape: ShapeFull, Region: "r", Request: Request{Action: Read, Token: "t", TypeName: "A::B::C", Model: map[string]any{"X": "1"}, Base: map[string]any{
				"action": "READ", "bearerToken": "t", "region": "r", "resourceType": "A::B::C", "features": map[string]any{"f": json.Number("1")},
				"requestData": map[string]any{"resourceProperties": map[string]any{"X": "1"}, "stackTags": map[string]any{"a": "b"}}}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			event, problems := ReadEvent("e.json", []byte(test.text))
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			if !reflect.DeepEqual(*event, test.want) {
				t.Errorf("got  %+v\nwant %+v", *event, test.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"half", `{"action":`, "document/syntax"},
		{"array", `[]`, "an array, not an object"},
		{"neither shape", `{"action":"CREATE"}`, "neither request nor requestData"},
		{"request of a word", `{"action":"CREATE","request":"x"}`, "request is a string"},
		{"no action", `{"request":{}}`, `action is ""`},
		{"wrong action", `{"action":"create","requestData":{}}`, `action is "create"`},
		{"token of a number", `{"action":"CREATE","request":{"clientRequestToken":1}}`, "clientRequestToken is a number"},
		{"model of a word", `{"action":"CREATE","requestData":{"resourceProperties":"x"}}`, "resourceProperties is a string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := ReadEvent("e.json", []byte(test.text))
			text := ""
			for _, p := range problems {
				text += p.At.String() + ": " + p.Message + " " + p.ID + "\n"
			}
			if !problems.HasErrors() || !strings.Contains(text, test.want) || !strings.Contains(text, "e.json:1:") {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
	for text, want := range map[string]string{
		`{"previousResourceState":{}}`: "no desiredResourceState", `{"desiredResourceState":[]}`: "an array", `{"action":"CREATE","request":{}}`: "an event file",
	} {
		if _, problems := ReadState("r.json", []byte(text), Create); !problems.HasErrors() || !strings.Contains(problems.Err().Error(), want) {
			t.Errorf("%s: %v", text, problems)
		}
	}
	if _, problems := ReadState("r.json", []byte(`{}`), CreatePreProvision); !problems.HasErrors() {
		t.Error("a hook's request without a target was taken")
	}
}
