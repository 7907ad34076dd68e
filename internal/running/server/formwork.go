package server

import (
	"context"
	"encoding/base64"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	cloudformation "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// formwork is the table of what AWS has no operations for. Requests are signed and checked
// like those of every other service.
func formwork(shelf *simulate.Shelf, types operation.Types, stacks *stack.Engine, registered *registry.Registry, tokenFor func(account string) string) *awswire.Table {
	return &awswire.Table{
		Service:      "formwork",
		Protocol:     awswire.JSON10,
		TargetPrefix: "Formwork",
		Operations: []awswire.Operation{
			awswire.Op("ImportTypes", func(ctx context.Context, _ awswire.Caller, in *ImportTypesInput) (*ImportTypesOutput, error) {
				return importTypes(ctx, shelf, in)
			}),
			awswire.Op("ListSimulated", func(ctx context.Context, caller awswire.Caller, in *ListSimulatedInput) (*ListSimulatedOutput, error) {
				return listSimulated(ctx, types, caller, in)
			}).Reading(),
			awswire.Op("ListRetries", func(ctx context.Context, caller awswire.Caller, in *ListRetriesInput) (*ListRetriesOutput, error) {
				return listRetries(ctx, stacks, caller, in)
			}).Reading(),
			awswire.Op("SuggestType", func(ctx context.Context, caller awswire.Caller, in *SuggestTypeInput) (*SuggestTypeOutput, error) {
				return suggestType(ctx, registered, shelf, types, caller, aws.ToString(in.TypeName))
			}).Reading(),
			awswire.Op("ListDelegated", func(ctx context.Context, caller awswire.Caller, in *ListDelegatedInput) (*ListDelegatedOutput, error) {
				return listDelegated(ctx, types, caller, in)
			}).Reading(),
			awswire.Op("TryHooks", func(ctx context.Context, caller awswire.Caller, in *TryHooksInput) (*TryHooksOutput, error) {
				return tryHooks(ctx, stacks, caller, in)
			}).NeedingMemory(),
			awswire.Op("GetModule", func(ctx context.Context, caller awswire.Caller, in *GetModuleInput) (*GetModuleOutput, error) {
				return getModule(ctx, registered, caller, aws.ToString(in.TypeName))
			}).Reading(),
			awswire.Op("GetTypePackage", func(ctx context.Context, caller awswire.Caller, in *GetTypePackageInput) (*GetTypePackageOutput, error) {
				return getTypePackage(ctx, registered, caller, in)
			}).Reading(),
			awswire.Op("GetConsoleToken", func(_ context.Context, caller awswire.Caller, _ *GetConsoleTokenInput) (*GetConsoleTokenOutput, error) {
				return &GetConsoleTokenOutput{Token: tokenFor(caller.Account)}, nil
			}),
		},
		Constraints: map[string][]awswire.Constraint{
			"GetTypePackage": {
				{Member: "Type", Required: true, MinLength: 1, MaxLength: 20}, {Member: "TypeName", Required: true, MinLength: 1, MaxLength: 500},
				{Member: "VersionId", Required: true, MinLength: 1, MaxLength: 128},
			},
			"ImportTypes":   {{Member: "Schemas", Required: true, MinLength: 1, MaxLength: 500}},
			"ListRetries":   {{Member: "StackName", Required: true, MinLength: 1, MaxLength: 2048}},
			"ListDelegated": {{Member: "Resources", Required: true, MinLength: 1, MaxLength: 500}},
			"ListSimulated": {{Member: "Resources", Required: true, MinLength: 1, MaxLength: 500}},
			"SuggestType":   {{Member: "TypeName", Required: true, MinLength: 1, MaxLength: 500}},
			"GetModule":     {{Member: "TypeName", Required: true, MinLength: 1, MaxLength: 500}},
			"TryHooks": {
				{Member: "StackName", Required: true, MinLength: 1, MaxLength: 2048},
				{Member: "TemplateBody", Required: true, MinLength: 1, MaxLength: template.MaxBytes},
			},
		},
	}
}

// packagePart bounds the bytes of a package in one response.
const packagePart = 4 << 20

// GetTypePackageInput asks for the package of a version of a private type, from an offset.
type GetTypePackageInput struct {
	Type, TypeName, VersionId *string //nolint:revive // as CloudFormation writes it
	Offset                    *int64
}

// GetTypePackageOutput has a part of a package, in Base64, and the size of the whole package in bytes.
type GetTypePackageOutput struct {
	Part string
	Size int64
}

func getTypePackage(ctx context.Context, registered *registry.Registry, caller awswire.Caller, in *GetTypePackageInput) (*GetTypePackageOutput, error) {
	part, size, err := registered.Package(ctx, caller, schema.Kind(aws.ToString(in.Type)), aws.ToString(in.TypeName), aws.ToString(in.VersionId), aws.ToInt64(in.Offset), packagePart)
	if err != nil {
		return nil, err
	}
	return &GetTypePackageOutput{Part: base64.StdEncoding.EncodeToString(part), Size: size}, nil
}

// GetConsoleTokenInput asks for a token for the console.
type GetConsoleTokenInput struct{}

// GetConsoleTokenOutput has a token with which one browser signs in to the account of the caller, once.
// It is "" if nobody has to sign in.
type GetConsoleTokenOutput struct {
	Token string
}

// ImportTypesInput imports published schemas into the server.
type ImportTypesInput struct {
	Schemas []SchemaDocument
}

// A SchemaDocument is the schema of a resource type. Name is that of its file.
type SchemaDocument struct {
	Name   *string
	Schema *string
}

// ImportTypesOutput names the types that were imported.
type ImportTypesOutput struct {
	TypeNames []string
}

func importTypes(ctx context.Context, shelf *simulate.Shelf, in *ImportTypesInput) (*ImportTypesOutput, error) {
	documents := make([]simulate.Document, len(in.Schemas))
	for i, d := range in.Schemas {
		documents[i] = simulate.Document{Name: aws.ToString(d.Name), Text: []byte(aws.ToString(d.Schema))}
	}
	names, problems, err := shelf.Import(ctx, documents)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, awswire.Errorf("ValidationException", 0, "The schemas have errors; nothing was imported: %s", (&diag.Invalid{Problems: problems}).Error())
	}
	return &ImportTypesOutput{TypeNames: names}, nil
}

