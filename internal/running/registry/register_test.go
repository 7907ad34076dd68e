package registry

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/simulate"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestRecordedRegistrations replays what AWS answered for three packages.
func TestRecordedRegistrations(t *testing.T) {
	t.Parallel()
	for _, recorded := range []struct {
		kind              schema.Kind
		typeName, archive string
		recording         string // "" if what it answers stands in the package
	}{
		{schema.Resource, "LocalStack::Testing::TestResource", "localstack-testing-testresource", "RESOURCE-LocalStack.Testing.TestResource-resourcetypes-localstack-testing-testresource.zip"},
		{schema.Hook, "LocalStack::Testing::TestHook", "localstack-testing-testhook", "HOOK-LocalStack.Testing.TestHook-hooks-localstack-testing-testhook.zip"},
	} {
		t.Run(string(recorded.kind), func(t *testing.T) {
			eachStore(t, func(t *testing.T, g *rig) {
				wait := make(chan struct{})
				g.probe = func(ctx context.Context, _ bundle.Spec) error {
					select {
					case <-wait:
					case <-ctx.Done():
					}
					return ctx.Err()
				}
				g.work()
				g.packages.put("s3://b/k", extension(t, recorded.archive))
				token := g.request(owner, recorded.kind, recorded.typeName, "s3://b/k")
				progress, err := g.DescribeTypeRegistration(t.Context(), owner, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
				if err != nil {
					t.Fatal(err)
				}
				arn := strings.TrimSuffix(versionARN(strings.ToLower(string(recorded.kind)), recorded.typeName, 1), "/00000001")
				want := map[string]any{"ProgressStatus": "IN_PROGRESS", "TypeArn": arn, "TypeVersionArn": arn + "/00000001"}
				if diff := cmp.Diff(want, described(t, progress)); diff != "" {
					t.Errorf("right after the request (-recorded +answered):\n%s", diff)
				}
				_, err = g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: types.RegistryType(recorded.kind), TypeName: &recorded.typeName})
				refused(t, err, "TypeNotFoundException", "The type '"+recorded.typeName+"' cannot be found.")

				close(wait)
				if out := g.wait(owner, token); out.ProgressStatus != types.RegistrationStatusComplete {
					t.Fatal(aws.ToString(out.Description))
				}
				out, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Arn: &arn})
				if err != nil {
					t.Fatal(err)
				}
				answered := described(t, out, `"00000001"`, `"<default-version-id:1>"`, "/00000001", "/<default-version-id:1>", "arn:aws:", "arn:<partition>:", "eu-west-1", "<region>", owner.Account, "111111111111")
				expected := recordedAnswer(t, recorded.recording)
				if expected["ExecutionRoleArn"] != nil && answered["ExecutionRoleArn"] != nil {
					answered["ExecutionRoleArn"] = expected["ExecutionRoleArn"]
				}
				if diff := cmp.Diff(expected, answered); diff != "" {
					t.Errorf("DescribeType (-recorded +answered):\n%s", diff)
				}
				list, err := g.ListTypeRegistrations(t.Context(), owner, &cloudformation.ListTypeRegistrationsInput{TypeName: &recorded.typeName})
				if err != nil || list.RegistrationTokenList == nil || len(list.RegistrationTokenList) != 0 {
					t.Errorf("registrations in progress: %v, %v", list, err)
				}
				if _, err := g.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Arn: &arn}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// recordedAnswer is what a recording has for DescribeType.
func recordedAnswer(t *testing.T, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "recordings"), "api.test_extensions_api.TestExtensionsApi.test_crud_extension."+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var recording struct {
		Steps []struct {
			Op      string
			Expects []struct{ Expect map[string]any }
		}
	}
	if err := json.Unmarshal(data, &recording); err != nil {
		t.Fatal(err)
	}
	for _, step := range recording.Steps {
		if step.Op == "DescribeType" {
			return step.Expects[0].Expect
		}
	}
	t.Fatal("the recording describes no type")
	return nil
}

// TestRegisterFailures are the packages that do not register, and what is told.
func TestRegisterFailures(t *testing.T) {
	t.Parallel()
	const name = "Acme::Test::Thing"
	broken := resourcePackage(t, name, func(s map[string]any) {
		s["properties"] = map[string]any{"Name": map[string]any{"type": "strin"}, "Other": map[string]any{"minLength": "1"}}
	})
	for _, c := range []struct {
		what, stage string
		kind        schema.Kind
		content     []byte // nil for no package
		probe       error
		told        []string
	}{
		{"missing", "FETCH_STAGE", schema.Resource, nil, nil, []string{"The package s3://b/thing.zip cannot be read: The specified key does not exist. (NoSuchKey)"}},
		{"no zip", "VALIDATION_STAGE", schema.Resource, []byte("no zip file"), nil, []string{"thing.zip", "zip"}},
		{"empty", "VALIDATION_STAGE", schema.Resource, zipOf(t, nil), nil, []string{"there is no schema.json"}},
		{"schema", "VALIDATION_STAGE", schema.Resource, broken, nil, []string{"thing.zip!/schema.json:", `"strin"`, `minLength`}},
		{"name", "VALIDATION_STAGE", schema.Resource, resourcePackage(t, "Acme::Test::Other", nil), nil, []string{"Acme::Test::Other", name}},
		{"kind", "VALIDATION_STAGE", schema.Hook, resourcePackage(t, name, nil), nil, []string{"HOOK", "RESOURCE"}},
		{"handler", "DEPLOY_STAGE", schema.Resource, resourcePackage(t, name, nil), errors.New("exit status 1: no such module"), []string{"The handler failed to start: exit status 1: no such module"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
			g.probe = func(context.Context, bundle.Spec) error { return c.probe }
			g.work()
			if c.content != nil {
				g.packages.put("s3://b/thing.zip", c.content)
			}
			out := g.register(owner, c.kind, name, "s3://b/thing.zip")
			description := aws.ToString(out.Description)
			if out.ProgressStatus != types.RegistrationStatusFailed || !strings.HasPrefix(description, "Deployment is currently in "+c.stage+" of status FAILED; ") {
				t.Errorf("%s: %s", out.ProgressStatus, description)
			}
			for _, told := range c.told {
				if !strings.Contains(description, told) {
					t.Errorf("does not tell %q: %s", told, description)
				}
			}
			_, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: types.RegistryType(c.kind), TypeName: aws.String(name)})
			refused(t, err, "TypeNotFoundException", name)
			list, err := g.ListTypes(t.Context(), owner, &cloudformation.ListTypesInput{})
			if err != nil || len(list.TypeSummaries) != 0 {
				t.Errorf("half a type is listed: %v, %v", list, err)
			}
		})
	}
}

