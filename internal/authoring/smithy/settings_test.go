package smithy

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func TestSettingFaults(t *testing.T) {
	plugin := func(settings string) string { return `{"plugins": {"cloudformation": {` + settings + `}}}` }
	tests := []struct{ file, projection, want string }{
		{plugin(`"service": "a#S", "useIntegerType": true, "unknown": 1`), "", ""},
		{plugin(`"unionStrategy": "oneOf", "mapStrategy": "patternProperties", "alphanumericOnlyRefs": true, "jsonSchemaVersion": "draft07", "definitionPointer": "#/definitions"`), "", ""},
		{plugin(`"alphanumericOnlyRefs": false`), "", "MUST use alphanumeric only references. `alphanumericOnlyRefs` value of `false` was provided."},
		{plugin(`"mapStrategy": "propertyNames"`), "", "`mapStrategy` value of `propertyNames` was provided."},
		{plugin(`"unionStrategy": "object"`), "", "`unionStrategy` value of `object` was provided."},
		{plugin(`"jsonSchemaVersion": "draft2020-12"`), "", "`jsonSchemaVersion` value of `draft2020-12` was provided."},
		{plugin(`"useJsonName": false`), "", "use the `@cfnName` trait for property names. `useJsonName` value of `false` was provided."},
		{plugin(`"definitionPointer": "#/x"`), "", "`definitionPointer` value of `#/x` was provided."},
		{plugin(`"useIntegerType": 1`), "", "Deserialization error at (/useIntegerType): expected a boolean, found number"},
		{plugin(`"organizationName": 1`), "", "expected a string, found number"},
		{plugin(`"externalDocs": ["a", 1]`), "", "expected an array of strings, found array"},
		{plugin(`"service": "?"`), "", "expected a shape ID, found string"},
		{plugin(`"enableOutOfServiceReferences": 1`), "", "expected a boolean, found number"},
		{plugin(`"schemaDocumentExtensions": 1`), "", "expected an object, found number"},
		{plugin(`"jsonAdd": 1`), "", "expected an object, found number"},
		{plugin(`"jsonAdd": {"a#R": 1}`), "", "expected an object, found number"},
		{plugin(`"enumStrategy": "x"`), "", `"x" is not a value of the setting enumStrategy`},
		{plugin(`"defaultTimestampFormat": "x"`), "", `"x" is not a value of the setting defaultTimestampFormat`},
		{`{}`, "", "there are no settings for the plugin cloudformation"},
		{plugin(``), "p", `there is no projection "p"`},
		{`{"projections": {"p": {}}, "plugins": {"cloudformation": {}}}`, "p", ""},
		{`{"projections": {"p": {"plugins": {"cloudformation": {"useIntegerType": 2}}}}}`, "p", "found number"},
		{`{`, "", ""}, // a problem of the document
	}
	for _, test := range tests {
		_, problems := ParseSettings("smithy-build.json", []byte(test.file), test.projection)
		switch {
		case test.file == "{":
			if !problems.HasErrors() {
				t.Error("half a file is not a problem")
			}
		case test.want == "" && len(problems) > 0, test.want != "" && len(problems) != 1:
			t.Errorf("%s: %v", test.file, problems)
		case test.want != "" && (!strings.Contains(problems[0].Message, test.want) || problems[0].At.Start.Line == 0):
			t.Errorf("%s: %s, want %s", test.file, problems[0], test.want)
		}
	}
}

const settingsModel = `@cfnResource
resource R {
    identifiers: {rId: String}
    properties: {
        day: Timestamp
        count: Integer
        ratio: Double
        color: Color
        shade: Shade
        level: Level
        map: Map
        part: Part
        old: String
        id2: OtherId
    }
    create: Create
    read: Read
}
resource Other { identifiers: {id: OtherId} }
string OtherId
@enum([{value: "r", name: "RED", documentation: "Like fire."}, {value: "g", name: "GREEN", deprecated: true}])
string Color
enum Shade {
    /// No light.
    DARK = "dark"
    LIGHT = "light"
}
intEnum Level {
    LOW = 1
    HIGH = 2
}
@length(min: 1)
map Map { key: String, value: String }
/// A part.
structure Part {
    @required
    name: String = "x"
}
operation Create {
    input := for R {
        $day
        $count
        @required $ratio
        $color
        $shade
        $level
        $map
        $part
        @deprecated(message: "no", since: "1") $old
        $id2
    }
    output := for R { @required $rId }
}
@readonly
operation Read {
    input := for R { @required $rId }
    output := for R { @required $rId, $day, $count, $ratio, $color, $shade, $level, $map, $part, $old, $id2 }
}
`

