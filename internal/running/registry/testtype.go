package registry

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	// keptRuns is how many runs of a version are kept.
	keptRuns = 20
	// maxTestDescription bounds TypeTestsStatusDescription, in characters.
	maxTestDescription = 1024
)

// A testRunRow is one run of TestType.
type testRunRow struct {
	store.Row `db:"test_runs AS r"`

	ID       string `db:"id,pk"`
	SourceID string `db:"source_id"` // of the private version
	Account  string `db:"account"`
	Region   string `db:"region"`
	Kind     string `db:"kind"`
	TypeName string `db:"type_name"`
	Version  int64  `db:"version"`

	Status      string `db:"status"` // types.TypeTestsStatus, never NOT_TESTED
	Description string `db:"description"`
	Attempts    int64  `db:"attempts"`
	Notes       string `db:"notes"`    // JSON of testNotes, "" for none
	Bucket      string `db:"bucket"`   // "" for none
	Delivery    string `db:"delivery"` // the key there, "" until it is delivered
	Caller      string `db:"caller"`   // the access key id, for delivering as its owner

	Passed     int64  `db:"passed"`
	Failed     int64  `db:"failed"` // failures and errors
	Skipped    int64  `db:"skipped"`
	ReportHash string `db:"report_hash"` // of the blob, "" for none

	StartedAt  store.Time `db:"started_at"`
	EndedAt    store.Time `db:"ended_at"` // NULL while it is in progress
	RowVersion int64      `db:"row_version"`
}

func (r *testRunRow) caller() awswire.Caller {
	return awswire.Caller{Place: awswire.Place{Account: r.Account, Region: r.Region}, AccessKeyID: r.Caller, RequestID: r.ID}
}

// TestType tests a version of a private type: with the contract tests of a resource type or
// hook and its registered handler, or the requirements for public modules of a module. It
// tests the default version if the request names none, and returns before the tests have
// started; DescribeType reports the progress, TestRuns and TestReport the results.
//
// While a version is tested, the same request again is answered and starts nothing.
//
// Refused: TypeNotFoundException for what the account does not have; CFNRegistryException
// for another LogDeliveryBucket while the version is tested, and for a bucket or handlers
// where this server has none.
func (r *Registry) TestType(ctx context.Context, caller awswire.Caller, in *cloudformation.TestTypeInput) (*cloudformation.TestTypeOutput, error) {
	name, err := named(caller, in.Arn, types.RegistryType(in.Type), in.TypeName, in.VersionId)
	if err == nil {
		err = ownARN(caller, name)
	}
	if err != nil {
		return nil, err
	}
	if err := plain(map[string]*string{"LogDeliveryBucket": in.LogDeliveryBucket}); err != nil {
		return nil, err
	}
	bucket := aws.ToString(in.LogDeliveryBucket)
	switch {
	case bucket != "" && r.config.Deliver == nil:
		return nil, refuse("LogDeliveryBucket is not supported: this server has no buckets.")
	case name.Kind != schema.Module && r.config.Functions == nil || r.config.Operations == nil:
		return nil, refuse("The type '%s' cannot be tested: this server runs no handlers.", name.TypeName)
	}
	var version *versionRow
	var began bool
	err = r.store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		var typ *typeRow
		var err error
		if typ, version, err = r.findOwn(ctx, tx, caller, name); err != nil {
			return err
		}
		if began = version.TestStatus != string(types.TypeTestsStatusInProgress); !began {
			return sameBucket(ctx, tx, version, name.TypeName, bucket)
		}
		return r.beginTest(ctx, tx, caller, typ, version, bucket)
	})
	if err != nil {
		return nil, err
	}
	id := versionID(version.Version)
	if began {
		r.announce(caller, name.Kind, name.TypeName, id, TestStarted)
	}
	return &cloudformation.TestTypeOutput{TypeVersionArn: aws.String(privateARN(caller, name.Kind, name.TypeName).WithVersion(id).String())}, nil
}

// sameBucket refuses a request whose logs would not be delivered, because the version is
// tested already and for another bucket.
func sameBucket(ctx context.Context, tx *store.Tx, version *versionRow, typeName, bucket string) error {
	if bucket == "" {
		return nil
	}
	same, err := store.Exists(ctx, tx, "FROM test_runs WHERE source_id = ? AND status = ? AND bucket = ?",
		version.ID, string(types.TypeTestsStatusInProgress), bucket)
	if err != nil {
		return fmt.Errorf("look for the test of %s: %w", typeName, err)
	}
	if !same {
		return refuse("Version '%s' of the type '%s' is being tested already, and the logs of that test go elsewhere. Wait until it has ended.", versionID(version.Version), typeName)
	}
	return nil
}

