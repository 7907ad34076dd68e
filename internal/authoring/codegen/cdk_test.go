package codegen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// cdkThing has what makes constructs hard: names that are taken, recursion, maps, lists in lists, tags, nested attributes.
const cdkThing = `{
  "typeName": "Acme::Test::Thing", "description": "A thing. */ \"\"\" \\ end", "additionalProperties": false,
  "definitions": {
    "Tag": {"type": "object", "properties": {"Key": {"type": "string"}, "Value": {"type": "string"}}, "required": ["Key", "Value"]},
    "Tree": {"type": "object", "properties": {"Left": {"$ref": "#/definitions/Tree"}, "Node": {"type": "integer"}, "Class": {"type": "boolean"}}, "required": ["Node"]}
  },
  "properties": {
    "Name": {"type": "string", "description": "The name."}, "Id": {"type": "string"}, "Arn": {"type": "string", "description": "The ARN."},
    "Node": {"type": "string"}, "Ref": {"type": "number"}, "Stack": {"type": "boolean"}, "from": {"type": "string"}, "KMSKeyId": {"type": "string"},
    "Tree": {"$ref": "#/definitions/Tree"}, "Trees": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/definitions/Tree"}}},
    "ByName": {"type": "object", "patternProperties": {".*": {"$ref": "#/definitions/Tree"}}, "additionalProperties": false},
    "Free": {"type": "object"}, "Mixed": {"type": ["string", "object"]}, "Tags": {"type": "array", "items": {"$ref": "#/definitions/Tag"}},
    "Endpoint": {"type": "object", "properties": {"Port": {"type": "integer"}, "Address": {"type": "string"}}, "additionalProperties": false},
    "Zones": {"type": "array", "items": {"type": "string"}}, "odd-name": {"type": "string"}, "1st": {"type": "string"}, "Tree.Left": {"type": "string"}
  },
  "required": ["Name"], "createOnlyProperties": ["/properties/Name"], "writeOnlyProperties": ["/properties/KMSKeyId"],
  "readOnlyProperties": ["/properties/Id", "/properties/Arn", "/properties/Endpoint/Port", "/properties/Endpoint/Address", "/properties/Zones"],
  "primaryIdentifier": ["/properties/Id"], "tagging": {"taggable": true}, "handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "delete": {"permissions": []}}
}`

const cdkModule = `{"typeName": "Acme::Test::Net::MODULE", "description": "A net.", "properties": {"Parameters": {"type": "object", "properties": {
  "Zone": {"type": "object", "properties": {"Type": {"type": "string"}}, "description": "The zone."}}}, "Resources": {"type": "object", "properties": {}}}}`

func construct(t *testing.T, text, typeName, language string) string {
	t.Helper()
	kind := schema.Resource
	if strings.HasSuffix(typeName, "::MODULE") {
		kind = schema.Module
	}
	s, problems := schema.Load("schema.json", []byte(text), schema.Config{Kind: kind})
	if s == nil {
		t.Fatal(problems)
	}
	file, err := codegen.CDK(s, typeName, language)
	if err != nil {
		t.Fatal(err)
	}
	return string(file.Data)
}

