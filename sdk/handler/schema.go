package handler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A schema is what the runtime needs of the schema of a type: its draft-07
// part, compiled, and the property paths of its metadata.
type schema struct {
	root              *node
	typeConfiguration *node // nil if the type has none
	writeOnly         [][]string
	readOnly          [][]string
	identifier        [][]string
	others            [][][]string // additionalIdentifiers
	tagProperty       []string
}

// A node is one compiled subschema. A nil *node allows everything.
type node struct {
	never       bool  // the schema false
	ref         *node // stands for the whole node, as draft-07 wants it
	types       []string
	enum        []any
	constant    any
	hasConst    bool
	pattern     *regexp.Regexp
	minLength   *int
	maxLength   *int
	minimum     *json.Number
	maximum     *json.Number
	exclusive   [2]*json.Number // exclusiveMinimum, exclusiveMaximum
	multipleOf  *json.Number
	items       *node
	tuple       []*node
	extraItems  *node
	contains    *node
	minItems    *int
	maxItems    *int
	uniqueItems bool
	required    []string
	properties  map[string]*node
	patterns    []patternNode
	additional  *node // additionalProperties; nil allows all
	names       *node // propertyNames
	minProps    *int
	maxProps    *int
	needs       map[string][]string
	needsSchema map[string]*node
	allOf       []*node
	anyOf       []*node
	oneOf       []*node
	not         *node
	ifNode      *node
	thenNode    *node
	elseNode    *node
}

type patternNode struct {
	re     *regexp.Regexp // nil: cannot be compiled here, so any name may match
	schema *node
}

// resolve follows references. A circle of references allows everything.
func (n *node) resolve() *node {
	for range 64 {
		if n == nil || n.ref == nil {
			return n
		}
		n = n.ref
	}
	return nil
}

// maxSchemaDepth bounds the nesting of a schema.
const maxSchemaDepth = 200

// parseSchema compiles the text of a type schema. Errors are those of the
// author: text that is not JSON, a keyword with a value of the wrong kind, a
// reference that cannot be resolved or out of the document.
func parseSchema(text []byte) (*schema, error) {
	document, err := decodeTree(text)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	root, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("read schema: the document is not an object")
	}
	c := &compiler{document: root, seen: map[string]*node{}}
	s := &schema{tagProperty: []string{"Tags"}}
	if s.root, err = c.compile(root, "#", 0); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if configuration, ok := root["typeConfiguration"]; ok {
		if s.typeConfiguration, err = c.compile(configuration, "#/typeConfiguration", 0); err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
	}
	s.writeOnly = propertyPaths(root["writeOnlyProperties"])
	s.readOnly = propertyPaths(root["readOnlyProperties"])
	s.identifier = propertyPaths(root["primaryIdentifier"])
	additional, _ := root["additionalIdentifiers"].([]any)
	for _, list := range additional {
		if paths := propertyPaths(list); len(paths) > 0 {
			s.others = append(s.others, paths)
		}
	}
	if tagging, ok := root["tagging"].(map[string]any); ok {
		if path := propertyPaths([]any{tagging["tagProperty"]}); len(path) == 1 {
			s.tagProperty = path[0]
		}
	}
	return s, nil
}

// missing lists the properties of the primary identifier that a model has no
// value for; none if it has a complete additional identifier instead.
func (s *schema) missing(model any) (pointers []string) {
	for _, other := range s.others {
		if hasPaths(model, other) {
			return nil
		}
	}
	for _, path := range s.identifier {
		if !hasPaths(model, [][]string{path}) {
			pointer := "#"
			for _, name := range path {
				pointer += "/" + escapePointer(name)
			}
			pointers = append(pointers, pointer)
		}
	}
	return pointers
}

// propertyPaths turns "/properties/A/*/B" into A, *, B.
func propertyPaths(value any) [][]string {
	list, _ := value.([]any)
	var paths [][]string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			continue
		}
		segments := strings.Split(strings.TrimPrefix(text, "/"), "/")
		if len(segments) < 2 || segments[0] != "properties" {
			continue
		}
		segments = slices.Clone(segments[1:])
		for i, segment := range segments {
			segments[i] = unescapePointer(segment)
		}
		paths = append(paths, segments)
	}
	return paths
}

