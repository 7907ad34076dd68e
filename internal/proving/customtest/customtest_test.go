package customtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

func TestCorrectHandler(t *testing.T) {
	s := &stub{}
	summary := results(t, config(t, s))
	if summary.Passed != len(cases) || len(summary.LeftBehind) > 0 {
		t.Errorf("%+v", summary)
	}
	for _, r := range summary.Results {
		if r.Outcome != contract.Passed {
			t.Errorf("%s: %s: %s", r.ID(), r.Outcome, r.Message)
		}
	}
}

// only applies a change to the responses to one type of requests.
func only(kind string, change func(e event, r response)) func(event, response) {
	return func(e event, r response) {
		if e.RequestType == kind {
			change(e, r)
		}
	}
}

func set(key string, value any) func(event, response) {
	return func(_ event, r response) { r[key] = value }
}

func remove(key string) func(event, response) {
	return func(_ event, r response) { delete(r, key) }
}

// mutants violate one rule each. The names are those of the rules; a suffix tells variants apart.
var mutants = map[string]*stub{
	"RESPONSE_SIZE": {change: only("Create", set("Data", map[string]any{"Long": strings.Repeat("x", 5000)}))},
	"RESPONSE_SIZE echo": {change: func(e event, r response) { // only a large property makes it too large
		if padding, ok := e.ResourceProperties["CfnTestPadding"]; ok {
			r["Status"], r["Reason"] = "FAILED", fmt.Sprintf("unknown property %s", padding)
		}
	}},
	"RESPONSE_OBJECT":           {change: set("raw", `["SUCCESS"]`)},
	"RESPONSE_OBJECT text":      {change: set("raw", `SUCCESS`)},
	"RESPONSE_OBJECT empty":     {change: set("raw", ``)},
	"STATUS_MISSING":            {change: remove("Status")},
	"STATUS_VALUE":              {change: set("Status", "OK")},
	"STATUS_VALUE lower":        {change: set("Status", "success")},
	"REQUEST_ID_MISSING":        {change: remove("RequestId")},
	"REQUEST_ID_DIFFERS":        {change: set("RequestId", "another")},
	"STACK_ID_MISSING":          {change: remove("StackId")},
	"STACK_ID_DIFFERS":          {change: set("StackId", "stack")},
	"LOGICAL_ID_MISSING":        {change: remove("LogicalResourceId")},
	"LOGICAL_ID_DIFFERS":        {change: set("LogicalResourceId", "Other")},
	"PHYSICAL_ID_MISSING":       {change: remove("PhysicalResourceId")},
	"PHYSICAL_ID_MISSING later": {change: only("Delete", remove("PhysicalResourceId"))},
	"PHYSICAL_ID_TYPE":          {change: set("PhysicalResourceId", 5)},
	"PHYSICAL_ID_EMPTY":         {change: set("PhysicalResourceId", "")},
	"PHYSICAL_ID_SIZE":          {change: set("PhysicalResourceId", strings.Repeat("i", 1025))},
	"PHYSICAL_ID_CHANGED":       {change: only("Delete", set("PhysicalResourceId", "gone"))},
	"REASON_MISSING":            {change: remove("Reason")},
	"REASON_TYPE": {change: func(_ event, r response) {
		if r["Reason"] != nil {
			r["Reason"] = []string{"why"}
		}
	}},
	"NO_ECHO_TYPE":   {change: set("NoEcho", "yes")},
	"NO_ECHO_DELETE": {change: only("Delete", set("NoEcho", true))},
	"DATA_TYPE":      {change: only("Update", set("Data", []string{"a"}))},
	"DATA_DELETE":    {change: only("Delete", set("Data", map[string]any{"A": "b"}))},

	"RESPONSE_MISSING": {send: func(context.Context, event, []byte) error { return nil }},
	"RESPONSE_MISSING crash": {before: func(context.Context) error {
		return &lambda.CrashError{Function: "stub", Status: "exit status 3"}
	}},
	"RESPONSE_MISSING exception": {send: func(ctx context.Context, e event, body []byte) error {
		if e.ResourceProperties["Name"] == nil {
			return errors.New("KeyError: 'Name'")
		}
		return put(ctx, http.MethodPut, e.ResponseURL, body)
	}},
	"RESPONSE_URL": {send: func(ctx context.Context, e event, body []byte) error {
		base, _, _ := strings.Cut(e.ResponseURL, "?")
		return put(ctx, http.MethodPut, base, body)
	}},
	"RESPONSE_URL path": {send: func(ctx context.Context, e event, body []byte) error {
		return put(ctx, http.MethodPut, strings.Replace(e.ResponseURL, "/cfn-response/", "/response/", 1), body)
	}},
	"RESPONSE_METHOD": {send: func(ctx context.Context, e event, body []byte) error {
		return put(ctx, http.MethodPost, e.ResponseURL, body)
	}},
	"RESPONSE_REPEATED": {twice: func(_ event, r response) { r["Status"], r["Reason"] = "FAILED", "after all" }},
	"PHYSICAL_ID_UNSTABLE": {change: only("Update", func(e event, r response) {
		if e.ResourceProperties["Size"] == e.OldResourceProperties["Size"] {
			r["PhysicalResourceId"] = e.RequestId
		}
	})},
	"DELETE_UNKNOWN": {change: only("Delete", func(e event, r response) {
		if strings.HasPrefix(e.PhysicalResourceId, stackName) {
			r["Status"], r["Reason"] = "FAILED", "no such resource"
		}
	})},
}

