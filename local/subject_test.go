package local_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

var here = &s3types.CreateBucketConfiguration{LocationConstraint: region}

// A subject is a type that one client of TestKill works on, with what the client knows of
// it: nobody else changes it, so all but the call that the kill cut off is certain.
type subject struct {
	kind       types.RegistryType
	name, url  string
	good       bool // its package has no fault
	configured bool // it has a type configuration
	callable   bool // its handler can be called with anything

	tickets  []*ticket
	orders   int
	version  string          // the default, "" if not known
	versions []string        // that may be it as well: a call was cut off
	gone     map[string]bool // deregistered: true; false if the call was cut off
	config   string
	configs  []string // likewise
	tested   map[string]bool
}

// A ticket is a registration.
type ticket struct {
	token       string
	asked, told int    // when, in the client's count; told is 0 for one that was not answered
	version     string // once it has completed
	failed      bool
}

// newSubjects adds types, with their packages in the bucket.
func (k *killing) newSubjects(round int) {
	settle := func(entries []entry) []entry { // gives a resource a type configuration
		for i, e := range entries {
			if e.name == "schema.json" {
				entries[i].data = bytes.Replace(e.data, []byte(`"definitions": {},`),
					[]byte(`"definitions": {}, "typeConfiguration": {"properties": {"Key": {"type": "string"}}, "additionalProperties": false},`), 1)
			}
		}
		return entries
	}
	spoil := func(entries []entry) []entry {
		for i, e := range entries {
			if e.name == "schema.json" {
				entries[i].data = bytes.Replace(e.data, []byte(`"type": "string"`), []byte(`"type": "text"`), 1)
			}
		}
		return entries
	}
	add := func(s *subject, data []byte) {
		if data == nil {
			return
		}
		s.config, s.gone, s.tested = "{}", map[string]bool{}, map[string]bool{}
		key := fmt.Sprintf("%d/%s.zip", round, strings.ReplaceAll(s.name, "::", "-"))
		s.url = "s3://" + shelf + "/" + key
		if _, err := k.clients.s3.PutObject(k.t.Context(), &s3.PutObjectInput{Bucket: aws.String(shelf), Key: &key, Body: bytes.NewReader(data)}); err != nil {
			k.t.Fatal(err)
		}
		k.subjects, k.recent = append(k.subjects, s), append(k.recent, s)
	}
	k.recent = nil
	const testing = "LocalStack::Testing::"
	name := func(kind string) string { return fmt.Sprintf("Kill::R%03d::%s", round, kind) }
	for i := range 2 {
		n := name(fmt.Sprintf("Thing%d", i))
		add(&subject{kind: types.RegistryTypeResource, name: n, good: true, configured: true, callable: true},
			extension(k.t, "localstack-testing-deployableresource", testing+"DeployableResource", n, settle))
	}
	add(&subject{kind: types.RegistryTypeHook, name: name("Hook"), good: true}, extension(k.t, "localstack-testing-deployablehook", testing+"DeployableHook", name("Hook"), nil))
	add(&subject{kind: types.RegistryTypeModule, name: name("Part") + "::MODULE", good: true}, extension(k.t, "localstack-testing-testmodule-module", testing+"TestModule", name("Part"), nil))
	add(&subject{kind: types.RegistryTypeResource, name: name("Spoilt")}, extension(k.t, "localstack-testing-testresource", testing+"TestResource", name("Spoilt"), spoil))
	data := report()
	if data == nil {
		k.t.Log("without a handler in Go: the example cannot be built here")
		return
	}
	entries := unzipped(k.t, data)
	for i, e := range entries {
		if e.name == "schema.json" || e.name == ".rpdk-config" {
			entries[i].data = bytes.ReplaceAll(e.data, []byte("Initech::TPS::Report"), []byte(name("Report")))
		}
	}
	add(&subject{kind: types.RegistryTypeResource, name: name("Report"), good: true}, zipped(k.t, entries...))
}