// TestSecretsOfPackageURLs: a presigned URL is a credential.
func TestSecretsOfPackageURLs(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	g.work()
	out := g.register(owner, schema.Resource, "Acme::Test::Thing", "https://127.0.0.1/b/k.zip?X-Amz-Signature=geheim")
	if strings.Contains(aws.ToString(out.Description)+g.log.text(), "geheim") {
		t.Errorf("tells the signature: %s\n%s", *out.Description, g.log.text())
	}
}

// TestRegisterRefusals are requests that make nothing.
func TestRegisterRefusals(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	g.config.Imported = simulate.New(simulate.Config{Store: g.store, Served: map[string]string{"AWS::S3::Bucket": "{}"}})
	for _, c := range []struct {
		kind          schema.Kind
		name, url     string
		code, message string
	}{
		{schema.Resource, "AWS::S3::Bucket", "s3://b/k", "CFNRegistryException", "The type 'AWS::S3::Bucket' cannot be registered: it is a type of AWS."},
		{schema.Resource, "AWS::CloudFormation::Stack", "s3://b/k", "CFNRegistryException", "it is a type of AWS"},
		{schema.Resource, "Custom::My::Thing", "s3://b/k", "CFNRegistryException", "the namespace 'Custom' is reserved"},
		{schema.Module, "ask::My::Thing::MODULE", "s3://b/k", "CFNRegistryException", "the namespace 'ask' is reserved"},
		{schema.Resource, "Acme::Test::Thing::MODULE", "s3://b/k", "CFNRegistryException", "is the name of a module"},
		{schema.Module, "Acme::Test::Thing", "s3://b/k", "CFNRegistryException", "'Acme::Test::Thing::MODULE'"},
		{schema.Hook, "Acme::Hook", "s3://b/k", "CFNRegistryException", "TypeName is invalid"},
		{"STACK", "Acme::Test::Thing", "s3://b/k", "CFNRegistryException", "RESOURCE, MODULE, HOOK"},
		{schema.Resource, "Acme::Test::Thing", "s3://b", "CFNRegistryException", "SchemaHandlerPackage"},
		{schema.Resource, "Acme::Test::Thing", "file:///etc/passwd", "CFNRegistryException", "SchemaHandlerPackage"},
		{schema.Resource, "Acme::Test::Thing", "", "CFNRegistryException", "SchemaHandlerPackage"},
	} {
		_, err := g.RegisterType(t.Context(), owner, &cloudformation.RegisterTypeInput{Type: types.RegistryType(c.kind), TypeName: &c.name, SchemaHandlerPackage: &c.url})
		refused(t, err, c.code, c.message)
	}
	// Types in these namespaces only cannot be published.
	private := []string{"aws::test::thing", "AWS::SampleS3::Bucket", "Alexa::My::Thing", "AMZN::My::Thing", "Amazon::My::Thing", "AwsQuickStart::My::Thing"}
	for _, name := range private {
		g.request(owner, schema.Resource, name, "s3://b/k")
	}
	if n, err := store.Count(t.Context(), g.store.Read(), "FROM registrations"); err != nil || int(n) != len(private) {
		t.Errorf("%d registrations were made, %v", n, err)
	}
}

