package contract

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// newUpgraded makes a cloud whose new version has a schema that differs by a change, and a handler of its own.
func newUpgraded(t *testing.T, k kind, change func(document map[string]any), handler func(*service) invoke.Function) *fakeCloud {
	t.Helper()
	s := newService(t, k, "")
	u := newFakeCloud(t, s)
	u.validates = true
	u.versions[OldVersion].schema, u.versions[OldVersion].handler = s.schema, s
	u.versions[NewVersion].schema, u.versions[NewVersion].handler = changedSchema(t, s.schema, change), s
	if handler != nil {
		u.versions[NewVersion].handler = handler(s)
	}
	return u
}

// changedSchema is a schema with a change.
func changedSchema(t *testing.T, of *schema.Schema, change func(document map[string]any)) *schema.Schema {
	t.Helper()
	document := map[string]any{}
	if err := json.Unmarshal(of.Root.AppendJSON(nil), &document); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(document)
	}
	return loaded(t, document)
}

// tryUpgrade runs the upgrade tests.
func tryUpgrade(t *testing.T, u *fakeCloud, cfg UpgradeConfig) *Summary {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u.stop = cancel
	old, new := u.versions[OldVersion].schema, u.versions[NewVersion].schema
	cfg.Old, cfg.Schema, cfg.Stacks, cfg.OldResources, cfg.Resources = old, new, u, u, u
	cfg.Use, cfg.From = u.use, "v1"
	if cfg.Changes == nil {
		cfg.Changes = lint.Diff(old, new)
	}
	cfg.LastUpdate = func() (desired, previous map[string]any) { return u.desired, u.previous }
	cfg.Now = func() time.Time { return u.service.clock }
	summary, err := RunUpgrade(ctx, cfg)
	if err != nil && u.stopped == 0 {
		t.Fatal(err)
	}
	return summary
}

func TestGoodUpgrades(t *testing.T) {
	ran := map[string]bool{}
	for _, k := range kindsOfService {
		t.Run(k.name, func(t *testing.T) {
			u := newUpgraded(t, k, func(d map[string]any) {
				members(d, "properties")["Clerk"] = map[string]any{"type": "string", "pattern": "^[a-z]{4}$"}
				d["description"] = "A better report."
			}, nil)
			u.validates = !k.exempt
			cfg := UpgradeConfig{Downgrade: true}
			cfg.Seed = 5
			if !k.exempt {
				cfg.Inputs = stackInputs(k)
			}
			summary := tryUpgrade(t, u, cfg)
			if !summary.OK() {
				t.Errorf("rejected:\n%s", failures(summary))
			}
			if len(u.service.reports) > 0 || len(summary.LeftBehind) > 0 || len(u.stacks) > 0 {
				t.Errorf("left behind: %v, %v, %v", u.service.reports, summary.LeftBehind, u.stacks)
			}
			for _, r := range summary.Results {
				if r.Outcome == Passed {
					ran[r.Case.Name()] = true
				}
			}
		})
	}
	for _, c := range upgradeCases {
		if !ran[c.Name()] {
			t.Errorf("%s never ran", c.ID)
		}
	}
}

// members are those of an object of a schema.
func members(d map[string]any, path ...string) map[string]any {
	for _, key := range path {
		d = d[key].(map[string]any)
	}
	return d
}

func listed(d map[string]any, list string, names ...string) {
	for _, name := range names {
		found, _ := d[list].([]any)
		d[list] = append(found, name)
	}
}

// newer is the handler of a new version: its calls and answers are changed.
type newer struct {
	*service
	fault string
	count map[string]int
}

func (n *newer) Call(ctx context.Context, payload []byte) ([]byte, error) {
	call := map[string]any{}
	if err := json.Unmarshal(payload, &call); err != nil {
		return nil, err
	}
	action, _ := call["action"].(string)
	n.count[action]++
	data, _ := call["requestData"].(map[string]any)
	model, _ := data["resourceProperties"].(map[string]any)
	refuse := func(code invoke.Code, message string) ([]byte, error) {
		return json.Marshal(map[string]any{"status": "FAILED", "errorCode": code, "message": message})
	}
	switch n.fault + " " + action {
	case "delete needs the title DELETE":
		return refuse(invoke.InvalidRequest, "Title is required")
	case "reads nothing that is old READ":
		return refuse(invoke.NotFound, "there is no such report")
	case "delete looks elsewhere DELETE":
		return refuse(invoke.NotFound, "there is no such report")
	case "update refuses the old title UPDATE":
		if model["Title"] == "first" {
			return refuse(invoke.InvalidRequest, "the title first is reserved")
		}
	case "stores another form UPDATE":
		model["Title"] = strings.ToUpper(model["Title"].(string))
		var err error
		if payload, err = json.Marshal(call); err != nil {
			return nil, err
		}
	case "prefixes identifiers READ", "prefixes identifiers DELETE":
		id, _ := model["Id"].(string)
		model["Id"] = strings.TrimPrefix(id, "v2-")
		var err error
		if payload, err = json.Marshal(call); err != nil {
			return nil, err
		}
	case "update makes a second one UPDATE":
		if err := n.second(ctx, call); err != nil {
			return nil, err
		}
	}
	reply, err := n.service.Call(ctx, payload)
	if err != nil {
		return nil, err
	}
	event := map[string]any{}
	if err := json.Unmarshal(reply, &event); err != nil {
		return nil, err
	}
	n.answer(action, event)
	return json.Marshal(event)
}

