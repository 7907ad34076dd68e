package registry

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// An outcome is what a test has found.
type outcome struct {
	passed      bool
	description string
	summary     *contract.Summary // nil where nothing could be tested
	log         []byte            // what the tests wrote, as "cfn test" shows it; nil without a summary
	report      string            // hash of the blob with the summary, "" for none
}

func failedTest(format string, args ...any) *outcome {
	return &outcome{description: fmt.Sprintf(format, args...)}
}

// examine tests a version. An error is one of our own; whatever is wrong with the version
// is an outcome.
func (r *Registry) examine(ctx context.Context, run *testRunRow, version *versionRow) (*outcome, error) {
	blob, size, err := r.store.Blobs().Open(ctx, version.PackageHash)
	if err != nil {
		return nil, fmt.Errorf("open the package: %w", err)
	}
	defer func() { _ = blob.Close() }() // it was only read
	b, problems, err := bundle.Read(ctx, blob, size, bundle.Config{
		Label: labelOf(version.PackageURL), Kind: schema.Kind(run.Kind), TypeName: run.TypeName, Limits: r.config.Limits,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the package: %w", err)
	case b == nil:
		return failedTest("The package cannot be read: %s", describeProblems(problems)), nil
	}
	var found *outcome
	if b.Kind == schema.Module {
		found, err = r.examineModule(ctx, run, b)
	} else {
		found, err = r.examineHandler(ctx, run, version, b)
	}
	if err != nil || found.summary == nil {
		return found, err
	}
	var report bytes.Buffer
	if err := contract.WriteJSON(&report, found.summary); err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	kept, err := r.store.Blobs().Put(ctx, &report, r.config.ReportLimit)
	var tooLarge *store.TooLargeError
	switch {
	case errors.As(err, &tooLarge):
		found.description = fmt.Sprintf("%s The report is not kept: it is larger than %d bytes.", words.CutRunes(found.description, maxTestDescription/2), r.config.ReportLimit)
		return found, nil
	case err != nil:
		return nil, fmt.Errorf("keep the report: %w", err)
	}
	found.report = kept.Hash
	return found, nil
}

// moduleCase is what the requirements for public modules are called in reports.
var moduleCase = contract.Case{
	ID: "module::public_requirements", Clause: "A public module meets the model requirements for publishing a public module.",
}

// examineModule checks a module against the requirements for public modules.
func (r *Registry) examineModule(ctx context.Context, run *testRunRow, b *bundle.Bundle) (*outcome, error) {
	db := r.store.Read()
	check := &moduleCheck{region: run.Region, majors: regionShelf{db, run.Region}.majors}
	publisher, err := findPublisher(ctx, db, run.Region, "account", run.Account)
	if err != nil {
		return nil, err
	}
	if publisher != nil {
		check.self = extensionKey{schema.Module, publisher.PublisherID, run.TypeName}
	}
	if err := check.run(ctx, b.Fragment.Root); err != nil {
		return nil, err
	}
	moduleCase := moduleCase
	result := &contract.Result{Case: &moduleCase, Outcome: contract.Passed, Phase: contract.CallPhase}
	found := &outcome{passed: len(check.problems) == 0, summary: &contract.Summary{TypeName: run.TypeName, Results: []*contract.Result{result}}}
	if found.passed {
		found.summary.Passed = 1
		found.description = "The module meets the requirements for publishing a public module."
		found.log = []byte(found.description + "\n")
		return found, nil
	}
	found.summary.Failed = 1
	found.description = "The module does not meet the requirements for publishing a public module: " + strings.Join(check.problems, " ")
	found.log = []byte(strings.Join(check.problems, "\n") + "\n")
	result.Outcome, result.Message, result.Clause = contract.Failed, strings.Join(check.problems, " "), moduleCase.Clause
	return found, nil
}

// examineHandler runs the contract tests with the registered handler.
func (r *Registry) examineHandler(ctx context.Context, run *testRunRow, row *versionRow, b *bundle.Bundle) (*outcome, error) {
	if b.Handler == nil || len(b.Schema.Handlers) == 0 {
		return failedTest("The type has no handlers: there is nothing to test."), nil
	}
	caller := run.caller()
	version, err := r.versionOf(caller, &typeRow{Account: run.Account, Region: run.Region, Kind: run.Kind, TypeName: run.TypeName}, row)
	if err != nil {
		return nil, err
	}
	config, unfit, err := r.contractConfig(ctx, caller, version, b)
	if unfit != nil || err != nil {
		return unfit, err
	}
	var secrets []string
	if config.TypeConfiguration, secrets, unfit, err = r.testConfiguration(ctx, caller, version); unfit != nil || err != nil {
		return unfit, err
	}
	config.Redactor = invoke.NewRedactor(b.Schema)
	config.Redactor.LearnFor(secret.Reference, secrets...)
	function, err := r.config.Functions.Function(ctx, version.Function())
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return failedTest("The handler failed to start: %s", err), nil
	}
	config.Function = hiding(function, map[secret.Reason][]string{secret.Reference: secrets})
	tokens := &bearers{registry: r, ctx: ctx, caller: caller}
	defer tokens.end()
	config.NewToken = tokens.next
	notes := &noteKeeper{registry: r, ctx: ctx, run: run, testNotes: run.notes()}
	left, err := notes.discard(*config)
	if err != nil {
		return nil, err
	}
	var written bytes.Buffer
	config.Reporter = contract.Reporters{notes, &contract.Text{W: &written, Verbosity: 1, Traceback: "long"}}
	config.CleanupTimeout, config.Living = -1, notes.living
	summary, err := contract.Run(ctx, *config)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return failedTest("The tests cannot be run: %s", err), nil
	}
	summary.LeftBehind = append(left, summary.LeftBehind...)
	return &outcome{passed: summary.OK(), description: describeSummary(summary), summary: summary, log: written.Bytes()}, nil
}

