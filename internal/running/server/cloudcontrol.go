package server

import (
	"github.com/formwork-dev/formwork/internal/running/cloudcontrol"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// cloudControl is the table of the Cloud Control API.
func cloudControl(e *cloudcontrol.Engine) *awswire.Table {
	requestToken := awswire.Constraint{Member: "RequestToken", Required: true, MinLength: 1, MaxLength: 128, Pattern: `[-A-Za-z0-9+/=]+`}
	clientToken := awswire.Constraint{Member: "ClientToken", MinLength: 1, MaxLength: 128, Pattern: `[-A-Za-z0-9+/=]+`}
	identifier := awswire.Constraint{Member: "Identifier", Required: true, MinLength: 1, MaxLength: 1024, Pattern: `.+`}
	page := awswire.Constraint{Member: "MaxResults", Min: &one, Max: &hundred}
	resource := func(more ...awswire.Constraint) []awswire.Constraint {
		return append([]awswire.Constraint{
			{Member: "TypeName", Required: true, MinLength: 10, MaxLength: 196, Pattern: `[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}`},
			{Member: "TypeVersionId", MinLength: 1, MaxLength: 128, Pattern: `[A-Za-z0-9-]+`},
			{Member: "RoleArn", MinLength: 20, MaxLength: 2048, Pattern: `arn:.+:iam::[0-9]{12}:role/.+`},
		}, more...)
	}
	properties := func(member string, required bool) awswire.Constraint {
		return awswire.Constraint{Member: member, Required: required, MinLength: 1, MaxLength: 262144, Secret: true}
	}
	return &awswire.Table{
		Service:      "cloudcontrolapi",
		Protocol:     awswire.JSON10,
		TargetPrefix: "CloudApiService",
		Operations: []awswire.Operation{
			awswire.TextOp("CancelResourceRequest", e.CancelResourceRequest),
			awswire.TextOp("CreateResource", e.CreateResource),
			awswire.TextOp("DeleteResource", e.DeleteResource),
			awswire.TextOp("GetResource", e.GetResource),
			awswire.TextOp("GetResourceRequestStatus", e.GetResourceRequestStatus),
			awswire.TextOp("ListResourceRequests", e.ListResourceRequests).Reading(),
			awswire.TextOp("ListResources", e.ListResources),
			awswire.TextOp("UpdateResource", e.UpdateResource),
		},
		Constraints: map[string][]awswire.Constraint{
			"CancelResourceRequest":    {requestToken},
			"CreateResource":           resource(clientToken, properties("DesiredState", true)),
			"DeleteResource":           resource(clientToken, identifier),
			"GetResource":              resource(identifier),
			"GetResourceRequestStatus": {requestToken},
			"ListResourceRequests":     {page, {Member: "NextToken", MinLength: 1, MaxLength: 2048}},
			"ListResources":            resource(page, properties("ResourceModel", false), awswire.Constraint{Member: "NextToken", MinLength: 1, MaxLength: 4096, Pattern: `.+`}),
			"UpdateResource":           resource(clientToken, identifier, properties("PatchDocument", true)),
		},
	}
}
