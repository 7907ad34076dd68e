package server

import (
	"errors"
	"io"
	"net/http"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/refactor"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// stackOperations are the operations on stacks.
func stackOperations(e *stack.Engine) []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateChangeSet", e.CreateChangeSet).NeedingMemory(),
		awswire.Op("CancelUpdateStack", e.CancelUpdateStack),
		awswire.Op("ContinueUpdateRollback", e.ContinueUpdateRollback),
		awswire.Op("CreateStack", e.CreateStack).NeedingMemory(),
		awswire.Op("DeleteChangeSet", e.DeleteChangeSet),
		awswire.Op("DeleteStack", e.DeleteStack),
		awswire.Op("DescribeChangeSet", e.DescribeChangeSet).Reading(),
		awswire.Op("DescribeAccountLimits", e.DescribeAccountLimits).Reading(),
		awswire.Op("DescribeEvents", e.DescribeEvents).Reading(),
		awswire.Op("DescribeStackDriftDetectionStatus", e.DescribeStackDriftDetectionStatus).Reading(),
		awswire.Op("DescribeStackResourceDrifts", e.DescribeStackResourceDrifts).Reading(),
		awswire.Op("DetectStackDrift", e.DetectStackDrift),
		awswire.Op("DetectStackResourceDrift", e.DetectStackResourceDrift),
		awswire.Op("DescribeStackEvents", e.DescribeStackEvents).Reading(),
		awswire.Op("DescribeStackResource", e.DescribeStackResource).Reading(),
		awswire.Op("DescribeStackResources", e.DescribeStackResources).Reading(),
		awswire.Op("DescribeStacks", e.DescribeStacks).Reading(),
		awswire.Op("EstimateTemplateCost", e.EstimateTemplateCost).NeedingMemory().Reading(),
		awswire.Op("ExecuteChangeSet", e.ExecuteChangeSet).NeedingMemory(),
		awswire.Op("GetStackPolicy", e.GetStackPolicy).Reading(),
		awswire.Op("GetTemplate", e.GetTemplate).Reading(),
		awswire.Op("ListChangeSets", e.ListChangeSets).Reading(),
		awswire.Op("GetTemplateSummary", e.GetTemplateSummary).NeedingMemory().Reading(),
		awswire.Op("ListExports", e.ListExports).Reading(),
		awswire.Op("DescribeChangeSetHooks", e.DescribeChangeSetHooks).Reading(),
		awswire.Op("GetHookResult", e.GetHookResult).Reading(),
		awswire.Op("ListHookResults", e.ListHookResults).Reading(),
		awswire.Op("ListImports", e.ListImports).Reading(),
		awswire.Op("ListStackResources", e.ListStackResources).Reading(),
		awswire.Op("ListStacks", e.ListStacks).Reading(),
		awswire.Op("RollbackStack", e.RollbackStack),
		awswire.Op("SetStackPolicy", e.SetStackPolicy),
		awswire.Op("SignalResource", e.SignalResource),
		awswire.Op("UpdateStack", e.UpdateStack).NeedingMemory(),
		awswire.Op("UpdateTerminationProtection", e.UpdateTerminationProtection),
		awswire.Op("ValidateTemplate", e.ValidateTemplate).NeedingMemory(),
	}
}

// refactorOperations are the operations on stack refactors.
func refactorOperations(e *refactor.Engine) []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateStackRefactor", e.CreateStackRefactor).NeedingMemory(),
		awswire.Op("DescribeStackRefactor", e.DescribeStackRefactor).Reading(),
		awswire.Op("ExecuteStackRefactor", e.ExecuteStackRefactor).NeedingMemory(),
		awswire.Op("ListStackRefactorActions", e.ListStackRefactorActions).Reading(),
		awswire.Op("ListStackRefactors", e.ListStackRefactors).Reading(),
	}
}

// The patterns of the API's shapes: names of stacks, change sets and stack sets, and those or ARNs.
const (
	patternName      = `[a-zA-Z][-a-zA-Z0-9]*`
	patternStackName = patternName + `|arn:[-a-zA-Z0-9:/._+]*`
	patternChangeSet = patternName + `|arn:[-a-zA-Z0-9:/]*`
	patternSet       = patternName + `(:[a-zA-Z0-9]{8}-[a-zA-Z0-9]{4}-[a-zA-Z0-9]{4}-[a-zA-Z0-9]{4}-[a-zA-Z0-9]{12})?|arn:[-a-zA-Z0-9:/._+]*`
)