// TestSettings shows what each setting changes: a place in the schema without it and with it.
func TestSettings(t *testing.T) {
	m := mustLoad(t, base+settingsModel)
	plain := convertOne(t, m, Settings{Service: "a#S", OrganizationName: "Acme"}).Schema
	tests := []struct{ settings, pointer, without, with string }{
		{`"disableCapitalizedProperties": true`, "/properties/day/type", ``, `"string"`},
		{`"defaultTimestampFormat": "epoch-seconds"`, "/properties/Day", `{"type":"string","format":"date-time"}`, `{"type":"number"}`},
		{`"defaultTimestampFormat": "http-date"`, "/properties/Day/format", `"date-time"`, ``},
		{`"useIntegerType": true`, "/properties/Count/type", `"number"`, `"integer"`},
		{`"supportNonNumericFloats": true`, "/properties/Ratio", `{"type":"number"}`, `{"oneOf":[{"type":"number"},{"type":"string","enum":["NaN","Infinity","-Infinity"]}]}`},
		{`"enumStrategy": "oneOf"`, "/definitions/Shade/oneOf", ``, `[{"const":"dark","description":"No light."},{"const":"light"}]`},
		{`"disableIntEnums": true`, "/properties/Level", `{"$ref":"#/definitions/Level"}`, `{"type":"number"}`},
		{`"useInlineMaps": true`, "/properties/Map/$ref", `"#/definitions/Map"`, ``},
		{`"disableDefaultValues": true`, "/definitions/Part/properties/Name/default", `"x"`, ``},
		{`"disableFeatures": ["minProperties"]`, "/definitions/Map/minProperties", `1`, ``},
		{`"disableDeprecatedPropertyGeneration": true`, "/deprecatedProperties", `["/properties/Old"]`, ``},
		{`"disableHandlerPermissionGeneration": true`, "/handlers/create/permissions", `["s:Create"]`, ``},
		{`"serviceName": "Other"`, "/typeName", `"Acme::S::R"`, `"Acme::Other::R"`},
		{`"organizationName": "Big"`, "/typeName", `"Acme::S::R"`, `"Big::S::R"`},
		{`"jsonAdd": {"a#R": {"/properties/New/type": "string"}}`, "/properties/New", ``, `{"type":"string"}`},
		{`"jsonAdd": {"a#R": {"/properties/Day": {"type": "boolean"}}}`, "/properties/Day", `{"type":"string","format":"date-time"}`, `{"type":"boolean"}`},
		{`"jsonAdd": {"a#Other": {"/properties/New/type": "string"}}`, "/properties/New", ``, ``},
	}
	for _, test := range tests {
		s, problems := ParseSettings("s.json", []byte(`{"plugins": {"cloudformation": {`+test.settings+`}}}`), "")
		s.Service = "a#S"
		if s.OrganizationName == "" {
			s.OrganizationName = "Acme"
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", test.settings, problems)
			continue
		}
		changed := convertOne(t, m, s).Schema
		pointer, _ := document.ParsePointer(test.pointer)
		for _, side := range []struct {
			schema *document.Value
			want   string
		}{{plain, test.without}, {changed, test.with}} {
			got := ""
			if v := side.schema.Lookup(pointer); v != nil {
				got = printJSON(v)
			}
			if got != side.want {
				t.Errorf("%s: %s is %s, want %s", test.settings, test.pointer, got, side.want)
			}
		}
	}
}

