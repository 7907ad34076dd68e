package jsonata

import (
	"fmt"
	"strings"
)

// A parser reads the grammar by operator precedence (Pratt). What it builds is then
// turned by resolve into the form that is evaluated.
type parser struct {
	lexer lexer
	token token
	limit int // levels of nesting
	depth int
	regex func(pattern, flags string) (*regexValue, error)

	ancestors []*node // every % in the order of appearance
}

// binding is how strongly an operator binds its left operand; missing operators do not
// continue an expression.
var binding = map[string]int{
	".": 75, "[": 80, "{": 70, "(": 80, "@": 80, "#": 80,
	"*": 60, "/": 60, "%": 60, "+": 50, "-": 50, "&": 50,
	"=": 40, "<": 40, ">": 40, "^": 40, "!=": 40, "<=": 40, ">=": 40, "~>": 40, "?:": 40, "??": 40, "in": 40,
	"and": 30, "or": 25, "?": 20, ":=": 10,
}

// parse compiles the source to a tree. Every error is an *Error.
func (p *parser) parse() (*node, error) {
	if err := p.advance(true); err != nil {
		return nil, err
	}
	tree, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	if p.token.kind != tokenEnd {
		return nil, newError("S0201", p.token.at, p.token.show())
	}
	tree, err = p.resolve(tree)
	if err != nil {
		return nil, err
	}
	if tree.kind == kindParent || len(tree.seeking) > 0 {
		return nil, newError("S0217", tree.at, kindNames[tree.kind])
	}
	return tree, nil
}

// show is the token as a message names it.
func (t *token) show() string {
	switch t.kind {
	case tokenEnd:
		return "(end)"
	case tokenVariable:
		return "$" + quoteToken(t.text)
	}
	return quoteToken(t.text)
}

// advance reads the next token; operand reports whether an operand may follow.
func (p *parser) advance(operand bool) error {
	next, err := p.lexer.read(operand)
	if err != nil {
		return err
	}
	if next.kind == tokenOperator && (next.text == "!" || next.text == "~") {
		return newError("S0204", next.at, next.text)
	}
	p.token = next
	return nil
}

// expect reads over an operator that must be here.
func (p *parser) expect(operator string, operand bool) error {
	if !p.token.is(operator) {
		code := "S0202"
		if p.token.kind == tokenEnd {
			code = "S0203"
		}
		return newError(code, p.token.at, p.token.show(), "{want}", operator)
	}
	return p.advance(operand)
}

// made finishes a node: its height is one more than that of its parts, and bounded.
func (p *parser) made(n *node, parts ...*node) (*node, error) {
	for _, part := range parts {
		if part != nil {
			n.height = max(n.height, part.height)
		}
	}
	n.height++
	if n.height > p.limit {
		return nil, p.tooDeep(n.at)
	}
	return n, nil
}

func (p *parser) tooDeep(at int) error {
	e := newError("S0304", at, "", "{why}", fmt.Sprintf("it is nested more than %d levels deep", p.limit))
	e.Limit = LimitNesting
	return e
}

