package stack

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestFilledBucketsWarn makes change sets that delete buckets: those with objects are a warning,
// which prevents nothing.
func TestFilledBucketsWarn(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.world.knows(t, strings.ReplaceAll(fixtures.Thing, "Acme::Test::Thing", bucketType))
	g.config.HasObjects = func(_ context.Context, _ awswire.Caller, bucket string) (bool, error) {
		return bucket == "full-1" || bucket == "kept-1", nil
	}
	bucket := func(id, more string) string { return id + ": {Type: '" + bucketType + "'" + more + "}" }
	g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things("A: {}",
		bucket("Full", ""), bucket("Empty", ""), bucket("Kept", ", DeletionPolicy: Retain")))})
	for name, disabled := range map[string]bool{"checked": false, "unchecked": true} {
		out, err := g.CreateChangeSet(t.Context(), owner, &cloudformation.CreateChangeSetInput{
			StackName: aws.String("s"), ChangeSetName: &name, TemplateBody: aws.String(things("A: {}")), DisableValidation: &disabled,
		})
		if err != nil {
			t.Fatal(err)
		}
		set := (&setRig{g, t, owner}).planned(*out.Id)
		if set.Status != types.ChangeSetStatusCreateComplete || set.ExecutionStatus != types.ExecutionStatusAvailable {
			t.Fatalf("%s: %s %s: %s", name, set.Status, set.ExecutionStatus, aws.ToString(set.StatusReason))
		}
		events, err := g.DescribeEvents(t.Context(), owner, &cloudformation.DescribeEventsInput{ChangeSetName: out.Id})
		if err != nil {
			t.Fatal(err)
		}
		if disabled {
			if len(events.OperationEvents) > 0 {
				t.Errorf("without validation: %s", encode(events.OperationEvents))
			}
			continue
		}
		if len(events.OperationEvents) != 1 {
			t.Fatalf("%s: %s", name, encode(events.OperationEvents))
		}
		e := events.OperationEvents[0]
		if *e.LogicalResourceId != "Full" || *e.ResourceType != bucketType || e.EventType != types.EventTypeValidationError || e.OperationType != types.OperationTypeCreateChangeset ||
			*e.ValidationName != "BUCKET_EMPTINESS_VALIDATION" || e.ValidationFailureMode != types.HookFailureModeWarn || e.ValidationStatus != types.ValidationStatusFailed ||
			*e.ValidationPath != "/Resources/Full" || *e.ValidationStatusReason != "S3 bucket is not empty" {
			t.Errorf("%s: %s", name, encode(e))
		}
	}
}

// TestSnapshotPolicies deletes and replaces a resource of a type that the service makes snapshots
// of: that none is made is logged. Other types are refused.
func TestSnapshotPolicies(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	const volume = "AWS::EC2::Volume"
	g.world.knows(t, strings.ReplaceAll(fixtures.Thing, "Acme::Test::Thing", volume))
	var log bytes.Buffer
	g.Engine.log = slog.New(slog.NewTextHandler(&log, nil))
	body := func(name string) *string {
		return aws.String("Resources: {V: {Type: '" + volume + "', DeletionPolicy: Snapshot, UpdateReplacePolicy: Snapshot, Properties: {Name: " + name + "}}}")
	}
	s := g.create(&cloudformation.CreateStackInput{TemplateBody: body("a")})
	g.expectStatus(s, types.StackStatusCreateComplete, "")
	g.expectStatus(g.update(&cloudformation.UpdateStackInput{TemplateBody: body("b")}), types.StackStatusUpdateComplete, "")
	g.expectStatus(g.delete(*s.StackId, &cloudformation.DeleteStackInput{}), types.StackStatusDeleteComplete, "")
	if err := g.store.StopWork(); err != nil { // the log is not written any more
		t.Fatal(err)
	}
	for _, id := range []string{"v-1", "v-2"} {
		if n := strings.Count(log.String(), "no snapshot is made before the resource is deleted: its type is simulated"); n != 2 || !strings.Contains(log.String(), "identifier="+id) {
			t.Errorf("%d snapshots in the log, %s:\n%s", n, id, log.String())
		}
	}
	if ids := g.world.ids(); len(ids) > 0 {
		t.Errorf("left: %v", ids)
	}
	for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
		_, err := g.CreateStack(t.Context(), owner, &cloudformation.CreateStackInput{StackName: aws.String("refused"),
			TemplateBody: aws.String("Resources: {A: {Type: 'Acme::Test::Thing', " + policy + ": Snapshot}}")})
		if got := refusal(t, err); got != "ValidationError: Template error: resource type Acme::Test::Thing does not support deletion policy Snapshot" {
			t.Errorf("%s: %s", policy, got)
		}
	}
}
