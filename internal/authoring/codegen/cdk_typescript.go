package codegen

import (
	"bytes"
	"fmt"
	"strings"
)

// typeScriptCDK converts names in the resolved properties: functions of CloudFormation stay as they are.
const typeScriptCDK = `
interface Shape { readonly [name: string]: readonly [name: string, shape?: string, maps?: number] }

function render(value: any, shape?: string, maps: number = 0): any {
  if (Array.isArray(value)) {
    return value.map((item) => render(item, shape, maps));
  }
  if (value === null || typeof value !== 'object' || shape === undefined) {
    return value;
  }
  const keys = Object.keys(value);
  if (keys.length === 1 && (keys[0] === 'Ref' || keys[0].startsWith('Fn::'))) {
    return value;
  }
  const out: { [name: string]: any } = {};
  for (const key of keys) {
    const known = Object.prototype.hasOwnProperty.call(shapes[shape], key) ? shapes[shape][key] : [key] as const;
    if (maps > 0) {
      out[key] = render(value[key], shape, maps - 1);
    } else {
      out[known[0]] = render(value[key], known[1], known[2]);
    }
  }
  return out;
}
`

func (c *construct) typeScript() []byte {
	t := &typeScript{}
	t.printf("// %s\n/* eslint-disable */\nimport * as cdk from 'aws-cdk-lib';\nimport * as constructs from 'constructs';\n\n", marker)
	c.typeScriptStruct(t, "", c.root)
	if c.identifier != nil {
		t.comment("", "A resource of the type "+c.typeName+": one of this app, or another one.")
		t.printf("export interface I%s extends constructs.IConstruct {\n  /** What identifies the resource. */\n  readonly %s: { readonly %s: string };\n}\n\n", c.name, c.refName(), c.identifier.camel)
	}
	c.typeScriptClass(t)
	if len(c.structs) > 0 {
		t.printf("\nexport namespace %s {\n", c.name)
		for i, s := range c.structs {
			if i > 0 {
				t.printf("\n")
			}
			c.typeScriptStruct(t, "  ", s)
		}
		t.printf("}\n")
	}
	t.printf("%s\n", typeScriptCDK)
	t.printf("const shapes: { readonly [name: string]: Shape } = {\n")
	for _, s := range append([]*cdkStruct{c.root}, c.structs...) {
		t.printf("  %s: {", s.name)
		for i, p := range s.props {
			t.printf("%s\n    %s: [%s", map[bool]string{true: ",", false: ""}[i > 0], p.camel, quoteTypeScript(p.schemaName))
			if p == c.tags {
				t.printf(", '%s'", p.kind.of.value.name)
			} else if shape, maps := p.kind.shapeOf(); shape != "" {
				t.printf(", '%s', %d", shape, maps)
			}
			t.printf("]")
		}
		t.printf("\n  },\n")
	}
	t.printf("};\n")
	return bytes.ReplaceAll(t.Bytes(), []byte("{\n  },"), []byte("{},"))
}

func (c *construct) refName() string { return cdkCamel(strings.TrimPrefix(c.name, "Cfn")) + "Ref" }

func (c *construct) typeScriptStruct(t *typeScript, indent string, s *cdkStruct) {
	t.comment(indent, s.title)
	t.printf("%sexport interface %s {\n", indent, s.name)
	for _, p := range s.props {
		t.comment(indent+"  ", p.title)
		t.printf("%s  readonly %s%s: %s;\n", indent, p.camel, map[bool]string{true: "", false: "?"}[p.required], c.typeScriptType(p))
	}
	t.printf("%s}\n", indent)
	if indent == "" {
		t.printf("\n")
	}
}

func (c *construct) typeScriptType(p *cdkProp) string {
	if p == c.tags {
		return "cdk.CfnTag[]"
	}
	return p.kind.typeScript(c.name)
}

// typeScript spells a type as those of aws-cdk-lib: what is not a text or a number may be a token.
func (t cdkType) typeScript(class string) string {
	switch t.kind {
	case kStr:
		return "string"
	case kNum:
		return "number"
	case kBool:
		return "boolean | cdk.IResolvable"
	case kStruct:
		if t.value != nil && t.value.name != class+"Props" {
			return class + "." + t.value.name + " | cdk.IResolvable"
		}
		return "any"
	case kList:
		return "Array<" + t.of.typeScript(class) + "> | cdk.IResolvable"
	case kMap:
		return "{ [key: string]: " + t.of.typeScript(class) + " } | cdk.IResolvable"
	}
	return "any"
}

