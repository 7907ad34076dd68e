package server

import "github.com/formwork-dev/formwork/internal/awswire"

// cloudControl is the table of the Cloud Control API. Its requests work on resources, as
// stacks do, and are refused by name until there are stacks.
func cloudControl() *awswire.Table {
	return &awswire.Table{
		Service:      "cloudcontrolapi",
		Protocol:     awswire.JSON10,
		TargetPrefix: "CloudApiService",
		Known: []string{
			"CancelResourceRequest", "CreateResource", "DeleteResource", "GetResource", "GetResourceRequestStatus",
			"ListResourceRequests", "ListResources", "UpdateResource",
		},
	}
}
