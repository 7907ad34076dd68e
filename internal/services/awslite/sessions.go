package awslite

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// How long the sessions of handlers last: those in their environment as long as AWS lets
// one last, those of a call little more than it.
const (
	environmentSession = 12 * time.Hour
	callSession        = time.Hour
	callRest           = 20 * time.Minute // that a session of a call must still last
)

// Sessions give handlers credentials that this server itself takes. Where signatures are
// not checked, those are the number of the account, as for every other client.
type Sessions struct {
	services *Services

	mu      sync.Mutex
	current map[sessionKey]aws.Credentials
}

// A sessionKey is whose session it is. There are as many as types with roles of their own.
type sessionKey struct {
	place awswire.Place
	role  string
}

// Sessions returns those of handlers.
func (s *Services) Sessions() *Sessions {
	return &Sessions{services: s, current: map[sessionKey]aws.Credentials{}}
}

// ForEnvironment returns what a handler finds in its environment: a session with the name of
// its function, as on Lambda.
func (s *Sessions) ForEnvironment(ctx context.Context, place awswire.Place, role, name string) (aws.Credentials, error) {
	if s.services.config.Keys == nil {
		return unchecked(place), nil
	}
	return s.services.Session(ctx, SessionRequest{Place: place, Role: role, Name: name, Length: environmentSession})
}

// ForCall returns what a handler gets with a call: the session of its role, a new one when the
// present one is about to end.
func (s *Sessions) ForCall(ctx context.Context, place awswire.Place, role string) (aws.Credentials, error) {
	if s.services.config.Keys == nil {
		return unchecked(place), nil
	}
	key := sessionKey{place, role}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.services.now().Time
	if c, ok := s.current[key]; ok && c.Expires.Sub(now) >= callRest {
		return c, nil
	}
	c, err := s.services.Session(ctx, SessionRequest{Place: place, Role: role, Name: "AWSCloudFormation", Length: callSession})
	if err != nil {
		return aws.Credentials{}, err
	}
	for other, c := range s.current {
		if !c.Expires.After(now) {
			delete(s.current, other)
		}
	}
	s.current[key] = c
	return c, nil
}

func unchecked(place awswire.Place) aws.Credentials {
	return aws.Credentials{AccessKeyID: place.Account, SecretAccessKey: lambda.DummySecret, SessionToken: lambda.DummyToken}
}
