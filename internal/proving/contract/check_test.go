package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// TestEventRules holds single events against the rules that every event has to keep.
func TestEventRules(t *testing.T) {
	s := schemaOf(t, `"Name":{"type":"string"},"Count":{"type":"integer"},"Secret":{"type":"string"},
		"Keys":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"Value":{"type":"string"},"Label":{"type":"string"}}}}`,
		`,"writeOnlyProperties":["/properties/Secret","/properties/Count","/properties/Keys/*/Value"]`)
	for reply, want := range map[string]string{
		`{"status":"SUCCESS","resourceModel":{"Id":"1"}}`:                                                      "",
		`{"status":"SUCCESS","resourceModel":{"Id":"1"},"errorCode":null}`:                                     "null as errorCode",
		`{"status":"SUCCESS","resourceModel":{"Id":"1"},"errorCode":""}`:                                       `"" as errorCode`,
		`{"status":"SUCCESS","resourceModel":{"Id":"1"},"callbackDelaySeconds":null}`:                          "null as callbackDelaySeconds",
		`{"status":"IN_PROGRESS","resourceModel":{"Id":"1"},"callbackDelaySeconds":null}`:                      "null as callbackDelaySeconds",
		`{"status":"IN_PROGRESS","resourceModel":{"Id":"1","Name":null}}`:                                      "IN_PROGRESS with null at /Name",
		`{"status":"SUCCESS","resourceModel":{"Id":"1","Name":null}}`:                                          "SUCCESS with null at /Name",
		`{"status":"SUCCESS","resourceModel":{"Id":"1"},"callbackDelaySeconds":"0"}`:                           `"0" as callbackDelaySeconds`,
		`{"status":"SUCCESS","resourceModel":{"Id":"1","Secret":"","Count":0,"Keys":[{"Value":""}]}}`:          "",
		`{"status":"SUCCESS","resourceModel":{"Id":"1","Keys":[{"Value":null}]}}`:                              "null at /Keys/*/Value",
		`{"status":"SUCCESS","resourceModel":{"Id":"1","Secret":"x"}}`:                                         "a value at /Secret",
		`{"status":"SUCCESS","resourceModel":{"Id":"1","Count":7}}`:                                            "a value at /Count",
		`{"status":"SUCCESS","resourceModel":{"Id":"1","Keys":[{"Label":"a"},{"Value":"x"}]}}`:                 "a value at /Keys/1/Value",
		`{"status":"SUCCESS","resourceModel":{"Id":""}}`:                                                       "without /Id",
		`{"status":"SUCCESS","resourceModel":{"Id":null}}`:                                                     "without /Id",
		`{"status":"SUCCESS","resourceModel":{}}`:                                                              "without /Id",
		`{"status":"IN_PROGRESS","resourceModel":{"Id":"1","Secret":"still needed"},"callbackDelaySeconds":9}`: "",
		`{"status":"IN_PROGRESS","resourceModel":{"Id":"1"},"resourceModels":null,"errorCode":0}`:              "",
		`{"status":"FAILED","errorCode":"NotFound","resourceModels":null,"message":"m"}`:                       "",
		`{"status":"FAILED","errorCode":"NotFound"}`:                                                           "FAILED NotFound without a message",
		`{"status":"FAILED","errorCode":"notfound"}`:                                                           `error code "notfound"`,
	} {
		event, err := invoke.Decode([]byte(reply), invoke.Create, s)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if v := checkEvent(s, invoke.Create, event); v != nil {
			got = v.Message
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", reply, got, want)
		}
	}
}

func TestIdentifiersThatAreFalsy(t *testing.T) {
	s := schemaOf(t, `"Port":{"type":"integer"},"Live":{"type":"boolean"}`, "")
	s.PrimaryIdentifier = s.PrimaryIdentifier[:0]
	for _, name := range []string{"Port", "Live"} {
		path := s.ReadOnly[0]
		path.Tokens = []string{name}
		s.PrimaryIdentifier = append(s.PrimaryIdentifier, path)
	}
	event, err := invoke.Decode([]byte(`{"status":"SUCCESS","resourceModel":{"Port":0,"Live":false}}`), invoke.Create, s)
	if err != nil {
		t.Fatal(err)
	}
	if v := checkEvent(s, invoke.Create, event); v == nil || !strings.Contains(v.Message, "0 as /Port, which is of the primary identifier: the official suite takes it for no value") {
		t.Errorf("got %v", v)
	}
	if v := checkEvent(s, invoke.Update, event); v != nil { // where the official suite does not look
		t.Errorf("refused: %s", v)
	}
}

