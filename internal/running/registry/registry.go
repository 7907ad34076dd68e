// Package registry is the CloudFormation registry: types and their versions, from registration to deregistration, their
// configuration, their tests, and the public types, which are published by one account and activated by others.
//
// # Words
//
// A type is a name in an account and region; a version is what one registration made of a package; one version is the default,
// which stacks use. A public type has a publisher and versions with numbers such as 1.2.0. Activating one makes
// a type of the account that refers to it, perhaps under an alias. Hooks and modules are types, too, with the kind in their row.
//
// # How a registration proceeds
//
// RegisterType writes a row and a wake-up in one transaction and returns a token. The worker then does the stages of
// register_stages.go: fetch the package into a blob, read and check it (package bundle), start the handler once, create the version.
// Only the step to the next stage is stored; the work of a stage is done again if the process dies in it. A problem of
// the package ends a registration with a reason for its author; an internal error, such as a network that is down, is
// retried for RetryFor. TestType works in the same way, as an operation of package operation.
//
// # What to know before changing it
//
//   - Every method takes the caller first. All rows have account and region in their keys, except those of public types; a query without
//     them shows one account to another.
//   - Operations have the shapes of the AWS API, and their errors are *awswire.Error with the service's own texts: errors.go.
//   - Other packages find a type by [Registry.Type], one of the sources of operation.Catalog, or by [Registry.Resolve]. They do not
//     read our tables.
//   - Type configurations contain secrets: they are sealed in the database and hidden in what is logged.
//
// The references are the registering and publishing chapters of the CloudFormation CLI user guide and the recorded
// answers of the service.
package registry

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up a Registry. Store and Fetch must be set.
type Config struct {
	Store *store.Store

	// Fetch opens the package at a URL that RegisterType names: s3://bucket/key or https://. An
	// *awswire.Error is the caller's error (the object does not exist) and ends the registration; other
	// errors are retried.
	Fetch func(ctx context.Context, caller awswire.Caller, url string) (io.ReadCloser, error)

	// Functions runs handlers. With nil no handler is started: registration ends after
	// validation, and testing is refused.
	Functions Functions

	// Resolve returns the value of a dynamic reference of a type configuration, as in
	// {{resolve:ssm:/path/to/name:3}}. service is "ssm", "ssm-secure" or "secretsmanager", reference is
	// the text after the colon. An *awswire.Error means that the value does not exist. Errors must not
	// contain the value. With nil a configuration that has some cannot be used.
	Resolve func(ctx context.Context, caller awswire.Caller, service, reference string) (string, error)

	// Limits bounds packages; the zero value has the defaults of package bundle.
	Limits bundle.Limits

	// RetryFor is how long a registration is retried after an internal error, such as a
	// network error while the package is fetched. Zero means 10 minutes.
	RetryFor time.Duration

	// StageTimeout bounds the fetching of a package, and how long a handler may take until
	// it is ready for work. Zero means 5 minutes.
	StageTimeout time.Duration

	// TestTimeout bounds one test of a type. Zero means 2 hours.
	TestTimeout time.Duration

	// ReportLimit bounds the report of a test, in bytes. A longer one is not kept. Zero
	// means 32 MiB.
	ReportLimit int64

	// Operations carry out the tests: Tests owns those of TestOwner. With nil nothing is
	// tested.
	Operations *operation.Engine

	// Credentials returns the source of the credentials that handlers call AWS with: those of a role in
	// the caller's account, which is "" for a type that was registered without one. With nil they get
	// the dummies of package invoke.
	Credentials func(caller awswire.Caller, role string) invoke.Source

	// Targets returns the schema of a type that a hook is called for, nil if it has none: which values are secrets there.
	// With nil all values of targets are.
	Targets func(ctx context.Context, place awswire.Place, typeName string) *schema.Schema

	// Deliver writes the log of a test into a bucket, on behalf of the caller: LogDeliveryBucket. The
	// error says, for the caller, why there is no such bucket or why it cannot be written to. With nil
	// the member is refused.
	Deliver func(ctx context.Context, caller awswire.Caller, bucket, key string, body io.ReadSeeker) error

	// Imported are further public types. nil means none.
	Imported *simulate.Shelf

	// Delegated says in which emulator new resources of an imported type are made, "" if in none. Nil means none.
	Delegated func(typeName string) string

	// ManagedHooks are the Lambda Hooks and Guard Hooks. nil means none.
	ManagedHooks *hook.ManagedHooks

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil is time.Now
	NewID  func() string    // nil generates random UUIDs
}

// Functions runs the handlers of registered versions. It is the border to their processes, which tests
// do without; handlers.Pool implements it.
type Functions interface {
	// Probe starts the handler and waits until it is ready for work. The error says, for
	// the author of the handler, why it is not; one that is or wraps context.Canceled
	// means that the program stops, and says nothing about the handler.
	Probe(ctx context.Context, spec bundle.Spec) error

	// Function returns the handler; it is started when it is first called.
	Function(ctx context.Context, spec bundle.Spec) (invoke.Function, error)

	// Remove ends the processes of a version that was deregistered or deactivated here, of
	// all versions of the type if it names none. Those of other nodes end when they are idle.
	// It does not wait.
	Remove(spec bundle.Spec)
}

// A Registry is used by any number of goroutines, and by several processes on one
// database.
type Registry struct {
	store   *store.Store
	config  Config
	log     *slog.Logger
	changes *broadcast
	schemas schemas

	fragments  fragments
	readyHooks operation.Recent[operation.VersionKey, *Version]

	tokens *operation.Tokens // of the handlers under test
}

// New returns the registry over a store. Nothing runs until the store runs Workers.
func New(config Config) *Registry {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.NewID == nil {
		config.NewID = uuid.NewString
	}
	if config.RetryFor == 0 {
		config.RetryFor = 10 * time.Minute
	}
	if config.StageTimeout == 0 {
		config.StageTimeout = 5 * time.Minute
	}
	if config.Limits.Packed == 0 {
		config.Limits.Packed = 256 << 20
	}
	if config.TestTimeout == 0 {
		config.TestTimeout = 2 * time.Hour
	}
	if config.ReportLimit == 0 {
		config.ReportLimit = 32 << 20
	}
	return &Registry{
		store: config.Store, config: config, log: config.Logger, changes: newBroadcast(),
		tokens: operation.NewTokens(operation.TokensConfig{Store: config.Store, Now: config.Now}),
	}
}

// The kinds of wake-ups in the store.
const (
	workRegistration = "registration" // id: the token
	workAutoUpdate   = "autoupdate"   // id: the ARN of the published version
)

// Workers returns what the store is to run, by kind.
func (r *Registry) Workers() map[string]store.Worker {
	workers := map[string]store.Worker{workRegistration: {Run: r.register, Fail: r.giveUp}}
	for kind, work := range r.publishingWorkers() {
		workers[kind] = work
	}
	return workers
}
