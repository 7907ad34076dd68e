//go:build unix

package lambda_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

func TestInvokeRealRuntime(t *testing.T) {
	c := config(t, "sdk")
	c.MemoryMB = 1000
	f := start(t, c)
	type answer struct {
		PID       int
		RequestID string
		ARN       string
		Left      time.Duration
		Memory    int
		Dir       string
	}
	var first answer
	for i := range 3 {
		result, err := f.Invoke(t.Context(), []byte(`{"Do":"nothing"}`))
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal(result.Payload, &got); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		}
		if got.PID != first.PID || got.PID == os.Getpid() || got.PID != result.PID {
			t.Errorf("invocation %d ran in process %d (result says %d), the first in %d", i, got.PID, result.PID, first.PID)
		}
		if got.RequestID != result.RequestID {
			t.Errorf("request ID in the handler %q, in the result %q", got.RequestID, result.RequestID)
		}
		if want := "arn:aws:lambda:us-east-1:000000000000:function:TypeFunction"; got.ARN != want || f.ARN() != want {
			t.Errorf("ARN %q and %q, want %q", got.ARN, f.ARN(), want)
		}
		if got.Left <= 14*time.Minute || got.Left > 15*time.Minute {
			t.Errorf("deadline in %v, want about 15 min", got.Left)
		}
		if got.Memory != 1000 {
			t.Errorf("memory %d MB, want 1000", got.Memory)
		}
	}
}
