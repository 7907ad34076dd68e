package template

import (
	"context"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// A Supplied parameter is one that the caller of an operation gave.
type Supplied struct {
	Key         string
	Value       string
	HasValue    bool // distinguishes "" from no default
	UsePrevious bool

	// Unknown means that the value is not known yet: a change set of a nested stack has
	// parameters whose values exist only after its execution. A Ref to one is [Unknown];
	// conditions and rules use Value, or the value that the stack has.
	Unknown bool
}

// BindInput is what parameters are bound from.
type BindInput struct {
	Supplied []Supplied

	// Previous are the current parameters of the stack, nil for a new one.
	Previous *Parameters

	// Store answers for parameters of the types AWS::SSM::Parameter::Value<…>. nil has none.
	Store ParameterStore
}

// A ParameterStore has the values behind parameters of the types AWS::SSM::Parameter::Value<…>.
type ParameterStore interface {
	// StoredParameters returns the existing parameters with the names NAME or NAME:VERSION, by
	// the requested name.
	StoredParameters(ctx context.Context, names []string) (map[string]Stored, error)
}

// Stored is a parameter of the store.
type Stored struct {
	Type  string // String, StringList, SecureString
	Value string
}

// A Bound is a parameter with its value.
type Bound struct {
	Key      string `json:"key"`
	Value    string `json:"value"`              // as given; the name of the SSM parameter for stored types
	Resolved string `json:"resolved,omitempty"` // the value behind a stored type
	Stored   bool   `json:"stored,omitempty"`
	List     bool   `json:"list,omitempty"`
	NoEcho   bool   `json:"noEcho,omitempty"`
	Unknown  bool   `json:"unknown,omitempty"` // Value is not the one that it will have
}

// Shown is the value as the service shows it: **** for NoEcho.
func (b Bound) Shown() string {
	if b.NoEcho {
		return Mask
	}
	return b.Value
}

// ShownResolved is Resolved as the service shows it.
func (b Bound) ShownResolved() string {
	if b.NoEcho {
		return Mask
	}
	return b.Resolved
}

// Mask replaces values that are not shown.
const Mask = "****"

// effective is the value of a Ref, as text.
func (b Bound) effective() string {
	if b.Stored {
		return b.Resolved
	}
	return b.Value
}

// ref is what a Ref to the parameter evaluates to.
func (b Bound) ref() any {
	if b.Unknown {
		return Unknown
	}
	return b.any()
}

// any is the value of the parameter, of one that is not known yet the one that decides.
func (b Bound) any() any {
	if b.List {
		return splitList(b.effective())
	}
	return b.effective()
}

// splitList splits a comma-delimited list; blanks around the items do not count.
func splitList(s string) []any {
	if s == "" {
		return []any{}
	}
	out := make([]any, 0, strings.Count(s, ",")+1)
	for part := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(part))
	}
	return out
}

// Parameters are the bound parameters of a template, in its order. They can be stored as JSON.
type Parameters struct {
	Bound []Bound `json:"bound"`
}

// Get returns a parameter. It returns false if the name is unknown.
func (p *Parameters) Get(name string) (Bound, bool) {
	if p == nil {
		return Bound{}, false
	}
	for _, b := range p.Bound {
		if b.Key == name {
			return b, true
		}
	}
	return Bound{}, false
}

// Equal reports whether both have the same keys and effective values.
func (p *Parameters) Equal(q *Parameters) bool {
	if p == nil || q == nil {
		return (p == nil || len(p.Bound) == 0) && (q == nil || len(q.Bound) == 0)
	}
	return len(p.Bound) == len(q.Bound) && !slices.ContainsFunc(p.Bound, func(b Bound) bool {
		other, ok := q.Get(b.Key)
		return !ok || other != b
	})
}

// Bind checks the supplied parameters against the declarations and returns all parameters
// with their values. The error is [Errors], or that of the store.
func (t *Template) Bind(ctx context.Context, in BindInput) (*Parameters, error) {
	var r report
	values, unknown := t.suppliedValues(in, &r)
	if r.errs != nil {
		return nil, r.err()
	}
	out := &Parameters{}
	for _, p := range t.Parameters {
		value, ok := values[p.Name]
		if !ok {
			continue
		}
		if !unknown[p.Name] {
			p.checkValue(value, &r)
		}
		out.Bound = append(out.Bound, Bound{
			Key: p.Name, Value: value, Stored: p.IsStored() && !unknown[p.Name], List: p.IsList(), NoEcho: p.NoEcho, Unknown: unknown[p.Name],
		})
	}
	if r.errs != nil {
		return nil, r.err()
	}
	if err := t.fetch(ctx, in.Store, out, &r); err != nil {
		return nil, err
	}
	if r.errs != nil {
		return nil, r.err()
	}
	return out, nil
}

// suppliedValues finds the value of each declared parameter, and those that are not known.
func (t *Template) suppliedValues(in BindInput, r *report) (values map[string]string, unknown map[string]bool) {
	values, unknown = map[string]string{}, map[string]bool{}
	seen := map[string]bool{}
	var undeclared, repeated []string
	for _, s := range in.Supplied {
		declared := t.parameters[s.Key] != nil
		previous, had := in.Previous.Get(s.Key)
		switch {
		case seen[s.Key]:
			repeated = append(repeated, s.Key)
		case s.UsePrevious && s.Value != "":
			r.add("previous-value", t.at(s.Key), nil, s.Key)
		case s.UsePrevious && !had:
			r.add("previous-missing", t.at(s.Key), nil, s.Key)
		case !declared:
			undeclared = append(undeclared, s.Key)
		case s.Unknown:
			unknown[s.Key], values[s.Key] = true, s.Value
			if had {
				values[s.Key] = previous.Value
			}
		case s.UsePrevious:
			values[s.Key] = previous.Value
		case s.HasValue || s.Value != "":
			values[s.Key] = s.Value
		}
		seen[s.Key] = true
	}
	if undeclared != nil {
		r.add("parameter-undeclared", diag.Range{File: t.name}, nil, list(undeclared))
	}
	if repeated != nil {
		r.add("parameter-repeated", diag.Range{File: t.name}, nil, list(repeated))
	}
	t.defaults(values, r)
	return values, unknown
}

