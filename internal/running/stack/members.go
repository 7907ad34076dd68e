package stack

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Package refactor moves resources between stacks. This file is what it reads, and moves.go what it changes.

// A Member is a stack of a refactor.
type Member struct {
	awswire.Place
	ID, Name, ARN string
	Status        types.StackStatus
	InReview      bool // the stack has only change sets, and can be created
	Updatable     bool // the stack can be updated: nothing runs on it
	HasPolicy     bool // the stack has a stack policy

	row *stackRow
}

func memberOf(s *stackRow) *Member {
	if s == nil {
		return nil
	}
	idle := s.Live && s.OperationID == ""
	return &Member{
		Place: s.caller().Place, ID: s.ID, Name: s.Name, ARN: s.ARN, Status: s.Status, HasPolicy: s.Policy != "", row: s,
		InReview: idle && s.Status == types.StackStatusReviewInProgress, Updatable: idle && slices.Contains(updatable, s.Status),
	}
}

// MemberNamed finds the stack that a request names. With creates, fresh reports that it is to be created: it has only
// change sets, or does not exist.
func (e *Engine) MemberNamed(ctx context.Context, caller awswire.Caller, name string, creates bool) (m *Member, fresh bool, err error) {
	if name == "" {
		return nil, false, refuse("name-required")
	}
	s, err := findStack(ctx, e.store.Read(), caller, name)
	switch {
	case err != nil:
		return nil, false, err
	case s == nil && (!creates || isARN(name)), s != nil && !s.Live:
		return nil, false, refuse("missing", name)
	case s == nil:
		return memberOf(e.newStack(caller, name)), true, nil
	}
	return memberOf(s), creates && s.Status == types.StackStatusReviewInProgress, nil
}

// Member returns the stack with an id, nil if it does not exist.
func (e *Engine) Member(ctx context.Context, db store.DB, id string) (*Member, error) {
	s, err := store.Find[stackRow](ctx, db, "id = ?", id)
	return memberOf(s), err
}

// NewMember is a stack that is to be created, as [Engine.WriteMember] writes it.
func NewMember(place awswire.Place, id, name string, at store.Time) *Member {
	return memberOf(&stackRow{
		ID: id, Account: place.Account, Region: place.Region, Name: name, ARN: stackARN(awswire.Caller{Place: place}, name, id), Live: true,
		Status: types.StackStatusReviewInProgress, Reason: reasonUserInitiated, CreatedAt: at, RowVersion: 1,
	})
}