// TestListTokens: an empty nextToken asks the official suite for another page.
func TestListTokens(t *testing.T) {
	s := schemaOf(t, `"Name":{"type":"string"}`, "")
	for reply, want := range map[string]bool{
		`{"status":"SUCCESS","resourceModels":[],"nextToken":""}`: false, `{"status":"SUCCESS","resourceModels":[],"nextToken":null}`: true,
		`{"status":"SUCCESS","resourceModels":[]}`: true, `{"status":"SUCCESS","resourceModels":[],"nextToken":"2"}`: true,
		`{"status":"FAILED","errorCode":"AccessDenied"}`: false,
	} {
		event, err := invoke.Decode([]byte(reply), invoke.List, s)
		if err != nil {
			t.Fatal(err)
		}
		if v := checkEvent(s, invoke.List, event); (v == nil) != want {
			t.Errorf("%s: %v", reply, v)
		}
	}
}

func TestDifferencesAreShownWithoutSecrets(t *testing.T) {
	s := schemaOf(t, `"Name":{"type":"string"},"Secret":{"type":"string"},"List":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"Pin":{"type":"string"},"A":{"type":"string"}}}}`,
		`,"writeOnlyProperties":["/properties/Secret","/properties/List/*/Pin"],"propertyTransform":{"/properties/Name":"$lowercase(Name)"}`)
	redactor := invoke.NewRedactor(s)
	redactor.Learn("hunter22")
	r := &run{setRun: &setRun{suite: &suite{running: t.Context(), redactor: redactor, drift: detector(s)}}, cfg: &Config{Schema: s}}
	err := r.sameAsRequested(
		map[string]any{"Name": "NAME", "Secret": "hunter22", "List": []any{map[string]any{"A": "1", "Pin": "42"}}},
		map[string]any{"Name": "name is hunter22", "List": []any{map[string]any{"A": "1"}, map[string]any{"A": "2", "Pin": "43"}}})
	var v *Violation
	if !errors.As(err, &v) || len(v.Differences) != 2 {
		t.Fatalf("%v", err)
	}
	text := v.Message
	for _, d := range v.Differences {
		text += "\n" + d.String()
	}
	if strings.Contains(text, "hunter22") || strings.Contains(text, "43") || !strings.Contains(text, "/List/1") {
		t.Error(text)
	}
	if !strings.Contains(v.Message, "propertyTransform for /Name, which does not give what was returned") {
		t.Error(v.Message)
	}
}

// TestUpdateInputs holds the merging of identifiers and read-only values into the file.
func TestUpdateInputs(t *testing.T) {
	s := schemaOf(t, `"Arn":{"type":"string"},"Name":{"type":"string"},"Title":{"type":"string"}`,
		`,"additionalIdentifiers":[["/properties/Arn"]],"createOnlyProperties":["/properties/Name"]`)
	s.PrimaryIdentifier = append(s.PrimaryIdentifier, s.CreateOnly[0])
	created := map[string]any{"Id": "1", "Arn": "arn:1", "Name": "n", "Title": "old"}
	r := &run{setRun: &setRun{suite: &suite{running: t.Context(), redactor: invoke.NewRedactor(s), drift: detector(s)}}, cfg: &Config{Schema: s}, inputs: &InputSet{Number: 1, Update: map[string]any{"Title": "new", "Name": "n"}}}
	got, err := r.updateInput(created)
	if err != nil || got["Id"] != "1" || got["Arn"] != "arn:1" || got["Name"] != "n" || got["Title"] != "new" {
		t.Errorf("%v, %v", got, err)
	}
	if len(r.inputs.Update) != 2 {
		t.Errorf("the input itself was changed: %v", r.inputs.Update)
	}
	delete(r.inputs.Update, "Name")
	if _, err := r.updateInput(created); err == nil || !strings.Contains(err.Error(), "inputs_1_update.json lacks /Name, which is create-only and of the primary identifier") {
		t.Errorf("error %v", err)
	}
	r.inputs.Update["Name"] = "other"
	if _, err := r.updateInput(created); err == nil || !strings.Contains(err.Error(), "inputs_1_update.json changes /Name, which is create-only, from n to other") {
		t.Errorf("error %v", err)
	}
}

// schemaOf wraps properties and further members into the schema of a resource type.
func schemaOf(t testing.TB, properties, more string) *schema.Schema {
	t.Helper()
	text := fmt.Sprintf(`{"typeName":"A1::B2::C3","description":"x","additionalProperties":false,"primaryIdentifier":["/properties/Id"],"readOnlyProperties":["/properties/Id"],
		"handlers":{"create":{"permissions":[""]},"read":{"permissions":[""]},"delete":{"permissions":[""]}},"properties":{"Id":{"type":"string"},%s}%s}`, properties, more)
	s, problems := schema.Load("s.json", []byte(text), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

func detector(s *schema.Schema) *drift.Detector {
	d, _ := drift.New(s, drift.Config{})
	return d
}