func TestClientRequestToken(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		register := func(caller awswire.Caller, url string) (string, error) {
			out, err := g.RegisterType(t.Context(), caller, &cloudformation.RegisterTypeInput{
				TypeName: aws.String("Acme::Test::Thing"), SchemaHandlerPackage: &url, ClientRequestToken: aws.String("once"),
			})
			if err != nil {
				return "", err
			}
			return *out.RegistrationToken, nil
		}
		first, err := register(owner, "s3://b/k")
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if again, err := register(owner, "s3://b/k"); err != nil || again != first {
					t.Errorf("again: %s, %v; first %s", again, err, first)
				}
			})
		}
		group.Wait()
		_, err = register(owner, "s3://b/other")
		refused(t, err, "CFNRegistryException", "ClientRequestToken 'once'")
		other := owner
		other.Region = "us-east-1"
		if elsewhere, err := register(other, "s3://b/other"); err != nil || elsewhere == first {
			t.Errorf("elsewhere: %s, %v", elsewhere, err)
		}
		// The first use of a token, from many at the same moment.
		tokens := make([]string, 8)
		for i := range tokens {
			group.Go(func() {
				out, err := g.RegisterType(t.Context(), owner, &cloudformation.RegisterTypeInput{
					TypeName: aws.String("Acme::Test::Race"), SchemaHandlerPackage: aws.String("s3://b/k"), ClientRequestToken: aws.String("race"),
				})
				if err != nil {
					t.Error(err)
					return
				}
				tokens[i] = *out.RegistrationToken
			})
		}
		group.Wait()
		if len(slices.Compact(tokens)) != 1 {
			t.Errorf("the same request got %v", tokens)
		}
	})
}

func TestParallelRegistrations(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		g.packages.put("s3://b/m", modulePackage(t, "Acme::Test::Part::MODULE"))
		tokens := make([]string, 20)
		var group sync.WaitGroup
		for i := range tokens {
			group.Go(func() { tokens[i] = g.request(owner, schema.Module, "Acme::Test::Part::MODULE", "s3://b/m") })
		}
		group.Wait()
		var versions []string
		for _, token := range tokens {
			out := g.wait(owner, token)
			if out.ProgressStatus != types.RegistrationStatusComplete {
				t.Error(aws.ToString(out.Description))
			}
			versions = append(versions, *out.TypeVersionArn)
		}
		slices.Sort(versions)
		var want []string
		for i := range tokens {
			want = append(want, versionARN("module", "Acme::Test::Part::MODULE", i+1))
		}
		if diff := cmp.Diff(want, versions); diff != "" {
			t.Error(diff)
		}
		list, err := g.ListTypeVersions(t.Context(), owner, &cloudformation.ListTypeVersionsInput{Type: "MODULE", TypeName: aws.String("Acme::Test::Part::MODULE")})
		if err != nil {
			t.Fatal(err)
		}
		defaults := 0
		for _, version := range list.TypeVersionSummaries {
			if *version.IsDefaultVersion {
				defaults++
			}
		}
		if len(list.TypeVersionSummaries) != 20 || defaults != 1 {
			t.Errorf("%d versions, %d of them the default", len(list.TypeVersionSummaries), defaults)
		}
	})
}

