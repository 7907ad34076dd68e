package registry

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

func TestTestType(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		version := s.thing(owner, thingName, "one")
		if out := s.describe(owner, version); out.TypeTestsStatus != types.TypeTestsStatusNotTested {
			t.Errorf("before: %s", out.TypeTestsStatus)
		}
		in := &cloudformation.TestTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String(thingName), LogDeliveryBucket: aws.String("logs")}
		out, err := s.TestType(t.Context(), owner, in)
		if err != nil || *out.TypeVersionArn != version {
			t.Fatalf("TestType answers %+v, %v", out, err)
		}
		done := s.verdict(owner, version)
		if done.TypeTestsStatus != types.TypeTestsStatusPassed || !strings.HasPrefix(aws.ToString(done.TypeTestsStatusDescription), "All ") {
			t.Fatalf("%s: %s", done.TypeTestsStatus, aws.ToString(done.TypeTestsStatusDescription))
		}
		if unversioned := s.describe(owner, strings.TrimSuffix(version, "/00000001")); unversioned.TypeTestsStatus != "" || unversioned.TypeTestsStatusDescription != nil {
			t.Error("the test status is told although no version was asked for")
		}
		if spec := s.specs[0]; spec.TypeName != thingName || spec.Version != "00000001" || spec.Package == "" || spec.Runtime != "provided.al2023" {
			t.Errorf("the handler asked for is %+v", spec)
		}

		runs, err := s.TestRuns(t.Context(), owner, TestQuery{TypeName: thingName, Kind: schema.Resource})
		if err != nil || len(runs) != 1 {
			t.Fatalf("runs %+v, %v", runs, err)
		}
		run := runs[0]
		if run.Status != types.TypeTestsStatusPassed || run.Passed == 0 || run.Failed != 0 || run.Ended.Before(run.Started) || run.Version != "00000001" {
			t.Errorf("run %+v", run)
		}
		report, err := s.TestReport(t.Context(), owner, run.ID)
		var summary struct {
			TypeName string
			Passed   int
			Tests    []struct{ ID string }
		}
		if err != nil || json.Unmarshal(report, &summary) != nil || summary.TypeName != thingName || summary.Passed != run.Passed || len(summary.Tests) < run.Passed {
			t.Errorf("report %.200s, %v", report, err)
		}
		if theirs, err := s.TestReport(t.Context(), reader, run.ID); theirs != nil || err != nil {
			t.Errorf("another account reads the report: %.80s, %v", theirs, err)
		}
		if theirs, err := s.TestRuns(t.Context(), reader, TestQuery{}); len(theirs) != 0 || err != nil {
			t.Errorf("another account lists the run: %+v, %v", theirs, err)
		}

		key := "logs/CloudFormation/ContractTestResults/Initech::Store::Thing/" + run.ID + ".zip"
		files := unzip(t, s.buckets.delivered()[key])
		for name, part := range map[string]string{"test.log": "contract_create_delete", "lambda.log": "CREATE", "report.json": `"typeName"`, "report.html": "<html", "junit.xml": "<testsuite"} {
			if !strings.Contains(files[name], part) {
				t.Errorf("%s has no %q: %.200s", name, part, files[name])
			}
		}
		if run.Bucket+"/"+run.Key != key || s.buckets.callers[0].Account != owner.Account || s.buckets.callers[0].AccessKeyID != owner.AccessKeyID {
			t.Errorf("delivered to %s/%s for %+v", run.Bucket, run.Key, s.buckets.callers)
		}
		if rows, err := store.Count(t.Context(), s.store.Read(), "FROM handler_progress"); err != nil || rows != 0 {
			t.Errorf("%d bearer tokens are still known, %v", rows, err)
		}
	})
}

func unzip(t testing.TB, content []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(text)
	}
	return files
}

