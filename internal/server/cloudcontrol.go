package server

import "github.com/formwork-dev/formwork/internal/awswire"

// cloudControl is the table of the Cloud Control API. Its operations are refused by name.
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
