package cli

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// localCloudFormation is the command "local" of scripts: it starts a local CloudFormation,
// the one of cfn serve, and sets the variables of cfn env. It simulates the types that match its arguments.
func localCloudFormation(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: local [PATTERN…]")
	}
	environ := append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	cloud, err := local.Open(context.Background(), local.Config{Dir: ts.MkAbs(".local"), Environ: environ, Simulate: args})
	ts.Check(err)
	server := httptest.NewServer(cloud)
	ts.Defer(func() {
		server.Close()
		ts.Check(cloud.Close())
	})
	for _, v := range localVariables(nil, server.URL, "eu-west-1", lambda.DefaultAccountID) {
		ts.Setenv(v.name, v.value)
	}
	// What a test of the whole command line needs of names it cannot know.
	ts.Setenv("LOCAL", strings.TrimPrefix(server.URL, "http://"))
}

// upload is the command "upload" of scripts: it puts a file into a bucket of the local
// CloudFormation, and makes the bucket before.
func upload(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: upload FILE BUCKET KEY")
	}
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://" + ts.Getenv("LOCAL")), Region: "eu-west-1", UsePathStyle: true, HTTPClient: http.DefaultClient,
		Credentials: credentials.NewStaticCredentialsProvider(ts.Getenv("AWS_ACCESS_KEY_ID"), ts.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
	})
	_, err := client.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: &args[1], CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	var owned *types.BucketAlreadyOwnedByYou
	if !errors.As(err, &owned) {
		ts.Check(err)
	}
	_, err = client.PutObject(context.Background(), &s3.PutObjectInput{Bucket: &args[1], Key: &args[2], Body: strings.NewReader(ts.ReadFile(args[0]))})
	ts.Check(err)
}

// policy is the command "policy" of scripts: it checks that a stack of the local CloudFormation has the policy of a file, or with
// "!" that it has none.
func policy(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && !neg || len(args) != 1 && neg {
		ts.Fatalf("usage: policy STACK FILE, or ! policy STACK")
	}
	client := cloudformation.New(cloudformation.Options{
		BaseEndpoint: aws.String("http://" + ts.Getenv("LOCAL")), Region: "eu-west-1", HTTPClient: http.DefaultClient,
		Credentials: credentials.NewStaticCredentialsProvider(ts.Getenv("AWS_ACCESS_KEY_ID"), ts.Getenv("AWS_SECRET_ACCESS_KEY"), ""),
	})
	found, err := client.GetStackPolicy(context.Background(), &cloudformation.GetStackPolicyInput{StackName: &args[0]})
	ts.Check(err)
	want := ""
	if !neg {
		want = ts.ReadFile(args[1])
	}
	if got := aws.ToString(found.StackPolicyBody); got != want {
		ts.Fatalf("the policy of %s is %q, want %q", args[0], got, want)
	}
}