// TestFailedTest looks at what a broken handler leaves behind, and that no secret does.
func TestFailedTest(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		version := s.thing(owner, thingName, "one")
		configuration := `{"Key": "{{resolve:ssm-secure:/key}}"}`
		if _, err := s.SetTypeConfiguration(t.Context(), owner, &cloudformation.SetTypeConfigurationInput{
			Type: types.ThirdPartyTypeResource, TypeName: aws.String(thingName), Configuration: &configuration,
		}); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.wrong, s.say = true, " with s3cr3t\x00\x1b[31m"
		s.mu.Unlock()
		in := &cloudformation.TestTypeInput{Arn: &version, LogDeliveryBucket: aws.String("logs")}
		if _, err := s.TestType(t.Context(), owner, in); err != nil {
			t.Fatal(err)
		}
		out := s.verdict(owner, version)
		description := aws.ToString(out.TypeTestsStatusDescription)
		if out.TypeTestsStatus != types.TypeTestsStatusFailed || !strings.Contains(description, "contract tests failed: ") || !strings.Contains(description, " (handler_") || len([]rune(description)) > maxTestDescription {
			t.Errorf("%s: %s", out.TypeTestsStatus, description)
		}
		runs, err := s.TestRuns(t.Context(), owner, TestQuery{})
		if err != nil || len(runs) != 1 || runs[0].Failed == 0 {
			t.Fatalf("runs %+v, %v", runs, err)
		}
		report, err := s.TestReport(t.Context(), owner, runs[0].ID)
		if err != nil || !bytes.Contains(report, []byte("the thing: ")) {
			t.Errorf("report %.200s, %v", report, err)
		}
		if strings.ContainsAny(description, "\x00\x1b") {
			t.Errorf("control characters in %q", description)
		}
		shown := map[string]string{"description": description, "report": string(report), "log": s.log.text()}
		for _, content := range s.buckets.delivered() {
			for name, text := range unzip(t, content) {
				shown[name] = text
			}
		}
		for name, text := range shown {
			if strings.Contains(text, "s3cr3t") {
				t.Errorf("%s shows the value of the type configuration", name)
			}
		}
		if err := func() error {
			s.publisher(owner)
			_, err := s.PublishType(t.Context(), owner, &cloudformation.PublishTypeInput{Arn: &version})
			return err
		}(); err == nil || !strings.Contains(err.Error(), "its test status is FAILED") {
			t.Errorf("published: %v", err)
		}

		// It can be repaired.
		s.mu.Lock()
		s.wrong, s.say = false, ""
		s.mu.Unlock()
		if out := s.tested(owner, version); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
	})
}

// TestGiveUpWork ends a test that cannot go on with its reason. Updates of activations that were given up
// do not keep the next ones from being made.
func TestGiveUpWork(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		version := s.thing(owner, thingName, "one")
		block := make(chan struct{})
		defer close(block)
		s.mu.Lock()
		s.block = block
		s.mu.Unlock()
		if _, err := s.TestType(t.Context(), owner, &cloudformation.TestTypeInput{Arn: &version}); err != nil {
			t.Fatal(err)
		}
		runs, err := s.TestRuns(t.Context(), owner, TestQuery{})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%+v, %v", runs, err)
		}
		if err := s.config.Operations.Workers()["operation"].Fail(t.Context(), runs[0].ID, "Internal failure: the row is broken"); err != nil {
			t.Fatal(err)
		}
		if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusFailed || aws.ToString(out.TypeTestsStatusDescription) != "Internal failure: the row is broken" {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
	})
}

