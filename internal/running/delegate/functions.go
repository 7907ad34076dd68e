package delegate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/internal/running/customresource"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const functionType = "AWS::Lambda::Function"

// Function returns a function that is in an emulator, for custom resources, macros, hooks and what else this server
// invokes. It is nil if there is none of the name.
func (d *Delegates) Function(ctx context.Context, caller awswire.Caller, name, qualifier string) (lambda.Invoker, error) {
	if d.rule(functionType) == nil && !d.uses(functionType) {
		return nil, nil
	}
	row, err := d.locate(ctx, nil, operation.Request{Caller: caller, Type: functionType, Identifier: name})
	switch {
	case err != nil:
		return nil, err
	case row == nil || row.Stage != ready:
		return nil, nil
	case d.emulators[row.Endpoint] == nil:
		return nil, &lambda.RefusedError{
			Status: http.StatusBadGateway, Code: "InvalidRuntimeException",
			Message: fmt.Sprintf("The function %s is in the emulator at %s: start cfn serve with --delegate '%s=%s'.", name, row.Endpoint, functionType, row.Endpoint),
		}
	}
	if qualifier != "" {
		name += ":" + qualifier
	}
	endpoint := &lambda.Endpoint{
		URL: row.Endpoint, Sign: true, FunctionName: name, Region: caller.Region, Now: d.config.Now,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials(caller), nil }),
	}
	return &function{endpoint, d, d.emulators[row.Endpoint]}, nil
}

// A function is a function in an emulator. What runs functions there has them put the responses of custom resources into
// the emulator, if they leave the port out of the URL, as those of the CDK do. The path of the URL then
// names an object in the S3 of the emulator: it is looked for when the function has returned, and passed on. The
// emulator refuses signatures that are not its own.
type function struct {
	*lambda.Endpoint
	delegates *Delegates
	emulator  *emulator
}

// responses is the bucket that the path of response URLs names.
var responses = strings.Trim(customresource.URLPath, "/")

// strayCaller is whose object ministack takes a response for: a request without a signature.
var strayCaller = awswire.Caller{Place: awswire.Place{Account: "000000000000", Region: "us-east-1"}}

// Invoke implements lambda.Invoker.
func (f *function) Invoke(ctx context.Context, payload []byte) (lambda.Result, error) {
	var request map[string]json.RawMessage
	var to string
	if json.Unmarshal(payload, &request) != nil || json.Unmarshal(request["ResponseURL"], &to) != nil {
		return f.Endpoint.Invoke(ctx, payload)
	}
	at, err := url.Parse(to)
	if err != nil || !strings.HasPrefix(at.Path, customresource.URLPath) {
		return f.Endpoint.Invoke(ctx, payload)
	}
	request["ResponseURL"], err = json.Marshal(customresource.Unsigned(at))
	if err == nil {
		payload, err = json.Marshal(request)
	}
	if err != nil {
		return lambda.Result{}, fmt.Errorf("write the request of a custom resource: %w", err)
	}
	client := f.emulator.s3(strayCaller)
	_, _ = client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &responses}) // if it fails, there is no such response
	result, err := f.Endpoint.Invoke(ctx, payload)
	if passed := f.passOn(ctx, client, strings.TrimPrefix(at.Path, customresource.URLPath), to); passed != nil {
		f.delegates.config.Logger.WarnContext(ctx, "a response in an emulator could not be passed on", "url", f.emulator.url, "function", f.FunctionName, "error", passed)
	}
	return result, err
}

// passOn puts a response that is in the emulator to where it belongs.
func (f *function) passOn(ctx context.Context, client *s3.Client, key, to string) error {
	found, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &responses, Key: &key})
	if refusedWith(err, "NoSuchKey") || refusedWith(err, "NoSuchBucket") {
		return nil
	}
	if err != nil {
		return f.emulator.explain(ctx, err)
	}
	defer func() { _ = found.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(found.Body, customresource.MaxResponse+1))
	if err != nil {
		return f.emulator.explain(ctx, err)
	}
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := f.delegates.client.Do(put)
	if err != nil {
		return fmt.Errorf("pass on the response: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the response was answered with status %d", response.StatusCode)
	}
	_, err = client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &responses, Key: &key})
	return f.emulator.explain(ctx, err)
}
