package smithy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A selectorParser compiles the text of a selector. It stops at the first fault.
type selectorParser struct {
	text  string
	pos   int
	depth int
	sel   *selector
	err   error
}

const maxSelectorDepth = 100

// parseSelector compiles a selector. The error says where it is wrong.
func parseSelector(text string) (*selector, error) {
	p := &selectorParser{text: text, sel: &selector{text: text, local: true}}
	p.sel.steps = p.sequence()
	if p.err == nil && p.pos < len(p.text) {
		p.fail("Unexpected selector character: " + p.char())
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.sel, nil
}

func (p *selectorParser) fail(message string) {
	if p.err != nil {
		return
	}
	before := p.text[:min(p.pos, len(p.text))]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	p.err = fmt.Errorf("Syntax error at line %d column %d, near `%s`: %s; expression: %s", line, column, p.text[len(before):], message, p.text) //nolint:staticcheck // Smithy's own text
	p.pos = len(p.text)
}

func (p *selectorParser) char() string {
	if p.pos >= len(p.text) {
		return "[EOF]"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return string(r)
}

func (p *selectorParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *selectorParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// take moves over a text if it is next.
func (p *selectorParser) take(token string) bool {
	if strings.HasPrefix(p.text[p.pos:], token) {
		p.pos += len(token)
		return true
	}
	return false
}

func (p *selectorParser) expect(token string) {
	if p.err == nil && !p.take(token) {
		p.fail(fmt.Sprintf("Expected: '%s', but found '%s'", token, p.char()))
	}
}

func (p *selectorParser) identifier() string {
	from := p.pos
	for isWord(p.peek()) {
		p.pos++
	}
	if word := p.text[from:p.pos]; validIdentifier(word) {
		return word
	}
	p.fail("Expected a valid identifier character, but found '" + p.char() + "'")
	return ""
}

// sequence reads steps up to the end or to what closes the surrounding brackets.
func (p *selectorParser) sequence() []step {
	if p.depth++; p.depth > maxSelectorDepth {
		p.fail(fmt.Sprintf("Selector exceeds the maximum allowed nesting depth of %d", maxSelectorDepth))
		return nil
	}
	var out []step
	for first := true; p.err == nil; first = false {
		p.space()
		if c := p.peek(); !first && (p.pos >= len(p.text) || c == ',' || c == ']' || c == ')') {
			break
		}
		if s := p.step(); s != nil {
			out = append(out, s)
		}
	}
	p.depth--
	return out
}

func (p *selectorParser) step() step {
	switch {
	case p.take(":"):
		return p.function()
	case p.take("[@"):
		return p.scoped()
	case p.take("["):
		return p.attribute()
	case p.take(">"):
		p.moves()
		return forwardStep(nil)
	case p.take("<-["):
		p.moves()
		labels := p.labels()
		p.expect("-")
		return withBound(backwardStep(labels), labels)
	case p.take("<"):
		p.moves()
		return backwardStep(nil)
	case p.take("~>"):
		p.moves()
		return walkStep
	case p.take("-["):
		p.moves()
		labels := p.labels()
		p.expect("->")
		return withBound(forwardStep(labels), labels)
	case p.take("*"):
		return nil
	case p.take("$"):
		return p.variable()
	case isLetter(p.peek()) || p.peek() == '_':
		return p.typeName()
	case p.pos >= len(p.text):
		p.fail("Unexpected selector EOF")
	default:
		p.fail("Unexpected selector character: " + p.char())
	}
	return nil
}

// moves notes that the selector leaves the shape it started from, unless the move is
// inside a test.
func (p *selectorParser) moves() { p.sel.local = false }

func (p *selectorParser) labels() []string {
	var out []string
	for p.err == nil {
		p.space()
		out = append(out, p.identifier())
		p.space()
		if p.take("]") {
			break
		}
		p.expect(",")
	}
	return out
}

// withBound adds the old relation "bound", from a resource to what binds it.
func withBound(s step, labels []string) step {
	for _, l := range labels {
		if l != "bound" {
			continue
		}
		return anyOf([][]step{{s}, {typeStep(func(t Type) bool { return t == Resource }), backwardStep([]string{"resource"})}})
	}
	return s
}

var typeKeywords = map[string]func(Type) bool{
	"number":        func(t Type) bool { return t.number() },
	"simpleType":    Type.simple,
	"collection":    Type.collection,
	"aggregateType": func(t Type) bool { return t.collection() || t == Map || t == Structure || t == Union },
	"serviceType":   func(t Type) bool { return typeClasses[t] == serviceType },
	"dataType": func(t Type) bool {
		return t.simple() || t.collection() || t == Map || t == Structure || t == Union
	},
	// Types that are special cases of others match their names too.
	"string":  Type.isString,
	"integer": func(t Type) bool { return t == Integer || t == IntEnum },
	"list":    Type.collection,
}

func (p *selectorParser) typeName() step {
	name := p.identifier()
	if match := typeKeywords[name]; match != nil {
		return typeStep(match)
	}
	if typeClasses[Type(name)] == 0 {
		p.fail("Unknown shape type: " + name)
		return nil
	}
	return typeStep(func(t Type) bool { return t == Type(name) })
}

func (p *selectorParser) function() step {
	name := p.identifier()
	start := p.sel.local
	args := p.arguments()
	moved := !p.sel.local
	p.sel.local = start
	one := func() bool {
		if p.err == nil && len(args) != 1 {
			p.fail("The :" + name + " function requires a single selector argument")
		}
		return p.err == nil
	}
	switch name {
	case "not":
		if one() {
			return testStep(func(c *selection, s *Shape) bool { return !c.any(args[0], s) })
		}
	case "test":
		return testStep(func(c *selection, s *Shape) bool {
			for _, steps := range args {
				if c.any(steps, s) {
					return true
				}
			}
			return false
		})
	case "is", "each":
		p.sel.local = start && !moved
		return anyOf(args)
	case "in":
		if one() {
			return inStep(args[0])
		}
	case "root":
		if one() {
			p.moves()
			r := root(args[0])
			return rootStep(&r)
		}
	case "topdown":
		p.moves()
		if len(args) > 2 {
			p.fail(fmt.Sprintf("The :topdown function accepts 1 or 2 selectors, but found %d", len(args)))
			return nil
		}
		if len(args) == 2 {
			return topdownStep(args[0], args[1])
		}
		if p.err == nil {
			return topdownStep(args[0], nil)
		}
	case "recursive":
		if one() {
			p.moves()
			return recursiveStep(args[0])
		}
	default:
		return func(*selection, *Shape, func(*Shape) bool) bool { return true } // unknown functions match nothing
	}
	return nil
}

func (p *selectorParser) arguments() [][]step {
	p.space()
	p.expect("(")
	var out [][]step
	for p.err == nil {
		out = append(out, p.sequence())
		p.space()
		if p.take(")") {
			break
		}
		p.expect(",")
	}
	return out
}

func (p *selectorParser) variable() step {
	p.space()
	if p.take("{") {
		p.space()
		name := p.identifier()
		p.space()
		p.expect("}")
		p.moves()
		return variableStep(name)
	}
	name := p.identifier()
	p.space()
	p.expect("(")
	local := p.sel.local
	steps := p.sequence()
	p.sel.local = local
	p.space()
	p.expect(")")
	return storeStep(name, steps)
}

// --- attributes

func (p *selectorParser) attribute() step {
	path := p.path()
	p.space()
	if p.take("]") {
		if len(path) == 2 && path[0] == "trait" && path[1][0] != '(' {
			id := absoluteTrait(path[1])
			return testStep(func(_ *selection, s *Shape) bool { return s.Has(id) })
		}
		return testStep(func(c *selection, s *Shape) bool {
			return c.path(attribute{kind: attrShape, shape: s}, path).present()
		})
	}
	compare := p.comparator()
	var values []attribute
	for p.err == nil {
		values = append(values, textAttribute(p.value()))
		p.space()
		if !p.take(",") {
			break
		}
	}
	fold := p.fold()
	p.expect("]")
	return testStep(func(c *selection, s *Shape) bool {
		left := c.path(attribute{kind: attrShape, shape: s}, path)
		for _, v := range values {
			if compare(left, v, fold) {
				return true
			}
		}
		return false
	})
}

// fold reads the "i" that makes a comparison deaf to case.
func (p *selectorParser) fold() bool {
	p.space()
	fold := p.take("i")
	p.space()
	return fold
}

// comparators by length, so that the longer of two with the same prefix wins.
var comparatorTokens = []string{"{<<}", "{!=}", "{<}", "{=}", "!=", "^=", "$=", "*=", "?=", ">=", "<=", "=", ">", "<"}

func (p *selectorParser) comparator() comparator {
	p.space()
	for _, token := range comparatorTokens {
		if p.take(token) {
			p.space()
			return comparators[token]
		}
	}
	p.fail("Unknown attribute comparator token '" + p.char() + "'")
	return nil
}

// path reads "trait|name|(keys)".
func (p *selectorParser) path() []string {
	p.space()
	if p.peek() == ':' {
		return nil
	}
	out := []string{p.identifier()}
	for p.err == nil {
		p.space()
		if !p.take("|") {
			break
		}
		out = append(out, p.segment())
	}
	return out
}

func (p *selectorParser) segment() string {
	p.space()
	if p.take("(") {
		name := p.identifier()
		p.expect(")")
		return "(" + name + ")"
	}
	return p.value()
}

// value reads a quoted text, a number, or a shape ID without member.
func (p *selectorParser) value() string {
	p.space()
	switch c := p.peek(); {
	case c == '\'' || c == '"':
		end := strings.IndexByte(p.text[p.pos+1:], c)
		if end < 0 {
			p.fail(fmt.Sprintf("Expected %c to close %s", c, p.text[p.pos+1:]))
			return ""
		}
		v := p.text[p.pos+1 : p.pos+1+end]
		p.pos += end + 2
		return v
	case c == '-' || isDigit(c):
		from := p.pos
		for p.pos < len(p.text) && (isDigit(p.peek()) || strings.IndexByte("+-.eE", p.peek()) >= 0) {
			p.pos++
		}
		return p.text[from:p.pos]
	}
	from := p.pos
	p.identifier()
	for p.err == nil && (p.peek() == '.' || p.peek() == '#') {
		p.pos++
		p.identifier()
	}
	return p.text[from:min(p.pos, len(p.text))]
}

// An assertion of a scoped attribute compares values within the scope.
type assertion struct {
	left    scopedValue
	compare comparator
	right   []scopedValue
	fold    bool
}

// A scopedValue is a text, or a path from the scope.
type scopedValue struct {
	text string
	path []string // nil for a text
}

func (v scopedValue) in(c *selection, scope attribute) attribute {
	if v.path == nil {
		return textAttribute(v.text)
	}
	return c.path(scope, v.path)
}

func (p *selectorParser) scoped() step {
	path := p.path()
	p.space()
	p.expect(":")
	var assertions []assertion
	for p.err == nil {
		a := assertion{left: p.scopedValue(), compare: p.comparator()}
		for p.err == nil {
			a.right = append(a.right, p.scopedValue())
			if !p.take(",") {
				break
			}
		}
		a.fold = p.fold()
		assertions = append(assertions, a)
		if !p.take("&&") {
			break
		}
	}
	p.expect("]")
	return testStep(func(c *selection, s *Shape) bool {
		scope := c.path(attribute{kind: attrShape, shape: s}, path)
		if !scope.present() {
			return false
		}
		for _, v := range scope.flat() {
			if holdAll(c, assertions, v) {
				return true
			}
		}
		return false
	})
}

func holdAll(c *selection, assertions []assertion, scope attribute) bool {
	for _, a := range assertions {
		left, held := a.left.in(c, scope), false
		for _, right := range a.right {
			held = held || a.compare(left, right.in(c, scope), a.fold)
		}
		if !held {
			return false
		}
	}
	return true
}

func (p *selectorParser) scopedValue() scopedValue {
	p.space()
	var v scopedValue
	if strings.HasPrefix(p.text[p.pos:], "@{") {
		v = p.scopedPath()
	} else {
		v.text = p.value()
	}
	p.space()
	return v
}

// scopedPath reads "@{name|name}".
func (p *selectorParser) scopedPath() scopedValue {
	p.expect("@{")
	path := []string{p.segment()}
	for p.err == nil && p.take("|") {
		path = append(path, p.segment())
	}
	p.expect("}")
	return scopedValue{path: path}
}
