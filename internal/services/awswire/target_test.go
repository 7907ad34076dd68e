package awswire_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func TestRead(t *testing.T) {
	signed := func(id, region, service string) string {
		return "AWS4-HMAC-SHA256 Credential=" + id + "/20261120/" + region + "/" + service + "/aws4_request, SignedHeaders=host, Signature=00"
	}
	for _, test := range []struct {
		name, method, target, authorization, amzTarget, form string
		service                                              string
		region, key                                          string // "" for none
		code                                                 string
	}{
		{name: "a credential scope", authorization: signed("AKIA", "eu-west-1", "cloudformation"), service: "cloudformation", region: "eu-west-1", key: "AKIA"},
		{name: "an account as key", authorization: signed("123456789012", "cn-north-1", "s3"), service: "s3", region: "cn-north-1", key: "123456789012"},
		{name: "a known key", authorization: signed("AKIA1", "eu-west-1", "sts"), service: "sts", region: "eu-west-1", key: "AKIA1"},
		{name: "a service that nobody has", authorization: signed("AKIA1", "eu-west-1", "quantum"), service: "quantum", region: "eu-west-1", key: "AKIA1"},
		{name: "the scope before the target", authorization: signed("AKIA1", "eu-west-1", "ssm"), amzTarget: "Logs_20140328.PutLogEvents", service: "ssm", region: "eu-west-1", key: "AKIA1"},
		{name: "an id with slashes", authorization: signed("a/b", "eu-west-1", "ssm"), service: "ssm", region: "eu-west-1", key: "a/b"},
		{name: "asymmetric", authorization: "AWS4-ECDSA-P256-SHA256 Credential=AKIA1/20261120/s3/aws4_request, SignedHeaders=host, Signature=00", service: "s3", key: "AKIA1"},
		{name: "presigned", target: "/b/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA1%2F20261120%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-SignedHeaders=host&X-Amz-Signature=00", service: "s3",
			region: "eu-west-1", key: "AKIA1"},
		{name: "presigned, version 2", target: "/b/k?AWSAccessKeyId=123456789012&Signature=a&Expires=1", service: "s3", key: "123456789012"},
		{name: "Cloud Control", amzTarget: "CloudApiService.GetResource", service: "cloudcontrolapi"},
		{name: "parameters", amzTarget: "AmazonSSM.GetParameter", service: "ssm"},
		{name: "secrets", amzTarget: "secretsmanager.GetSecretValue", service: "secretsmanager"},
		{name: "logs", amzTarget: "Logs_20140328.PutLogEvents", service: "logs"},
		{name: "another JSON service", amzTarget: "DynamoDB_20120810.GetItem", service: "dynamodb"},
		{name: "a form", method: "POST", target: "/", form: "Action=ListStacks&Version=2010-05-15", service: "cloudformation"},
		{name: "a form of STS", method: "POST", target: "/", form: "Action=AssumeRoleWithWebIdentity&Version=2011-06-15", service: "sts"},
		{name: "a form by GET", target: "/?Action=ListStacks&Version=2010-05-15", service: "cloudformation"},
		{name: "a form without a version", target: "/?Action=ListStacks", service: "cloudformation"},
		{name: "a form of another service", target: "/?Action=DescribeInstances&Version=2016-11-15", service: "ec2"},
		{name: "a function", method: "POST", target: "/2015-03-31/functions/arn:aws:lambda/invocations", service: "lambda"},
		{name: "a bucket called functions", target: "/functions/x", service: "s3"},
		{name: "a bucket like a date", target: "/2015-03-31/x", service: "s3"},
		{name: "buckets", service: "s3"},
		{name: "a form that is an object", method: "POST", target: "/bucket", form: "Action=x", service: "s3"},

		{name: "not a credential", authorization: "Bearer x", service: "s3", code: "AuthorizationHeaderMalformed"},
		{name: "not a credential, of a form", method: "POST", target: "/", form: "Action=ListStacks&Version=2010-05-15", authorization: "Bearer x", service: "cloudformation", code: "IncompleteSignature"},
		{name: "not a credential, of JSON", authorization: "AWS4-HMAC-SHA256 Credential=x", amzTarget: "AmazonSSM.GetParameter", service: "ssm", code: "IncompleteSignatureException"},
		{name: "twice", authorization: "AWS4-HMAC-SHA256 Credential=x, Credential=y", service: "s3", code: "AuthorizationHeaderMalformed"},
		{name: "a region that is none", authorization: signed("AKIA", "eu<west", "cloudformation"), service: "cloudformation", code: "IncompleteSignature"},
		{name: "a region like the key", authorization: signed("a.b", "a.b", "cloudformation"), service: "cloudformation", code: "IncompleteSignature"},
		{name: "large", authorization: "AWS4-HMAC-SHA256 " + strings.Repeat("x", 9000), service: "s3", code: "AuthorizationHeaderMalformed"},
		{name: "a large form", method: "POST", target: "/", form: "Action=" + strings.Repeat("x", 3<<20), service: "cloudformation", code: "RequestEntityTooLarge"},
		{name: "many signed headers", authorization: "AWS4-HMAC-SHA256 Credential=AKIA/20261120/eu-west-1/s3/aws4_request, SignedHeaders=" + strings.Repeat("a;", 200) + "b, Signature=00", service: "s3", code: "AuthorizationHeaderMalformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			method, path := "GET", "/"
			if test.method != "" {
				method = test.method
			}
			if test.target != "" {
				path = test.target
			}
			r := httptest.NewRequest(method, path, strings.NewReader(test.form))
			if test.authorization != "" {
				r.Header.Set("Authorization", test.authorization)
			}
			if test.amzTarget != "" {
				r.Header.Set("X-Amz-Target", test.amzTarget)
			}
			if test.form != "" {
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			target, err := awswire.Reader{}.Read(r)
			if target.Service != test.service || target.Region != test.region || target.AccessKeyID != test.key {
				t.Errorf("%+v, want %s in %q by %q", target, test.service, test.region, test.key)
			}
			var refused *awswire.Error
			if test.code == "" && err != nil || test.code != "" && (!errors.As(err, &refused) || refused.Code != test.code) {
				t.Errorf("%v, want %q", err, test.code)
			}
			if test.code != "" {
				return
			}
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != test.form {
				t.Errorf("the body is %q, %v afterwards", body, err)
			}
		})
	}
}

