package template

import (
	"slices"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// The shapes refuse calls that are wrong whatever their functions evaluate to. A value that is
// itself a call may evaluate to anything.

func isCall(v *document.Value) bool {
	_, ok := callOf(v, true)
	return ok
}

// maybeText reports whether a value is a scalar or may evaluate to one.
func maybeText(v *document.Value) bool {
	_, ok := scalarText(v)
	return ok || isCall(v)
}

// textual are functions that return a text whatever their arguments are.
var textual = []string{"Fn::Base64", "Fn::Join", "Fn::Sub", "Fn::ToJsonString"}

func maybeList(v *document.Value) bool {
	return v.Kind == document.Array || isCall(v) && !slices.Contains(textual, FunctionName(v))
}

func shapeAny(*checker, call) {}

func shapeRef(c *checker, f call) {
	if f.arg.Kind != document.String {
		c.refuse("ref", f.at)
		return
	}
	c.name(f.arg.Text, f.at)
}

// name looks up what Ref or ${Name} names.
func (c *checker) name(name string, v *document.Value) {
	switch {
	case isPseudo(name) || c.t.parameters[name] != nil:
	case c.in == inValues && c.t.resources[name] != nil:
	default:
		c.missing(name, v)
	}
}

func shapeGetAtt(c *checker, f call) {
	name, _, ok := attributeOf(f.arg)
	if !ok {
		c.refuse("get-att", f.at)
		return
	}
	if c.t.resources[name] == nil {
		c.addUnknown("get-att-undefined", f.at.At, c.path, name, c.t.resourceNames, name)
	}
}

func shapeSub(c *checker, f call) {
	body, variables, ok := subArguments(f.arg)
	if !ok {
		c.refuse("sub", f.at)
		return
	}
	pieces, ok := subPieces(body.Text)
	if !ok {
		c.refuse("sub-name", body)
		return
	}
	if variables != nil {
		for _, m := range variables.Distinct() {
			c.subVariable(m)
		}
	}
	for _, p := range pieces {
		if p.variable == "" || variables.Member(p.variable) != nil {
			continue
		}
		resource, _, found := cut(p.variable)
		switch {
		case !found:
			c.name(p.variable, f.at)
		case c.t.resources[resource] == nil || c.in != inValues:
			c.addUnknown("sub-attribute", f.at.At, c.path, resource, c.t.resourceNames, p.variable)
		}
	}
}

func (c *checker) subVariable(m document.Member) {
	for i := range len(m.Key) {
		if b := m.Key[i]; b != '_' && !alphanumeric(string(b)) {
			c.refuse("sub-key", m.Value)
			return
		}
	}
	if !maybeText(m.Value) || m.Key == "" {
		c.refuse("sub-value", m.Value)
	}
}

func shapeJoin(c *checker, f call) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok || !maybeText(args[0]) || !maybeList(args[1]) {
		c.refuse("join", f.at)
		return
	}
	for _, item := range args[1].Items {
		if !maybeText(item) {
			c.refuse("join", f.at)
			return
		}
	}
}

func shapeSplit(c *checker, f call) {
	args, ok := arguments(f.arg, 2, 2)
	if !ok || !maybeText(args[0]) || !maybeText(args[1]) || args[0].Kind == document.String && args[0].Text == "" {
		c.refuse("split", f.at)
	}
}

func shapeSelect(c *checker, f call) {
	args, ok := arguments(f.arg, 2, 2)
	switch {
	case !ok || !maybeList(args[1]):
		c.refuse("select", f.at)
		return
	case !maybeText(args[0]):
		c.refuse("select", args[0])
		return
	}
	index, isText := scalarText(args[0])
	if !isText {
		return
	}
	position, err := strconv.Atoi(index)
	if err != nil || args[1].Kind == document.Array && (position < 0 || position >= len(args[1].Items)) {
		c.refuse("select", args[0])
	}
}

