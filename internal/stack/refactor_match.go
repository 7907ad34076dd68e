package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/uptrace/bun"

	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/plan"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/template"
)

// A refactoring is a refactor with all that its stacks have now and are to have.
type refactoring struct {
	engine   *Engine
	ctx      context.Context
	stacks   []*refactoredStack
	mappings []refactorMapping
	types    map[string]*operation.Type // nil for what there is not

	from    map[place]place // where the resources of the templates are now
	taken   map[place]bool  // resources that are somewhere in the templates
	manual  map[place]bool  // templates' resources with a mapping
	exports map[string]refactorExport
	outside map[string]*exportRow // of other stacks, nil for what there is not
}

// A refactoredStack is one of the stacks of a refactor.
type refactoredStack struct {
	refactorStackRow
	row        *stackRow // of a stack that is to be created, as it will be
	deployment *deploymentRow
	next       *plan.Deployment
	now, after map[string]plan.Resource // by logical id
	outputs    []stackOutput
	imports    map[string]string // exports that the template imports, with their values
	changed    []string          // resources whose definition is not that of what they are
	failed     string            // why the template cannot be evaluated
}

// A place is a resource in one of the stacks.
type place struct {
	stack int
	id    string
}

// A refactorExport is an export that the stacks are to have.
type refactorExport struct {
	stack int
	value string
	known bool
}

// refactorReferences answer for the template of one of the stacks.
type refactorReferences struct {
	*refactoring
	stack int
}

func (r refactorReferences) known() plan.Known { return plan.Known{Resources: r.stacks[r.stack].after} }

// Ref implements [template.References].
func (r refactorReferences) Ref(id string) (any, bool) { return r.known().Ref(id) }

// GetAtt implements [template.References].
func (r refactorReferences) GetAtt(id, attribute string) (any, bool, error) {
	return r.known().GetAtt(id, attribute)
}

// ImportValue implements [template.References].
func (r refactorReferences) ImportValue(name string) (string, bool, error) {
	if x, ok := r.exports[name]; ok {
		if x.stack == r.stack {
			return "", false, template.ServiceError(fmt.Sprintf(reasonNoExport, name))
		}
		if x.known {
			r.stacks[r.stack].imports[name] = x.value
		}
		return x.value, x.known, nil
	}
	row, err := r.export(name)
	if err != nil || row == nil {
		if err == nil {
			err = template.ServiceError(fmt.Sprintf(reasonNoExport, name))
		}
		return "", false, err
	}
	r.stacks[r.stack].imports[name] = row.Value
	return row.Value, true, nil
}

// StackOutput implements [template.References].
func (r refactorReferences) StackOutput(ref template.StackOutputRef) (string, bool, error) {
	s := r.stacks[r.stack].row
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
	return stackOutputOf(r.ctx, r.engine.store.Read(), s, ref)
}

