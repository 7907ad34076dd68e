package stack

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/sync/errgroup"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// An importRequest asks to take an existing resource into a stack.
type importRequest struct {
	LogicalID  string            `json:"logicalId"`
	Type       string            `json:"type"`
	Identifier map[string]string `json:"identifier"` // by the name of the property
}

func importRequests(in []types.ResourceToImport) []importRequest {
	var out []importRequest
	for _, r := range in {
		out = append(out, importRequest{aws.ToString(r.LogicalResourceId), aws.ToString(r.ResourceType), r.ResourceIdentifier})
	}
	return out
}

// importable reports whether resources of a type can be imported: they are identified and
// can be read.
func importable(typ *operation.Type) bool {
	s := importSchema(typ)
	return s != nil && len(s.PrimaryIdentifier) > 0 && s.Handler("read") != nil
}

// checkImport refuses the resources of an IMPORT change set that the service refuses, in its
// order. find finds types.
func checkImport(requests []importRequest, next *plan.Deployment, in planInput, find func(name string) (*operation.Type, error)) error {
	var absent []string
	for _, r := range requests {
		if next.Resource(r.LogicalID) == nil {
			absent = append(absent, r.LogicalID)
		}
	}
	if absent != nil {
		return refuse("import-absent", bracketed(absent))
	}
	for _, r := range requests {
		typ, err := find(r.Type)
		if err != nil {
			return err
		}
		if !importable(typ) {
			return refuse("import-type", r.Type)
		}
		s := importSchema(typ)
		if _, ok := r.identifier(s); !ok {
			return refuse("import-identifier", r.Type, bracketed(identifierNames(s)))
		}
	}
	seen := map[string]bool{}
	for _, r := range requests {
		if in := next.Resource(r.LogicalID); in.Type != r.Type {
			return refuse("import-mismatch", r.LogicalID, r.Type, in.Type)
		}
	}
	for _, r := range requests {
		if seen[r.LogicalID] {
			return refuse("import-twice")
		}
		seen[r.LogicalID] = true
	}
	return checkImported(seen, next, in)
}

// checkImported refuses an import that the resources of the stack do not allow.
func checkImported(asked map[string]bool, next *plan.Deployment, in planInput) error {
	var owned, unprotected, missing []string
	fresh := false
	for _, r := range next.Scope.ActiveResources() {
		was, ok := in.Resources[r.LogicalID]
		exists := ok && was.Exists()
		fresh = fresh || !exists
		switch {
		case exists && asked[r.LogicalID]:
			owned = append(owned, r.LogicalID)
		case !exists && !asked[r.LogicalID]:
			missing = append(missing, r.LogicalID)
		case !exists && r.Value.Get("DeletionPolicy") == nil:
			unprotected = append(unprotected, r.LogicalID)
		}
	}
	switch {
	case !fresh:
		return refuse("import-nothing")
	case owned != nil:
		return refuse("import-owned", bracketed(sorted(owned)))
	case unprotected != nil:
		return refuse("import-policy", bracketed(sorted(unprotected)))
	case missing != nil:
		return refuse("import-missing", bracketed(sorted(missing)))
	}
	return nil
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// checkOnlyImports refuses a plan of an IMPORT change set that does more than to import, and
// removes what every plan does.
func checkOnlyImports(planned *plan.Plan, changed []string) error {
	var modified []string
	for _, c := range planned.Changes {
		if c.Action != types.ChangeActionImport && !c.Uncertain() && !c.Incidental() {
			modified = append(modified, c.LogicalID)
		}
	}
	if modified != nil {
		return refuse("import-modified", bracketed(modified))
	}
	for _, what := range []string{"Outputs", "Tags"} {
		if slices.Contains(planned.Stack, what) {
			changed = append(changed, what)
		}
	}
	if len(changed) > 0 {
		return refuse("import-stack", bracketed(sorted(changed)))
	}
	planned.Changes = slices.DeleteFunc(planned.Changes, func(c plan.Change) bool { return c.Action != types.ChangeActionImport })
	return nil
}

// identifier is the physical id that a request names. It reports false unless the request
// has a value for each property of the primary identifier, and no others.
func (r importRequest) identifier(s *schema.Schema) (string, bool) {
	names := identifierNames(s)
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = r.Identifier[name]
		if parts[i] == "" {
			return "", false
		}
	}
	joined := strings.Join(parts, "|")
	return joined, len(r.Identifier) == len(names) && len(joined) <= store.MaxKey
}

