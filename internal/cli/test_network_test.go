package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A reportService keeps reports; the same Idempotency-Key makes one.
type reportService struct {
	mu      sync.Mutex
	reports map[string]map[string]any
	keys    map[string]string
	calls   int
}

func (s *reportService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/reports"), "/")
	report, exists := s.reports[id]
	switch {
	case r.Method == http.MethodPost:
		key := r.Header.Get("Idempotency-Key")
		if id = s.keys[key]; id == "" {
			id = fmt.Sprintf("report-%d", len(s.keys)+1)
			s.keys[key] = id
			s.put(id, r)
		}
		report = s.reports[id]
	case id == "":
		ids := []any{}
		for _, id := range slices.Sorted(maps.Keys(s.reports)) {
			ids = append(ids, map[string]any{"Id": id})
		}
		report = map[string]any{"reports": ids}
	case !exists:
		http.NotFound(w, r)
		return
	case r.Method == http.MethodPut:
		report = s.put(id, r)
	case r.Method == http.MethodDelete:
		delete(s.reports, id)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Set-Cookie", "session=planted-cookie")
	_ = json.NewEncoder(w).Encode(report)
}

func (s *reportService) put(id string, r *http.Request) map[string]any {
	report := map[string]any{}
	_ = json.NewDecoder(r.Body).Decode(&report)
	delete(report, "Code")
	report["Id"] = id
	s.reports[id] = report
	return report
}

// deskProject is a project whose handlers need a service, built.
func deskProject(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the project is built for a POSIX system")
	}
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/desk/main.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"handler/main.go": string(source), "handler/go.mod": "module desk\n\ngo 1.24\n",
		".rpdk-config": `{"artifact_type": "RESOURCE", "typeName": "Initech::Desk::Report", "language": "go", "runtime": "provided.al2023", "entrypoint": "bootstrap", "testEntrypoint": "bootstrap", "settings": {"protocolVersion": "2.0.0", "import_path": "desk"}}`,
		"initech-desk-report.json": `{"typeName": "Initech::Desk::Report", "description": "A report.", "additionalProperties": false,
			"properties": {"Id": {"type": "string"}, "Title": {"type": "string"}, "Code": {"type": "string"}},
			"required": ["Title"], "primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"], "writeOnlyProperties": ["/properties/Code"],
			"tagging": {"taggable": false},
			"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}}`,
		"inputs/inputs_1_create.json": `{"Title": "first", "Code": "planted-code-1"}`,
		"inputs/inputs_1_update.json": `{"Title": "second", "Code": "planted-code-2"}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := "../bin/bootstrap"
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		program = "../bin/local/bootstrap"
	}
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir, build.Env = filepath.Join(dir, "handler"), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func TestNetworkOfHandlers(t *testing.T) {
	dir := deskProject(t)
	service := &reportService{reports: map[string]map[string]any{}, keys: map[string]string{}}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	endpoint := "AWS_ENDPOINT_URL_REPORTS=" + server.URL
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "AKIAPLANTED0000", "AWS_SECRET_ACCESS_KEY": "planted-secret", "AWS_SESSION_TOKEN": "planted-token"} {
		t.Setenv(name, value)
	}
	run := func(environ []string, args ...string) (code int, stdout, stderr string) {
		t.Helper()
		var out, errs strings.Builder
		code = Main(t.Context(), Env{
			Stdout: &out, Stderr: &errs, Dir: dir, Version: "1.2.3",
			Environ: append([]string{"AWS_ACCESS_KEY_ID=AKIAPLANTED0000", "AWS_SECRET_ACCESS_KEY=planted-secret", "AWS_SESSION_TOKEN=planted-token", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, environ...),
		}, append([]string{"test", "--no-build"}, args...))
		return code, out.String(), errs.String()
	}

	// Faults, those of the network among them.
	code, stdout, stderr := run([]string{endpoint}, "--faults")
	if code != 0 || strings.Contains(stdout, "asks nothing of the network") {
		t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, id := range []string{"create_throttled", "update_server_error", "delete_cut", "create_outage", "update_killed", "update_two_faults"} {
		if !strings.Contains(stdout, "faults.py::contract_"+id+" PASSED") {
			t.Errorf("%s did not pass:\n%s", id, stdout)
		}
	}
	if len(service.reports) > 0 {
		t.Errorf("left behind: %v", service.reports)
	}

	// Recorded, without secrets, and replayed without the service.
	if code, stdout, stderr = run([]string{endpoint}, "--record", "tapes/reports.jsonl", "--report", "html=out/report.html", "--report", "github", "--report", "sarif=out/report.sarif"); code != 0 || !strings.Contains(stderr, "network calls of the handlers in tapes/reports.jsonl") {
		t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
	}
	for _, name := range []string{"tapes/reports.jsonl", "out/report.html", "out/report.sarif", "rpdk.log"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(text), "planted") || strings.Contains(string(text), "PLANTED") {
			t.Errorf("%s: %v\n%.4000s", name, err, text)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "tapes/reports.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	server.Close()
	calls := service.calls
	if code, stdout, stderr = run([]string{endpoint}, "--replay-http", "tapes/reports.jsonl"); code != 0 || service.calls != calls {
		t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
	}

	// A handler that asks something else.
	if err := os.WriteFile(filepath.Join(dir, "inputs/inputs_1_create.json"), []byte(`{"Title": "another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = run([]string{endpoint}, "--replay-http", "tapes/reports.jsonl", "--", "-k", "contract_create_delete")
	if code != 1 || !strings.Contains(stderr, "the recording does not contain these calls:\n  POST "+server.URL+"/reports\n") || !strings.Contains(stdout, "cfn: the recording does not contain POST "+server.URL+"/reports") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}

	// Nothing leaves this machine.
	code, stdout, stderr = run([]string{"AWS_ENDPOINT_URL_REPORTS=https://reports.initech.example"}, "--faults", "--", "-k", "contract_create_delete")
	if code != 1 || !strings.Contains(stderr, "cfn blocked network calls of the handlers to other machines:\n  POST https://reports.initech.example/reports\n") {
		t.Errorf("code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestNetworkOptions(t *testing.T) {
	dir := deskProject(t)
	if err := os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(`{"httptape":1,"typeName":"A::B::C"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "none.jsonl"), []byte("HTTP/1.1 200"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"--report html", 2, "html requires a file: --report html=FILE"},
		{"--report pdf=x", 2, `invalid choice: "pdf=x"`},
		{"--record a --replay-http b", 2, "cannot be combined"},
		{"--record a --parallel 2", 2, "one after the other"},
		{"--record a --endpoint http://127.0.0.1:1", 1, "remove --endpoint"},
		{"--replay-http nothing.jsonl", 1, "the recording nothing.jsonl does not exist"},
		{"--replay-http none.jsonl", 1, "none.jsonl: line 1 of the recording: not a recording"},
		{"--replay-http other.jsonl", 1, "other.jsonl is a recording of A::B::C, not of Initech::Desk::Report"},
		{"--faults -- --collect-only faults.py", 0, ""},
	} {
		code, stdout, stderr := runMain(t.Context(), dir, nil, append([]string{"test"}, strings.Fields(test.args)...)...)
		if code != test.code || !strings.Contains(stderr, test.want) {
			t.Errorf("%s: code %d, want %d; %s", test.args, code, test.code, stderr)
		}
		if test.code == 0 && !strings.Contains(stdout, "faults.py::contract_delete_two_faults\n\n30 tests collected") {
			t.Error(stdout)
		}
	}
}
