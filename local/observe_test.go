package local_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/formwork-dev/formwork/local"
)

// families are the metrics of a server, read as Prometheus reads them.
func families(t testing.TB, url string) map[string]*dto.MetricFamily {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	found, err := parser.TextToMetricFamilies(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v", response.Status, err)
	}
	return found
}

// metric is the only value of a gauge.
func metric(t testing.TB, url, name string) float64 {
	t.Helper()
	family := families(t, url)[name]
	if family == nil || len(family.Metric) != 1 {
		t.Fatalf("%s is %v", name, family)
	}
	return family.Metric[0].GetGauge().GetValue()
}

// TestMetrics has Prometheus' own parser read the metrics, after requests that would make
// series of their own if names were taken from callers.
func TestMetrics(t *testing.T) {
	url := serving(t, local.ServerConfig{}).URL()
	c := newClients(t, url)
	if _, err := c.ListTypes(t.Context(), &cloudformation.ListTypesInput{}); err != nil {
		t.Fatal(err)
	}
	const scope = "AWS4-HMAC-SHA256 Credential=123456789012/20260101/us-east-1/"
	for _, garbage := range []struct{ service, target, path, body string }{
		{"cloudformation", "", "/", "Action=Garbage1&Version=2010-05-15"},
		{"cloudformation", "", "/", "Action=CreateStack&Version=2010-05-15"},
		{"garbage2", "", "/", "Action=ListTypes"},
		{"s3", "", "/bucket/garbage3?garbage4", ""},
		{"lambda", "", "/2015-03-31/functions/garbage5/invocations", "{}"},
		{"lambda", "", "/garbage6", "{}"},
		{"ssm", "AmazonSSM.Garbage7", "/", "{}"},
		{"garbage8/x", "", "/", ""},
		{"", "Garbage9.Garbage10", "/", "{}"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+garbage.path, strings.NewReader(garbage.body))
		if err != nil {
			t.Fatal(err)
		}
		if garbage.service != "" {
			request.Header.Set("Authorization", scope+garbage.service+"/aws4_request, SignedHeaders=host, Signature=garbage11")
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if garbage.target != "" {
			request.Header.Set("Content-Type", "application/x-amz-json-1.1")
			request.Header.Set("X-Amz-Target", garbage.target)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("%+v: %s", garbage, response.Status)
		}
	}
	found := families(t, url)
	for _, name := range []string{
		"cfn_requests_total", "cfn_request_duration_seconds", "cfn_requests_in_flight", "cfn_build_info", "cfn_handlers_running",
		"cfn_registrations_in_progress", "cfn_tests_in_progress", "cfn_wakeups_waiting", "cfn_store_size_bytes", "go_goroutines",
	} {
		if found[name] == nil || found[name].GetHelp() == "" {
			t.Errorf("%s is %v", name, found[name])
		}
	}
	for name, least := range map[string]float64{"cfn_wakeups_waiting": 1, "cfn_store_size_bytes": 10_000, "cfn_requests_in_flight": 0} { // the sweep waits
		if v := found[name].Metric[0].GetGauge().GetValue(); v < least || math.IsNaN(v) {
			t.Errorf("%s is %v", name, v)
		}
	}
	services := []string{"cloudformation", "s3", "lambda", "ssm", "other"}
	listed := 0.0
	for _, family := range found {
		for _, m := range family.Metric {
			labels := map[string]string{}
			for _, label := range m.Label {
				labels[label.GetName()] = label.GetValue()
				if strings.Contains(strings.ToLower(label.GetValue()), "garbage") {
					t.Errorf("%s has the label %s", family.GetName(), label)
				}
			}
			if service, ok := labels["service"]; ok && !slices.Contains(services, service) {
				t.Errorf("%s has the service %q", family.GetName(), service)
			}
			if family.GetName() == "cfn_requests_total" && labels["service"] == "cloudformation" && labels["operation"] == "ListTypes" && labels["code"] == "" {
				listed = m.GetCounter().GetValue()
			}
		}
	}
	if listed != 1 {
		t.Errorf("ListTypes was answered %v times", listed)
	}
}

// TestHealth asks a server whose database somebody else does not let go of.
func TestHealth(t *testing.T) {
	dir := t.TempDir()
	url := serving(t, local.ServerConfig{Config: local.Config{Dir: dir, Version: "1.2.3"}}).URL()
	ask := func() (int, map[string]any) {
		t.Helper()
		response, err := http.Get(url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var state map[string]any
		if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, state
	}
	if status, state := ask(); status != 200 || state["status"] != "ok" || state["product"] != "formwork" || state["version"] != "1.2.3" || state["auth"] != false {
		t.Errorf("%d %v", status, state)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "formwork.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var reason any
	eventually(t, 30*time.Second, "503", func() bool { // an answer is good for a second
		status, state := ask()
		reason = state["status"]
		return status == 503
	})
	if text, _ := reason.(string); text == "" || text == "ok" {
		t.Errorf("the reason is %v", reason)
	}
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "health", func() bool { status, _ := ask(); return status == 200 })
}

// TestLogs looks for secrets in everything that a server logs.
func TestLogs(t *testing.T) {
	var log lockedBuffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	url := serving(t, local.ServerConfig{Config: local.Config{Logger: logger, Keys: keyFile}}).URL()
	c := keyedClients(t, url, keyID, secret)
	c.ssm = ssm.New(c.ssm.Options(), func(o *ssm.Options) { o.Credentials = c.Client.Options().Credentials })
	registered(t, c, registerSpy(t, c, spyPackage(t, filepath.Join(t.TempDir(), "notes"), `"Password": {"type": "string"}`, 0)), 30*time.Second)
	if _, err := c.ssm.PutParameter(t.Context(), &ssm.PutParameterInput{Name: aws.String("/p"), Type: ssmtypes.ParameterTypeSecureString, Value: aws.String("planted-1")}); err != nil {
		t.Fatal(err)
	}
	for _, configuration := range []string{`{"Key": "planted-2"}`, `{"Key": planted-3`} {
		_, err := c.SetTypeConfiguration(t.Context(), &cloudformation.SetTypeConfigurationInput{Type: cfntypes.ThirdPartyTypeResource, TypeName: aws.String(spyType), Configuration: &configuration})
		if err == nil {
			t.Error("the configuration is taken")
		}
	}
	invokeSpy(t, c, `{"action": "READ", "bearerToken": "planted-4", "requestData": {"callerCredentials": {"accessKeyId": "AKID", "secretAccessKey": "planted-5"}, "resourceProperties": {"Name": "abcd", "Password": "planted-6"}}}`)
	if code := presigned(t, c, aws.String("spies"), "planted-7"); code != "" {
		t.Error(code)
	}
	_, _ = keyedClients(t, url, keyID, "planted-8").ListTypes(t.Context(), &cloudformation.ListTypesInput{})
	text := log.String()
	for _, hidden := range []string{"planted-", secret, "X-Amz-Signature", "X-Amz-Credential"} {
		if at := strings.Index(text, hidden); at >= 0 {
			t.Errorf("%s is in the log: …%s", hidden, text[max(0, at-300):min(len(text), at+100)])
		}
	}
	requests := map[string]int{}
	for line := range strings.Lines(text) {
		var entry struct{ Msg, Service, Operation, Code, Account, Region, Request string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if entry.Msg == "request" {
			requests[entry.Service+"."+entry.Operation+" "+entry.Code]++
			if entry.Request == "" || entry.Region != region {
				t.Errorf("a request without id or region: %s", line)
			}
		}
	}
	for _, want := range []string{"cloudformation.RegisterType ", "ssm.PutParameter ", "lambda.Invoke ", "s3.PutObject ", "cloudformation. SignatureDoesNotMatch"} {
		if requests[want] == 0 {
			t.Errorf("%q is not among the requests %v", want, requests)
		}
	}
}

// A fakeCollector keeps the spans that it is sent over OTLP/HTTP.
type fakeCollector struct {
	mu       sync.Mutex
	paths    []string
	service  string
	spans    []*trace.Span
	refusing bool
}

func (f *fakeCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	err := proto.Unmarshal(body, &request)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paths = append(f.paths, r.URL.Path)
	if err != nil || f.refusing {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	for _, resource := range request.ResourceSpans {
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				f.service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			f.spans = append(f.spans, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// traced sends a request with a traceparent to a server with an environment, ends the
// server, and returns what the collector was sent and what was logged.
func traced(t *testing.T, fake *fakeCollector, environ ...string) (log string) {
	t.Helper()
	collector := httptest.NewServer(fake)
	defer collector.Close()
	for i := range environ {
		environ[i] = strings.ReplaceAll(environ[i], "COLLECTOR", collector.URL)
	}
	var buffer lockedBuffer
	cloud, err := local.Open(context.Background(), local.Config{Environ: append([]string{"PATH=/usr/bin"}, environ...), Logger: slog.New(slog.NewTextHandler(&buffer, nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("Action=ListTypes&Version=2010-05-15&TypeNamePrefix=planted"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	server.Close()
	if err := cloud.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// TestTraces has a collector receive the span of a request, below the caller's.
func TestTraces(t *testing.T) {
	for _, environ := range [][]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT=COLLECTOR/"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=COLLECTOR/v1/traces", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"},
	} {
		fake := &fakeCollector{}
		traced(t, fake, environ...)
		if len(fake.spans) != 1 || fake.service != "formwork" || !slices.Equal(fake.paths, []string{"/v1/traces"}) {
			t.Fatalf("%s: %d spans of %q at %v", environ[0], len(fake.spans), fake.service, fake.paths)
		}
		span := fake.spans[0]
		attributes := map[string]string{}
		for _, a := range span.Attributes {
			attributes[a.Key] = a.Value.String()
		}
		if span.Name != "cloudformation.ListTypes" || span.Kind != trace.Span_SPAN_KIND_SERVER ||
			string(span.TraceId) != "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c" || string(span.ParentSpanId) != "\xb7\xad\x6b\x71\x69\x20\x33\x31" {
			t.Errorf("the span is %v", span)
		}
		if text := span.String(); strings.Contains(text, "planted") || !strings.Contains(attributes["rpc.method"], "ListTypes") || !strings.Contains(attributes["http.response.status_code"], "200") {
			t.Errorf("the attributes are %s", text)
		}
	}
}

// TestNoTraces sends none unless asked for, and tolerates a collector that rejects them.
func TestNoTraces(t *testing.T) {
	for _, environ := range [][]string{
		{},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=COLLECTOR", "OTEL_SDK_DISABLED=true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=COLLECTOR", "OTEL_TRACES_EXPORTER=none"},
	} {
		fake := &fakeCollector{}
		traced(t, fake, environ...)
		if len(fake.paths) > 0 {
			t.Errorf("%q: %v was asked for", environ, fake.paths)
		}
	}
	log := traced(t, &fakeCollector{refusing: true}, "OTEL_EXPORTER_OTLP_ENDPOINT=COLLECTOR", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if !strings.Contains(log, "traces cannot be sent") || !strings.Contains(log, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc") {
		t.Errorf("logged %s", log)
	}
	if _, err := local.Open(t.Context(), local.Config{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318"}}); err == nil || !strings.Contains(err.Error(), `expected a URL such as http://127.0.0.1:4318 but got "localhost:4318"`) {
		t.Errorf("an endpoint that is no URL: %v", err)
	}
}