// second creates another report beside the one that is updated.
func (n *newer) second(ctx context.Context, call map[string]any) error {
	data := maps.Clone(call["requestData"].(map[string]any))
	model := maps.Clone(data["resourceProperties"].(map[string]any))
	model["Name"] = "shadow"
	delete(model, "Id")
	data["resourceProperties"] = model
	payload, err := json.Marshal(map[string]any{"action": "CREATE", "bearerToken": invoke.NewToken(), "requestData": data})
	if err != nil {
		return err
	}
	_, err = n.service.Call(ctx, payload)
	return err
}

func (n *newer) answer(action string, event map[string]any) {
	model, _ := event["resourceModel"].(map[string]any)
	if model == nil {
		return
	}
	switch n.fault + " " + action {
	case "read renames a property READ":
		model["Heading"] = model["Title"]
		delete(model, "Title")
	case "default changed READ":
		if model["Copies"] == json.Number("2") || model["Copies"] == float64(2) {
			model["Copies"] = 3
		}
	case "reads the password READ":
		model["Password"] = "correcthorsebattery"
	case "prefixes identifiers CREATE", "prefixes identifiers READ":
		model["Id"] = "v2-" + model["Id"].(string)
	case "reads size anew READ":
		model["Size"] = 4711
	case "stores another form READ", "stores another form UPDATE":
		model["Title"] = strings.ToLower(model["Title"].(string))
	}
}

// A faultyUpgrade is a faulty new version, by its schema or its handler. A test that runs alone finds it, and says which change of the
// schema announces it.
type faultyUpgrade struct {
	test, message, announced string
	schema                   func(d map[string]any)
	handler, saboteur        string
	inputs                   func(create, update map[string]any)
}

