package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/local"
)

// doubledFor is a template with a text of 2^power bytes in a property or attribute of each of some resources of a type.
func doubledFor(power, resources int, typeName, member string) string {
	var value any = map[string]any{"Ref": "v"}
	for range power {
		value = map[string]any{"Fn::Sub": []any{"${A}${A}", map[string]any{"A": value}}}
	}
	items := strings.Split("abcdefghijklmnopqrstuvwxyzABCD", "")[:resources]
	return encoded(map[string]any{
		"Transform": "AWS::LanguageExtensions",
		"Resources": map[string]any{"Fn::ForEach::X": []any{"v", items, map[string]any{"R${v}": map[string]any{"Type": typeName, member: map[string]any{"Value": value}}}}},
	})
}

// bomb is a template that makes all that a template may make.
func bomb() *string { return aws.String(doubledFor(20, 26, "AWS::SSM::Parameter", "Properties")) }

// unavailable reports whether an error is that of a server that is low on memory, which SDKs retry.
func unavailable(err error, code string) bool {
	var refused smithy.APIError
	var response *smithyhttp.ResponseError
	return errors.As(err, &refused) && errors.As(err, &response) && refused.ErrorCode() == code && response.HTTPStatusCode() == http.StatusServiceUnavailable &&
		refused.ErrorMessage() == "The server is low on memory. Try again." && retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// page reads a page of a server.
func page(t *testing.T, address string) string {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", address, answer.StatusCode, err)
	}
	return string(text)
}

// TestMemoryLimit refuses what needs memory while half of the limit is live, in the words of each service, serves the
// rest, and completes what was acknowledged before.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	var live, reads atomic.Int64
	live.Store(500)
	reads.Store(-1 << 40)
	v := newVendor(t)
	config := local.Config{MemoryLimit: 1000, TimeScale: 1000, Functions: []string{"vendor=" + v.URL}}
	url := serving(t, local.ServerConfig{Config: local.WithLive(config, func() uint64 {
		if reads.Add(1) > 2 {
			return 501
		}
		return uint64(live.Load())
	})}).URL()
	c := newClients(t, url)
	asked := make(chan customresource.Request, 1)
	v.then(func(r customresource.Request) int {
		if r.RequestType == customresource.Create {
			asked <- r
		}
		return 0
	})
	object := func(key string, content []byte) error {
		_, err := c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("templates"), Key: &key, Body: bytes.NewReader(content)})
		return err
	}
	if _, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("templates"), CreateBucketConfiguration: here}); err != nil {
		t.Fatal(err)
	}
	if err := object("nested", []byte(doubledFor(14, 30, handle["Type"].(string), "Metadata"))); err != nil {
		t.Fatal(err)
	}
	parent := strings.Replace(thing(""), `{"Resources": {`, `{"Resources": {"Nested": {"Type": "AWS::CloudFormation::Stack", "DependsOn": "Thing", "Properties": {"TemplateURL": "`+url+`/templates/nested"}}, `, 1)
	expands := []cfntypes.Capability{cfntypes.CapabilityCapabilityAutoExpand}
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("before"), TemplateBody: &parent, Capabilities: expands}); err != nil {
		t.Fatal(err)
	}
	request := <-asked
	small, large := `{"Resources": {"A": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`, strings.Repeat("x", 40_000)
	calls := func() map[string]error {
		_, create := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("new"), TemplateBody: &small})
		_, validate := c.ValidateTemplate(t.Context(), &cloudformation.ValidateTemplateInput{TemplateBody: &small})
		_, register := c.RegisterType(t.Context(), &cloudformation.RegisterTypeInput{TypeName: aws.String("Acme::A::B"), SchemaHandlerPackage: aws.String("s3://templates/none")})
		_, parameter := c.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("large"), Type: ssmtypes.ParameterTypeString, Value: &large})
		_, invoke := c.lambda.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("vendor"), Payload: []byte(`{"Text": "` + large + `"}`)})
		return map[string]error{"CreateStack": create, "ValidateTemplate": validate, "RegisterType": register, "PutParameter": parameter, "Invoke": invoke}
	}
	codes := map[string]string{"CreateStack": "ServiceUnavailable", "ValidateTemplate": "ServiceUnavailable", "RegisterType": "ServiceUnavailable", "PutParameter": "ServiceUnavailable", "Invoke": "ServiceException"}

	live.Store(501)
	for name, err := range calls() {
		if !unavailable(err, codes[name]) {
			t.Errorf("%s with little memory: %v, want %s", name, err, codes[name])
		}
	}
	if text := page(t, url+"/healthz"); !strings.Contains(text, `"status": "degraded: low on memory`) {
		t.Errorf("/healthz answers %s", text)
	}
	if text := page(t, url+"/metrics"); !strings.Contains(text, "cfn_memory_refusals_total 5\n") {
		t.Errorf("the metrics do not count 5 refusals: %s", text)
	}
	if err := object("large", bytes.Repeat([]byte("x"), 1<<20)); err != nil {
		t.Errorf("an object with little memory: %v", err)
	}
	if status := v.put(request.ResponseURL, answer(request, nil)); status != http.StatusOK {
		t.Errorf("the response of a custom resource is answered with %d", status)
	}
	if stack := c.ended(t, "before"); stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Errorf("what was acknowledged before is %s: %q", stack.StackStatus, c.history(t, stack))
	}

	live.Store(500)
	for name, err := range calls() {
		if unavailable(err, codes[name]) {
			t.Errorf("%s with enough memory: %v", name, err)
		}
	}
	if text := page(t, url+"/healthz"); !strings.Contains(text, `"status": "ok"`) {
		t.Errorf("/healthz answers %s", text)
	}
	reads.Store(0) // the first look finds enough, those during the expansion do not
	if _, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("bomb"), TemplateBody: bomb(), Capabilities: expands}); !unavailable(err, "ServiceUnavailable") {
		t.Errorf("a template that would fill the memory: %v", err)
	}
	if _, err := c.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: aws.String("bomb")}); err == nil {
		t.Error("the stack of a request that was refused exists")
	}
}

