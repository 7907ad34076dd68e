package awswire

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// A Constraint is what a member of an input must satisfy. Its zero fields say nothing.
type Constraint struct {
	// Member is the path of the member from the input, in wire names:
	//
	//	StackName         a member of the input
	//	Logging.Role      a member of a structure
	//	Tags[].Key        a member of the structures in a list, or of the values of a map
	//	Capabilities[]    the elements of a list, or the values of a map, themselves
	//	Identifier[key]   the keys of a map
	Member string
	// Required members must be set. A member of an absent structure is not required. Go cannot
	// distinguish an absent bool or number from its zero unless the SDK has a pointer to it,
	// so Required is an error there.
	Required bool
	// Pattern is a regular expression that the whole of a string must match. What Go's
	// regexp does not know, such as a lookahead, is matched by regexp2.
	Pattern string
	// MinLength and MaxLength bound a string in characters, a list or map in elements, a
	// blob in bytes. Zero does not bound.
	MinLength, MaxLength int
	// Min and Max bound a number. Nil does not bound.
	Min, Max *int64
	// Enum are the values that a string may have. Nil means those that its Go type knows,
	// and any for a plain string.
	Enum []string
	// Secret values are not repeated in messages, nor anything below them.
	Secret bool
}

// maxEcho bounds in bytes how much of a value a message repeats, and maxViolations how
// many violations it has.
const (
	maxEcho       = 4096
	maxViolations = 100
)

// rules are the constraints on one place of an input and on what is below it.
type rules struct {
	required       bool
	secret         bool
	pattern        string
	match          func(string) bool
	minLen, maxLen int
	min, max       *int64
	enum           []string

	members map[int]*rules // by index in shape.members
	elem    *rules
	key     *rules
}

// compileConstraints makes the tree of an input's constraints.
func compileConstraints(input *shape, list []Constraint) (*rules, error) {
	root := &rules{}
	for _, c := range list {
		at, sh, err := root.place(input, c.Member)
		if err != nil {
			return nil, fmt.Errorf("constraint on %q: %w", c.Member, err)
		}
		if err := at.take(sh, c); err != nil {
			return nil, fmt.Errorf("constraint on %q: %w", c.Member, err)
		}
	}
	return root, nil
}

// place returns the node at a path, creating it if it does not exist.
func (r *rules) place(sh *shape, path string) (*rules, *shape, error) {
	for _, step := range strings.Split(strings.NewReplacer("[]", ".[]", "[key]", ".[key]").Replace(path), ".") {
		var next **rules
		switch {
		case step == "[key]" && sh.kind == kindMap:
			next, sh = &r.key, sh.key
		case step == "[]" && (sh.kind == kindMap || sh.kind == kindList):
			next, sh = &r.elem, sh.elem
		default:
			i, ok := sh.byName[step]
			if !ok {
				return nil, nil, fmt.Errorf("unknown name %q", step)
			}
			if r.members == nil {
				r.members = map[int]*rules{}
			}
			held := r.members[i]
			if held == nil {
				held = &rules{}
				r.members[i] = held
			}
			r, sh = held, sh.members[i].shape
			continue
		}
		if *next == nil {
			*next = &rules{}
		}
		r = *next
	}
	return r, sh, nil
}

// take adds what c says.
func (r *rules) take(sh *shape, c Constraint) (err error) {
	number := sh.kind == kindInt || sh.kind == kindFloat
	sized := slices.Contains([]kind{kindString, kindBlob, kindList, kindMap}, sh.kind)
	switch {
	case c.Required && !sh.pointer && (number || sh.kind == kindBool || sh.kind == kindTime):
		return fmt.Errorf("absent cannot be distinguished from zero")
	case (c.Pattern != "" || c.Enum != nil) && sh.kind != kindString:
		return fmt.Errorf("it is not a string")
	case (c.MinLength != 0 || c.MaxLength != 0) && !sized:
		return fmt.Errorf("it has no length")
	case (c.Min != nil || c.Max != nil) && !number:
		return fmt.Errorf("it is not a number")
	}
	if c.Pattern != "" {
		if r.match, err = compilePattern(c.Pattern); err != nil {
			return err
		}
		r.pattern = c.Pattern
	}
	r.required, r.secret = c.Required, c.Secret
	r.minLen, r.maxLen, r.min, r.max, r.enum = c.MinLength, c.MaxLength, c.Min, c.Max, c.Enum
	return nil
}

