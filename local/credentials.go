package local

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/awslite"
	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/invoke"
)

// How long the sessions of handlers last: those in their environment as long as AWS lets
// one last, those of a call little more than it.
const (
	environmentSession = 12 * time.Hour
	callSession        = time.Hour
	callRest           = 20 * time.Minute // that a session of a call must still last
)

// sessions gives handlers credentials that this server itself takes. Where signatures are
// not checked, those are the number of the account, as for everybody.
type sessions struct {
	services *awslite.Services
	checked  bool
	now      func() time.Time

	mu      sync.Mutex
	current map[sessionKey]aws.Credentials
}

// A sessionKey is whose session it is. There are as many as types with roles of their own.
type sessionKey struct {
	place awswire.Place
	role  string
}

// handler is what a handler finds in its environment: a session named like its function,
// as at Lambda.
func (s *sessions) handler(ctx context.Context, spec handlers.Spec) (aws.Credentials, error) {
	if !s.checked {
		return unchecked(spec.Account), nil
	}
	return s.services.Session(ctx, awslite.SessionRequest{
		Place: spec.Place, Role: spec.Role, Length: environmentSession,
		Name: strings.ReplaceAll(spec.TypeName, "::", "-"),
	})
}

func unchecked(account string) aws.Credentials {
	return aws.Credentials{AccessKeyID: account, SecretAccessKey: "test", SessionToken: "test"}
}

// For is a source of the credentials that handlers get with each call.
func (s *sessions) For(caller awswire.Caller, role string) invoke.Source {
	return roleSource{s, sessionKey{caller.Place, role}}
}

type roleSource struct {
	sessions *sessions
	key      sessionKey
}

func (r roleSource) Credentials(ctx context.Context) (invoke.Credentials, error) {
	c, err := r.sessions.of(ctx, r.key)
	if err != nil {
		return invoke.Credentials{}, err
	}
	return invoke.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, nil
}

// of is the session of a role, another one when it is about to end.
func (s *sessions) of(ctx context.Context, key sessionKey) (aws.Credentials, error) {
	if !s.checked {
		return unchecked(key.place.Account), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if c, ok := s.current[key]; ok && c.Expires.Sub(now) >= callRest {
		return c, nil
	}
	c, err := s.services.Session(ctx, awslite.SessionRequest{Place: key.place, Role: key.role, Name: "AWSCloudFormation", Length: callSession})
	if err != nil {
		return aws.Credentials{}, err
	}
	for other, c := range s.current {
		if !c.Expires.After(now) {
			delete(s.current, other)
		}
	}
	if s.current == nil {
		s.current = map[sessionKey]aws.Credentials{}
	}
	s.current[key] = c
	return c, nil
}