// checkImportRequest refuses an IMPORT change set at the call, as far as its template is
// known: one with transforms is checked when they have run.
func (e *Engine) checkImportRequest(ctx context.Context, s *stackRow, row *deploymentRow, c *changeSetRow, options changeSetOptions) error {
	if c.Kind != types.ChangeSetTypeImport {
		return nil
	}
	if row.Processed == "" {
		return nil
	}
	next, err := deploymentOf(s, row, nil)
	if err != nil {
		return err
	}
	input, err := e.planInput(ctx, s, next)
	if err != nil {
		return err
	}
	_, err = e.planImport(ctx, s, input, options)
	return err
}

// planImport makes the plan of an IMPORT change set, without a look at the resources.
func (e *Engine) planImport(ctx context.Context, s *stackRow, input planInput, options changeSetOptions) (*plan.Plan, error) {
	find := func(name string) (*operation.Type, error) { return e.findType(ctx, s.caller(), name) }
	if err := checkImport(options.Import, input.Next, input, find); err != nil {
		return nil, err
	}
	input.Import = map[string]string{}
	for _, r := range options.Import {
		input.Import[r.LogicalID], _ = r.identifier(importSchema(input.Types[r.Type]))
	}
	planned, err := plan.New(input.Input)
	if err != nil {
		return nil, RefusedTemplate(err)
	}
	var changed []string
	if options.RoleARN != "" && s.DeploymentID != "" && options.RoleARN != s.RoleARN {
		changed = []string{"RoleArn"}
	}
	return planned, checkOnlyImports(planned, changed)
}

// lookUpImports reads the resources that a plan imports, and returns why they cannot be
// imported, "" if they can.
func (e *Engine) lookUpImports(ctx context.Context, s *stackRow, input planInput, planned *plan.Plan) (problem string, err error) {
	problems := make([]string, len(planned.Changes))
	err = each(ctx, len(planned.Changes), func(ctx context.Context, i int) (err error) {
		if c := &planned.Changes[i]; c.Action == types.ChangeActionImport {
			problems[i], err = e.lookUpImport(ctx, s, input, c)
		}
		return err
	})
	problems = slices.DeleteFunc(problems, func(text string) bool { return text == "" })
	if err != nil || len(problems) == 0 {
		return "", err
	}
	return problems[0], nil
}

// concurrentReads is how many resources are read at once.
const concurrentReads = 64

// each does something for the numbers below n, several at once, until the first error.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(concurrentReads)
	for i := range n {
		all.Go(func() error { return do(ctx, i) })
	}
	return all.Wait()
}

func (e *Engine) lookUpImport(ctx context.Context, s *stackRow, input planInput, c *plan.Change) (problem string, err error) {
	typ := input.Types[c.Type]
	if problem := mismatched(c, input, importSchema(typ)); problem != "" {
		return problem, nil
	}
	progress, err := e.config.Operations.Read(ctx, readRequest(s, c.LogicalID, typ, c.PhysicalID, IdentifierModel(importSchema(typ), c.PhysicalID)))
	if err != nil {
		return "", err
	}
	if progress.Status != types.OperationStatusSuccess {
		return cmp.Or(progress.Message, fmt.Sprintf("Resource of type '%s' with identifier '%s' was not found.", c.Type, c.PhysicalID)), nil
	}
	return natureOf(c.Type).adoptable(e, ctx, s, input, c)
}

// mismatched returns the error of a template that names another resource than the one to be
// imported.
func mismatched(c *plan.Change, input planInput, s *schema.Schema) string {
	properties, err := input.Next.Scope.Properties(input.Next.Resource(c.LogicalID), plan.Known{Resources: input.Resources, Outside: input.References})
	if err != nil {
		return "" // plan.New refused it
	}
	given, wanted := properties, any(IdentifierModel(s, c.PhysicalID))
	for i, path := range s.PrimaryIdentifier {
		is, want := plan.Below(given, path.Tokens), plan.Below(wanted, path.Tokens)
		if is == nil || template.HasUnknown(is) || len(template.DynamicReferences(is)) > 0 || plan.Equal(is, want) {
			continue
		}
		return fmt.Sprintf("The Identifier [%s] for resource %s does not match the identifier value defined in the template.", identifierNames(s)[i], c.LogicalID)
	}
	return ""
}

