package server

import (
	"maps"
	"slices"

	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// cloudFormation is the table of the API of CloudFormation, version 2010-05-15. At most
// readers of its requests read at once, the others in the order in which they came.
func cloudFormation(r *registry.Registry, stacks *stack.Engine, refactors *refactor.Engine, sets *stackset.Engine, tokens *operation.Tokens, readers int) *awswire.Table {
	table := &awswire.Table{
		Service:    "cloudformation",
		Protocol:   awswire.Query,
		Namespace:  "http://cloudformation.amazonaws.com/doc/2010-05-15/",
		Version:    "2010-05-15",
		Readers:    readers,
		Operations: append(registryOperations(r), awswire.Op("RecordHandlerProgress", tokens.RecordHandlerProgress)),
		// All that the service has. What is not offered is refused by name.
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
		Constraints: maps.Clone(registryConstraints),
		ErrorCodes: map[string]string{
			"ChangeSetNotFoundException":          "ChangeSetNotFound",
			"HookResultNotFoundException":         "HookResultNotFound",
			"InvalidChangeSetStatusException":     "InvalidChangeSetStatus",
			"InvalidStateTransitionException":     "InvalidStateTransition",
			"OperationStatusCheckFailedException": "ConditionalCheckFailed",
		},
	}
	table.Operations = slices.Concat(table.Operations, stackOperations(stacks), refactorOperations(refactors), stackSetOperations(sets))
	maps.Copy(table.Constraints, stackConstraints)
	maps.Copy(table.Constraints, stackSetConstraints)
	table.Known = slices.DeleteFunc(table.Known, func(name string) bool {
		return slices.ContainsFunc(table.Operations, func(o awswire.Operation) bool { return o.Name == name })
	})
	return table
}

// registryOperations are those of the registry.
func registryOperations(r *registry.Registry) []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("ActivateType", r.ActivateType),
		awswire.Op("BatchDescribeTypeConfigurations", r.BatchDescribeTypeConfigurations).Reading(),
		awswire.Op("DeactivateType", r.DeactivateType),
		awswire.Op("DeregisterType", r.DeregisterType),
		awswire.Op("DescribePublisher", r.DescribePublisher).Reading(),
		awswire.Op("DescribeType", r.DescribeType).Reading(),
		awswire.Op("DescribeTypeRegistration", r.DescribeTypeRegistration).Reading(),
		awswire.Op("ListTypeRegistrations", r.ListTypeRegistrations).Reading(),
		awswire.Op("ListTypeVersions", r.ListTypeVersions).Reading(),
		awswire.Op("ListTypes", r.ListTypes).Reading(),
		awswire.Op("PublishType", r.PublishType),
		awswire.Op("RegisterPublisher", r.RegisterPublisher),
		awswire.Op("RegisterType", r.RegisterType).NeedingMemory(),
		awswire.Op("SetTypeConfiguration", r.SetTypeConfiguration),
		awswire.Op("SetTypeDefaultVersion", r.SetTypeDefaultVersion),
		awswire.Op("TestType", r.TestType).NeedingMemory(),
	}
}

// Registry is the table of the registry alone, for calls in this process.
func Registry(r *registry.Registry) *awswire.Table {
	table := &awswire.Table{Service: "cloudformation", Protocol: awswire.Query, Operations: registryOperations(r), Constraints: maps.Clone(registryConstraints)}
	delete(table.Constraints, "RecordHandlerProgress")
	return table
}