var upgradeFaults = []faultyUpgrade{
	{test: "upgrade_input", schema: func(d map[string]any) { listed(d, "required", "Authors") }, announced: "breaking/RQ001",
		message: "with a template of the old version, CloudFormation refused to create the stack: ValidationError: Properties validation failed for resource Subject: : is missing the property \"Authors\"; announced by breaking/RQ001"},
	{test: "upgrade_least_input", schema: func(d map[string]any) { listed(d, "required", "Draft") }, announced: "breaking/RQ001",
		message: `with a template with what the old version requires, and nothing else, CloudFormation refused to create the stack: ValidationError: Properties validation failed for resource Subject: : is missing the property "Draft"; announced by breaking/RQ001`},
	{test: "upgrade_each_property", schema: func(d map[string]any) { members(d, "properties", "Pages")["maximum"] = 45 }, announced: "breaking/MI012",
		message: "Pages"},
	{test: "upgrade_input", schema: func(d map[string]any) { members(d, "properties", "Pages")["type"] = "boolean" }, announced: "breaking/TP003",
		message: "Pages"},
	{test: "upgrade_input", schema: func(d map[string]any) { members(d, "properties", "Pages")["maximum"] = 5 }, announced: "breaking/MI012",
		message: "announced by breaking/MI012"},
	{test: "upgrade_read", schema: func(d map[string]any) { listed(d, "primaryIdentifier", "/properties/Name") }, announced: "breaking/PID001",
		message: `READ after the upgrade returned the primary identifier "id-1|report-1"; the stack has "id-1"; announced by breaking/PID001`},
	{test: "upgrade_read", handler: "read renames a property", message: "READ after the upgrade differs from READ of the old version: one property differs: /Title"},
	{test: "upgrade_read", handler: "default changed", schema: func(d map[string]any) { members(d, "properties", "Copies")["default"] = 3 }, announced: "breaking/TFDF002",
		message: "/Copies", inputs: func(create, update map[string]any) { delete(create, "Copies"); delete(update, "Copies") }},
	{test: "upgrade_read", schema: func(d map[string]any) { delete(d, "writeOnlyProperties") }, message: "one property differs: /Password"},
	{test: "upgrade_same_template", handler: "reads size anew", message: `Fn::GetAtt Size returned "4711"; it was "3" with the old version; cfn diff does not announce it`},
	{test: "upgrade_drift", saboteur: "read leaves a property out", message: "the drift after the upgrade is MODIFIED; expected IN_SYNC"},
	{test: "upgrade_update", schema: func(d map[string]any) { listed(d, "createOnlyProperties", "/properties/Title") }, announced: "breaking/PR002",
		message: `the update of Title replaces the resource "id-1", which the old version updates in place; announced by breaking/PR002`},
	{test: "upgrade_update", schema: func(d map[string]any) { delete(members(d, "handlers"), "update") }, announced: "breaking/handler-removed",
		message: "replaces the resource"},
	{test: "upgrade_update", saboteur: "update does nothing", message: "READ after the update of the stack: "},
	{test: "upgrade_each_property", schema: func(d map[string]any) { listed(d, "createOnlyProperties", "/properties/Draft") }, announced: "breaking/PR002",
		message: `the update of Draft replaces the resource "id-2"`},
	{test: "upgrade_write_only", handler: "reads the password", message: "READ of the new version returns /Password, which is write-only in the old one"},
	{test: "upgrade_tags", schema: func(d map[string]any) { d["tagging"] = map[string]any{"taggable": false} }, saboteur: "system tags come back", announced: "breaking/TAG101", message: "announced by "},
	{test: "upgrade_drift_detect", saboteur: "read is cached", message: "is IN_SYNC; expected MODIFIED"},
	{test: "upgrade_rollback", handler: "update refuses the old title", message: "the title first is reserved"},
	{test: "upgrade_replace", saboteur: "delete leaves it", message: `READ of "id-1" after the replacement still returns the resource; expected NotFound; cfn diff`},
	{test: "upgrade_import", schema: func(d map[string]any) { listed(d, "primaryIdentifier", "/properties/Name") }, announced: "breaking/PID001", message: "announced by breaking/PID001"},
	{test: "upgrade_refactor", schema: func(d map[string]any) { delete(members(d, "handlers"), "update") }, announced: "breaking/handler-removed",
		message: "the change of the logical ID failed: Stack Refactor does not support Initech::TPS::Report.; announced by breaking/handler-removed"},
	{test: "upgrade_refactor", schema: func(d map[string]any) { members(d, "tagging")["tagUpdatable"] = false }, announced: "breaking/tag-updatable",
		message: "because the resource type does not allow tag updates after creation.; announced by "},
	{test: "upgrade_refactor", handler: "reads nothing that is old", message: "the change of the logical ID failed: the resource does not exist"},
	{test: "upgrade_refactor", handler: "read renames a property", message: "READ after the refactor differs from READ of the old version: one property differs: /Title"},
	{test: "upgrade_refactor", saboteur: "read leaves a property out", message: "READ after the refactor differs from READ of the old version"},
	{test: "upgrade_delete", handler: "delete needs the title", message: "the deletion of the stack ended in DELETE_FAILED; expected DELETE_COMPLETE: Subject DELETE_FAILED: "},
	{test: "upgrade_delete", handler: "delete looks elsewhere", message: "READ of \"id-1\" after the deletion of the stack still returns the resource; expected NotFound"},
	{test: "downgrade_update", handler: "stores another form", message: "READ after the way back: one property differs: /Title"},
	{test: "downgrade_delete", handler: "prefixes identifiers", message: "READ of \"v2-id-1\" after the deletion of the stack with the old version still returns the resource"},
	{test: "upgrade_nothing_left", handler: "update makes a second one", message: "was not there before, and no event reported it"},
}

