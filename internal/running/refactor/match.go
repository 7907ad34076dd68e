package refactor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/running/stack"
)

// A refactoring is a refactor with all that its stacks have now and are to have.
type refactoring struct {
	engine   *Engine
	ctx      context.Context
	stacks   []*member
	mappings []mapping
	types    map[string]*operation.Type // nil for what there is not

	from    map[place]place // where the resources of the templates are now
	taken   map[place]bool  // resources that are somewhere in the templates
	manual  map[place]bool  // templates' resources with a mapping
	exports map[string]export
	outside map[string]*stack.Export // of other stacks, nil for what there is not
}

// A member is one of the stacks of a refactor.
type member struct {
	stackRow
	stack      *stack.Member // of a stack that is to be created, as it will be
	draft      *stack.Draft
	next       *plan.Deployment         // of the draft
	now, after map[string]plan.Resource // by logical id
	outputs    []template.OutputValue
	imports    map[string]string // exports that the template imports, with their values
	changed    []string          // resources whose definition is not that of what they are
	failed     string            // why the template cannot be evaluated
}

// A place is a resource in one of the stacks.
type place struct {
	stack int
	id    string
}

// A export is an export that the stacks are to have.
type export struct {
	stack int
	value string
	known bool
}

// references answer for the template of one of the stacks.
type references struct {
	*refactoring
	stack int
}

func (r references) known() plan.Known { return plan.Known{Resources: r.stacks[r.stack].after} }

// Ref implements [template.References].
func (r references) Ref(id string) (any, bool) { return r.known().Ref(id) }

// GetAtt implements [template.References].
func (r references) GetAtt(id, attribute string) (any, bool, error) {
	return r.known().GetAtt(id, attribute)
}

// ImportValue implements [template.References].
func (r references) ImportValue(name string) (string, bool, error) {
	if x, ok := r.exports[name]; ok {
		if x.stack == r.stack {
			return "", false, template.ServiceError(fmt.Sprintf(stack.ReasonNoExport, name))
		}
		if x.known {
			r.stacks[r.stack].imports[name] = x.value
		}
		return x.value, x.known, nil
	}
	row, err := r.export(name)
	if err != nil || row == nil {
		if err == nil {
			err = template.ServiceError(fmt.Sprintf(stack.ReasonNoExport, name))
		}
		return "", false, err
	}
	r.stacks[r.stack].imports[name] = row.Value
	return row.Value, true, nil
}

// StackOutput implements [template.References].
func (r references) StackOutput(ref template.StackOutputRef) (string, bool, error) {
	s := r.stacks[r.stack].stack
	for i, other := range r.stacks {
		if ref.Region != "" && ref.Region != s.Region || ref.RoleARN != "" || ref.StackName != other.Name && ref.StackName != other.ARN {
			continue
		}
		for _, o := range other.next.Template.Outputs {
			if o.Name == ref.OutputName && i != r.stack {
				value, err := other.next.Scope.Output(o, plan.Known{Resources: other.after})
				return value.Value, value.Known, err
			}
		}
	}
	return r.engine.stacks.OutputOf(r.ctx, s, ref)
}

// export reads an export of a stack that is not refactored, nil if there is none.
func (r *refactoring) export(name string) (*stack.Export, error) {
	if row, ok := r.outside[name]; ok {
		return row, nil
	}
	row, err := r.engine.stacks.Export(r.ctx, r.engine.store.Read(), r.stacks[0].stack.Place, name, r.ids()...)
	if err == nil {
		r.outside[name] = row
	}
	return row, err
}

// ids are those of the stacks.
func (r *refactoring) ids() []string {
	ids := make([]string, len(r.stacks))
	for i, s := range r.stacks {
		ids[i] = s.StackID
	}
	return ids
}

// match finds out which resource each one of the templates is, and returns why that cannot be.
func (r *refactoring) match() (problem string, err error) {
	if problem := r.matchMapped(); problem != "" {
		return problem, nil
	}
	r.matchKept()
	for progress := true; progress; {
		if err := r.ctx.Err(); err != nil {
			return "", err
		}
		r.exportsNow()
		if progress, err = r.matchRound(sameName); progress || err != nil {
			continue
		}
		if progress, err = r.matchRound(soleCandidate); progress || err != nil {
			continue
		}
		progress = r.matchByName()
	}
	return "", err
}

// take notes that a resource of a template is one that there is.
func (r *refactoring) take(at, from place) {
	r.from[at], r.taken[from] = from, true
	x := r.stacks[from.stack].now[from.id]
	x.LogicalID = at.id
	r.stacks[at.stack].after[at.id] = x
}