// beginTest writes a new run, forgets old ones, and begins the operation.
func (r *Registry) beginTest(ctx context.Context, tx *store.Tx, caller awswire.Caller, typ *typeRow, version *versionRow, bucket string) error {
	version.TestStatus, version.TestStatusDescription = string(types.TypeTestsStatusInProgress), "The tests are in progress."
	if err := writeStatus(ctx, tx, version); err != nil {
		return err
	}
	run := &testRunRow{
		ID: r.config.NewID(), SourceID: version.ID, Account: typ.Account, Region: typ.Region, Kind: typ.Kind, TypeName: typ.TypeName, Version: version.Version,
		Status: version.TestStatus, Bucket: bucket, Caller: caller.AccessKeyID, StartedAt: r.now(), RowVersion: 1,
	}
	if err := store.Insert(ctx, tx, run); err != nil {
		return fmt.Errorf("begin to test %s: %w", typ.TypeName, err)
	}
	_, err := store.Exec(ctx, tx, `DELETE FROM test_runs WHERE source_id = ? AND status <> ?
		AND id NOT IN (SELECT id FROM test_runs WHERE source_id = ? ORDER BY started_at DESC, id LIMIT ?)`,
		version.ID, string(types.TypeTestsStatusInProgress), version.ID, keptRuns)
	if err != nil {
		return fmt.Errorf("forget old tests of %s: %w", typ.TypeName, err)
	}
	_, err = r.config.Operations.Begin(ctx, tx, run.operation())
	return err
}

// findRun returns nil if there is no such run.
func findRun(ctx context.Context, db store.DB, id string) (*testRunRow, error) {
	row := &testRunRow{}
	err := store.Get(ctx, db, row, "WHERE id = ?", id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up the test run %s: %w", id, err)
	}
	return row, nil
}

// A TestQuery selects test runs. Empty fields select all.
type TestQuery struct {
	ID       string
	Kind     schema.Kind
	TypeName string
	Limit    int // how many at most; 0 means 100
}

// A TestRun is one run of TestType.
type TestRun struct {
	ID       string
	Kind     schema.Kind
	TypeName string
	Version  string // "00000001"

	Status      types.TypeTestsStatus // IN_PROGRESS, PASSED or FAILED
	Description string
	Passed      int
	Failed      int // failures and errors
	Skipped     int

	Progress *TestProgress // nil if it has ended, or has not started

	Bucket, Key string // where the logs were delivered to; "" if nowhere
	Started     time.Time
	Ended       time.Time // zero while it is in progress
}

// TestRuns lists runs of the account in the region, the newest first. Of each version the
// last 20 are kept.
func (r *Registry) TestRuns(ctx context.Context, caller awswire.Caller, query TestQuery) ([]TestRun, error) {
	var rows []testRunRow
	var where store.Where
	where.And("account = ? AND region = ?", caller.Account, caller.Region)
	if query.ID != "" {
		where.And("id = ?", query.ID)
	}
	if query.Kind != "" {
		where.And("kind = ?", string(query.Kind))
	}
	if query.TypeName != "" {
		where.And("type_name = ?", query.TypeName)
	}
	if query.Limit <= 0 {
		query.Limit = 100
	}
	if err := store.List(ctx, r.store.Read(), &rows, where.Clause()+" ORDER BY started_at DESC, id LIMIT ?", append(where.Args, query.Limit)...); err != nil {
		return nil, fmt.Errorf("list test runs: %w", err)
	}
	runs := make([]TestRun, len(rows))
	for i := range rows {
		row := &rows[i]
		runs[i] = TestRun{
			ID: row.ID, Kind: schema.Kind(row.Kind), TypeName: row.TypeName, Version: versionID(row.Version),
			Status: types.TypeTestsStatus(row.Status), Description: row.Description, Passed: int(row.Passed), Failed: int(row.Failed), Skipped: int(row.Skipped),
			Progress: row.notes().Progress, Bucket: row.Bucket, Key: row.Delivery, Started: row.StartedAt.Time, Ended: row.EndedAt.Time,
		}
	}
	return runs, nil
}

// A ReportTooLargeError reports that the report of a test is too large to be read.
type ReportTooLargeError struct{ Size, Limit int64 } // in bytes

func (e *ReportTooLargeError) Error() string {
	return fmt.Sprintf("the report of the test has %d bytes, and at most %d are read", e.Size, e.Limit)
}

// TestReport returns the report of a run as contract.WriteJSON writes it. It is nil for a run
// that the account does not have, that is in progress, or that ended without a report. If the
// report is larger than Config.ReportLimit, because it was stored under another limit, the
// error is a *[ReportTooLargeError].
func (r *Registry) TestReport(ctx context.Context, caller awswire.Caller, id string) ([]byte, error) {
	row, err := findRun(ctx, r.store.Read(), id)
	if err != nil || row == nil || row.Account != caller.Account || row.Region != caller.Region || row.ReportHash == "" {
		return nil, err
	}
	blob, size, err := r.store.Blobs().Open(ctx, row.ReportHash)
	if err != nil {
		return nil, fmt.Errorf("open the report of the test run %s: %w", id, err)
	}
	defer func() { _ = blob.Close() }() // it was only read
	if size > r.config.ReportLimit {
		return nil, &ReportTooLargeError{size, r.config.ReportLimit}
	}
	report, err := document.ReadAll(blob, r.config.ReportLimit)
	if err != nil {
		return nil, fmt.Errorf("read the report of the test run %s: %w", id, err)
	}
	return report, nil
}
