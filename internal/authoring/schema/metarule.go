package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A metaRule is a compiled schema of a meta-schema. It has the keywords of draft-07 that the folder
// meta and draft-07 itself use.
type metaRule struct {
	source *document.Value // nil in draft-07 itself, which says nothing about failures

	never bool      // the schema false
	ref   *metaRule // the only keyword, as draft-07 demands

	types     []string // in the order of messages
	allowed   types
	constant  *document.Value
	enum      []*document.Value
	min, max  *document.Value // minimum, maximum
	above     *document.Value // exclusiveMinimum
	pattern   *metaPattern    // nil allows every text
	maxLength int             // -1 is no limit

	required      []string
	minProperties int
	properties    map[string]*metaRule
	patterns      []metaPatternRule
	others        *metaRule // additionalProperties
	dependencies  []metaDependency

	minItems int
	unique   bool
	items    *metaRule

	not, when, then, otherwise *metaRule
	anyOf, allOf               []*metaRule
}

type metaPatternRule struct {
	pattern metaPattern
	rule    *metaRule
}

// A metaDependency is what an object with the key must have: other keys, or to be valid.
type metaDependency struct {
	key  string
	keys []string
	rule *metaRule
}

// metaTypes is the order in which messages list types.
var metaTypes = [...]string{"null", "boolean", "number", "integer", "string", "array", "object"}

// ignored are the keywords that do not decide about a value: they describe, are for messages, or
// are formats, which the meta-schemas do not assert.
var ignored = []string{
	"$schema", "$id", "$comment", "title", "default", "definitions", "keywords", "problems", "refused", "format",
}

// A metaCompiler compiles rules and finds those that references name.
type metaCompiler struct {
	meta  *metaSchema
	rules map[*document.Value]*metaRule
}

// compile returns the rule of a node in the document with that name.
func (c *metaCompiler) compile(node *document.Value, name string) (*metaRule, error) {
	if rule := c.rules[node]; rule != nil {
		return rule, nil
	}
	rule := &metaRule{maxLength: -1}
	if name != draft07 {
		rule.source = node
	}
	c.rules[node] = rule // before its content, which can refer to it
	switch {
	case node != nil && node.Kind == document.Bool:
		rule.never = !node.Bool
		return rule, nil
	case node == nil || node.Kind != document.Object:
		return nil, fmt.Errorf("%s: not a schema: %s", name, node.AppendJSON(nil))
	}
	if ref := node.Get("$ref"); ref != nil {
		if len(node.Members) > 1 {
			return nil, fmt.Errorf("%s: $ref to %s has other keywords beside it", name, ref.Text)
		}
		var err error
		rule.ref, err = c.follow(ref.Text, name)
		return rule, err
	}
	for _, member := range node.Members {
		if slices.Contains(ignored, member.Key) {
			continue
		}
		if err := c.keyword(rule, node, member.Key, name); err != nil {
			return nil, err
		}
	}
	return rule, nil
}

func (c *metaCompiler) follow(ref, name string) (*metaRule, error) {
	file, fragment, _ := strings.Cut(ref, "#")
	if file == "" {
		file = name
	}
	root := c.meta.parsed[metaBase+file]
	if file == draft07 {
		root = c.meta.draft07
	}
	pointer, ok := document.ParsePointer(fragment)
	if !ok {
		return nil, fmt.Errorf("%s: $ref to %s is not a pointer", name, ref)
	}
	return c.compile(root.Lookup(pointer), file)
}

// keyword compiles one keyword. One that it does not know is an error: nothing is left unchecked.
func (c *metaCompiler) keyword(rule *metaRule, node *document.Value, keyword, name string) (err error) {
	v := node.Get(keyword)
	switch keyword {
	case "type":
		names := v.Strings()
		if names == nil {
			names = []string{v.Text}
		}
		for _, t := range metaTypes {
			if slices.Contains(names, t) {
				rule.types, rule.allowed = append(rule.types, t), rule.allowed|typeNames[t]
			}
		}
	case "const":
		rule.constant = v
	case "enum":
		rule.enum = v.Items
	case "minimum":
		rule.min = v
	case "maximum":
		rule.max = v
	case "exclusiveMinimum":
		rule.above = v
	case "pattern":
		pattern := newMetaPattern(v.Text)
		rule.pattern, err = &pattern, pattern.err
	case "required":
		rule.required = v.Strings()
	case "uniqueItems":
		rule.unique = v.Bool
	case "maxLength", "minProperties", "minItems":
		n, ok := bound(node, keyword)
		if !ok {
			return fmt.Errorf("%s: %s is %s", name, keyword, v.AppendJSON(nil))
		}
		*map[string]*int{"maxLength": &rule.maxLength, "minProperties": &rule.minProperties, "minItems": &rule.minItems}[keyword] = n
	default:
		return c.subschemas(rule, keyword, v, name)
	}
	return err
}

// subschemas compiles a keyword that contains schemas.
func (c *metaCompiler) subschemas(rule *metaRule, keyword string, v *document.Value, name string) (err error) {
	switch keyword {
	case "additionalProperties":
		rule.others, err = c.compile(v, name)
	case "items":
		rule.items, err = c.compile(v, name)
	case "not":
		rule.not, err = c.compile(v, name)
	case "if":
		rule.when, err = c.compile(v, name)
	case "then":
		rule.then, err = c.compile(v, name)
	case "else":
		rule.otherwise, err = c.compile(v, name)
	case "anyOf":
		rule.anyOf, err = c.list(v, name)
	case "allOf":
		rule.allOf, err = c.list(v, name)
	case "propertyNames": // in draft-07 itself, only with a format
		if len(v.Members) != 1 || v.Get("format") == nil {
			err = fmt.Errorf("%s: propertyNames is %s", name, v.AppendJSON(nil))
		}
	case "properties":
		rule.properties = make(map[string]*metaRule, len(v.Members))
		for _, member := range v.Members {
			if rule.properties[member.Key], err = c.compile(member.Value, name); err != nil {
				return err
			}
		}
	case "patternProperties":
		for _, member := range v.Members {
			p := metaPatternRule{pattern: newMetaPattern(member.Key)}
			if p.rule, err = c.compile(member.Value, name); err != nil || p.pattern.err != nil {
				return fmt.Errorf("%s: patternProperties: %w", name, errors.Join(err, p.pattern.err))
			}
			rule.patterns = append(rule.patterns, p)
		}
	case "dependencies":
		for _, member := range v.Members {
			d := metaDependency{key: member.Key, keys: member.Value.Strings()}
			if member.Value.Kind == document.Object {
				if d.rule, err = c.compile(member.Value, name); err != nil {
					return err
				}
			}
			rule.dependencies = append(rule.dependencies, d)
		}
	default:
		return fmt.Errorf("%s: unknown keyword %q", name, keyword)
	}
	return err
}

func (c *metaCompiler) list(v *document.Value, name string) ([]*metaRule, error) {
	rules := make([]*metaRule, len(v.Items))
	for i, item := range v.Items {
		var err error
		if rules[i], err = c.compile(item, name); err != nil {
			return nil, err
		}
	}
	return rules, nil
}
