package awslite

import (
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestSessionsOfHandlers follows the credentials of a role over hours: those of calls are
// shared until they are about to end.
func TestSessionsOfHandlers(t *testing.T) {
	b := onSQLite(t, Config{Keys: map[string]awswire.Key{}})
	s, ctx := b.Sessions(), t.Context()
	key := func(role string) string {
		t.Helper()
		c, err := s.ForCall(ctx, home, role)
		ok(t, err)
		if left := c.Expires.Sub(b.now().Time); left < callRest || left > callSession {
			t.Errorf("the session of %q lasts %s", role, left)
		}
		return c.AccessKeyID
	}
	first := key("r")
	equal(t, "another role has another session", key("q") != first, true)
	b.advance(callSession - callRest - time.Minute)
	equal(t, "the session is shared", key("r"), first)
	b.advance(2 * time.Minute)
	second := key("r")
	equal(t, "a session that is about to end is renewed", second != first, true)
	b.advance(callSession)
	key("p")
	equal(t, "sessions that have ended are forgotten", len(s.current), 1)

	c, err := s.ForEnvironment(ctx, home, "", "Acme-Test-Thing")
	ok(t, err)
	if left := c.Expires.Sub(b.now().Time); left > environmentSession || left < environmentSession-time.Minute {
		t.Errorf("the session of the environment lasts %s", left)
	}
}

// TestUncheckedSessions: without keys, credentials are the number of the account.
func TestUncheckedSessions(t *testing.T) {
	s := onSQLite(t, Config{}).Sessions()
	call, err := s.ForCall(t.Context(), home, "r")
	ok(t, err)
	environment, err := s.ForEnvironment(t.Context(), home, "r", "name")
	ok(t, err)
	equal(t, "of a call", call.AccessKeyID, account)
	equal(t, "of the environment", environment, call)
	equal(t, "sessions", len(s.current), 0)
}
