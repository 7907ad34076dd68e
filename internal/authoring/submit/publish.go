package submit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A Publication is a version of an extension to make public.
type Publication struct {
	Request // Key is not used: the package's key follows from its contents

	// Version is one that is registered already; then nothing is uploaded, and Archive
	// may be nil.
	Version string

	// PublicVersion is MAJOR.MINOR.PATCH. Empty means the next minor version, and 1.0.0
	// at first, which is what the service chooses.
	PublicVersion string

	// AcceptTerms lets the account be registered as a publisher, with the ARN of a
	// connection to GitHub or Bitbucket, or without one, by its AWS Marketplace account.
	AcceptTerms   bool
	ConnectionARN string

	// Timeout of the registration and of the tests, each. Zero means an hour.
	Timeout time.Duration
}

// StepName is one of what publishing consists of, in this order.
type StepName string

// The steps.
const (
	StepPublisher StepName = "publisher"
	StepRegister  StepName = "register"
	StepTest      StepName = "test"
	StepDefault   StepName = "default"
	StepPublish   StepName = "publish"
)

// A Step is one part of a plan.
type Step struct {
	Name   StepName `json:"step"`
	Done   bool     `json:"done"`
	Detail string   `json:"detail"` // the state, or the next action
}

// A Plan is the list of steps that publishing in one region takes, for the current state of
// the registry. It changes nothing.
type Plan struct {
	Region string `json:"region"`
	Steps  []Step `json:"steps"`

	// Blocked is why the plan cannot be carried out; "" if it can. Hint is what to do.
	Blocked string `json:"blocked"`
	Hint    string `json:"hint"`

	remote      *Remote
	publication Publication
	receipt     receipt
	publisher   string
	store       storage
}

// Done reports whether nothing is left to do.
func (p *Plan) Done() bool {
	for _, s := range p.Steps {
		if !s.Done {
			return false
		}
	}
	return true
}

func (p *Plan) add(name StepName, done bool, format string, args ...any) {
	p.Steps = append(p.Steps, Step{name, done, fmt.Sprintf(format, args...)})
}

func (p *Plan) block(hint, format string, args ...any) {
	if p.Blocked == "" {
		p.Blocked, p.Hint = fmt.Sprintf(format, args...), hint
	}
}

// Published is what has become of a plan.
type Published struct {
	VersionARN    string `json:"typeVersionArn"`
	PublicTypeARN string `json:"publicTypeArn"`
	PublicVersion string `json:"publicVersion"`
	TestBucket    string `json:"testBucket"` // where the registry leaves the logs of its tests, "" if it was not asked to test
}

// Version is the number of the version; "" if it is not known.
func (p *Published) Version() string { return lastPart(p.VersionARN) }

// A TestsFailedError reports that a version has not passed the registry's tests.
type TestsFailedError struct {
	VersionARN  string
	Description string // the registry's
	Bucket      string // where it leaves the logs
}

func (e *TestsFailedError) Error() string {
	return fmt.Sprintf("the tests of %s failed: %s", e.VersionARN, e.Description)
}

