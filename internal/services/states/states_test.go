package states

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

var caller = awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, AccessKeyID: "AKIA"}

const (
	work   = "arn:aws:lambda:eu-west-1:123456789012:function:work"
	rescue = "arn:aws:lambda:eu-west-1:123456789012:function:rescue:live"
)

// A rig is a service whose clock stands still until an execution waits, and whose functions answer
// in turn.
type rig struct {
	*Service
	now     time.Time
	answers []func() (lambda.Result, error)
	calls   []string // "12s work {}": the time since the start, the function and its payload
	steps   int64    // that an execution has behind it when it starts
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newRig(t *testing.T, at fixtures.Place) *rig {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Config{Dir: at.Dir, DSN: at.DSN})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	r := &rig{now: begin}
	r.Service = New(Config{Store: opened, Functions: r, Now: func() time.Time { return r.now }})
	return r
}

// Call implements Functions.
func (r *rig) Call(_ context.Context, by awswire.Caller, arn string, payload []byte, _ []string) (lambda.Result, error) {
	r.calls = append(r.calls, fmt.Sprintf("%s %s %s", r.now.Sub(begin), strings.SplitN(arn, ":function:", 2)[1], payload))
	if by != caller {
		return lambda.Result{}, fmt.Errorf("the caller is %v", by)
	}
	if len(r.answers) == 0 {
		return lambda.Result{}, errors.New("no more answers")
	}
	answer := r.answers[0]
	r.answers = r.answers[1:]
	return answer()
}

func answers(payload string) func() (lambda.Result, error) {
	return func() (lambda.Result, error) { return lambda.Result{Payload: []byte(payload)}, nil }
}

func fails(name string) func() (lambda.Result, error) {
	return func() (lambda.Result, error) {
		payload := fmt.Appendf(nil, `{"errorMessage":"%s happened","errorType":"%s"}`, name, name)
		return lambda.Result{Payload: payload, FunctionError: "Unhandled"}, &lambda.FunctionError{Type: name}
	}
}

func refuses() (lambda.Result, error) {
	return lambda.Result{}, &lambda.RefusedError{Status: 404, Code: "ResourceNotFoundException", Message: "Function not found: work"}
}

func busy() (lambda.Result, error) { return lambda.Result{}, &lambda.ThrottledError{Limit: 1} }

// task is a state that calls work.
func task(rest string) string { return `{"Type": "Task", "Resource": "` + work + `", ` + rest + `}` }

// machine is a definition that starts at A.
func machine(states string) string { return `{"StartAt": "A", "States": {` + states + `}}` }