func TestCDKConstructs(t *testing.T) {
	for _, tc := range []struct {
		typeName, schema, language string
		want                       []string
	}{
		{"Acme::Test::Thing", cdkThing, "typescript", []string{
			"export interface CfnThingProps {", "  readonly name: string;", "  readonly nodeProperty?: string;", "  readonly kmsKeyId?: string;", "A change replaces the resource.", "The value cannot be read.",
			"  readonly tree?: CfnThing.TreeProperty | cdk.IResolvable;", "  readonly byName?: { [key: string]: CfnThing.TreeProperty | cdk.IResolvable } | cdk.IResolvable;",
			"  readonly trees?: Array<Array<CfnThing.TreeProperty | cdk.IResolvable> | cdk.IResolvable> | cdk.IResolvable;", "  readonly tags?: cdk.CfnTag[];",
			"implements ICfnThing, cdk.IInspectable, cdk.ITaggableV2", "public static fromId(scope: constructs.Construct, id: string, idValue: string): ICfnThing",
			"public readonly attrEndpointPort: number;", "public readonly attrZones: string[];", "byName: ['ByName', 'TreeProperty', 1]", "cdk.Token.asString(this.getAtt('Endpoint.Address', cdk.ResolutionTypeHint.STRING))",
		}},
		{"Acme::Test::Thing", cdkThing, "python", []string{
			"class CfnThingTreeProperty:", "    left: typing.Optional[typing.Union[CfnThingTreeProperty, aws_cdk.IResolvable]] = None", "from_: typing.Optional[str] = None", "kms_key_id: typing.Optional[str] = None",
			`"KMSKeyId": _render(kms_key_id),`, "def attr_endpoint_port(self) -> float:", `aws_cdk.Token.as_list(self.get_att("Zones", aws_cdk.ResolutionTypeHint.STRING_LIST))`,
		}},
		{"Acme::Test::Net::MODULE", cdkModule, "typescript", []string{"export class CfnNetModule extends cdk.CfnResource implements cdk.IInspectable", "/** The zone. */\n  readonly zone?: any;"}},
		{"Acme::Test::Net::MODULE", cdkModule, "python", []string{"class CfnNetModule(aws_cdk.CfnResource):", "zone: typing.Optional[typing.Any] = None"}},
	} {
		text := construct(t, tc.schema, tc.typeName, tc.language)
		for _, want := range tc.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s in %s lacks %q:\n%s", tc.typeName, tc.language, want, text)
			}
		}
	}
	s, _ := schema.Load("schema.json", []byte(cdkThing), schema.Config{})
	for _, tc := range [][3]string{{"Acme::Test", "python", `"Acme::Test" is not the name of a type`}, {"A::B'::C\n", "python", "is not the name of a type"}, {"Acme::Test::Thing", "cobol", `the language "cobol" is not supported; use one of typescript, python`}} {
		if _, err := codegen.CDK(s, tc[0], tc[1]); err == nil || !strings.Contains(err.Error(), tc[2]) {
			t.Errorf("%q: %v", tc, err)
		}
	}
}

// TestCDKConstructsCompile compiles constructs of the type above and of published schemas against aws-cdk-lib.
func TestCDKConstructsCompile(t *testing.T) {
	clients := os.Getenv("FORMWORK_CLIENTS")
	modules, tsc := filepath.Join(clients, "cdk", "node_modules"), filepath.Join(clients, "typescript", "node_modules", ".bin", "tsc")
	for _, file := range []string{filepath.Join(modules, "aws-cdk-lib"), tsc} {
		if _, err := os.Stat(file); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal("FORMWORK_CLIENTS has no aws-cdk-lib or no TypeScript compiler: see .ci/run")
			}
			t.Skip("FORMWORK_CLIENTS has no aws-cdk-lib or no TypeScript compiler")
		}
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{"Acme::Test::Thing": cdkThing, "Acme::Test::Net::MODULE": cdkModule}
	for i, file := range published {
		if i%(len(published)/12+1) != 0 {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := schema.Load(file, text, schema.Config{Kind: schema.Resource}); s != nil && strings.Count(s.TypeName.Value, "::") == 2 {
			sources[s.TypeName.Value] = string(text)
		}
	}
	var python []string
	for typeName, text := range sources {
		write(schema.Hyphenated(typeName)+".ts", construct(t, text, typeName, "typescript"))
		python = append(python, schema.Hyphenated(typeName)+".py")
		write(python[len(python)-1], construct(t, text, typeName, "python"))
	}
	write("tsconfig.json", `{"compilerOptions": {"strict": true, "noEmit": true, "target": "ES2020", "module": "commonjs", "types": [], "skipLibCheck": true, "noUnusedLocals": true}, "include": ["*.ts"]}`)
	cmd := exec.CommandContext(t.Context(), tsc, "-p", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	cmd = exec.CommandContext(t.Context(), "python3", append([]string{"-m", "py_compile"}, python...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if len(sources) < 10 {
		t.Errorf("only %d schemas", len(sources))
	}
}