// PlanPublish finds out which steps are done and which are left. The registry does not report
// which version was made from a package; that is recorded beside the package in its bucket.
func (r *Remote) PlanPublish(ctx context.Context, q Publication) (*Plan, error) {
	p := &Plan{Region: r.Region, remote: r, publication: q}
	if err := p.planPublisher(ctx); err != nil {
		return nil, err
	}
	if err := p.findStorage(ctx); err != nil {
		return nil, err
	}
	version, err := p.planRegister(ctx)
	if err != nil {
		return nil, err
	}
	p.planTest(version)
	if version != nil && aws.ToBool(version.IsDefaultVersion) {
		p.add(StepDefault, true, "it is the default version, which will be published")
	} else {
		p.add(StepDefault, false, "make it the default version, which will be published")
	}
	if err := p.planVersion(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// findStorage finds the bucket without making it.
func (p *Plan) findStorage(ctx context.Context) (err error) {
	r := p.remote
	switch {
	case p.publication.Bucket != "":
		p.store.bucket = p.publication.Bucket
	case r.Local:
		var account string
		account, err = r.Account(ctx)
		p.store.bucket = localBucket(account, r.Region)
	default:
		p.store, err = r.findUploadStack(ctx)
	}
	if err == nil && p.store.bucket != "" {
		p.receipt, err = r.readReceipt(ctx, p.store.bucket, p.receiptKey())
	}
	return err
}

func (p *Plan) planPublisher(ctx context.Context) error {
	out, err := p.remote.cloudformation.DescribePublisher(ctx, &cloudformation.DescribePublisherInput{})
	if err != nil && !refused(err) {
		return err
	}
	if err == nil && aws.ToString(out.PublisherId) != "" {
		p.publisher = *out.PublisherId
		p.add(StepPublisher, true, "the account is the publisher %s (%s)", p.publisher, out.PublisherStatus)
		if out.PublisherStatus == types.PublisherStatusUnverified {
			p.block("the identity at "+string(out.IdentityProvider)+" must be confirmed first", "the publisher %s is not verified", p.publisher)
		}
		return nil
	}
	if p.publication.AcceptTerms {
		p.add(StepPublisher, false, "register the account as a publisher and accept the terms")
		return nil
	}
	p.add(StepPublisher, false, "the account is not a publisher in %s", p.Region)
	p.block("cfn publish --accept-terms registers it with its AWS Marketplace account and accepts the terms and conditions for publishers; with GitHub or Bitbucket, add --connection-arn ARN",
		"the account is not a publisher in %s", p.Region)
	return nil
}

// planRegister finds the version that was registered from the package. It is nil if none was.
func (p *Plan) planRegister(ctx context.Context) (*cloudformation.DescribeTypeOutput, error) {
	q := &p.publication
	ref := Reference{Name: q.TypeName, Kind: types.RegistryType(q.Kind)}
	if q.Version != "" {
		version, err := p.remote.Describe(ctx, &ref, q.Version)
		if err != nil {
			return nil, err
		}
		p.receipt.VersionARN = aws.ToString(version.Arn)
		p.add(StepRegister, true, "version %s is registered", q.Version)
		if version.DeprecatedStatus == types.DeprecatedStatusDeprecated {
			p.block("cfn types versions "+q.TypeName+" lists the others", "version %s is deregistered", q.Version)
		}
		return version, nil
	}
	if p.receipt.VersionARN == "" && p.receipt.Token != "" {
		registration, err := p.remote.Registration(ctx, p.receipt.Token)
		switch {
		case err != nil && !refused(err):
			return nil, err
		case err == nil && registration.Status == types.RegistrationStatusInProgress:
			p.add(StepRegister, false, "wait for the registration %s, which is in progress", p.receipt.Token)
			return nil, nil
		case err == nil && registration.Status == types.RegistrationStatusComplete:
			p.receipt.VersionARN = registration.VersionARN
		}
	}
	p.receipt.Token = ""
	if arn := p.receipt.VersionARN; arn != "" {
		version, err := p.describeVersion(ctx, arn)
		if err == nil && version.DeprecatedStatus != types.DeprecatedStatusDeprecated {
			p.add(StepRegister, true, "this package is registered as version %s", lastPart(arn))
			return version, nil
		}
		if err != nil && !refused(err) {
			return nil, err
		}
	}
	p.receipt = receipt{}
	p.add(StepRegister, false, "upload the package and register a new version")
	return nil, nil
}

// describeVersion uses the form of the request in which the registry reports the results of
// tests.
func (p *Plan) describeVersion(ctx context.Context, arn string) (*cloudformation.DescribeTypeOutput, error) {
	ref := Reference{Name: p.publication.TypeName, Kind: types.RegistryType(p.publication.Kind)}
	return p.remote.Describe(ctx, &ref, lastPart(arn))
}

func (p *Plan) planTest(version *cloudformation.DescribeTypeOutput) {
	var status types.TypeTestsStatus
	if version != nil {
		status = version.TypeTestsStatus
	}
	switch status {
	case types.TypeTestsStatusPassed:
		p.add(StepTest, true, "its tests have passed")
	case types.TypeTestsStatusInProgress:
		p.add(StepTest, false, "wait for its tests, which are in progress")
	case types.TypeTestsStatusFailed:
		p.add(StepTest, false, "test it again; last time: %s", aws.ToString(version.TypeTestsStatusDescription))
	default:
		p.add(StepTest, false, "run the registry's tests and wait for them")
	}
}

// planVersion finds the next public version, and whether it exists already.
func (p *Plan) planVersion(ctx context.Context) error {
	want := p.publication.PublicVersion
	latest, err := p.publicVersion(ctx, "")
	if err != nil {
		return err
	}
	if done := p.receipt.PublicVersion; done != "" && (want == "" || want == done) {
		found, err := p.publicVersion(ctx, done)
		if err != nil {
			return err
		}
		if found != "" {
			p.add(StepPublish, true, "it is published as %s", done)
			return nil
		}
	}
	switch {
	case latest == "" && want != "" && want != "1.0.0":
		p.add(StepPublish, false, "publish it as 1.0.0")
		p.block("leave --public-version out the first time", "the first public version is always 1.0.0, not %s", want)
	case latest == "":
		p.publication.PublicVersion = "" // which must not be named
		p.add(StepPublish, false, "publish it as 1.0.0, the first version")
	case want == "":
		p.add(StepPublish, false, "publish it as %s; the last one is %s", nextMinor(latest), latest)
	default:
		p.add(StepPublish, false, "publish it as %s; the last one is %s", want, latest)
		if !newer(want, latest) {
			p.block("--public-version "+nextMinor(latest)+" would be the next one", "the public version %s is not newer than %s", want, latest)
		}
	}
	return nil
}

// publicVersion is the number of a public version of the type, the latest one if version is
// empty; "" if it does not exist.
func (p *Plan) publicVersion(ctx context.Context, version string) (string, error) {
	if p.publisher == "" {
		return "", nil
	}
	input := &cloudformation.DescribeTypeInput{Type: types.RegistryType(p.publication.Kind), TypeName: &p.publication.TypeName, PublisherId: &p.publisher}
	if version != "" {
		input.PublicVersionNumber = &version
	}
	out, err := p.remote.cloudformation.DescribeType(ctx, input)
	switch {
	case err != nil && refused(err):
		return "", nil
	case err != nil:
		return "", err
	case version != "":
		return version, nil // which the answer does not repeat
	case aws.ToString(out.LatestPublicVersion) != "":
		return *out.LatestPublicVersion, nil
	}
	return aws.ToString(out.PublicVersionNumber), nil
}

// Run carries out the plan, step by step. It may be repeated after every error: the next plan
// finds what was done.
//
// Errors: *[FailedError], *[TestsFailedError], *[TimeoutError] or those of [Remote.Register].
func (p *Plan) Run(ctx context.Context) (*Published, error) {
	if p.Blocked != "" {
		return nil, errors.New(p.Blocked)
	}
	out := &Published{}
	for _, step := range []struct {
		name StepName
		run  func(context.Context, *Published) error
	}{
		{StepPublisher, p.registerPublisher}, {StepRegister, p.register}, {StepTest, p.test},
		{StepDefault, p.makeDefault}, {StepPublish, p.publish},
	} {
		if p.step(step.name).Done {
			continue
		}
		if err := step.run(ctx, out); err != nil {
			out.VersionARN = p.receipt.VersionARN
			return out, err
		}
		p.step(step.name).Done = true
	}
	out.VersionARN, out.PublicTypeARN, out.PublicVersion = p.receipt.VersionARN, p.receipt.PublicTypeARN, p.receipt.PublicVersion
	return out, nil
}

func (p *Plan) step(name StepName) *Step {
	for i := range p.Steps {
		if p.Steps[i].Name == name {
			return &p.Steps[i]
		}
	}
	return &Step{}
}

func (p *Plan) registerPublisher(ctx context.Context, _ *Published) error {
	p.publication.report("registering the publisher")
	input := &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true)}
	if p.publication.ConnectionARN != "" {
		input.ConnectionArn = &p.publication.ConnectionARN
	}
	out, err := p.remote.cloudformation.RegisterPublisher(ctx, input)
	if err == nil {
		p.publisher = aws.ToString(out.PublisherId)
	}
	return err
}

