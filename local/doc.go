// Package local is a CloudFormation on this machine: stacks, change sets and stack sets, the registry of extensions, the
// handlers registered in it as local processes, and the small part of the services around it that clients and
// handlers need (S3, STS, Systems Manager parameters, Secrets Manager, CloudWatch Logs, SNS, EventBridge, Step
// Functions, Lambda Invoke). The aws CLI, the SDKs, the CDK and the CloudFormation CLI use it unchanged.
//
// A [CloudFormation] is an [http.Handler]. A test opens one for itself:
//
//	cloud, err := local.Open(ctx, local.Config{})
//	if err != nil { … }
//	defer cloud.Close()
//	server := httptest.NewServer(cloud)
//	defer server.Close()
//	cfg.BaseEndpoint = aws.String(server.URL)
//
// Without [Config.Dir] it keeps nothing; with one, the next CloudFormation in the folder continues where this one has
// ended, even if its process was killed. The examples show stacks, handlers and hooks in Go, change sets, restarts and the Cloud Control
// API.
//
// "cfn serve" runs a [Server], which also listens, over TLS if needed, and ends its requests in order.
package local