func TestTestTypeRefusals(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		version := s.thing(owner, thingName, "one")
		test := func(in cloudformation.TestTypeInput) error {
			_, err := s.TestType(t.Context(), owner, &in)
			return err
		}
		refused(t, test(cloudformation.TestTypeInput{}), codeRegistry, "Either Arn, or Type and TypeName, must be specified.")
		refused(t, test(cloudformation.TestTypeInput{Arn: aws.String(version[:len(version)-1] + "7")}), codeTypeNotFound, "Version '00000007'")
		refused(t, test(cloudformation.TestTypeInput{Arn: aws.String(strings.Replace(version, owner.Account, reader.Account, 1))}), codeTypeNotFound, "cannot be found")
		refused(t, test(cloudformation.TestTypeInput{Type: types.ThirdPartyTypeHook, TypeName: aws.String(thingName)}), codeTypeNotFound, "cannot be found")

		// While it is tested, the same request starts nothing.
		block := make(chan struct{})
		s.mu.Lock()
		s.block = block
		s.mu.Unlock()
		for _, bucket := range []string{"logs", "logs", ""} {
			if err := test(cloudformation.TestTypeInput{Arn: &version, LogDeliveryBucket: absent(bucket)}); err != nil {
				t.Errorf("bucket %q: %v", bucket, err)
			}
		}
		refused(t, test(cloudformation.TestTypeInput{Arn: &version, LogDeliveryBucket: aws.String("else")}), codeRegistry, "is being tested already")
		if out := s.describe(owner, version); out.TypeTestsStatus != types.TypeTestsStatusInProgress || aws.ToString(out.TypeTestsStatusDescription) == "" {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		close(block)
		s.verdict(owner, version)
		if runs, err := s.TestRuns(t.Context(), owner, TestQuery{}); err != nil || len(runs) != 1 {
			t.Errorf("%d runs, %v", len(runs), err)
		}

		// Buckets that cannot be written to leave the verdict as it is.
		for bucket, reason := range map[string]string{"missing-bucket": "The specified bucket does not exist", "broken-bucket": "the disk is full"} {
			if err := test(cloudformation.TestTypeInput{Arn: &version, LogDeliveryBucket: &bucket}); err != nil {
				t.Fatal(err)
			}
			if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusPassed ||
				!strings.HasSuffix(aws.ToString(out.TypeTestsStatusDescription), "could not be delivered to the bucket "+bucket+": "+reason) {
				t.Errorf("%s: %s: %s", bucket, out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
			}
		}
		s.config.Deliver, s.config.Functions = nil, nil
		refused(t, test(cloudformation.TestTypeInput{Arn: &version, LogDeliveryBucket: aws.String("logs")}), codeRegistry, "this server has no buckets")
		refused(t, test(cloudformation.TestTypeInput{Arn: &version}), codeRegistry, "this server runs no handlers")
	})
}

// TestInterruptedTest closes the store in the midst of a test, as a crash would: the test
// is run again, and not for ever.
func TestInterruptedTest(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		version := s.thing(owner, thingName, "one")
		interrupt := func() {
			t.Helper()
			s.mu.Lock()
			before := s.calls
			s.mu.Unlock()
			s.until("the handler is called", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.calls > before
			})
			s.reopen()
		}
		hang := func(block chan struct{}) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.block = block
		}
		hang(make(chan struct{}))
		if _, err := s.TestType(t.Context(), owner, &cloudformation.TestTypeInput{Arn: &version}); err != nil {
			t.Fatal(err)
		}
		interrupt()
		hang(nil)
		s.reopen() // whatever hangs in the second attempt
		if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Fatalf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}

		// A test that never gets through is given up.
		if err := s.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := store.Exec(ctx, tx, "UPDATE test_runs SET attempts = ?, status = ?, row_version = row_version + 1 WHERE TRUE", maxAttempts, "IN_PROGRESS")
			if err == nil {
				_, err = store.Exec(ctx, tx, "UPDATE type_versions SET test_status = ? WHERE TRUE", "IN_PROGRESS")
			}
			if err != nil {
				return err
			}
			// Its operation begins once more.
			if _, err := store.Exec(ctx, tx, "DELETE FROM operations WHERE TRUE"); err != nil {
				return err
			}
			run := &testRunRow{}
			if err := store.Get(ctx, tx, run, ""); err != nil {
				return err
			}
			_, err = s.config.Operations.Begin(ctx, tx, run.operation())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusFailed || aws.ToString(out.TypeTestsStatusDescription) != "The tests were interrupted 5 times and are given up; the server's log may have the cause." {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
	})
}

