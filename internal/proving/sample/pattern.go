package sample

import (
	"errors"
	"math"
	"slices"
	"time"
	"unicode"

	"github.com/dlclark/regexp2/v2"
	"github.com/dlclark/regexp2/v2/syntax"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// many means "unlimited" in lengths.
const many = math.MaxInt32

// A span is how many characters something has, at least and at most.
type span struct{ least, most int }

func plus(a, b int) int { return min(a+b, many) }

func times(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	if a > many/b {
		return many
	}
	return a * b
}

// A pattern is a regular expression with its properties. Texts are generated from its syntax
// tree. Parts that consume no characters (look-around, word boundaries, anchors in odd places)
// are left to chance and to repair; the compiled expression checks the result.
type pattern struct {
	re       *regexp2.Regexp
	root     *syntax.RegexNode
	err      error
	spans    map[*syntax.RegexNode]span
	groups   map[int]*syntax.RegexNode
	sets     map[*syntax.CharSet]*alphabet
	scans    int // sets that were searched through all of Unicode
	timeouts int
	bound    span // of the whole text, as look-ahead like (?=.{1,9}$) says it
}

// patternTimeout bounds one match while texts are tried. It is shorter than that of the
// check: a text for which the engine takes long is not the one to hand out.
const patternTimeout = 100 * time.Millisecond

const (
	maxTimeouts = 2 // of one pattern, after which it is given up
	maxScans    = 16
	maxDepth    = 1000 // of a syntax tree
)

var errUnsupported = errors.New("it has a construct that is not ECMAScript")

func parsePattern(text string) *pattern {
	p := &pattern{spans: map[*syntax.RegexNode]span{}, groups: map[int]*syntax.RegexNode{}, sets: map[*syntax.CharSet]*alphabet{}, bound: span{0, many}}
	p.re, p.err = schema.CompilePattern(text)
	if p.err != nil {
		return p
	}
	p.re.MatchTimeout = patternTimeout
	tree, err := syntax.Parse(p.re.String(), syntax.ParseOptions{RegexOptions: syntax.RegexOptions(schema.PatternOptions)})
	if err != nil {
		p.err = err
		return p
	}
	p.root = tree.Root
	p.findGroups(p.root, 0)
	if p.err != nil {
		return p
	}
	if p.measure(p.root).least == many {
		p.err = errors.New("it matches no string")
		return p
	}
	p.readBounds(p.root)
	return p
}

// matches reports whether the text matches. A match that takes too long does not count.
func (p *pattern) matches(text string) bool {
	if p.err != nil || p.timeouts >= maxTimeouts {
		return false
	}
	found, err := p.re.MatchString(text)
	if err != nil {
		p.timeouts++
		return false
	}
	return found
}

func (p *pattern) findGroups(n *syntax.RegexNode, depth int) {
	if depth > maxDepth {
		p.err = errors.New("it is nested too deeply")
		return
	}
	switch n.T {
	case syntax.NtCapture:
		p.groups[n.M] = n
	case syntax.NtBackRefCond, syntax.NtExprCond:
		p.err = errUnsupported
	}
	for _, child := range n.Children {
		p.findGroups(child, depth+1)
	}
}

// measure finds how many characters a part of the tree matches; both ends are "many" for a
// part that matches nothing.
func (p *pattern) measure(n *syntax.RegexNode) span {
	if known, ok := p.spans[n]; ok {
		return known
	}
	p.spans[n] = span{0, many} // what a reference to its own group sees
	var out span
	switch n.T {
	case syntax.NtOne, syntax.NtNotone, syntax.NtSet, syntax.NtGrapheme:
		out = span{1, 1}
	case syntax.NtMulti:
		out = span{len(n.Str), len(n.Str)}
	case syntax.NtNothing:
		out = span{many, many}
	case syntax.NtRef:
		if group := p.groups[n.M]; group != nil {
			out = span{0, p.measure(group).most}
		}
	case syntax.NtConcatenate:
		for _, child := range n.Children {
			s := p.measure(child)
			out = span{plus(out.least, s.least), plus(out.most, s.most)}
		}
	case syntax.NtAlternate:
		out = span{many, 0}
		for _, child := range n.Children {
			if s := p.measure(child); s.least < many {
				out = span{min(out.least, s.least), max(out.most, s.most)}
			}
		}
		if out.least == many {
			out.most = many
		}
	case syntax.NtLoop, syntax.NtLazyloop:
		s := p.measure(n.Children[0])
		out = span{times(n.M, s.least), times(n.N, s.most)}
	case syntax.NtCapture, syntax.NtGroup, syntax.NtAtomic:
		out = p.measure(n.Children[0])
	default:
		if isCharLoop(n) {
			out = span{n.M, min(n.N, many)}
		}
	}
	p.spans[n] = out
	return out
}

func isCharLoop(n *syntax.RegexNode) bool {
	return n.IsOneloopFamily() || n.IsNotoneloopFamily() || n.IsSetloopFamily()
}

// readBounds finds look-aheads at the start that bound the length of the whole text, the
// usual way of writing "at most 63 characters in all".
func (p *pattern) readBounds(n *syntax.RegexNode) {
	switch n.T {
	case syntax.NtCapture, syntax.NtGroup, syntax.NtAtomic:
		p.readBounds(n.Children[0])
	case syntax.NtConcatenate:
		for _, child := range n.Children {
			switch {
			case child.T == syntax.NtPosLook && child.Options&syntax.RightToLeft == 0:
				s := p.measure(child.Children[0])
				p.bound.least = max(p.bound.least, s.least)
				if endsText(child.Children[0]) {
					p.bound.most = min(p.bound.most, s.most)
				}
			case child.T == syntax.NtNegLook, isAnchor(child):
			default:
				if p.measure(child).most > 0 {
					return
				}
			}
		}
	}
}

func isAnchor(n *syntax.RegexNode) bool {
	switch n.T {
	case syntax.NtBol, syntax.NtBeginning, syntax.NtStart, syntax.NtEol, syntax.NtEnd, syntax.NtEndZ:
		return true
	}
	return false
}

// endsText reports whether a part can only match up to the end of the text.
func endsText(n *syntax.RegexNode) bool {
	switch n.T {
	case syntax.NtEol, syntax.NtEnd, syntax.NtEndZ:
		return true
	case syntax.NtCapture, syntax.NtGroup, syntax.NtAtomic:
		return endsText(n.Children[0])
	case syntax.NtConcatenate:
		return len(n.Children) > 0 && endsText(n.Children[len(n.Children)-1])
	case syntax.NtAlternate:
		return !slices.ContainsFunc(n.Children, func(c *syntax.RegexNode) bool { return !endsText(c) })
	}
	return false
}

// An alphabet is what a character class offers, the most ordinary characters first.
type alphabet struct {
	plain    []rune // small letters and digits, else capitals
	ascii    []rune // everything printable
	other    []rune // some characters outside of ASCII, once searched
	searched bool
	wildcard bool // nearly everything is allowed
}

// alphabetOf looks through a class. The result may be empty, when nothing but control
// characters is in it or the search was stopped.
func (p *pattern) alphabetOf(set *syntax.CharSet, exotic bool) *alphabet {
	a := p.sets[set]
	if a == nil {
		a = newAlphabet(set.Contains)
		p.sets[set] = a
	}
	if (exotic || len(a.ascii) == 0) && !a.searched && p.scans < maxScans {
		a.searched = true
		last := rune(unicode.MaxRune)
		if set.Analyze().ContainsOnlyAscii {
			last = unicode.MaxASCII
		} else {
			p.scans++
		}
		a.other = search(set.Contains, last, 64) // a look at some of each script
		if len(a.ascii)+len(a.other) == 0 {
			a.other = search(set.Contains, last, 1)
		}
	}
	return a
}

func newAlphabet(contains func(rune) bool) *alphabet {
	a := &alphabet{}
	var capitals []rune
	for r := rune(' '); r <= '~'; r++ {
		if !contains(r) {
			continue
		}
		a.ascii = append(a.ascii, r)
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			a.plain = append(a.plain, r)
		case r >= 'A' && r <= 'Z':
			capitals = append(capitals, r)
		}
	}
	a.wildcard = len(a.ascii) > 85
	if len(a.plain) == 0 || len(capitals) > 0 && a.plain[len(a.plain)-1] <= '9' { // [A-Z0-9]
		a.plain = append(a.plain, capitals...)
	}
	return a
}

// search finds some characters outside of printable ASCII: letters before other printable
// ones before control characters, which are the last resort. Beyond the first planes of
// scripts it looks at every step-th character only.
func search(contains func(rune) bool, last, step rune) []rune {
	const enough, dense = 64, 0x600
	var letters, printable, controls []rune
	visit := func(r rune) {
		if r >= 0xD800 && r <= 0xDFFF || !contains(r) {
			return
		}
		switch {
		case unicode.IsLetter(r):
			letters = append(letters, r)
		case unicode.IsPrint(r):
			printable = append(printable, r)
		default:
			controls = append(controls, r)
		}
	}
	for r := rune(0xA0); r <= last && len(letters) < enough; r++ {
		if r >= dense && step > 1 {
			r += step - 1
		}
		visit(r)
	}
	if len(letters)+len(printable) == 0 {
		for r := range rune(0xA0) {
			if r < ' ' || r > '~' {
				visit(r)
			}
		}
		return controls[:min(len(controls), enough)]
	}
	return append(letters, printable[:min(len(printable), enough)]...)
}
