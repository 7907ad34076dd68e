package stacktest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// pollTime is how long a test waits before it looks again.
const pollTime = 5 * time.Millisecond

// signal sends the signals of a step, each when its resource waits.
func (r *runner) signal(ctx context.Context, step *Step, out *outcome) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for _, of := range step.Signals {
		for n := range of.Times {
			id := cmp.Or(of.ID, "stacktest")
			if of.Times > 1 {
				id = fmt.Sprintf("%s-%d", id, n+1)
			}
			sent, err := r.signalOnce(ctx, of, id, out)
			if err != nil {
				return err
			}
			if !sent {
				r.fail("expectation", of.Position, nil, "the signal was not sent: %s did not wait for it in the step", of.At)
				return nil
			}
		}
	}
	return nil
}

// signalOnce sends a signal as soon as the resource takes it, and reports false if the operation ends before that.
func (r *runner) signalOnce(ctx context.Context, of signal, id string, out *outcome) (bool, error) {
	for {
		resources, err := r.cloud.resourcesOf(ctx, out.stack.id)
		if err != nil {
			return false, err
		}
		resource, found := resources[r.job.suite.logical(of.At)]
		switch {
		case found && aws.ToString(resource.ResourceType) == "AWS::CloudFormation::WaitConditionHandle" && strings.HasSuffix(string(resource.ResourceStatus), "_COMPLETE"):
			return true, r.cloud.signalHandle(ctx, aws.ToString(resource.PhysicalResourceId), of, id)
		case found && strings.HasSuffix(string(resource.ResourceStatus), "_IN_PROGRESS"):
			_, err := r.cloud.remote.CloudFormation().SignalResource(ctx, &cloudformation.SignalResourceInput{
				StackName: &out.stack.id, LogicalResourceId: resource.LogicalResourceId, UniqueId: &id, Status: types.ResourceSignalStatus(cmp.Or(of.Status, "SUCCESS")),
			})
			if err == nil {
				return true, nil
			}
			if refused := (*refusal)(nil); !errors.As(refusedBy(err), &refused) {
				return false, err
			}
		}
		stack, err := r.cloud.remote.Stack(ctx, out.stack.id)
		if err != nil || stack == nil || submit.Settled(stack.StackStatus) {
			return false, err
		}
		if err := pause(ctx); err != nil {
			return false, err
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pollTime):
		return nil
	}
}

// signalHandle sends a signal to the URL of a wait condition handle.
func (c *cloud) signalHandle(ctx context.Context, handle string, of signal, id string) error {
	body, err := json.Marshal(map[string]string{"Status": cmp.Or(of.Status, "SUCCESS"), "UniqueId": id, "Data": of.Data, "Reason": of.Reason})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, handle, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := invoke.LocalClient(c.config.Getenv).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the handle did not take the signal: %s", response.Status)
	}
	return nil
}

// call calls a function.
func (r *runner) call(ctx context.Context, step *Step, out *outcome) error {
	value, err := r.evaluate(ctx, step.Function, out)
	if err != nil {
		return err
	}
	payload, err := r.payload(ctx, step, out)
	if err != nil {
		return err
	}
	suite := r.job.suite.suite
	endpoint := lambda.Endpoint{
		URL: r.cloud.remote.Endpoint, Sign: true, FunctionName: textOf(value), Region: suite.Region, Timeout: settleLimit, Now: r.cloud.config.Base.Now,
		Credentials: credentials.StaticCredentialsProvider{Value: r.cloud.key},
	}
	result, err := endpoint.Invoke(ctx, payload)
	if failed := (*lambda.FunctionError)(nil); errors.As(err, &failed) {
		return &refusal{submit.Explanation{Code: cmp.Or(failed.Type, "FunctionError"), Text: failed.Message}}
	}
	if refused := (*lambda.EndpointError)(nil); errors.As(err, &refused) && refused.Code != "" {
		return &refusal{submit.Explanation{Code: refused.Code, Text: refused.Message}}
	}
	if err != nil {
		return err
	}
	out.called = true
	return json.Unmarshal(result.Payload, &out.result)
}

func (r *runner) payload(ctx context.Context, step *Step, out *outcome) ([]byte, error) {
	if step.Payload == nil {
		return []byte("{}"), nil
	}
	value, err := r.evaluate(ctx, step.Payload, out)
	if err != nil {
		return nil, err
	}
	text, err := encode(value)
	return []byte(text), err
}

func (r *runner) judgeResult(ctx context.Context, m document.Member, out *outcome) error {
	if !out.called {
		r.fail("expectation", m.Value.At, nil, "no function was called: use call")
		return nil
	}
	return r.judgeValue(ctx, m, out, "result", out.result)
}