func TestUpgradeFaultsAreFound(t *testing.T) {
	for _, m := range upgradeFaults {
		t.Run(m.test+"/"+m.message, func(t *testing.T) {
			k := kind{identifier: []string{"Id"}}
			u := newUpgraded(t, k, m.schema, func(s *service) invoke.Function {
				if m.saboteur != "" {
					return &saboteur{service: s, mutant: m.saboteur, count: map[string]int{}}
				}
				return &newer{s, m.handler, map[string]int{}}
			})
			inputs := stackInputs(k)
			if m.inputs != nil {
				m.inputs(inputs.Sets[0].Create, inputs.Sets[0].Update)
			}
			selection := m.test
			if m.test == "upgrade_nothing_left" {
				selection += " or upgrade_update"
			}
			only, err := ParseExpression(selection)
			if err != nil {
				t.Fatal(err)
			}
			cfg := UpgradeConfig{Downgrade: true}
			cfg.Inputs, cfg.Selection = inputs, Selection{Keywords: only}
			summary := tryUpgrade(t, u, cfg)
			r := upgradeResult(t, summary, m.test)
			if r.Outcome != Failed || !strings.Contains(r.Message, m.message) || r.Clause == "" {
				t.Errorf("%s %q, clause %q; expected to fail with %q", r.Outcome, r.Message, r.Clause, m.message)
			}
			if m.announced == "" && !strings.HasSuffix(r.Message, "; cfn diff does not announce it") || m.announced != "" && !slices.ContainsFunc(r.Announced, func(a Announced) bool { return a.ID == m.announced }) {
				t.Errorf("%q is announced by %v; expected %q", r.Message, r.Announced, m.announced)
			}
			if named := m.test == "upgrade_nothing_left"; len(u.service.reports) > 0 != named || len(summary.LeftBehind) > 0 != named {
				t.Errorf("left behind: %v, %v", u.service.reports, summary.LeftBehind)
			}
			// The good twin: the same test without the fault.
			twin := newUpgraded(t, k, nil, nil)
			if summary := tryUpgrade(t, twin, cfg); !summary.OK() {
				t.Errorf("the good twin is rejected:\n%s", failures(summary))
			}
		})
	}
	for _, c := range upgradeCases {
		if !slices.ContainsFunc(upgradeFaults, func(m faultyUpgrade) bool { return m.test == c.Name() }) {
			t.Errorf("%s finds no fault", c.ID)
		}
	}
}

// TestMovesThatCreate: a CloudFormation that creates what it should move is found.
func TestMovesThatCreate(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	u := newUpgraded(t, k, nil, nil)
	u.deviates = "moves by creating"
	only, err := ParseExpression("upgrade_refactor")
	if err != nil {
		t.Fatal(err)
	}
	cfg := UpgradeConfig{}
	cfg.Inputs, cfg.Selection = stackInputs(k), Selection{Keywords: only}
	r := upgradeResult(t, tryUpgrade(t, u, cfg), "upgrade_refactor")
	if want := `The old version fails in the same way: the physical ID was "id-2" before the change of the logical ID and is "id-4711" now`; r.Outcome != Skipped || r.Message != want {
		t.Errorf("%s %q; expected %q", r.Outcome, r.Message, want)
	}
}

func upgradeResult(t *testing.T, summary *Summary, test string) *Result {
	t.Helper()
	at := slices.IndexFunc(summary.Results, func(r *Result) bool { return r.Case.Name() == test })
	if at < 0 {
		t.Fatalf("%s did not run", test)
	}
	return summary.Results[at]
}

// TestInterruptedUpgrades stops the run at each of its operations: what exists then is deleted.
func TestInterruptedUpgrades(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	only, err := ParseExpression("upgrade_update or upgrade_replace or upgrade_import or downgrade_delete or nothing_left")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		u := newUpgraded(t, k, nil, nil)
		u.stopped = n
		cfg := UpgradeConfig{Downgrade: true}
		cfg.Inputs, cfg.Selection = stackInputs(k), Selection{Keywords: only}
		summary := tryUpgrade(t, u, cfg)
		if u.begun < n {
			if n < 12 {
				t.Errorf("only %d operations", n)
			}
			break
		}
		if len(u.service.reports) > 0 || len(summary.LeftBehind) > 0 {
			t.Errorf("stopped at operation %d: left behind: %v, %v", n, u.service.reports, summary.LeftBehind)
		}
	}
}

// TestOldFailures: what the old version fails at, too, does not come from the upgrade.
func TestOldFailures(t *testing.T) {
	k := kind{identifier: []string{"Id"}}
	u := newUpgraded(t, k, nil, func(s *service) invoke.Function { return &newer{s, "delete needs the title", map[string]int{}} })
	u.versions[OldVersion].handler = &newer{u.service, "delete needs the title", map[string]int{}}
	only, err := ParseExpression("upgrade_delete")
	if err != nil {
		t.Fatal(err)
	}
	cfg := UpgradeConfig{}
	cfg.Inputs, cfg.Selection = stackInputs(k), Selection{Keywords: only}
	summary := tryUpgrade(t, u, cfg)
	if r := upgradeResult(t, summary, "upgrade_delete"); r.Outcome != Skipped || !strings.HasPrefix(r.Message, "The old version fails in the same way: the deletion of the stack ended in DELETE_FAILED") {
		t.Errorf("%s %q", r.Outcome, r.Message)
	}
	if len(summary.LeftBehind) != 2 || !strings.Contains(summary.LeftBehind[0], "no version deletes it") {
		t.Errorf("left behind: %v", summary.LeftBehind)
	}
}
