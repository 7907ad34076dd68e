package customtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// An event is a request as a handler reads it.
type event struct {
	RequestType, ResponseURL, StackId, RequestId, LogicalResourceId, PhysicalResourceId, ResourceType string //nolint:revive // names of the protocol
	ResourceProperties, OldResourceProperties                                                         map[string]any
}

// A response is what a handler sends.
type response map[string]any

// A stub is a handler in this process. The zero value is a correct one: the id of its resource
// is made of the stack and of the property Name, so that another Name replaces it.
type stub struct {
	change func(e event, r response)                             // the response, before it is sent
	send   func(ctx context.Context, e event, body []byte) error // nil means put
	before func(ctx context.Context) error                       // called before anything else
	calls  int                                                   // so far
	twice  func(e event, r response)                             // sends a second response
	after  func(ctx context.Context, e event)                    // called after the response was sent
}

func (s *stub) Call(ctx context.Context, payload []byte) ([]byte, error) {
	reply, _, err := s.CallLogged(ctx, payload)
	return reply, err
}

func (s *stub) CallLogged(ctx context.Context, payload []byte) (reply, log []byte, err error) {
	s.calls++
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, nil, err
	}
	log = []byte("handling " + e.RequestType + "\n")
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return nil, log, err
		}
	}
	r := answer(e)
	if s.change != nil {
		s.change(e, r)
	}
	send := s.send
	if send == nil {
		send = func(ctx context.Context, e event, body []byte) error {
			return put(ctx, http.MethodPut, e.ResponseURL, body)
		}
	}
	if err := send(ctx, e, encode(r)); err != nil {
		return nil, append(log, err.Error()...), ctx.Err()
	}
	if s.twice != nil {
		s.twice(e, r)
		if err := send(ctx, e, encode(r)); err != nil {
			return nil, append(log, err.Error()...), ctx.Err()
		}
	}
	if s.after != nil {
		s.after(ctx, e)
	}
	return []byte("null"), log, nil
}

// answer is the response of a correct handler.
func answer(e event) response {
	r := response{"Status": "SUCCESS", "RequestId": e.RequestId, "StackId": e.StackId, "LogicalResourceId": e.LogicalResourceId, "PhysicalResourceId": e.PhysicalResourceId}
	if e.RequestType == "Delete" {
		return r
	}
	name, ok := e.ResourceProperties["Name"].(string)
	if e.RequestType == "Create" || ok && name != e.OldResourceProperties["Name"] {
		r["PhysicalResourceId"] = e.StackId[len(e.StackId)-8:] + "-" + name
	}
	if !ok {
		r["Status"], r["Reason"] = "FAILED", "Name is missing"
		return r
	}
	r["Data"] = map[string]any{"Greeting": "hello " + name}
	return r
}

func encode(r response) []byte {
	if text, raw := r["raw"].(string); raw {
		return []byte(text)
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return data
}

// put sends a body to a URL.
func put(ctx context.Context, method, url string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := (&http.Client{}).Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("PUT: %s %s", answer.Status, text)
	}
	return nil
}

var (
	properties  = map[string]any{"Name": "ada", "Size": json.Number("5"), "Secret": "hunter2222"}
	updated     = map[string]any{"Name": "ada", "Size": json.Number("6")}
	replacement = map[string]any{"Name": "grace"}
)

// config is a run of a function with everything set.
func config(t *testing.T, s *stub) Config {
	receiver, err := Listen(t.Context(), ReceiverConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := receiver.Close(); err != nil {
			t.Error(err)
		}
	})
	return Config{
		Sender: Sender{Function: s, Receiver: receiver, Timeout: time.Minute, Late: time.Minute},
		Name:   "stub", Create: properties, Update: updated, Replace: replacement, Renew: func() {},
		Identity: Identity{Type: "Custom::Test", LogicalID: "Resource", ServiceToken: "arn:aws:lambda:us-east-1:000000000000:function:stub", Region: "us-east-1", Account: "000000000000"},
	}
}

// results runs the tests of a stub.
func results(t *testing.T, cfg Config) *contract.Summary {
	t.Helper()
	summary, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}
