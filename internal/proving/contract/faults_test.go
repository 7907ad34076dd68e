package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/proving/httptape"
)

// A desk is a handler that asks a service for everything it does, over a network that
// fails. It keeps the contract under every fault, unless a mutant of it does not. Its
// creates and updates take three calls, its deletes two.
type desk struct {
	mutant  string
	service *http.Client // nil: there is no service
	url     string

	mu      sync.Mutex
	reports map[string]map[string]any
	tokens  map[string]string // client request token → id
	made    int
	memory  map[string]string // of the process: lost by Renew
	renewed int
}

func newDesk(mutant string) *desk {
	return &desk{mutant: mutant, reports: map[string]map[string]any{}, tokens: map[string]string{}, memory: map[string]string{}}
}

// Renew is the death of the process.
func (d *desk) Renew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory = map[string]string{}
	d.renewed++
}

func (d *desk) Call(_ context.Context, payload []byte) ([]byte, error) {
	var request struct {
		Action          string         `json:"action"`
		Token           string         `json:"bearerToken"`
		CallbackContext map[string]any `json:"callbackContext"`
		RequestData     struct {
			ResourceProperties map[string]any `json:"resourceProperties"`
		} `json:"requestData"`
	}
	if err := json.Unmarshal(payload, &request); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	step, _ := request.CallbackContext["step"].(float64)
	event, err := d.handle(request.Action, request.Token, request.RequestData.ResourceProperties, int(step))
	var refused *refusal
	if errors.As(err, &refused) {
		event = map[string]any{"status": "FAILED", "errorCode": refused.code, "message": refused.message}
	}
	return json.Marshal(event)
}

// ask asks the service; what it does there is do.
func (d *desk) ask(operation string, do func()) error {
	if d.service == nil {
		do()
		return nil
	}
	response, err := d.service.Post(d.url+"/"+operation, "application/json", strings.NewReader("{}"))
	if err != nil {
		switch d.mutant {
		case "gives up when cut":
			return &refusal{"GeneralServiceException", "the service is away"}
		case "takes a cut for success":
			return nil
		}
		return &refusal{"NetworkFailure", "the service is away"}
	}
	defer response.Body.Close()
	throttled := response.StatusCode == http.StatusTooManyRequests
	switch {
	case throttled && d.mutant == "gives up when throttled":
		return &refusal{"InvalidRequest", "too many"}
	case throttled:
		return &refusal{"Throttling", "too many"}
	case response.StatusCode >= 500 && d.mutant == "gives up on 5xx":
		return &refusal{"GeneralServiceException", response.Status}
	case response.StatusCode >= 500:
		return &refusal{"ServiceInternalError", response.Status}
	}
	do()
	return nil
}

func (d *desk) handle(action, token string, model map[string]any, step int) (map[string]any, error) {
	id, _ := model["Id"].(string)
	switch action {
	case "CREATE":
		return d.create(token, model, step)
	case "READ":
		if report, ok := d.reports[id]; ok {
			return map[string]any{"status": "SUCCESS", "resourceModel": visible(report)}, nil
		}
		return nil, &refusal{"NotFound", "no such report"}
	case "UPDATE":
		return d.update(id, model, step)
	case "DELETE":
		return d.delete(id, model, step)
	}
	models := []any{}
	for _, id := range slices.Sorted(maps.Keys(d.reports)) {
		models = append(models, map[string]any{"Id": id})
	}
	return map[string]any{"status": "SUCCESS", "resourceModels": models}, nil
}

func visible(report map[string]any) map[string]any {
	report = maps.Clone(report)
	delete(report, "Password")
	return report
}

func inProgress(model map[string]any, step int) map[string]any {
	return map[string]any{"status": "IN_PROGRESS", "resourceModel": visible(model), "callbackContext": map[string]any{"step": step}}
}

// copyOf files a report under another number.
func (d *desk) copyOf(report map[string]any) {
	d.made++
	other := maps.Clone(report)
	other["Id"] = fmt.Sprintf("id-%d", d.made)
	d.reports[fmt.Sprintf("id-%d", d.made)] = other
}