func TestPartition(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1": "aws", "": "aws", "cn-north-1": "aws-cn", "us-gov-west-1": "aws-us-gov", "eusc-de-east-1": "aws-eusc",
		"us-iso-east-1": "aws-iso", "us-isob-east-1": "aws-iso-b", "eu-isoe-west-1": "aws-iso-e", "us-isof-south-1": "aws-iso-f", "mars-1": "aws",
	} {
		if got := (awswire.Caller{Place: awswire.Place{Region: region}}).Partition(); got != want {
			t.Errorf("%q: %s, want %s", region, got, want)
		}
	}
}

// TestProtocolOfRequest reads the form of an answer from the request where the service is unknown.
func TestProtocolOfRequest(t *testing.T) {
	for _, test := range []struct {
		service, contentType, target string
		want                         awswire.Protocol
	}{
		{"ecr", "application/x-amz-json-1.1", "AmazonEC2ContainerRegistry_V20150921.DescribeRepositories", awswire.JSON11},
		{"ecr", "", "AmazonEC2ContainerRegistry_V20150921.DescribeRepositories", awswire.JSON11},
		{"states", "application/x-amz-json-1.0; charset=utf-8", "AWSStepFunctions.ListActivities", awswire.JSON10},
		{"apigateway", "application/json", "", awswire.RESTJSON},
		{"ec2", "application/x-www-form-urlencoded", "", awswire.Query},
		{"ec2", "", "", awswire.Query},
		{"ssm", "application/x-www-form-urlencoded", "", awswire.JSON11},
		{"s3", "application/json", "", awswire.RESTXML},
	} {
		r := &http.Request{Header: http.Header{}}
		r.Header.Set("Content-Type", test.contentType)
		r.Header.Set("X-Amz-Target", test.target)
		if got := awswire.ProtocolOfRequest(test.service, r); got != test.want {
			t.Errorf("%+v: got %v", test, got)
		}
	}
}