func TestVersionLimit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		const name = "Acme::Test::Part::MODULE"
		g.packages.put("s3://b/m", modulePackage(t, name))
		for range maxVersions {
			g.request(owner, schema.Module, name, "s3://b/m")
		}
		_, err := g.RegisterType(t.Context(), owner, &cloudformation.RegisterTypeInput{Type: "MODULE", TypeName: aws.String(name), SchemaHandlerPackage: aws.String("s3://b/m")})
		refused(t, err, "CFNRegistryException", "limit of 50 versions")
		g.work()
		last := versionARN("module", name, maxVersions)
		for {
			if _, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Arn: &last}); err == nil {
				break
			}
			<-g.changed
		}
		running, err := g.ListTypeRegistrations(t.Context(), owner, &cloudformation.ListTypeRegistrationsInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range running.RegistrationTokenList {
			g.wait(owner, token)
		}
		_, err = g.RegisterType(t.Context(), owner, &cloudformation.RegisterTypeInput{Type: "MODULE", TypeName: aws.String(name), SchemaHandlerPackage: aws.String("s3://b/m")})
		refused(t, err, "CFNRegistryException", "limit of 50 versions")

		described, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: "MODULE", TypeName: aws.String(name)})
		if err != nil {
			t.Fatal(err)
		}
		spare := versionARN("module", name, 7)
		if *described.Arn == spare {
			spare = versionARN("module", name, 8)
		}
		if _, err := g.DeregisterType(t.Context(), owner, &cloudformation.DeregisterTypeInput{Arn: &spare}); err != nil {
			t.Fatal(err)
		}
		if want := name + " " + spare[len(spare)-8:]; len(g.removed) != 1 || g.removed[0] != want {
			t.Errorf("the handlers of %q are removed, want %q", g.removed, want)
		}
		if out := g.register(owner, schema.Module, name, "s3://b/m"); *out.TypeVersionArn != versionARN("module", name, maxVersions+1) {
			t.Errorf("the refused requests have used up numbers: %s", *out.TypeVersionArn)
		}
	})
}

// TestRestarts stops the program in each stage of a registration, before and after its
// step is written down.
func TestRestarts(t *testing.T) {
	t.Parallel()
	const name = "Acme::Test::Thing"
	content := resourcePackage(t, name, nil)
	// What is written down before the program stops, for the cases without workers.
	steps := map[string][]string{"before it is fetched": nil, "after it is fetched": {stageFetch}, "after it is read": {stageFetch, stageValidate}}
	for _, stage := range []string{"before it is fetched", "while it is fetched", "after it is fetched", "after it is read", "while the handler starts"} {
		t.Run(stage, func(t *testing.T) {
			eachStore(t, func(t *testing.T, g *rig) {
				reached := make(chan struct{}, 8)
				stop := true
				g.packages.put("s3://b/k", content)
				hang := func(ctx context.Context) error {
					reached <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				}
				g.probe = func(ctx context.Context, _ bundle.Spec) error {
					if stop && stage == "while the handler starts" {
						return hang(ctx)
					}
					return nil
				}
				if stage == "while it is fetched" {
					g.packages.fail = func() error {
						if stop {
							reached <- struct{}{}
							return errors.New("the network is down")
						}
						return nil
					}
				}
				token := g.request(owner, schema.Resource, name, "s3://b/k")
				if taken, idle := steps[stage]; idle {
					for _, step := range taken {
						row, err := g.readRegistration(t.Context(), token)
						if err != nil {
							t.Fatal(err)
						}
						if err := stages[step](g.Registry, t.Context(), row); err != nil {
							t.Fatal(err)
						}
					}
				} else {
					g.work()
					<-reached
				}
				if err := g.store.Close(); err != nil {
					t.Log("close:", err)
				}
				stop = false
				g.open()
				g.work()
				if out := g.wait(owner, token); out.ProgressStatus != types.RegistrationStatusComplete {
					t.Fatal(aws.ToString(out.Description))
				}
				list, err := g.ListTypeVersions(t.Context(), owner, &cloudformation.ListTypeVersionsInput{Type: "RESOURCE", TypeName: aws.String(name)})
				if err != nil || len(list.TypeVersionSummaries) != 1 || !*list.TypeVersionSummaries[0].IsDefaultVersion {
					t.Errorf("versions after the restart: %+v, %v", list, err)
				}
			})
		})
	}
}

