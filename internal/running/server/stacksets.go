package server

import (
	"github.com/formwork-dev/formwork/internal/running/stackset"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// stackSetOperations are the operations on stack sets.
func stackSetOperations(e *stackset.Engine) []awswire.Operation {
	return []awswire.Operation{
		awswire.Op("CreateStackInstances", e.CreateStackInstances).NeedingMemory(),
		awswire.Op("CreateStackSet", e.CreateStackSet).NeedingMemory(),
		awswire.Op("DeleteStackInstances", e.DeleteStackInstances),
		awswire.Op("DeleteStackSet", e.DeleteStackSet),
		awswire.Op("DescribeStackInstance", e.DescribeStackInstance).Reading(),
		awswire.Op("DescribeStackSet", e.DescribeStackSet).Reading(),
		awswire.Op("DescribeStackSetOperation", e.DescribeStackSetOperation).Reading(),
		awswire.Op("DetectStackSetDrift", e.DetectStackSetDrift),
		awswire.Op("ImportStacksToStackSet", e.ImportStacksToStackSet),
		awswire.Op("ListStackInstanceResourceDrifts", e.ListStackInstanceResourceDrifts).Reading(),
		awswire.Op("ListStackInstances", e.ListStackInstances).Reading(),
		awswire.Op("ListStackSetAutoDeploymentTargets", e.ListStackSetAutoDeploymentTargets).Reading(),
		awswire.Op("ListStackSetOperationResults", e.ListStackSetOperationResults).Reading(),
		awswire.Op("ListStackSetOperations", e.ListStackSetOperations).Reading(),
		awswire.Op("ListStackSets", e.ListStackSets).Reading(),
		awswire.Op("StopStackSetOperation", e.StopStackSetOperation),
		awswire.Op("UpdateStackInstances", e.UpdateStackInstances).NeedingMemory(),
		awswire.Op("UpdateStackSet", e.UpdateStackSet).NeedingMemory(),
	}
}

// StackSets is the table of stack sets alone, for calls in this process.
func StackSets(e *stackset.Engine) *awswire.Table {
	return &awswire.Table{Service: "cloudformation", Protocol: awswire.Query, Operations: stackSetOperations(e), Constraints: stackSetConstraints}
}

// stackSet are the name or id of a set, and related members.
func stackSet(more ...awswire.Constraint) []awswire.Constraint {
	return append([]awswire.Constraint{{Member: "StackSetName", Required: true, MinLength: 1, Pattern: patternSet}}, more...)
}

// setPage are the members of a list.
func setPage(more ...awswire.Constraint) []awswire.Constraint {
	return append([]awswire.Constraint{nextToken, {Member: "MaxResults", Min: &one, Max: &hundred}}, more...)
}

// setTemplate are the members with which a set is created and updated.
func setTemplate(more ...awswire.Constraint) []awswire.Constraint {
	return templateMembers(append([]awswire.Constraint{
		{Member: "Description", MinLength: 1, MaxLength: 1024},
		{Member: "Parameters[].ParameterValue", Secret: true},
		{Member: "Tags", MaxLength: 50},
		{Member: "Tags[].Key", Required: true, MinLength: 1, MaxLength: 128},
		{Member: "Tags[].Value", Required: true, MaxLength: 256},
		{Member: "AdministrationRoleARN", MinLength: 20, MaxLength: 2048},
		{Member: "ExecutionRoleName", MinLength: 1, MaxLength: 64, Pattern: `[a-zA-Z_0-9+=,.@-]+`},
	}, more...)...)
}

var (
	requiredRegions = awswire.Constraint{Member: "Regions", Required: true}
	setOverrides    = awswire.Constraint{Member: "ParameterOverrides[].ParameterValue", Secret: true}
	operationID     = awswire.Constraint{Member: "OperationId", Required: true, MinLength: 1, MaxLength: 128}
	setAccount      = awswire.Constraint{Member: "StackInstanceAccount", Required: true, Pattern: `[0-9]{12}`}
	setRegion       = awswire.Constraint{Member: "StackInstanceRegion", Required: true}
)

// stackSetConstraints are what the members of the operations on stack sets must satisfy.
var stackSetConstraints = map[string][]awswire.Constraint{
	"CreateStackInstances": stackSet(requiredRegions, setOverrides),
	"CreateStackSet": setTemplate(token("ClientRequestToken", false),
		awswire.Constraint{Member: "StackSetName", Required: true, MinLength: 1, MaxLength: 128, Pattern: patternName}),
	"DeleteStackInstances":              stackSet(requiredRegions, awswire.Constraint{Member: "RetainStacks", Required: true}),
	"DeleteStackSet":                    stackSet(),
	"DescribeStackInstance":             stackSet(setAccount, setRegion),
	"DescribeStackSet":                  stackSet(),
	"DescribeStackSetOperation":         stackSet(operationID),
	"DetectStackSetDrift":               stackSet(),
	"ImportStacksToStackSet":            stackSet(),
	"ListStackInstanceResourceDrifts":   stackSet(setPage(setAccount, setRegion, operationID)...),
	"ListStackInstances":                stackSet(setPage(awswire.Constraint{Member: "Filters", MaxLength: 1})...),
	"ListStackSetAutoDeploymentTargets": stackSet(setPage()...),
	"ListStackSetOperationResults":      stackSet(setPage(operationID)...),
	"ListStackSetOperations":            stackSet(setPage()...),
	"ListStackSets":                     setPage(),
	"StopStackSetOperation":             stackSet(operationID),
	"UpdateStackInstances":              stackSet(requiredRegions, setOverrides),
	"UpdateStackSet":                    setTemplate(stackSet()...),
}