// compilePattern compiles a matcher of whole strings. A pattern that only regexp2 supports may
// backtrack: a match that takes longer than half a second does not count.
func compilePattern(pattern string) (func(string) bool, error) {
	if re, err := regexp.Compile(`\A(?:` + pattern + `)\z`); err == nil {
		return re.MatchString, nil
	}
	re, err := regexp2.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = 500 * time.Millisecond
	return func(s string) bool {
		ok, err := re.MatchString(s)
		return err == nil && ok
	}, nil
}

// A checker collects the violations in one input.
type checker struct {
	violations []string
	count      int
}

// check holds an input to the constraints of its operation.
func (t *Table) check(o *operation, in reflect.Value) error {
	var c checker
	c.structure(o.input, o.rules, in, "", false)
	if c.count == 0 {
		return nil
	}
	code := t.ValidationCode
	if code == "" {
		code = "ValidationException"
		if t.Protocol == Query {
			code = "ValidationError"
		}
	}
	plural := "s"
	if c.count == 1 {
		plural = ""
	}
	return Errorf(code, http.StatusBadRequest, "%d validation error%s detected: %s", c.count, plural, strings.Join(c.violations, "; "))
}

// add notes a violation: shown is what the message says of the value.
func (c *checker) add(shown, path, what string) {
	c.count++
	if len(c.violations) < maxViolations {
		c.violations = append(c.violations, "Value "+shown+"at '"+path+"' failed to satisfy constraint: "+what)
	}
}

// value holds v, the value at path, to r and to what its shape says by itself.
func (c *checker) value(sh *shape, r *rules, v reflect.Value, path string, secret bool) {
	v, ok := sh.get(v)
	if !ok {
		if r != nil && r.required {
			c.add("null ", path, "Member must not be null")
		}
		return
	}
	secret = secret || r != nil && r.secret
	for _, what := range r.broken(sh, v) {
		c.add(shown(sh, v, secret), path, what)
	}
	switch sh.kind {
	case kindStructure:
		c.structure(sh, r, v, path, secret)
	case kindUnion:
		if m, inner, err := sh.variant(v); err == nil {
			c.value(m.shape, r.member(sh.byName[m.name]), inner, join(path, lowerFirst(m.name)), secret)
		}
	case kindList:
		c.list(sh, r, v, path, secret)
	case kindMap:
		c.mapping(sh, r, v, path, secret)
	}
}

func (c *checker) structure(sh *shape, r *rules, v reflect.Value, path string, secret bool) {
	for i, m := range sh.members {
		c.value(m.shape, r.member(i), v.Field(m.index), join(path, lowerFirst(m.name)), secret)
	}
}

// list holds the elements of a list to their rules. Those of structures are called
// tags.1.member.key; of scalars the whole list is shown, with all that they must satisfy.
func (c *checker) list(sh *shape, r *rules, v reflect.Value, path string, secret bool) {
	var elem *rules
	if r != nil {
		elem = r.elem
	}
	for i := range v.Len() {
		if sh.elem.scalar() {
			held, ok := sh.elem.get(v.Index(i))
			if !ok && sh.elem.kind == kindString && !sh.elem.pointer {
				ok = true // the empty string in a list is a value
			}
			if ok && len(elem.broken(sh.elem, held)) > 0 {
				c.add(shown(sh, v, secret || elem != nil && elem.secret), path,
					"Member must satisfy constraint: ["+strings.Join(elem.all(sh.elem), ", ")+"]")
				return
			}
			continue
		}
		c.value(sh.elem, elem, v.Index(i), join(path, strconv.Itoa(i+1)+".member"), secret)
	}
}

func (c *checker) mapping(sh *shape, r *rules, v reflect.Value, path string, secret bool) {
	var key, elem *rules
	if r != nil {
		key, elem = r.key, r.elem
	}
	badKey, badValue := false, false
	for _, k := range sortedMapKeys(v) {
		badKey = badKey || len(key.broken(sh.key, k)) > 0
		if !sh.elem.scalar() {
			c.value(sh.elem, elem, v.MapIndex(k), join(path, k.String()+".member"), secret)
		} else if held, ok := sh.elem.get(v.MapIndex(k)); ok || sh.elem.kind == kindString && !sh.elem.pointer {
			badValue = badValue || len(elem.broken(sh.elem, held)) > 0
		}
	}
	if badKey {
		c.add("", path, "Map keys must satisfy constraint: ["+strings.Join(key.all(sh.key), ", ")+"]")
	}
	if badValue {
		c.add("", path, "Map value must satisfy constraint: ["+strings.Join(elem.all(sh.elem), ", ")+"]")
	}
}