// StackID returns the id of the stack that a place has under a name or ARN.
func (e *Engine) StackID(ctx context.Context, place awswire.Place, name string) (string, error) {
	s, err := e.lookUp(ctx, place, name)
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// WriteMember writes a stack that is to be created, and returns it, or the one that has its name.
func (e *Engine) WriteMember(ctx context.Context, tx *store.Tx, m *Member) (*Member, error) {
	taken, err := liveStack(ctx, tx, m.row.caller(), m.Name)
	if err != nil || taken != nil {
		return memberOf(taken), err
	}
	fresh := *m.row
	if err := store.Insert(ctx, tx, &fresh); err != nil {
		return nil, fmt.Errorf("write the stack: %w", err)
	}
	return m, e.insertEvents(ctx, tx, e.stackEvent(&fresh, nil, e.now()))
}

// A Draft is a template that a stack is to have.
type Draft struct {
	ID   string
	Next *plan.Deployment // nil before it was accepted

	// Sections are the contents of Conditions, Mappings, Parameters and Rules by name; Before are those of the template
	// that the stack has. Only AcceptDraft sets them.
	Sections, Before map[string]map[string]any

	row *deploymentRow
}

// NewDraft is a template that a stack is to have, which nothing has read yet.
func (e *Engine) NewDraft(m *Member, text string, at store.Time) *Draft {
	row := &deploymentRow{ID: e.newID(), StackID: m.ID, Original: text, CreatedAt: at}
	return &Draft{ID: row.ID, row: row}
}

// InsertDraft writes a new draft.
func (e *Engine) InsertDraft(ctx context.Context, tx *store.Tx, d *Draft) error {
	if err := store.Insert(ctx, tx, d.row); err != nil {
		return fmt.Errorf("write the template: %w", err)
	}
	return nil
}

// AcceptDraft reads a draft as an update of the stack would, with the parameters that the stack has. It returns nil for a
// draft that does not exist.
func (e *Engine) AcceptDraft(ctx context.Context, m *Member, id string) (*Draft, error) {
	stored, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", id)
	if err != nil || stored == nil {
		return nil, err
	}
	previous, err := store.Find[deploymentRow](ctx, e.store.Read(), "id = ?", m.row.DeploymentID)
	if err != nil {
		return nil, err
	}
	parsed, err := template.Parse("", []byte(stored.Original), template.ParseOptions{})
	if err != nil {
		return nil, RefusedTemplate(err)
	}
	in := deploymentInput{
		Body: &stored.Original, Previous: previous,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityAutoExpand},
	}
	before := in.previousParameters()
	for _, p := range parsed.Parameters {
		if before == nil {
			break
		}
		if _, ok := before.Get(p.Name); ok {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &p.Name, UsePreviousValue: aws.Bool(true)})
		}
	}
	row, err := e.acceptDeployment(ctx, m.row.caller(), m.row, in)
	if err == nil && row.Processed == "" {
		_, err = e.processDeployment(ctx, m.row.caller(), m.row, row, nil)
	}
	if err != nil {
		return nil, err
	}
	row.ID, row.CreatedAt, row.Capabilities = stored.ID, stored.CreatedAt, stored.Capabilities
	d := &Draft{ID: row.ID, row: row}
	if d.Sections, err = row.sections(); err != nil {
		return nil, err
	}
	if previous != nil {
		row.Capabilities = previous.Capabilities
		if d.Before, err = previous.sections(); err != nil {
			return nil, err
		}
	}
	d.Next, err = deploymentOf(m.row, row, nil)
	return d, err
}

// sections are the parts of a processed template that say what its resources depend on besides each other.
func (d *deploymentRow) sections() (map[string]map[string]any, error) {
	var all store.JSON[map[string]any] // numbers keep their digits
	err := all.Scan(d.Processed)
	out := map[string]map[string]any{}
	for _, name := range []string{"Conditions", "Mappings", "Parameters", "Rules"} {
		out[name], _ = all.Get()[name].(map[string]any)
	}
	return out, err
}

// LoadDraft reads a draft that was accepted before.
func (e *Engine) LoadDraft(ctx context.Context, m *Member, id string) (*Draft, error) {
	row, next, err := e.loadDeployment(ctx, e.store.Read(), m.row, id, nil)
	return &Draft{ID: id, Next: next, row: row}, err
}

// UpdateDraft writes a draft as it was accepted.
func (e *Engine) UpdateDraft(ctx context.Context, tx *store.Tx, d *Draft) error {
	if err := store.Update(ctx, tx, d.row); err != nil {
		return fmt.Errorf("write the processed template: %w", err)
	}
	return nil
}

// ForgetDraft deletes a draft that was not accepted.
func (e *Engine) ForgetDraft(ctx context.Context, tx *store.Tx, id string) error {
	if _, err := store.Exec(ctx, tx, "DELETE FROM stack_deployments WHERE id = ?", id); err != nil {
		return fmt.Errorf("forget a template: %w", err)
	}
	return nil
}

// ResourcesOf reads the resources of a stack.
func (e *Engine) ResourcesOf(ctx context.Context, m *Member) (map[string]plan.Resource, error) {
	return e.resourcesOf(ctx, m.row)
}

// ReadRequest is the request that reads a resource of a stack.
func (m *Member) ReadRequest(logicalID string, typ *operation.Type, physicalID string) operation.Request {
	return readRequest(m.row, logicalID, typ, physicalID, IdentifierModel(typ.Schema, physicalID))
}

// OutputOf reads an output of another stack.
func (e *Engine) OutputOf(ctx context.Context, m *Member, ref template.StackOutputRef) (string, bool, error) {
	return stackOutputOf(ctx, e.store.Read(), m.row, ref)
}
