package awswire_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestTextOp refuses NUL wherever it is in an input, with its path.
func TestTextOp(t *testing.T) {
	accepted := 0
	create := awswire.Table{Protocol: awswire.JSON10, Operations: []awswire.Operation{
		awswire.TextOp("CreateResource", func(context.Context, awswire.Caller, *cloudcontrol.CreateResourceInput) (*cloudcontrol.CreateResourceOutput, error) {
			accepted++
			return &cloudcontrol.CreateResourceOutput{}, nil
		}),
		awswire.TextOp("PutParameter", func(context.Context, awswire.Caller, *ssm.PutParameterInput) (*ssm.PutParameterOutput, error) {
			return &ssm.PutParameterOutput{}, nil
		}),
	}}
	for name, c := range map[string]struct {
		in any
		at string
	}{
		"CreateResource": {&cloudcontrol.CreateResourceInput{TypeName: aws.String("a"), DesiredState: aws.String("\x00")}, "DesiredState"},
		"PutParameter":   {&ssm.PutParameterInput{Name: aws.String("n"), Tags: []ssmtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}, {Key: aws.String("l"), Value: aws.String("a\x00b")}}}, "Tags.2.Value"},
	} {
		_, err := create.Call(t.Context(), awswire.Caller{}, name, c.in)
		if want := "ValidationException: A string of the request contains the character U+0000, at " + c.at + "."; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if _, err := create.Call(t.Context(), awswire.Caller{}, "CreateResource", &cloudcontrol.CreateResourceInput{TypeName: aws.String("a")}); err != nil || accepted != 1 {
		t.Errorf("text: %v, accepted %d", err, accepted)
	}
}
