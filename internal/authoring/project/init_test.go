package project

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// What Init writes is a project without a fault whose generated files are up to date.
func TestInitWritesAWholeProject(t *testing.T) {
	for kind, name := range map[schema.Kind]string{schema.Resource: "Acme::Foo::Bar", schema.Hook: "Acme::Foo::Bar", schema.Module: "Acme::Foo::Bar::MODULE"} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			statuses, problems, err := Init(t.Context(), dir, "", InitConfig{Kind: kind, TypeName: name, ImportPath: "example.com/bar", Version: "1.2.3"})
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			for _, status := range statuses {
				if status.State != Missing {
					t.Errorf("%s was %s", status.Name, status.State)
				}
			}
			p, problems, err := Open(dir, "")
			if err != nil || len(problems) > 0 || p.Kind != kind || p.TypeName != name {
				t.Fatal(p, problems, err)
			}
			if kind == schema.Module {
				f, problems, err := p.Fragment()
				if err != nil || len(problems) > 0 || f == nil {
					t.Error(problems, err)
				}
				return
			}
			s, problems, err := p.Schema(schema.Config{})
			if err != nil || len(problems) > 0 {
				t.Error(problems, err)
			}
			if kind == schema.Hook {
				if targets, missing, problems, err := p.Targets(s, nil); err != nil || len(problems) > 0 || len(missing) > 0 || len(targets) != 1 {
					t.Error(targets, missing, problems, err)
				}
			}
		})
	}
}

func TestInitAgain(t *testing.T) {
	dir := t.TempDir()
	config := InitConfig{Kind: schema.Resource, TypeName: "Acme::Foo::Bar", ImportPath: "example.com/bar", Version: "1.2.3"}
	if _, _, err := Init(t.Context(), dir, "", config); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "cmd/resource/resource.go", "package resource // mine")
	write(t, dir, "example_inputs/mine.json", "{}")
	if _, _, err := Init(t.Context(), dir, "", config); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir)["cmd/resource/resource.go"]; got != "package resource // mine" {
		t.Errorf("the handlers were replaced: %s", got)
	}
	config.Overwrite = true
	if _, _, err := Init(t.Context(), dir, "", config); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	if strings.Contains(after["cmd/resource/resource.go"], "mine") || after["example_inputs/mine.json"] != "{}" {
		t.Error("overwriting did not replace the handlers, or removed what is not its own")
	}
}

// A schema that is there and is faulty, and a folder that cannot be written, stop Init
// before anything is changed.
func TestInitThatFailsChangesNothing(t *testing.T) {
	config := InitConfig{Kind: schema.Resource, TypeName: "Acme::Foo::Bar", ImportPath: "example.com/bar", Version: "1.2.3"}
	dir := t.TempDir()
	write(t, dir, "acme-foo-bar.json", `{"typeName": 5}`)
	before := tree(t, dir)
	_, problems, err := Init(t.Context(), dir, "sub", config)
	if err != nil || !problems.HasErrors() || !strings.HasPrefix(problems[0].At.File, "sub") {
		t.Errorf("a faulty schema: %v %v", problems, err)
	}
	if got := tree(t, dir); !maps.Equal(got, before) {
		t.Errorf("the folder holds %v", got)
	}

	blocked := t.TempDir()
	write(t, blocked, "cmd", "a file where a folder must be")
	if _, _, err := Init(t.Context(), blocked, "", config); err == nil {
		t.Error("wrote into a file")
	}
	if got := tree(t, blocked); len(got) != 1 {
		t.Errorf("the folder holds %v", got)
	}

	config.Kind, config.TargetSchemas = schema.Hook, []string{filepath.Join(dir, "none.json")}
	if _, _, err := Init(t.Context(), t.TempDir(), "", config); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("targets that are not there: %v", err)
	}
	if _, _, err := Init(t.Context(), filepath.Join(dir, "nowhere"), "", config); err == nil {
		t.Error("wrote into a folder that is not there")
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); !os.IsNotExist(err) {
		t.Error("made the folder")
	}
}

// TestInitFillsExampleInputs writes inputs that the schema accepts.
func TestInitFillsExampleInputs(t *testing.T) {
	dir := t.TempDir()
	text := `{"typeName": "Acme::Foo::Bar", "description": "d", "additionalProperties": false, "required": ["Due", "Code"],
 "properties": {"Id": {"type": "string"}, "Due": {"type": "string", "format": "date-time"}, "Code": {"type": "string", "pattern": "^[A-Z]{4}$"}, "Note": {"type": "string"}},
 "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false},
 "handlers": {"create": {"permissions": ["acme:Create"]}, "update": {"permissions": ["acme:Update"]}}}`
	if _, problems, err := Init(t.Context(), dir, "", InitConfig{Kind: schema.Resource, TypeName: "Acme::Foo::Bar", ImportPath: "example.com/bar", Version: "1.2.3", Schema: []byte(text)}); err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	s, problems := schema.Load("s", []byte(text), schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	models := map[string]map[string]any{}
	for _, name := range []string{"create", "update"} {
		data, err := os.ReadFile(filepath.Join(dir, "example_inputs", "inputs_1_"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var model map[string]any
		if err := json.Unmarshal(data, &model); err != nil || len(s.Check(model, schema.CheckConfig{})) > 0 || model["Due"] == nil || model["Id"] != nil {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
		models[name] = model
	}
	if models["create"]["Due"] == models["update"]["Due"] && models["create"]["Code"] == models["update"]["Code"] && models["create"]["Note"] == models["update"]["Note"] {
		t.Errorf("nothing is updated: %v", models)
	}
}

func TestAuthored(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Init(t.Context(), dir, "", InitConfig{Kind: schema.Hook, TypeName: "Acme::Foo::Bar", ImportPath: "example.com/bar", Version: "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	p, _, err := Open(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	// Every file that is not generated is named, but for the settings, which are merged,
	// and target schemas.
	files := tree(t, dir)
	authored := map[string]bool{SettingsFile: true, "target-schemas/aws-s3-bucket.json": true}
	for _, name := range p.Authored() {
		authored[name] = true
		if _, found := files[name]; !found {
			t.Errorf("there is no %s", name)
		}
	}
	for name, text := range files {
		if !authored[name] && !generated(name, []byte(text)) {
			t.Errorf("%s is not named", name)
		}
	}
}