// matchMapped takes the mappings of the request.
func (r *refactoring) matchMapped() (problem string) {
	targets := map[place]bool{}
	for _, m := range r.mappings {
		targets[place{int(m.To), m.Target}] = true
	}
	for _, m := range r.mappings {
		to := r.stacks[m.To]
		if m.From < 0 {
			return to.problem(reasonUnmoved, m.Source, m.Stack)
		}
		from := r.stacks[m.From]
		switch {
		case from.now[m.Source].LogicalID == "":
			return from.problem(reasonAbsent, m.Source, from.Name)
		case to.next.Resource(m.Target) == nil:
			return to.problem(reasonMissing, m.Target, to.Name)
		case m.From == m.To && m.Source == m.Target,
			from.next.Resource(m.Source) != nil && !targets[place{int(m.From), m.Source}]:
			return from.problem(reasonUnmoved, m.Source, from.Name)
		}
		at := place{int(m.To), m.Target}
		r.manual[at] = true
		r.take(at, place{int(m.From), m.Source})
	}
	return ""
}

// matchKept takes what stays where it is.
func (r *refactoring) matchKept() {
	for i, s := range r.stacks {
		for _, res := range s.next.Scope.ActiveResources() {
			at := place{i, res.LogicalID}
			if _, ok := r.from[at]; !ok && s.now[at.id].Type == res.Type && !r.taken[at] {
				r.take(at, at)
			}
		}
	}
}

// A choice picks the resource that one of a template is from those with its definition.
type choice func(at place, candidates []place) (place, bool)

// sameName picks the one with the same logical id, if no other one has it.
func sameName(at place, candidates []place) (place, bool) {
	candidates = slices.DeleteFunc(slices.Clone(candidates), func(from place) bool { return from.id != at.id })
	return soleCandidate(at, candidates)
}

// soleCandidate picks the only one.
func soleCandidate(_ place, candidates []place) (place, bool) {
	if len(candidates) != 1 {
		return place{}, false
	}
	return candidates[0], true
}

// matchRound matches the resources whose definition is known by now. Those that only others
// need are matched before these.
func (r *refactoring) matchRound(choose choice) (progress bool, err error) {
	for i, s := range r.stacks {
		order, err := s.next.Scope.Order()
		if err != nil {
			return false, stack.RefusedTemplate(err)
		}
		for _, res := range order {
			at := place{i, res.LogicalID}
			if _, ok := r.from[at]; ok {
				continue
			}
			if err := r.ctx.Err(); err != nil {
				return false, err
			}
			if from, ok := choose(at, r.candidates(at)); ok {
				r.take(at, from)
				progress = true
			}
		}
	}
	return progress, nil
}

// candidates are the resources that one of a template can be: nobody else is, with its type
// and properties. There are none while its properties are not known.
func (r *refactoring) candidates(at place) []place {
	s := r.stacks[at.stack]
	res := s.next.Resource(at.id)
	state, err := s.next.Desired(res, references{r, at.stack})
	if err != nil || template.HasUnknown(any(state.Properties)) {
		return nil // verify says what is wrong with it
	}
	var out []place
	for i, other := range r.stacks {
		for _, id := range slices.Sorted(maps.Keys(other.now)) {
			from := place{i, id}
			if x := other.now[id]; x.Type == res.Type && !r.taken[from] && len(plan.Differences(x.Properties, state.Properties, r.schema(x.Type))) == 0 {
				out = append(out, from)
			}
		}
	}
	return out
}

// matchByName matches one resource that has the name of one that moves, and another
// definition: what else is wrong with it is told.
func (r *refactoring) matchByName() bool {
	for i, s := range r.stacks {
		for _, res := range s.next.Scope.ActiveResources() {
			at := place{i, res.LogicalID}
			if _, ok := r.from[at]; ok || len(r.candidates(at)) > 0 {
				continue
			}
			var found []place
			for j, other := range r.stacks {
				if from := (place{j, at.id}); other.now[at.id].Type == res.Type && !r.taken[from] {
					found = append(found, from)
				}
			}
			if len(found) == 1 {
				r.take(at, found[0])
				return true
			}
		}
	}
	return false
}

// exportsNow evaluates what the stacks are to export, as far as it is known.
func (r *refactoring) exportsNow() {
	r.exports = map[string]export{}
	for range r.stacks { // an export may be made of an import of another one
		for i, s := range r.stacks {
			for _, o := range s.next.Template.Outputs {
				if !s.next.Scope.OutputActive(o) || o.ExportName == nil {
					continue
				}
				value, err := s.next.Scope.Output(o, references{r, i})
				if err != nil || value.ExportName == "" {
					continue // verify says what is wrong with it
				}
				if x, taken := r.exports[value.ExportName]; !taken || x.stack == i {
					r.exports[value.ExportName] = export{i, value.Value, value.Known}
				}
			}
		}
	}
}

