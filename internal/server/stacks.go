package server

import (
	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/stack"
)

// stackOperations are the operations on stacks.
func stackOperations(e *stack.Engine) []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateChangeSet", e.CreateChangeSet),
		awswire.Op("CreateStack", e.CreateStack),
		awswire.Op("DeleteChangeSet", e.DeleteChangeSet),
		awswire.Op("DeleteStack", e.DeleteStack),
		awswire.Op("DescribeChangeSet", e.DescribeChangeSet).Reading(),
		awswire.Op("DescribeEvents", e.DescribeEvents).Reading(),
		awswire.Op("DescribeStackEvents", e.DescribeStackEvents).Reading(),
		awswire.Op("DescribeStackResource", e.DescribeStackResource).Reading(),
		awswire.Op("DescribeStackResources", e.DescribeStackResources).Reading(),
		awswire.Op("DescribeStacks", e.DescribeStacks).Reading(),
		awswire.Op("ExecuteChangeSet", e.ExecuteChangeSet),
		awswire.Op("GetStackPolicy", e.GetStackPolicy).Reading(),
		awswire.Op("GetTemplate", e.GetTemplate).Reading(),
		awswire.Op("ListChangeSets", e.ListChangeSets).Reading(),
		awswire.Op("ListStackResources", e.ListStackResources).Reading(),
		awswire.Op("ListStacks", e.ListStacks).Reading(),
		awswire.Op("SetStackPolicy", e.SetStackPolicy),
		awswire.Op("SignalResource", e.SignalResource),
		awswire.Op("UpdateStack", e.UpdateStack),
		awswire.Op("UpdateTerminationProtection", e.UpdateTerminationProtection),
	}
}

// The patterns of the API's shapes about stacks.
const patternStackName = `[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*`

// changeSetName is the name or ARN of a change set.
func changeSetName() awswire.Constraint {
	return awswire.Constraint{Member: "ChangeSetName", Required: true, MinLength: 1, MaxLength: 1600, Pattern: `[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*`}
}

// stackName is the name or ARN of a stack.
func stackName(required bool) awswire.Constraint {
	return awswire.Constraint{Member: "StackName", Required: required, MinLength: 1, Pattern: patternStackName}
}

// templateMembers are those that bring a template, and what goes with it.
func templateMembers(more ...awswire.Constraint) []awswire.Constraint {
	return append([]awswire.Constraint{
		{Member: "TemplateBody", MinLength: 1, MaxLength: 51200},
		{Member: "TemplateURL", MinLength: 1, MaxLength: 5120},
	}, more...)
}

// stackRequest are the members that creating and updating have in common.
func stackRequest(more ...awswire.Constraint) []awswire.Constraint {
	return append(templateMembers(
		stackName(true),
		awswire.Constraint{Member: "NotificationARNs", MaxLength: 5},
		awswire.Constraint{Member: "ResourceTypes[]", MinLength: 1, MaxLength: 256},
		awswire.Constraint{Member: "RoleARN", MinLength: 20, MaxLength: 2048},
		awswire.Constraint{Member: "Tags", MaxLength: 50},
		awswire.Constraint{Member: "Tags[].Key", Required: true, MinLength: 1, MaxLength: 128},
		awswire.Constraint{Member: "Tags[].Value", Required: true, MaxLength: 256},
	), more...)
}

// stackConstraints are what the members of the operations on stacks must satisfy.
var stackConstraints = map[string][]awswire.Constraint{
	"CreateChangeSet": stackRequest(
		awswire.Constraint{Member: "ChangeSetName", Required: true, MinLength: 1, MaxLength: 128, Pattern: `[a-zA-Z][-a-zA-Z0-9]*`},
		awswire.Constraint{Member: "ClientToken", MinLength: 1, MaxLength: 128},
		awswire.Constraint{Member: "Description", MinLength: 1, MaxLength: 1024},
		awswire.Constraint{Member: "ResourcesToImport", MaxLength: 200},
	),
	"CreateStack":                 stackRequest(token("ClientRequestToken", false)),
	"DeleteChangeSet":             {stackName(false), changeSetName()},
	"DescribeChangeSet":           {stackName(false), changeSetName()},
	"ExecuteChangeSet":            {stackName(false), changeSetName(), token("ClientRequestToken", false)},
	"ListChangeSets":              {stackName(true)},
	"DeleteStack":                 {stackName(true), token("ClientRequestToken", false)},
	"DescribeStackEvents":         {stackName(false)},
	"DescribeStackResource":       {stackName(true), {Member: "LogicalResourceId", Required: true}},
	"DescribeStackResources":      {stackName(false)},
	"DescribeStacks":              {stackName(false)},
	"GetStackPolicy":              {stackName(true)},
	"ListStackResources":          {stackName(true)},
	"SetStackPolicy":              {stackName(true), {Member: "StackPolicyBody", MinLength: 1, MaxLength: 16384}},
	"UpdateStack":                 stackRequest(token("ClientRequestToken", false)),
	"UpdateTerminationProtection": {stackName(true)},
}