func init() {
	count := 0
	mutants["REQUEST_REPEATED"] = &stub{change: only("Create", func(_ event, r response) {
		count++
		r["PhysicalResourceId"] = fmt.Sprint("resource-", count)
	})}
	seen := map[string]bool{}
	mutants["REQUEST_REPEATED status"] = &stub{change: only("Create", func(e event, r response) {
		if seen[e.RequestId] {
			r["Status"], r["Reason"] = "FAILED", "it exists"
		}
		seen[e.RequestId] = true
	})}
	gone := map[string]bool{}
	mutants["DELETE_UNKNOWN twice"] = &stub{change: only("Delete", func(e event, r response) {
		if gone[e.RequestId] {
			r["Status"], r["Reason"] = "FAILED", "no such resource"
		}
		gone[e.RequestId] = true
	})}
}

// TestMutants runs the tests of handlers that violate one rule each: exactly that one is named.
func TestMutants(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(mutants)) {
		t.Run(name, func(t *testing.T) {
			rule, _, _ := strings.Cut(name, " ")
			summary := results(t, config(t, mutants[name]))
			var named []string
			for _, r := range summary.Results {
				named = append(named, r.Rules...)
				if r.Outcome == contract.Failed && len(r.Rules) == 0 || r.Outcome == contract.Errored {
					t.Errorf("%s: %s without a rule: %s", r.ID(), r.Outcome, r.Message)
				}
				if len(r.Rules) > 0 && (r.Clause == "" || !strings.HasSuffix(r.Clause, "["+r.Rules[0]+"]") || len(r.Calls) == 0 || r.Calls[0].Request == nil) {
					t.Errorf("%s: the report has the clause %q and %d calls", r.ID(), r.Clause, len(r.Calls))
				}
			}
			slices.Sort(named)
			if named = slices.Compact(named); len(named) != 1 || named[0] != rule {
				for _, r := range summary.Results {
					t.Logf("%s: %s %v %s", r.ID(), r.Outcome, r.Rules, r.Message)
				}
				t.Errorf("the rules %v are named; expected %s", named, rule)
			}
		})
	}
}

// TestEveryRuleHasAMutant holds the table of mutants to that of the rules.
func TestEveryRuleHasAMutant(t *testing.T) {
	for _, rule := range Rules() {
		if mutants[rule.ID] == nil && rule.ID != ruleLate { // TestLateResponse
			t.Errorf("no mutant violates %s", rule.ID)
		}
		if rule.Section == "" || !strings.HasSuffix(rule.Text, ".") {
			t.Errorf("%s: section %q, text %q", rule.ID, rule.Section, rule.Text)
		}
	}
}

