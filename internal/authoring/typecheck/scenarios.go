package typecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// The bounds of the work for one template.
const (
	maxCombinations = 512     // of values of parameters that decide conditions, for one part of the template
	maxScenarios    = 64      // scopes that one part is evaluated in
	maxScopes       = 1 << 13 // for the whole template
	maxTexts        = 16      // values tried for a parameter without AllowedValues
	maxAllowed      = 32      // values of AllowedValues tried for a parameter that decides no condition
)

// A scenario is one way in which the conditions and parameters of a template can turn out.
type scenario struct {
	*template.Scope

	varied string // the parameter that has another of its AllowedValues than the default: "Stage is prod"
}

// scenarios makes the scopes of a template.
type scenarios struct {
	t       *template.Template
	in      Input
	fixed   map[string]bool
	texts   []string
	made    int
	bounded bool                   // some combinations were left out
	byKey   map[string][]scenario  // by the parameters that vary
	single  map[string]*[]scenario // by the parameter whose AllowedValues vary
}

func newScenarios(t *template.Template, in Input) *scenarios {
	s := &scenarios{t: t, in: in, fixed: map[string]bool{}, texts: t.ConditionTexts(), byKey: map[string][]scenario{}, single: map[string]*[]scenario{}}
	for _, supplied := range in.Supplied {
		s.fixed[supplied.Key] = true
	}
	return s
}

// of returns the scenarios that differ for a part of the template: one for each combination of the conditions
// that it uses, and one for each allowed value of a parameter that it uses. The first one has the defaults of the
// parameters, or what was given.
func (s *scenarios) of(uses template.Uses) []scenario {
	var deciding []string
	for _, condition := range uses.Conditions {
		for _, name := range s.t.ConditionParameters(condition) {
			if !s.fixed[name] && !slices.Contains(deciding, name) {
				deciding = append(deciding, name)
			}
		}
	}
	slices.Sort(deciding)
	var out []scenario
	seen := map[string]bool{}
	for _, candidate := range s.combinations(deciding) {
		key := vector(candidate.Scope, uses.Conditions)
		if seen[key] {
			continue
		}
		if len(out) == maxScenarios {
			s.bounded = true
			break
		}
		seen[key] = true
		out = append(out, candidate)
	}
	for _, name := range uses.Parameters {
		if !s.fixed[name] && !slices.Contains(deciding, name) {
			out = append(out, s.variations(name)...)
		}
	}
	return out
}

func vector(scope *template.Scope, conditions []string) string {
	var b strings.Builder
	for _, name := range conditions {
		if scope.Holds(name) {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String()
}

// combinations returns the scopes for the values of some parameters, of which each gives the conditions other values.
func (s *scenarios) combinations(names []string) []scenario {
	key := strings.Join(names, ",")
	if known, ok := s.byKey[key]; ok {
		return known
	}
	var all []string
	for _, c := range s.t.Conditions {
		all = append(all, c.Name)
	}
	choices := make([][]template.Bound, len(names))
	total := 1
	for i, name := range names {
		choices[i] = s.candidates(name)
		total *= max(1, len(choices[i]))
		if total > maxCombinations {
			s.bounded, total = true, maxCombinations
		}
	}
	var out []scenario
	seen := map[string]bool{}
	for n := range total {
		values := map[string]template.Bound{}
		for i, rest := 0, n; i < len(names); i++ {
			if len(choices[i]) > 0 {
				values[names[i]] = choices[i][rest%len(choices[i])]
				rest /= len(choices[i])
			}
		}
		for _, scope := range s.scopes(values) {
			if key := vector(scope, all); !seen[key] {
				seen[key] = true
				out = append(out, scenario{Scope: scope})
			}
		}
	}
	s.byKey[key] = out
	return out
}

// variations returns the scopes in which a parameter has an allowed value that is not its default.
func (s *scenarios) variations(name string) []scenario {
	if known := s.single[name]; known != nil {
		return *known
	}
	out := &[]scenario{}
	s.single[name] = out
	base, _ := s.in.Parameters.Get(name)
	p := s.t.Parameter(name)
	for i, value := range p.AllowedValues {
		if i == maxAllowed {
			break
		}
		if value == base.Value && !base.Unknown || p.IsStored() {
			continue
		}
		b := base
		b.Value, b.Unknown = value, false
		shown := fmt.Sprintf("%s is %s", name, value)
		if b.NoEcho {
			shown = name + " has another value"
		}
		for _, scope := range s.scopes(map[string]template.Bound{name: b}) {
			*out = append(*out, scenario{scope, shown})
		}
	}
	return *out
}

// others are values of parameters that conditions do not compare with.
var others = []string{"other", "other1", "Other", "0", "1", "true", "false", "a", ""}

// candidates are the values of a parameter that can decide conditions in different ways, the default first.
// Values that its author did not write are not known: only conditions see them.
func (s *scenarios) candidates(name string) []template.Bound {
	base, _ := s.in.Parameters.Get(name)
	p := s.t.Parameter(name)
	var out []template.Bound
	add := func(value string, known bool) {
		if slices.ContainsFunc(out, func(b template.Bound) bool { return b.Value == value }) || !p.IsStored() && !p.Accepts(value) {
			return
		}
		b := base
		b.Value, b.Unknown = value, !known || p.IsStored()
		out = append(out, b)
	}
	if !base.Unknown {
		add(base.Value, true)
	}
	if p.AllowedValues != nil && !p.IsList() {
		for _, value := range p.AllowedValues {
			add(value, true)
		}
		return out
	}
	for i, text := range s.texts {
		if i == maxTexts {
			s.bounded = true
			break
		}
		add(text, false)
	}
	for _, text := range others {
		if !slices.Contains(s.texts, text) && (p.IsStored() || p.Accepts(text)) {
			add(text, false)
			break
		}
	}
	return out
}

// scopes are the scopes with other values for some parameters: one, or two for conditions that are refused, which
// the check of the template reports. There are none if the template cannot be evaluated with the values.
func (s *scenarios) scopes(values map[string]template.Bound) []*template.Scope {
	if s.made++; s.made > maxScopes {
		s.bounded = true
		return nil
	}
	parameters := &template.Parameters{}
	for _, b := range s.in.Parameters.Bound {
		if other, ok := values[b.Key]; ok {
			b = other
		}
		parameters.Bound = append(parameters.Bound, b)
	}
	in := template.ScopeInput{Parameters: parameters, Pseudo: s.in.Pseudo}
	if scope, err := s.t.NewScope(in); err == nil {
		return []*template.Scope{scope}
	}
	var out []*template.Scope
	for _, faulty := range []bool{false, true} {
		in.Faulty = &faulty
		if scope, err := s.t.NewScope(in); err == nil {
			out = append(out, scope)
		}
	}
	return out
}
