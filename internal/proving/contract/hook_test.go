package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

const hookText = `{"typeName":"Initech::TPS::Cover","description":"A hook.","additionalProperties":false,
	"typeConfiguration":{"properties":{"Series":{"type":"string"}},"additionalProperties":false},
	"handlers":{"preCreate":{"targetNames":["Initech::TPS::*"],"permissions":[]},"preUpdate":{"targetNames":["Initech::TPS::Report"],"permissions":[]},"preDelete":{"targetNames":["Initech::TPS::Report","STACK"],"permissions":[]}}}`

func hookSchema(t *testing.T) *schema.Schema {
	t.Helper()
	return hookSchemaOf(t, hookText)
}

func hookSchemaOf(t *testing.T, text string) *schema.Schema {
	t.Helper()
	s, problems := schema.Load("hook.json", []byte(text), schema.Config{Kind: schema.Hook})
	if s == nil || problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

// A clerk is a hook that refuses reports without a cover sheet.
type clerk struct {
	mutant    string
	callbacks bool
	targets   []string
	seen      string // everything that was sent
	calls     int
}

func (h *clerk) Call(_ context.Context, payload []byte) ([]byte, error) {
	h.seen += string(payload)
	h.calls++
	var c struct {
		RequestContext struct{ CallbackContext any }
		RequestData    struct {
			TargetName, TargetType string
			TargetModel            struct{ ResourceProperties map[string]any }
		}
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	h.targets = append(h.targets, c.RequestData.TargetType+" "+c.RequestData.TargetName)
	event := map[string]any{"hookStatus": "SUCCESS", "callbackDelaySeconds": 0}
	refuse := func(code, message string) {
		event["hookStatus"], event["errorCode"], event["message"] = "FAILED", code, message
	}
	cover := c.RequestData.TargetModel.ResourceProperties["Cover"]
	known := c.RequestData.TargetType != "RESOURCE" || strings.HasPrefix(c.RequestData.TargetName, "Initech::TPS::")
	switch {
	case h.callbacks && c.RequestContext.CallbackContext == nil:
		event["hookStatus"], event["callbackDelaySeconds"], event["callbackContext"] = "IN_PROGRESS", 5, map[string]any{"round": 1}
		switch h.mutant {
		case "progress with result":
			event["result"] = nil
		case "progress with code":
			event["errorCode"] = "Throttling"
		}
	case !known && h.mutant != "takes every type":
		refuse("UnsupportedTarget", "no report")
		if h.mutant == "wrong code" {
			event["errorCode"] = "InvalidRequest"
		}
	case h.mutant == "needs every property" && cover == nil && c.RequestData.TargetType == "RESOURCE":
		refuse("InternalFailure", "nil pointer")
	case h.mutant == "forgets" && cover != "none" && h.calls%2 == 0:
		refuse("NonCompliant", "not again")
	case h.mutant == "refuses all", cover == "none" && h.mutant != "takes all", cover == "old" && h.mutant == "strict":
		refuse("NonCompliant", "did you get the memo?")
		switch h.mutant {
		case "no code":
			delete(event, "errorCode")
		case "unknown code":
			event["errorCode"] = "Oops"
		case "no message":
			event["message"] = ""
		}
	default:
		switch h.mutant {
		case "success with code":
			event["errorCode"] = "Unknown"
		case "success with delay":
			event["callbackDelaySeconds"] = 3
		}
	}
	h.spoil(event)
	return json.Marshal(event)
}

// spoil gives members a null that the official suite takes for a value, or does not.
func (h *clerk) spoil(event map[string]any) {
	succeeded := event["hookStatus"] == "SUCCESS"
	switch {
	case h.mutant == "null code" && event["hookStatus"] == "IN_PROGRESS", h.mutant == "late null code" && succeeded:
		event["errorCode"] = nil
	case h.mutant == "null delay":
		event["callbackDelaySeconds"] = nil
	case h.mutant == "null message" && !succeeded:
		event["message"] = nil
	case h.mutant == "null result":
		event["result"] = nil
	}
}

// hookFiles are inputs of a hook.
func hookFiles() fstest.MapFS {
	target := func(cover string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(`{"Initech::TPS::Report": {"resourceProperties": {"Cover": "` + cover + `"}}}`)}
	}
	files := fstest.MapFS{}
	for _, point := range []string{"pre_create", "pre_update", "pre_delete"} {
		files["inputs/inputs_1_"+point+".json"] = target("new")
		files["inputs/inputs_1_invalid_"+point+".json"] = target("none")
	}
	return files
}

func tryHook(t *testing.T, h *clerk, files fstest.MapFS, suite Suite) *Summary {
	t.Helper()
	return tryHookOf(t, hookSchema(t), h, files, suite)
}

func tryHookOf(t *testing.T, s *schema.Schema, h *clerk, files fstest.MapFS, suite Suite) *Summary {
	t.Helper()
	inputs, problems, err := LoadInputs(InputsConfig{Files: files, Schema: s})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	summary, err := Run(t.Context(), Config{
		Schema: s, Function: h, Inputs: *inputs, Selection: Selection{Suite: suite}, TypeConfiguration: map[string]any{"Series": "QUARTERLY"},
		HookTargets: []HookTarget{{"Initech::TPS::Report", reportSchema(t)}}, NewToken: func() string { return "token" },
		Sleep: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// reportSchema is the schema of the target of the hook.
func reportSchema(t *testing.T) *schema.Schema {
	t.Helper()
	report, problems := schema.Load("report.json", []byte(`{"typeName":"Initech::TPS::Report","description":"x","additionalProperties":false,"properties":{"Id":{"type":"string"},"Cover":{"type":"string","enum":["new","old"]}},
		"primaryIdentifier":["/properties/Id"],"readOnlyProperties":["/properties/Id"],"tagging":{"taggable":false}}`), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return report
}

func TestHooks(t *testing.T) {
	overrides := fstest.MapFS{"overrides.json": {Data: []byte(`{"INVALID": {"Initech::TPS::Report": {"resourceProperties": {"/Cover": "none"}}}}`)}}
	for name, files := range map[string]fstest.MapFS{"inputs": hookFiles(), "generated": overrides} {
		for _, callbacks := range []bool{false, true} {
			h := &clerk{callbacks: callbacks}
			summary := tryHook(t, h, files, SuiteAll)
			if !summary.OK() || summary.Passed != 11 || summary.Skipped != 2 {
				t.Errorf("%s: %d passed, %d skipped:\n%s", name, summary.Passed, summary.Skipped, outcomes(summary))
			}
			if !strings.Contains(h.seen, `"hookModel":{"Series":"QUARTERLY"}`) || !strings.Contains(strings.Join(h.targets, "\n"), "STACK STACK") {
				t.Errorf("%s: sent %s", name, h.seen)
			}
		}
	}
}

// TestHookModels counts what a hook that likes no old covers says of generated models.
func TestHookModels(t *testing.T) {
	summary := tryHook(t, &clerk{mutant: "strict"}, hookFiles(), SuiteExtended)
	for _, r := range summary.Results {
		var passed, refused int
		_, err := fmt.Sscanf(r.Note, "Initech::TPS::Report: 20 generated models, %d passed, %d refused", &passed, &refused)
		if r.Outcome != Passed || err != nil || passed == 0 || refused == 0 || passed+refused != sampledModels {
			t.Errorf("%s: %s, the note is %q", r.ID(), r.Outcome, r.Note)
		}
	}
	if summary.Passed != 3 {
		t.Errorf("%s", outcomes(summary))
	}
}

// hookMutants are hooks with one defect, and what has to be said about each.
var hookMutants = map[string]string{
	"refuses all":          "success: CREATE_PRE_PROVISION of Initech::TPS::Report ended with FAILED NonCompliant: did you get the memo?; expected SUCCESS (" + clauseHookCompliant,
	"takes all":            "failed: CREATE_PRE_PROVISION of Initech::TPS::Report ended with SUCCESS; expected FAILED (" + clauseHookRefuses,
	"takes every type":     "unsupported_target: CREATE_PRE_PROVISION of",
	"wrong code":           "expected FAILED UnsupportedTarget (" + clauseHookUnsupported,
	"progress with result": "answered IN_PROGRESS with a result (" + clauseHookProgress,
	"progress with code":   "answered IN_PROGRESS with the error code Throttling (" + clauseHookProgress,
	"success with code":    "answered SUCCESS with the error code Unknown (" + clauseHookSuccess,
	"success with delay":   "answered SUCCESS with a callbackDelaySeconds of 3 (" + clauseHookSuccess,
	"no code":              "answered FAILED without an error code (" + clauseHookFailed,
	"unknown code":         `answered FAILED with the error code "Oops", which the handler contract does not have (` + clauseHookFailed,
	"no message":           "answered FAILED without a message (" + clauseHookFailed,
	"needs every property": "ended with FAILED InternalFailure: nil pointer for a model that its schema allows (" + clauseHookEvery,
	"forgets":              "CREATE_PRE_PROVISION of Initech::TPS::Report answered FAILED NonCompliant, and then SUCCESS for the same model (" + clauseHookSame,
}

func TestHookMutants(t *testing.T) {
	for mutant, want := range hookMutants {
		summary := tryHook(t, &clerk{mutant: mutant, callbacks: strings.HasPrefix(mutant, "progress")}, hookFiles(), SuiteAll)
		var said strings.Builder
		for _, r := range summary.Results {
			if r.Outcome == Failed {
				said.WriteString(r.ID() + ": " + r.Message + " (" + r.Clause + ")\n")
			}
		}
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s: want %q, got\n%s", mutant, want, said.String())
		}
	}
}

// TestHookWithoutInputs says what is missing, instead of showing the hook a model that it
// has no reason to refuse.
func TestHookWithoutInputs(t *testing.T) {
	summary := tryHook(t, &clerk{}, fstest.MapFS{}, SuiteCore)
	if summary.Failed != 3 || !strings.Contains(outcomes(summary), "no non-compliant input found: write inputs/inputs_1_pre_create.json and inputs/inputs_1_invalid_pre_create.json") {
		t.Errorf("%s", outcomes(summary))
	}
}

func TestHookInputProblems(t *testing.T) {
	_, problems, err := LoadInputs(InputsConfig{Schema: hookSchema(t), Files: fstest.MapFS{
		"inputs/inputs_1_create.json": {Data: []byte(`{}`)},
		"overrides.json":              {Data: []byte(`{"CREATE": {}, "INVALID": {"A::B::C": {"other": {}, "resourceProperties": {"": 1}, "previousResourceProperties": []}, "D::E::F": 1}, "INVALID_CREATE_PRE_PROVISION": "x"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := diag.Print(&b, problems, "text"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"it is an input for a resource type", `overrides do not apply to "CREATE"`, `a target has no "other"`, `"" is not a JSON pointer`,
		"the overrides of previousResourceProperties must be an object but are a JSON array", "the overrides of D::E::F must be an object but are a JSON number", "the overrides of INVALID_CREATE_PRE_PROVISION must be an object but are a JSON string"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