// ListSimulatedInput asks which of some resources are simulated. Without an identifier it asks for new ones.
type ListSimulatedInput struct {
	Resources []ResourceName
}

// ListSimulatedOutput names the resources that are simulated.
type ListSimulatedOutput struct {
	Resources []SimulatedResource
}

// A SimulatedResource is a resource that is simulated.
type SimulatedResource struct {
	TypeName   string
	Identifier string
}

func listSimulated(ctx context.Context, types operation.Types, caller awswire.Caller, in *ListSimulatedInput) (*ListSimulatedOutput, error) {
	out := &ListSimulatedOutput{Resources: []SimulatedResource{}}
	for _, name := range in.Resources {
		typeName, identifier := aws.ToString(name.TypeName), aws.ToString(name.Identifier)
		found, err := types.Type(ctx, caller, typeName, "")
		var unknown *operation.UnknownTypeError
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			return nil, err
		}
		simulated, err := found.IsSimulated(ctx, caller, identifier)
		if err != nil {
			return nil, err
		}
		if simulated {
			out.Resources = append(out.Resources, SimulatedResource{typeName, identifier})
		}
	}
	return out, nil
}

// ListRetriesInput asks which calls for resources of a stack are made again after they failed.
type ListRetriesInput struct {
	StackName *string
}

// ListRetriesOutput lists the calls that are waited for.
type ListRetriesOutput struct {
	Retries []Retry
}

// A Retry is the retry number Retry of at most Limit, in so many milliseconds.
type Retry struct {
	LogicalResourceID    string
	ErrorCode            string
	Retry, Limit, WaitMS int64
}

func listRetries(ctx context.Context, stacks *stack.Engine, caller awswire.Caller, in *ListRetriesInput) (*ListRetriesOutput, error) {
	found, err := stacks.Retries(ctx, caller, aws.ToString(in.StackName))
	if err != nil {
		return nil, err
	}
	out := &ListRetriesOutput{Retries: []Retry{}}
	for _, r := range found {
		out.Retries = append(out.Retries, Retry{
			LogicalResourceID: r.LogicalID, ErrorCode: r.Code, Retry: int64(r.Count), Limit: int64(r.Max), WaitMS: r.Wait.Milliseconds(),
		})
	}
	return out, nil
}

// SuggestTypeInput asks what an unknown resource type may have been meant to be.
type SuggestTypeInput struct {
	TypeName *string
}

// SuggestTypeOutput has the other regions that have the type, the nearest name in this one, and how to make the
// server know the type.
type SuggestTypeOutput struct {
	Regions []string
	Near    string
	Hint    string
}

