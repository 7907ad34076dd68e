package stub

import (
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// check compares the input of a call with the constraints of its shapes.
func (s *Stub) check(c *call) *fault {
	var found problems
	k := checker{makers: s.makers, problems: &found, partial: c.merge, identifies: s.identifies}
	for _, m := range c.op.Params {
		v, set := c.params[m.In][m.Name]
		at := m.In.String() + " " + m.Name
		switch {
		case set:
			k.value(m.Shape, v, at)
		case m.Required && m.Default == nil:
			found.add(at, "missing value")
		}
	}
	if c.op.Body != nil && !c.patch {
		at := ""
		if c.op.BodyMember != "" {
			at = c.op.BodyMember
		}
		if c.body == nil && c.op.BodyMember == "" && c.op.Body.Kind == api.Structure {
			c.body = map[string]any{}
		}
		if c.body != nil {
			k.value(c.op.Body, c.body, at)
		}
	}
	return found.fault()
}

// identifies reports whether a text is the identifier or the ARN of a resource.
func (s *Stub) identifies(text string) bool {
	for _, i := range s.state.Items {
		arn, _ := i.get(variants(i.Resource, "arn"))
		if text != "" && slices.Contains([]string{i.Key[len(i.Key)-1], i.ARN, textOf(arn)}, text) {
			return true
		}
	}
	return false
}

// A checker applies constraints.
type checker struct {
	makers     *makers
	problems   *problems
	partial    bool              // required members may be missing
	identifies func(string) bool // such a text is valid; nil if none is
}

func (k checker) value(shape *api.Shape, v any, at string) {
	if v == nil {
		return
	}
	switch value := v.(type) {
	case string:
		before := len(*k.problems)
		k.text(shape, value, at)
		if len(*k.problems) > before && k.identifies != nil && k.identifies(value) { // patterns in models contradict each other
			*k.problems = (*k.problems)[:before]
		}
	case json.Number:
		k.number(shape, value, at)
	case []any:
		k.length(shape, len(value), "items", at)
		seen := map[string]bool{}
		for i, element := range value {
			where := at + "[" + strconv.Itoa(i) + "]"
			if shape.Unique {
				text, _ := json.Marshal(element)
				if seen[string(text)] {
					k.problems.add(where, "the value is in the list already")
				}
				seen[string(text)] = true
			}
			if shape.Item != nil {
				k.value(shape.Item, element, where)
			}
		}
	case map[string]any:
		if shape.Kind == api.Map {
			k.length(shape, len(value), "keys", at)
			for key, element := range value {
				if shape.Key != nil {
					k.text(shape.Key, key, at+"."+key)
				}
				k.value(shape.Item, element, at+"."+key)
			}
			return
		}
		k.members(shape, value, at)
	}
}

func (k checker) members(shape *api.Shape, value map[string]any, at string) {
	for _, m := range shape.Members {
		v, set := value[m.Name]
		where := at + "." + m.Name
		switch {
		case m.ReadOnly && set:
			k.problems.add(where, "the member is read-only")
		case set:
			k.value(m.Shape, v, where)
		case m.Required && !m.ReadOnly && !m.Token && m.Default == nil && !k.partial && shape.Kind != api.Union:
			k.problems.add(where, "missing value")
		}
	}
}

func (k checker) length(shape *api.Shape, n int, what, at string) {
	if shape.MinLen != nil && n < *shape.MinLen {
		k.problems.add(at, "has %d %s; the minimum is %d", n, what, *shape.MinLen)
	}
	if shape.MaxLen != nil && n > *shape.MaxLen {
		k.problems.add(at, "has %d %s; the maximum is %d", n, what, *shape.MaxLen)
	}
}

func (k checker) text(shape *api.Shape, value, at string) {
	switch shape.Kind {
	case api.Timestamp, api.Any, api.Integer, api.Number:
		return
	case api.Blob:
		if data, err := base64.StdEncoding.DecodeString(value); err == nil {
			k.length(shape, len(data), "bytes", at)
		}
		return
	}
	k.length(shape, utf8.RuneCountInString(value), "characters", at)
	if len(shape.Enum) > 0 && !slices.Contains(shape.Enum, value) {
		k.problems.add(at, "the value is not one of %s", strings.Join(shape.Enum[:min(len(shape.Enum), 20)], ", "))
	}
	if !k.makers.matches(shape.Pattern, value) {
		k.problems.add(at, "the value does not match the pattern %s", cut(shape.Pattern))
	}
	if !validFormat(shape.Format, value) {
		k.problems.add(at, "the value is not in the format %s", shape.Format)
	}
}

func (k checker) number(shape *api.Shape, value json.Number, at string) {
	n, ok := exact(value.String())
	if !ok {
		return
	}
	if bits, sized := sizes[shape.Format]; sized && shape.Kind == api.Integer {
		limit := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), bits-1))
		if n.Cmp(limit) >= 0 || n.Cmp(new(big.Rat).Neg(limit)) < 0 {
			k.problems.add(at, "%s does not fit into %d bits", quoted(shape, value.String()), bits)
		}
	}
	if least, ok := exact(shape.Minimum); ok && n.Cmp(least) < 0 {
		k.problems.add(at, "%s is less than the minimum of %s", quoted(shape, value.String()), shape.Minimum)
	}
	if most, ok := exact(shape.Maximum); ok && n.Cmp(most) > 0 {
		k.problems.add(at, "%s is more than the maximum of %s", quoted(shape, value.String()), shape.Maximum)
	}
}

// sizes are the bits of the formats of integers.
var sizes = map[string]uint{"int8": 8, "int16": 16, "int32": 32, "int64": 64}

// exact reads a number, unless its exponent would make it too large.
func exact(text string) (*big.Rat, bool) {
	if f, err := strconv.ParseFloat(text, 64); err != nil || f != 0 && (f < 1e-300 && f > -1e-300) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

var uuidText = lazyregexp.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// validFormat checks the formats of OpenAPI that have one meaning.
func validFormat(format, value string) bool {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, value)
	case "uuid":
		return uuidText.MatchString(value)
	case "ipv4":
		var a netip.Addr
		a, err = netip.ParseAddr(value)
		return err == nil && a.Is4()
	case "ipv6":
		var a netip.Addr
		a, err = netip.ParseAddr(value)
		return err == nil && a.Is6()
	case "regex":
		_, err = regexp.Compile(value)
	}
	return err == nil
}