// readRequest reads a resource of a stack.
func readRequest(s *stackRow, logicalID string, typ *operation.Type, identifier string, known map[string]any) operation.Request {
	return operation.Request{
		Caller: s.caller(), Type: typ.Name, Version: typ.Version, StackID: s.ARN, StackName: s.Name, LogicalID: logicalID,
		Identifier: identifier, Desired: known, SystemTags: systemTags(s, logicalID, typ.Schema),
	}
}

// ownedElsewhere returns the stack that already has a resource, "" if none has.
func ownedElsewhere(ctx context.Context, db store.DB, s *stackRow, typeName, identifier string) (string, error) {
	row, err := store.Find[resourceRow](ctx, db, `physical_id = ? AND type = ? AND status NOT IN (?, ?, ?, ?)
		AND stack_id IN (SELECT id FROM stacks WHERE account = ? AND region = ? AND live)`, identifier, typeName,
		types.ResourceStatusDeleteComplete, types.ResourceStatusDeleteSkipped, types.ResourceStatusCreateFailed, types.ResourceStatusImportFailed,
		s.Account, s.Region)
	if err != nil || row == nil {
		return "", err
	}
	owner, err := store.Find[stackRow](ctx, db, "id = ?", row.StackID)
	if err != nil || owner == nil {
		return "", err
	}
	return fmt.Sprintf("%s already exists in stack %s", identifier, owner.ARN), nil
}

// An existing is a resource that a template would create and that exists already.
type existing struct {
	logicalID, identifier string
	named                 map[string]string // the properties that name it
	retained              bool
}

