package lint

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// sound is a schema that no rule finds anything in.
const sound = `{
  "typeName": "Initech::TPS::Report",
  "description": "Resource Type definition for Initech::TPS::Report.",
  "sourceUrl": "https://example.com/tps.git",
  "definitions": {
    "Tag": {
      "type": "object",
      "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}},
      "required": ["Key", "Value"],
      "additionalProperties": false
    }
  },
  "properties": {
    "Id": {"type": "string"},
    "Name": {"type": "string", "minLength": 1, "maxLength": 64},
    "Color": {"type": "string"},
    "Secret": {"type": "string"},
    "Tags": {"type": "array", "insertionOrder": false, "items": {"$ref": "#/definitions/Tag"}}
  },
  "additionalProperties": false,
  "required": ["Name"],
  "primaryIdentifier": ["/properties/Id"],
  "readOnlyProperties": ["/properties/Id"],
  "createOnlyProperties": ["/properties/Name"],
  "writeOnlyProperties": ["/properties/Secret"],
  "tagging": {
    "taggable": true, "tagOnCreate": true, "tagUpdatable": true, "cloudFormationSystemTags": true,
    "tagProperty": "/properties/Tags", "permissions": ["tps:TagReport"]
  },
  "handlers": {
    "create": {"permissions": ["tps:CreateReport"]},
    "read": {"permissions": ["tps:GetReport"]},
    "update": {"permissions": ["tps:UpdateReport"]},
    "delete": {"permissions": ["tps:DeleteReport"]},
    "list": {"permissions": ["tps:ListReports"]}
  }
}`

// soundWith is the sound schema with other members: those of the objects that it has are
// merged, null takes one out.
func soundWith(t testing.TB, members string) *schema.Schema {
	t.Helper()
	var base, change map[string]any
	if err := json.Unmarshal([]byte(sound), &base); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte("{"+members+"}"), &change); err != nil {
		t.Fatalf("%s: %v", members, err)
	}
	mergeInto(base, change, 1)
	text, err := json.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	s, problems := schema.Load("schema.json", text, schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return s
}

func mergeInto(base, change map[string]any, depth int) {
	for key, value := range change {
		into, isObject := base[key].(map[string]any)
		from, both := value.(map[string]any)
		switch {
		case value == nil:
			delete(base, key)
		case isObject && both && depth > 0:
			mergeInto(into, from, depth-1)
		default:
			base[key] = value
		}
	}
}

func ids(problems diag.List) []string {
	seen := map[string]bool{}
	for _, p := range problems {
		seen[p.ID] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func load(t testing.TB, path string) (*schema.Schema, diag.List) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, problems := schema.Load(path, data, schema.Config{})
	if s == nil {
		t.Fatal(problems)
	}
	return s, problems
}

func TestSoundSchemaIsSilent(t *testing.T) {
	if got := Run(soundWith(t, ""), Config{}); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestRules derives a case from every row: the wrong example is reported, at a place and
// with a pointer that names something, the right one is not.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range Rules() {
		t.Run(strings.TrimPrefix(rule.ID, "lint/"), func(t *testing.T) {
			if seen[rule.ID] {
				t.Error("the ID is taken")
			}
			seen[rule.ID] = true
			if !strings.HasPrefix(rule.ID, "lint/") || rule.Purpose == "" || rule.Why == "" || rule.Bad == "" || rule.Good == "" {
				t.Errorf("the row is not complete: %+v", rule)
			}
			if rule.check == nil {
				return // TestSettingsRules has it
			}
			bad := soundWith(t, rule.Bad)
			problems := Run(bad, Config{})
			i := slices.IndexFunc(problems, func(p diag.Problem) bool { return p.ID == rule.ID })
			if i < 0 {
				t.Fatalf("the wrong example is not reported, only %v", ids(problems))
			}
			p := problems[i]
			if p.Severity != rule.Severity || !p.At.Start.Known() || p.Message == "" || strings.HasSuffix(p.Message, ".") {
				t.Errorf("%+v", p)
			}
			if slices.Contains(ids(Run(soundWith(t, rule.Good), Config{})), rule.ID) {
				t.Error("the right example is reported")
			}
			reported := slices.Contains(ids(Run(bad, Config{FaultsOnly: true})), rule.ID)
			if reported != (rule.Fault && rule.Twin == "") {
				t.Errorf("reported among faults: %v", reported)
			}
		})
	}
}

// TestTwins holds what a row says of internal/authoring/schema: with the wrong example the other
// rule reports too.
func TestTwins(t *testing.T) {
	for _, rule := range Rules() {
		if rule.Twin == "" {
			continue
		}
		bad := soundWith(t, rule.Bad)
		data := string(bad.Root.AppendJSON(nil))
		_, problems := schema.Load("schema.json", []byte(data), schema.Config{})
		if !slices.Contains(ids(problems), rule.Twin) {
			t.Errorf("%s: %s is silent, there are only %v", rule.ID, rule.Twin, ids(problems))
		}
	}
}