// TestManyTests runs more tests than run at once, with a bound on their time.
func TestManyTests(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		var versions []string
		for _, name := range []string{"Initech::Store::One", "Initech::Store::Two", "Initech::Store::Three"} {
			versions = append(versions, s.thing(owner, name, "x"))
		}
		block := make(chan struct{})
		defer close(block)
		s.mu.Lock()
		s.block = block
		s.mu.Unlock()
		s.config.TestTimeout = 50 * time.Millisecond
		for _, version := range versions {
			if _, err := s.TestType(t.Context(), owner, &cloudformation.TestTypeInput{Arn: &version}); err != nil {
				t.Fatal(err)
			}
		}
		for _, version := range versions {
			if out := s.verdict(owner, version); aws.ToString(out.TypeTestsStatusDescription) != "The tests took longer than 50ms." || out.TypeTestsStatus != types.TypeTestsStatusFailed {
				t.Errorf("%s: %s: %s", version, out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
			}
		}
	})
}

// TestHangingTests: handlers that hang keep the tests of their own account waiting, and no
// others; and those who wait are woken, not left until they look again.
func TestHangingTests(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		s.places = operation.Places{Calls: 2, Retry: time.Hour}
		s.reopen()
		block := make(chan struct{})
		s.mu.Lock()
		s.block, s.hanging = block, owner.Account
		s.mu.Unlock()
		var versions []string
		for _, name := range []string{"Initech::Store::One", "Initech::Store::Two", "Initech::Store::Three"} {
			version := s.thing(owner, name, "x")
			versions = append(versions, version)
			if _, err := s.TestType(t.Context(), owner, &cloudformation.TestTypeInput{Arn: &version}); err != nil {
				t.Fatal(err)
			}
		}
		if out := s.tested(reader, s.thing(reader, thingName, "x")); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Errorf("the other account: %s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		for _, version := range versions {
			if out := s.describe(owner, version); out.TypeTestsStatus != types.TypeTestsStatusInProgress {
				t.Errorf("%s: %s", version, out.TypeTestsStatus)
			}
		}
		close(block)
		for _, version := range versions {
			if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusPassed {
				t.Errorf("%s: %s: %s", version, out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
			}
		}
	})
}

// TestReportLimit: what is too large is neither kept nor read, and the verdict stands.
func TestReportLimit(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		version := s.thing(owner, thingName, "one")
		s.tested(owner, version)
		runs, err := s.TestRuns(t.Context(), owner, TestQuery{})
		if err != nil || len(runs) != 1 {
			t.Fatal(runs, err)
		}
		s.config.ReportLimit = 100
		report, err := s.TestReport(t.Context(), owner, runs[0].ID)
		var tooLarge *ReportTooLargeError
		if report != nil || !errors.As(err, &tooLarge) || tooLarge.Limit != 100 || tooLarge.Size <= 100 {
			t.Errorf("%.100s, %v", report, err)
		}
		out := s.tested(owner, version)
		if out.TypeTestsStatus != types.TypeTestsStatusPassed || !strings.Contains(aws.ToString(out.TypeTestsStatusDescription), "The report is not kept: it is larger than 100 bytes.") {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		if runs, err = s.TestRuns(t.Context(), owner, TestQuery{Limit: 1}); err != nil || runs[0].Passed == 0 {
			t.Fatal(runs, err)
		}
		if report, err := s.TestReport(t.Context(), owner, runs[0].ID); report != nil || err != nil {
			t.Errorf("%.100s, %v", report, err)
		}
	})
}

// TestOldRuns keeps the last runs of a version.
func TestOldRuns(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		const module = "Initech::Store::Shelf::MODULE"
		version := s.fragment(module, "1", map[string]any{"Bucket": map[string]any{"Type": "AWS::S3::Bucket"}})
		for range keptRuns + 3 {
			s.tested(owner, version)
		}
		runs, err := s.TestRuns(t.Context(), owner, TestQuery{Limit: 1000})
		if err != nil || len(runs) != keptRuns {
			t.Errorf("%d runs are kept, %v", len(runs), err)
		}
		if !slices.IsSortedFunc(runs, func(a, b TestRun) int { return b.Started.Compare(a.Started) }) {
			t.Error("the newest run is not the first")
		}
		if one, err := s.TestRuns(t.Context(), owner, TestQuery{ID: runs[3].ID}); err != nil || len(one) != 1 || one[0] != runs[3] {
			t.Errorf("found %+v, %v", one, err)
		}
		if report, err := s.TestReport(t.Context(), owner, runs[0].ID); err != nil || !bytes.Contains(report, []byte("module::public_requirements")) {
			t.Errorf("report %s, %v", report, err)
		}
	})
}