// changeSetName is the name or ARN of a change set.
func changeSetName() awswire.Constraint {
	return awswire.Constraint{Member: "ChangeSetName", Required: true, MinLength: 1, MaxLength: 1600, Pattern: patternChangeSet}
}

// stackName is the name or ARN of a stack.
func stackName(required bool) awswire.Constraint {
	return awswire.Constraint{Member: "StackName", Required: required, MinLength: 1, Pattern: patternStackName}
}

// templateMembers are those with a template, and related ones.
func templateMembers(more ...awswire.Constraint) []awswire.Constraint {
	return append([]awswire.Constraint{
		{Member: "TemplateBody", MinLength: 1, MaxLength: template.MaxBody},
		{Member: "TemplateURL", MinLength: 1, MaxLength: 5120},
	}, more...)
}

// stackRequest are the members that creating and updating have in common.
func stackRequest(more ...awswire.Constraint) []awswire.Constraint {
	return templateMembers(append([]awswire.Constraint{
		{Member: "Parameters[].ParameterValue", Secret: true},
		{Member: "NotificationARNs", MaxLength: 5},
		{Member: "ResourceTypes[]", MinLength: 1, MaxLength: 256},
		{Member: "RoleARN", MinLength: 20, MaxLength: 2048},
		{Member: "RollbackConfiguration.MonitoringTimeInMinutes", Min: &zero, Max: &manyMinutes},
		{Member: "RollbackConfiguration.RollbackTriggers", MaxLength: 5},
		{Member: "RollbackConfiguration.RollbackTriggers[].Arn", Required: true},
		{Member: "RollbackConfiguration.RollbackTriggers[].Type", Required: true},
		{Member: "Tags", MaxLength: 50},
		{Member: "Tags[].Key", Required: true, MinLength: 1, MaxLength: 128},
		{Member: "Tags[].Value", Required: true, MaxLength: 256},
	}, more...)...)
}

var (
	zero, manyMinutes = int64(0), int64(180)

	stackPolicy = []awswire.Constraint{
		{Member: "StackPolicyBody", MinLength: 1, MaxLength: 16384}, {Member: "StackPolicyURL", MinLength: 1, MaxLength: 5120},
	}

	refactorID = awswire.Constraint{Member: "StackRefactorId", Required: true, MinLength: 1}

	nextToken = awswire.Constraint{Member: "NextToken", MinLength: 1, MaxLength: 1024}
)

