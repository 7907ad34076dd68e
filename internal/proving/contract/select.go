package contract

import (
	"fmt"
	"strings"
	"unicode"
)

// An Expression is one of pytest's, as its options -k and -m take: names combined with
// and, or, not and parentheses. The nil Expression holds for everything.
type Expression struct {
	text string
	root node
}

// ParseExpression reads an expression. The error contains the position.
func ParseExpression(text string) (*Expression, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p := &expressionParser{text: text}
	root, err := p.or(0)
	if err == nil {
		if word := p.next(); word != "" {
			err = p.fault("expected the end but got %q", word)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Expression{text: text, root: root}, nil
}

// String is the expression as written.
func (e *Expression) String() string {
	if e == nil {
		return ""
	}
	return e.text
}

// Match evaluates the expression; holds reports whether a name in it is true.
func (e *Expression) Match(holds func(name string) bool) bool {
	return e == nil || e.root(holds)
}

type node func(holds func(string) bool) bool

type expressionParser struct {
	text string
	pos  int // of what is still to be read
	last int // of the last word
}

// maxNesting bounds parentheses and chains of not.
const maxNesting = 100

func (p *expressionParser) fault(format string, args ...any) error {
	return fmt.Errorf("expression %q: column %d: %s", p.text, p.last+1, fmt.Sprintf(format, args...))
}

// next reads a word; "" is the end.
func (p *expressionParser) next() string {
	for p.pos < len(p.text) && (p.text[p.pos] == ' ' || p.text[p.pos] == '\t') {
		p.pos++
	}
	p.last = p.pos
	if p.pos == len(p.text) {
		return ""
	}
	if c := p.text[p.pos]; c == '(' || c == ')' {
		p.pos++
		return string(c)
	}
	start := p.pos
	for i, r := range p.text[start:] {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`_:+-.[]/\`, r) {
			if i == 0 {
				p.pos = start + len(string(r))
				return string(r)
			}
			p.pos = start + i
			return p.text[start:p.pos]
		}
	}
	p.pos = len(p.text)
	return p.text[start:]
}

func (p *expressionParser) peek() string {
	pos, last := p.pos, p.last
	word := p.next()
	p.pos, p.last = pos, last
	return word
}

func (p *expressionParser) or(depth int) (node, error) {
	left, err := p.and(depth)
	for err == nil && p.peek() == "or" {
		p.next()
		var right node
		if right, err = p.and(depth); err == nil {
			a := left
			left = func(holds func(string) bool) bool { return a(holds) || right(holds) }
		}
	}
	return left, err
}

func (p *expressionParser) and(depth int) (node, error) {
	left, err := p.not(depth)
	for err == nil && p.peek() == "and" {
		p.next()
		var right node
		if right, err = p.not(depth); err == nil {
			a := left
			left = func(holds func(string) bool) bool { return a(holds) && right(holds) }
		}
	}
	return left, err
}

func (p *expressionParser) not(depth int) (node, error) {
	if depth > maxNesting {
		return nil, p.fault("nested too deep")
	}
	switch word := p.next(); word {
	case "not":
		inner, err := p.not(depth + 1)
		return func(holds func(string) bool) bool { return !inner(holds) }, err
	case "(":
		inner, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if closing := p.next(); closing != ")" {
			return nil, p.fault("expected a closing parenthesis")
		}
		return inner, nil
	case "":
		return nil, p.fault("expected a name, not or an opening parenthesis but got the end")
	case ")", "and", "or":
		return nil, p.fault("expected a name, not or an opening parenthesis but got %q", word)
	default:
		if r := []rune(word)[0]; !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`_:+-.[]/\`, r) {
			return nil, p.fault("unexpected character %q", word)
		}
		return func(holds func(string) bool) bool { return holds(word) }, nil
	}
}

// A Selection is which cases are run, and how.
type Selection struct {
	Suite    Suite       // SuiteCore if empty
	Keywords *Expression // on names, parts of names and markers; letter case does not matter
	Markers  *Expression // on markers
	IDs      []string    // "handler_create.py" or whole ids; none means all

	MaxFailures int // the run stops after so many failures and errors; 0 means never

	// Shuffle runs the files, and the tests within each, in the order of Seed.
	Shuffle bool
	Seed    uint64
}

// Picks reports whether the selection takes a case.
func (s *Selection) Picks(c *Case) bool {
	if len(s.IDs) > 0 {
		found := false
		for _, id := range s.IDs {
			found = found || id == c.ID || id == c.File()
		}
		if !found {
			return false
		}
	}
	names := append([]string{c.File(), c.Name()}, c.Markers()...)
	return s.Keywords.Match(func(word string) bool {
		for _, name := range names {
			if strings.Contains(strings.ToLower(name), strings.ToLower(word)) {
				return true
			}
		}
		return false
	}) && s.Markers.Match(func(word string) bool {
		for _, marker := range c.Markers() {
			if marker == word {
				return true
			}
		}
		return false
	})
}