// TestStagesTwice runs every stage twice on the row as it was, as two nodes would that
// both believe it theirs.
func TestStagesTwice(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		const name = "Acme::Test::Thing"
		g.packages.put("s3://b/k", resourcePackage(t, name, nil))
		token := g.request(owner, schema.Resource, name, "s3://b/k")
		for _, stage := range []string{stageFetch, stageValidate, stageDeploy} {
			row, err := g.readRegistration(t.Context(), token)
			if err != nil || row.Stage != stage {
				t.Fatalf("in %+v, %v; want %s", row, err, stage)
			}
			if err := stages[stage](g.Registry, t.Context(), row); err != nil {
				t.Fatal(err)
			}
			if err := stages[stage](g.Registry, t.Context(), row); !errors.Is(err, store.ErrStale) {
				t.Errorf("%s for the second time: %v", stage, err)
			}
			if err := g.fail(t.Context(), row, "too late"); err != nil {
				t.Error(err)
			}
		}
		if out := g.wait(owner, token); out.ProgressStatus != types.RegistrationStatusComplete {
			t.Errorf("%s: %s", out.ProgressStatus, aws.ToString(out.Description))
		}
		if n, err := store.Count(t.Context(), g.store.Read(), "FROM type_versions"); err != nil || n != 1 {
			t.Errorf("%d versions, %v", n, err)
		}
	})
}