// TestHookTest tests a hook, which needs a configuration.
func TestHookTest(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		const name = "LocalStack::Testing::TestHook"
		s.packages.put("s3://packages/hook.zip", extension(t, "localstack-testing-testhook"))
		out := s.register(owner, schema.Hook, name, "s3://packages/hook.zip")
		if out.ProgressStatus != types.RegistrationStatusComplete {
			t.Fatal(aws.ToString(out.Description))
		}
		verdict := s.tested(owner, *out.TypeVersionArn)
		if verdict.TypeTestsStatus != types.TypeTestsStatusFailed || aws.ToString(verdict.TypeTestsStatusDescription) != "The hook has no configuration. Set it with SetTypeConfiguration before it is tested." {
			t.Errorf("%s: %s", verdict.TypeTestsStatus, aws.ToString(verdict.TypeTestsStatusDescription))
		}
		configuration := `{"CloudFormationConfiguration":{"HookConfiguration":{"TargetStacks":"ALL","FailureMode":"FAIL","Properties":{}}}}`
		if _, err := s.SetTypeConfiguration(t.Context(), owner, &cloudformation.SetTypeConfigurationInput{
			Type: types.ThirdPartyTypeHook, TypeName: aws.String(name), Configuration: &configuration,
		}); err != nil {
			t.Fatal(err)
		}
		// The keeper is no hook: what it answers breaks the contract, and is called at all.
		verdict = s.tested(owner, *out.TypeVersionArn)
		if verdict.TypeTestsStatus != types.TypeTestsStatusFailed || !strings.Contains(aws.ToString(verdict.TypeTestsStatusDescription), "(handler_pre_create.py::") {
			t.Errorf("%s: %s", verdict.TypeTestsStatus, aws.ToString(verdict.TypeTestsStatusDescription))
		}
	})
}

// processes runs the handlers of packages as processes.
type processes struct {
	t     testing.TB
	store func() *store.Store

	mu      sync.Mutex
	started []*lambda.Function
}

func (p *processes) Probe(context.Context, bundle.Spec) error { return nil }
func (p *processes) Remove(bundle.Spec)                       {}

func (p *processes) Function(ctx context.Context, spec bundle.Spec) (invoke.Function, error) {
	blob, size, err := p.store().Blobs().Open(ctx, spec.Package)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	b, problems, err := bundle.Read(ctx, blob, size, bundle.Config{})
	if err != nil || b == nil {
		p.t.Errorf("read the package: %v, %v", problems, err)
		return nil, err
	}
	dir := filepath.Join(p.t.TempDir(), "code")
	if err := b.Unpack(ctx, dir); err != nil {
		return nil, err
	}
	function, err := lambda.Start(ctx, lambda.Config{
		Name: "handler", Command: []string{filepath.Join(dir, "bootstrap")}, Dir: dir, Env: []string{"REPORTS_DIR=" + p.t.TempDir()},
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started = append(p.started, function)
	return function, nil
}

func (p *processes) close() {
	for _, function := range p.started {
		function.Close()
	}
}

// TestRealHandler takes the example of a resource type, built and packed as users do it,
// from registration to activation.
func TestRealHandler(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped: builds a program (-short)")
	}
	content := examplePackage(t)
	eachShop(t, func(t *testing.T, s *shop) {
		p := &processes{t: t, store: func() *store.Store { return s.store }}
		t.Cleanup(p.close)
		s.config.Functions = p
		s.packages.put("s3://packages/report.zip", content)
		const name = "Initech::TPS::Report"
		out := s.register(owner, schema.Resource, name, "s3://packages/report.zip")
		if out.ProgressStatus != types.RegistrationStatusComplete {
			t.Fatal(aws.ToString(out.Description))
		}
		id := s.publisher(owner)
		verdict := s.tested(owner, *out.TypeVersionArn)
		if verdict.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Fatalf("%s: %s", verdict.TypeTestsStatus, aws.ToString(verdict.TypeTestsStatusDescription))
		}
		s.publish(owner, *out.TypeVersionArn, "")
		s.activate(reader, &cloudformation.ActivateTypeInput{Type: types.ThirdPartyTypeResource, TypeName: aws.String(name), PublisherId: &id, TypeNameAlias: aws.String("Mine::TPS::Report")})
		v, err := s.Resolve(t.Context(), reader, schema.Resource, "Mine::TPS::Report", "")
		if err != nil {
			t.Fatal(err)
		}
		function, err := p.Function(t.Context(), v.Function())
		if err != nil {
			t.Fatal(err)
		}
		event, err := invoke.New(invoke.Config{Function: function, Schema: v.Schema}).Run(t.Context(), invoke.Request{Action: invoke.List, TypeName: v.SchemaName, TypeVersion: v.VersionID})
		if err != nil || event.Status != invoke.Success {
			t.Errorf("the activated handler answers %+v, %v", event, err)
		}
	})
}