func shapeFindInMap(c *checker, f call) {
	args, ok := arguments(f.arg, 3, 4)
	if !ok || len(args) == 4 && args[3].Kind != document.Object {
		c.refuse("find-in-map", f.at)
		return
	}
	for _, arg := range args[:3] {
		if !maybeText(arg) {
			c.refuse("find-in-map", f.at)
			return
		}
	}
	hasDefault := len(args) == 4 && args[3].Member("DefaultValue") != nil
	if args[0].Kind == document.String && c.t.mappings[args[0].Text] == nil && !hasDefault {
		c.refuse("mapping-missing", f.at, args[0].Text)
		return
	}
	var keys [3]string
	for i := range keys {
		if args[i].Kind != document.String {
			return
		}
		keys[i] = args[i].Text
	}
	if c.t.lookup(keys) == nil && !hasDefault {
		c.refuse("mapping-key", f.at, keys[0], keys[1], keys[2])
	}
}

func shapeBase64(c *checker, f call) {
	if !maybeText(f.arg) {
		c.refuse("base64", f.at)
	}
}

func shapeGetAZs(c *checker, f call) {
	if !maybeText(f.arg) {
		c.refuse("get-azs", f.at)
	}
}

func shapeCidr(c *checker, f call) {
	args, ok := arguments(f.arg, 2, 3)
	if !ok {
		c.refuse("cidr", f.at)
		return
	}
	for _, arg := range args {
		if !maybeText(arg) {
			c.refuse("cidr", f.at)
			return
		}
	}
}

func shapeImportValue(c *checker, f call) {
	switch {
	case !maybeText(f.arg):
		c.refuse("import-value", f.at)
	case c.outside(f.arg):
		c.refuse("import-name", f.at)
	}
}

// shapeStackOutput also refuses the places in which the service fails without a message.
func shapeStackOutput(c *checker, f call) {
	if f.arg.Kind != document.Object || f.arg.Get("StackName") == nil || f.arg.Get("OutputName") == nil {
		c.refuse("get-stack-output", f.at)
		return
	}
	for _, m := range f.arg.Distinct() {
		known := m.Key == "StackName" || m.Key == "OutputName" || m.Key == "Region" || m.Key == "RoleArn"
		if !known || !maybeText(m.Value) {
			c.refuse("get-stack-output", f.at)
			return
		}
	}
	where := c.within("Fn::Sub", "Fn::Base64", "Fn::ImportValue", "Fn::Equals")
	if where == "" && c.section == "Outputs" {
		where = "Outputs"
	}
	if where != "" {
		c.refuse("function-place", f.at, where)
	}
}

func shapeIf(c *checker, f call) {
	args, ok := arguments(f.arg, 3, 3)
	if !ok || args[0].Kind != document.String {
		c.refuse("if", f.at)
		return
	}
	if c.t.conditions[args[0].Text] == nil {
		c.addUnknown("if-condition", f.at.At, c.path, args[0].Text, c.t.conditionNames, args[0].Text)
	}
}

func shapeCondition(c *checker, f call) {
	if f.arg.Kind != document.String || c.t.conditions[f.arg.Text] == nil {
		c.addUnknown("condition-unresolved", f.at.At, c.path, f.arg.Text, c.t.conditionNames, list([]string{f.arg.Text}))
	}
}

func shapeEquals(c *checker, f call) {
	if _, ok := arguments(f.arg, 2, 2); !ok {
		c.refuse("equals", f.at)
	}
}

func shapeAndOr(c *checker, f call) {
	args, ok := arguments(f.arg, 2, 10)
	if !ok {
		c.refuse("and-or", f.at, f.name)
		return
	}
	c.operations(args)
}

func shapeNot(c *checker, f call) {
	args, ok := arguments(f.arg, 1, 1)
	if !ok {
		c.refuse("not", f.at)
		return
	}
	c.operations(args)
}

// operations refuses arguments of And, Or and Not that are not boolean.
func (c *checker) operations(args []*document.Value) {
	for _, arg := range args {
		if f, ok := callOf(arg, true); ok {
			if isLogic(f.name) || c.in == inRules {
				continue
			}
		}
		c.refuse("condition-operation", arg)
	}
}

func shapeTwo(c *checker, f call) {
	if _, ok := arguments(f.arg, 2, 2); !ok {
		c.refuse("rule-function", f.at, f.name, "a list of two arguments")
	}
}

func shapeText(c *checker, f call) {
	if f.arg.Kind != document.String {
		c.refuse("rule-function", f.at, f.name, "a string")
	}
}