func unescapePointer(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~1", "/"), "~0", "~")
}

func escapePointer(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
}

// decodeTree reads one JSON value with numbers as json.Number.
func decodeTree(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return value, nil
}

type compiler struct {
	document map[string]any
	seen     map[string]*node // by pointer, so that recursion ends
}

// compile makes the node for the schema value found at the pointer. A boolean
// true gives nil.
func (c *compiler) compile(value any, pointer string, depth int) (*node, error) {
	if n, ok := c.seen[pointer]; ok {
		return n, nil
	}
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("%s: nested deeper than %d", pointer, maxSchemaDepth)
	}
	if allowed, ok := value.(bool); ok {
		if allowed {
			return nil, nil
		}
		return &node{never: true}, nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: a schema must be an object or a boolean", pointer)
	}
	n := &node{}
	c.seen[pointer] = n
	k := &keywords{c: c, object: object, pointer: pointer, depth: depth}
	if ref, ok := object["$ref"]; ok {
		n.ref = k.reference(ref)
		return n, k.err
	}
	k.scalars(n)
	k.arrays(n)
	k.objects(n)
	k.combiners(n)
	return n, k.err
}

// keywords reads the keywords of one schema object and keeps the first error.
type keywords struct {
	c       *compiler
	object  map[string]any
	pointer string
	depth   int
	err     error
}

func (k *keywords) fail(keyword, format string, args ...any) {
	if k.err == nil {
		k.err = fmt.Errorf("%s/%s: %s", k.pointer, escapePointer(keyword), fmt.Sprintf(format, args...))
	}
}

func (k *keywords) reference(value any) *node {
	text, _ := value.(string)
	if text != "#" && !strings.HasPrefix(text, "#/") {
		k.fail("$ref", "only references within the document are known, such as #/definitions/Name")
		return nil
	}
	var target any = k.c.document
	if text != "#" {
		for segment := range strings.SplitSeq(text[2:], "/") {
			name := unescapePointer(segment)
			if plain, err := url.PathUnescape(segment); err == nil {
				name = unescapePointer(plain) // a reference is a URI
			}
			switch at := target.(type) {
			case map[string]any:
				target = at[name]
			case []any:
				var i int
				if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i < 0 || i >= len(at) {
					target = nil
				} else {
					target = at[i]
				}
			default:
				target = nil
			}
		}
	}
	if target == nil {
		k.fail("$ref", "%s leads nowhere", text)
		return nil
	}
	n, err := k.c.compile(target, text, k.depth+1)
	if err != nil && k.err == nil {
		k.err = err
	}
	if n == nil {
		return &node{} // the schema true
	}
	return n
}

func (k *keywords) scalars(n *node) {
	switch types := k.object["type"].(type) {
	case nil:
	case string:
		n.types = []string{types}
	case []any:
		n.types = k.texts("type")
	default:
		k.fail("type", "must be a name or a list of names")
	}
	if values, ok := k.object["enum"].([]any); ok {
		n.enum = values
	}
	n.constant, n.hasConst = k.object["const"]
	if text, ok := k.object["pattern"].(string); ok {
		n.pattern = compilePattern(text)
	}
	n.minLength, n.maxLength = k.count("minLength"), k.count("maxLength")
	n.minimum, n.maximum = k.number("minimum"), k.number("maximum")
	n.exclusive = [2]*json.Number{k.number("exclusiveMinimum"), k.number("exclusiveMaximum")}
	n.multipleOf = k.number("multipleOf")
}

func (k *keywords) arrays(n *node) {
	if list, ok := k.object["items"].([]any); ok {
		for i, item := range list {
			n.tuple = append(n.tuple, k.schema(item, fmt.Sprintf("items/%d", i)))
		}
		n.extraItems = k.at("additionalItems")
	} else {
		n.items = k.at("items")
	}
	n.contains = k.at("contains")
	n.minItems, n.maxItems = k.count("minItems"), k.count("maxItems")
	n.uniqueItems, _ = k.object["uniqueItems"].(bool)
}