func (sh *shape) scalar() bool {
	return !slices.Contains([]kind{kindStructure, kindUnion, kindList, kindMap, kindDocument}, sh.kind)
}

func (r *rules) member(i int) *rules {
	if r == nil {
		return nil
	}
	return r.members[i]
}

// values are those that an enumeration may have, nil for any.
func (r *rules) values(sh *shape) []string {
	if r != nil && r.enum != nil {
		return r.enum
	}
	return sh.enum
}

// broken returns the rules that v violates, as messages name them.
func (r *rules) broken(sh *shape, v reflect.Value) []string {
	var broken []string
	if enum := r.values(sh); enum != nil && !slices.Contains(enum, v.String()) {
		broken = append(broken, enumText(enum))
	}
	if r == nil {
		return broken
	}
	if r.match != nil && !r.match(v.String()) {
		broken = append(broken, patternText(r.pattern))
	}
	if r.maxLen > 0 && length(v) > r.maxLen {
		broken = append(broken, maxLenText(r.maxLen))
	}
	if length(v) < r.minLen {
		broken = append(broken, minLenText(r.minLen))
	}
	if r.max != nil && numberOf(v) > float64(*r.max) {
		broken = append(broken, maxText(*r.max))
	}
	if r.min != nil && numberOf(v) < float64(*r.min) {
		broken = append(broken, minText(*r.min))
	}
	return broken
}

// all are all the rules on a place, as messages say them.
func (r *rules) all(sh *shape) []string {
	var all []string
	if r != nil {
		if r.maxLen > 0 {
			all = append(all, maxLenText(r.maxLen))
		}
		if r.minLen > 0 {
			all = append(all, minLenText(r.minLen))
		}
		if r.match != nil {
			all = append(all, patternText(r.pattern))
		}
		if r.max != nil {
			all = append(all, maxText(*r.max))
		}
		if r.min != nil {
			all = append(all, minText(*r.min))
		}
	}
	if enum := r.values(sh); enum != nil {
		all = append(all, enumText(enum))
	}
	return all
}

func enumText(values []string) string {
	return "Member must satisfy enum value set: [" + strings.Join(values, ", ") + "]"
}
func patternText(p string) string { return "Member must satisfy regular expression pattern: " + p }
func maxLenText(n int) string {
	return "Member must have length less than or equal to " + strconv.Itoa(n)
}
func minLenText(n int) string {
	return "Member must have length greater than or equal to " + strconv.Itoa(n)
}
func maxText(n int64) string {
	return "Member must have value less than or equal to " + strconv.FormatInt(n, 10)
}
func minText(n int64) string {
	return "Member must have value greater than or equal to " + strconv.FormatInt(n, 10)
}

func length(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return utf8.RuneCountInString(v.String())
	case reflect.Slice, reflect.Map:
		return v.Len()
	default:
		return 0
	}
}

func numberOf(v reflect.Value) float64 {
	if v.CanFloat() {
		return v.Float()
	}
	return float64(v.Int())
}

// shown is what a message says of a value: 'text', '[a, b]' for a list of scalars, and
// nothing for what is secret or has no short text. It ends with a blank unless empty.
func shown(sh *shape, v reflect.Value, secret bool) string {
	var text string
	switch {
	case secret:
		return ""
	case (sh.kind == kindList || sh.kind == kindMap) && v.Len() == 0:
		text = "[]"
		if sh.kind == kindMap {
			text = "{}"
		}
	case sh.kind == kindList && sh.elem.scalar():
		var parts []string
		size := 0
		for i := range v.Len() {
			held, _ := sh.elem.get(v.Index(i))
			part := ""
			if !(sh.elem.pointer && held.Kind() == reflect.Pointer) {
				part, _ = scalarText(sh.elem, held)
			}
			parts = append(parts, part)
			if size += len(part); size > maxEcho {
				break
			}
		}
		text = "[" + strings.Join(parts, ", ") + "]"
	case sh.scalar():
		text, _ = scalarText(sh, v)
	default:
		return ""
	}
	if len(text) > maxEcho {
		text = strings.ToValidUTF8(text[:maxEcho], "") + "…"
	}
	return "'" + text + "' "
}
