// Package local is a CloudFormation of one's own: stacks and change sets, the registry of
// extensions, the handlers registered in it as local processes, and the small part of the services around it that
// clients and handlers need (S3, STS, Systems Manager parameters, Secrets Manager,
// CloudWatch Logs, Lambda Invoke). The aws CLI, the SDKs and the CloudFormation CLI talk to
// it unchanged.
//
// It is what "cfn serve" runs. In a test of one's own:
//
//	cloud, err := local.Open(ctx, local.Config{})
//	if err != nil { … }
//	defer cloud.Close()
//	server := httptest.NewServer(cloud)
//	defer server.Close()
//	cfg.BaseEndpoint = aws.String(server.URL)
//
// Stack sets are refused by name.
package local
