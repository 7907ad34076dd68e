package project

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/document"
)

// parseTemplate reads a template, YAML or JSON, into one tree. The short forms of the
// intrinsic functions get their long ones: !Sub is Fn::Sub, !GetAtt a.b a list of two.
//
// JSON is read as JSON, so that its problems are those of JSON. A file that is called
// .json and is no JSON may still be YAML, as in the official tool.
func parseTemplate(file string, data []byte) (*document.Value, diag.List) {
	limits := document.Limits{Depth: 128}
	looksLikeJSON := strings.HasPrefix(strings.TrimLeft(string(data), " \t\r\n\ufeff"), "{")
	var jsonProblems diag.List
	if looksLikeJSON {
		root, problems := document.ParseJSON(file, data, limits)
		if !problems.HasErrors() {
			return root, problems
		}
		jsonProblems = problems
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		if looksLikeJSON {
			return nil, jsonProblems
		}
		return nil, diag.List{syntaxProblem(file, err)}
	}
	if node.Kind != yaml.DocumentNode || len(node.Content) == 0 {
		return &document.Value{At: diag.Range{File: file}}, nil
	}
	c := &converter{file: file, depth: limits.Depth}
	root := c.value(node.Content[0], 0)
	if c.problems.HasErrors() {
		return nil, c.problems // what it stands for is not known
	}
	return root, c.problems
}

func syntaxProblem(file string, err error) diag.Problem {
	p := diag.Problem{ID: "module/syntax", At: diag.Range{File: file}, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		p.Message = load.Message
		at := diag.Position{Line: load.Mark.Line, Column: load.Mark.Column}
		p.At.Start, p.At.End = at, at
		if load.ContextMsg != "" && load.ContextMark.Line > 0 {
			from := diag.Position{Line: load.ContextMark.Line, Column: load.ContextMark.Column}
			p.Related = []diag.Note{{At: diag.Range{File: file, Start: from, End: from}, Message: load.ContextMsg}}
		}
		if strings.Contains(load.Message, "cannot start any token") {
			p.Hint = "YAML is indented with spaces, never with tabs"
		}
	}
	return p
}

// converter turns YAML nodes into values. Aliases are not followed, so that a document
// is never larger than its text.
type converter struct {
	file     string
	depth    int
	problems diag.List
}

func (c *converter) at(n *yaml.Node) diag.Range {
	p := diag.Position{Line: n.Line, Column: n.Column}
	return diag.Range{File: c.file, Start: p, End: p}
}

func (c *converter) add(id string, severity diag.Severity, n *yaml.Node, message, hint string) {
	c.problems.Add(diag.Problem{ID: "module/" + id, Severity: severity, At: c.at(n), Message: message, Hint: hint})
}

func (c *converter) value(n *yaml.Node, depth int) *document.Value {
	if depth > c.depth {
		c.add("too-deep", diag.Error, n, fmt.Sprintf("lists and mappings nest deeper than %d levels", c.depth), "")
		return &document.Value{At: c.at(n)}
	}
	v := c.plain(n, depth)
	name, short := shortForm(n.Tag)
	if !short {
		return v
	}
	if name == "Fn::GetAtt" && v.Kind == document.String {
		v = getAtt(v)
	}
	return &document.Value{Kind: document.Object, At: v.At, Members: []document.Member{{Key: name, KeyAt: v.At, Value: v}}}
}

// plain converts a node without regard to its short form.
func (c *converter) plain(n *yaml.Node, depth int) *document.Value {
	v := &document.Value{At: c.at(n)}
	switch n.Kind {
	case yaml.MappingNode:
		v.Kind = document.Object
		c.members(v, n, depth)
	case yaml.SequenceNode:
		v.Kind = document.Array
		for _, item := range n.Content {
			v.Items = append(v.Items, c.value(item, depth+1))
		}
	case yaml.AliasNode:
		c.add("alias", diag.Error, n, "CloudFormation does not allow YAML aliases in templates", "repeat what *"+n.Value+" stands for")
	default:
		c.scalar(v, n)
	}
	return v
}

func (c *converter) members(v *document.Value, n *yaml.Node, depth int) {
	first := map[string]diag.Range{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			c.add("key", diag.Error, key, "a key is a list or a mapping", "keys of a template are plain words")
			continue
		}
		if key.ShortTag() == "!!merge" {
			c.add("merge", diag.Error, key, "CloudFormation does not allow YAML merge keys (<<) in templates", "write the merged keys out")
			continue
		}
		at := c.at(key)
		if before, again := first[key.Value]; again {
			c.problems.Add(diag.Problem{
				ID: "document/duplicate-key", Severity: diag.Warning, At: at,
				Message: fmt.Sprintf("the key %q stands twice in one object; the last one counts", key.Value),
				Hint:    "remove or rename one of them",
				Related: []diag.Note{{At: before, Message: "the first one"}},
			})
		}
		first[key.Value] = at
		v.Members = append(v.Members, document.Member{Key: key.Value, KeyAt: at, Value: c.value(n.Content[i+1], depth+1)})
	}
}

// scalar types a scalar as CloudFormation does: dates stay text.
func (c *converter) scalar(v *document.Value, n *yaml.Node) {
	v.Kind, v.Text = document.String, n.Value
	switch n.ShortTag() {
	case "!!null":
		v.Kind, v.Text = document.Null, ""
	case "!!bool":
		v.Kind, v.Bool, v.Text = document.Bool, strings.EqualFold(n.Value, "true"), ""
	case "!!int", "!!float":
		if literal, problems := document.ParseJSON("", []byte(n.Value), document.Limits{}); len(problems) == 0 && literal.Kind == document.Number {
			v.Kind = document.Number
		}
	}
}

// shortForm returns the long name of an intrinsic function from its YAML tag.
func shortForm(tag string) (string, bool) {
	name, ok := strings.CutPrefix(tag, "!")
	if !ok || name == "" || strings.HasPrefix(name, "!") {
		return "", false
	}
	if name == "Ref" || name == "Condition" {
		return name, true
	}
	return "Fn::" + name, true
}

// getAtt splits "resource.attribute" at its first dot.
func getAtt(v *document.Value) *document.Value {
	list := &document.Value{Kind: document.Array, At: v.At}
	for _, part := range strings.SplitN(v.Text, ".", 2) {
		list.Items = append(list.Items, &document.Value{Kind: document.String, Text: part, At: v.At})
	}
	return list
}