// findExisting finds the resources that a plan adds and that exist already: those with a
// name in the template. It returns why they cannot be imported, "" if they can.
func (e *Engine) findExisting(ctx context.Context, s *stackRow, input planInput) (map[string]string, string, error) {
	found := map[string]string{}
	var unprotected []string
	resources := input.Next.Scope.ActiveResources()
	all := make([]*existing, len(resources))
	err := each(ctx, len(resources), func(ctx context.Context, i int) (err error) {
		r := resources[i]
		if was, ok := input.Resources[r.LogicalID]; (!ok || !was.Exists()) && importable(input.Types[r.Type]) {
			all[i], err = e.existingOf(ctx, s, input, r, input.Types[r.Type])
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	for i, x := range all {
		if x == nil {
			continue
		}
		if !x.retained {
			unprotected = append(unprotected, fmt.Sprintf("%s (%s)", x.logicalID, x.words()))
			continue
		}
		if problem, err := ownedElsewhere(ctx, e.store.Read(), s, resources[i].Type, x.identifier); problem != "" || err != nil {
			return nil, problem, err
		}
		found[x.logicalID] = x.identifier
	}
	if unprotected != nil {
		return nil, fmt.Sprintf(reasonImportPolicy, strings.Join(sorted(unprotected), ", ")), nil
	}
	return found, "", nil
}

// words name a resource: {RoleName=R}.
func (x *existing) words() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(x.named)) {
		parts = append(parts, name+"="+x.named[name])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// existingOf looks up a resource by the name that its template gives it, nil if it has none
// or if nothing has that name.
func (e *Engine) existingOf(ctx context.Context, s *stackRow, input planInput, r *template.Resource, typ *operation.Type) (*existing, error) {
	properties, err := input.Next.Scope.Properties(r, plan.Known{Resources: input.Resources, Outside: input.References})
	if err != nil || template.HasUnknown(properties) && properties == template.Unknown {
		return nil, nil // plan.New reports the error
	}
	known := importSchema(typ)
	for i, paths := range append([][]schema.Path{known.PrimaryIdentifier}, known.AdditionalIdentifiers...) {
		named, model, ok := namedBy(paths, known, properties)
		if !ok {
			continue
		}
		identifier := ""
		if i == 0 {
			identifier = identifierText(model, paths)
		}
		progress, err := e.config.Operations.Read(ctx, readRequest(s, r.LogicalID, typ, identifier, model))
		switch {
		case err != nil:
			return nil, err
		case progress.Status != types.OperationStatusSuccess:
			continue // errors are reported when it is created
		}
		if identifier = cmp.Or(identifier, progress.Identifier); identifier == "" {
			identifier = identifierText(progress.Model, known.PrimaryIdentifier)
		}
		if identifier == "" || len(identifier) > store.MaxKey {
			continue
		}
		policy, err := input.Next.Scope.DeletionPolicy(r)
		if err != nil {
			return nil, RefusedTemplate(err)
		}
		retained := policy == "Retain" || policy == "RetainExceptOnCreate"
		return &existing{r.LogicalID, identifier, named, retained}, nil
	}
	return nil, nil
}

// namedBy returns the values of an identifier in properties, by their names and as a model.
// It reports false if one is missing, is not known, or cannot be chosen.
func namedBy(paths []schema.Path, s *schema.Schema, properties any) (map[string]string, map[string]any, bool) {
	named, model := map[string]string{}, map[string]any{}
	for _, path := range paths {
		value := plan.Below(properties, path.Tokens)
		text, ok := plan.Scalar(value)
		if !ok || text == "" || len(plan.Without([]schema.Path{path}, s.ReadOnly)) == 0 || len(template.DynamicReferences(value)) > 0 {
			return nil, nil, false
		}
		named[path.Tokens[len(path.Tokens)-1]] = text
		set(model, path.Tokens, text)
	}
	return named, model, len(paths) > 0
}

// identifierText joins the values of an identifier, "" if the model does not have them all.
func identifierText(model map[string]any, paths []schema.Path) string {
	parts := make([]string, len(paths))
	for i, path := range paths {
		text, ok := plan.Scalar(plan.Below(any(model), path.Tokens))
		if !ok {
			return ""
		}
		parts[i] = text
	}
	return strings.Join(parts, "|")
}

// startImport takes a resource that exists into the stack.
func (r *run) startImport(ctx context.Context, tx *store.Tx, t *target, identifier string) error {
	problem, err := ownedElsewhere(ctx, tx, r.stack, t.res.Type, identifier)
	if err != nil {
		return err
	}
	x := &resourceRow{StackID: r.stack.ID, LogicalID: t.res.LogicalID, Origin: store.JSONOf(origin{Kind: originImported}), CreatedAt: r.now}
	r.resources[x.LogicalID] = x
	x.restore(t.after)
	x.PhysicalID, t.step.Action, t.step.PhysicalID = identifier, plan.Import, identifier
	r.turn(t.step, begins, reasonImportStarted)
	if problem != "" {
		x.PhysicalID = ""
		r.turn(t.step, fails, problem)
		return nil
	}
	if err := natureOf(t.res.Type).adopt(ctx, tx, identifier, r.stack); err != nil {
		return err
	}
	r.call(t.step, t.typ, operation.Request{Action: invoke.Read, Identifier: identifier, Desired: IdentifierModel(importSchema(t.typ), identifier)})
	return nil
}

// startTag puts the tags of the stack on an imported resource. Nothing else changes: the
// desired model is the current one.
func (r *run) startTag(s *stepRow) error {
	x := r.resources[s.LogicalID]
	typ, _ := r.prepared.typeOf(x.Type)
	if typ == nil {
		return errUnprepared
	}
	if !plan.Taggable(typ.Schema) || typ.Schema.Handler("update") == nil {
		r.done(s)
		return nil
	}
	r.turn(s, begins, reasonImportTags)
	actual := schema.Without(x.Model.Get(), typ.Schema.ReadOnly)
	is, _ := actual.(map[string]any)
	if is == nil {
		is = map[string]any{}
	}
	schema.PutBack(is, x.Properties.Get(), typ.Schema.WriteOnly)
	r.call(s, typ, operation.Request{Action: invoke.Update, Identifier: x.PhysicalID, Desired: is, Previous: maps.Clone(is)})
	return nil
}

// release removes a resource from its stack, without deleting it, when its import is rolled back.
func (r *run) release(ctx context.Context, tx *store.Tx, s *stepRow) error {
	x := r.resources[s.LogicalID]
	if x == nil {
		r.done(s)
		return nil
	}
	if err := natureOf(x.Type).adopt(ctx, tx, x.PhysicalID, nil); err != nil {
		return err
	}
	r.turn(s, begins, "")
	r.turn(s, succeeds, "")
	r.drop(x)
	return nil
}
