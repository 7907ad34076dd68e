package awswire_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestReadersTakeTurns has more requests read than may at once: the others wait, those that
// do not read do not, and those who give up are answered.
func TestReadersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reading, most atomic.Int64
		release := make(chan struct{})
		read := awswire.Op("GetParameters", func(context.Context, awswire.Caller, *ssm.GetParametersInput) (*ssm.GetParametersOutput, error) {
			most.Store(max(most.Load(), reading.Add(1)))
			defer reading.Add(-1)
			<-release
			return &ssm.GetParametersOutput{}, nil
		})
		write := awswire.Op("PutParameter", func(context.Context, awswire.Caller, *ssm.PutParameterInput) (*ssm.PutParameterOutput, error) {
			return &ssm.PutParameterOutput{}, nil
		})
		table := &awswire.Table{Service: "ssm", Protocol: awswire.JSON11, TargetPrefix: "AmazonSSM", Readers: 2, Operations: []awswire.Operation{read.Reading(), write}}
		send := func(ctx context.Context, operation string) int {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}"))
			r.Header.Set("Content-Type", "application/x-amz-json-1.1")
			r.Header.Set("X-Amz-Target", "AmazonSSM."+operation)
			w := httptest.NewRecorder()
			table.Serve(w, r, awswire.Caller{})
			return w.Code
		}
		answers := make(chan int, 5)
		for range 5 {
			go func() { answers <- send(t.Context(), "GetParameters") }()
		}
		synctest.Wait()
		if got := send(t.Context(), "PutParameter"); got != http.StatusOK {
			t.Errorf("what does not read is answered with %d", got)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if got := send(gone, "GetParameters"); got == http.StatusOK {
			t.Error("a request that was given up is answered as if it had been read")
		}
		close(release)
		for range 5 {
			if got := <-answers; got != http.StatusOK {
				t.Errorf("answered with %d", got)
			}
		}
		if got := most.Load(); got != 2 {
			t.Errorf("%d read at once, want 2", got)
		}
	})
}