// contractConfig configures the test run. The outcome is set if the package leaves nothing to test.
func (r *Registry) contractConfig(ctx context.Context, caller awswire.Caller, version *Version, b *bundle.Bundle) (*contract.Config, *outcome, error) {
	inputs, problems, err := contract.LoadInputs(contract.InputsConfig{Files: b.Files, Label: labelOf("") + "!/", Schema: b.Schema, NewToken: r.config.NewID})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the inputs: %w", err)
	case problems.HasErrors():
		return nil, failedTest("The inputs cannot be used: %s", describeProblems(problems)), nil
	}
	config := &contract.Config{
		Schema: b.Schema, Inputs: *inputs, Seed: 1, Region: caller.Region, AccountID: caller.Account, Now: r.config.Now, HookTargets: targetsOf(b),
	}
	if r.config.Credentials != nil {
		config.Credentials = r.config.Credentials(caller, version.ExecutionRole)
	}
	if err := contract.Check(*config); err != nil {
		return nil, failedTest("The tests cannot be run: %s", err), nil
	}
	return config, nil, nil
}

// testConfiguration is the type configuration that handlers get, of a hook its own properties, and
// the secrets that its dynamic references stand for. A hook must have one, as in use.
func (r *Registry) testConfiguration(ctx context.Context, caller awswire.Caller, version *Version) (any, []string, *outcome, error) {
	row, err := r.findConfiguration(ctx, caller, version.TypeARN, defaultAlias)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case row == nil && version.Kind == schema.Hook:
		return nil, nil, failedTest("The hook has no configuration. Set it with SetTypeConfiguration before it is tested."), nil
	case row == nil:
		return nil, nil, nil, nil
	}
	text, secrets, err := r.Configuration(ctx, caller, version, defaultAlias)
	var refused *awswire.Error
	switch {
	case errors.As(err, &refused):
		return nil, nil, failedTest("The configuration of the type cannot be used: %s", refused.Message), nil
	case err != nil:
		return nil, nil, nil, err
	}
	var configuration map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&configuration); err != nil {
		return nil, nil, nil, errors.New("cannot read the configuration of the type") // the error would show a piece of it
	}
	if version.Kind == schema.Hook {
		properties, ok := valueAt(configuration, document.Pointer{"CloudFormationConfiguration", "HookConfiguration", "Properties"}).(map[string]any)
		if !ok {
			properties = map[string]any{}
		}
		return properties, secrets, nil, nil
	}
	return configuration, secrets, nil, nil
}

// targetsOf lists the types that a hook knows, by their schemas in the package.
func targetsOf(b *bundle.Bundle) []contract.HookTarget {
	var targets []contract.HookTarget
	for _, s := range b.TargetSchemas {
		targets = append(targets, contract.HookTarget{Name: s.TypeName.Value, Schema: s})
	}
	for _, m := range b.TargetInfo.Distinct() {
		if !slices.ContainsFunc(targets, func(t contract.HookTarget) bool { return t.Name == m.Key }) {
			targets = append(targets, contract.HookTarget{Name: m.Key})
		}
	}
	return targets
}

