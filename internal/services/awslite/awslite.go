// Package awslite has the services around CloudFormation that its clients and handlers
// need, on the tables of a store: STS, SSM parameters and Secrets Manager. S3 is package s3,
// CloudWatch Logs is package logs.
//
// It promises the wire behaviour of those services for what is here: the operations that
// the aws CLI, boto3, the SDKs, the CDK and the cfn CLI use, with the errors of the real
// services. What is not here is refused by its name (NotImplemented, status 501) and never
// answered as if it had been done. There are no permissions: an account may do everything
// with what is its own, and nothing with what is another's. Policies are kept, given back
// and not evaluated.
//
// Everything belongs to an account and, as on AWS, to a region. Secret values (SecureString
// parameters, secrets, keys of assumed roles) are sealed in the store, and appear neither in
// errors nor in logs. docs/decisions/0010-secrets-are-sealed.md describes the limits of that.
//
// All of them are awswire.Tables.
package awslite

import (
	"errors"
	"log/slog"

	"github.com/formwork-dev/formwork/internal/foundation/seal"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/google/uuid"
)

// Config sets up the services. Store and Sealer must be set.
type Config struct {
	Store *store.Store

	// Sealer encrypts secret values in the store.
	Sealer *seal.Sealer

	// Account is the account of unknown access keys, if Keys is nil. Empty means 000000000000.
	Account string

	// Keys are the keys by which the server checks signatures, in addition to those that STS gives
	// out. Nil means that it checks none.
	Keys map[string]awswire.Key

	// IsolateAccounts refuses keys of a role to callers of another account. It is for servers
	// that verify signatures, where accounts are authenticated: roles have no trust policies
	// here that could allow it. False lets any caller assume any role.
	IsolateAccounts bool

	// PublicParameters are values of public parameters, by names that begin with /aws/service/. The others
	// have made-up values.
	PublicParameters map[string]string

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
	sealer *seal.Sealer
	newID  func() string
}

// New returns the services on a store. They hold nothing that must be closed.
func New(config Config) (*Services, error) {
	if config.Store == nil || config.Sealer == nil {
		return nil, errors.New("start the services: no store or no sealer is given")
	}
	config = config.withDefaults()
	return &Services{config: config, store: config.Store, log: config.Logger, sealer: config.Sealer, newID: config.NewID}, nil
}

func (c Config) withDefaults() Config {
	if c.Account == "" {
		c.Account = "000000000000"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	return c
}

// Tables are the services, for one use each: STS, SSM, Secrets Manager.
// The caller may set their Logger before the first request.
func (s *Services) Tables() []*awswire.Table {
	return []*awswire.Table{s.stsTable(), s.ssmTable(), s.secretsTable()}
}

func (s *Services) now() store.Time { return s.store.Now() }
