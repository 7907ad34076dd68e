package codegen

import (
	"fmt"
	"strconv"
	"strings"
)

// pythonCDK converts objects into what CloudFormation reads, without what is not set.
const pythonCDK = `

def _render(value: typing.Any) -> typing.Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = value._names
        return {name: _render(getattr(value, attribute)) for attribute, name in names.items() if getattr(value, attribute) is not None}
    if isinstance(value, (list, tuple)):
        return [_render(item) for item in value]
    if isinstance(value, dict):
        return {key: _render(item) for key, item in value.items() if item is not None}
    return value
`

const pythonCDKTags = `

@jsii.implements(aws_cdk.IStableAnyProducer)
class _Tags:
    def __init__(self, manager: aws_cdk.TagManager, own: typing.Optional[typing.Sequence[aws_cdk.CfnTag]]) -> None:
        self._manager, self._own = manager, own

    def produce(self) -> typing.Any:
        tags = {tag.key: tag.value for tag in self._own or []}
        tags.update(self._manager.tag_values())
        return [{"Key": key, "Value": tags[key]} for key in sorted(tags)] or None
`

func (c *construct) python() []byte {
	p := &python{}
	p.printf("# %s\nfrom __future__ import annotations\n\nimport dataclasses\nimport typing\n\nimport aws_cdk\nimport constructs\n", marker)
	if c.tags != nil {
		p.printf("import jsii\n")
	}
	p.printf("%s", pythonCDK)
	if c.tags != nil {
		p.printf("%s", pythonCDKTags)
	}
	for _, s := range c.structs {
		c.pythonStruct(p, s)
	}
	c.pythonClass(p)
	return p.Bytes()
}

func (c *construct) pythonStruct(p *python, s *cdkStruct) {
	p.printf("\n\n@dataclasses.dataclass(kw_only=True)\nclass %s%s:\n", c.name, s.name)
	p.docString("    ", s.title)
	p.printf("    _names: typing.ClassVar[typing.Dict[str, str]] = {")
	for _, prop := range s.props {
		p.printf("%s: %s, ", strconv.Quote(prop.snake), pythonQuote(prop.schemaName))
	}
	p.printf("}\n")
	for _, prop := range s.props {
		p.printf("    %s: %s\n", prop.snake, c.pythonType(prop))
	}
}

func (c *construct) pythonType(prop *cdkProp) string {
	text := prop.kind.python(c.name)
	if prop == c.tags {
		text = "typing.Sequence[aws_cdk.CfnTag]"
	}
	if !prop.required {
		return "typing.Optional[" + text + "] = None"
	}
	return text
}

func (t cdkType) python(class string) string {
	token := func(text string) string { return "typing.Union[" + text + ", aws_cdk.IResolvable]" }
	switch t.kind {
	case kStr:
		return "str"
	case kNum:
		return "typing.Union[int, float]"
	case kBool:
		return token("bool")
	case kStruct:
		if t.value != nil && t.value.name != class+"Props" {
			return token(class + t.value.name)
		}
	case kList:
		return token("typing.Sequence[" + t.of.python(class) + "]")
	case kMap:
		return token("typing.Mapping[str, " + t.of.python(class) + "]")
	}
	return "typing.Any"
}

func (c *construct) pythonClass(p *python) {
	if c.tags != nil {
		p.printf("\n\n@jsii.implements(aws_cdk.ITaggableV2)")
	}
	p.printf("\n%sclass %s(aws_cdk.CfnResource):\n", map[bool]string{true: "", false: "\n"}[c.tags != nil], c.name)
	p.docString("    ", c.title)
	p.printf("    CFN_RESOURCE_TYPE_NAME = %s\n\n    def __init__(self, scope: constructs.Construct, id: str", pythonQuote(c.typeName))
	if len(c.root.props) > 0 {
		p.printf(", *")
	}
	for _, prop := range c.root.props {
		p.printf(", %s: %s", prop.snake, c.pythonType(prop))
	}
	p.printf(") -> None:\n")
	if c.tags != nil {
		p.printf("        self._tag_manager = aws_cdk.TagManager(aws_cdk.TagType.STANDARD, self.CFN_RESOURCE_TYPE_NAME)\n")
	}
	p.printf("        properties = {\n")
	for _, prop := range c.root.props {
		value := "_render(" + prop.snake + ")"
		if prop == c.tags {
			value = "aws_cdk.Lazy.any(_Tags(self._tag_manager, " + prop.snake + "))"
		}
		p.printf("            %s: %s,\n", pythonQuote(prop.schemaName), value)
	}
	p.printf("        }\n        super().__init__(scope, id, type=self.CFN_RESOURCE_TYPE_NAME, properties={name: value for name, value in properties.items() if value is not None})\n")
	if c.tags != nil {
		p.printf("\n    @property\n    def cdk_tag_manager(self) -> aws_cdk.TagManager:\n        return self._tag_manager\n")
	}
	taken := scope{}
	for _, a := range c.attributes {
		name := taken.take("attr_" + cdkSnake(a.name))
		p.printf("\n    @property\n    def %s(self) -> %s:\n", name, map[string]string{"string": "str", "number": "float", "string[]": "typing.List[str]", "cdk.IResolvable": "aws_cdk.IResolvable"}[a.kind.attribute()])
		p.docString("        ", a.title)
		p.printf("        return %s\n", a.kind.pythonGetAtt(pythonQuote(a.path)))
	}
}

func (t cdkType) pythonGetAtt(path string) string {
	hint := map[string]string{"string": "STRING", "number": "NUMBER", "string[]": "STRING_LIST"}[t.attribute()]
	as := map[string]string{"string": "string", "number": "number", "string[]": "list"}[t.attribute()]
	if hint == "" {
		return fmt.Sprintf("self.get_att(%s)", path)
	}
	return fmt.Sprintf("aws_cdk.Token.as_%s(self.get_att(%s, aws_cdk.ResolutionTypeHint.%s))", as, path, hint)
}

// pythonQuote spells a text as a string in double quotes.
func pythonQuote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(text) + `"`
}