// toEnd takes an execution to its end.
func (r *rig) toEnd(t *testing.T, definition, input string) *describeExecutionOutput {
	t.Helper()
	if err := r.Create(t.Context(), caller.Place, Machine{Name: "m", Definition: definition, RoleARN: "arn:aws:iam::123456789012:role/r", Model: "{}"}); err != nil {
		t.Fatal(err)
	}
	arn := MachineARN(caller.Place, "m")
	started, err := r.startExecution(t.Context(), caller, &startExecutionInput{StateMachineArn: &arn, Input: &input})
	if err != nil {
		t.Fatal(err)
	}
	err = r.config.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return store.Update(ctx, tx, &executionRow{ARN: *started.ExecutionArn, Steps: r.steps}, "steps")
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		again, err := r.Service.run(t.Context(), *started.ExecutionArn)
		if err != nil {
			t.Fatal(err)
		}
		if again.IsZero() {
			break
		}
		r.now = again
	}
	out, err := r.describeExecution(t.Context(), caller, &describeExecutionInput{ExecutionArn: started.ExecutionArn})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExecutions(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		answers    []func() (lambda.Result, error)
		calls      []string
		want       string // status, and the output or the error and cause
	}{
		"one task": {machine(`"A": ` + task(`"End": true`)), []func() (lambda.Result, error){answers(`{"b":2}`)},
			[]string{`0s work {"a":1}`}, `SUCCEEDED {"b":2}`},
		"from state to state": {
			machine(`"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Wait", "Seconds": 90, "Next": "C"}, "C": ` + task(`"Next": "D"`) + `, "D": {"Type": "Succeed"}`),
			[]func() (lambda.Result, error){answers(`[]`)}, []string{`1m30s work {"a":1}`}, `SUCCEEDED []`,
		},
		"retries with growing delays": {
			machine(`"A": ` + task(`"End": true, "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "BackoffRate": 2, "MaxAttempts": 3, "MaxDelaySeconds": 12}]`)),
			[]func() (lambda.Result, error){fails("E"), fails("F"), fails("E"), answers(`1`)},
			[]string{`0s work {"a":1}`, `5s work {"a":1}`, `15s work {"a":1}`, `27s work {"a":1}`}, `SUCCEEDED 1`,
		},
		"retries are used up": {
			machine(`"A": ` + task(`"End": true, "Retry": [{"ErrorEquals": ["E"], "MaxAttempts": 1}, {"ErrorEquals": ["States.TaskFailed"]}]`)),
			[]func() (lambda.Result, error){fails("E"), fails("F"), fails("E")},
			[]string{`0s work {"a":1}`, `1s work {"a":1}`, `2s work {"a":1}`}, `FAILED E {"errorMessage":"E happened","errorType":"E"}`,
		},
		"no retry": {
			machine(`"A": ` + task(`"End": true, "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 0}]`)),
			[]func() (lambda.Result, error){fails("E")}, []string{`0s work {"a":1}`}, `FAILED E {"errorMessage":"E happened","errorType":"E"}`,
		},
		"a catcher of the CDK's waiter": {
			machine(`"A": ` + task(`"End": true, "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "MaxAttempts": 1, "BackoffRate": 1}],
				"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]`) + `, "B": {"End": true, "Type": "Task", "Resource": "` + rescue + `"}`),
			[]func() (lambda.Result, error){fails("Retry"), fails("Retry"), answers(`null`)},
			[]string{`0s work {"a":1}`, `5s work {"a":1}`, `5s rescue:live {"Error":"Retry","Cause":"{\"errorMessage\":\"Retry happened\",\"errorType\":\"Retry\"}"}`}, `SUCCEEDED null`,
		},
		"another error": {
			machine(`"A": ` + task(`"End": true, "Catch": [{"ErrorEquals": ["F"], "Next": "B"}]`) + `, "B": {"Type": "Succeed"}`),
			[]func() (lambda.Result, error){fails("E")}, []string{`0s work {"a":1}`}, `FAILED E {"errorMessage":"E happened","errorType":"E"}`,
		},
		"no function":         {machine(`"A": ` + task(`"End": true`)), []func() (lambda.Result, error){refuses}, []string{`0s work {"a":1}`}, `FAILED Lambda.ResourceNotFoundException Function not found: work`},
		"all processes busy":  {machine(`"A": ` + task(`"End": true`)), []func() (lambda.Result, error){busy, busy, answers(`1`)}, []string{`0s work {"a":1}`, `2s work {"a":1}`, `4s work {"a":1}`}, `SUCCEEDED 1`},
		"an answer not JSON":  {machine(`"A": ` + task(`"End": true, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]`) + `, "B": {"Type": "Succeed"}`), []func() (lambda.Result, error){answers(`x`)}, []string{`0s work {"a":1}`}, `FAILED States.Runtime The function returned a payload that is not JSON.`},
		"an answer too large": {machine(`"A": ` + task(`"End": true`)), []func() (lambda.Result, error){answers(`"` + strings.Repeat("x", maxData) + `"`)}, []string{`0s work {"a":1}`}, `FAILED States.DataLimitExceeded The state/task '` + work + `' returned a result with a size exceeding the maximum number of bytes service limit.`},
		"Fail":                {machine(`"A": {"Type": "Fail", "Error": "Mine", "Cause": "wanted"}`), nil, nil, `FAILED Mine wanted`},
		"a Choice that comes later": {
			machine(`"A": ` + task(`"Next": "B"`) + `, "B": {"Type": "Choice", "Choices": [{"Variable": "$.x", "StringEquals": "y", "Next": "A"}], "Default": "A"}`),
			[]func() (lambda.Result, error){answers(`1`)}, []string{`0s work {"a":1}`}, `FAILED States.Runtime cfn serve does not run the state "B", because it has the type Choice.`,
		},
		"parameters, which no catcher of all errors catches": {
			machine(`"A": ` + task(`"End": true, "Parameters": {}, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]`) + `, "B": {"Type": "Succeed"}`),
			nil, nil, `FAILED States.Runtime cfn serve does not run the state "A", because it has the field Parameters.`,
		},
		"another service": {machine(`"A": {"Type": "Task", "End": true, "Resource": "arn:aws:states:::sqs:sendMessage"}`), nil, nil,
			`FAILED States.Runtime cfn serve does not run the state "A", because it has the resource "arn:aws:states:::sqs:sendMessage", which is not a function.`},
		"JSONata": {`{"QueryLanguage": "JSONata", ` + machine(`"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Wait", "Seconds": "{% 1 + 1 %}", "End": true}`)[1:], nil, nil,
			`FAILED States.Runtime cfn serve does not run the state "B", because it has a JSONata expression in Seconds.`},
		"a result of a catcher": {machine(`"A": ` + task(`"End": true, "Catch": [{"ErrorEquals": ["E"], "Next": "A", "ResultPath": "$.e"}]`)), nil, nil,
			`FAILED States.Runtime cfn serve does not run the state "A", because it has the field ResultPath in Catch.`},
		"Map": {machine(`"A": {"Type": "Map", "End": true, "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, ` + machine(`"A": {"Type": "Pass", "End": true}`)[1:] + `}`), nil, nil,
			`FAILED States.Runtime cfn serve does not run the state "A", because it has the type Map.`},
		"Parallel": {machine(`"A": {"Type": "Parallel", "End": true, "Retry": [{"ErrorEquals": ["States.ALL"], "JitterStrategy": "FULL"}], "Branches": [` + machine(`"A": {"Type": "Pass", "End": true}`) + `]}`), nil, nil,
			`FAILED States.Runtime cfn serve does not run the state "A", because it has the type Parallel.`},
		"a time-out in a wait": {`{"TimeoutSeconds": 30, ` + machine(`"A": {"Type": "Wait", "Seconds": 60, "Next": "B"}, "B": {"Type": "Succeed"}`)[1:], nil, nil, `TIMED_OUT States.Timeout`},
		"in time":              {`{"TimeoutSeconds": 61, ` + machine(`"A": {"Type": "Wait", "Seconds": 60, "Next": "B"}, "B": {"Type": "Succeed"}`)[1:], nil, nil, `SUCCEEDED {"a":1}`},
		"for ever":             {machine(`"A": {"Type": "Pass", "Next": "A"}`), nil, nil, `FAILED States.Runtime The execution reached the maximum number of steps (25000).`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, fixtures.Place{Dir: fixtures.TempDir(t)})
			r.answers = test.answers
			if name == "for ever" {
				r.steps = maxSteps - 50
			}
			out := r.toEnd(t, test.definition, `{"a":1}`)
			got := *out.Status
			for _, part := range []*string{out.Output, out.Error, out.Cause} {
				if part != nil && *part != "" {
					got += " " + *part
				}
			}
			if got != test.want || !slices.Equal(r.calls, test.calls) || *out.Input != `{"a":1}` || out.StopDate == nil {
				t.Errorf("%s after %q\nwant %s after %q", got, r.calls, test.want, test.calls)
			}
		})
	}
}

