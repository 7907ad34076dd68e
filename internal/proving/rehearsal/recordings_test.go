package rehearsal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A recording is what a conversation with AWS says of one update of a stack.
type recording struct {
	name          string
	before, after struct {
		body       string
		parameters []types.Parameter
	}
	events map[string][]recordedEvent // of the resources, the oldest first
}

type recordedEvent struct {
	ResourceStatus       types.ResourceStatus
	ResourceStatusReason string
}

// fresh are the unique names of a recording.
var fresh = regexp.MustCompile(`@\{([uU][0-9]+)\}`)

// readRecording returns nil for a recording that has no update with events, or needs more than a template.
func readRecording(t *testing.T, file string) *recording {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var of struct {
		Steps []struct {
			Op     string `json:"op"`
			View   string `json:"view"`
			Params struct {
				ChangeSetType, TemplateBody string
				Parameters                  []types.Parameter
			} `json:"params"`
			Expects []struct {
				Expect json.RawMessage `json:"expect"`
			} `json:"expects"`
		} `json:"steps"`
	}
	text := fresh.ReplaceAllString(string(data), "rehearsed$1")
	if err := json.Unmarshal([]byte(text), &of); err != nil || strings.Contains(text, "$file") {
		return nil
	}
	r := &recording{name: strings.TrimSuffix(filepath.Base(file), ".json")}
	updates := 0
	for _, step := range of.Steps {
		switch {
		case strings.Contains(step.Params.TemplateBody, "@{"):
			return nil
		case step.Op == "CreateChangeSet" && step.Params.ChangeSetType == "CREATE" && r.before.body == "":
			r.before.body, r.before.parameters = step.Params.TemplateBody, step.Params.Parameters
		case step.Op == "CreateChangeSet" && step.Params.ChangeSetType == "UPDATE":
			updates++
			r.after.body, r.after.parameters = step.Params.TemplateBody, step.Params.Parameters
		case step.View == "events-by-logical-id" && len(step.Expects) == 1 && json.Unmarshal(step.Expects[0].Expect, &r.events) != nil:
			return nil
		}
	}
	if r.before.body == "" || updates != 1 || r.events == nil {
		return nil
	}
	for id := range r.events {
		slices.Reverse(r.events[id])
	}
	return r
}

// steps are what was done with a resource in the update.
func (r *recording) steps(id string) (out []string) {
	events := r.events[id]
	created := slices.IndexFunc(events, func(e recordedEvent) bool { return e.ResourceStatus == types.ResourceStatusCreateComplete })
	var template struct{ Resources map[string]any }
	_ = json.Unmarshal([]byte(r.before.body), &template) // of a template in YAML all of them are new
	if _, had := template.Resources[id]; had {
		events = events[created+1:]
	}
	physical := ""
	for _, e := range events {
		step := map[types.ResourceStatus]string{types.ResourceStatusCreateComplete: "CREATE", types.ResourceStatusUpdateComplete: "UPDATE", types.ResourceStatusDeleteComplete: "DELETE"}[e.ResourceStatus]
		if strings.HasPrefix(e.ResourceStatusReason, "Requested update requires the creation of a new physical resource") {
			physical = "CREATE"
		}
		if step == "UPDATE" && physical != "" {
			step, physical = physical, ""
		}
		if step != "" {
			out = append(out, step)
		}
	}
	return out
}

// TestRecordings: what AWS did with each resource in an update is what a rehearsal says.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "recordings"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	p := newPlace(t)
	equal, all, resources := 0, 0, 0
	for i, file := range files {
		r := readRecording(t, file)
		if r == nil {
			continue
		}
		account, stack := fmt.Sprintf("%012d", 500_000+i), "recorded"
		remote := p.remote(account)
		_, err := remote.CloudFormation().CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &stack, TemplateBody: &r.before.body, Parameters: r.before.parameters, Capabilities: capabilities})
		if err != nil {
			t.Logf("%s cannot be replayed: %v", r.name, err)
			continue
		}
		found, err := remote.FollowStack(t.Context(), stack, "", func(*types.Stack, []types.StackEvent) error { return nil })
		if err != nil || found.StackStatus != types.StackStatusCreateComplete {
			t.Logf("%s cannot be replayed: %v %v", r.name, found, err)
			continue
		}
		all++
		var report *Report
		p.reads(account, true)
		report, err = Run(t.Context(), Config{
			Remote: remote, Stack: stack, Template: []byte(r.after.body), File: "next.json", Parameters: r.after.parameters, Base: baseConfig(t), Getenv: func(string) string { return "" }, Parallel: 1,
		})
		if err != nil {
			t.Logf("%s cannot be rehearsed: %v", r.name, err)
			all--
			continue
		}
		same := true
		for id := range r.events {
			if id == "" || strings.HasPrefix(id, "stack") || strings.HasPrefix(id, "<stack") {
				continue
			}
			var got []string
			for _, s := range report.Steps {
				if s.LogicalID == id {
					got = append(got, s.Action)
				}
			}
			resources++
			if want := r.steps(id); !slices.Equal(got, want) {
				same = false
				t.Logf("%s: %s: rehearsed %v, recorded %v", r.name, id, got, want)
			}
		}
		if same {
			equal++
		}
	}
	if all < 20 || resources < all || equal*100 < all*95 {
		t.Errorf("%d of %d recordings as rehearsed", equal, all)
	}
	t.Logf("%d of %d recordings as rehearsed, with %d resources", equal, all, resources)
}
