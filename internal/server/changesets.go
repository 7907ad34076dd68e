package server

import (
	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/stack"
)

// changeSetOperations are the operations on change sets.
func changeSetOperations(e *stack.Engine) []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateChangeSet", e.CreateChangeSet),
		awswire.Op("DeleteChangeSet", e.DeleteChangeSet),
		awswire.Op("DescribeChangeSet", e.DescribeChangeSet).Reading(),
		awswire.Op("ExecuteChangeSet", e.ExecuteChangeSet),
		awswire.Op("ListChangeSets", e.ListChangeSets).Reading(),
	}
}

// changeSetConstraints are what the members of the operations on change sets must satisfy.
var changeSetConstraints = map[string][]awswire.Constraint{
	"CreateChangeSet": {
		changeSetStack(true),
		{Member: "ChangeSetName", Required: true, MinLength: 1, MaxLength: 128, Pattern: `[a-zA-Z][-a-zA-Z0-9]*`},
		{Member: "TemplateBody", MinLength: 1, MaxLength: 51200},
		{Member: "TemplateURL", MinLength: 1, MaxLength: 5120},
		{Member: "ClientToken", MinLength: 1, MaxLength: 128},
		{Member: "Description", MinLength: 1, MaxLength: 1024},
		{Member: "NotificationARNs", MaxLength: 5},
		{Member: "ResourceTypes[]", MinLength: 1, MaxLength: 256},
		{Member: "ResourcesToImport", MaxLength: 200},
		{Member: "RoleARN", MinLength: 20, MaxLength: 2048},
		{Member: "Tags", MaxLength: 50},
		{Member: "Tags[].Key", Required: true, MinLength: 1, MaxLength: 128},
		{Member: "Tags[].Value", Required: true, MaxLength: 256},
	},
	"DeleteChangeSet":   {changeSet(), changeSetStack(false)},
	"DescribeChangeSet": {changeSet(), changeSetStack(false), {Member: "NextToken", MinLength: 1, MaxLength: 1024}},
	"ExecuteChangeSet":  {changeSet(), changeSetStack(false), token("ClientRequestToken", false)},
	"ListChangeSets":    {changeSetStack(true), {Member: "NextToken", MinLength: 1, MaxLength: 1024}},
}

// changeSet is the name or ARN of a change set.
func changeSet() awswire.Constraint {
	return awswire.Constraint{Member: "ChangeSetName", Required: true, MinLength: 1, MaxLength: 1600, Pattern: `[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*`}
}

// changeSetStack is the name or ARN of the stack of a change set.
func changeSetStack(required bool) awswire.Constraint {
	return awswire.Constraint{Member: "StackName", Required: required, MinLength: 1, Pattern: `[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/._+]*`}
}
