package sample

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// unmatched are published patterns for which no text is found, with the reason.
var unmatched = map[string]string{}

// publishedPatterns collects the patterns of the published schemas, of values and of
// keys, each with the lengths that are asked for beside it.
func publishedPatterns(t *testing.T) map[string][]span {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "schemas/aws"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	out := map[string][]span{}
	add := func(text string, s span) {
		if !slices.Contains(out[text], s) {
			out[text] = append(out[text], s)
		}
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Load(file, data, schema.Config{})
		if s == nil {
			t.Fatal(problems)
		}
		for _, site := range s.Sites() {
			if site.Node.Kind != document.Object {
				continue
			}
			k := readRules(site.Node)
			if k.pattern != "" {
				add(k.pattern, span{max(0, k.minLength), atMost(many, k.maxLength)})
			}
			for _, m := range k.patterns {
				add(m.Key, span{0, many})
			}
		}
	}
	return out
}

// TestPublishedPatterns: for every published pattern, alone and with each length that
// is beside it, texts are found that the matcher of the product accepts. None has
// control characters, or others outside of ASCII, unless the pattern asks for them.
func TestPublishedPatterns(t *testing.T) {
	all := publishedPatterns(t)
	texts, plain := 0, 0
	for _, text := range slices.Sorted(maps.Keys(all)) {
		p := parsePattern(text)
		re, err := schema.CompilePattern(text)
		if err != nil || p.err != nil {
			t.Errorf("%q: %v, %v", text, err, p.err)
			continue
		}
		found := true
		for _, s := range append(all[text], span{0, many}) {
			for seed := range 10 {
				v, ok := p.generate(source(seed), s, false, 1<<16, func(string) bool { return true })
				if !ok {
					found = false
					break
				}
				texts++
				if ok, err := re.MatchString(v); !ok || err != nil {
					t.Errorf("%q does not match %q: %v", v, text, err)
				}
				if n := utf8.RuneCountInString(v); n < s.least || n > s.most {
					t.Errorf("%q has %d characters, want %v", v, n, s)
				}
				if isPlain(v) {
					plain++
				}
			}
		}
		reason, listed := unmatched[text]
		if found && listed {
			t.Errorf("texts are found for %q: take the line %q out of the ledger", text, reason)
		} else if !found && !listed {
			t.Errorf("no text is found for %q", text)
		}
	}
	t.Logf("%d patterns, %d without a text; %d texts, %d of them printable ASCII", len(all), len(unmatched), texts, plain)
	if plain < texts*99/100 {
		t.Errorf("only %d of %d texts are printable ASCII", plain, texts)
	}
}

func isPlain(text string) bool {
	for _, r := range text {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// TestLengths: where a pattern can have a length, it is found at once, not by chance.
func TestLengths(t *testing.T) {
	for _, test := range []struct {
		pattern string
		length  int
	}{
		{`^[a-z]{1,5000}$`, 4999},
		{`^([a-z]{3}-)*[0-9]+$`, 2000},
		{`^(ab)*$`, 200},
		{`^(a|bb|ccc){10}$`, 30},
		{`^(short|a-much-longer-branch)$`, 20},
		{`^(?:[a-z]+\.){2,}[a-z]{2,6}$`, 63},
		{`^.*$`, 0},
		{`x`, 50},
	} {
		p := parsePattern(test.pattern)
		for seed := range 50 {
			v, ok := p.generate(source(seed), span{test.length, test.length}, false, 1<<16, func(string) bool { return true })
			if !ok || utf8.RuneCountInString(v) != test.length {
				t.Errorf("%q, seed %d: got %q, %v, want %d characters", test.pattern, seed, v, ok, test.length)
			}
		}
	}
}

func TestSourceIsSpelledOut(t *testing.T) {
	s := source(42)
	got := []uint64{s.next(), s.next()}
	// SplitMix64 from the seed 42: these numbers are the same everywhere, for good.
	if want := []uint64{0xbdd732262feb6e95, 0x28efe333b266f103}; !slices.Equal(got, want) {
		t.Errorf("got %#x, want %#x", got, want)
	}
	counts := make([]int, 5)
	for range 10000 {
		counts[s.below(5)]++
	}
	for i, n := range counts {
		if n < 1800 || n > 2200 {
			t.Errorf("%d was drawn %d times of 10,000", i, n)
		}
	}
}

// FuzzPattern: whatever the pattern, a text that is handed out matches, and making it ends.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{`^[a-z]+$`, `(?=.*\d)(?!x)\w{3}`, `(a)\1`, `^((a+)+)+$`, `[^\s\S]`, `\p{L}{2,3}|x*`, `(?i)ab|(?<n>c)\k<n>`, `a{1000000}`, `(((((a*)*)*)*)*)*`} {
		f.Add(seed, uint64(1), 0, 20)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, least, most int) {
		if len(text) > 200 {
			return
		}
		p := parsePattern(text)
		s := span{max(0, least%100), max(0, most)}
		v, ok := p.generate(source(seed), s, seed%2 == 0, 1000, func(string) bool { return true })
		if !ok {
			return
		}
		if found, err := p.re.MatchString(v); !found || err != nil {
			t.Errorf("%q does not match %q: %v", v, text, err)
		}
		if n := utf8.RuneCountInString(v); n < s.least || n > s.most {
			t.Errorf("%q has %d characters, want %v", v, n, s)
		}
	})
}