// expression reads operands and operators as long as these bind more strongly than power.
func (p *parser) expression(power int) (*node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > p.limit {
		return nil, p.tooDeep(p.token.at)
	}
	first := p.token
	if first.kind != tokenEnd {
		if err := p.advance(false); err != nil {
			return nil, err
		}
	}
	left, err := p.operand(first)
	if err != nil {
		return nil, err
	}
	for p.token.kind == tokenOperator && binding[p.token.text] > power {
		operator := p.token
		if err := p.advance(true); err != nil {
			return nil, err
		}
		if left, err = p.operator(operator, left); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// operand turns a token, already read over, into an expression that starts with it.
func (p *parser) operand(t token) (*node, error) {
	n := &node{at: t.at, text: t.text}
	switch t.kind {
	case tokenEnd:
		n.kind = kindEnd // reported by resolve: a closing bracket may be missed first
	case tokenName:
		n.kind = kindName
	case tokenVariable:
		n.kind = kindVariable
	case tokenString:
		n.kind = kindString
	case tokenNumber:
		n.kind, n.number, n.value = kindNumber, t.number, t.number
	case tokenValue:
		n.kind, n.value = kindValue, t.value
	case tokenRegex:
		n.kind = kindRegex
		regex, err := p.regex(t.text, t.flags)
		if err != nil {
			return nil, newError("S0303", t.at, quoteToken("/"+t.text+"/"), "{why}", err.Error())
		}
		n.regex = regex
	case tokenOperator:
		return p.prefix(n)
	}
	return p.made(n)
}

// prefix reads an expression that starts with an operator.
func (p *parser) prefix(n *node) (*node, error) {
	switch n.text {
	case "and", "or", "in":
		n.kind = kindName
	case "*":
		n.kind = kindWildcard
	case "**":
		n.kind = kindDescendant
	case "%":
		n.kind = kindParent
	case "-":
		n.kind = kindNegate
		operand, err := p.expression(70)
		if err != nil {
			return nil, err
		}
		n.left = operand
		return p.made(n, operand)
	case "(":
		return p.block(n)
	case "[":
		return p.arrayConstructor(n)
	case "{":
		n.kind = kindObject
		return p.objectEntries(n)
	case "|":
		return p.transform(n)
	default:
		return nil, newError("S0211", n.at, n.text)
	}
	return p.made(n)
}

// block reads (a; b; c); a semicolon is allowed after the last one.
func (p *parser) block(n *node) (*node, error) {
	n.kind = kindBlock
	if err := p.operandNext(); err != nil {
		return nil, err
	}
	for !p.token.is(")") {
		item, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
		if !p.token.is(";") {
			break
		}
		if err := p.advance(true); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")", false); err != nil {
		return nil, err
	}
	return p.made(n, n.items...)
}

// operandNext reads the current token again, as one at which an operand may start. It
// was read on the assumption that an operator follows.
func (p *parser) operandNext() error {
	if p.token.kind == tokenEnd {
		return nil
	}
	p.lexer.next = p.token.at
	return p.advance(true)
}

// comma reads over a comma and reports whether there was one.
func (p *parser) comma() (bool, error) {
	if !p.token.is(",") {
		return false, nil
	}
	return true, p.advance(true)
}

func (p *parser) arrayConstructor(n *node) (*node, error) {
	n.kind = kindArray
	if err := p.operandNext(); err != nil {
		return nil, err
	}
	for more := !p.token.is("]"); more; {
		item, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		if p.token.is("..") {
			spread := &node{kind: kindBinary, text: "..", at: p.token.at, left: item}
			if err := p.advance(true); err != nil {
				return nil, err
			}
			if spread.right, err = p.expression(0); err != nil {
				return nil, err
			}
			if item, err = p.made(spread, spread.left, spread.right); err != nil {
				return nil, err
			}
		}
		n.items = append(n.items, item)
		if more, err = p.comma(); err != nil {
			return nil, err
		}
	}
	if err := p.expect("]", false); err != nil {
		return nil, err
	}
	return p.made(n, n.items...)
}

// objectEntries reads key: value pairs up to the closing brace.
func (p *parser) objectEntries(n *node) (*node, error) {
	if err := p.operandNext(); err != nil {
		return nil, err
	}
	parts := []*node{n.left}
	for more := !p.token.is("}"); more; {
		key, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		if err := p.expect(":", true); err != nil {
			return nil, err
		}
		value, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		n.pairs = append(n.pairs, [2]*node{key, value})
		parts = append(parts, key, value)
		if more, err = p.comma(); err != nil {
			return nil, err
		}
	}
	if err := p.expect("}", false); err != nil {
		return nil, err
	}
	return p.made(n, parts...)
}

func (p *parser) transform(n *node) (*node, error) {
	n.kind = kindTransform
	if err := p.operandNext(); err != nil {
		return nil, err
	}
	var err error
	if n.left, err = p.expression(0); err != nil {
		return nil, err
	}
	if err = p.expect("|", true); err != nil {
		return nil, err
	}
	if n.right, err = p.expression(0); err != nil {
		return nil, err
	}
	if p.token.is(",") {
		if err = p.advance(true); err != nil {
			return nil, err
		}
		if n.third, err = p.expression(0); err != nil {
			return nil, err
		}
	}
	if err = p.expect("|", false); err != nil {
		return nil, err
	}
	return p.made(n, n.left, n.right, n.third)
}

// operator reads what follows an operator that has left on its left side.
func (p *parser) operator(t token, left *node) (*node, error) {
	n := &node{kind: kindBinary, at: t.at, text: t.text, left: left}
	var err error
	switch t.text {
	case "(":
		return p.call(n)
	case "[":
		if p.token.is("]") {
			for left.kind == kindBinary && left.text == "[" {
				left = left.left
			}
			left.keepArray = true
			return n.left, p.advance(false)
		}
		if n.right, err = p.expression(0); err == nil {
			err = p.expect("]", false)
		}
	case "{":
		return p.objectEntries(n)
	case "^":
		return p.orderBy(n)
	case ":=":
		if left.kind != kindVariable {
			return nil, newError("S0212", left.at, quoteToken(left.text))
		}
		n.right, err = p.expression(binding[":="] - 1)
	case "@", "#":
		n.right, err = p.expression(binding[t.text])
		if err == nil && n.right.kind != kindVariable {
			return nil, newError("S0214", n.right.at, t.text)
		}
	case "?":
		n.kind = kindCondition
		if n.right, err = p.expression(0); err == nil && p.token.is(":") {
			if err = p.advance(true); err == nil {
				n.third, err = p.expression(0)
			}
		}
	case "?:":
		n.kind = kindElvis
		n.right, err = p.expression(0)
	case "??":
		n.kind = kindCoalesce
		n.right, err = p.expression(0)
	default:
		n.right, err = p.expression(binding[t.text])
	}
	if err != nil {
		return nil, err
	}
	return p.made(n, n.left, n.right, n.third)
}

// call reads the arguments of a call or, after the word function or λ, the parameters,
// the signature and the body of a lambda.
func (p *parser) call(n *node) (*node, error) {
	n.kind = kindCall
	for more := !p.token.is(")"); more; {
		var argument *node
		var err error
		if p.token.is("?") {
			n.kind = kindPartial
			argument = &node{kind: kindPlaceholder, at: p.token.at, text: "?"}
			err = p.advance(false)
		} else {
			argument, err = p.expression(0)
		}
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, argument)
		if more, err = p.comma(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")", false); err != nil {
		return nil, err
	}
	if n.left.kind == kindName && (n.left.text == "function" || n.left.text == "λ") {
		return p.lambda(n)
	}
	return p.made(n, append(n.items, n.left)...)
}

func (p *parser) lambda(n *node) (*node, error) {
	n.kind = kindLambda
	for i, item := range n.items {
		if item.kind != kindVariable {
			return nil, newError("S0208", item.at, quoteToken(item.text), "{index}", fmt.Sprint(i+1))
		}
		n.params = append(n.params, item.text)
	}
	n.items = nil
	if p.token.is("<") {
		if err := p.lambdaSignature(n); err != nil {
			return nil, err
		}
	}
	if err := p.expect("{", true); err != nil {
		return nil, err
	}
	body, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	n.left = body
	if err := p.expect("}", false); err != nil {
		return nil, err
	}
	return p.made(n, body)
}

func (p *parser) lambdaSignature(n *node) error {
	at := p.token.at
	var text strings.Builder
	text.WriteByte('<')
	for depth := 1; depth > 0 && p.token.kind != tokenEnd && !p.token.is("{"); {
		if err := p.advance(true); err != nil {
			return err
		}
		switch {
		case p.token.is(">"):
			depth--
		case p.token.is("<"):
			depth++
		}
		text.WriteString(p.token.text)
	}
	if err := p.expect(">", false); err != nil {
		return err
	}
	var err *Error
	if n.signature, err = parseSignature(text.String()); err != nil {
		err.Position = at
		return err
	}
	return nil
}

func (p *parser) orderBy(n *node) (*node, error) {
	if err := p.expect("(", true); err != nil {
		return nil, err
	}
	parts := []*node{n.left}
	for more := true; more; {
		var term sortTerm
		if p.token.is("<") || p.token.is(">") {
			term.descending = p.token.text == ">"
			if err := p.advance(true); err != nil {
				return nil, err
			}
		}
		var err error
		if term.expr, err = p.expression(0); err != nil {
			return nil, err
		}
		n.terms = append(n.terms, term)
		parts = append(parts, term.expr)
		if more, err = p.comma(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")", false); err != nil {
		return nil, err
	}
	return p.made(n, parts...)
}