func TestLateResponse(t *testing.T) {
	const limit = 50 * time.Millisecond
	s := &stub{before: func(context.Context) error { time.Sleep(2 * limit); return nil }}
	cfg := config(t, s)
	cfg.Timeout = limit
	cfg.Keywords, _ = contract.ParseExpression("create and not twice and not properties")
	summary := results(t, cfg)
	for _, r := range summary.Results {
		if len(r.Rules) != 1 || r.Rules[0] != ruleLate {
			t.Errorf("%s: %v %s", r.ID(), r.Rules, r.Message)
		}
	}
}

// TestHangingHandler stops an invocation that never ends, and then calls the handler no more.
func TestHangingHandler(t *testing.T) {
	s := &stub{before: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }}
	cfg := config(t, s)
	cfg.Timeout, cfg.Late = 20*time.Millisecond, 20*time.Millisecond
	summary := results(t, cfg)
	first := summary.Results[0]
	if len(first.Rules) != 1 || first.Rules[0] != ruleMissing || !strings.Contains(first.Message, "the invocation had not ended after 20ms") {
		t.Errorf("%v %s", first.Rules, first.Message)
	}
	if s.calls != 1 || summary.Skipped != len(cases)-1 || len(summary.LeftBehind) != 1 {
		t.Errorf("%d calls, %d skipped, left behind %v", s.calls, summary.Skipped, summary.LeftBehind)
	}
}

// TestHandlerThatRunsOn does not wait for an invocation that goes on after the response.
func TestHandlerThatRunsOn(t *testing.T) {
	s := &stub{after: func(ctx context.Context, _ event) { <-ctx.Done() }}
	cfg := config(t, s)
	cfg.Timeout, cfg.Late, cfg.Grace = time.Hour, time.Hour, time.Millisecond
	if summary := results(t, cfg); !summary.OK() {
		for _, r := range summary.Results {
			t.Logf("%s: %s %v %s", r.ID(), r.Outcome, r.Rules, r.Message)
		}
		t.Error("the tests fail")
	}
}

