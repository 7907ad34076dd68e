package codegen

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// goName converts any text to an exported Go identifier: letters and digits are kept, other
// characters end a word, and every word starts with a capital. An invalid or unexported name
// gets the prefix X.
func goName(text string) string {
	var b strings.Builder
	start := true
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			start = true
			continue
		case start:
			r = unicode.ToUpper(r)
		}
		start = false
		b.WriteRune(r)
	}
	name := b.String()
	if name == "" || !unicode.IsUpper([]rune(name)[0]) {
		return "X" + name
	}
	return name
}

// constName is the end of the name of an enum constant: ACTIVE and active become
// Active, IN_PROGRESS becomes InProgress, 1.5 becomes 1_5, -1 becomes Minus1.
func constName(value string) string {
	if value == "" {
		return "Empty"
	}
	var b strings.Builder
	if len(value) > 1 && value[0] == '-' && value[1] >= '0' && value[1] <= '9' {
		b.WriteString("Minus")
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		runes := []rune(word)
		if i > 0 && unicode.IsDigit(runes[0]) && unicode.IsDigit([]rune(words[i-1])[len([]rune(words[i-1]))-1]) {
			b.WriteByte('_')
		}
		if word == strings.ToUpper(word) {
			runes = []rune(strings.ToLower(word))
		}
		runes[0] = unicode.ToUpper(runes[0])
		b.WriteString(string(runes))
	}
	if len(words) == 0 {
		for _, r := range value {
			b.WriteString("U" + strings.ToUpper(strconv.FormatInt(int64(r), 16)))
		}
	}
	return b.String()
}

// A scope hands out names, each once.
type scope map[string]bool

// take returns the first free name of the wishes, or the last wish with a number.
func (s scope) take(wishes ...string) string {
	last := wishes[len(wishes)-1]
	for i := 2; ; i++ {
		for _, wish := range wishes {
			if !s[wish] {
				s[wish] = true
				return wish
			}
		}
		wishes = []string{last + strconv.Itoa(i)}
	}
}

// reserved are the names that the other files of a resource package declare.
func reserved() scope {
	s := scope{}
	for _, name := range []string{
		"Model", "TypeConfiguration", "TypeName", "Schema", "Configuration", "Handler", "Request", "Event",
		"Create", "Read", "Update", "Delete", "List", "PreCreate", "PreUpdate", "PreDelete",
	} {
		s[name] = true
	}
	return s
}

// nameDeclarations gives every declaration its Go name. Definitions come first, then the
// objects that are written in place (those nearer to the root before the deeper ones),
// then enums and unions, each ordered by name: a name never depends on the order in which
// a schema is written, and a new deeper object never takes the name of an older one.
func nameDeclarations(decls []*declaration, taken scope) {
	slices.SortStableFunc(decls, func(a, b *declaration) int {
		return cmp.Or(
			cmp.Compare(a.class, b.class),
			cmp.Compare(len(a.parts), len(b.parts)),
			cmp.Compare(btoi(a.wish() != goName(a.wish())), btoi(b.wish() != goName(b.wish()))),
			slices.Compare(a.parts, b.parts),
			cmp.Compare(a.kind, b.kind),
		)
	})
	for _, d := range decls {
		if d.name != "" {
			continue
		}
		wish := goName(d.wish())
		var long strings.Builder
		for _, part := range d.parts {
			long.WriteString(goName(part))
		}
		switch d.class {
		case classNamed:
			d.name = taken.take(wish, wish+"Type")
		case classInline:
			d.name = taken.take(wish, d.under+long.String(), d.under+long.String()+"Type")
		default:
			owner := "Model"
			if d.owner != nil {
				owner = d.owner.name
			}
			d.name = taken.take(owner+wish, owner+wish+"Value")
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// wish is the name of the schema that a declaration would like to have.
func (d *declaration) wish() string {
	if len(d.parts) == 0 {
		return ""
	}
	return d.parts[len(d.parts)-1]
}

// fieldNames gives every property of an object its Go field: names that are Go names
// already first, so that "Name" keeps its own next to "name".
func fieldNames(o *object, taken scope) map[string]string {
	names := map[string]string{}
	for _, exact := range []bool{true, false} {
		for _, p := range o.props {
			if name := goName(p.name); (name == p.name) == exact {
				names[p.name] = taken.take(name)
			}
		}
	}
	return names
}

func mapped[T any](list []T, f func(T) string) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = f(item)
	}
	return out
}

// A quoting is how sources in a language have lists of texts.
type quoting struct {
	quote      func(string) string
	begin, end string // of a list in a list
	width      int    // of items on one line; longer lists have lines of their own; 0 means no limit
}

var goQuoting = quoting{quote: strconv.Quote, begin: "{", end: "}"}

// list is the items of a list.
func (q quoting) list(texts []string) string {
	quoted := mapped(texts, q.quote)
	line := strings.Join(quoted, ", ")
	if q.width == 0 || len(line) <= q.width {
		return line
	}
	return "\n    " + strings.Join(quoted, ",\n    ") + ",\n"
}
