// Package awslite has the services around CloudFormation that its clients and handlers
// need, on the tables of a store: STS, SSM parameters, Secrets Manager and CloudWatch Logs.
// S3 is package s3.
//
// It promises the wire behaviour of those services for what is here: the operations that
// the aws CLI, boto3, the SDKs, the CDK and the cfn CLI use, with the errors of the real
// services. What is not here is refused by its name (NotImplemented, status 501) and never
// answered as if it had been done. There are no permissions: an account may do everything
// with what is its own, and nothing with what is another's. Policies are kept, given back
// and not evaluated.
//
// Everything belongs to an account and, as on AWS, to a region. Secret values (SecureString parameters, secrets, keys of assumed roles) are
// encrypted in the store with a key that is kept beside it, and appear neither in errors
// nor in logs. docs/decisions/0010-secrets-are-sealed.md says what that is worth.
//
// All of them are awswire.Tables.
package awslite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/store"
	"github.com/google/uuid"
)

// Config sets up the services. Store and Key must be set.
type Config struct {
	Store *store.Store

	// Key, of KeySize bytes, encrypts secret values in the store. It must be the same each
	// time a store is opened, and on all nodes that share one; LoadKey keeps it in a file.
	Key []byte

	// Account is whose an access key is that nobody knows, where Keys is nil. Empty means
	// 000000000000.
	Account string

	// Keys are the keys by which the server checks signatures, beside those that STS gives
	// out. Nil means that it checks none.
	Keys map[string]awswire.Key

	// IsolateAccounts refuses to give out keys of a role to another account's callers. It is
	// for servers that verify signatures, where an account is more than a name: roles have
	// no trust policies here that could allow it. False lets anybody assume any role.
	IsolateAccounts bool

	// MaxLogEvents and MaxLogBytes bound each log group; the oldest events go first. Zero
	// means 100 000 events and 64 MiB.
	MaxLogEvents int64
	MaxLogBytes  int64

	// LogDelay is how long AppendLogs may keep lines in memory, to write many at once.
	// Zero means 200 ms.
	LogDelay time.Duration

	// Logger hears of what fails in the background, and of internal failures. Nil discards.
	Logger *slog.Logger

	// NewID makes ids, UUIDs in form. Nil makes random ones. Keys are always random.
	NewID func() string
}

// Services are the services. Their methods may be called from several goroutines.
type Services struct {
	config Config
	store  *store.Store
	log    *slog.Logger
	sealer *sealer
	newID  func() string
	lines  *logBuffer
}

// New starts the services on a store. Close ends them, before the store. The error is a
// *KeyError where the store is sealed with another key.
func New(ctx context.Context, config Config) (*Services, error) {
	if config.Store == nil {
		return nil, fmt.Errorf("start the services: no store is given")
	}
	sealer, err := newSealer(config.Key)
	if err != nil {
		return nil, fmt.Errorf("start the services: %w", err)
	}
	if err := sealer.claim(ctx, config.Store); err != nil {
		return nil, fmt.Errorf("start the services: %w", err)
	}
	config = config.withDefaults()
	s := &Services{config: config, store: config.Store, log: config.Logger, sealer: sealer, newID: config.NewID}
	s.lines = newLogBuffer(s)
	return s, nil
}

func (c Config) withDefaults() Config {
	if c.Account == "" {
		c.Account = "000000000000"
	}
	if c.MaxLogEvents <= 0 {
		c.MaxLogEvents = 100_000
	}
	if c.MaxLogBytes <= 0 {
		c.MaxLogBytes = 64 << 20
	}
	if c.LogDelay <= 0 {
		c.LogDelay = 200 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	return c
}

// Close writes the log lines that are in memory and ends the services.
func (s *Services) Close() error { return s.lines.close() }

// Tables are the services, for one use each: STS, SSM, Secrets Manager, Logs.
// The caller may set their Logger before the first request.
func (s *Services) Tables() []*awswire.Table {
	return []*awswire.Table{s.stsTable(), s.ssmTable(), s.secretsTable(), s.logsTable()}
}

func (s *Services) now() store.Time { return s.store.Now() }

// tags are the tags of what is no object of S3, as a row keeps them: by key.
type tags map[string]string

// notOffered refuses an input that would change what a service does and is not done here.
func notOffered(what string) error {
	return awswire.Errorf("NotImplemented", 501, "%s is not offered by this server.", what)
}

// sealToken makes an opaque token of where a list goes on, and openToken reads one.
func sealToken(at string) string { return awswire.PageToken([]string{at}) }

func openToken(token string) (string, error) {
	at, ok := awswire.ReadPageToken(token, 1)
	if !ok {
		return "", errors.New("not a page token")
	}
	return at[0], nil
}
