package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func TestParseSettings(t *testing.T) {
	const rest = `"language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0"}}`
	tests := []struct{ name, text, want string }{
		{"resource", `{"artifact_type": "RESOURCE", "typeName": "Aa::Bb::Cc", ` + rest, ""},
		{"old, without a kind", `{"typeName": "Aa::Bb::Cc", ` + rest, ""},
		{"hook", `{"artifact_type": "HOOK", "typeName": "Aa::Bb::Cc", "canarySettings": 5, ` + rest, ""},
		{"module", `{"artifact_type": "MODULE", "typeName": "Aa::Bb::Cc::MODULE", "settings": {"protocolVersion": "1.0.0"}}`, ""},
		{"unknown keys", `{"contractSettings": {}, "typeName": "Aa::Bb::Cc", ` + rest, ""},
		{"empty file", ``, "f:1:1: error: the document is empty [document/syntax]"},
		{"list", `[]`, "f:1:1: error: the settings are of type array, not a JSON object [project/wrong-type]"},
		{"kind in lower case", `{"artifact_type": "hook", "typeName": "Aa::Bb::Cc", ` + rest, "f:1:19: error: artifact_type is not a kind of extension [project/artifact-type]"},
		{"kind is null", `{"artifact_type": null, "typeName": "Aa::Bb::Cc", ` + rest, "f:1:19: error: artifact_type is not a kind of extension [project/artifact-type]"},
		{"no name", `{` + rest, `f:1:1: error: the key "typeName" is missing [project/missing-key]`},
		{"name with a newline", `{"typeName": "Aa::Bb::Cc\n", ` + rest, `f:1:14: error: "Aa::Bb::Cc\n" is not a type name of a resource [project/type-name]`},
		{"module without its kind", `{"typeName": "Aa::Bb::Cc::MODULE", ` + rest, `f:1:14: error: "Aa::Bb::Cc::MODULE" is not a type name of a resource [project/type-name]`},
		{"namespace of AWS", `{"typeName": "AWS::Bb::Cc", ` + rest, `f:1:14: warning: the namespace AWS is reserved: types in it can be registered for your own account, but not published [project/namespace]`},
		{"namespace of custom resources", `{"typeName": "custom::Bb::Cc", ` + rest, `f:1:14: warning: the namespace custom is reserved: types in it cannot be registered [project/namespace]`},
		{"one letter", `{"typeName": "A::Bb::Cc", ` + rest, `f:1:14: error: "A::Bb::Cc" is not a type name of a resource [project/type-name]`},
		{"language is a number", `{"typeName": "Aa::Bb::Cc", "language": 1, "runtime": "r", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`, "f:1:40: error: language is of type number, not a string [project/wrong-type]"},
		{"runtime is null", `{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": null, "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`, "f:1:57: error: runtime is of type null, not a string [project/wrong-type]"},
		{"unknown language", `{"typeName": "Aa::Bb::Cc", "language": "cobol", "runtime": "r", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`,
			`f:1:40: warning: the language of the project, "cobol", is not one that is known: those are go, java, python38, python39, python310, python311, python312, python313, typescript [project/language]`},
		{"retired runtime", `{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": "go1.x", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`, "f:1:57: warning: Lambda no longer supports new functions with the runtime go1.x [project/runtime-retired]"},
		{"retired runtime of python38", `{"typeName": "Aa::Bb::Cc", "language": "python38", "runtime": "python3.8", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`, "f:1:63: warning: Lambda no longer supports new functions with the runtime python3.8 [project/runtime-retired]"},
		{"retired runtime of typescript", `{"typeName": "Aa::Bb::Cc", "language": "typescript", "runtime": "nodejs12.x", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`, "f:1:65: warning: Lambda no longer supports new functions with the runtime nodejs12.x [project/runtime-retired]"},
		{"retired runtime of java", `{"typeName": "Aa::Bb::Cc", "language": "java", "runtime": "java8", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`, "f:1:59: warning: Lambda no longer supports new functions with the runtime java8 [project/runtime-retired]"},
		{"settings are a list", `{"artifact_type": "MODULE", "typeName": "Aa::Bb::Cc::MODULE", "settings": []}`, "f:1:75: error: settings is of type array, not an object [project/wrong-type]"},
		{"canary settings of a resource", `{"typeName": "Aa::Bb::Cc", "canarySettings": 5, ` + rest, "f:1:46: error: canarySettings is of type number, not an object [project/wrong-type]"},
		{"no version", `{"artifact_type": "MODULE", "typeName": "Aa::Bb::Cc::MODULE", "settings": {}}`, "f:1:63: warning: protocolVersion is missing: registration will use version 1.0.0 [project/protocol-version]"},
		{"no settings", `{"artifact_type": "MODULE", "typeName": "Aa::Bb::Cc::MODULE"}`, "f: warning: protocolVersion is missing: registration will use version 1.0.0 [project/protocol-version]"},
		{"unknown version", `{"artifact_type": "MODULE", "typeName": "Aa::Bb::Cc::MODULE", "settings": {"protocolVersion": 2}}`, `f:1:95: error: protocolVersion is neither "1.0.0" nor "2.0.0" [project/protocol-version]`},
		{"too large", `{"x": "` + strings.Repeat("é", 1700) + `", "typeName": "Aa::Bb::Cc", ` + rest, "f: error: the settings have 10352 bytes, more than the limit of 10 KiB [project/too-large]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, problems := ParseSettings("f", []byte(test.text))
			var b strings.Builder
			diag.Print(&b, problems, "text")
			if got, _, _ := strings.Cut(b.String(), "\n"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestSettingsDefaults(t *testing.T) {
	_, s, problems := ParseSettings("f", []byte(`{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": "r", "entrypoint": "handler", "executableEntrypoint": "x"}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	if s.Kind != schema.Resource || s.TestEntrypoint != "handler" || s.ExecutableEntrypoint != "x" || s.Option("import_path") != "" {
		t.Errorf("got %+v", s)
	}
	if s.Hyphenated() != "aa-bb-cc" || s.SchemaFile() != "aa-bb-cc.json" || s.ArchiveFile() != "aa-bb-cc.zip" {
		t.Errorf("names %s %s %s", s.Hyphenated(), s.SchemaFile(), s.ArchiveFile())
	}
}

// TestDumpedSize pins the size to what Python's len(json.dumps(…)) gives.
func TestDumpedSize(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 2, `[]`: 2, `{"a":1,"b":[true,null]}`: 27, `"é😀\"\n\u0001\u007f/"`: 37, `[1.5,-2]`: 9,
	} {
		v, problems := document.ParseJSON("", []byte(text), document.Limits{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got := dumpedSize(v); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

func TestOpenNamesTheProjectAbove(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, SettingsFile, "{}")
	write(t, dir, "a/b/file", "")
	_, _, err := Open(filepath.Join(dir, "a", "b"), "here")
	var none *NotFoundError
	if !errors.As(err, &none) || none.Above != dir || !strings.HasPrefix(err.Error(), "here is not an extension project") {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, SettingsFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, ""); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

func TestSchemaOfAnotherType(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, SettingsFile, `{"typeName": "Aa::Bb::Cc", "language": "go", "runtime": "r", "entrypoint": null, "settings": {"protocolVersion": "2.0.0"}}`)
	write(t, dir, "aa-bb-cc.json", `{"typeName": "Aa::Bb::Dd", "description": "d", "additionalProperties": false, "properties": {"Id": {"type": "string"}},
 "readOnlyProperties": ["/properties/Id"], "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": false}}`)
	p, _, err := Open(dir, "sub")
	if err != nil {
		t.Fatal(err)
	}
	_, problems, err := p.Schema(schema.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		if problem.ID == "project/type-name-differs" && problem.At.String() == filepath.Join("sub", "aa-bb-cc.json")+":1:14" && len(problem.Related) == 1 {
			return
		}
	}
	t.Errorf("got %v", problems)
}

func TestReservedNamespace(t *testing.T) {
	for name, want := range map[string]Namespace{
		"AWS::S3::Bucket": {"AWS", true}, "amazon::A::B": {"amazon", true}, "AwsQuickStart::A::B::MODULE": {"AwsQuickStart", true},
		"Custom::A::B": {"Custom", false}, "dev::A::B": {"dev", false}, "Initech::TPS::Report": {Name: "Initech"},
	} {
		if got, is := ReservedNamespace(name); got != want || is != (name != "Initech::TPS::Report") {
			t.Errorf("%s: %+v, %t, want %+v", name, got, is, want)
		}
	}
}

func TestTypeConfiguration(t *testing.T) {
	tests := []struct {
		name, text string
		kind       schema.Kind
		want       string // the configuration as JSON, or the first problem
	}{
		{"resource", `{"Credentials": {"Key": "k"}}`, schema.Resource, `{"Credentials":{"Key":"k"}}`},
		{"hook", `{"CloudFormationConfiguration": {"HookConfiguration": {"Properties": {"A": 1}}}}`, schema.Hook, `{"A":1}`},
		{"hook without its frame", `{"A": 1}`, schema.Hook, `tc.json:1:1: the configuration of a hook has an object "CloudFormationConfiguration" here`},
		{"hook cut short", `{"CloudFormationConfiguration": {"HookConfiguration": 5}}`, schema.Hook, `tc.json:1:33: the configuration of a hook has an object "HookConfiguration" here`},
		{"no JSON", `{`, schema.Resource, "tc.json:1:2: the document ends where a key in double quotes should be"},
		{"list", `[]`, schema.Resource, "tc.json:1:1: the type configuration is of type array, not an object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tc.json")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			v, problems, err := TypeConfiguration(path, "tc.json", test.kind)
			if err != nil {
				t.Fatal(err)
			}
			got := string(v.AppendJSON(nil))
			if len(problems) > 0 {
				got = problems[0].At.String() + ": " + problems[0].Message
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	v, problems, err := TypeConfiguration(TypeConfigurationFile(t.TempDir()), "x", schema.Resource)
	if v != nil || problems != nil || err != nil {
		t.Errorf("a missing file gives %v %v %v", v, problems, err)
	}
}

// FuzzParseSettings looks for settings that crash the checks.
func FuzzParseSettings(f *testing.F) {
	f.Add(`{"artifact_type": "HOOK", "typeName": "Aa::Bb::Cc", "settings": {}}`)
	f.Add(`{"settings": [], "typeName": null}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, s, problems := ParseSettings("f", []byte(text))
		if !problems.HasErrors() && !ValidTypeName(s.Kind, s.TypeName) {
			t.Errorf("accepted the name %q", s.TypeName)
		}
	})
}