func (d *desk) begin(token string, model map[string]any) (id string, err error) {
	id, known := d.tokens[token]
	switch {
	case known && d.mutant == "refuses the repetition":
		return "", &refusal{"AlreadyExists", "it exists"}
	case known && d.mutant != "creates twice":
		return id, nil
	}
	d.made++
	id = fmt.Sprintf("id-%d", d.made)
	report := maps.Clone(model)
	report["Id"] = id
	err = d.ask("create", func() { d.reports[id], d.tokens[token] = report, id })
	if err != nil && d.mutant == "leaks in an outage" {
		d.reports[id] = report
	}
	return id, err
}

func (d *desk) create(token string, model map[string]any, step int) (map[string]any, error) {
	if step == 0 {
		id, err := d.begin(token, model)
		if err != nil {
			return nil, err
		}
		d.memory["creating"] = id
		return inProgress(d.reports[id], 1), nil
	}
	id := d.tokens[token]
	if d.mutant == "keeps the identifier in memory" {
		if id = d.memory["creating"]; id == "" {
			return nil, &refusal{"InternalFailure", "which one?"}
		}
	}
	if d.mutant == "makes another when late" && d.memory["done "+token] != "" {
		d.copyOf(d.reports[id])
	}
	if err := d.ask("wait", func() {}); err != nil {
		return nil, err
	}
	if step == 1 {
		return inProgress(d.reports[id], 2), nil
	}
	d.memory["done "+token] = id
	return map[string]any{"status": "SUCCESS", "resourceModel": visible(d.reports[id])}, nil
}

func (d *desk) update(id string, model map[string]any, step int) (map[string]any, error) {
	report, ok := d.reports[id]
	if !ok {
		return nil, &refusal{"NotFound", "no such report"}
	}
	if step > 0 {
		if step == 1 {
			return inProgress(report, 2), nil
		}
		d.memory["updating"] = ""
		return map[string]any{"status": "SUCCESS", "resourceModel": visible(report)}, nil
	}
	changed := maps.Clone(model)
	if pages, _ := report["Pages"].(float64); d.mutant == "update appends" {
		changed["Pages"] = pages + 1 // what the input asks for, if it is done once
	}
	if d.mutant == "replaces under two faults" && d.memory["updating"] == id && d.memory["warm"] == "" {
		d.copyOf(report) // begun twice, by a process that knows nothing else
	}
	if err := d.ask("update", func() { d.reports[id] = changed }); err != nil {
		return nil, err
	}
	d.memory["updating"] = id
	return inProgress(d.reports[id], 1), nil
}

func (d *desk) delete(id string, model map[string]any, step int) (map[string]any, error) {
	_, ok := d.reports[id]
	switch {
	case step == 0 && !ok:
		return nil, &refusal{"NotFound", "no such report"}
	case step == 0:
		return inProgress(model, 1), nil
	case !ok && d.mutant == "fails on the second deletion":
		return nil, &refusal{"InternalFailure", "it is gone"}
	}
	if err := d.ask("delete", func() { delete(d.reports, id) }); err != nil {
		return nil, err
	}
	d.memory["warm"] = "yes"
	return map[string]any{"status": "SUCCESS"}, nil
}

