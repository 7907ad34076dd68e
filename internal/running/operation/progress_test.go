package operation

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func TestHandlerProgress(t *testing.T) {
	t.Parallel()
	const (
		pending = types.OperationStatusPending
		working = types.OperationStatusInProgress
		success = types.OperationStatusSuccess
		failed  = types.OperationStatusFailed
	)
	type report struct {
		to, current types.OperationStatus
		token       string
		code        string // of the refusal, "" for none
	}
	eachStore(t, func(t *testing.T, g *rig) {
		for name, reports := range map[string][]report{
			"through":           {{to: working, current: pending}, {to: working, current: working}, {to: success, current: working}},
			"at once":           {{to: success}},
			"unchecked":         {{to: working}, {to: failed}},
			"twice":             {{to: working, current: pending, token: "a"}, {to: working, current: pending, token: "a"}, {to: success, token: "b"}, {to: success, token: "b"}},
			"another status":    {{to: success, current: working, code: codeStatusCheckFailed}, {to: working, current: pending}},
			"back":              {{to: working}, {to: pending, code: codeInvalidTransition}},
			"after success":     {{to: success}, {to: failed, code: codeInvalidTransition}, {to: success, token: "c", code: codeInvalidTransition}},
			"to the beginning":  {{to: pending, code: codeInvalidTransition}},
			"check comes first": {{to: success}, {to: working, current: pending, code: codeStatusCheckFailed}},
		} {
			t.Run(name, func(t *testing.T) {
				if err := g.tokens.Begin(t.Context(), owner, name); err != nil {
					t.Fatal(err)
				}
				last := pending
				for i, r := range reports {
					_, err := g.tokens.RecordHandlerProgress(t.Context(), owner, &cloudformation.RecordHandlerProgressInput{
						BearerToken: &name, OperationStatus: r.to, CurrentOperationStatus: r.current, ClientRequestToken: clientToken(r.token), StatusMessage: aws.String("m"), ResourceModel: aws.String("{}"),
					})
					if r.code != "" {
						refused(t, err, r.code, "")
						continue
					}
					if last = r.to; err != nil {
						t.Fatalf("report %d: %v", i, err)
					}
				}
				progress, err := g.tokens.End(t.Context(), owner, name)
				if err != nil || progress == nil || progress.Status != last {
					t.Errorf("ended as %+v, %v; want %s", progress, err, last)
				}
				if again, err := g.tokens.End(t.Context(), owner, name); again != nil || err != nil {
					t.Errorf("ended again as %+v, %v", again, err)
				}
			})
		}
	})
}

func TestHandlerProgressRefusals(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		if err := g.tokens.Begin(t.Context(), owner, "bearer"); err != nil {
			t.Fatal(err)
		}
		record := func(change func(*cloudformation.RecordHandlerProgressInput)) error {
			in := &cloudformation.RecordHandlerProgressInput{BearerToken: aws.String("bearer"), OperationStatus: types.OperationStatusInProgress}
			change(in)
			_, err := g.tokens.RecordHandlerProgress(t.Context(), owner, in)
			return err
		}
		refused(t, record(func(in *cloudformation.RecordHandlerProgressInput) { in.BearerToken = aws.String("else") }), "ValidationError", "belongs to no running operation")
		if _, err := g.tokens.RecordHandlerProgress(t.Context(), reader, &cloudformation.RecordHandlerProgressInput{
			BearerToken: aws.String("bearer"), OperationStatus: types.OperationStatusInProgress,
		}); err == nil {
			t.Error("another account may report")
		}
		if err := record(func(in *cloudformation.RecordHandlerProgressInput) { in.StatusMessage = aws.String("a\x00b\xff") }); err != nil {
			t.Errorf("odd characters: %v", err)
		}

		// What nobody ends is forgotten.
		clock := time.Now()
		g.tokens.config.Now = func() time.Time { return clock }
		clock = clock.Add(progressLife + time.Hour)
		if err := g.tokens.Begin(t.Context(), owner, "later"); err != nil {
			t.Fatal(err)
		}
		refused(t, record(func(*cloudformation.RecordHandlerProgressInput) {}), "ValidationError", "belongs to no running operation")
	})
}

// TestHandlerProgressAtOnce has several reports move an operation from the same status.
func TestHandlerProgressAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		if err := g.tokens.Begin(t.Context(), owner, "bearer"); err != nil {
			t.Fatal(err)
		}
		taken := 0
		for _, err := range atOnce(8, func(ctx context.Context) error {
			_, err := g.tokens.RecordHandlerProgress(ctx, owner, &cloudformation.RecordHandlerProgressInput{
				BearerToken: aws.String("bearer"), OperationStatus: types.OperationStatusInProgress, CurrentOperationStatus: types.OperationStatusPending,
			})
			return err
		}) {
			if err == nil {
				taken++
			} else {
				refused(t, err, codeStatusCheckFailed, "")
			}
		}
		if taken != 1 {
			t.Errorf("%d reports were taken, want 1", taken)
		}
	})
}
