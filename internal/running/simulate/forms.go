package simulate

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

//go:embed forms.txt
var formsText string

// A form is what a property looks like. Its text is described in forms.txt.
type form struct {
	at   document.Pointer
	text string
}

// known are the forms of forms.txt.
type known struct {
	types    map[string][]form // by type, in the order of the file
	every    map[string]string // by the name of a property, of any type
	services map[string]string // the service in an ARN, by the one in the name of a type
}

var forms = sync.OnceValue(func() known {
	k := known{types: map[string][]form{}, every: map[string]string{}, services: map[string]string{}}
	for line := range strings.Lines(formsText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		of, rest, _ := strings.Cut(line, " ")
		property, text, _ := strings.Cut(rest, " ")
		switch of {
		case "service":
			k.services[property] = text
		case "*":
			k.every[property] = text
		default:
			k.types[of] = append(k.types[of], form{strings.Split(property, "."), text})
		}
	}
	return k
})

// formOf is the form of a property, "" if none is known.
func formOf(typeName string, at document.Pointer) string {
	for _, f := range forms().types[typeName] {
		if slices.Equal(f.at, at) {
			return f.text
		}
	}
	return forms().every[at[len(at)-1]]
}

// members are the values of a list in a form.
func (m *maker) members(form string) []any {
	out := []any{}
	for _, member := range strings.Fields(form) {
		if of, found := strings.CutPrefix(member, "@"); found {
			for _, value := range m.listed(of) {
				out = append(out, value)
			}
			continue
		}
		count := 1
		if times, rest, found := strings.Cut(member, "*"); found && !strings.Contains(times, "$") {
			count, member = m.count(times), rest
		}
		for range count {
			out = append(out, m.expand(member))
		}
	}
	return out
}

// listed are values of the objects in a list of the resource: "LIST.PROPERTY?KEY=VALUE" of those with the value, "!=" of those
// with others.
func (m *maker) listed(of string) []string {
	name, condition, _ := strings.Cut(of, "?")
	list, property, _ := strings.Cut(name, ".")
	key, want, _ := strings.Cut(condition, "=")
	key, not := strings.CutSuffix(key, "!")
	var out []string
	members, _ := m.model[list].([]any)
	for _, member := range members[:min(len(members), maxMembers)] {
		object, _ := member.(map[string]any)
		if value := object[property]; value != nil && (text(object[key]) == want) != not {
			out = append(out, text(value))
		}
	}
	return out
}

// maxMembers bounds a list whose length an input sets.
const maxMembers = 64

// count is a number in a form, or what a property says: its value, or the length of its list.
func (m *maker) count(of string) int {
	n, err := strconv.Atoi(of)
	if err != nil {
		switch v := m.model[of].(type) {
		case []any:
			n = len(v)
		case nil:
		default:
			n, _ = strconv.Atoi(text(v))
		}
	}
	return min(max(n, 0), maxMembers)
}

// expand fills a form in.
func (m *maker) expand(form string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(form, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		variable, after, _ := strings.Cut(rest, "}")
		form = after
		b.WriteString(m.variable(variable))
	}
}

// variable is the first alternative of a variable that has a value.
func (m *maker) variable(alternatives string) string {
	for alternative := range strings.SplitSeq(alternatives, "|") {
		if of, found := strings.CutPrefix(alternative, "@"); found {
			if values := m.listed(of); len(values) > 0 {
				return values[0]
			}
			continue
		}
		name, ops := alternative, ""
		if i := strings.IndexAny(alternative, "#%&!?"); i >= 0 {
			name, ops = alternative[:i], alternative[i:]
		}
		value, isText := strings.CutPrefix(name, "'")
		switch {
		case isText:
		case name[0] >= 'A' && name[0] <= 'Z':
			value = m.property(strings.Split(name, "."))
		default:
			value = m.builtin(name)
		}
		if value = altered(value, ops); value != "" {
			return value
		}
	}
	return ""
}

// property is the value of a property as text; what it has not got yet is made up.
func (m *maker) property(at document.Pointer) string {
	value, set := at.Find(m.model)
	if !set && m.depth < maxDepth && (m.typ.IsReadOnly(at) || formOf(m.request.Type, at) != "") && m.typ.Property(at) != nil {
		m.fill(at)
		value, set = at.Find(m.model)
	}
	if !set || value == nil {
		return ""
	}
	return text(value)
}

// altered is a value after the operations that follow it in a variable.
func altered(value, ops string) string {
	for ops != "" {
		op := ops[0]
		ops = ops[1:]
		end := strings.IndexAny(ops, "#%&!?")
		if end < 0 {
			end = len(ops)
		}
		var arg string
		arg, ops = ops[:end], ops[end:]
		switch op {
		case '#':
			if _, behind, found := strings.Cut(value, arg); found {
				value = behind
			}
		case '%':
			value, _, _ = strings.Cut(value, arg)
		case '!':
			value = strings.ReplaceAll(value, ".", "-")
		case '&':
			if value != "" {
				value = arg + value
			}
		case '?':
			value = mapped(value, arg)
		}
	}
	return value
}

func mapped(value, entries string) string {
	for entry := range strings.SplitSeq(entries, ",") {
		key, to, _ := strings.Cut(entry, "=")
		switch {
		case key != value && key != "*":
		case to == "*":
			return value
		default:
			return to
		}
	}
	return ""
}

const (
	hexDigits = "0123456789abcdef"
	digits    = "0123456789"
	lowers    = "abcdefghijklmnopqrstuvwxyz"
	uppers    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// builtin is a variable that does not name a property.
func (m *maker) builtin(name string) string {
	caller := m.request.Caller
	kind, length, _ := strings.Cut(name, ":")
	n, _ := strconv.Atoi(length)
	switch kind {
	case "partition":
		return awswire.PartitionOf(caller.Region)
	case "region":
		return caller.Region
	case "account":
		return caller.Account
	case "service":
		service, _ := m.typeParts()
		if known := forms().services[service]; known != "" {
			return known
		}
		return strings.ToLower(service)
	case "dns":
		return awswire.DomainOf(caller.Region)
	case "name", "lowname":
		if n == 0 {
			n = 255
		}
		made := m.physicalName(n)
		if kind == "lowname" {
			made = strings.ToLower(made)
		}
		return made
	case "hex":
		return m.random(n, hexDigits)
	case "low":
		return m.random(n, digits+lowers)
	case "up":
		return m.random(n, digits+uppers)
	case "num":
		return m.random(1, digits[1:]) + m.random(n-1, digits)
	case "mix":
		return m.random(n, digits+lowers+uppers)
	case "uuid":
		return m.uuid()
	case "now":
		return m.timestamp()
	case "n":
		return strconv.Itoa(m.attempt + 1)
	case "ip":
		return "10.0." + m.byte() + "." + m.byte()
	case "publicip": // of the network for benchmarks, in which nobody is
		return "198.18." + m.byte() + "." + m.byte()
	case "net6":
		return "2001:db8:" + m.random(4, hexDigits[1:]) + ":" + m.random(2, hexDigits[1:]) + "00::/56"
	}
	return ""
}
