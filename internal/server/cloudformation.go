package server

import (
	"context"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/operation"
	"github.com/formwork-dev/formwork/internal/registry"
)

// cloudFormation is the table of the API of CloudFormation, version 2010-05-15. At most
// readers of its requests read at once, the others in the order in which they came.
func cloudFormation(r *registry.Registry, tokens *operation.Tokens, readers int) *awswire.Table {
	turns := make(chan struct{}, readers)
	return &awswire.Table{
		Service:   "cloudformation",
		Protocol:  awswire.Query,
		Namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/",
		Version:   "2010-05-15",
		Operations: []awswire.Operation{
			awswire.Op("ActivateType", r.ActivateType),
			awswire.Op("BatchDescribeTypeConfigurations", inTurn(turns, r.BatchDescribeTypeConfigurations)),
			awswire.Op("DeactivateType", r.DeactivateType),
			awswire.Op("DeregisterType", r.DeregisterType),
			awswire.Op("DescribePublisher", inTurn(turns, r.DescribePublisher)),
			awswire.Op("DescribeType", inTurn(turns, r.DescribeType)),
			awswire.Op("DescribeTypeRegistration", inTurn(turns, r.DescribeTypeRegistration)),
			awswire.Op("ListTypeRegistrations", inTurn(turns, r.ListTypeRegistrations)),
			awswire.Op("ListTypeVersions", inTurn(turns, r.ListTypeVersions)),
			awswire.Op("ListTypes", inTurn(turns, r.ListTypes)),
			awswire.Op("PublishType", r.PublishType),
			awswire.Op("RecordHandlerProgress", tokens.RecordHandlerProgress),
			awswire.Op("RegisterPublisher", r.RegisterPublisher),
			awswire.Op("RegisterType", r.RegisterType),
			awswire.Op("SetTypeConfiguration", r.SetTypeConfiguration),
			awswire.Op("SetTypeDefaultVersion", r.SetTypeDefaultVersion),
			awswire.Op("TestType", r.TestType),
		},
		// The operations of stacks and what else the service has. They are refused by name.
		Known: []string{
			"ActivateOrganizationsAccess", "CancelUpdateStack", "ContinueUpdateRollback", "CreateChangeSet",
			"CreateGeneratedTemplate", "CreateStack", "CreateStackInstances", "CreateStackRefactor", "CreateStackSet",
			"DeactivateOrganizationsAccess", "DeleteChangeSet", "DeleteGeneratedTemplate", "DeleteStack",
			"DeleteStackInstances", "DeleteStackSet", "DescribeAccountLimits", "DescribeChangeSet",
			"DescribeChangeSetHooks", "DescribeEvents", "DescribeGeneratedTemplate", "DescribeOrganizationsAccess",
			"DescribeResourceScan", "DescribeStackDriftDetectionStatus", "DescribeStackEvents", "DescribeStackInstance",
			"DescribeStackRefactor", "DescribeStackResource", "DescribeStackResourceDrifts", "DescribeStackResources",
			"DescribeStackSet", "DescribeStackSetOperation", "DescribeStacks", "DetectStackDrift",
			"DetectStackResourceDrift", "DetectStackSetDrift", "EstimateTemplateCost", "ExecuteChangeSet",
			"ExecuteStackRefactor", "GetGeneratedTemplate", "GetHookResult", "GetStackPolicy", "GetTemplate",
			"GetTemplateSummary", "ImportStacksToStackSet", "ListChangeSets", "ListExports", "ListGeneratedTemplates",
			"ListHookResults", "ListImports", "ListResourceScanRelatedResources", "ListResourceScanResources",
			"ListResourceScans", "ListStackInstanceResourceDrifts", "ListStackInstances", "ListStackRefactorActions",
			"ListStackRefactors", "ListStackResources", "ListStackSetAutoDeploymentTargets",
			"ListStackSetOperationResults", "ListStackSetOperations", "ListStackSets", "ListStacks", "RollbackStack",
			"SetStackPolicy", "SignalResource", "StartResourceScan", "StopStackSetOperation",
			"UpdateGeneratedTemplate", "UpdateStack", "UpdateStackInstances", "UpdateStackSet",
			"UpdateTerminationProtection", "ValidateTemplate",
		},
		Constraints: registryConstraints,
		ErrorCodes: map[string]string{
			"ChangeSetNotFoundException":          "ChangeSetNotFound",
			"HookResultNotFoundException":         "HookResultNotFound",
			"InvalidChangeSetStatusException":     "InvalidChangeSetStatus",
			"InvalidStateTransitionException":     "InvalidStateTransition",
			"OperationStatusCheckFailedException": "ConditionalCheckFailed",
		},
	}
}

// inTurn has an operation wait for its turn. The pool of connections to the database does
// not serve those who wait in order, so that beyond its size some would wait very long: of
// 100 clients at once, the slowest hundredth six times as long as most.
func inTurn[I, O any](turns chan struct{}, f func(context.Context, awswire.Caller, *I) (*O, error)) func(context.Context, awswire.Caller, *I) (*O, error) {
	return func(ctx context.Context, caller awswire.Caller, in *I) (*O, error) {
		select {
		case turns <- struct{}{}: // first come, first served
			defer func() { <-turns }()
			return f(ctx, caller, in)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