func (c *construct) typeScriptClass(t *typeScript) {
	interfaces := []string{}
	if c.identifier != nil {
		interfaces = append(interfaces, "I"+c.name)
	}
	interfaces = append(interfaces, "cdk.IInspectable")
	if c.tags != nil {
		interfaces = append(interfaces, "cdk.ITaggableV2")
	}
	t.comment("", c.title)
	t.printf("export class %s extends cdk.CfnResource implements %s {\n", c.name, strings.Join(interfaces, ", "))
	t.printf("  /** The name of the type. */\n  public static readonly CFN_RESOURCE_TYPE_NAME: string = %s;\n", quoteTypeScript(c.typeName))
	if c.identifier != nil {
		name, from, value := c.identifier.camel, goName(c.identifier.schemaName), c.identifier.camel
		if value == "id" || value == "scope" {
			value += "Value"
		}
		t.printf("\n  /** Refers to a resource that is not in this app. */\n  public static from%s(scope: constructs.Construct, id: string, %s: string): I%s {\n", from, value, c.name)
		t.printf("    class Import extends cdk.Resource implements I%s {\n      public readonly %s = { %s: %s };\n    }\n    return new Import(scope, id);\n  }\n", c.name, c.refName(), name, value)
	}
	for _, a := range c.attributes {
		t.printf("\n")
		t.comment("  ", a.title)
		t.printf("  public readonly attr%s: %s;\n", a.name, a.kind.attribute())
	}
	for _, p := range c.root.props {
		t.printf("\n")
		t.comment("  ", p.title)
		t.printf("  public %s%s: %s;\n", p.camel, map[bool]string{true: "", false: "?"}[p.required], c.typeScriptType(p))
	}
	if c.tags != nil {
		t.printf("\n  /** The tags of the resource. */\n  public readonly cdkTagManager: cdk.TagManager;\n")
	}
	optional := " = {}"
	for _, p := range c.root.props {
		if p.required {
			optional = ""
		}
	}
	t.printf("\n  constructor(scope: constructs.Construct, id: string, props: %s%s) {\n    super(scope, id, { type: %s.CFN_RESOURCE_TYPE_NAME, properties: props });\n", c.root.name, optional, c.name)
	for _, a := range c.attributes {
		t.printf("    this.attr%s = %s;\n", a.name, a.kind.getAtt(quoteTypeScript(a.path)))
	}
	for _, p := range c.root.props {
		t.printf("    this.%s = props.%s;\n", p.camel, p.camel)
	}
	if c.tags != nil {
		t.printf("    this.cdkTagManager = new cdk.TagManager(cdk.TagType.STANDARD, %s.CFN_RESOURCE_TYPE_NAME, undefined, { tagPropertyName: 'tags' });\n", c.name)
	}
	t.printf("  }\n")
	if c.identifier != nil {
		t.printf("\n  public get %s(): { readonly %s: string } {\n    return { %s: this.ref };\n  }\n", c.refName(), c.identifier.camel, c.identifier.camel)
	}
	t.printf("\n  public inspect(inspector: cdk.TreeInspector): void {\n    inspector.addAttribute('aws:cdk:cloudformation:type', %s.CFN_RESOURCE_TYPE_NAME);\n    inspector.addAttribute('aws:cdk:cloudformation:props', this.cfnProperties);\n  }\n", c.name)
	t.printf("\n  protected get cfnProperties(): { [name: string]: any } {\n    return {")
	for i, p := range c.root.props {
		value := "this." + p.camel
		if p == c.tags {
			value = "this.cdkTagManager.renderTags(this.tags)"
		}
		t.printf("%s\n      %s: %s", map[bool]string{true: ",", false: ""}[i > 0], p.camel, value)
	}
	t.printf("\n    };\n  }\n\n  protected renderProperties(props: { [name: string]: any }): { [name: string]: any } {\n    return render(props, '%s');\n  }\n}\n", c.root.name)
}

// attribute is the type of what Fn::GetAtt gives.
func (t cdkType) attribute() string {
	switch {
	case t.kind == kStr:
		return "string"
	case t.kind == kNum:
		return "number"
	case t.kind == kList && t.of.kind == kStr:
		return "string[]"
	}
	return "cdk.IResolvable"
}

func (t cdkType) getAtt(path string) string {
	switch t.attribute() {
	case "string":
		return fmt.Sprintf("cdk.Token.asString(this.getAtt(%s, cdk.ResolutionTypeHint.STRING))", path)
	case "number":
		return fmt.Sprintf("cdk.Token.asNumber(this.getAtt(%s, cdk.ResolutionTypeHint.NUMBER))", path)
	case "string[]":
		return fmt.Sprintf("cdk.Token.asList(this.getAtt(%s, cdk.ResolutionTypeHint.STRING_LIST))", path)
	}
	return fmt.Sprintf("this.getAtt(%s)", path)
}