// TestPatience: what is nobody's fault is tried again, and given up in the end.
func TestPatience(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	now := time.Now()
	g.config.Now = func() time.Time { return now }
	g.packages.fail = func() error { return fmt.Errorf("connect to 10.0.0.1: refused") }
	token := g.request(owner, schema.Resource, "Acme::Test::Thing", "s3://b/k")
	if _, err := g.Registry.register(t.Context(), token); err == nil {
		t.Fatal("no error, so that nobody tries again")
	}
	now = now.Add(g.config.RetryFor)
	if _, err := g.Registry.register(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	out := g.wait(owner, token)
	if out.ProgressStatus != types.RegistrationStatusFailed || strings.Contains(*out.Description, "10.0.0.1") || !strings.Contains(g.log.text(), "10.0.0.1") {
		t.Errorf("%s: %s\nlog: %s", out.ProgressStatus, *out.Description, g.log.text())
	}
}

// TestStagesAreTold: a long stage is reported.
func TestStagesAreTold(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	now := time.Now()
	g.config.Now = func() time.Time { return now }
	token := g.request(owner, schema.Resource, "Acme::Test::Thing", "s3://b/k")
	now = now.Add(stageTold)
	out, err := g.DescribeTypeRegistration(t.Context(), owner, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
	if err != nil || aws.ToString(out.Description) != "Deployment is currently in FETCH_STAGE of status IN_PROGRESS; " {
		t.Errorf("%v, %v", out, err)
	}
	stranger := owner
	stranger.Account = "210987654321"
	_, err = g.DescribeTypeRegistration(t.Context(), stranger, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
	refused(t, err, "CFNRegistryException", "cannot be found")
}

// TestPackageTooLarge bounds what is fetched before it is kept.
func TestPackageTooLarge(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	g.config.Limits = bundle.Limits{Packed: 1 << 20}
	g.packages.put("s3://b/k", make([]byte, 1<<20+1))
	token := g.request(owner, schema.Resource, "Acme::Test::Thing", "s3://b/k")
	if _, err := g.Registry.register(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if out := g.wait(owner, token); !strings.Contains(aws.ToString(out.Description), "larger than 1 MiB") {
		t.Error(aws.ToString(out.Description))
	}
}

// TestKeepsPackages: nothing is swept away that is needed, and failed packages are.
func TestKeepsPackages(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.packages.put("s3://b/k", resourcePackage(t, "Acme::Test::Thing", nil))
		g.packages.put("s3://b/bad", []byte("no zip file"))
		g.probe = func(context.Context, bundle.Spec) error { return nil }
		hashOf := func(token string) string {
			row, err := g.readRegistration(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			return row.PackageHash
		}
		keeps := func(hash string, want bool) {
			t.Helper()
			if kept, err := g.KeepsBlob(t.Context(), hash); err != nil || kept != want {
				t.Errorf("keeps %s: %t, %v", hash, kept, err)
			}
		}
		token := g.request(owner, schema.Resource, "Acme::Test::Thing", "s3://b/k")
		row, err := g.readRegistration(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.fetch(t.Context(), row); err != nil {
			t.Fatal(err)
		}
		keeps(hashOf(token), true)
		g.work()
		g.wait(owner, token)
		keeps(hashOf(token), true)
		bad := g.request(owner, schema.Resource, "Acme::Test::Thing", "s3://b/bad")
		g.wait(owner, bad)
		keeps(hashOf(bad), false)
	})
}

// TestHandlerHangs: a handler that never gets ready does not hold a registration up.
func TestHandlerHangs(t *testing.T) {
	t.Parallel()
	g := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
	g.config.StageTimeout = 10 * time.Millisecond
	g.probe = func(ctx context.Context, _ bundle.Spec) error { <-ctx.Done(); return ctx.Err() }
	g.work()
	g.packages.put("s3://b/k", resourcePackage(t, "Acme::Test::Thing", nil))
	if out := g.register(owner, schema.Resource, "Acme::Test::Thing", "s3://b/k"); !strings.Contains(aws.ToString(out.Description), "not ready after 10ms") {
		t.Errorf("%s: %s", out.ProgressStatus, aws.ToString(out.Description))
	}
}

// TestOddTexts: what no database and no XML can hold does not get there.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		const name = "Acme::Test::Thing"
		files := map[string]string{}
		content := resourcePackage(t, name, func(s map[string]any) { s["description"] = "a\x00b\x1bc\nd\xff" })
		archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.File {
			data, err := fs.ReadFile(archive, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			files[f.Name] = string(data)
		}
		files["schema.json"] = "\ufeff" + files["schema.json"]
		g.packages.put("s3://b/k", zipOf(t, files))
		g.probe = func(context.Context, bundle.Spec) error { return nil }
		out := g.register(owner, schema.Resource, name, "s3://b/k")
		if out.ProgressStatus != types.RegistrationStatusComplete {
			t.Fatal(*out.Description)
		}
		d, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Arn: out.TypeArn})
		if err != nil || *d.Description != "abc\nd\ufffd" || !json.Valid([]byte(*d.Schema)) {
			t.Errorf("%q, %v", *d.Description, err)
		}
		g.probe = func(context.Context, bundle.Spec) error { return errors.New("exit status 1: \x00\x1b[31mred") }
		if out := g.register(owner, schema.Resource, name, "s3://b/k"); !strings.HasSuffix(*out.Description, "exit status 1: [31mred") {
			t.Errorf("%q", *out.Description)
		}
		_, err = g.RegisterType(t.Context(), owner, &cloudformation.RegisterTypeInput{TypeName: aws.String(name), SchemaHandlerPackage: aws.String("s3://b/k"), ExecutionRoleArn: aws.String("arn:aws:iam::123456789012:role/\x00")})
		refused(t, err, "CFNRegistryException", "ExecutionRoleArn has control characters.")
	})
}

// TestLongFailures: of what a handler has to say, the end is told.
func TestLongFailures(t *testing.T) {
	text := cutLines(strings.Repeat("  File \"ä.py\", line 1\n", 1000) + "ImportError: no module named x\n")
	if len(text) > maxDescription+len("…\n") || !strings.HasSuffix(text, "ImportError: no module named x") || !strings.HasPrefix(text, "…\n  File") {
		t.Errorf("%d bytes: %.40q … %q", len(text), text, text[len(text)-40:])
	}
	list := diag.List{}
	for i := range 1000 {
		list.Add(diag.Problem{ID: "x", Message: fmt.Sprintf("problem %d is so long that not all of them have room", i)})
	}
	list.Add(diag.Problem{ID: "w", Severity: diag.Warning, Message: "a warning"})
	told := describeProblems(list)
	if len(told) > maxDescription+50 || !strings.Contains(told, "problem 0 ") || !strings.HasSuffix(told, " more") || strings.Contains(told, "warning") {
		t.Errorf("%d bytes: … %q", len(told), told[max(0, len(told)-80):])
	}
}

