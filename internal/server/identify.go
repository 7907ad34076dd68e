package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/formwork-dev/formwork/internal/awswire"
)

// identify finds out who sent a request. With a Verifier that is whose key signed it, and
// nobody else: there is no account to fall back to. Without one it is what the access key
// says. In either case the key is looked up once, and an error means that it is not known
// who calls: a *awswire.Error that SDKs try again after.
func (s *Server) identify(r *http.Request, target awswire.Target, id string) (awswire.Caller, error) {
	caller := awswire.Caller{AccessKeyID: target.AccessKeyID, RequestID: id}
	if caller.Region = target.Region; caller.Region == "" {
		caller.Region = s.config.Default.Region
	}
	key, err := s.keyOf(r, target)
	if err != nil {
		return caller, err
	}
	caller.Account, caller.ARN, caller.UserID = key.Account, key.ARN, key.UserID
	return caller, nil
}

var twelveDigits = regexp.MustCompile(`^[0-9]{12}$`)

// keyOf is the key of a request, of which only the account is known where nothing is checked.
func (s *Server) keyOf(r *http.Request, target awswire.Target) (awswire.Key, error) {
	switch {
	case s.config.Verifier != nil:
		return s.config.Verifier.Verify(r, target)
	case twelveDigits.MatchString(target.AccessKeyID):
		return awswire.Key{Account: target.AccessKeyID}, nil
	case s.config.Lookup != nil && target.AccessKeyID != "":
		key, known, err := s.config.Lookup(r.Context(), target.AccessKeyID)
		if err != nil {
			return awswire.Key{}, awswire.KeyUnavailable(err)
		}
		if known {
			return key, nil
		}
	}
	return awswire.Key{Account: s.config.Default.Account}, nil
}

// logCause logs why a request was refused that its sender is not at fault for.
func (s *Server) logCause(r *http.Request, service, id string, err error) {
	cause := errors.Unwrap(err)
	if cause == nil {
		return
	}
	level := slog.LevelError
	if errors.Is(r.Context().Err(), context.Canceled) {
		level = slog.LevelDebug // the client has gone; nothing failed
	}
	s.config.Logger.Log(r.Context(), level, "the request failed", "service", service, "request", id, "error", cause)
}
