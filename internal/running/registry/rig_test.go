package registry

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A rig is a registry on a store of its own, with packages and handlers that the test
// says.
type rig struct {
	*Registry
	t     testing.TB
	store *store.Store
	place fixtures.Place

	packages *shelfOfPackages
	probe    func(context.Context, bundle.Spec) error
	log      *lockedBuffer

	changed <-chan Change
	removed []string // of Functions

	operations *operation.Engine
	places     operation.Places // of tests
}

var owner = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, AccessKeyID: "AKIDEXAMPLE", RequestID: "r"}

// eachStore runs a test on every kind of database.
func eachStore(t *testing.T, test func(t *testing.T, g *rig)) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newRig(t, place))
		})
	}
}

func newRig(t testing.TB, place fixtures.Place) *rig {
	t.Helper()
	g := &rig{t: t, place: place, packages: &shelfOfPackages{content: map[string][]byte{}}, log: &lockedBuffer{}}
	g.open()
	t.Cleanup(func() { g.store.Close() })
	return g
}

// open opens the store, again after it was closed, without running the workers.
func (g *rig) open() {
	g.t.Helper()
	var err error
	g.store, err = store.Open(g.t.Context(), store.Config{Dir: g.place.Dir, DSN: g.place.DSN, StopTimeout: 50 * time.Millisecond, Lease: time.Second, Poll: 50 * time.Millisecond})
	if err != nil {
		g.t.Fatal(err)
	}
	g.Registry, g.operations = withTests(g.places, Config{
		Store: g.store, Fetch: g.packages.Fetch, Functions: g, Resolve: parameters{"/key": "s3cr3t", "/other": "0ther"}.Resolve,
		Logger: slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	g.changed = g.Subscribe(g.t.Context())
}

// work runs the workers.
func (g *rig) work() {
	g.t.Helper()
	workers := g.Workers()
	maps.Copy(workers, g.operations.Workers())
	if err := g.store.Work(g.t.Context(), workers); err != nil {
		g.t.Fatal(err)
	}
}

// withTests returns a registry and the engine that carries out its tests.
func withTests(places operation.Places, config Config) (*Registry, *operation.Engine) {
	config.Operations = operation.New(operation.Config{
		Store: config.Store, Places: map[string]operation.Places{TestOwner: places},
		Logger: config.Logger,
	})
	r := New(config)
	config.Operations.Own(TestOwner, r.Tests())
	return r, config.Operations
}

func (g *rig) Probe(ctx context.Context, spec bundle.Spec) error {
	if g.probe == nil {
		return nil
	}
	return g.probe(ctx, spec)
}

func (g *rig) Remove(spec bundle.Spec) {
	g.removed = append(g.removed, spec.TypeName+" "+spec.Version)
}

func (g *rig) Function(context.Context, bundle.Spec) (invoke.Function, error) {
	return nil, errors.New("no handler runs in this test")
}

// register registers a package and waits for the end of it.
func (g *rig) register(caller awswire.Caller, kind schema.Kind, typeName, url string) *cloudformation.DescribeTypeRegistrationOutput {
	g.t.Helper()
	return g.wait(caller, g.request(caller, kind, typeName, url))
}

func (g *rig) request(caller awswire.Caller, kind schema.Kind, typeName, url string) string {
	g.t.Helper()
	out, err := g.RegisterType(g.t.Context(), caller, &cloudformation.RegisterTypeInput{Type: types.RegistryType(kind), TypeName: &typeName, SchemaHandlerPackage: &url})
	if err != nil {
		g.t.Fatal(err)
	}
	return *out.RegistrationToken
}

// wait waits until a registration has ended.
func (g *rig) wait(caller awswire.Caller, token string) *cloudformation.DescribeTypeRegistrationOutput {
	g.t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		out, err := g.DescribeTypeRegistration(g.t.Context(), caller, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
		if err != nil {
			g.t.Fatal(err)
		}
		if out.ProgressStatus != types.RegistrationStatusInProgress {
			return out
		}
		select {
		case <-g.changed:
		case <-deadline:
			g.t.Fatalf("the registration does not end; log:\n%s", g.log.text())
		}
	}
}

// module registers a version of a module and returns its ARN.
func (g *rig) module(caller awswire.Caller, typeName string) string {
	g.t.Helper()
	url := "s3://packages/" + strings.ToLower(strings.ReplaceAll(typeName, "::", "-")) + ".zip"
	g.packages.put(url, modulePackage(g.t, typeName))
	out := g.register(caller, schema.Module, typeName, url)
	if out.ProgressStatus != types.RegistrationStatusComplete {
		g.t.Fatalf("%s: %s", typeName, aws.ToString(out.Description))
	}
	return *out.TypeVersionArn
}

// refused is the refusal that an operation must have come back with.
func refused(t testing.TB, err error, code, message string) {
	t.Helper()
	var refusal *awswire.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v, want the refusal %s: %s", err, code, message)
	}
	if refusal.Code != code || !strings.Contains(refusal.Message, message) {
		t.Errorf("refused with\n %s: %s\nwant\n %s: %s", refusal.Code, refusal.Message, code, message)
	}
}

// shelfOfPackages is what can be fetched.
type shelfOfPackages struct {
	mu      sync.Mutex
	content map[string][]byte
	fetched int
	fail    func() error
}

func (p *shelfOfPackages) put(url string, content []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.content[url] = content
}

func (p *shelfOfPackages) Fetch(_ context.Context, _ awswire.Caller, url string) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched++
	if p.fail != nil {
		if err := p.fail(); err != nil {
			return nil, err
		}
	}
	content, there := p.content[url]
	if !there {
		return nil, awswire.Errorf("NoSuchKey", 404, "The specified key does not exist.")
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// parameters are what dynamic references lead to.
type parameters map[string]string

func (p parameters) Resolve(_ context.Context, _ awswire.Caller, service, reference string) (string, error) {
	value, there := p[reference]
	if !there {
		return "", awswire.Errorf("ParameterNotFound", 400, "There is no %s value %s.", service, reference)
	}
	return value, nil
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// zipOf is a zip file with the files, in the order of their names.
func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		f, err := w.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(f, files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jsonOf(t testing.TB, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// modulePackage is a package of a module with one bucket.
func modulePackage(t testing.TB, typeName string) []byte {
	fragment := `{"Resources": {"Bucket": {"Type": "AWS::S3::Bucket"}}}`
	return zipOf(t, map[string]string{
		".rpdk-config":          jsonOf(t, map[string]any{"artifact_type": "MODULE", "typeName": typeName, "settings": map[string]any{}}),
		"fragments/sample.json": fragment,
		"schema.json":           jsonOf(t, moduleSchema(typeName)),
	})
}

func moduleSchema(typeName string) map[string]any {
	return map[string]any{
		"typeName": typeName, "description": "Schema for Module Fragment of type " + typeName, "additionalProperties": true,
		"properties": map[string]any{"Resources": map[string]any{
			"type": "object", "additionalProperties": false,
			"properties": map[string]any{"Bucket": map[string]any{"type": "object", "properties": map[string]any{
				"Type": map[string]any{"type": "string", "const": "AWS::S3::Bucket"}, "Properties": map[string]any{"type": "object"},
			}}},
		}},
	}
}

// resourcePackage is a package of a resource type; edit changes its schema.
func resourcePackage(t testing.TB, typeName string, edit func(map[string]any)) []byte {
	handlers := map[string]any{}
	for _, action := range []string{"create", "read", "update", "delete", "list"} {
		handlers[action] = map[string]any{"permissions": []string{}}
	}
	document := map[string]any{
		"typeName": typeName, "description": "A thing of the tests.", "additionalProperties": false,
		"properties": map[string]any{"Name": map[string]any{"type": "string"}}, "required": []string{"Name"},
		"createOnlyProperties": []string{"/properties/Name"}, "primaryIdentifier": []string{"/properties/Name"},
		"tagging": map[string]any{"taggable": false}, "handlers": handlers,
	}
	if edit != nil {
		edit(document)
	}
	return zipOf(t, map[string]string{
		".rpdk-config": jsonOf(t, map[string]any{
			"artifact_type": "RESOURCE", "typeName": typeName, "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap",
			"settings": map[string]any{"protocolVersion": "2.0.0"},
		}),
		"schema.json":          jsonOf(t, document),
		"ResourceProvider.zip": string(zipOf(t, map[string]string{"bootstrap": "#!/bin/sh\nexit 1\n"})),
	})
}

// extension is a package that was made by the official tool.
func extension(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "extensions"), name+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// described is an answer as the recordings have them: JSON in texts decoded, the ids and
// times of this run replaced.
func described(t testing.TB, out any, replace ...string) map[string]any {
	t.Helper()
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(string(text))), &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "ResultMetadata")
	for key, value := range members {
		switch value := value.(type) {
		case nil:
			delete(members, key)
		case string:
			var document map[string]any
			if json.Unmarshal([]byte(value), &document) == nil {
				members[key] = document
			}
			if _, err := time.Parse(time.RFC3339Nano, value); err == nil {
				members[key] = "datetime"
			}
			if value == "" {
				delete(members, key)
			}
		}
	}
	return members
}

func versionARN(kind, typeName string, version int) string {
	return fmt.Sprintf("arn:aws:cloudformation:eu-west-1:123456789012:type/%s/%s/%08d", kind, strings.ReplaceAll(typeName, "::", "-"), version)
}
