package delegate

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// drift has the emulator read the resource of a stack. It returns the properties of it that its template sets.
func (e *emulator) drift(ctx context.Context, client *cloudformation.Client, id string) (actual map[string]any, deleted bool, err error) {
	begun, err := client.DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{StackName: &id})
	if err != nil {
		return nil, false, e.explain(ctx, err)
	}
	err = poll(ctx, func() (done bool, err error) {
		found, err := client.DescribeStackDriftDetectionStatus(ctx, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId})
		if err != nil {
			return false, e.explain(ctx, err)
		}
		return found.DetectionStatus != cfn.StackDriftDetectionStatusDetectionInProgress, nil
	})
	if err != nil {
		return nil, false, err
	}
	out, err := client.DescribeStackResourceDrifts(ctx, &cloudformation.DescribeStackResourceDriftsInput{StackName: &id})
	if err != nil {
		return nil, false, e.explain(ctx, err)
	}
	for _, found := range out.StackResourceDrifts {
		switch found.StackResourceDriftStatus {
		case cfn.StackResourceDriftStatusDeleted:
			return nil, true, nil
		case cfn.StackResourceDriftStatusInSync, cfn.StackResourceDriftStatusModified:
			decoder := json.NewDecoder(strings.NewReader(aws.ToString(found.ActualProperties)))
			decoder.UseNumber()
			if decoder.Decode(&actual) == nil && len(actual) > 0 { // of some types it only knows that they exist
				return actual, false, nil
			}
		}
	}
	return nil, false, nil
}
