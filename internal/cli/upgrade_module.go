package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// Bounds of the generated parameters of a module, and of the value of one in a message, in bytes.
const (
	maxVariants   = 50
	maxShownValue = 100
)

// A moduleUpgrade compares what two versions of a module expand to.
type moduleUpgrade struct {
	typeName string
	old, new *nestedModules
	schemas  *schemaSource

	given         map[string]any // the present parameters, and what they expand to
	before, after *plan.Deployment
	found         []plan.Alteration
	unknown       []string // types without a schema
}

// upgradeModule tests the upgrade of a module.
func (c *app) upgradeModule(ctx context.Context, opts *testOptions, p *project.Project, old *oldVersion) error {
	cases := slices.DeleteFunc(contract.ModuleUpgradeCases(), func(of contract.Case) bool { return !opts.arguments.Selection.Picks(&of) })
	deselected := len(contract.ModuleUpgradeCases()) - len(cases)
	switch {
	case opts.arguments.CollectOnly:
		return c.collect(cases, deselected)
	case len(cases) == 0:
		return contract.ErrNothingSelected
	}
	fragment, problems, err := p.Fragment()
	if err := errors.Join(err, problems.Err()); err != nil {
		return err
	}
	schemas, err := c.openSchemas(ctx, &checkOptions{region: opts.region})
	if err != nil {
		return err
	}
	defer schemas.close()
	u := &moduleUpgrade{typeName: p.TypeName, schemas: schemas}
	u.old, u.new = c.nestedModules(opts.modules, p, old, fragment)
	inputs, err := u.inputs(old.files, os.DirFS(p.Dir))
	if err != nil {
		return err
	}
	run := func(reporter contract.Reporter) (*contract.Summary, error) {
		return u.run(ctx, reporter, &contract.Plan{TypeName: p.TypeName, Cases: cases, Deselected: deselected, Upgrade: old.name}, inputs)
	}
	return c.reportStacks(opts, nil, run)
}

// run runs the cases of a plan for each set of parameters.
func (u *moduleUpgrade) run(ctx context.Context, reporter contract.Reporter, plan *contract.Plan, inputs []map[string]any) (*contract.Summary, error) {
	for i := range inputs {
		plan.Sets = append(plan.Sets, contract.InputSet{Number: i + 1})
	}
	start := u.schemas.app.Now()
	summary := &contract.Summary{TypeName: plan.TypeName}
	reporter.Report(contract.Event{Kind: contract.Planned, Plan: plan})
	for i, given := range inputs {
		var err error
		if u.given = given; ctx.Err() != nil {
			return summary, ctx.Err()
		}
		if u.before, err = u.expand(ctx, u.old); err != nil {
			return summary, fmt.Errorf("expand the old version%s: %w", u.with(), refusedHere(err))
		}
		var refused error
		if u.after, refused = u.expand(ctx, u.new); refused == nil {
			if err := u.compare(); err != nil {
				return summary, err
			}
		}
		for n := range plan.Cases {
			of := &plan.Cases[n]
			reporter.Report(contract.Event{Kind: contract.Started, Case: of, Set: i + 1})
			result := &contract.Result{Case: of, Set: i + 1, Phase: contract.CallPhase, Outcome: contract.Passed}
			u.judge(result, refused)
			summary.Add(result)
			reporter.Report(contract.Event{Kind: contract.Finished, Result: result})
		}
	}
	summary.Duration = u.schemas.app.Now().Sub(start)
	reporter.Report(contract.Event{Kind: contract.Ended, Summary: summary})
	return summary, nil
}

func (u *moduleUpgrade) judge(result *contract.Result, refused error) {
	fail := func(format string, args ...any) {
		result.Outcome, result.Clause, result.Message = contract.Failed, result.Case.Clause, fmt.Sprintf(format, args...)+u.with()
	}
	if result.Case.Name() == contract.ModuleExpands {
		if refused != nil {
			fail("the new version does not expand: %s", strings.Join(strings.Fields(refusedHere(refused).Error()), " "))
		} else if changed := u.changedModules(); len(changed) > 0 {
			result.Note = words.Count(len(changed), "module") + " in it changed: " + strings.Join(changed, ", ")
		}
		return
	}
	if refused != nil {
		result.Outcome, result.Message = contract.Skipped, "The new version does not expand. Skipping test."
		return
	}
	if result.Case.Name() == contract.ModuleKeeps {
		if lost := u.removed(); len(lost) > 0 {
			fail("the new version removes %s: %s", words.Count(len(lost), "resource"), strings.Join(lost, "; "))
		}
		return
	}
	if lost := u.replaced(); len(lost) > 0 {
		fail("the new version replaces %s: %s", words.Count(len(lost), "resource"), strings.Join(lost, "; "))
		return
	}
	if len(u.unknown) > 0 {
		result.Note = "replacements are not known without the schemas of " + strings.Join(u.unknown, ", ") + "; cfn types import aws imports them"
	}
}

// removed are the resources that the old version has and the new one has not, with those of the same type that are new.
func (u *moduleUpgrade) removed() (out []string) {
	added := map[string][]string{}
	for _, r := range u.after.Scope.ActiveResources() {
		if u.before.Resource(r.LogicalID) == nil {
			added[r.Type] = append(added[r.Type], r.LogicalID)
		}
	}
	for _, a := range u.found {
		if !a.Removed {
			continue
		}
		text := fmt.Sprintf("%s (%s)", a.Resource.LogicalID, a.Resource.Type)
		if names := added[a.Resource.Type]; len(names) > 0 {
			text += fmt.Sprintf(" is deleted and %s is created, perhaps in its place", names[0])
			added[a.Resource.Type] = names[1:]
		}
		out = append(out, text+u.within(a.Resource))
	}
	return out
}

