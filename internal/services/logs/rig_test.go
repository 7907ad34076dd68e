package logs

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	account = "123456789012"
	region  = "eu-west-1"
)

var home = awswire.Place{Account: account, Region: region}

// A bench is the service behind a server.
type bench struct {
	*Service
	store *store.Store
	url   string
	clock atomic.Int64 // added to the real time, in nanoseconds
}

func (b *bench) advance(d time.Duration) { b.clock.Add(int64(d)) }

// each runs a test on each kind of database.
func each(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) { test(t, start(t, place, Config{})) })
	}
}

// onSQLite is for what does not depend on the database.
func onSQLite(t testing.TB, config Config) *bench {
	t.Helper()
	return start(t, fixtures.Place{Dir: fixtures.TempDir(t)}, config)
}

func start(t testing.TB, place fixtures.Place, config Config) *bench {
	t.Helper()
	b := &bench{}
	var err error
	b.store, err = store.Open(t.Context(), store.Config{Dir: place.Dir, DSN: place.DSN, Now: func() time.Time { return time.Now().Add(time.Duration(b.clock.Load())) }})
	ok(t, err)
	config.Store, config.Logger = b.store, slog.New(slog.NewTextHandler(t.Output(), nil))
	b.Service = New(config)
	table := b.Table()
	ok(t, table.Check())
	find := awswire.CallerFinder{Default: home}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := awswire.Reader{}.Read(r)
		if err != nil {
			t.Error(err)
			return
		}
		caller, err := find.Find(r, target, "00000000-0000-4000-8000-000000000000")
		if err != nil {
			t.Error(err)
			return
		}
		table.Serve(w, r, caller)
	}))
	b.url = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := errors.Join(b.Service.Close(), b.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// config is that of an SDK client of an account.
func (b *bench) config(account string) aws.Config {
	return aws.Config{Region: region, BaseEndpoint: &b.url, Credentials: credentials.NewStaticCredentialsProvider(account, "secret", ""), RetryMaxAttempts: 1,
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported}
}

// wantCode fails the test unless err is a refusal with a code.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var refusal smithy.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode() != code {
		t.Errorf("got the error %v, want the code %s", err, code)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