func suggestType(ctx context.Context, registered *registry.Registry, shelf *simulate.Shelf, types operation.Types, caller awswire.Caller, name string) (*SuggestTypeOutput, error) {
	found, err := registered.Suggest(ctx, caller, name)
	if err != nil {
		return nil, err
	}
	if found.Near == "" {
		if found.Near, err = shelf.Nearest(ctx, name); err != nil {
			return nil, err
		}
	}
	out := &SuggestTypeOutput{Regions: found.Regions, Near: found.Near}
	var unknown *operation.UnknownTypeError
	if _, err = types.Type(ctx, caller, name, ""); errors.As(err, &unknown) {
		out.Hint = unknown.Hint
		return out, nil
	}
	return out, err
}

// TryHooksInput asks what the hooks say of a template.
type TryHooksInput struct {
	StackName    *string
	TemplateBody *string
	Parameters   []TrialParameter
}

// A TrialParameter is the value of a parameter of the template.
type TrialParameter struct {
	Key   *string
	Value *string
}

// TryHooksOutput lists the invocations, in their order.
type TryHooksOutput struct {
	Results []HookTrialResult
}

// A HookTrialResult is the result of one invocation. The logical ID is that of a resource, "" for the stack and the
// change set.
type HookTrialResult struct {
	TypeName    string
	FailureMode string
	Status      string
	Reason      string
	TargetKind  string
	LogicalID   string
	Annotations []cloudformation.Annotation
}

func tryHooks(ctx context.Context, stacks *stack.Engine, caller awswire.Caller, in *TryHooksInput) (*TryHooksOutput, error) {
	trial := stack.HookTrial{StackName: in.StackName, Template: in.TemplateBody}
	for _, p := range in.Parameters {
		trial.Parameters = append(trial.Parameters, cloudformation.Parameter{ParameterKey: p.Key, ParameterValue: p.Value})
	}
	found, err := stacks.TryHooks(ctx, caller, trial)
	if err != nil {
		return nil, err
	}
	out := &TryHooksOutput{Results: []HookTrialResult{}}
	for i := range found {
		r := &found[i]
		result := HookTrialResult{
			TypeName: r.TypeName, FailureMode: string(r.FailureMode), Status: string(r.Status), Reason: r.Reason, TargetKind: string(r.TargetKind),
			Annotations: r.Annotations.Get(),
		}
		if r.TargetKind == hook.Resource {
			result.LogicalID = r.LogicalID
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

// GetModuleInput asks for the fragment of the default version of a module.
type GetModuleInput struct {
	TypeName *string
}

// GetModuleOutput has the fragment of a module, "" if the account does not have the module.
type GetModuleOutput struct {
	File     string
	Fragment string
}

func getModule(ctx context.Context, registered *registry.Registry, caller awswire.Caller, name string) (*GetModuleOutput, error) {
	f, err := registered.Fragment(ctx, caller, name)
	if err != nil || f == nil {
		return &GetModuleOutput{}, err
	}
	return &GetModuleOutput{File: f.File, Fragment: string(f.Data)}, nil
}

// ListDelegatedInput asks which of some resources are in an emulator.
type ListDelegatedInput struct {
	Resources []ResourceName
}

// A ResourceName names a resource of the caller.
type ResourceName struct {
	TypeName   *string
	Identifier *string
}

// ListDelegatedOutput lists the resources that are in an emulator.
type ListDelegatedOutput struct {
	Resources []DelegatedResource
}

// A DelegatedResource is a resource in an emulator.
type DelegatedResource struct {
	TypeName   string
	Identifier string
	Where      string
}

func listDelegated(ctx context.Context, types operation.Types, caller awswire.Caller, in *ListDelegatedInput) (*ListDelegatedOutput, error) {
	out := &ListDelegatedOutput{Resources: []DelegatedResource{}}
	for _, name := range in.Resources {
		typeName, identifier := aws.ToString(name.TypeName), aws.ToString(name.Identifier)
		found, err := types.Type(ctx, caller, typeName, "")
		var unknown *operation.UnknownTypeError
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			return nil, err
		case found.Where == nil:
			continue
		}
		where, err := found.Where(ctx, identifier)
		if err != nil {
			return nil, err
		}
		if where != "" {
			out.Resources = append(out.Resources, DelegatedResource{typeName, identifier, where})
		}
	}
	return out, nil
}
