package local_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// TestCustomResourcesElsewhere has what is not supported for custom resources: drift, and the
// Cloud Control API. A change set shows them as all other resources.
func TestCustomResourcesElsewhere(t *testing.T) {
	t.Parallel()
	v := newVendor(t)
	server := serving(t, local.ServerConfig{Config: local.Config{Functions: []string{"vendor=" + v.URL}}})
	c := newClients(t, server.URL())
	v.then(v.works)
	stack := c.create(t, "s", thing(`, "Size": 1`))
	if stack.StackStatus != "CREATE_COMPLETE" {
		t.Fatal(c.history(t, stack))
	}
	v.then(v.works)
	begun, err := c.DetectStackDrift(t.Context(), &cloudformation.DetectStackDriftInput{StackName: stack.StackId})
	if err != nil {
		t.Fatal(err)
	}
	var drift *cloudformation.DescribeStackDriftDetectionStatusOutput
	eventually(t, time.Minute, "the end of the detection", func() bool {
		if drift, err = c.DescribeStackDriftDetectionStatus(t.Context(), &cloudformation.DescribeStackDriftDetectionStatusInput{StackDriftDetectionId: begun.StackDriftDetectionId}); err != nil {
			t.Fatal(err)
		}
		return drift.DetectionStatus != cfntypes.StackDriftDetectionStatusDetectionInProgress
	})
	if drift.DetectionStatus != cfntypes.StackDriftDetectionStatusDetectionComplete || drift.StackDriftStatus != cfntypes.StackDriftStatusNotChecked {
		t.Errorf("the drift is %s, %s", drift.DetectionStatus, drift.StackDriftStatus)
	}
	set, err := c.CreateChangeSet(t.Context(), &cloudformation.CreateChangeSetInput{StackName: aws.String("s"), ChangeSetName: aws.String("set"), TemplateBody: aws.String(thing(`, "Size": 2`))})
	if err != nil {
		t.Fatal(err)
	}
	var shown *cloudformation.DescribeChangeSetOutput
	eventually(t, time.Minute, "the change set", func() bool {
		if shown, err = c.DescribeChangeSet(t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: set.Id}); err != nil {
			t.Fatal(err)
		}
		return shown.Status == cfntypes.ChangeSetStatusCreateComplete || shown.Status == cfntypes.ChangeSetStatusFailed
	})
	if len(shown.Changes) != 1 || shown.Changes[0].ResourceChange.Action != cfntypes.ChangeActionModify || *shown.Changes[0].ResourceChange.PhysicalResourceId != "p-Thing" {
		t.Errorf("the change set is %s with %+v", shown.Status, shown.Changes)
	}
	url := server.URL()
	control := cloudcontrol.New(cloudcontrol.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
	_, err = control.CreateResource(t.Context(), &cloudcontrol.CreateResourceInput{TypeName: aws.String(customresource.TypeName), DesiredState: aws.String(`{"ServiceToken": "` + vendorToken + `"}`)})
	if code := codeOf(err); code != "UnsupportedActionException" && code != "TypeNotFoundException" {
		t.Errorf("the Cloud Control API: %v", err)
	}
	if seen := v.seen(); len(seen) > 0 {
		t.Errorf("calls %q", seen)
	}
}
