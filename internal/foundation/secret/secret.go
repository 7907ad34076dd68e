// Package secret takes secrets out of text, however they are spelled there.
//
// Handlers seldom print a password unchanged. They print the model as JSON, a request as a
// URL, an error with the value in quotes, or a header in base64. A [Set] learns every secret
// in all the spellings that such a text may contain, and hides each of them in one pass over
// the text. [Set.Add] lists the spellings, and those that are not covered.
package secret

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// Hidden replaces a secret, unless the reason for hiding it is known; see [Mark].
const Hidden = "<hidden>"

// A Reason is why a value is a secret, such as "write-only /Password". It must not depend on
// the value.
type Reason string

// The reasons that more than one package has.
const (
	Credentials   Reason = "credentials"
	Configuration Reason = "type configuration"
	NoEcho        Reason = "NoEcho parameter"
	Reference     Reason = "dynamic reference"
	Environment   Reason = "environment variable"
	Named         Reason = "by its name"
	overflow      Reason = "more secrets than can be remembered"
)

// Mark is the text that replaces a secret: "<hidden: REASON>". Characters of a reason that
// the formats around it would have to escape become "?".
func (r Reason) Mark() string {
	if r == "" {
		return Hidden
	}
	const longest = 120
	text := strings.Map(func(c rune) rune {
		if c < utf8.RuneSelf && (inWord(c) || strings.ContainsRune(" /.,:*~_$-", c)) {
			return c
		}
		return '?'
	}, string(r))
	return "<hidden: " + text[:min(len(text), longest)] + ">"
}

var marks = lazyregexp.New(`<hidden: [^<>]*>`)

// WithoutReasons replaces the marks in a text with [Hidden]: for what is compared or kept
// for programs.
func WithoutReasons(text string) string { return marks.ReplaceAllString(text, Hidden) }

const (
	// shortest is how many bytes a value must have to be searched for. Shorter ones are
	// words that everything is full of.
	shortest = 4

	// short is the number of characters below which a value is hidden only where it is no
	// part of a longer word: "main" is in "domain", but no word has "hunter22" in it.
	short = 8

	// chunk is how many bytes of a value are searched for in one piece. A longer value is
	// learned piece by piece, each in all spellings.
	chunk = 4096

	// capacity bounds what a Set remembers, in bytes.
	capacity = 64 << 20

	// overhead is what one spelling takes, roughly, and what the hash of a value does: most of it is the entries
	// of maps, a third of which are free.
	overhead = 64
)

// A Set is what must not be shown. The zero Set is empty and ready for use, by several
// goroutines as well.
type Set struct {
	mu     sync.RWMutex
	values map[uint64]struct{} // the hashes of those that were added, and of the parts of them
	whys   []Reason            // by number
	starts []uint64            // a bit for the hash of the first 4 bytes of every spelling: most of a text stops there
	texts  map[uint64]entry    // the spellings, by hash: no text is stored
	long   lengths             // of spellings with at least 8 bytes, by their first 8
	little lengths             // of the others, by their first 4
	powers []uint64            // of base, up to that of the longest spelling
	size   int
	full   bool
}

// Add makes the Set hide values, each in these spellings:
//
//   - as it is, and without the white space around it
//   - escaped as JSON, by the rules of Go, Python, Java and JavaScript
//   - quoted as Go's %q and %+q do it, and as Python and shells do
//   - escaped for URLs, whichever characters a library leaves as they are, also as the user
//     or password of a URL
//   - escaped for HTML and XML
//   - escaped up to three times, such as for a URL in JSON in a string of JSON
//   - in base64, of both alphabets, with and without padding, and within the base64 of
//     something longer such as "user:secret" or a JSON object
//   - in hexadecimal of either case, with and without separators between the bytes, and within
//     the hexadecimal of something longer
//   - for a value of several lines, all this for each line of at least eight characters
//
// Values under four bytes are left alone, and those under eight characters are hidden only
// as whole words. Not covered are encodings beyond these: compressed, encrypted or hashed text,
// base64 and dumps that are broken into lines, numbers of bytes in decimal, a part of a value alone.
//
// A Set that was taught more than it can hold hides every text as a whole from then on.
func (s *Set) Add(values ...string) { s.AddFor("", values...) }