// TestRequiredTypes: the requirements of a module are listed.
func TestRequiredTypes(t *testing.T) {
	t.Parallel()
	const name = "Acme::Test::Part::MODULE"
	eachStore(t, func(t *testing.T, g *rig) {
		g.work()
		document := moduleSchema(name)
		g.packages.put("s3://b/m", zipOf(t, map[string]string{
			".rpdk-config": jsonOf(t, map[string]any{"artifact_type": "MODULE", "typeName": name, "settings": map[string]any{}}),
			"schema.json":  jsonOf(t, document),
			"fragments/part.json": jsonOf(t, map[string]any{"Resources": map[string]any{
				"Bucket": map[string]any{"Type": "AWS::S3::Bucket"},
				"Own": map[string]any{"Type": "My::Own::Alias", "Metadata": map[string]any{
					"PublisherId": "0123456789abcdef", "OriginalTypeName": "Initech::Store::Thing", "SupportMajorVersions": []int{2, 1},
				}},
				"Private": map[string]any{"Type": "Acme::Test::Thing"},
			}}),
		}))
		if out := g.register(owner, schema.Module, name, "s3://b/m"); out.ProgressStatus != types.RegistrationStatusComplete {
			t.Fatal(*out.Description)
		}
		out, err := g.DescribeType(t.Context(), owner, &cloudformation.DescribeTypeInput{Type: "MODULE", TypeName: aws.String(name)})
		if err != nil {
			t.Fatal(err)
		}
		want := []any{map[string]any{
			"TypeNameAlias": "My::Own::Alias", "OriginalTypeName": "Initech::Store::Thing", "PublisherId": "0123456789abcdef", "SupportedMajorVersions": []any{1.0, 2.0},
		}}
		answered := described(t, out)
		if diff := cmp.Diff(want, answered["RequiredActivatedTypes"]); diff != "" {
			t.Error(diff)
		}
		for _, absent := range []string{"ProvisioningType", "ExecutionRoleArn", "ConfigurationSchema", "LoggingConfig", "TypeTestsStatus", "IsActivated", "PublisherId"} {
			if value, there := answered[absent]; there {
				t.Errorf("of a module %s is told: %v", absent, value)
			}
		}
	})
}

func TestProvisioning(t *testing.T) {
	for handlers, want := range map[string]types.ProvisioningType{
		"create read update delete list": types.ProvisioningTypeFullyMutable,
		"create read delete":             types.ProvisioningTypeImmutable,
		"create read update":             types.ProvisioningTypeNonProvisionable,
		"read update delete":             types.ProvisioningTypeNonProvisionable,
		"create update delete":           types.ProvisioningTypeNonProvisionable,
		"read list":                      types.ProvisioningTypeNonProvisionable,
	} {
		declared := map[string]any{}
		for action := range strings.FieldsSeq(handlers) {
			declared[action] = map[string]any{"permissions": []string{}}
		}
		s, _ := schema.Load("schema.json", []byte(jsonOf(t, map[string]any{"handlers": declared})), schema.Config{Kind: schema.Resource})
		if got := provisioning(s); got != want {
			t.Errorf("%s: %s, want %s", handlers, got, want)
		}
	}
}

// TestGiveUp fails a registration whose work can never succeed.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		token := g.request(owner, schema.Resource, "Acme::Give::Up", "s3://b/k")
		for range 2 { // the second time it has ended
			if err := g.Workers()[workRegistration].Fail(t.Context(), token, "why"); err != nil {
				t.Fatal(err)
			}
		}
		if out := g.wait(owner, token); out.ProgressStatus != types.RegistrationStatusFailed || !strings.HasSuffix(*out.Description, "; why") {
			t.Errorf("%s %s", out.ProgressStatus, *out.Description)
		}
		if err := g.Workers()[workRegistration].Fail(t.Context(), "unknown", "why"); err != nil {
			t.Error(err)
		}
	})
}
