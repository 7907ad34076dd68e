package handlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// TestSecretsOfManyCalls calls a function with a secret of its own each time, as custom resources do: what it keeps of
// them is bounded, and the latest stay hidden, as does what every call has.
func TestSecretsOfManyCalls(t *testing.T) {
	const calls, remembered = 30_000, 4_000
	s := newSecrets(nil, nil, ownSecrets{})
	var latest []string
	for i := range calls {
		signature := customresource.NewSignature()
		latest = append(latest[max(0, len(latest)-remembered+1):], signature)
		s.learn(map[secret.Reason][]string{secret.NoEcho: {signature, "the-same-in-every-call"}})
		s.observe([]byte(`{}`))
		if i%1000 > 0 && i < calls-1 {
			continue
		}
		s.mu.RLock()
		kept := s.set.Size()
		s.mu.RUnlock()
		if most := 4<<20 + 64<<10; kept > most {
			t.Fatalf("after %d calls a generation has %d bytes, want at most %d", i+1, kept, most)
		}
	}
	text := fmt.Sprintf("%s %s the-same-in-every-call", latest[0], latest[len(latest)-1])
	if shown := s.text(text); strings.Count(shown, "<hidden") != 3 {
		t.Errorf("shown: %s", shown)
	}
	if s.before == nil {
		t.Error("no generation was forgotten: the test has too few calls")
	}
}
