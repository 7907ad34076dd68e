package stackset

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxImports bounds the stacks of one import, as on AWS.
const maxImports = 10

// ImportStacksToStackSet makes stacks the instances of a set.
func (e *Engine) ImportStacksToStackSet(ctx context.Context, caller awswire.Caller, in *cloudformation.ImportStacksToStackSetInput) (*cloudformation.ImportStacksToStackSetOutput, error) {
	switch {
	case len(in.OrganizationalUnitIds) > 0:
		return nil, invalid("StackSets with SELF_MANAGED permission model can only have accounts as target")
	case in.StackIdsUrl != nil:
		return nil, invalid("StackIdsUrl is not supported by this server; list the stacks in StackIds")
	case len(in.StackIds) == 0:
		return nil, invalid("Exactly one of StackIds or StackIdsUrl must be specified")
	case len(in.StackIds) > maxImports:
		return nil, awswire.Errorf("LimitExceededException", 0, "At most %d stacks can be imported in one operation", maxImports)
	}
	var asked input
	for _, arn := range in.StackIds {
		place, ok := placeOf(arn)
		if !ok {
			return nil, invalid("%s is not the ID of a stack", arn)
		}
		if slices.Contains(asked.Targets, place) {
			return nil, invalid("Two of the stacks are in account %s and region %s; a StackSet has one stack in each", place.Account, place.Region)
		}
		asked.Targets, asked.Imports = append(asked.Targets, place), append(asked.Imports, arn)
	}
	begin, err := e.request(caller, types.StackSetOperationActionCreate, in.OperationId, in.OperationPreferences, asked)
	if err != nil {
		return nil, err
	}
	err = e.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		s, err := set(ctx, tx, caller, in.StackSetName, in.CallAs)
		if err != nil {
			return err
		}
		if !s.Live {
			return noSet(aws.ToString(in.StackSetName))
		}
		for n, place := range asked.Targets {
			i, err := store.Find[instanceRow](ctx, tx, "set_id = ? AND account = ? AND region = ?", s.ID, place.Account, place.Region)
			if err != nil {
				return err
			}
			if i != nil {
				return refusedOperation("StackSet %s has a stack instance in account %s and region %s already", s.id(), place.Account, place.Region)
			}
			other, err := store.Find[instanceRow](ctx, tx, "stack_arn = ?", asked.Imports[n])
			if err != nil {
				return err
			}
			if other != nil {
				return refusedOperation("Stack %s belongs to a StackSet already", asked.Imports[n])
			}
		}
		return e.accept(ctx, tx, s, begin)
	})
	if err != nil {
		return nil, err
	}
	return &cloudformation.ImportStacksToStackSetOutput{OperationId: &begin.ID}, nil
}

// importable are the statuses in which a stack can be imported.
var importable = []types.StackStatus{
	types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
	types.StackStatusImportComplete, types.StackStatusImportRollbackComplete,
}

// adopt makes a stack an instance, without changing it.
func (e *Engine) adopt(ctx context.Context, r *run, i *instanceRow) (outcome, error) {
	n := slices.IndexFunc(r.in.Imports, func(arn string) bool { place, _ := placeOf(arn); return place == i.place() })
	if n < 0 {
		return outcome{over: true, reason: "The stack of the instance is not known", detail: types.StackInstanceDetailedStatusFailedImport}, nil
	}
	arn := r.in.Imports[n]
	failed := func(reason string) (outcome, error) {
		return outcome{over: true, reason: reason, detail: types.StackInstanceDetailedStatusFailedImport}, nil
	}
	now, err := e.config.Stacks.Attempt(ctx, i.place(), arn, r.token(i, stepCreate))
	switch {
	case err != nil:
		return outcome{}, err
	case now == nil || !now.Live:
		return failed("Stack with id " + arn + " does not exist")
	case !slices.Contains(importable, now.Status):
		return failed("Stack " + arn + " is in status " + string(now.Status) + " and cannot be imported")
	}
	out, err := e.config.Stacks.GetTemplate(ctx, r.caller(i), &cloudformation.GetTemplateInput{StackName: &arn})
	if err != nil {
		return outcome{}, err
	}
	if !sameTemplate(aws.ToString(out.TemplateBody), r.set.Template) {
		return failed("The template of stack " + arn + " is not the template of the StackSet")
	}
	i.StackARN = arn
	if _, name, ok := strings.Cut(arn, ":stack/"); ok {
		i.StackName, _, _ = strings.Cut(name, "/")
	}
	return outcome{over: true}, nil
}

// sameTemplate reports whether two templates say the same, in whatever language.
func sameTemplate(a, b string) bool {
	one, err := template.Parse("", []byte(a), template.ParseOptions{})
	if err != nil {
		return a == b
	}
	other, err := template.Parse("", []byte(b), template.ParseOptions{})
	return err == nil && bytes.Equal(one.ProcessedJSON(), other.ProcessedJSON())
}