func (t *Template) at(parameter string) diag.Range {
	if p := t.parameters[parameter]; p != nil {
		return p.At
	}
	return diag.Range{File: t.name}
}

// defaults fills in the default values and refuses what has no value then.
func (t *Template) defaults(values map[string]string, r *report) {
	var missing []string
	for _, p := range t.Parameters {
		if _, ok := values[p.Name]; ok {
			continue
		}
		switch {
		case p.Default != nil:
			values[p.Name] = *p.Default
		case p.IsStored():
			r.add("parameter-ssm-value", p.At, nil, p.Name)
		default:
			missing = append(missing, p.Name)
		}
	}
	if missing != nil {
		r.add("parameter-missing", t.at(missing[0]), nil, list(missing))
	}
}

// checkValue holds a value to the constraints. Those of stored types are about the name.
func (p *Parameter) checkValue(value string, r *report) {
	if len(value) > MaxValue {
		r.add("value-long", p.At, nil, p.Name)
		return
	}
	items := []string{value}
	if p.IsList() && !p.IsStored() {
		items = nil
		for _, item := range splitList(value) {
			items = append(items, item.(string))
		}
	}
	for _, item := range items {
		id, arg := p.violates(item, &r.slow)
		if id == "" {
			continue
		}
		switch {
		case p.ConstraintDescription != "" && id != "value-number":
			r.add("value-constraint", p.At, nil, p.Name, p.ConstraintDescription)
		case arg == "":
			r.add(id, p.At, nil, p.Name)
		default:
			r.add(id, p.At, nil, p.Name, arg)
		}
		return
	}
}

// violates returns the refusal that a value deserves, and what it is held to. Slow counts the matches that took too long.
func (p *Parameter) violates(value string, slow *int) (id, arg string) {
	number, isNumber := parseNumber(value)
	if p.number() && !isNumber {
		return "value-number", ""
	}
	if len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, value) {
		return "value-allowed", ""
	}
	if p.pattern != nil && !p.pattern.matches(value, slow) {
		return "value-pattern", p.AllowedPattern
	}
	length := strconv.Itoa(utf8.RuneCountInString(value))
	switch {
	case p.MaxLength != "" && compareNumbers(length, p.MaxLength) > 0:
		return "value-max-length", p.MaxLength
	case p.MinLength != "" && compareNumbers(length, p.MinLength) < 0:
		return "value-min-length", p.MinLength
	case p.MinValue != "" && (!isNumber || number.Cmp(mustNumber(p.MinValue)) < 0):
		return "value-min", p.MinValue
	case p.MaxValue != "" && (!isNumber || number.Cmp(mustNumber(p.MaxValue)) > 0):
		return "value-max", p.MaxValue
	}
	return "", ""
}

// parseNumber reads a decimal number. Exponents are bounded: they would take any memory.
func parseNumber(s string) (*big.Float, bool) {
	s = strings.TrimSpace(s)
	if _, err := strconv.ParseFloat(s, 64); err != nil || strings.ContainsAny(s, "xXpP_iInN") {
		return nil, false
	}
	f, _, err := big.ParseFloat(s, 10, 256, big.ToNearestEven)
	return f, err == nil
}

func mustNumber(s string) *big.Float {
	if f, ok := parseNumber(s); ok {
		return f
	}
	return new(big.Float)
}

func compareNumbers(a, b string) int { return mustNumber(a).Cmp(mustNumber(b)) }

// fetch gets the values behind the stored parameters.
func (t *Template) fetch(ctx context.Context, store ParameterStore, out *Parameters, r *report) error {
	var names []string
	for _, b := range out.Bound {
		if b.Stored && !slices.Contains(names, b.Value) {
			names = append(names, b.Value)
		}
	}
	if names == nil {
		return nil
	}
	found := map[string]Stored{}
	if store != nil {
		var err error
		if found, err = store.StoredParameters(ctx, names); err != nil {
			return err
		}
	}
	var missing, secure, incompatible []string
	for i, b := range out.Bound {
		if !b.Stored {
			continue
		}
		stored, ok := found[b.Value]
		switch {
		case !ok && t.parameters[b.Key].Default == nil:
			r.add("parameter-ssm-value", t.at(b.Key), nil, b.Key)
		case !ok:
			missing = appendNew(missing, b.Value)
		case stored.Type == "SecureString":
			secure = appendNew(secure, b.Value)
		case (stored.Type == "StringList") != b.List:
			incompatible = appendNew(incompatible, b.Value)
		}
		out.Bound[i].Resolved = stored.Value
		if b.List {
			out.Bound[i].Resolved = trimItems(stored.Value)
		}
	}
	at := diag.Range{File: t.name}
	if missing != nil {
		r.add("store-missing", at, nil, list(missing))
	}
	if secure != nil {
		r.add("store-secure", at, nil, list(secure))
	}
	if incompatible != nil {
		r.add("store-type", at, nil, list(incompatible))
	}
	return nil
}

// trimItems removes blanks around the items of a list.
func trimItems(value string) string {
	parts := strings.Split(value, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, ",")
}

func appendNew(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}
