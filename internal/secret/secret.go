// Package secret takes secrets out of text, however they are spelled there.
//
// A handler seldom prints a password as it is. It prints the model as JSON, a request as
// a URL, an error with the value in quotes, or a header in base64. A [Set] learns every
// secret in all the spellings that such a text may have it in, and hides each of them in
// one pass over the text. [Set.Add] lists the spellings, and says which are not covered.
package secret

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Hidden stands where a secret was.
const Hidden = "<hidden>"

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

	// overhead is what one spelling takes, roughly: those of a prefix share a bucket.
	overhead = 64
)

// A Set is what must not be shown. The zero Set is empty and ready for use, by several
// goroutines as well.
type Set struct {
	mu     sync.RWMutex
	values map[uint64]bool // by hash, those that were added and the parts of them
	long   index           // of spellings with at least 8 bytes, by their first 8
	little index           // of the others, by their first 4
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
//   - for a value of several lines, all this for each line of at least eight characters
//
// Values under four bytes are left alone, and those under eight characters are hidden only
// as whole words. Not covered are encodings beyond these: hexadecimal, compressed,
// encrypted or hashed text, base64 that is broken into lines, a part of a value alone.
//
// A Set that was taught more than it can hold hides every text as a whole from then on.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		if len(value) < shortest || s.full || !s.unknown(value) {
			continue
		}
		parts(value, func(part string) bool {
			if part != value && !s.unknown(part) {
				return true
			}
			whole := utf8.RuneCountInString(part) < short
			spellings(part, func(text string) { s.insert(text, whole) })
			s.full = s.size > capacity
			return !s.full
		})
	}
}

// unknown reports whether a value or a part of one is met for the first time. A file of
// many lines has most of them often.
func (s *Set) unknown(value string) bool {
	if s.values == nil {
		s.values = map[uint64]bool{}
		s.long, s.little = newIndex(), newIndex()
	}
	hash := maphash.String(seed, value)
	if s.values[hash] {
		return false
	}
	s.values[hash] = true
	return true
}

// Size is how many bytes the Set uses, roughly.
func (s *Set) Size() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.size
}

// insert remembers one spelling.
func (s *Set) insert(text string, whole bool) {
	added := false
	switch {
	case len(text) >= 8:
		added = s.long.insert(prefix8(text, 0), text, whole)
	case len(text) >= shortest:
		added = s.little.insert(prefix4(text, 0), text, whole)
	}
	if added {
		s.size += overhead
	}
}

// Hide returns the text with [Hidden] in place of every secret. Secrets that overlap or
// touch each other are hidden as one. The time is proportional to the length of the text.
func (s *Set) Hide(text string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.full && text != "" {
		return Hidden
	}
	if s.size == 0 {
		return text
	}
	found := s.spans(text)
	decodings(text, func(decoded string, at []int32) {
		for _, d := range s.spans(decoded) {
			found = append(found, span{int(at[d.from]), int(at[d.to])})
		}
	})
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	shown, end := 0, -1 // text[:shown] is written; the secret under way ends at end
	for _, f := range found {
		if f.from > end {
			if end >= 0 {
				b.WriteString(Hidden)
				shown = end
			}
			b.WriteString(text[shown:f.from])
		}
		end = max(end, f.to)
	}
	b.WriteString(Hidden)
	b.WriteString(text[end:])
	return b.String()
}

// A span is text[from:to].
type span struct{ from, to int }

// spans finds the secrets in a text. Those that overlap or touch come as one.
func (s *Set) spans(text string) (found []span) {
	start, end := 0, -1
	sums := sums{text: text}
	for i := 0; i+shortest <= len(text); i++ {
		n := s.at(&sums, i, end-i)
		if n == 0 {
			continue
		}
		if i > end {
			if end >= 0 {
				found = append(found, span{start, end})
			}
			start = i
		}
		end = i + n
	}
	if end >= 0 {
		found = append(found, span{start, end})
	}
	return found
}

// at is the length of the longest secret at text[i:] with more than least bytes, 0 if
// there is none.
func (s *Set) at(text *sums, i, least int) int {
	if i+8 <= len(text.text) {
		if n := s.long.find(prefix8(text.text, i), text, i, least); n > 0 {
			return n
		}
	}
	return s.little.find(prefix4(text.text, i), text, i, least)
}

func prefix8(text string, i int) uint64 {
	return binary.LittleEndian.Uint64([]byte(text[i : i+8]))
}

func prefix4(text string, i int) uint64 {
	return uint64(binary.LittleEndian.Uint32([]byte(text[i : i+4])))
}

// An index finds texts by their first bytes.
type index struct {
	filter  []uint64 // a bit for the hash of every prefix: most of a text stops here
	buckets map[uint64]*bucket
}

// A bucket has the texts with one prefix, by length, the longest first. So the time to
// look one up does not grow with the number of texts that begin alike. Of the texts it
// keeps the hashes.
type bucket struct {
	lengths []length
	texts   map[uint64]bool // by hash; true: only as a whole word
}

const filterBits = 20

// seed is that of the hashes of values.
var seed = maphash.MakeSeed()

func newIndex() index {
	return index{filter: make([]uint64, 1<<filterBits/64), buckets: map[uint64]*bucket{}}
}

func filterAt(prefix uint64) (word, bit uint64) {
	hash := prefix * 0x9E3779B97F4A7C15 >> (64 - filterBits)
	return hash / 64, 1 << (hash % 64)
}

func (x *index) insert(prefix uint64, text string, whole bool) (added bool) {
	word, bit := filterAt(prefix)
	x.filter[word] |= bit
	b := x.buckets[prefix]
	if b == nil {
		b = &bucket{texts: map[uint64]bool{}}
		x.buckets[prefix] = b
	}
	hash := sum(text)
	before, known := b.texts[hash]
	b.texts[hash] = whole && (before || !known)
	if at, found := slices.BinarySearchFunc(b.lengths, len(text), func(have length, want int) int { return want - have.n }); !found {
		b.lengths = slices.Insert(b.lengths, at, length{len(text), power(len(text))})
	}
	return !known
}

func (x *index) find(prefix uint64, text *sums, i, least int) int {
	word, bit := filterAt(prefix)
	if x.filter[word]&bit == 0 {
		return 0
	}
	b := x.buckets[prefix]
	if b == nil {
		return 0
	}
	for _, l := range b.lengths {
		if l.n <= least {
			return 0
		}
		if i+l.n > len(text.text) {
			continue
		}
		if whole, found := b.texts[text.of(i, l)]; found && !(whole && partOfWord(text.text, i, l.n)) {
			return l.n
		}
	}
	return 0
}

// partOfWord tells whether a word goes on before or behind text[i:i+n].
func partOfWord(text string, i, n int) bool {
	first, _ := utf8.DecodeRuneInString(text[i:])
	last, _ := utf8.DecodeLastRuneInString(text[:i+n])
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	return inWord(first) && inWord(before) && !endsInEscape(text[:i]) || inWord(last) && inWord(after)
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// endsInEscape tells whether the letter at the end of a text belongs to an escape
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