// examplePackage is what "cfn package" makes of the example, from a copy of it.
func examplePackage(t testing.TB) []byte {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	example, dir := filepath.Join(root, "examples", "tps-report"), t.TempDir()
	for _, name := range []string{".rpdk-config", "initech-tps-report.json", "inputs", "resource-role.yaml"} {
		var err error
		if info, statErr := os.Stat(filepath.Join(example, name)); statErr != nil {
			err = statErr
		} else if info.IsDir() {
			err = os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(example, name)))
		} else {
			var data []byte
			if data, err = os.ReadFile(filepath.Join(example, name)); err == nil {
				err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(dir, "bin", "bootstrap"), "./cmd")
	build.Dir, build.Env = example, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	p, problems, err := project.Open(dir, "")
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	of, problems, err := p.Schema(schema.Config{})
	if err != nil || of == nil {
		t.Fatal(problems, err)
	}
	archive, err := p.Archive(t.Context(), project.ArchiveConfig{Version: "0.0.0", Schema: of})
	if err != nil {
		t.Fatal(err)
	}
	return archive.Data
}

// TestCutShort stops the program while a test has made something: it ends at once, and the next
// attempt deletes what was made before it makes anything of its own.
func TestCutShort(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		cloud := &keeper{shop: s, account: owner.Account, things: map[string]map[string]any{}}
		s.mu.Lock()
		s.shared, s.block, s.blockOn = cloud, make(chan struct{}), "READ"
		s.mu.Unlock()
		version := s.thing(owner, thingName, "one")
		if _, err := s.TestType(t.Context(), owner, &cloudformation.TestTypeInput{Arn: &version}); err != nil {
			t.Fatal(err)
		}
		s.until("something was made, and is read", func() bool { return cloud.waiting.Load() })
		runs, err := s.TestRuns(t.Context(), owner, TestQuery{})
		if err != nil || len(runs) != 1 || runs[0].Progress == nil || runs[0].Progress.Number < 1 || runs[0].Progress.Total < runs[0].Progress.Number || !strings.Contains(runs[0].Progress.Test, "contract_") {
			t.Fatalf("the run is %+v, %v", runs, err)
		}
		if n := len(cloud.things); n != 1 {
			t.Fatalf("%d things exist", n)
		}
		began := time.Now()
		s.reopen()
		took := time.Since(began)
		t.Logf("ended after %s", took.Round(time.Millisecond))
		if took > 30*time.Second { // a test takes minutes where delays are waited for
			t.Error("that is too long")
		}
		if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Errorf("%s: %s", out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
		if len(cloud.things) > 0 {
			t.Errorf("left behind: %v", cloud.things)
		}
		if runs, err := s.TestRuns(t.Context(), owner, TestQuery{}); err != nil || runs[0].Progress != nil {
			t.Errorf("the run that has ended is %+v, %v", runs, err)
		}
	})
}