func TestDefinitions(t *testing.T) {
	for name, test := range map[string]struct{ definition, want string }{
		"no JSON":                         {`{`, "INVALID_JSON_DESCRIPTION"},
		"more than one":                   {machine(`"A": {"Type": "Succeed"}`) + ` {}`, "INVALID_JSON_DESCRIPTION"},
		"null":                            {`null`, "expected an object at /"},
		"a null state":                    {machine(`"A": null`), "expected an object at /States/A"},
		"no start":                        {`{"States": {"A": {"Type": "Succeed"}}}`, "Missing 'StartAt' target"},
		"no next":                         {machine(`"A": {"Type": "Pass", "Next": "B"}`), "Missing 'Next' target: B at /States/A"},
		"next and end":                    {machine(`"A": {"Type": "Pass", "Next": "A", "End": true}`), "needs either Next or End"},
		"an end of Succeed":               {machine(`"A": {"Type": "Succeed", "End": true}`), "must not have Next or End"},
		"no type":                         {machine(`"A": {"End": true}`), `unknown type of a state ""`},
		"Choice without rules":            {machine(`"A": {"Type": "Choice"}`), "needs Choices"},
		"Choice to nowhere":               {machine(`"A": {"Type": "Choice", "Choices": [{"Next": "B"}]}`), "Missing 'Next' target: B at /States/A"},
		"a rule that is none":             {machine(`"A": {"Type": "Choice", "Choices": [1]}`), "Choices must be a list of rules"},
		"an unknown field":                {machine(`"A": {"Type": "Pass", "End": true, "Pathh": "$.x"}`), `the field "Pathh" is not supported by Step Functions at /States/A`},
		"an unknown field of the machine": {`{"X": 1, ` + machine(`"A": {"Type": "Succeed"}`)[1:], `the field "X" is not supported by Step Functions at /`},
		"a fault in a branch":             {machine(`"A": {"Type": "Parallel", "End": true, "Branches": [{"StartAt": "B", "States": {}}]}`), "Missing 'StartAt' target: B at /States/A/Branches[0]/StartAt"},
		"a fault in a map":                {machine(`"A": {"Type": "Map", "End": true, "Iterator": {"StartAt": "B", "States": {"B": {"Type": "Pass"}}}}`), "needs either Next or End at /States/A/Iterator/States/B"},
		"branches without end":            {strings.Repeat(`{"StartAt": "A", "States": {"A": {"Type": "Map", "End": true, "Iterator": `, 30) + `{}` + strings.Repeat(`}}}`, 30), "more than 20 state machines in one another"},
		"a wrong type":                    {machine(`"A": {"Type": "Wait", "Seconds": "x", "End": true}`), `the field "Seconds" has a wrong type at /States/A`},
		"no ARN":                          {machine(`"A": {"Type": "Task", "End": true, "Resource": "work"}`), "not a valid resource ARN"},
		"a wait for ever":                 {machine(`"A": {"Type": "Wait", "End": true, "Seconds": 99999999999}`), "Seconds must be between"},
		"a wait for a time":               {machine(`"A": {"Type": "Wait", "End": true}`), "needs one of Seconds"},
		"a slow retrier":                  {machine(`"A": ` + task(`"End": true, "Retry": [{"ErrorEquals": [], "IntervalSeconds": 0, "BackoffRate": 0.5, "MaxAttempts": -1}]`)), "ErrorEquals must not be empty at Retry[0]"},
		"all errors first":                {machine(`"A": ` + task(`"End": true, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "A"}, {"ErrorEquals": ["E"], "Next": "A"}]`)), "States.ALL must appear alone and in the last element at Catch[0]"},
		"too long":                        {strings.Repeat(" ", MaxDefinition) + machine(`"A": {"Type": "Succeed"}`), "the limit is 1048576"},
	} {
		_, err := parse(test.definition)
		var refusal *awswire.Error
		if !errors.As(err, &refusal) || refusal.Code != "InvalidDefinition" || !strings.Contains(refusal.Message, test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestInterrupted has the process end during a task, and the execution stopped during another.
func TestInterrupted(t *testing.T) {
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) {
			r := newRig(t, at)
			if err := r.Create(t.Context(), caller.Place, Machine{Name: "m", Definition: machine(`"A": ` + task(`"End": true`)), Model: "{}"}); err != nil {
				t.Fatal(err)
			}
			arn, name := MachineARN(caller.Place, "m"), "once"
			in := &startExecutionInput{StateMachineArn: &arn, Name: &name, Input: new(`{"a":1}`)}
			started, err := r.startExecution(t.Context(), caller, in)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := r.startExecution(t.Context(), caller, in); err != nil || *again.ExecutionArn != *started.ExecutionArn {
				t.Errorf("the same again: %v, %v", again, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			r.answers = append(r.answers, func() (lambda.Result, error) { cancel(); return fails("cut off")() })
			if _, err := r.Service.run(ctx, *started.ExecutionArn); !errors.Is(err, context.Canceled) {
				t.Errorf("the worker returned %v", err)
			}
			r.answers = append(r.answers, func() (lambda.Result, error) {
				if _, err := r.stopExecution(t.Context(), caller, &stopExecutionInput{ExecutionArn: started.ExecutionArn, Cause: new("enough")}); err != nil {
					t.Error(err)
				}
				return answers(`1`)()
			})
			if again, err := r.Service.run(t.Context(), *started.ExecutionArn); err != nil || !again.IsZero() {
				t.Errorf("%v, %v", again, err)
			}
			out, err := r.describeExecution(t.Context(), caller, &describeExecutionInput{ExecutionArn: started.ExecutionArn})
			if err != nil || *out.Status != aborted || *out.Cause != "enough" || out.Output != nil || len(r.calls) != 2 {
				t.Errorf("%+v, %v after %q", out, err, r.calls)
			}
			testErrors(t, r, arn, *started.ExecutionArn)
		})
	}
}

func testErrors(t *testing.T, r *rig, machine, execution string) {
	t.Helper()
	elsewhere := caller
	elsewhere.Account = "210987654321"
	for want, err := range map[string]error{
		"StateMachineDoesNotExist of another account": second(r.startExecution(t.Context(), elsewhere, &startExecutionInput{StateMachineArn: &machine})),
		"ExecutionDoesNotExist of another account":    second(r.describeExecution(t.Context(), elsewhere, &describeExecutionInput{ExecutionArn: &execution})),
		"ExecutionDoesNotExist":                       second(r.stopExecution(t.Context(), caller, &stopExecutionInput{ExecutionArn: new(execution + "x")})),
		"InvalidArn":                                  second(r.describeStateMachine(t.Context(), caller, &describeStateMachineInput{StateMachineArn: new("x")})),
		"StateMachineDoesNotExist":                    second(r.listExecutions(t.Context(), caller, &listExecutionsInput{StateMachineArn: new(machine + "x")})),
		"InvalidToken":                                second(r.listStateMachines(t.Context(), caller, &listStateMachinesInput{NextToken: new("x")})),
		"InvalidToken of executions":                  second(r.listExecutions(t.Context(), caller, &listExecutionsInput{StateMachineArn: &machine, NextToken: new("x")})),
		"InvalidName":                                 second(r.startExecution(t.Context(), caller, &startExecutionInput{StateMachineArn: &machine, Name: new("a b")})),
		"InvalidExecutionInput":                       second(r.startExecution(t.Context(), caller, &startExecutionInput{StateMachineArn: &machine, Input: new("{")})),
		"ExecutionAlreadyExists":                      second(r.startExecution(t.Context(), caller, &startExecutionInput{StateMachineArn: &machine, Name: new("once")})),
		"StateMachineAlreadyExists":                   r.Create(t.Context(), caller.Place, Machine{Name: "m", Definition: `{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}`}),
		"InvalidName of a state machine":              r.Create(t.Context(), caller.Place, Machine{Name: "a:b"}),
	} {
		code, _, _ := strings.Cut(want, " ")
		var refusal *awswire.Error
		if !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("%s: %v", want, err)
		}
	}
	var names []string
	for range 3 {
		r.now = r.now.Add(time.Second)
		if _, err := r.startExecution(t.Context(), caller, &startExecutionInput{StateMachineArn: &machine}); err != nil {
			t.Fatal(err)
		}
	}
	in := &listExecutionsInput{StateMachineArn: &machine, MaxResults: new(int32(2))}
	for range 3 {
		out, err := r.listExecutions(t.Context(), caller, in)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Executions {
			names = append(names, *item.Name+" "+*item.Status)
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	if len(names) != 4 || names[3] != "once ABORTED" {
		t.Errorf("the executions are %q", names)
	}
	if err := r.Delete(t.Context(), caller.Place, "m"); err != nil {
		t.Fatal(err)
	}
	if running, err := store.Count(t.Context(), r.config.Store.Read(), "FROM state_executions WHERE status = ?", "RUNNING"); err != nil || running != 0 {
		t.Errorf("%d executions run whose state machine is deleted, %v", running, err)
	}
	if err := r.Expire(t.Context(), r.now.Add(8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.describeExecution(t.Context(), caller, &describeExecutionInput{ExecutionArn: &execution}); err == nil {
		t.Error("an execution of last week is still known")
	}
}

func second[A any](_ A, err error) error { return err }

func FuzzDefinition(f *testing.F) {
	f.Add(machine(`"A": ` + task(`"End": true, "Retry": [{"ErrorEquals": ["States.ALL"]}]`)))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse(text)
		if err != nil {
			return
		}
		for name, s := range d.States {
			if s.Next != "" && d.States[s.Next] == nil {
				t.Errorf("state %s continues nowhere", name)
			}
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
	})
}

func TestGiveUp(t *testing.T) {
	for _, at := range fixtures.Stores(t) {
		t.Run(at.Name, func(t *testing.T) {
			r := newRig(t, at)
			definition := machine(`"A": {"Type": "Wait", "Seconds": 60, "End": true}`)
			if err := r.Create(t.Context(), caller.Place, Machine{Name: "m", Definition: definition, RoleARN: "arn:aws:iam::123456789012:role/r", Model: "{}"}); err != nil {
				t.Fatal(err)
			}
			arn := MachineARN(caller.Place, "m")
			started, err := r.startExecution(t.Context(), caller, &startExecutionInput{StateMachineArn: &arn})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Workers()[workKind].Fail(t.Context(), *started.ExecutionArn, "why"); err != nil {
				t.Fatal(err)
			}
			row, err := executionIn(t.Context(), r.config.Store.Read(), *started.ExecutionArn)
			if err != nil || row.Status != failed || row.Error != badRuntime || row.Cause != "why" || row.StoppedAt.IsZero() {
				t.Errorf("%+v, %v", row, err)
			}
		})
	}
}
