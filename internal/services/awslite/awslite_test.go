package awslite

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/seal"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	account = "123456789012"
	region  = "eu-west-1"
)

var home = awswire.Place{Account: account, Region: region}

// A bench is a set of services behind a server that tells them apart as the real one does.
type bench struct {
	*Services
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
	if err != nil {
		t.Fatal(err)
	}
	config.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	sealer, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	ok(t, err)
	config.Store, config.Sealer, config.Account = b.store, sealer, account
	if b.Services, err = New(config); err != nil {
		t.Fatal(err)
	}
	tables := map[string]*awswire.Table{}
	for _, table := range b.Tables() {
		if err := table.Check(); err != nil {
			t.Fatal(err)
		}
		tables[table.Service] = table
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := awswire.Reader{}.Read(r)
		service := target.Service
		caller := awswire.Caller{Place: home, AccessKeyID: target.AccessKeyID, RequestID: "00000000-0000-4000-8000-000000000000"}
		if target.Region != "" {
			caller.Region = target.Region
		}
		if twelveDigits.MatchString(target.AccessKeyID) {
			caller.Account = target.AccessKeyID
		} else if key, known, keyErr := b.Key(r.Context(), target.AccessKeyID); known || keyErr != nil {
			caller.Account, caller.ARN, caller.UserID, err = key.Account, key.ARN, key.UserID, keyErr
		}
		var refusal *awswire.Error
		switch table := tables[service]; {
		case errors.As(err, &refusal):
			awswire.WriteError(w, r, awswire.ProtocolOf(service), caller.RequestID, refusal)
		case table != nil:
			table.Serve(w, r, caller)
		default:
			http.Error(w, "no such service: "+service, http.StatusNotFound)
		}
	}))
	b.url = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := b.store.Close(); err != nil {
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

// TestNothingInTheClear looks for secret values in all there is of the database.
func TestNothingInTheClear(t *testing.T) {
	dir := t.TempDir()
	b := start(t, fixtures.Place{Dir: dir}, Config{})
	const secret = "correct-horse-battery"
	putParameter(t, b, "/app/secret", secret)
	createSecret(t, b, "app", secret)
	_, err := b.startSession(t.Context(), account, "arn", "id", time.Hour)
	ok(t, err)
	_, err = store.Exec(context.Background(), b.store.Read(), "PRAGMA wal_checkpoint")
	if err != nil {
		t.Log("no checkpoint through the reader:", err) // the log file is looked through too
	}
	found := 0
	for _, name := range []string{"formwork.db", "formwork.db-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		ok(t, err)
		if bytes.Contains(text, []byte("/app/secret")) {
			found++
		}
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s has a secret value in the clear", name)
		}
	}
	if found == 0 {
		t.Error("the parameter is in none of the files: they are the wrong ones")
	}
}