// verify evaluates the templates with what the resources are, and returns what is wrong.
func (r *refactoring) verify() (problem string, err error) {
	r.exportsNow()
	for i, s := range r.stacks {
		s.imports = map[string]string{}
		for _, res := range s.next.Scope.ActiveResources() {
			at := place{i, res.LogicalID}
			if _, ok := r.from[at]; !ok {
				continue
			}
			if err := r.ctx.Err(); err != nil {
				return "", err
			}
			state, err := s.next.Desired(res, references{r, i})
			switch {
			case r.ctx.Err() != nil:
				return "", r.ctx.Err()
			case err != nil:
				s.failed = cmp.Or(s.failed, stack.EvaluationProblem(err))
			case template.HasUnknown(any(state.Properties)):
				s.failed = cmp.Or(s.failed, fmt.Sprintf(reasonUnknown, res.LogicalID))
			case s.after[at.id].Type != res.Type, !describes(state, s.after[at.id], r.schema(res.Type)):
				s.changed = append(s.changed, res.LogicalID)
			}
		}
		if err := r.evaluateOutputs(i); err != nil {
			return "", err
		}
	}
	if problem := r.unsupported(); problem != "" {
		return problem, nil
	}
	return r.differing(), nil
}

// describes reports whether a resource is what a template wants.
func describes(d plan.Desired, x plan.Resource, of *schema.Schema) bool {
	return len(plan.Differences(x.Properties, d.Properties, of)) == 0 && plan.Equal(x.Metadata, d.Metadata) &&
		x.DeletionPolicy == d.DeletionPolicy && x.UpdateReplacePolicy == d.UpdateReplacePolicy
}

// evaluateOutputs evaluates the outputs of one of the stacks.
func (r *refactoring) evaluateOutputs(i int) error {
	s := r.stacks[i]
	for _, o := range s.next.Template.Outputs {
		if !s.next.Scope.OutputActive(o) {
			continue
		}
		value, err := s.next.Scope.Output(o, references{r, i})
		switch {
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case err != nil:
			s.failed = cmp.Or(s.failed, stack.EvaluationProblem(err))
		case !value.Known:
			s.failed = cmp.Or(s.failed, fmt.Sprintf(reasonUnknown, o.Name))
		}
		s.outputs = append(s.outputs, value)
	}
	return nil
}

// unsupported says which resource cannot be moved, or removed, because of its type.
func (r *refactoring) unsupported() string {
	for i, s := range r.stacks {
		for _, id := range slices.Sorted(maps.Keys(s.now)) {
			at := place{i, id}
			if from, kept := r.from[at]; kept && from == at {
				continue
			}
			name := s.now[id].Type
			switch typ := r.types[name]; {
			case !movable(typ):
				return s.problem(reasonType, name)
			case typ.Schema.Tagging.Declared && typ.Schema.Tagging.Taggable && !typ.Schema.Tagging.TagUpdatable:
				return s.problem(reasonTags, name)
			}
		}
	}
	return ""
}

// movable reports whether the resources of a type can be moved: those of the provisioning
// type FULLY_MUTABLE that are identified and can be read.
func movable(typ *operation.Type) bool {
	if typ == nil || typ.Schema == nil || len(typ.Schema.PrimaryIdentifier) == 0 {
		return false
	}
	return !slices.ContainsFunc([]string{"create", "read", "update", "delete"}, func(name string) bool { return typ.Schema.Handler(name) == nil })
}

// schema is the schema of a type, nil for none.
func (r *refactoring) schema(typeName string) *schema.Schema {
	if typ := r.types[typeName]; typ != nil {
		return typ.Schema
	}
	return nil
}

// differing says what the templates want beside moves.
func (r *refactoring) differing() string {
	for i, s := range r.stacks {
		var created, ambiguous []string
		for _, res := range s.next.Scope.ActiveResources() {
			at := place{i, res.LogicalID}
			if _, ok := r.from[at]; ok {
				continue
			}
			if len(r.candidates(at)) > 1 {
				ambiguous = append(ambiguous, at.id)
			} else {
				created = append(created, at.id)
			}
		}
		switch {
		case created != nil:
			return s.problem(reasonCreated, listed(created))
		case ambiguous != nil:
			return s.problem(reasonAmbiguous, listed(ambiguous))
		}
	}
	for i, s := range r.stacks {
		var deleted []string
		for _, id := range slices.Sorted(maps.Keys(s.now)) {
			if !r.taken[place{i, id}] {
				deleted = append(deleted, id)
			}
		}
		switch {
		case deleted != nil:
			return s.problem(reasonDeleted, listed(deleted))
		case s.changed != nil:
			return s.problem(reasonModified, listed(s.changed))
		case s.failed != "":
			return s.problem("%s", s.failed)
		}
	}
	return ""
}

