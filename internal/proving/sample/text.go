package sample

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// text makes a string: by the pattern if there is one, else by the format, else a word.
func (r *run) text(sp *spec, at document.Pointer, st state) (any, error) {
	length, format := span{0, many}, ""
	var patterns []string
	for _, k := range sp.rules {
		length.least, length.most = max(length.least, k.minLength), atMost(length.most, k.maxLength)
		if k.pattern != "" {
			patterns = append(patterns, k.pattern)
		}
		if k.format != "" && format == "" {
			format = k.format
		}
	}
	if length.least > length.most {
		return nil, fault(at, "maxLength", "it must have at least %d and at most %d characters", length.least, length.most)
	}
	if length.least > r.g.cfg.MaxLength {
		return nil, fault(at, "minLength", "it must have %d characters, more than the %d that are generated", length.least, r.g.cfg.MaxLength)
	}
	if make := formats[format]; make != nil {
		src := st.src.fork("format")
		for range 4 {
			v := make(&src)
			if n := utf8.RuneCountInString(v); n >= length.least && n <= length.most && r.matchAll(patterns, "", v) {
				return v, nil
			}
		}
	}
	if len(patterns) == 0 {
		return r.word(length, &st), nil
	}
	for i, text := range patterns {
		p := r.g.patternOf(text)
		if p.err != nil {
			return nil, fault(at, "pattern", "its pattern %s cannot be used: %s", strconv.Quote(diag.Cut(text)), p.err)
		}
		r.steps += 4
		v, ok := p.generate(st.src.at(i), length, r.g.cfg.Unicode, r.g.cfg.MaxLength, func(v string) bool {
			r.steps++
			return r.steps < r.most && r.matchAll(patterns, text, v)
		})
		if ok {
			return v, nil
		}
	}
	return nil, fault(at, "pattern", "found no string that matches its pattern %s%s", strconv.Quote(diag.Cut(patterns[0])), lengths(length))
}

// matchAll reports whether a text matches all patterns but one.
func (r *run) matchAll(patterns []string, but, v string) bool {
	for _, text := range patterns {
		if text != but && !r.g.patternOf(text).matches(v) {
			return false
		}
	}
	return true
}

func lengths(s span) string {
	switch {
	case s.least > 0 && s.most < many:
		return fmt.Sprintf(" and has %d to %d characters", s.least, s.most)
	case s.least > 0:
		return fmt.Sprintf(" and has %d characters or more", s.least)
	case s.most < many:
		return fmt.Sprintf(" and has at most %d characters", s.most)
	}
	return ""
}

// word generates a text of which only the length is prescribed.
func (r *run) word(s span, st *state) string {
	n := st.src.between(6, 12)
	switch {
	case st.sparse:
		n = 4
	case s.most <= 256 && st.src.oneIn(16):
		n = s.most
	case s.least > 0 && st.src.oneIn(16):
		n = s.least
	}
	n = min(max(n, s.least), s.most)
	out := word(&st.src, n)
	if r.g.cfg.Unicode && !st.sparse {
		for i := range out {
			if st.src.oneIn(4) {
				out[i] = exotic[st.src.below(len(exotic))]
			}
		}
	}
	return string(out)
}

// exotic are characters that programs stumble over: of two to four bytes, from right to
// left, combining, beyond the first plane, quotes and spaces.
var exotic = []rune("äßéÅñœΣжשعあ漢字한ğİﬁ😀𝔘\u0301\u00A0\u200B\"'\\/<>&%$ ")

// word makes n characters that can be pronounced, more or less.
func word(src *source, n int) []rune {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	out := make([]rune, n)
	for i := range out {
		from := consonants
		if i%2 == 1 {
			from = vowels
		}
		out[i] = rune(from[src.below(len(from))])
	}
	return out
}

// formats are texts of the formats that schemas use. Other formats are annotations.
var formats = map[string]func(*source) string{
	"date-time": func(s *source) string { return moment(s).Format(time.RFC3339) },
	"timestamp": func(s *source) string { return moment(s).Format(time.RFC3339) },
	"date":      func(s *source) string { return moment(s).Format(time.DateOnly) },
	"time":      func(s *source) string { return moment(s).Format("15:04:05Z") },
	"email":     func(s *source) string { return string(word(s, 8)) + "@example.com" },
	"uri":       func(s *source) string { return "https://example.com/" + string(word(s, 8)) },
	"hostname":  func(s *source) string { return string(word(s, 8)) + ".example.com" },
	"ipv4":      func(s *source) string { return "192.0.2." + strconv.Itoa(s.between(1, 254)) },
	"ipv6":      func(s *source) string { return fmt.Sprintf("2001:db8::%x", s.between(1, 0xfffe)) },
	"int32":     func(s *source) string { return strconv.Itoa(s.between(1, 1000)) },
	"int64":     func(s *source) string { return strconv.Itoa(s.between(1, 1000)) },
	"double":    func(s *source) string { return strconv.Itoa(s.between(1, 1000)) + ".5" },
	"uuid": func(s *source) string {
		a, b := s.next(), s.next()
		return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&(1<<48-1))
	},
	"arn": func(s *source) string {
		return "arn:aws:service:us-east-1:000000000000:thing/" + string(word(s, 8))
	},
}

// moment is a second in 2021 to 2023: in the past, so that nothing has to wait.
func moment(s *source) time.Time {
	return time.Unix(int64(1_610_000_000+s.below(90_000_000)), 0).UTC()
}
