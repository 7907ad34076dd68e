package sample

import (
	"slices"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2/syntax"
)

// A writer makes one text along a syntax tree.
type writer struct {
	p      *pattern
	src    *source
	width  int // which characters of a class are drawn: 0 plain, 1 printable ASCII, 2 any
	exotic bool
	most   int // characters in all
	out    []rune
	free   []bool         // of each character: the pattern would take nearly any other
	groups map[int][]rune // what was written for each capture
	looks  []look
	stuck  bool // a class without a character, or a text that grew too long
	budget *int // parts of the tree that may still be written, in all tries
}

// A look is a look-ahead that was passed, and where.
type look struct {
	at   int
	node *syntax.RegexNode
}

// widths and triesPerWidth define how often a text is tried with which characters.
const (
	widths        = 3
	triesPerWidth = 24
)

// maxParts bounds the parts of the tree that are written for one text, all tries together:
// loops around loops around nothing multiply.
const maxParts = 1 << 20

// generate makes a text that matches, with a length in s, and that ok accepts. It reports
// false if none was found.
func (p *pattern) generate(src source, s span, exotic bool, most int, ok func(string) bool) (string, bool) {
	if p.err != nil {
		return "", false
	}
	own := p.measure(p.root)
	s = span{max(s.least, p.bound.least), min(s.most, p.bound.most)}
	if s.least > s.most || max(own.least, s.least) > most {
		return "", false
	}
	budget := maxParts
	for try := range widths * triesPerWidth {
		if p.timeouts >= maxTimeouts || budget < 0 {
			return "", false
		}
		draw := src.at(try)
		w := &writer{p: p, src: &draw, width: try / triesPerWidth, exotic: exotic, most: most, budget: &budget}
		low, high := max(own.least, s.least), min(own.most, s.most)
		if low > high { // padding around the pattern, or a length that only look-ahead bounds
			low = min(own.most, s.least)
			high = low
		}
		usual := max(low, 1) + 11
		if try%triesPerWidth >= triesPerWidth/2 {
			usual = low + 100 // rare: long enough for what chance must still find
		}
		if low == 0 && high > 0 {
			low = 1 // the empty text is seldom meant
		}
		w.write(p.root, draw.between(low, max(low, min(high, usual))))
		if w.stuck {
			continue
		}
		if try%2 == 1 {
			w.overlay()
		}
		for _, text := range w.padded(s) {
			if n := utf8.RuneCountInString(text); n >= s.least && n <= s.most && p.matches(text) && ok(text) {
				return text, true
			}
		}
	}
	if own.least == 0 && s.least == 0 && p.matches("") && ok("") {
		return "", true
	}
	return "", false
}

// padded returns the text, or, when it is too short, the text with letters around it, for
// patterns that look at a part of a text only.
func (w *writer) padded(s span) []string {
	text := string(w.out)
	missing := s.least - len(w.out)
	if missing <= 0 {
		return []string{text}
	}
	if missing > w.most {
		return nil
	}
	pad := string(word(w.src, missing))
	return []string{text + pad, pad + text, pad[:missing/2] + text + pad[missing/2:]}
}

// write writes a part of the tree in about the given number of characters, or more if the part
// needs more.
func (w *writer) write(n *syntax.RegexNode, length int) {
	if *w.budget--; w.stuck || *w.budget < 0 {
		w.stuck = true
		return
	}
	switch n.T {
	case syntax.NtOne:
		w.rune(n.Ch, false)
	case syntax.NtMulti:
		for _, r := range n.Str {
			w.rune(r, false)
		}
	case syntax.NtNotone, syntax.NtSet, syntax.NtGrapheme:
		w.char(n)
	case syntax.NtNothing:
		w.stuck = true
	case syntax.NtRef:
		for _, r := range w.groups[n.M] {
			w.rune(r, false)
		}
	case syntax.NtCapture:
		start := len(w.out)
		w.write(n.Children[0], length)
		if w.groups == nil {
			w.groups = map[int][]rune{}
		}
		w.groups[n.M] = slices.Clone(w.out[start:])
	case syntax.NtGroup, syntax.NtAtomic:
		w.write(n.Children[0], length)
	case syntax.NtConcatenate:
		w.sequence(len(n.Children), func(i int) *syntax.RegexNode { return n.Children[i] }, length)
	case syntax.NtAlternate:
		w.write(w.choose(n.Children, length), length)
	case syntax.NtLoop, syntax.NtLazyloop:
		w.loop(n, length)
	case syntax.NtPosLook:
		if n.Options&syntax.RightToLeft == 0 {
			w.looks = append(w.looks, look{len(w.out), n})
		}
	default:
		if isCharLoop(n) {
			for range min(max(length, n.M), n.N) {
				if w.stuck {
					return
				}
				w.char(n)
			}
		}
	}
}