// TestWait accepts a response that comes after the invocation has returned.
func TestWait(t *testing.T) {
	release := make(chan struct{}, 1)
	s := &stub{}
	s.send = func(_ context.Context, e event, body []byte) error {
		go func() {
			<-release
			_ = put(context.Background(), http.MethodPut, e.ResponseURL, body)
		}()
		return nil
	}
	cfg := config(t, s)
	cfg.Keywords, _ = contract.ParseExpression("delete_of_what_never_was")
	if summary := results(t, cfg); summary.OK() {
		t.Error("a response that has not come yet is accepted")
	}
	release <- struct{}{} // the one that nobody waits for
	cfg.Wait, cfg.Timeout = true, time.Hour
	release <- struct{}{}
	if summary := results(t, cfg); !summary.OK() {
		t.Errorf("%v", summary.Results[0].Message)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &stub{}
	s.before = func(calling context.Context) error {
		if s.calls < 3 {
			return nil
		}
		cancel()
		<-calling.Done()
		return context.Cause(calling)
	}
	cfg := config(t, s)
	cfg.CleanupTimeout = time.Millisecond
	cfg.Timeout, cfg.Late = time.Hour, time.Hour
	summary, err := Run(ctx, cfg)
	if !errors.Is(err, context.Canceled) || len(summary.Results) != 2 || summary.Results[1].Outcome != contract.Errored {
		t.Errorf("%v, %+v", err, summary)
	}
}

func TestHandlerThatCannotBeCalled(t *testing.T) {
	s := &stub{before: func(context.Context) error {
		return &lambda.EndpointError{Function: "stub", URL: "http://127.0.0.1:1", Message: "nothing is listening there"}
	}}
	var endpoint *lambda.EndpointError
	if summary, err := Run(t.Context(), config(t, s)); summary != nil || !errors.As(err, &endpoint) {
		t.Errorf("%v, %v", summary, err)
	}
}

func TestFailuresWithoutARule(t *testing.T) {
	fail := func(kind string) *stub {
		return &stub{change: only(kind, func(_ event, r response) { r["Status"], r["Reason"] = "FAILED", "no permission" })}
	}
	summary := results(t, config(t, fail("Create")))
	first := summary.Results[0]
	if first.Outcome != contract.Failed || first.Message != "Create failed: no permission" || len(first.Rules) > 0 || summary.Errors == 0 {
		t.Errorf("%+v", first)
	}
	summary = results(t, config(t, fail("Delete")))
	if first := summary.Results[0]; first.Message != "Delete failed: no permission" || len(summary.LeftBehind) == 0 {
		t.Errorf("%+v, left behind %v", first, summary.LeftBehind)
	}
}

func TestSkippedTests(t *testing.T) {
	cfg := config(t, &stub{})
	cfg.Update, cfg.Replace, cfg.Renew = nil, nil, nil
	summary := results(t, cfg)
	if summary.Skipped != 6 || !summary.OK() {
		t.Errorf("%+v", summary)
	}
	cfg.Update = replacement
	summary = results(t, cfg)
	if summary.Skipped != 2 || !summary.OK() || len(summary.LeftBehind) > 0 {
		t.Errorf("%+v", summary)
	}
	cfg.Replace = updated
	summary = results(t, cfg)
	if summary.Failed != 2 || !strings.Contains(summary.Results[7].Message, "kept the PhysicalResourceId") {
		t.Errorf("%+v", summary)
	}
}

func TestSelection(t *testing.T) {
	cfg := config(t, &stub{change: set("Status", "no")})
	cfg.FailFast = true
	if summary := results(t, cfg); summary.Failed != 1 || summary.Skipped != len(cases)-1 {
		t.Errorf("%+v", summary)
	}
	cfg.Keywords, _ = contract.ParseExpression("nothing")
	if _, err := Run(t.Context(), cfg); !errors.Is(err, ErrNothingSelected) {
		t.Error(err)
	}
}

// TestReportsHideSecrets looks for secrets in all formats of reports.
func TestReportsHideSecrets(t *testing.T) {
	s := &stub{change: func(e event, r response) {
		if e.RequestType != "Delete" && r["Status"] == "SUCCESS" {
			r["NoEcho"], r["Data"] = true, map[string]any{"Token": "s3cr3t-token", "Nested": map[string]any{"Pin": "90210-90210"}}
		} else {
			r["Status"], r["Reason"] = "FAILED", "cannot use s3cr3t-token of hunter2222 at "+e.ResponseURL
		}
	}}
	cfg := config(t, s)
	cfg.Secrets = &secret.Set{}
	cfg.Secrets.AddFor("property Secret", "hunter2222")
	var text bytes.Buffer
	cfg.Reporter = &contract.Text{W: &text, Traceback: "long", Verbosity: 1}
	summary := results(t, cfg)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"html":  func(b *bytes.Buffer) error { return contract.WriteHTML(b, summary) },
		"json":  func(b *bytes.Buffer) error { return contract.WriteJSON(b, summary) },
		"junit": func(b *bytes.Buffer) error { return contract.WriteJUnit(b, summary) },
		"text":  func(b *bytes.Buffer) error { _, err := b.Write(text.Bytes()); return err },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		report := b.String()
		for _, value := range []string{"s3cr3t", "90210", "hunter2222"} {
			if strings.Contains(report, value) {
				t.Errorf("%s has %s:\n%s", name, value, report)
			}
		}
		if name == "html" && (!strings.Contains(report, "secret properties, data with NoEcho") || strings.Contains(report, "no event")) {
			t.Errorf("the page is that of contract tests:\n%s", report)
		}
		if !strings.Contains(report, "NoEcho") || !strings.Contains(report, "presigned URL") || !strings.Contains(report, "property Secret") {
			t.Errorf("%s does not show what is hidden:\n%s", name, report)
		}
	}
}