func (p *Plan) register(ctx context.Context, _ *Published) error {
	q := p.publication.Request
	if p.receipt.Token == "" {
		q.Key = p.packageKey()
		token, store, err := p.remote.register(ctx, q)
		if err != nil {
			return err
		}
		p.receipt.Token, p.store = token, store
		if err := p.note(ctx); err != nil {
			return err
		}
	}
	registration, err := p.remote.Wait(ctx, p.receipt.Token, p.publication.Timeout, q.Report)
	if err != nil {
		return err
	}
	p.receipt.VersionARN = registration.VersionARN
	return p.note(ctx)
}

func (p *Plan) test(ctx context.Context, out *Published) error {
	version, err := p.describeVersion(ctx, p.receipt.VersionARN)
	if err != nil {
		return err
	}
	out.TestBucket = p.store.bucket
	if version.TypeTestsStatus != types.TypeTestsStatusInProgress {
		input := &cloudformation.TestTypeInput{Arn: &p.receipt.VersionARN}
		if p.store.bucket != "" {
			input.LogDeliveryBucket = &p.store.bucket
		}
		if _, err := p.remote.cloudformation.TestType(ctx, input); err != nil {
			return err
		}
	}
	err = p.remote.poll(ctx, "the test of "+p.receipt.VersionARN, p.publication.Timeout, func(ctx context.Context) (bool, error) {
		version, err = p.describeVersion(ctx, p.receipt.VersionARN)
		if err != nil {
			return false, err
		}
		p.publication.report("testing  %s", strings.TrimSpace(string(version.TypeTestsStatus)+"  "+aws.ToString(version.TypeTestsStatusDescription)))
		return version.TypeTestsStatus == types.TypeTestsStatusPassed || version.TypeTestsStatus == types.TypeTestsStatusFailed, nil
	})
	if err == nil && version.TypeTestsStatus == types.TypeTestsStatusFailed {
		err = &TestsFailedError{p.receipt.VersionARN, aws.ToString(version.TypeTestsStatusDescription), p.store.bucket}
	}
	return err
}