// sequence writes parts one after the other, the length shared among those that can
// take more than they need.
func (w *writer) sequence(n int, part func(int) *syntax.RegexNode, length int) {
	needed := 0
	room := make([]int, n+1) // what the parts from i on can take beyond what they need
	for i := n - 1; i >= 0; i-- {
		s := w.p.measure(part(i))
		needed, room[i] = plus(needed, s.least), plus(room[i+1], s.most-s.least)
	}
	rest := min(max(length-needed, 0), room[0])
	for i := range n {
		if w.stuck {
			return
		}
		s := w.p.measure(part(i))
		extra := w.src.between(max(0, rest-room[i+1]), min(s.most-s.least, rest))
		rest -= extra
		w.write(part(i), s.least+extra)
	}
}

// choose picks a branch that can have the length, or comes nearest to it.
func (w *writer) choose(branches []*syntax.RegexNode, length int) *syntax.RegexNode {
	var fitting []*syntax.RegexNode
	nearest, distance := branches[0], many
	for _, branch := range branches {
		s := w.p.measure(branch)
		switch d := max(s.least-length, length-s.most, 0); {
		case s.least == many:
		case d == 0:
			fitting = append(fitting, branch)
		case d < distance:
			nearest, distance = branch, d
		}
	}
	if len(fitting) == 0 {
		return nearest
	}
	return fitting[w.src.below(len(fitting))]
}

func (w *writer) loop(n *syntax.RegexNode, length int) {
	child := n.Children[0]
	s := w.p.measure(child)
	least, most := n.M, n.N
	if s.least == many {
		most = least
	}
	if s.most > 0 {
		least = max(least, (length+s.most-1)/s.most)
	}
	if s.least > 0 {
		most = min(most, max(length/s.least, n.M))
	} else {
		most = min(most, least+2)
	}
	least = min(least, most)
	times := w.src.between(least, min(most, least+4))
	if times > w.most {
		w.stuck = true
		return
	}
	if times > 0 {
		w.sequence(times, func(int) *syntax.RegexNode { return child }, length)
	}
}

func (w *writer) rune(r rune, free bool) {
	if len(w.out) >= w.most {
		w.stuck = true
		return
	}
	w.out = append(w.out, r)
	w.free = append(w.free, free)
}

// char writes one character of a class, of "not this one", or a given one.
func (w *writer) char(n *syntax.RegexNode) {
	switch {
	case n.IsOneFamily():
		w.rune(n.Ch, false)
	case n.IsSetFamily():
		a := w.p.alphabetOf(n.Set, w.exotic || w.width == widths-1)
		w.rune(w.pick(a), a.wildcard)
	case n.IsNotoneFamily():
		r := rune('a' + w.src.below(26))
		for r == n.Ch {
			r = rune('a' + w.src.below(26))
		}
		w.rune(r, true)
	default:
		w.rune('a', false)
	}
}

func (w *writer) pick(a *alphabet) rune {
	from := a.plain
	if w.width > 0 || len(from) == 0 {
		from = a.ascii
	}
	if len(a.other) > 0 && (len(from) == 0 || (w.exotic || w.width == widths-1) && w.src.oneIn(4)) {
		from = a.other
	}
	if len(from) == 0 {
		w.stuck = true
		return 'a'
	}
	return from[w.src.below(len(from))]
}

// overlay writes texts for the look-aheads over the text: for (?=.*[A-Z]) some capital at some
// place.
func (w *writer) overlay() {
	for _, l := range w.looks {
		ahead := &writer{p: w.p, src: w.src, width: w.width, exotic: w.exotic, most: w.most, budget: w.budget}
		body := l.node.Children[0]
		s := w.p.measure(body)
		room := len(w.out) - l.at
		if s.least > room {
			continue
		}
		ahead.write(body, w.src.between(s.least, min(s.most, room)))
		if ahead.stuck || len(ahead.out) > room {
			continue
		}
		for i, r := range ahead.out {
			if !ahead.free[i] {
				w.out[l.at+i] = r
			}
		}
	}
}