// describeSummary reports what came of the contract tests: how many failed, and each cause
// once, with the tests that it failed. There is room for little, and one cause often fails
// most of them.
func describeSummary(s *contract.Summary) string {
	total := s.Passed + s.Failed + s.Errors
	if s.OK() {
		return fmt.Sprintf("All %d contract tests passed.", total)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d contract tests failed:", s.Failed+s.Errors, total)
	if len(s.LeftBehind) > 0 {
		fmt.Fprintf(&b, " resources were left behind: %s;", strings.Join(s.LeftBehind, ", "))
	}
	for _, cause := range s.Causes() {
		var tests []string
		for _, result := range cause.Results {
			tests = append(tests, result.ID())
		}
		fmt.Fprintf(&b, " %s (%s);", cause.First().Message, strings.Join(tests, ", "))
	}
	return strings.TrimSuffix(b.String(), ";")
}

// bearers creates the bearer tokens of a run and lets handlers report with them.
type bearers struct {
	registry *Registry
	ctx      context.Context
	caller   awswire.Caller

	mu     sync.Mutex
	tokens []string
}

func (b *bearers) next() string {
	token := b.registry.config.NewID()
	if err := b.registry.tokens.Begin(b.ctx, b.caller, token); err != nil {
		if b.ctx.Err() == nil {
			b.registry.log.ErrorContext(b.ctx, "a handler under test cannot report its progress", "error", err)
		}
		return token
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = append(b.tokens, token)
	return token
}

// end forgets the tokens.
func (b *bearers) end() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), noteTimeout)
	defer cancel()
	if err := b.registry.tokens.Forget(ctx, b.tokens); err != nil {
		b.registry.log.ErrorContext(ctx, "the bearer tokens of a test are not forgotten before they expire", "error", err)
	}
}

// deliver writes the logs of a run to the bucket of the request. If the bucket cannot be
// written, the description contains the error and the result of the run does not change.
func (r *Registry) deliver(ctx context.Context, run *testRunRow, found *outcome) error {
	if run.Bucket == "" {
		return nil
	}
	body, err := archiveLogs(found)
	if err != nil {
		return fmt.Errorf("pack the logs of the test: %w", err)
	}
	key := "CloudFormation/ContractTestResults/" + run.TypeName + "/" + run.ID + ".zip"
	err = r.config.Deliver(ctx, run.caller(), run.Bucket, key, bytes.NewReader(body))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		run.Delivery = key
		return nil
	}
	reason := err.Error()
	if refused := (*awswire.Error)(nil); errors.As(err, &refused) {
		reason = refused.Message
	}
	found.description = fmt.Sprintf("%s The logs could not be delivered to the bucket %s: %s", words.CutRunes(found.description, maxTestDescription/2), run.Bucket, reason)
	return nil
}

// logFiles are what the logs of a test consist of.
var logFiles = []struct {
	name      string
	ofSummary bool // missing without a summary
	write     func(io.Writer, *outcome) error
}{
	{"test.log", false, func(w io.Writer, o *outcome) error {
		_, err := fmt.Fprintf(w, "%s%s\n", o.log, o.description)
		return err
	}},
	{"lambda.log", true, func(w io.Writer, o *outcome) error { return writeHandlerLog(w, o.summary) }},
	{"report.json", true, func(w io.Writer, o *outcome) error { return contract.WriteJSON(w, o.summary) }},
	{"report.html", true, func(w io.Writer, o *outcome) error { return contract.WriteHTML(w, o.summary) }},
	{"junit.xml", true, func(w io.Writer, o *outcome) error { return contract.WriteJUnit(w, o.summary) }},
}

// archiveLogs packs what a test has left: its log, what the handlers wrote, and the report
// in three forms.
func archiveLogs(found *outcome) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, file := range logFiles {
		if found.summary == nil && file.ofSummary {
			continue
		}
		w, err := archive.Create(file.name)
		if err == nil {
			err = file.write(w, found)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// writeHandlerLog writes what handlers wrote, call by call.
func writeHandlerLog(w io.Writer, s *contract.Summary) error {
	for _, result := range s.Results {
		for i := range result.Calls {
			call := &result.Calls[i]
			if _, err := fmt.Fprintf(w, "=== %s: %s\n%s\n", result.ID(), call, strings.TrimRight(call.Log, "\n")); err != nil {
				return err
			}
		}
	}
	return nil
}