// moves are the resources that change their place, in the order of the stacks that have them.
func (r *refactoring) moves() []move {
	out := []move{}
	for i, s := range r.stacks {
		for _, id := range slices.Sorted(maps.Keys(s.after)) {
			at := place{i, id}
			from := r.from[at]
			if from == at {
				continue
			}
			x := s.after[id]
			m := move{
				Move:   stack.Move{From: int64(from.stack), Source: from.id, To: int64(i), Target: id, Type: x.Type, PhysicalID: x.PhysicalID},
				Manual: r.manual[at],
			}
			if typ := r.types[x.Type]; typ != nil && typ.Schema != nil {
				m.Tagged = !typ.Schema.Tagging.Declared || typ.Schema.Tagging.Taggable && typ.Schema.Tagging.CloudFormationSystemTags
				m.Identifier = map[string]string{}
				model := any(stack.IdentifierModel(typ.Schema, x.PhysicalID))
				for _, path := range typ.Schema.PrimaryIdentifier {
					if text, ok := plan.Scalar(plan.Below(model, path.Tokens)); ok {
						m.Identifier[path.Tokens[len(path.Tokens)-1]] = text
					}
				}
			}
			out = append(out, m)
		}
	}
	return out
}

// conflicts says which exports other stacks stand in the way of, "" for none. What the stacks
// import from others must be as it was when they were evaluated.
func (r *refactoring) conflicts(ctx context.Context, db store.DB) (string, error) {
	stacks, after := r.engine.stacks, map[string]string{}
	for _, s := range r.stacks {
		for _, o := range s.outputs {
			if o.ExportName == "" {
				continue
			}
			if x := r.exports[o.ExportName]; r.stacks[x.stack] != s {
				return s.problem(stack.ReasonExportTaken, o.ExportName, r.stacks[x.stack].ARN), nil
			}
			after[o.ExportName] = o.Value
			taken, err := stacks.Export(ctx, db, s.stack.Place, o.ExportName, r.ids()...)
			if err != nil {
				return "", err
			}
			if taken != nil {
				return s.problem(stack.ReasonExportTaken, o.ExportName, taken.ARN), nil
			}
		}
	}
	for _, s := range r.stacks {
		problem, err := stacks.ExportsInUse(ctx, db, s.stack, after, r.ids()...)
		if err != nil {
			return "", err
		}
		if problem != "" {
			return s.problem("%s", problem), nil
		}
		for _, name := range slices.Sorted(maps.Keys(s.imports)) {
			if _, ours := r.exports[name]; ours {
				continue
			}
			x, err := stacks.Export(ctx, db, s.stack.Place, name, r.ids()...)
			if err != nil {
				return "", err
			}
			if x == nil || x.Value != s.imports[name] {
				return s.problem(stack.ReasonNoExport, name), nil
			}
		}
	}
	return "", nil
}

// resources reads what the stacks have. It returns why one of them cannot be refactored.
func (r *refactoring) resources(ctx context.Context) (problem string, err error) {
	for _, s := range r.stacks {
		all, err := r.engine.stacks.ResourcesOf(ctx, s.stack)
		if err != nil {
			return "", err
		}
		var left []string
		for _, id := range slices.Sorted(maps.Keys(all)) {
			x := all[id]
			switch {
			case x.Status == types.ResourceStatusDeleteFailed:
				left = append(left, id)
			case x.Exists() && x.PhysicalID != "":
				s.now[id] = x
			}
		}
		if left != nil {
			return s.problem(reasonLeftover, listed(left)), nil
		}
		if len(s.next.Scope.ActiveResources()) == 0 {
			return s.problem(reasonEmpty), nil
		}
	}
	for _, s := range r.stacks {
		for _, x := range s.now {
			if err := r.findType(ctx, x.Type); err != nil {
				return "", err
			}
		}
		for _, res := range s.next.Template.Resources {
			if err := r.findType(ctx, res.Type); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// needs are the resources that each one of a template depends on.
func (s *member) needs() map[string][]string {
	out := map[string][]string{}
	for id := range s.after {
		out[id] = s.next.Scope.Needs(s.next.Resource(id))
	}
	return out
}

// listed is a list of names in a reason.
func listed(names []string) string {
	return "[" + strings.Join(slices.Sorted(slices.Values(names)), ", ") + "]"
}