// TestManyBombs sends many templates at once that fill the memory: the server stays below its limit, refuses some of
// them, and serves the others and what comes after.
func TestManyBombs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the memory of a process is read from /proc")
	}
	const many, limit = 40, 128 << 20
	server := mustStart(t, serverOptions{Dir: filepath.Join(t.TempDir(), "data"), MemoryLimit: limit})
	c, start := newClients(t, server.url), memoryOf(t, server, "VmRSS")
	var sending sync.WaitGroup
	var refused atomic.Int64
	for i := range many {
		sending.Go(func() {
			_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String(fmt.Sprint("bomb-", i)), TemplateBody: bomb(), Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityAutoExpand}})
			switch {
			case unavailable(err, "ServiceUnavailable"):
				refused.Add(1)
			case err != nil:
				t.Error(err)
			}
		})
	}
	sending.Wait()
	small := `{"Resources": {"A": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`
	eventually(t, time.Minute, "a stack is accepted", func() bool {
		_, err := c.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("after"), TemplateBody: &small})
		if err != nil && !unavailable(err, "ServiceUnavailable") {
			t.Fatal(err)
		}
		return err == nil
	})
	if stack := c.ended(t, "after"); stack.StackStatus != cfntypes.StackStatusCreateComplete {
		t.Errorf("a stack afterwards is %s", stack.StackStatus)
	}
	grown := memoryOf(t, server, "VmHWM") - start
	t.Logf("%d of %d were refused; the server had up to %.0f MB more than at the start", refused.Load(), many, grown)
	if grown <= 0 || grown > 1.25*limit/(1<<20) {
		t.Errorf("the server had up to %.0f MB more than at the start, want at most %d", grown, limit>>20)
	}
	server.terminate(t)
}