// export reads an export of a stack that is not refactored, nil if there is none.
func (r *refactoring) export(name string) (*exportRow, error) {
	if row, ok := r.outside[name]; ok {
		return row, nil
	}
	s := r.stacks[0].row
	row, err := oneRow[exportRow](r.ctx, r.engine.store.Read(), "account = ? AND region = ? AND name = ? AND stack_id NOT IN (?)",
		s.Account, s.Region, name, bun.List(r.ids()))
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
			return to.problem(reasonRefactorUnmoved, m.Source, m.Stack)
		}
		from := r.stacks[m.From]
		switch {
		case from.now[m.Source].LogicalID == "":
			return from.problem(reasonRefactorAbsent, m.Source, from.Name)
		case to.next.Resource(m.Target) == nil:
			return to.problem(reasonRefactorMissing, m.Target, to.Name)
		case m.From == m.To && m.Source == m.Target,
			from.next.Resource(m.Source) != nil && !targets[place{int(m.From), m.Source}]:
			return from.problem(reasonRefactorUnmoved, m.Source, from.Name)
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
			return false, refusedTemplate(err)
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
	state, err := s.next.Desired(res, refactorReferences{r, at.stack})
	if err != nil || template.HasUnknown(any(state.Properties)) {
		return nil // verify says what is wrong with it
	}
	var out []place
	for i, other := range r.stacks {
		for _, id := range slices.Sorted(maps.Keys(other.now)) {
			from := place{i, id}
			if x := other.now[id]; x.Type == res.Type && !r.taken[from] && len(plan.Differences(x.Properties, state.Properties, schemaOf(r.types[x.Type]))) == 0 {
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
	r.exports = map[string]refactorExport{}
	for range r.stacks { // an export may be made of an import of another one
		for i, s := range r.stacks {
			for _, o := range s.next.Template.Outputs {
				if !s.next.Scope.OutputActive(o) || o.ExportName == nil {
					continue
				}
				value, err := s.next.Scope.Output(o, refactorReferences{r, i})
				if err != nil || value.ExportName == "" {
					continue // verify says what is wrong with it
				}
				if x, taken := r.exports[value.ExportName]; !taken || x.stack == i {
					r.exports[value.ExportName] = refactorExport{i, value.Value, value.Known}
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
			state, err := s.next.Desired(res, refactorReferences{r, i})
			switch {
			case r.ctx.Err() != nil:
				return "", r.ctx.Err()
			case err != nil:
				s.failed = cmp.Or(s.failed, evaluationProblem(err))
			case template.HasUnknown(any(state.Properties)):
				s.failed = cmp.Or(s.failed, fmt.Sprintf(reasonRefactorUnknown, res.LogicalID))
			case s.after[at.id].Type != res.Type, !describes(state, s.after[at.id], schemaOf(r.types[res.Type])):
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
		value, err := s.next.Scope.Output(o, refactorReferences{r, i})
		switch {
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case err != nil:
			s.failed = cmp.Or(s.failed, evaluationProblem(err))
		case !value.Known:
			s.failed = cmp.Or(s.failed, fmt.Sprintf(reasonRefactorUnknown, o.Name))
		}
		s.outputs = append(s.outputs, stackOutput{Key: value.Name, Value: value.Value, Description: value.Description, Export: value.ExportName})
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
				return s.problem(reasonRefactorType, name)
			case typ.Schema.Tagging.Declared && typ.Schema.Tagging.Taggable && !typ.Schema.Tagging.TagUpdatable:
				return s.problem(reasonRefactorTags, name)
			}
		}
	}
	return ""
}

// movable reports whether the resources of a type can be moved: those of the provisioning
// type FULLY_MUTABLE that are identified.
func movable(typ *operation.Type) bool {
	if !importable(typ) {
		return false
	}
	return !slices.ContainsFunc([]string{"create", "update", "delete"}, func(name string) bool { return typ.Schema.Handler(name) == nil })
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
			return s.problem(reasonRefactorCreated, bracketed(sorted(created)))
		case ambiguous != nil:
			return s.problem(reasonRefactorAmbiguous, bracketed(sorted(ambiguous)))
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
			return s.problem(reasonRefactorDeleted, bracketed(deleted))
		case s.changed != nil:
			return s.problem(reasonRefactorModified, bracketed(sorted(s.changed)))
		case s.failed != "":
			return s.problem("%s", s.failed)
		}
	}
	return ""
}

// moves are the resources that change their place, in the order of the stacks that have them.
func (r *refactoring) moves() []refactorMove {
	out := []refactorMove{}
	for i, s := range r.stacks {
		for _, id := range slices.Sorted(maps.Keys(s.after)) {
			at := place{i, id}
			from := r.from[at]
			if from == at {
				continue
			}
			x := s.after[id]
			m := refactorMove{
				From: int64(from.stack), Source: from.id, To: int64(i), Target: id, Type: x.Type, PhysicalID: x.PhysicalID, Manual: r.manual[at],
			}
			if typ := r.types[x.Type]; typ != nil && typ.Schema != nil {
				m.Tagged = !typ.Schema.Tagging.Declared || typ.Schema.Tagging.Taggable && typ.Schema.Tagging.CloudFormationSystemTags
				m.Identifier = map[string]string{}
				model := any(identifierModel(typ.Schema, x.PhysicalID))
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
func (r *refactoring) conflicts(ctx context.Context, db selecting) (string, error) {
	ids, after := bun.List(r.ids()), map[string]string{}
	for _, s := range r.stacks {
		for _, o := range s.outputs {
			if o.Export == "" {
				continue
			}
			if x := r.exports[o.Export]; r.stacks[x.stack] != s {
				return s.problem(reasonExportTaken, o.Export, r.stacks[x.stack].ARN), nil
			}
			after[o.Export] = o.Value
			taken, err := oneRow[exportRow](ctx, db, "account = ? AND region = ? AND name = ? AND stack_id NOT IN (?)", s.row.Account, s.row.Region, o.Export, ids)
			if err != nil {
				return "", err
			}
			if taken != nil {
				owner, err := oneRow[stackRow](ctx, db, "id = ?", taken.StackID)
				if err != nil || owner == nil {
					return "", err
				}
				return s.problem(reasonExportTaken, o.Export, owner.ARN), nil
			}
		}
	}
	for _, s := range r.stacks {
		if problem, err := r.inUse(ctx, db, s, after); problem != "" || err != nil {
			return problem, err
		}
		for _, name := range slices.Sorted(maps.Keys(s.imports)) {
			if _, ours := r.exports[name]; ours {
				continue
			}
			row, err := oneRow[exportRow](ctx, db, "account = ? AND region = ? AND name = ? AND stack_id NOT IN (?)", s.row.Account, s.row.Region, name, ids)
			if err != nil {
				return "", err
			}
			if row == nil || row.Value != s.imports[name] {
				return s.problem(reasonNoExport, name), nil
			}
		}
	}
	return "", nil
}

// inUse says which export of a stack others use that it is not to have any more.
func (r *refactoring) inUse(ctx context.Context, db selecting, s *refactoredStack, after map[string]string) (string, error) {
	before, err := allRows[exportRow](ctx, db, "name", "stack_id = ?", s.StackID)
	if err != nil {
		return "", err
	}
	for _, x := range before {
		value, kept := after[x.Name]
		if kept && value == x.Value {
			continue
		}
		var users []string
		err := db.NewSelect().TableExpr("stack_imports AS i").Join("JOIN stacks AS s ON s.id = i.stack_id").ColumnExpr("s.name").
			Where("i.account = ? AND i.region = ? AND i.name = ? AND i.stack_id NOT IN (?)", x.Account, x.Region, x.Name, bun.List(r.ids())).OrderExpr("s.name").Scan(ctx, &users)
		switch {
		case err != nil:
			return "", fmt.Errorf("read the imports of %s: %w", x.Name, err)
		case len(users) > 0 && kept:
			return s.problem(reasonExportUpdate, x.Name, users[0]), nil
		case len(users) > 0:
			return s.problem(reasonExportDelete, x.Name, users[0]), nil
		}
	}
	return "", nil
}

// resources reads what the stacks have. It returns why one of them cannot be refactored.
func (r *refactoring) resources(ctx context.Context) (problem string, err error) {
	for _, s := range r.stacks {
		all, err := r.engine.resourcesOf(ctx, s.row)
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
			return s.problem(reasonRefactorLeftover, bracketed(left)), nil
		}
		if len(s.next.Scope.ActiveResources()) == 0 {
			return s.problem(reasonRefactorEmpty), nil
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