// AddFor is Add with the reason that [Set.Hide] then gives. Of a value that is added for
// several reasons the first one is given.
func (s *Set) AddFor(why Reason, values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := s.reason(why)
	for _, value := range values {
		if len(value) < shortest || s.full || !s.unknown(value) {
			continue
		}
		parts(value, func(part string) bool {
			if part != value && !s.unknown(part) {
				return true
			}
			whole := utf8.RuneCountInString(part) < short
			spellings(part, func(text string) { s.insert(text, entry{number, whole}) })
			s.full = s.size > capacity
			return !s.full
		})
	}
}

// reason is the number of a reason. Those that come after the first thousands share one.
func (s *Set) reason(why Reason) uint16 {
	if at := slices.Index(s.whys, why); at >= 0 {
		return uint16(at)
	}
	if len(s.whys) > math.MaxInt16 {
		return 0
	}
	if len(s.whys) == 0 && why != "" {
		s.whys = append(s.whys, "")
	}
	s.whys = append(s.whys, why)
	return uint16(len(s.whys) - 1)
}

// unknown reports whether a value or a part of one is met for the first time. A file of
// many lines has most of them often.
func (s *Set) unknown(value string) bool {
	if s.values == nil {
		s.values, s.texts, s.powers = map[uint64]struct{}{}, map[uint64]entry{}, []uint64{1}
		s.starts, s.long, s.little = make([]uint64, 1<<filterBits/64), lengths{}, lengths{}
	}
	hash := maphash.String(seed, value)
	if _, known := s.values[hash]; known {
		return false
	}
	s.values[hash] = struct{}{}
	s.size += overhead
	return true
}

// Size is how many bytes the Set uses, roughly.
func (s *Set) Size() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size
}

// insert remembers one spelling.
func (s *Set) insert(text string, e entry) {
	if len(text) < shortest {
		return
	}
	hash := sum(text)
	before, known := s.texts[hash]
	if known {
		s.texts[hash] = entry{before.why, e.whole && before.whole}
		return
	}
	s.texts[hash] = e
	s.size += overhead
	word, bit := filterAt(prefix4(text, 0))
	s.starts[word] |= bit
	if len(text) >= 8 {
		s.long.insert(prefix8(text, 0), len(text))
	} else {
		s.little.insert(prefix4(text, 0), len(text))
	}
	for len(s.powers) <= len(text) {
		s.powers = append(s.powers, times(s.powers[len(s.powers)-1], base))
	}
}

// Hide returns the text with a [Reason.Mark] in place of every secret. Secrets that overlap
// or touch each other are hidden as one, for the reason of the first. The time is
// proportional to the length of the text.
func (s *Set) Hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.full && text != "" {
		return overflow.Mark()
	}
	if s.size == 0 {
		return text
	}
	found := s.spans(text)
	decodings(text, func(decoded string, at []int32) {
		for _, d := range s.spans(decoded) {
			found = append(found, span{int(at[d.from]), int(at[d.to]), d.why})
		}
	})
	s.hexadecimals(text, func(decoded string, at []int32) {
		for _, d := range s.spans(decoded) {
			found = append(found, span{int(at[d.from]), int(at[d.to-1]) + 2, d.why})
		}
	})
	if len(found) == 0 {
		return text
	}
	slices.SortStableFunc(found, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	shown, end := 0, -1 // text[:shown] is written; the current secret ends at end
	var why uint16
	for _, f := range found {
		if f.from > end {
			if end >= 0 {
				b.WriteString(s.whys[why].Mark())
				shown = end
			}
			b.WriteString(text[shown:f.from])
			why = f.why
		}
		end = max(end, f.to)
	}
	b.WriteString(s.whys[why].Mark())
	b.WriteString(text[end:])
	return b.String()
}

// A span is text[from:to], and the number of the reason for hiding it.
type span struct {
	from, to int
	why      uint16
}

