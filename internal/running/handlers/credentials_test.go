//go:build unix

package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/handlers"
)

// TestCredentials gives handlers credentials that expire: they are hidden in what the
// handler prints, and a call that they might not outlast finds others.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var given atomic.Int64
	var ahead atomic.Int64 // nanoseconds that the clock is ahead
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	b := newBench(t, func(c *handlers.Config) {
		c.Now, c.IdleTimeout = now, 1000*time.Hour
		c.Credentials = func(_ context.Context, spec bundle.Spec) (aws.Credentials, error) {
			n := given.Add(1)
			if spec.Role == "" {
				return aws.Credentials{}, errors.New("no role")
			}
			return aws.Credentials{
				AccessKeyID: fmt.Sprintf("ASIA%d", n), SecretAccessKey: fmt.Sprintf("secret-key-number-%d", n), SessionToken: fmt.Sprintf("session-token-number-%d", n),
				CanExpire: true, Expires: now().Add(time.Hour),
			}, nil
		}
	})
	spec := b.python(t, "import os\ndef handler(e, c):\n    print('I am', os.environ['AWS_ACCESS_KEY_ID'], os.environ['AWS_SECRET_ACCESS_KEY'], os.environ['AWS_SESSION_TOKEN'])\n    return [os.environ['AWS_ACCESS_KEY_ID'], os.getpid()]")
	if _, err := b.function(t, spec).Call(t.Context(), []byte("{}")); err == nil || !strings.Contains(err.Error(), "get its credentials: no role") {
		t.Errorf("without credentials: %v", err)
	}
	spec.Role = "arn:aws:iam::111122223333:role/R"
	f := b.function(t, spec)
	call := func(want string) string {
		t.Helper()
		reply, log, err := f.CallLogged(t.Context(), []byte("{}"))
		if err != nil || !strings.Contains(string(reply), want) {
			t.Fatalf("%s %v, want %s", reply, err, want)
		}
		if strings.Contains(string(log), "-number-") || !strings.Contains(string(log), "I am ASIA") {
			t.Errorf("the log says %s", log)
		}
		return string(reply)
	}
	first := call(`"ASIA2"`)
	ahead.Store(int64(39 * time.Minute))
	if again := call(`"ASIA2"`); again != first {
		t.Errorf("another process: %s after %s", again, first)
	}
	ahead.Store(int64(41 * time.Minute))
	call(`"ASIA3"`)
	if n := b.Running(); n < 1 || n > 2 { // the old one may be about to end
		t.Errorf("%d run", n)
	}
	if text := b.text(t); strings.Contains(text, "-number-") {
		t.Errorf("logged %s", text)
	}
}