// replaced are the resources that get another type or another value of a create-only property.
func (u *moduleUpgrade) replaced() (out []string) {
	for _, a := range u.found {
		within := u.within(a.Resource)
		switch {
		case a.Removed || a.Recreation == types.RequiresRecreationNever || a.Recreation == "":
		case a.Name == "":
			out = append(out, fmt.Sprintf("%s was a %s and is a %s%s", a.Resource.LogicalID, a.Before, a.After, within))
		case a.Recreation == types.RequiresRecreationAlways:
			out = append(out, fmt.Sprintf("%s (%s) because of %s%s", a.Resource.LogicalID, a.Resource.Type, a.Name, within))
		default:
			out = append(out, fmt.Sprintf("%s (%s) perhaps, because of %s%s", a.Resource.LogicalID, a.Resource.Type, a.Name, within))
		}
	}
	return out
}

// compare finds what differs between the expansions.
func (u *moduleUpgrade) compare() (err error) {
	known := map[string]*schema.Schema{}
	u.unknown = nil
	for _, d := range []*plan.Deployment{u.before, u.after} {
		for _, r := range d.Template.Resources {
			s, err := u.schemas.schema(r.Type)
			if err != nil {
				return err
			}
			if s != nil {
				known[r.Type] = s
			} else if !slices.Contains(u.unknown, r.Type) {
				u.unknown = append(u.unknown, r.Type)
			}
		}
	}
	u.found, err = plan.Alterations(u.before, u.after, known)
	return err
}

// with names the parameters that were given, for messages.
func (u *moduleUpgrade) with() string {
	if len(u.given) == 0 {
		return ""
	}
	hidden := map[string]bool{}
	for _, fragment := range []*module.Fragment{u.old.fragment, u.new.fragment} {
		t, _ := template.Parse(fragment.File, fragment.Data, template.ParseOptions{})
		if t == nil {
			continue
		}
		for _, p := range t.Parameters {
			hidden[p.Name] = hidden[p.Name] || p.NoEcho
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(u.given)) {
		value := words.Cut(fmt.Sprint(u.given[name]), maxShownValue)
		if hidden[name] {
			value = "****"
		}
		parts = append(parts, name+"="+value)
	}
	return ", with " + strings.Join(parts, ", ")
}

// expand is a template with the module alone, expanded.
func (u *moduleUpgrade) expand(ctx context.Context, modules *nestedModules) (*plan.Deployment, error) {
	resource := map[string]any{"Type": u.typeName}
	if len(u.given) > 0 {
		resource["Properties"] = u.given
	}
	body, err := json.Marshal(map[string]any{"Resources": map[string]any{"Module": resource}})
	if err != nil {
		return nil, err
	}
	t, err := template.Parse("template", body, template.ParseOptions{})
	if err != nil {
		return nil, err
	}
	pseudo := template.Pseudo{AccountID: "123456789012", Region: "us-east-1", StackName: "stack"}
	bound, err := t.Bind(ctx, template.BindInput{})
	if err != nil {
		return nil, err
	}
	processed, err := t.Expand(ctx, template.ExpandInput{Parameters: bound, Pseudo: pseudo, Modules: &module.Expander{Fragments: modules}})
	if err != nil {
		return nil, err
	}
	scope, err := processed.NewScope(template.ScopeInput{Parameters: bound, Pseudo: pseudo})
	if err != nil {
		return nil, err
	}
	return &plan.Deployment{Template: processed, Parameters: bound, Scope: scope}, nil
}

// inputs are the parameters that the old version is used with: those of inputs/inputs_N_create.json, else the default ones, and every
// allowed value of every parameter.
func (u *moduleUpgrade) inputs(folders ...fs.FS) ([]map[string]any, error) {
	for _, folder := range folders {
		if folder == nil {
			continue
		}
		found, err := moduleInputs(folder)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	t, err := template.Parse(u.old.fragment.File, u.old.fragment.Data, template.ParseOptions{})
	if t == nil {
		return nil, refusedHere(err)
	}
	base := map[string]any{}
	for _, p := range t.Parameters {
		if p.Default == nil {
			base[p.Name] = sampleParameter(p)
		}
	}
	out := []map[string]any{base}
	for _, p := range t.Parameters {
		for _, value := range p.AllowedValues {
			if len(out) == maxVariants {
				return out, nil
			}
			next := maps.Clone(base)
			next[p.Name] = value
			if value != base[p.Name] && (p.Default == nil || *p.Default != value) {
				out = append(out, next)
			}
		}
	}
	return out, nil
}

// sampleParameter is a value for a parameter without a default.
func sampleParameter(p *template.Parameter) string {
	switch {
	case len(p.AllowedValues) > 0:
		return p.AllowedValues[0]
	case p.MinValue != "":
		return p.MinValue
	case p.Type == "Number" || p.Type == "List<Number>":
		return "1"
	}
	return "value-of-" + strings.ToLower(p.Name)
}

// moduleInputs reads the parameters of inputs/inputs_1_create.json and the files that follow.
func moduleInputs(folder fs.FS) (out []map[string]any, err error) {
	for n := 1; n <= maxVariants; n++ {
		name := fmt.Sprintf("inputs/inputs_%d_create.json", n)
		data, err := document.ReadFS(folder, name, maxTestFile)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the inputs: %w", err)
		}
		doc, problems := document.ParseJSON(name, data, document.Limits{})
		if err := problems.Err(); err != nil {
			return nil, err
		}
		given, ok := doc.Any().(map[string]any)
		if !ok {
			return nil, withHint(fmt.Errorf("%s must contain a JSON object with parameters but is a JSON %s", name, doc.Kind), `the file is {"Parameter": "value", …}`)
		}
		out = append(out, given)
	}
	return out, nil
}
