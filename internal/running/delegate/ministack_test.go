package delegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// publishedSchemas are those that cfn-lint has, by the names of the types.
var publishedSchemas = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("python3", "-c", "import cfnlint, os; print(os.path.dirname(cfnlint.__file__))").Output()
	if err != nil {
		return nil, fmt.Errorf("find cfn-lint: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "data", "schemas", "resources", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(errors.New("cfn-lint has no schemas"), err)
	}
	schemas := map[string]string{}
	name := regexp.MustCompile(`(?m)^ "typeName": "([^"]+)"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if match := name.FindSubmatch(text); match != nil && len(text) > len(schemas[string(match[1])]) {
			schemas[string(match[1])] = string(text)
		}
	}
	return schemas, nil
})

// A deployment is the resources that the types of the list are created with.
type deployment struct {
	*bench
	made   map[string]operation.Progress
	models map[string]map[string]any
}

// TestMinistack creates, updates by its tags and deletes each type of the list in ministack.
func TestMinistack(t *testing.T) {
	url := fixtures.Ministack(t)
	texts, err := publishedSchemas()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	text, err := os.ReadFile("testdata/ministack.json")
	if err != nil {
		t.Fatal(err)
	}
	var inputs []struct {
		Type       string
		Properties map[string]any
	}
	if err := json.Unmarshal(text, &inputs); err != nil {
		t.Fatal(err)
	}
	d := &deployment{bench: openAt(t, url, texts), made: map[string]operation.Progress{}, models: map[string]map[string]any{}}
	ends := 0
	for _, input := range inputs {
		if d.create(input.Type, input.Properties) {
			ends += d.update(input.Type)
		}
	}
	for _, input := range slices.Backward(inputs) {
		if made, found := d.made[input.Type]; found {
			progress := d.run(d.request(invoke.Delete, input.Type, made.Identifier, d.models[input.Type]))
			if progress.Status != types.OperationStatusSuccess {
				t.Errorf("delete %s: %s", input.Type, progress.Message)
			}
		}
	}
	t.Logf("%d types created, %d updated", len(d.made), ends)
	if len(d.made) < 100 {
		t.Errorf("%d types were created; at least 100 must be", len(d.made))
	}
	if left := ministackStacks(t, url); left != 0 {
		t.Errorf("%d stacks are left", left)
	}
}

// TestMinistackSecrets checks that ministack changes a resource if only a secret of it differs, which its template does not show.
func TestMinistackSecrets(t *testing.T) {
	url := fixtures.Ministack(t)
	texts, err := publishedSchemas()
	if err != nil {
		t.Skip(err) // as TestMinistack reports
	}
	d := &deployment{bench: openAt(t, url, texts)}
	const typeName = "AWS::SSM::Parameter"
	with := func(action invoke.Action, identifier, value string) operation.Request {
		r := d.request(action, typeName, identifier, map[string]any{"Name": "password", "Type": "String", "Value": "is " + value})
		r.Secrets = map[secret.Reason][]string{"": {value}}
		return r
	}
	made := d.must(with(invoke.Create, "", "hunter2"))
	d.must(with(invoke.Update, made.Identifier, "hunter3"))
	if read := d.must(with(invoke.Read, made.Identifier, "hunter3")); read.Stored || read.Model["Value"] != "is hunter3" {
		t.Errorf("%+v", read)
	}
	d.must(with(invoke.Delete, made.Identifier, "hunter3"))
}

// request is a request for a type of the test; the resource of another type is in another stack than it.
func (d *deployment) request(action invoke.Action, typeName, identifier string, desired map[string]any) operation.Request {
	return operation.Request{
		Caller: caller, Action: action, Token: string(action) + typeName, Type: typeName, StackID: "arn:stack", StackName: "all", LogicalID: typeName[strings.LastIndex(typeName, ":")+1:],
		Identifier: identifier, Desired: desired,
	}
}

// create creates a resource. It reports false if that failed.
func (d *deployment) create(typeName string, properties map[string]any) bool {
	desired, _ := d.resolve(properties).(map[string]any)
	made := d.run(d.request(invoke.Create, typeName, "", desired))
	for range 3 { // as operations are retried
		if made.ErrorCode != "NetworkFailure" {
			break
		}
		made = d.run(d.request(invoke.Create, typeName, "", desired))
	}
	if made.Status != types.OperationStatusSuccess {
		d.t.Errorf("create %s: %s: %s", typeName, made.ErrorCode, made.Message)
		return false
	}
	d.made[typeName], d.models[typeName] = made, desired
	return true
}

// update updates a resource, without a change if it has no tags. It returns how many changed.
func (d *deployment) update(typeName string) int {
	r := d.request(invoke.Update, typeName, d.made[typeName].Identifier, d.models[typeName])
	r.StackTags = map[string]string{"changed": "yes"}
	if updated := d.run(r); updated.Status != types.OperationStatusSuccess {
		d.t.Errorf("update %s: %s: %s", typeName, updated.ErrorCode, updated.Message)
		return 0
	}
	return 1
}

// resolve replaces "$TYPE" and "$TYPE.Attribute" in properties.
func (d *deployment) resolve(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[key] = d.resolve(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = d.resolve(v[i])
		}
		return out
	case string:
		name, attribute, _ := strings.Cut(strings.TrimPrefix(v, "$"), ".")
		made, found := d.made[name]
		switch {
		case !strings.HasPrefix(v, "$AWS::"):
		case !found:
			d.t.Errorf("there is no %s", name)
		case attribute == "":
			return made.Identifier
		default:
			return made.Model[attribute]
		}
	}
	return v
}

// openAt is a bench whose emulator is at a URL, with published schemas.
func openAt(t *testing.T, url string, texts map[string]string) *bench {
	t.Helper()
	place := fixtures.Stores(t)[0]
	opened, err := store.Open(t.Context(), store.Config{Dir: place.Dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	b := &bench{t: t, store: opened, rules: []string{"AWS::*,AWS::S3::*,AWS::SSM::*,AWS::SecretsManager::*=" + url}}
	parsed := map[string]*schema.Schema{}
	b.schema = func(_ context.Context, name string) (*schema.Schema, error) {
		if parsed[name] == nil && texts[name] != "" {
			parsed[name], _ = schema.Load(name, []byte(texts[name]), schema.Config{Kind: schema.Resource})
		}
		return parsed[name], nil
	}
	b.restart()
	return b
}

// ministackStacks counts the stacks that exist in ministack.
func ministackStacks(t *testing.T, url string) int {
	t.Helper()
	client := cloudformation.New(cloudformation.Options{
		Region: caller.Region, BaseEndpoint: &url,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: caller.Account, SecretAccessKey: "x"}, nil
		}),
	})
	out, err := client.DescribeStacks(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return len(out.Stacks)
}
