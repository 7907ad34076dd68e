package template

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A recorded step is one call of a scenario that was recorded from AWS.
type recordedStep struct {
	Op     string `json:"op"`
	Params struct {
		TemplateBody string
		StackName    string
		Body         string // of PutObject
		Parameters   []struct {
			ParameterKey, ParameterValue string
			UsePreviousValue             bool
		}
	} `json:"params"`
	Error *struct{ Code, Message string } `json:"error"`
}

// refusedElsewhere are recorded messages that are not about the template.
var refusedElsewhere = []string{
	"already exists", "StackName", "Stack [", "not allowed by parameter ResourceTypes", "Rollback Trigger", "RelativeId",
	"TemplateURL", "S3 error", "Either Template URL", "Resource ", "ChangeSet [",
}

// TestRecordings takes every template that AWS was given in a recording through all steps.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "recordings"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	templates := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var scenario struct {
			Steps []json.RawMessage `json:"steps"`
		}
		if err := json.Unmarshal(data, &scenario); err != nil {
			t.Fatal(err)
		}
		previous := map[string]*Parameters{}
		included := ""
		for i, raw := range scenario.Steps {
			var step recordedStep
			if json.Unmarshal(raw, &step) != nil {
				continue
			}
			if step.Op == "PutObject" {
				included = fill(step.Params.Body)
			}
			if step.Params.TemplateBody == "" {
				continue
			}
			templates++
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + itoa(i)
			t.Run(name, func(t *testing.T) { replay(t, step, previous, included) })
		}
	}
	if templates < 100 {
		t.Errorf("only %d templates in the recordings", templates)
	}
}

func replay(t *testing.T, step recordedStep, previous map[string]*Parameters, included string) {
	bound, err := through(t, step, previous[step.Params.StackName], included)
	want := ""
	if step.Error != nil {
		want = step.Error.Message
	}
	for _, other := range refusedElsewhere {
		if strings.Contains(want, other) && !strings.Contains(want, "Template") {
			want = ""
		}
	}
	got := ""
	if err != nil {
		got = err.Error()
	}
	if strings.Contains(step.Params.TemplateBody, "s3://doesnotexist/") { // the change set fails, not the call
		want = "Transform AWS::Include failed with: S3 bucket [doesnotexist] does not exist."
	}
	if want != "" && !strings.HasPrefix(got, want) || want == "" && got != "" {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if err == nil && step.Error == nil {
		previous[step.Params.StackName] = bound
	}
}

// through takes a template from its text to evaluated resources.
func through(t *testing.T, step recordedStep, previous *Parameters, included string) (*Parameters, error) {
	ctx := context.Background()
	parsed, err := Parse("t", []byte(fill(step.Params.TemplateBody)), ParseOptions{})
	if err != nil {
		return nil, err
	}
	in := BindInput{Previous: previous, Store: anyStore{}}
	for _, p := range step.Params.Parameters {
		in.Supplied = append(in.Supplied, Supplied{Key: p.ParameterKey, Value: fill(p.ParameterValue), HasValue: !p.UsePreviousValue, UsePrevious: p.UsePreviousValue})
	}
	bound, err := parsed.Bind(ctx, in)
	if err != nil {
		return nil, err
	}
	pseudo := Pseudo{AccountID: "111111111111", Region: "us-east-1", StackName: fill(step.Params.StackName), StackID: "arn:aws:cloudformation:us-east-1:111111111111:stack/s/1"}
	processed, err := parsed.Expand(ctx, ExpandInput{Parameters: bound, Pseudo: pseudo, Macros: recordedMacros{included}})
	if err != nil {
		return nil, err
	}
	if err := processed.Check(ctx, nil); err != nil {
		return nil, err
	}
	scope, err := processed.NewScope(ScopeInput{Parameters: bound, Pseudo: pseudo})
	if err != nil {
		return nil, err
	}
	if err := scope.Check(ctx); err != nil {
		return nil, err
	}
	again, err := Parse("t", processed.ProcessedJSON(), ParseOptions{Processed: true})
	if err != nil {
		t.Errorf("the processed template is invalid: %v", err)
	} else if string(again.ProcessedJSON()) != string(processed.ProcessedJSON()) {
		t.Error("the processed template changes when it is read again")
	}
	for _, r := range scope.ActiveResources() {
		if _, err := scope.Properties(r, NoReferences{}); err != nil {
			return nil, err
		}
	}
	return bound, nil
}

var placeholders = regexp.MustCompile(`@\{([A-Za-z0-9]+)\}`)

// fill writes something for the placeholders of a scenario.
func fill(s string) string {
	return placeholders.ReplaceAllString(strings.ReplaceAll(s, "@{region}", "us-east-1"), "x$1")
}

// anyStore has a value for every name.
type anyStore struct{}

func (anyStore) StoredParameters(_ context.Context, names []string) (map[string]Stored, error) {
	out := map[string]Stored{}
	for _, name := range names {
		out[name] = Stored{Type: "String", Value: "stored"}
	}
	return out, nil
}

// recordedMacros includes what the recordings upload, and nothing from a bucket that they
// do not create.
type recordedMacros struct{ included string }

func (m recordedMacros) Include(_ context.Context, location string) ([]byte, error) {
	if strings.HasPrefix(location, "s3://doesnotexist/") {
		return nil, errors.New("S3 bucket [doesnotexist] does not exist.")
	}
	return []byte(m.included), nil
}

func (recordedMacros) Transform(context.Context, MacroCall) ([]byte, error) { return nil, ErrNoMacro }