// use works on the type until the server is gone.
func (s *subject) use(ctx context.Context, k *killing, chances *rand.Rand) {
	for ctx.Err() == nil {
		var err error
		live := s.live()
		switch what := chances.IntN(10); {
		case s.pending() < 2 && (what < 3 || len(live) == 0):
			err = s.register(ctx, k, 1+chances.IntN(3))
		case what < 5 || len(live) == 0:
			err = s.look(ctx, k)
		case what < 6:
			err = s.setDefault(ctx, k, live[chances.IntN(len(live))])
		case what < 7 && s.configured:
			err = s.configure(ctx, k, fmt.Sprintf(`{"Key":"%x"}`, chances.Uint64()))
		case what < 8:
			err = s.deregister(ctx, k, live[chances.IntN(len(live))])
		case what < 9 && s.kind != types.RegistryTypeModule:
			err = s.test(ctx, k, live[chances.IntN(len(live))])
		}
		if err != nil {
			k.lost(ctx, s.name, err)
			return
		}
	}
}

// live are the versions that are known to have completed, and not to be deregistered.
func (s *subject) live() []string {
	var live []string
	for _, t := range s.tickets {
		if _, gone := s.gone[t.version]; t.version != "" && !gone {
			live = append(live, t.version)
		}
	}
	return live
}

// pending counts the registrations that have not ended as far as is known.
func (s *subject) pending() int {
	n := 0
	for _, t := range s.tickets {
		if t.version == "" && !t.failed {
			n++
		}
	}
	return n
}

// register asks for some versions at once.
func (s *subject) register(ctx context.Context, k *killing, n int) error {
	s.orders++
	asked := s.orders
	var mu sync.Mutex
	var lost error
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			out, err := k.clients.RegisterType(ctx, &cloudformation.RegisterTypeInput{Type: s.kind, TypeName: &s.name, SchemaHandlerPackage: &s.url})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				k.answered()
				s.tickets = append(s.tickets, &ticket{token: *out.RegistrationToken, asked: asked, told: asked})
			case !strings.Contains(err.Error(), "The limit of 50 versions"):
				lost = err
			}
		})
	}
	calls.Wait()
	return lost
}

// look asks how the registrations go on, and which version is the default one.
func (s *subject) look(ctx context.Context, k *killing) error {
	for _, t := range s.tickets {
		if t.version == "" && !t.failed {
			if _, err := s.lookAt(ctx, k, t); err != nil {
				return err
			}
		}
	}
	out, err := k.clients.DescribeType(ctx, &cloudformation.DescribeTypeInput{Type: s.kind, TypeName: &s.name})
	if codeOf(err) == "TypeNotFoundException" && len(s.live()) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	s.version, s.versions = aws.ToString(out.DefaultVersionId), nil
	return nil
}

// lookAt asks about one registration, and reports whether it has ended.
func (s *subject) lookAt(ctx context.Context, k *killing, t *ticket) (ended bool, err error) {
	out, err := k.clients.DescribeTypeRegistration(ctx, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &t.token})
	if err != nil {
		return false, fmt.Errorf("registration %s: %w", t.token, err)
	}
	arn, text := aws.ToString(out.TypeVersionArn), aws.ToString(out.Description)
	_, version, _ := strings.Cut(arn, strings.ReplaceAll(s.name, "::", "-")+"/")
	switch out.ProgressStatus {
	case types.RegistrationStatusComplete:
		if !s.good || version == "" || t.failed || t.version != "" && t.version != version {
			k.t.Errorf("registration %s of %s has completed as %q; known: %+v", t.token, s.name, arn, *t)
		}
		t.version = version
		return true, nil
	case types.RegistrationStatusFailed:
		if s.good || !strings.Contains(text, "schema.json:") || t.version != "" {
			k.t.Errorf("registration %s of %s has failed: %s", t.token, s.name, text)
		}
		t.failed = true
		return true, nil
	}
	if t.failed || t.version != "" {
		k.t.Errorf("registration %s of %s had ended, and is %s again", t.token, s.name, out.ProgressStatus)
	}
	return false, nil
}

func (s *subject) setDefault(ctx context.Context, k *killing, version string) error {
	s.versions = append(s.versions, version)
	_, err := k.clients.SetTypeDefaultVersion(ctx, &cloudformation.SetTypeDefaultVersionInput{Type: s.kind, TypeName: &s.name, VersionId: &version})
	if err != nil {
		return err
	}
	k.answered()
	s.version, s.versions = version, nil
	return nil
}

func (s *subject) configure(ctx context.Context, k *killing, config string) error {
	s.configs = append(s.configs, config)
	_, err := k.clients.SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{Type: types.ThirdPartyType(s.kind), TypeName: &s.name, Configuration: &config})
	if err != nil {
		return err
	}
	k.answered()
	s.config, s.configs = config, nil
	return nil
}