// TestWithoutTwins: what both packages report at one place stays under one ID, unless the settings made the rule here more
// severe.
func TestWithoutTwins(t *testing.T) {
	at := func(id string, severity diag.Severity, offset int) diag.Problem {
		return diag.Problem{ID: id, Severity: severity, At: diag.Range{File: "a.json", Start: diag.Position{Offset: offset}}}
	}
	problems := diag.List{
		at("lint/PID003", diag.Warning, 7), at("schema/identifier-mutable", diag.Warning, 7),
		at("lint/PID003", diag.Warning, 9), // elsewhere
		at("lint/TAG002", diag.Error, 1), at("schema/tagging-missing", diag.Warning, 1),
		at("lint/PR008", diag.Warning, 3), at("schema/write-only-unresolved", diag.Error, 3),
		at("lint/GN001", diag.Warning, 7), // has no twin
	}
	want := []string{"schema/identifier-mutable", "lint/PID003", "lint/TAG002", "schema/tagging-missing", "schema/write-only-unresolved", "lint/GN001"}
	var got []string
	for _, p := range WithoutTwins(problems) {
		got = append(got, p.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("left: %v, want %v", got, want)
	}
	if len(problems) != 8 {
		t.Error("the list itself was changed")
	}
}

// guardRailLedger are the verdicts of guard-rail that are not ours, with the reason.
var guardRailLedger = map[string]string{}

// TestGuardRail compares with the verdicts of guard-rail itself on published schemas.
func TestGuardRail(t *testing.T) {
	dir := fixtures.Dir(t, "schemas")
	data, err := os.ReadFile(filepath.Join(dir, "aws-guard-rail.json"))
	if err != nil {
		t.Fatal(err)
	}
	var verdicts map[string]struct{ Errors, Warnings []string }
	if err := json.Unmarshal(data, &verdicts); err != nil {
		t.Fatal(err)
	}
	upstream := map[string]bool{}
	for _, rule := range Rules() {
		if strings.HasPrefix(rule.Upstream, "guard-rail: ") {
			upstream[rule.ID] = true
		}
	}
	if len(upstream) != 51 {
		t.Errorf("guard-rail has 51 rules without state, the table has %d", len(upstream))
	}
	// A handler that is missing has no permissions: guard-rail says both, we say one.
	implied := map[string]string{"lint/PER002": "lint/PER001", "lint/PER004": "lint/PER003", "lint/PER009": "lint/PER008", "lint/PER011": "lint/PER010"}
	same := 0
	for name, verdict := range verdicts {
		s, _ := load(t, filepath.Join(dir, "aws", name))
		got := map[string]bool{}
		for _, id := range ids(Run(s, Config{})) {
			if upstream[id] {
				got[id] = true
			}
		}
		want := map[string]bool{}
		for _, id := range slices.Concat(verdict.Errors, verdict.Warnings) {
			want["lint/"+id] = true
		}
		for id, cause := range implied {
			if want[id] && want[cause] && !got[id] {
				delete(want, id)
			}
		}
		ok := true
		for id := range want {
			if !got[id] && guardRailLedger[name+" "+id] == "" {
				ok = false
				t.Errorf("%s: guard-rail reports %s, we do not", name, id)
			}
		}
		for id := range got {
			if !want[id] && guardRailLedger[name+" "+id] == "" {
				ok = false
				t.Errorf("%s: we report %s, guard-rail does not", name, id)
			}
		}
		if ok {
			same++
		}
	}
	t.Logf("%d of %d schemas have guard-rail's verdict", same, len(verdicts))
}

// TestPublishedSchemas: none of them has an error, and none changes by being compared
// with itself.
func TestPublishedSchemas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) < 600 {
		t.Fatal(len(files), err)
	}
	found := map[string]int{}
	for _, file := range files {
		s, _ := load(t, file)
		problems := Run(s, Config{})
		for _, id := range ids(problems) {
			found[id]++
		}
		if problems.HasErrors() {
			t.Errorf("%s: %+v", filepath.Base(file), problems.Err())
		}
		again, _ := load(t, file)
		if changes := Diff(s, again); len(changes) > 0 {
			t.Errorf("%s: %+v", filepath.Base(file), changes)
		}
		// The comparison proper, not the shortcut for equal documents.
		d := newDiffer(s, again)
		if d.documents(); len(d.changes) > 0 {
			t.Errorf("%s: %+v", filepath.Base(file), d.changes)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		t.Logf("%-30s %4d files", id, found[id])
	}
}