func tryFaults(t *testing.T, d *desk, network *httptape.Proxy, only string) *Summary {
	t.Helper()
	cfg := Config{
		Schema: flavours[0].schema(t), Function: d, Inputs: flavours[0].inputs(), Seed: 7,
		Faults: &Faults{Restarter: d, Network: network}, Sleep: func(context.Context, time.Duration) error { return nil },
	}
	cfg.Selection.IDs = []string{only}
	summary, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

// withNetwork gives a desk a service behind a proxy.
func withNetwork(t *testing.T, d *desk) *httptape.Proxy {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	proxy, err := httptape.Start(httptape.Config{Environ: []string{"AWS_ENDPOINT_URL=" + server.URL}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	for _, entry := range proxy.Env() {
		if url, ok := strings.CutPrefix(entry, "AWS_ENDPOINT_URL="); ok {
			d.url = url
		}
	}
	d.service = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return proxy
}

func TestCorrectHandlersConverge(t *testing.T) {
	d := newDesk("")
	summary := tryFaults(t, d, withNetwork(t, d), "faults.py")
	if !summary.OK() || len(summary.LeftBehind) > 0 || len(d.reports) > 0 {
		t.Fatalf("rejected:\n%s%v %v", outcomes(summary), summary.LeftBehind, d.reports)
	}
	if summary.Passed != len(FaultCases) || d.renewed == 0 {
		t.Errorf("%d passed of %d\n%s", summary.Passed, len(FaultCases), outcomes(summary))
	}
}

// TestFaultsThatCannotBe are skipped, and say why.
func TestFaultsThatCannotBe(t *testing.T) {
	d := newDesk("")
	summary, err := Run(t.Context(), Config{Schema: flavours[0].schema(t), Function: d, Inputs: flavours[0].inputs(), Faults: &Faults{Pairs: -1}, Selection: Selection{IDs: []string{"faults.py"}}})
	if err != nil || !summary.OK() {
		t.Fatal(err, outcomes(summary))
	}
	skipped := map[string]int{}
	for _, r := range summary.Results {
		if r.Outcome == Skipped {
			skipped[r.Message]++
		}
	}
	for reason, want := range map[string]int{"The handlers run elsewhere: only local processes can be killed.": 3, "The outbound calls of the handlers do not go through cfn.": 12} {
		if skipped[reason] != want {
			t.Errorf("%d times %q, want %d:\n%s", skipped[reason], reason, want, outcomes(summary))
		}
	}
}

// TestFaultMutants: each breaks under a fault, and is found by the smallest schedule.
func TestFaultMutants(t *testing.T) {
	for _, m := range []struct{ mutant, id, message, clause string }{
		{"creates twice", "create_same_token_twice", "CREATE call 1 delivered twice: CREATE answered with two resources: /Id=id-", clauseOnce},
		{"creates twice", "create_same_token_at_once", "CREATE call 1 delivered twice at once: CREATE answered with two resources", clauseOnce},
		{"creates twice", "create_lost_response", "CREATE call 1 sent again after its response was lost: CREATE answered with two resources", clauseLost},
		{"creates twice", "create_late_context", "CREATE call 2 followed by a repetition of the call before: CREATE answered with two resources", clauseLate},
		{"refuses the repetition", "create_lost_response", "CREATE call 1 sent again after its response was lost: CREATE ended with FAILED AlreadyExists", clauseLost},
		{"keeps the identifier in memory", "create_killed", "CREATE call 2 made after the process was killed: CREATE ended with FAILED InternalFailure", clauseKilled},
		{"makes another when late", "create_late_context", "CREATE call 3 followed by a repetition of the call before: /Id=id-", clauseLate},
		{"update appends", "update_same_token_twice", "UPDATE call 1 delivered twice: one property differs: /Pages", clauseMatch},
		{"update appends", "update_lost_response", "UPDATE call 1 sent again after its response was lost: one property differs: /Pages", clauseMatch},
		{"fails on the second deletion", "delete_lost_response", "DELETE call 2 sent again after its response was lost: DELETE ended with FAILED InternalFailure", clauseLost},
		{"gives up when throttled", "create_throttled", "CREATE with outbound call 1 throttled: CREATE ended with FAILED InvalidRequest", clauseOutbound},
		{"gives up on 5xx", "update_server_error", "UPDATE with outbound call 1 answered with a server error: UPDATE ended with FAILED GeneralServiceException", clauseOutbound},
		{"gives up when cut", "delete_cut", "DELETE with outbound call 1 cut before it was sent: DELETE ended with FAILED GeneralServiceException", clauseOutbound},
		{"takes a cut for success", "delete_cut", "DELETE with outbound call 1 cut before it was sent: READ of /Id=id-", clauseOutbound},
		{"leaks in an outage", "create_outage", "CREATE with outbound calls 1 to 8 answered with a server error: /Id=id-", clauseOutage},
	} {
		t.Run(m.mutant+"/"+m.id, func(t *testing.T) {
			d := newDesk(m.mutant)
			summary := tryFaults(t, d, withNetwork(t, d), "faults.py::contract_"+m.id)
			r := summary.Results[0]
			if r.Outcome != Failed || !strings.HasPrefix(r.Message, m.message) || r.Clause != m.clause {
				t.Errorf("%s: %q (%s), want %q (%s)", r.Outcome, r.Message, r.Clause, m.message, m.clause)
			}
			if len(r.Calls) == 0 {
				t.Error("no calls are shown")
			}
			var b strings.Builder
			(&Text{W: &b, Traceback: "long"}).failure(r)
			if strings.Contains(b.String(), "correct horse battery") {
				t.Errorf("the report shows the write-only value:\n%s", b.String())
			}
			for id := range d.reports { // what a leak of the handler itself made is told, not deleted
				if m.mutant != "makes another when late" && m.mutant != "leaks in an outage" {
					t.Errorf("%s is left behind", id)
				}
			}
		})
	}
}

// TestTwoFaults: a handler that takes each of two faults alone, and not both.
func TestTwoFaults(t *testing.T) {
	d := newDesk("replaces under two faults")
	for _, name := range []string{"same_token_twice", "killed", "lost_response", "late_context"} {
		if summary := tryFaults(t, d, nil, "faults.py::contract_update_"+name); !summary.OK() {
			t.Errorf("one fault is too much already:\n%s", outcomes(summary))
		}
	}
	cfg := Config{
		Schema: flavours[0].schema(t), Function: d, Inputs: flavours[0].inputs(), Faults: &Faults{Restarter: d, Pairs: 1000},
		Selection: Selection{IDs: []string{"faults.py::contract_update_two_faults"}},
	}
	summary, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if r := summary.Results[0]; r.Outcome != Failed || !strings.Contains(r.Message, "although it was not there before") {
		t.Errorf("%s: %s", r.Outcome, r.Message)
	}
}

// TestShrink: of a schedule of four faults, those stay that break the handler.
func TestShrink(t *testing.T) {
	d := newDesk("creates twice")
	var got error
	c := Case{ID: "faults.py::contract_shrink", run: func(ctx context.Context, r *run) error {
		s := schedule{{upset: killed, call: 1}, {upset: late, call: 2}, {upset: lost, call: 0}, {upset: twice, call: 2}}
		_, err := r.play(ctx, "CREATE", clauseOnce, s)
		got = r.withFewerFaults(ctx, "CREATE", clauseOnce, s, err)
		return nil
	}}
	defer func(old []Case) { FaultCases = old }(FaultCases)
	FaultCases = []Case{c}
	tryFaults(t, d, nil, "faults.py")
	if got == nil || !strings.HasPrefix(got.Error(), "CREATE call 1 sent again after its response was lost: ") {
		t.Error(got)
	}
}

func TestSchedules(t *testing.T) {
	all := families[len(families)-1]
	singles := all.singles("CREATE", extent{calls: 3, outbound: 2})
	// Twice, at once and lost at three calls each; killed and late at two; four kinds at two outbound calls.
	if len(singles) != 3*3+2*2+4*2 {
		t.Errorf("%d singles", len(singles))
	}
	if long := all.singles("UPDATE", extent{calls: 100}); len(long) != 5*(maxFaultyCalls+1)-1 {
		t.Errorf("%d singles of a long operation", len(long))
	}
	one, again, other := pairs(singles, 5, 1), pairs(singles, 5, 1), pairs(singles, 5, 2)
	if len(one) != 5 || fmt.Sprint(one) != fmt.Sprint(again) || fmt.Sprint(one) == fmt.Sprint(other) {
		t.Errorf("%v\n%v\n%v", one, again, other)
	}
}