// deregister takes a version out of use, unless it may be the default one.
func (s *subject) deregister(ctx context.Context, k *killing, version string) error {
	if s.version == "" || s.version == version || len(s.versions) > 0 {
		return s.look(ctx, k)
	}
	s.gone[version] = false
	_, err := k.clients.DeregisterType(ctx, &cloudformation.DeregisterTypeInput{Type: s.kind, TypeName: &s.name, VersionId: &version})
	if err != nil {
		return err
	}
	k.answered()
	s.gone[version] = true
	return nil
}

func (s *subject) test(ctx context.Context, k *killing, version string) error {
	if len(s.tested) > 3 {
		return nil
	}
	_, err := k.clients.TestType(ctx, &cloudformation.TestTypeInput{Type: types.ThirdPartyType(s.kind), TypeName: &s.name, VersionId: &version})
	if err != nil {
		return err
	}
	k.answered()
	s.tested[version] = true
	return nil
}

// check compares what the server says of the type with what is known of it, and learns
// what became of the call that was cut off.
func (s *subject) check(k *killing) {
	s.orders++
	s.adopt(k)
	eventually(k.t, 90*time.Second, "the registrations of "+s.name+" end", func() bool {
		all := true
		for _, t := range s.tickets {
			if t.version != "" || t.failed {
				continue
			}
			ended, err := s.lookAt(k.t.Context(), k, t)
			if err != nil {
				k.t.Error(err)
				return true
			}
			all = all && ended
		}
		return all
	})
	s.checkOrder(k)
	live, deprecated := s.list(k, types.DeprecatedStatusLive), s.list(k, types.DeprecatedStatusDeprecated)
	for _, t := range s.tickets {
		if t.version == "" {
			continue
		}
		isLive, isGone := slices.Contains(live, t.version), slices.Contains(deprecated, t.version)
		gone, known := s.gone[t.version]
		switch {
		case isLive == isGone:
			k.t.Errorf("version %s of %s: live %v, deprecated %v", t.version, s.name, isLive, isGone)
		case known && gone && isLive:
			k.t.Errorf("version %s of %s was deregistered and is live", t.version, s.name)
		case !known && isGone:
			k.t.Errorf("version %s of %s is deregistered by itself", t.version, s.name)
		case known && !gone && isLive:
			delete(s.gone, t.version)
		case known && isGone:
			s.gone[t.version] = true
		}
	}
	s.checkDefault(k, live)
	s.checkVersions(k, live)
	if s.configured && len(live) > 0 {
		s.checkConfiguration(k)
	}
}

// adopt finds the registrations whose answer the kill cut off. All others must be there.
func (s *subject) adopt(k *killing) {
	listed := map[string]bool{}
	for _, status := range []types.RegistrationStatus{types.RegistrationStatusInProgress, types.RegistrationStatusComplete, types.RegistrationStatusFailed} {
		pages := cloudformation.NewListTypeRegistrationsPaginator(k.clients, &cloudformation.ListTypeRegistrationsInput{Type: s.kind, TypeName: &s.name, RegistrationStatusFilter: status})
		for pages.HasMorePages() {
			page, err := pages.NextPage(k.t.Context())
			if err != nil {
				k.t.Errorf("the registrations of %s: %v", s.name, err)
				return
			}
			for _, token := range page.RegistrationTokenList {
				listed[token] = true
			}
		}
	}
	for _, t := range s.tickets {
		if !listed[t.token] {
			k.t.Errorf("registration %s of %s is not listed", t.token, s.name)
		}
		delete(listed, t.token)
	}
	for token := range listed {
		s.tickets = append(s.tickets, &ticket{token: token})
	}
}

// checkOrder looks whether versions have the numbers of their turn, each its own.
func (s *subject) checkOrder(k *killing) {
	owner := map[string]string{}
	for _, t := range s.tickets {
		if t.version == "" {
			continue
		}
		if owner[t.version] != "" {
			k.t.Errorf("version %s of %s belongs to two registrations", t.version, s.name)
		}
		owner[t.version] = t.token
		for _, later := range s.tickets {
			if t.told > 0 && later.told > 0 && t.told < later.asked && later.version != "" && later.version <= t.version {
				k.t.Errorf("%s: version %s was asked for after %s", s.name, later.version, t.version)
			}
		}
	}
}