// spans finds the secrets in a text. Those that overlap or touch come as one.
func (s *Set) spans(text string) (found []span) {
	start, end := 0, -1
	var first uint16
	sums := sums{text: text}
	for i := 0; i+shortest <= len(text); i++ {
		if word, bit := filterAt(prefix4(text, i)); s.starts[word]&bit == 0 {
			continue
		}
		n, why := s.at(&sums, i, end-i)
		if n == 0 {
			continue
		}
		if i > end {
			if end >= 0 {
				found = append(found, span{start, end, first})
			}
			start, first = i, why
		}
		end = i + n
	}
	if end >= 0 {
		found = append(found, span{start, end, first})
	}
	return found
}

// at is the length of the longest secret at text[i:] with more than least bytes, 0 without
// one, and the number of its reason.
func (s *Set) at(text *sums, i, least int) (n int, why uint16) {
	if i+8 <= len(text.text) {
		if n, why = s.longest(s.long[prefix8(text.text, i)], text, i, least); n > 0 {
			return n, why
		}
	}
	return s.longest(s.little[prefix4(text.text, i)], text, i, least)
}

// longest is at for secrets of some lengths.
func (s *Set) longest(lengths []uint16, text *sums, i, least int) (n int, why uint16) {
	for _, length := range lengths {
		n := int(length)
		if n <= least {
			return 0, 0
		}
		if i+n > len(text.text) {
			continue
		}
		if e, found := s.texts[text.of(i, n, s.powers)]; found && !(e.whole && partOfWord(text.text, i, n)) {
			return n, e.why
		}
	}
	return 0, 0
}

func prefix8(text string, i int) uint64 {
	return prefix4(text, i) | prefix4(text, i+4)<<32
}

func prefix4(text string, i int) uint64 {
	b := text[i : i+4]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24
}

// lengths are those of the spellings with one prefix, the longest first. So the time to look one up does not grow with
// the number of spellings with the same prefix. The longest one is a chunk in JSON in base64, which has 32 KiB.
type lengths map[uint64][]uint16

func (l lengths) insert(prefix uint64, n int) {
	of := l[prefix]
	if at, found := slices.BinarySearchFunc(of, n, func(have uint16, want int) int { return want - int(have) }); !found {
		l[prefix] = slices.Insert(of, at, uint16(n))
	}
}

// An entry is the data of a text: the number of its reason, and whether it is hidden only as a
// whole word.
type entry struct {
	why   uint16
	whole bool
}

const filterBits = 20

// seed is that of the hashes of values.
var seed = maphash.MakeSeed()

func filterAt(prefix uint64) (word, bit uint64) {
	hash := prefix * 0x9E3779B97F4A7C15 >> (64 - filterBits)
	return hash / 64, 1 << (hash % 64)
}

// partOfWord reports whether a word continues before or after text[i:i+n].
func partOfWord(text string, i, n int) bool {
	first, _ := utf8.DecodeRuneInString(text[i:])
	last, _ := utf8.DecodeLastRuneInString(text[:i+n])
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	return inWord(first) && inWord(before) && !endsInEscape(text[:i]) || inWord(last) && inWord(after)
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// endsInEscape reports whether the letter at the end of a text belongs to an escape
// sequence: of a string (\n, \x0a, \u000a), a URL (%0A) or a terminal's color (ESC[1m).
func endsInEscape(text string) bool {
	n := len(text)
	hex := func(digits int) bool {
		return n >= digits && strings.Trim(text[n-digits:], "0123456789abcdefABCDEF") == ""
	}
	switch {
	case n >= 2 && text[n-2] == '\\':
		return strings.IndexByte("abfnrtv0", text[n-1]) >= 0
	case n >= 3 && text[n-3] == '%', n >= 4 && text[n-4:n-2] == `\x`:
		return hex(2)
	case n >= 6 && text[n-6:n-4] == `\u`:
		return hex(4)
	case text[n-1] == 'm':
		return strings.HasSuffix(strings.TrimRight(text[max(0, n-20):n-1], "0123456789;"), "[")
	}
	return false
}
