package console

import (
	"strconv"
	"strings"
)

// A piece is a part of a log line with the classes of its colours, "" for none.
type piece struct {
	Text  string `json:"t"`
	Class string `json:"c,omitempty"`
}

// maxLine is how many bytes of a log line are shown.
const maxLine = 8 << 10

// pieces reads the colours of a terminal out of a line: the sixteen that have names, bold,
// faint, italic and underlined. All other sequences and control characters are dropped.
func pieces(line string) []piece {
	cut := len(line) > maxLine
	if cut {
		line = line[:maxLine]
	}
	var (
		out   []piece
		style pen
	)
	emit := func(text string) {
		text = bounded(strings.ReplaceAll(text, "\n", " "), maxLine)
		if text == "" {
			return
		}
		class := style.class()
		if last := len(out) - 1; last >= 0 && out[last].Class == class {
			out[last].Text += text
			return
		}
		out = append(out, piece{text, class})
	}
	for {
		i := strings.IndexByte(line, 0x1b)
		if i < 0 {
			emit(line)
			break
		}
		emit(line[:i])
		var parameters string
		var colours bool
		parameters, colours, line = escape(line[i+1:])
		if colours {
			style.apply(parameters)
		}
	}
	if cut {
		out = append(out, piece{" …", ""})
	}
	return out
}

// escape reads what follows an escape character: whether it sets colours, with which
// parameters, and what comes after it.
func escape(text string) (parameters string, colours bool, rest string) {
	if text == "" {
		return "", false, ""
	}
	switch text[0] {
	case '[': // CSI: parameters, then one final byte
		for i := 1; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return text[1:i], c == 'm', text[i+1:]
			} else if c < 0x20 || c > 0x7e {
				return "", false, text[i:]
			}
		}
		return "", false, ""
	case ']', 'P', 'X', '^', '_': // strings, up to BEL or ESC \
		for i := 1; i < len(text); i++ {
			if text[i] == 0x07 {
				return "", false, text[i+1:]
			}
			if text[i] == 0x1b {
				return "", false, strings.TrimPrefix(text[i+1:], `\`)
			}
		}
		return "", false, ""
	}
	if text[0] < 0x20 || text[0] > 0x7e {
		return "", false, text
	}
	return "", false, text[1:]
}

// A pen is the style of text after some sequences. Colors are 1 to 16; 0 is the default.
type pen struct {
	front, back                    int
	bold, faint, italic, underline bool
}

func (p *pen) apply(parameters string) {
	codes := strings.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		*p = pen{}
		return
	}
	for i := 0; i < len(codes); i++ {
		code, err := strconv.Atoi(codes[i])
		if err != nil {
			return
		}
		switch {
		case code == 0:
			*p = pen{}
		case code == 1:
			p.bold = true
		case code == 2:
			p.faint = true
		case code == 3:
			p.italic = true
		case code == 4:
			p.underline = true
		case code == 22:
			p.bold, p.faint = false, false
		case code == 23:
			p.italic = false
		case code == 24:
			p.underline = false
		case code >= 30 && code <= 37:
			p.front = code - 29
		case code >= 90 && code <= 97:
			p.front = code - 81
		case code == 39:
			p.front = 0
		case code >= 40 && code <= 47:
			p.back = code - 39
		case code >= 100 && code <= 107:
			p.back = code - 91
		case code == 49:
			p.back = 0
		case code == 38 || code == 48:
			var colour int
			colour, i = extended(codes, i)
			if code == 38 {
				p.front = colour
			} else {
				p.back = colour
			}
		}
	}
}

// extended reads 38;5;N and 38;2;R;G;B. Only the sixteen named colors are supported; others
// are ignored. It returns the index of the last code that it read.
func extended(codes []string, i int) (colour, last int) {
	if i+1 >= len(codes) {
		return 0, len(codes)
	}
	switch codes[i+1] {
	case "5":
		if i+2 < len(codes) {
			if n, err := strconv.Atoi(codes[i+2]); err == nil && n >= 0 && n < 16 {
				colour = n + 1
			}
		}
		return colour, i + 2
	case "2":
		return 0, i + 4
	}
	return 0, i + 1
}

func (p *pen) class() string {
	var classes []string
	for _, c := range []struct {
		on   bool
		name string
	}{
		{p.front > 0, "f" + strconv.Itoa(p.front)}, {p.back > 0, "b" + strconv.Itoa(p.back)},
		{p.bold, "bold"}, {p.faint, "faint"}, {p.italic, "italic"}, {p.underline, "underline"},
	} {
		if c.on {
			classes = append(classes, c.name)
		}
	}
	return strings.Join(classes, " ")
}