// stackConstraints are what the members of the operations on stacks must satisfy.
var stackConstraints = map[string][]awswire.Constraint{
	"CreateChangeSet": stackRequest(
		stackName(true),
		awswire.Constraint{Member: "ChangeSetName", Required: true, MinLength: 1, MaxLength: 128, Pattern: patternName},
		awswire.Constraint{Member: "ClientToken", MinLength: 1, MaxLength: 128},
		awswire.Constraint{Member: "Description", MinLength: 1, MaxLength: 1024},
		awswire.Constraint{Member: "ResourcesToImport", MaxLength: 200},
		awswire.Constraint{Member: "ResourcesToImport[].ResourceType", Required: true, MinLength: 1, MaxLength: 256},
		awswire.Constraint{Member: "ResourcesToImport[].LogicalResourceId", Required: true},
		awswire.Constraint{Member: "ResourcesToImport[].ResourceIdentifier", Required: true, MinLength: 1, MaxLength: 256},
		awswire.Constraint{Member: "ResourcesToImport[].ResourceIdentifier[key]", MinLength: 1, MaxLength: 2048},
		awswire.Constraint{Member: "ResourcesToImport[].ResourceIdentifier[]", MinLength: 1, MaxLength: 2048},
	),
	"DeleteChangeSet":                   {stackName(false), changeSetName()},
	"DescribeChangeSet":                 {stackName(false), changeSetName(), nextToken},
	"ExecuteChangeSet":                  {stackName(false), changeSetName(), token("ClientRequestToken", false)},
	"ListChangeSets":                    {stackName(true), nextToken},
	"CancelUpdateStack":                 {stackName(true), token("ClientRequestToken", false)},
	"ContinueUpdateRollback":            {stackName(true), token("ClientRequestToken", false)},
	"CreateStack":                       stackRequest(token("ClientRequestToken", false), stackPolicy[0], stackPolicy[1], awswire.Constraint{Member: "StackName", Required: true, MinLength: 1, MaxLength: 128, Pattern: patternStackName}, awswire.Constraint{Member: "TimeoutInMinutes", Min: &one}),
	"DeleteStack":                       {stackName(true), token("ClientRequestToken", false)},
	"DescribeAccountLimits":             {nextToken},
	"DescribeChangeSetHooks":            {stackName(false), changeSetName(), nextToken},
	"GetHookResult":                     {{Member: "HookResultId", MinLength: 36, MaxLength: 36}},
	"ListHookResults":                   {nextToken},
	"DescribeEvents":                    {stackName(false), nextToken},
	"DescribeStackDriftDetectionStatus": {{Member: "StackDriftDetectionId", Required: true, MinLength: 1, MaxLength: 36}},
	"DescribeStackResourceDrifts": {
		stackName(true), nextToken, {Member: "MaxResults", Min: &one, Max: &hundred},
		{Member: "StackResourceDriftStatusFilters", MinLength: 1, MaxLength: 4},
	},
	"CreateStackRefactor": {
		{Member: "Description", MinLength: 1, MaxLength: 1024},
		{Member: "StackDefinitions", Required: true},
		{Member: "StackDefinitions[].StackName", MinLength: 1, Pattern: patternStackName},
		{Member: "StackDefinitions[].TemplateBody", MinLength: 1, MaxLength: template.MaxBody},
		{Member: "StackDefinitions[].TemplateURL", MinLength: 1, MaxLength: 5120},
		{Member: "ResourceMappings[].Source", Required: true},
		{Member: "ResourceMappings[].Source.StackName", Required: true, MinLength: 1, Pattern: patternStackName},
		{Member: "ResourceMappings[].Source.LogicalResourceId", Required: true},
		{Member: "ResourceMappings[].Destination", Required: true},
		{Member: "ResourceMappings[].Destination.StackName", Required: true, MinLength: 1, Pattern: patternStackName},
		{Member: "ResourceMappings[].Destination.LogicalResourceId", Required: true},
	},
	"DescribeStackRefactor":    {refactorID},
	"ExecuteStackRefactor":     {refactorID},
	"ListStackRefactorActions": {refactorID, nextToken, {Member: "MaxResults", Min: &one, Max: &hundred}},
	"ListStackRefactors":       {nextToken, {Member: "MaxResults", Min: &one, Max: &hundred}},
	"DetectStackDrift":         {stackName(true), {Member: "LogicalResourceIds", MinLength: 1, MaxLength: 200}},
	"DetectStackResourceDrift": {stackName(true), {Member: "LogicalResourceId", Required: true}},
	"DescribeStackEvents":      {stackName(false), nextToken},
	"DescribeStackResource":    {stackName(true), {Member: "LogicalResourceId", Required: true}},
	"DescribeStackResources":   {stackName(false)},
	"DescribeStacks":           {stackName(false), nextToken},
	"GetStackPolicy":           {stackName(true)},
	"GetTemplateSummary":       templateMembers(stackName(false)),
	"ListExports":              {nextToken},
	"ListImports":              {{Member: "ExportName", Required: true}, nextToken},
	"ListStackResources":       {stackName(true), nextToken},
	"ListStacks":               {nextToken},
	"RollbackStack":            {stackName(true), token("ClientRequestToken", false)},
	"SetStackPolicy": {
		stackName(true), {Member: "StackPolicyBody", MinLength: 1, MaxLength: 16384}, {Member: "StackPolicyURL", MinLength: 1, MaxLength: 5120},
	},
	"SignalResource": {
		stackName(true), {Member: "LogicalResourceId", Required: true}, {Member: "UniqueId", Required: true, MinLength: 1, MaxLength: 64},
		{Member: "Status", Required: true},
	},
	"UpdateStack": stackRequest(
		token("ClientRequestToken", false), stackPolicy[0], stackPolicy[1],
		stackName(true),
		awswire.Constraint{Member: "StackPolicyDuringUpdateBody", MinLength: 1, MaxLength: 16384},
		awswire.Constraint{Member: "StackPolicyDuringUpdateURL", MinLength: 1, MaxLength: 5120},
	),
	"UpdateTerminationProtection": {stackName(true)},
	"ValidateTemplate":            templateMembers(),
}

// signal takes a signal for a wait condition: the handle is a URL that scripts send it to.
func (s *Server) signal(w http.ResponseWriter, r *http.Request, id string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err == nil {
		err = s.config.Stacks.Signal(r.Context(), r.URL.Query(), body)
	}
	var refusal *awswire.Error
	switch {
	case err == nil:
		w.WriteHeader(http.StatusOK)
	case errors.As(err, &refusal):
		awswire.WriteError(w, r, awswire.RESTXML, id, refusal)
	default:
		s.config.Logger.ErrorContext(r.Context(), "a signal cannot be taken", "request", id, "error", err)
		awswire.WriteError(w, r, awswire.RESTXML, id, awswire.InternalFailure(id))
	}
}
