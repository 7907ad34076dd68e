package handlers

import (
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// generation bounds what is remembered of secrets before older ones make room, in bytes:
// thousands of them, or those of a large request.
const generation = 4 << 20

// secrets hides what the calls of one handler had of secrets, in two generations: when one
// has grown large, the one before it is forgotten. What is part of every call, such as a
// type configuration, is so never forgotten; of passwords and response URLs that came once, at least
// the last 4,000 are remembered, or those of the last two large requests. So the processes of one function keep at
// most 8 MB alive, beside what one call adds.
type secrets struct {
	config invoke.RedactorConfig
	own    ownSecrets

	mu             sync.RWMutex
	set            *secret.Set // of recent
	recent, before *invoke.Redactor
}

// ownSecrets are those that a handler has from the start.
type ownSecrets struct{ credentials, environment []string }

func newSecrets(s *schema.Schema, targets func(name string) *schema.Schema, own ownSecrets) *secrets {
	hide := &secrets{own: own, config: invoke.RedactorConfig{Schema: s, Targets: targets}}
	hide.rotate()
	return hide
}

// rotate starts a generation.
func (s *secrets) rotate() {
	config := s.config
	config.Secrets = &secret.Set{}
	config.Secrets.AddFor(secret.Credentials, s.own.credentials...)
	config.Secrets.AddFor(secret.Environment, s.own.environment...)
	s.set, s.before, s.recent = config.Secrets, s.recent, config.New()
}

// learn hides values from now on.
func (s *secrets) learn(values map[secret.Reason][]string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for why, list := range values {
		s.set.AddFor(why, list...)
	}
}

// observe learns the secrets of a request or a reply.
func (s *secrets) observe(payload []byte) {
	if len(payload) == 0 {
		return
	}
	s.mu.RLock()
	full := s.set.Size() > generation
	s.mu.RUnlock()
	if full {
		s.mu.Lock()
		if s.set.Size() > generation {
			s.rotate()
		}
		s.mu.Unlock()
	}
	recent, _ := s.redactors()
	recent.Observe(payload)
}

func (s *secrets) redactors() (recent, before *invoke.Redactor) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.recent, s.before
}

// text hides secrets in what was printed.
func (s *secrets) text(text string) string {
	recent, before := s.redactors()
	text = recent.Text(text)
	if before != nil {
		text = before.Text(text)
	}
	return text
}

// json hides secrets in a request or a reply.
func (s *secrets) json(payload []byte) string {
	recent, before := s.redactors()
	text := string(recent.JSON(payload))
	if before != nil {
		text = before.Text(text)
	}
	return text
}