func (s *subject) list(k *killing, status types.DeprecatedStatus) []string {
	var found []string
	pages := cloudformation.NewListTypeVersionsPaginator(k.clients, &cloudformation.ListTypeVersionsInput{Type: s.kind, TypeName: &s.name, DeprecatedStatus: status})
	for pages.HasMorePages() {
		page, err := pages.NextPage(k.t.Context())
		if err != nil {
			if !strings.Contains(err.Error(), "cannot be found") || slices.ContainsFunc(s.tickets, func(t *ticket) bool { return t.version != "" }) {
				k.t.Errorf("the versions of %s: %v", s.name, err)
			}
			return nil
		}
		for _, v := range page.TypeVersionSummaries {
			found = append(found, aws.ToString(v.VersionId))
		}
	}
	for _, version := range found {
		if !slices.ContainsFunc(s.tickets, func(t *ticket) bool { return t.version == version }) {
			k.t.Errorf("version %s of %s was never registered", version, s.name)
		}
	}
	return found
}

func (s *subject) checkDefault(k *killing, live []string) {
	out, err := k.clients.DescribeType(k.t.Context(), &cloudformation.DescribeTypeInput{Type: s.kind, TypeName: &s.name})
	if len(live) == 0 {
		if codeOf(err) != "TypeNotFoundException" {
			k.t.Errorf("%s has no version and is described: %v", s.name, err)
		}
		return
	}
	if err != nil {
		k.t.Errorf("%s: %v", s.name, err)
		return
	}
	got := aws.ToString(out.DefaultVersionId)
	may := append([]string{s.version}, s.versions...)
	if s.version == "" {
		may = live // the first to complete
	}
	if !slices.Contains(may, got) || !slices.Contains(live, got) {
		k.t.Errorf("the default version of %s is %s, want one of %v; live are %v", s.name, got, may, live)
	}
	s.version, s.versions = got, nil
	if s.callable {
		if err := k.invoke(s.name, got); err != nil {
			k.t.Errorf("call version %s of %s: %v", got, s.name, err)
		}
	}
}

func (s *subject) checkVersions(k *killing, live []string) {
	for _, version := range live {
		out, err := k.clients.DescribeType(k.t.Context(), &cloudformation.DescribeTypeInput{Type: s.kind, TypeName: &s.name, VersionId: &version})
		switch {
		case err != nil:
			k.t.Errorf("version %s of %s: %v", version, s.name, err)
		case !strings.Contains(aws.ToString(out.Schema), s.name), aws.ToBool(out.IsDefaultVersion) != (version == s.version):
			k.t.Errorf("version %s of %s: default %v, schema %q", version, s.name, aws.ToBool(out.IsDefaultVersion), aws.ToString(out.Schema))
		case s.tested[version] && (out.TypeTestsStatus == types.TypeTestsStatusNotTested || out.TypeTestsStatus == ""):
			k.t.Errorf("version %s of %s: TestType was answered, and its status is %s", version, s.name, out.TypeTestsStatus)
		}
	}
}

func (s *subject) checkConfiguration(k *killing) {
	out, err := k.clients.BatchDescribeTypeConfigurations(k.t.Context(), &cloudformation.BatchDescribeTypeConfigurationsInput{
		TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{{Type: types.ThirdPartyType(s.kind), TypeName: &s.name}},
	})
	if err != nil {
		k.t.Errorf("the configuration of %s: %v", s.name, err)
		return
	}
	got := ""
	for _, c := range out.TypeConfigurations {
		got = aws.ToString(c.Configuration)
	}
	if got != s.config && !slices.Contains(s.configs, got) {
		k.t.Errorf("the configuration of %s is %q, want %q or one of %q", s.name, got, s.config, s.configs)
	}
	s.config, s.configs = got, nil
}

// awaitTests waits until all tests have ended with a reason.
func (s *subject) awaitTests(k *killing) {
	for version := range s.tested {
		eventually(k.t, 2*time.Minute, "the test of version "+version+" of "+s.name+" ends", func() bool {
			out, err := k.clients.DescribeType(k.t.Context(), &cloudformation.DescribeTypeInput{Type: s.kind, TypeName: &s.name, VersionId: &version})
			if err != nil {
				k.t.Error(err)
				return true
			}
			if out.TypeTestsStatus == types.TypeTestsStatusFailed && aws.ToString(out.TypeTestsStatusDescription) == "" {
				k.t.Errorf("the test of version %s of %s has failed without a reason", version, s.name)
			}
			return out.TypeTestsStatus == types.TypeTestsStatusFailed || out.TypeTestsStatus == types.TypeTestsStatusPassed
		})
	}
}
