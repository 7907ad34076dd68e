package stack

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// What an operation needs from outside of its rows (parsed templates, types, values of
// dynamic references) is read before the transaction that advances it: a transaction that
// waited for another connection to the database could wait for itself.
type prepared struct {
	operationID string
	deployments map[string]*plan.Deployment // by id
	rows        map[string]*deploymentRow
	types       map[string]*operation.Type // default versions, by name
	unknown     map[string]string          // errors for missing types
	dynamic     map[string]string          // values of {{resolve:ssm:…}}, by the whole text
	problem     string                     // what is wrong with the parameters, "" for nothing
	conflicts   []validationProblem
	hooks       hook.Set
	main        []plan.Step // of the change set that an operation begins with, nil for none

	// references are those to parameters of SSM, by the id of the deployment.
	references map[string][]template.DynamicReference
}

// errUnprepared reports that a transaction needs data that was not prepared.
var errUnprepared = errors.New("the operation changed while it was prepared")

// prepare reads what the current operation of a stack needs. It returns nil if none runs. What never
// changes is taken from known, which may be nil.
func (e *Engine) prepare(ctx context.Context, stackID string, known *prepared) (*prepared, error) {
	var s stackRow
	err := store.Get(ctx, e.store.Read(), &s, "WHERE id = ?", stackID)
	if errors.Is(err, sql.ErrNoRows) || err == nil && s.OperationID == "" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the stack: %w", err)
	}
	p := &prepared{
		operationID: s.OperationID, deployments: map[string]*plan.Deployment{}, rows: map[string]*deploymentRow{},
		types: map[string]*operation.Type{}, unknown: map[string]string{}, dynamic: map[string]string{}, references: map[string][]template.DynamicReference{},
	}
	for _, id := range []string{s.DeploymentID, s.StableDeploymentID} {
		if id == "" || p.has(id) {
			continue
		}
		if known != nil && known.deployments[id] != nil {
			p.rows[id], p.deployments[id] = known.rows[id], known.deployments[id]
			if references, ok := known.references[id]; ok {
				p.references[id] = references
			}
			continue
		}
		if p.rows[id], p.deployments[id], err = e.loadDeployment(ctx, e.store.Read(), &s, id, nil); err != nil {
			return nil, err
		}
	}
	if err := e.prepareTypes(ctx, &s, p); err != nil {
		return nil, err
	}
	if p.hooks, err = e.hooksFor(ctx, &s); err != nil {
		return nil, err
	}
	if d := p.deployments[s.DeploymentID]; d != nil {
		e.prepareDynamic(ctx, s.caller(), s.DeploymentID, p)
		if err := e.prepareValidation(ctx, &s, p); err != nil {
			return nil, fmt.Errorf("look up what the operation names: %w", err)
		}
	}
	return p, nil
}

func (p *prepared) has(deploymentID string) bool {
	return deploymentID == "" || p.deployments[deploymentID] != nil
}

// prepareTypes finds the types of the templates and of what the stack has, in the versions that are the
// default ones now: an operation uses them for whatever it begins, also for what another version made.
func (e *Engine) prepareTypes(ctx context.Context, s *stackRow, p *prepared) error {
	names := map[string]bool{}
	for _, d := range p.deployments {
		for _, r := range d.Template.Resources {
			names[r.Type] = true
		}
	}
	for _, table := range []string{"stack_resources", "stack_cleanup"} {
		var found []string
		if err := store.Query(ctx, e.store.Read(), &found, "SELECT DISTINCT type FROM "+table+" WHERE stack_id = ?", s.ID); err != nil {
			return fmt.Errorf("read the types of the stack: %w", err)
		}
		for _, name := range found {
			names[name] = true
		}
	}
	for name := range names {
		found, err := e.findType(ctx, s.caller(), name)
		switch {
		case err != nil:
			return fmt.Errorf("find the type %s: %w", name, err)
		case found == nil:
			p.unknown[name] = "Template format error: Unrecognized resource types: " + bracketed([]string{name})
		default:
			p.types[name] = found
		}
	}
	return nil
}

// prepareDynamic resolves the references to SSM parameters, to find out whether their values
// changed. What cannot be resolved fails later, with its resource.
func (e *Engine) prepareDynamic(ctx context.Context, caller awswire.Caller, deployment string, p *prepared) {
	if e.config.Resolve == nil {
		return
	}
	references, known := p.references[deployment]
	if !known {
		references = parameterReferences(p.deployments[deployment])
		p.references[deployment] = references
	}
	for _, ref := range references {
		if p.dynamic[ref.Text] != "" {
			continue
		}
		name := ref.Name
		if ref.Version != "" {
			name += ":" + ref.Version
		}
		if value, err := e.config.Resolve(ctx, caller, ref.Service, name); err == nil {
			p.dynamic[ref.Text] = value
		}
	}
}

// parameterReferences are the references to SSM parameters in the properties of a deployment.
func parameterReferences(d *plan.Deployment) (references []template.DynamicReference) {
	for _, r := range d.Template.Resources {
		value, err := d.Scope.Properties(r, template.NoReferences{})
		if err != nil {
			continue
		}
		for _, ref := range template.DynamicReferences(value) {
			if ref.Service == "ssm" {
				references = append(references, ref)
			}
		}
	}
	return references
}

// referencesHash is a fingerprint of the values of the SSM references in properties.
func (p *prepared) referencesHash(properties any) string {
	values := map[string]string{}
	for _, ref := range template.DynamicReferences(properties) {
		if value, ok := p.dynamic[ref.Text]; ok {
			values[ref.Text] = value
		}
	}
	if len(values) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(hash, "%q=%q\n", key, values[key])
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// typeOf returns a type, or why there is none.
func (p *prepared) typeOf(name string) (*operation.Type, string) {
	return p.types[name], p.unknown[name]
}

// loadDeployment reads a deployment and makes what evaluates it. Nil is a budget of its own.
func (e *Engine) loadDeployment(ctx context.Context, db store.DB, s *stackRow, id string, budget *template.Budget) (*deploymentRow, *plan.Deployment, error) {
	row := &deploymentRow{}
	if err := store.Get(ctx, db, row, "WHERE id = ?", id); err != nil {
		return nil, nil, fmt.Errorf("read the deployment: %w", err)
	}
	d, err := deploymentOf(s, row, budget)
	if err != nil {
		return nil, nil, fmt.Errorf("read the template of %s: %w", s.ARN, err)
	}
	return row, d, nil
}

// deploymentOf makes what evaluates a deployment. Nil is a budget of its own.
func deploymentOf(s *stackRow, row *deploymentRow, budget *template.Budget) (*plan.Deployment, error) {
	parsed, err := template.Parse("", []byte(row.Processed), template.ParseOptions{Processed: true})
	if err != nil {
		return nil, err
	}
	parameters := row.Parameters.Get()
	d := &plan.Deployment{Template: parsed, Parameters: &parameters, Tags: row.tags()}
	d.Scope, err = parsed.NewScope(template.ScopeInput{Parameters: d.Parameters, Pseudo: s.pseudo(row.NotificationARNs.Get()), Budget: budget})
	return d, err
}

// tags are the tags of the stack.
func (d *deploymentRow) tags() map[string]string {
	out := map[string]string{}
	for _, t := range d.Tags.Get() {
		out[*t.Key] = *t.Value
	}
	return out
}

// pseudo are the pseudo parameters of a stack.
func (s *stackRow) pseudo(notificationARNs []string) template.Pseudo {
	return template.Pseudo{AccountID: s.Account, Region: s.Region, StackName: s.Name, StackID: s.ARN, NotificationARNs: notificationARNs}
}