func TestConversionFaults(t *testing.T) {
	m := mustLoad(t, base+settingsModel)
	tests := []struct {
		settings Settings
		id       string
	}{
		{Settings{OrganizationName: "A"}, "smithy/service"},
		{Settings{Service: "a#Nothing", OrganizationName: "A"}, "smithy/service"},
		{Settings{Service: "a#R", OrganizationName: "A"}, "smithy/service"},
		{Settings{Service: "a#S"}, "smithy/setting"},
		{Settings{Service: "a#S", OrganizationName: "A", JSONAdd: map[ID][]document.Member{"a#R": {{Key: "x", Value: document.NewString("")}}}}, "smithy/pointer"},
		{Settings{Service: "a#S", OrganizationName: "A", JSONAdd: map[ID][]document.Member{"a#R": {{Key: "", Value: document.NewString("")}}}}, "smithy/pointer"},
	}
	for _, test := range tests {
		out, problems := Convert(m, test.settings)
		if len(out) > 0 || !problems.HasErrors() || problems[0].ID != test.id {
			t.Errorf("%+v: %d schemas, %v", test.settings, len(out), problems)
		}
	}
}

func TestReadSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data string) string {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	archive := func(name string, files ...string) string {
		var b strings.Builder
		z := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			w, err := z.Create(files[i])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(files[i+1])); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return write(name, b.String())
	}
	const listed = "META-INF/smithy/"
	write("models/a.smithy", "a")
	write("models/sub/b.json", `{"smithy": "2"}`)
	write("models/package.json", `{"name": "no model"}`)
	write("models/readme.md", "x")
	archive("models/code.jar", "a.class", "x")
	archive("models/traits.jar", listed+"manifest", "# models\n\nc.smithy\nd/e.smithy\n", listed+"c.smithy", "c", listed+"d/e.smithy", "e")

	sources, err := ReadSources(filepath.Join(dir, "models"))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range sources {
		name, _ := filepath.Rel(filepath.ToSlash(dir), s.File)
		got += filepath.ToSlash(name) + "=" + string(s.Data) + "\n"
	}
	if want := "models/a.smithy=a\nmodels/sub/b.json={\"smithy\": \"2\"}\nmodels/traits.jar!/c.smithy=c\nmodels/traits.jar!/d/e.smithy=e\n"; got != want {
		t.Errorf("sources:\n%s", got)
	}

	faults := []struct{ path, want string }{
		{filepath.Join(dir, "nothing"), "nothing"},
		{filepath.Dir(write("empty/readme.md", "x")), "no .smithy, .json or .jar file"},
		{write("no.jar", "x"), "zip"},
		{archive("without.jar", "a", "b"), "has no META-INF/smithy/manifest"},
		{archive("missing.jar", listed+"manifest", "a.smithy\n"), "a.smithy"},
		{archive("up.jar", listed+"manifest", "../../secret\n"), `names "../../secret", which is not a path within the archive`},
		{archive("root.jar", listed+"manifest", "/etc/passwd\n"), "which is not a path within the archive"},
		{archive("large.jar", listed+"manifest", strings.Repeat("a", maxManifest+1)), "larger than 1 MiB"},
		{archive("bomb.jar", listed+"manifest", "a\n", listed+"a", strings.Repeat("\x00", maxSourceFile+1)), "larger than 64 MiB"},
	}
	for _, fault := range faults {
		if _, err := ReadSources(fault.path); err == nil || !strings.Contains(err.Error(), fault.want) {
			t.Errorf("%s: %v, want %s", fault.path, err, fault.want)
		}
	}
}

// CloudFormation's meta-schema allows const only beside a type, which the official converter does not write.
func TestModernEnumOneOf(t *testing.T) {
	m := mustLoad(t, base+settingsModel)
	s := Settings{Service: "a#S", OrganizationName: "Acme", EnumStrategy: "oneOf", Modern: true}
	got := string(convertOne(t, m, s).Schema.Lookup(document.Pointer{"definitions", "Shade", "oneOf"}).AppendJSON(nil))
	if want := `[{"type":"string","const":"dark","description":"No light."},{"type":"string","const":"light"}]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