func (p *Plan) makeDefault(ctx context.Context, _ *Published) error {
	version, err := p.describeVersion(ctx, p.receipt.VersionARN)
	if err != nil || aws.ToBool(version.IsDefaultVersion) { // the first version is, from the beginning
		return err
	}
	p.publication.report("making version %s the default version", lastPart(p.receipt.VersionARN))
	return p.remote.SetDefault(ctx, p.receipt.VersionARN)
}

func (p *Plan) publish(ctx context.Context, _ *Published) error {
	q := &p.publication
	q.report("publishing")
	input := &cloudformation.PublishTypeInput{Type: types.ThirdPartyType(q.Kind), TypeName: &q.TypeName}
	if q.PublicVersion != "" {
		input.PublicVersionNumber = &q.PublicVersion
	}
	out, err := p.remote.cloudformation.PublishType(ctx, input)
	if err != nil {
		return err
	}
	p.receipt.PublicTypeARN = aws.ToString(out.PublicTypeArn)
	if p.receipt.PublicVersion = q.PublicVersion; p.receipt.PublicVersion == "" {
		if p.receipt.PublicVersion, err = p.publicVersion(ctx, ""); err != nil {
			return err
		}
	}
	return p.note(ctx)
}

func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// numbers splits MAJOR.MINOR.PATCH; what follows a patch number counts as text.
func numbers(version string) (major, minor int, patch string) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return 0, 0, ""
	}
	major, _ = strconv.Atoi(parts[0]) // 0 for text that is not a number
	minor, _ = strconv.Atoi(parts[1])
	return major, minor, parts[2]
}

func nextMinor(version string) string {
	major, minor, _ := numbers(version)
	return fmt.Sprintf("%d.%d.0", major, minor+1)
}

// newer reports whether a public version comes after another. Of patches that are no plain
// numbers, only the service knows.
func newer(a, b string) bool {
	aMajor, aMinor, aPatch := numbers(a)
	bMajor, bMinor, bPatch := numbers(b)
	if aMajor != bMajor {
		return aMajor > bMajor
	}
	if aMinor != bMinor {
		return aMinor > bMinor
	}
	x, xErr := strconv.Atoi(aPatch)
	y, yErr := strconv.Atoi(bPatch)
	if xErr != nil || yErr != nil {
		return aPatch != bPatch
	}
	return x > y
}