func (k *keywords) objects(n *node) {
	n.required = k.texts("required")
	n.properties = k.schemas("properties")
	for pattern, schema := range k.schemas("patternProperties") {
		n.patterns = append(n.patterns, patternNode{compilePattern(pattern), schema})
	}
	n.additional = k.at("additionalProperties")
	n.names = k.at("propertyNames")
	n.minProps, n.maxProps = k.count("minProperties"), k.count("maxProperties")
	dependencies, _ := k.object["dependencies"].(map[string]any)
	for name, value := range dependencies {
		list, ok := value.([]any)
		if !ok {
			if n.needsSchema == nil {
				n.needsSchema = map[string]*node{}
			}
			n.needsSchema[name] = k.schema(value, "dependencies/"+escapePointer(name))
			continue
		}
		if n.needs == nil {
			n.needs = map[string][]string{}
		}
		for _, item := range list {
			if text, ok := item.(string); ok {
				n.needs[name] = append(n.needs[name], text)
			}
		}
	}
}

func (k *keywords) combiners(n *node) {
	for keyword, list := range map[string]*[]*node{"allOf": &n.allOf, "anyOf": &n.anyOf, "oneOf": &n.oneOf} {
		values, _ := k.object[keyword].([]any)
		for i, value := range values {
			*list = append(*list, k.schema(value, fmt.Sprintf("%s/%d", keyword, i)))
		}
	}
	n.not, n.ifNode = k.at("not"), k.at("if")
	n.thenNode, n.elseNode = k.at("then"), k.at("else")
}

// at compiles the schema under a keyword; nil if the keyword is absent.
func (k *keywords) at(keyword string) *node {
	value, ok := k.object[keyword]
	if !ok {
		return nil
	}
	n := k.schema(value, keyword)
	if n == nil && (keyword == "not" || keyword == "if" || keyword == "contains") {
		return &node{} // true, which is not the same as absent
	}
	return n
}

func (k *keywords) schema(value any, path string) *node {
	n, err := k.c.compile(value, k.pointer+"/"+path, k.depth+1)
	if err != nil && k.err == nil {
		k.err = err
	}
	return n
}

func (k *keywords) schemas(keyword string) map[string]*node {
	object, _ := k.object[keyword].(map[string]any)
	if len(object) == 0 {
		return nil
	}
	nodes := make(map[string]*node, len(object))
	for name, value := range object {
		nodes[name] = k.schema(value, keyword+"/"+escapePointer(name))
	}
	return nodes
}

func (k *keywords) texts(keyword string) []string {
	list, _ := k.object[keyword].([]any)
	var texts []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok {
			k.fail(keyword, "must be a list of names")
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

func (k *keywords) count(keyword string) *int {
	value, ok := k.object[keyword]
	if !ok {
		return nil
	}
	number, _ := value.(json.Number)
	whole, ok := wholeNumber(number)
	count, err := whole.Int64()
	if !ok || err != nil || count < 0 {
		k.fail(keyword, "must be a whole number, zero or more")
		return nil
	}
	n := int(count)
	return &n
}

func (k *keywords) number(keyword string) *json.Number {
	value, ok := k.object[keyword]
	if !ok {
		return nil
	}
	number, ok := value.(json.Number)
	if !ok {
		k.fail(keyword, "must be a number")
		return nil
	}
	return &number
}

// compilePattern is nil for a pattern that RE2 does not have, such as one with
// a look-ahead: what cannot be checked here is left to the service. \Z, which
// Java patterns use for the end, is understood.
func compilePattern(pattern string) *regexp.Regexp {
	var text strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
			text.WriteByte('\\')
			if pattern[i] == 'Z' {
				text.WriteByte('z')
				continue
			}
		}
		text.WriteByte(pattern[i])
	}
	re, err := regexp.Compile(text.String())
	if err != nil {
		return nil
	}
	return re
}
