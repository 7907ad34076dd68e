package delegate

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/invoke"
)

// drift has the emulator read the resource of a stack. It returns the properties of it that its template sets.
func (e *emulator) drift(ctx context.Context, client *cloudformation.Client, id string) (actual map[string]any, deleted bool, err error) {
	begun, err := client.DetectStackDrift(ctx, &cloudformation.DetectStackDriftInput{StackName: &id})
	if err != nil {
		return nil, false, e.explain(ctx, err)
	}
	waited := time.Duration(0)
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 250*time.Millisecond) {
		found, err := client.DescribeStackDriftDetectionStatus(ctx, &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId})
		if err != nil {
			return nil, false, e.explain(ctx, err)
		}
		if found.DetectionStatus != cfn.StackDriftDetectionStatusDetectionInProgress {
			break
		}
		if waited >= patience {
			return nil, false, errPending
		}
		if err := invoke.Sleep(ctx, wait); err != nil {
			return nil, false, err
		}
		waited += wait
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
