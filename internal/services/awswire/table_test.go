package awswire_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	cctypes "github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// cloudFormation is a small table of CloudFormation around one operation of a test.
func cloudFormation(operations ...awswire.Operation) *awswire.Table {
	return &awswire.Table{
		Service:    "cloudformation",
		Protocol:   awswire.Query,
		Namespace:  "http://cloudformation.amazonaws.com/doc/2010-05-15/",
		Version:    "2010-05-15",
		Operations: operations,
		NoResult:   []string{"DeleteStack"},
		Known:      []string{"CreateStack", "DeleteStack"},
		ErrorCodes: map[string]string{"ChangeSetNotFoundException": "ChangeSetNotFound"},
	}
}

// serve runs a table behind a Reader, as a server does.
func serve(t *testing.T, table *awswire.Table) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := awswire.Reader{}.Read(r)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		if target.Service != table.Service {
			t.Errorf("service %q, want %q", target.Service, table.Service)
		}
		table.Serve(w, r, awswire.Caller{
			Place: awswire.Place{Account: "123456789012", Region: target.Region}, AccessKeyID: target.AccessKeyID, RequestID: "00000000-0000-4000-8000-000000000000",
		})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func config(url string) aws.Config {
	return aws.Config{
		Region:           "eu-west-1",
		BaseEndpoint:     aws.String(url),
		Credentials:      credentials.NewStaticCredentialsProvider("123456789012", "secret", ""),
		RetryMaxAttempts: 1,
	}
}

func TestQueryWithTheSDK(t *testing.T) {
	var got awswire.Caller
	var in *cloudformation.RegisterTypeInput
	client := cloudformation.NewFromConfig(config(serve(t, cloudFormation(
		awswire.Op("RegisterType", func(_ context.Context, caller awswire.Caller, input *cloudformation.RegisterTypeInput) (*cloudformation.RegisterTypeOutput, error) {
			got, in = caller, input
			return &cloudformation.RegisterTypeOutput{RegistrationToken: aws.String("a<b>&\r\n")}, nil
		}),
		awswire.Op("DescribeChangeSet", func(context.Context, awswire.Caller, *cloudformation.DescribeChangeSetInput) (*cloudformation.DescribeChangeSetOutput, error) {
			return nil, awswire.Errorf("ChangeSetNotFoundException", 404, "ChangeSet [%s] does not exist", "X")
		}),
		awswire.Op("DescribeStacks", func(context.Context, awswire.Caller, *cloudformation.DescribeStacksInput) (*cloudformation.DescribeStacksOutput, error) {
			return nil, errors.New("the disk holds the password hunter2")
		}),
	))))
	out, err := client.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{
		TypeName: aws.String("A::B::C"), SchemaHandlerPackage: aws.String("s3://b/k"), Type: types.RegistryTypeModule,
		LoggingConfig: &types.LoggingConfig{LogGroupName: aws.String("g"), LogRoleArn: aws.String("r")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if aws.ToString(out.RegistrationToken) != "a<b>&\r\n" {
		t.Errorf("token %q", *out.RegistrationToken)
	}
	if got.Account != "123456789012" || got.Region != "eu-west-1" || got.AccessKeyID != "123456789012" || len(got.RequestID) != 36 {
		t.Errorf("caller %+v", got)
	}
	if *in.TypeName != "A::B::C" || in.Type != types.RegistryTypeModule || *in.LoggingConfig.LogGroupName != "g" || in.ClientRequestToken != nil {
		t.Errorf("input %+v", in)
	}

	for _, test := range []struct {
		call    func() error
		code    string
		message string
		status  int
	}{
		{func() error {
			_, err := client.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: aws.String("X")})
			return err
		}, "ChangeSetNotFound", "ChangeSet [X] does not exist", 404},
		{func() error {
			_, err := client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("X")})
			return err
		}, "NotImplemented", "This server does not support the operation CreateStack of cloudformation yet.", 501},
		{func() error {
			_, err := client.ListExports(t.Context(), nil)
			return err
		}, "InvalidAction", "Could not find operation ListExports for version 2010-05-15", 400},
	} {
		err := test.call()
		var refused smithy.APIError
		if !errors.As(err, &refused) || refused.ErrorMessage() != test.message {
			t.Errorf("error %v, want %q", err, test.message)
			continue
		}
		var response interface{ HTTPStatusCode() int }
		if !errors.As(err, &response) || response.HTTPStatusCode() != test.status {
			t.Errorf("%s: status of %v, want %d", test.code, err, test.status)
		}
	}
	_, err = client.DescribeStacks(t.Context(), nil)
	var refused smithy.APIError
	if !errors.As(err, &refused) || refused.ErrorCode() != "InternalFailure" || refused.ErrorFault() == smithy.FaultClient {
		t.Errorf("internal failure: %v", err)
	}
}

func TestJSONWithTheSDK(t *testing.T) {
	table := &awswire.Table{
		Service: "cloudcontrolapi", Protocol: awswire.JSON10, TargetPrefix: "CloudApiService",
		Operations: []awswire.Operation{
			awswire.Op("GetResource", func(_ context.Context, _ awswire.Caller, in *cloudcontrol.GetResourceInput) (*cloudcontrol.GetResourceOutput, error) {
				if *in.Identifier == "no" {
					return nil, awswire.Errorf("ResourceNotFoundException", 404, "no such thing")
				}
				return &cloudcontrol.GetResourceOutput{TypeName: in.TypeName, ResourceDescription: &cctypes.ResourceDescription{Identifier: in.Identifier}}, nil
			}),
		},
	}
	client := cloudcontrol.NewFromConfig(config(serve(t, table)))
	out, err := client.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: aws.String("A::B::C"), Identifier: aws.String("a\u2028<b>")})
	if err != nil || *out.TypeName != "A::B::C" || *out.ResourceDescription.Identifier != "a\u2028<b>" {
		t.Fatalf("%+v, %v", out, err)
	}
	_, err = client.GetResource(t.Context(), &cloudcontrol.GetResourceInput{TypeName: aws.String("A::B::C"), Identifier: aws.String("no")})
	var missing *cctypes.ResourceNotFoundException
	if !errors.As(err, &missing) || missing.ErrorMessage() != "no such thing" {
		t.Errorf("error %v", err)
	}
}

// TestServeManyAtOnce compiles the shapes of a table from many requests at once.
func TestServeManyAtOnce(t *testing.T) {
	table := cloudFormation(
		awswire.Op("DescribeStacks", func(context.Context, awswire.Caller, *cloudformation.DescribeStacksInput) (*cloudformation.DescribeStacksOutput, error) {
			return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{{StackName: aws.String("a")}}}, nil
		}),
		awswire.Op("DescribeChangeSet", func(context.Context, awswire.Caller, *cloudformation.DescribeChangeSetInput) (*cloudformation.DescribeChangeSetOutput, error) {
			return &cloudformation.DescribeChangeSetOutput{}, nil
		}),
	)
	if names := table.Names(); !slices.Equal(names, []string{"DescribeChangeSet", "DescribeStacks"}) {
		t.Errorf("names %q", names)
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 20 {
				if w := post(table, "Version=2010-05-15&Action="+table.Names()[i%2]); w.Code != http.StatusOK {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
}

// TestEndOfARequest hands a panic on that asks for the connection to be dropped.
func TestEndOfARequest(t *testing.T) {
	table := cloudFormation(awswire.Op("ListStacks", func(context.Context, awswire.Caller, *cloudformation.ListStacksInput) (*cloudformation.ListStacksOutput, error) {
		panic(http.ErrAbortHandler)
	}))
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("recovered %v", err)
		}
	}()
	post(table, "Action=ListStacks&Version=2010-05-15")
}
