package customresource

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

func request(kind RequestType) *Request {
	r := &Request{
		RequestType: kind, RequestID: "req-1", StackID: "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/id", ResourceType: "Custom::Thing",
		LogicalResourceID: "Thing", Properties: map[string]any{"A": "1"},
	}
	if kind != Create {
		r.PhysicalResourceID = "p-1"
	}
	return r
}

// body is a valid response with changes; nil removes a key.
func body(r *Request, changes map[string]any) []byte {
	fields := map[string]any{
		"Status": "SUCCESS", "RequestId": r.RequestID, "StackId": r.StackID, "LogicalResourceId": r.LogicalResourceID, "PhysicalResourceId": "p-1",
	}
	for key, value := range changes {
		if value == nil {
			delete(fields, key)
		} else {
			fields[key] = value
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return text
}

func TestRequest(t *testing.T) {
	properties := map[string]any{"ServiceToken": "arn:f", "N": json.Number("5"), "F": 1.5, "B": true, "L": []any{false, "x"}, "M": map[string]any{"K": json.Number("1e3")}}
	const sent = `{"B":"true","F":"1.5","L":["false","x"],"M":{"K":"1e3"},"N":"5","ServiceToken":"arn:f"}`
	for kind, want := range map[RequestType]string{
		Create: `{"RequestType":"Create","ServiceToken":"arn:f","ResponseURL":"http://u","StackId":"s","RequestId":"r","LogicalResourceId":"L","ResourceType":"Custom::X","ResourceProperties":` + sent + `}`,
		Update: `{"RequestType":"Update","ServiceToken":"arn:f","ResponseURL":"http://u","StackId":"s","RequestId":"r","LogicalResourceId":"L","PhysicalResourceId":"p","ResourceType":"Custom::X","ResourceProperties":` + sent + `,"OldResourceProperties":{"B":"false"}}`,
		Delete: `{"RequestType":"Delete","ServiceToken":"arn:f","ResponseURL":"http://u","StackId":"s","RequestId":"r","LogicalResourceId":"L","PhysicalResourceId":"p","ResourceType":"Custom::X","ResourceProperties":` + sent + `}`,
	} {
		r := &Request{
			RequestType: kind, ServiceToken: "arn:f", ResponseURL: "http://u", StackID: "s", RequestID: "r", LogicalResourceID: "L", PhysicalResourceID: "p",
			ResourceType: "Custom::X", Properties: properties, OldProperties: map[string]any{"B": false},
		}
		got, err := r.Encode()
		var is, should any
		if err := json.Unmarshal([]byte(want), &should); err != nil {
			t.Fatal(err)
		}
		if err != nil || json.Unmarshal(got, &is) != nil || fmt.Sprint(is) != fmt.Sprint(should) {
			t.Errorf("%s: %s, %v\nwant %s", kind, got, err, want)
		}
	}
	got, err := (&Request{RequestType: Update}).Encode()
	if err != nil || !strings.Contains(string(got), `"OldResourceProperties":{}`) || !strings.Contains(string(got), `"ResourceProperties":{}`) {
		t.Errorf("an update of nothing: %s, %v", got, err)
	}
}

// TestRules has, for every rule, a response that breaks it and no other one.
func TestRules(t *testing.T) {
	create, update, del := request(Create), request(Update), request(Delete)
	const object = "arn:aws:cloudformation:eu-west-1:123456789012:stack/s/id|Thing|req-1"
	lacks := func(key string) string {
		return "Vendor response doesn't contain " + key + " key in object " + object
	}
	tests := []struct {
		rule    string
		request *Request
		body    []byte
		reason  string
	}{
		{"RESPONSE_SIZE", create, body(create, map[string]any{"Data": map[string]any{"K": strings.Repeat("x", 4096)}}), "Response object is too long."},
		{"RESPONSE_OBJECT", create, []byte(`[]`), "Invalid Response object: the response is not a JSON object"},
		{"RESPONSE_OBJECT", create, []byte(`{"Status":`), "Invalid Response object: the response is not a JSON object"},
		{"RESPONSE_OBJECT", create, nil, "Invalid Response object: the response is not a JSON object"},
		{"RESPONSE_OBJECT", create, append(body(create, nil), '1'), "Invalid Response object: the response is not a JSON object"},
		{"STATUS_MISSING", create, body(create, map[string]any{"Status": nil}), lacks("Status")},
		{"STATUS_VALUE", create, body(create, map[string]any{"Status": "FAILURE"}), "Invalid Response object: 'FAILURE' is not a valid ResponseStatus"},
		{"STATUS_VALUE", create, body(create, map[string]any{"Status": true}), "Invalid Response object: 'true' is not a valid ResponseStatus"},
		{"REQUEST_ID_MISSING", create, body(create, map[string]any{"RequestId": nil}), lacks("RequestId")},
		{"REQUEST_ID_DIFFERS", create, body(create, map[string]any{"RequestId": "req-2"}), ""},
		{"STACK_ID_MISSING", create, body(create, map[string]any{"StackId": nil}), lacks("StackId")},
		{"STACK_ID_DIFFERS", create, body(create, map[string]any{"StackId": "other"}), ""},
		{"LOGICAL_ID_MISSING", create, body(create, map[string]any{"LogicalResourceId": nil}), lacks("LogicalResourceId")},
		{"LOGICAL_ID_DIFFERS", create, body(create, map[string]any{"LogicalResourceId": 1}), ""},
		{"PHYSICAL_ID_MISSING", create, body(create, map[string]any{"PhysicalResourceId": nil}), lacks("PhysicalResourceId")},
		{"PHYSICAL_ID_TYPE", create, body(create, map[string]any{"PhysicalResourceId": 5}), "Invalid PhysicalResourceId"},
		{"PHYSICAL_ID_EMPTY", create, body(create, map[string]any{"PhysicalResourceId": "", "Status": "FAILED", "Reason": "no"}), "Invalid PhysicalResourceId"},
		{"PHYSICAL_ID_SIZE", create, body(create, map[string]any{"PhysicalResourceId": strings.Repeat("p", 1025)}), "Invalid PhysicalResourceId"},
		{"PHYSICAL_ID_CHANGED", del, body(del, map[string]any{"PhysicalResourceId": "p-2"}), ""},
		{"PHYSICAL_ID_CHANGED", update, body(update, map[string]any{"PhysicalResourceId": "p-2", "Status": "FAILED", "Reason": "no"}), ""},
		{"REASON_MISSING", create, body(create, map[string]any{"Status": "FAILED"}), lacks("Reason")},
		{"REASON_TYPE", create, body(create, map[string]any{"Status": "FAILED", "Reason": map[string]any{"a": 1}}), ""},
		{"NO_ECHO_TYPE", create, body(create, map[string]any{"NoEcho": "true"}), ""},
		{"NO_ECHO_DELETE", del, body(del, map[string]any{"NoEcho": true}), ""},
		{"DATA_TYPE", create, body(create, map[string]any{"Data": []any{"a"}}), "Invalid Response object: Data is not a JSON object"},
		{"DATA_DELETE", del, body(del, map[string]any{"Data": map[string]any{"A": "b"}}), ""},
	}
	broken := map[string]bool{}
	for _, test := range tests {
		response, found := Check(test.request, test.body)
		broken[test.rule] = true
		if len(found) != 1 || found[0].Rule.ID != test.rule || found[0].Reason != test.reason || found[0].Message == "" {
			t.Errorf("%s: %+v, want the reason %q", test.rule, found, test.reason)
			continue
		}
		if counts := found[0].Rule.Effect == Accepted; counts != (response != nil) {
			t.Errorf("%s is %s, and the response is %+v", test.rule, found[0].Rule.Effect, response)
		}
	}
	ids := map[string]bool{}
	for _, rule := range Rules() {
		if ids[rule.ID] || !broken[rule.ID] || rule.Text == "" || FindRule(rule.ID) == nil {
			t.Errorf("the rule %s is duplicated or has no test", rule.ID)
		}
		ids[rule.ID] = true
	}
	if FindRule("NOTHING") != nil {
		t.Error("a rule was found that does not exist")
	}
}

// TestSectionsOfRules looks the sections of the rules up in the reference.
func TestSectionsOfRules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "../spec"), "custom-resource-protocol.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	after := slices.Index(lines, "Response object")
	for _, rule := range Rules() {
		heading, field, _ := strings.Cut(rule.Section, ": ")
		if !strings.Contains(string(text), heading) || field != "" && !slices.Contains(lines[after:], field) {
			t.Errorf("%s: the reference has no section %q", rule.ID, rule.Section)
		}
	}
}

func TestResponses(t *testing.T) {
	create, del := request(Create), request(Delete)
	response, found := Check(create, body(create, map[string]any{"NoEcho": true, "Data": map[string]any{"N": 1, "M": map[string]any{"K": "v"}}, "Reason": "fine", "More": 1}))
	if found != nil || !response.Succeeded() || !response.NoEcho || response.Reason != "fine" || fmt.Sprint(response.Data) != "map[M:map[K:v] N:1]" {
		t.Errorf("%+v, %+v", response, found)
	}
	for _, none := range []any{nil, json.RawMessage("null")} {
		if response, found := Check(create, body(create, map[string]any{"Data": none})); found != nil || response.Data != nil {
			t.Errorf("Data %v: %+v, %+v", none, response, found)
		}
	}
	if response, found := Check(del, body(del, map[string]any{"Data": map[string]any{}})); found != nil || response.Data != nil {
		t.Errorf("%+v, %+v", response, found)
	}
	if _, found := Check(create, append([]byte("\ufeff"), body(create, nil)...)); found != nil {
		t.Errorf("a byte order mark: %+v", found)
	}
	if got := (&Response{Reason: "no"}).FailureReason("r"); got != "Received response status [FAILED] from custom resource. Message returned: no (RequestId: r)" {
		t.Error(got)
	}
}

func TestTimeouts(t *testing.T) {
	for text, want := range map[any]time.Duration{
		"1": time.Second, json.Number("3600"): time.Hour, "14400": MaxTimeout,
		"0": 0, "14401": 0, "-1": 0, "1.5": 0, "x": 0, "": 0, true: 0, "99999999999999999999": 0,
	} {
		got, err := Timeout(map[string]any{PropertyTimeout: text})
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%v: %s, %v", text, got, err)
		}
		if err != nil && err.Error() != "ServiceTimeout must be an integer between 1 and 14400 seconds" {
			t.Error(err)
		}
	}
	if got, err := Timeout(nil); got != DefaultTimeout || err != nil {
		t.Errorf("without: %s, %v", got, err)
	}
}

func TestTypeNames(t *testing.T) {
	for name, valid := range map[string]bool{
		TypeName: true, "Custom::A": true, "Custom::a_b@c-9": true, "Custom::": false, "Custom::A::B": false, "Custom::A b": false,
		"Custom::" + strings.Repeat("x", 52): true, "Custom::" + strings.Repeat("x", 53): false,
	} {
		if err := CheckType(name); (err == nil) != valid || !IsType(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if IsType("AWS::S3::Bucket") {
		t.Error("a bucket is a custom resource")
	}
}

// put puts a body at a URL and returns status and answer.
func put(t *testing.T, method, url string, body []byte, contentType ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range contentType {
		r.Header.Set("Content-Type", text)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var text [1000]byte
	n, _ := answer.Body.Read(text[:])
	return answer.StatusCode, string(text[:n])
}

// TestMailbox puts at response URLs what they must take and refuse.
func TestMailbox(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	box := &Mailbox{Now: func() time.Time { return now }}
	server := httptest.NewServer(Handler(box, nil))
	defer server.Close()
	r := request(Create)
	slot := box.Open(server.URL, r, time.Minute)
	if !strings.HasPrefix(r.ResponseURL, server.URL+URLPath) || !strings.Contains(r.ResponseURL, "%7CThing%7Creq-1?") {
		t.Errorf("the URL is %s", r.ResponseURL)
	}
	expect := func(name string, wantStatus int, want string, status int, answer string) {
		t.Helper()
		if status != wantStatus || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	_, secret, _ := strings.Cut(r.ResponseURL, urlSignature+"=")
	guessed := strings.Replace(r.ResponseURL, secret[:64], NewSignature(), 1)
	status, answer := put(t, "PUT", guessed, body(r, nil))
	expect("guessed", 403, "<Code>SignatureDoesNotMatch</Code>", status, answer)
	status, answer = put(t, "PUT", strings.Replace(r.ResponseURL, "%7CThing%7C", "%7COther%7C", 1), body(r, nil))
	expect("another logical ID", 403, "<Code>SignatureDoesNotMatch</Code>", status, answer)
	status, answer = put(t, "PUT", server.URL+URLPath, body(r, nil))
	expect("without signature", 403, "<Code>SignatureDoesNotMatch</Code>", status, answer)
	status, answer = put(t, "POST", r.ResponseURL, body(r, nil))
	expect("POST", 405, "<Code>MethodNotAllowed</Code>", status, answer)
	status, answer = put(t, "PUT", r.ResponseURL, body(r, map[string]any{"RequestId": "other"}))
	expect("of another request", 400, "RequestId is &#34;other&#34;", status, answer)
	if response, refusal := slot.Response(); response != nil || refusal != nil || slot.isTaken() {
		t.Errorf("before: %v, %v", response, refusal)
	}
	status, answer = put(t, "PUT", r.ResponseURL, body(r, nil), "")
	expect("the response", 200, "", status, answer)
	<-slot.Taken()
	status, answer = put(t, "PUT", r.ResponseURL, body(r, nil), "application/json")
	expect("again", 403, "<Code>AccessDenied</Code>", status, answer)
	if response, refusal := slot.Response(); response == nil || refusal != nil || response.PhysicalResourceID != "p-1" {
		t.Errorf("after: %v, %v", response, refusal)
	}
	var outcomes []Outcome
	for _, d := range slot.Deliveries() {
		outcomes = append(outcomes, d.Outcome)
	}
	if want := []Outcome{NotTheAnswer, Taken, Used}; !slices.Equal(outcomes, want) {
		t.Errorf("outcomes %s, want %s", outcomes, want)
	}

	long := box.Open(server.URL, r, time.Minute)
	status, answer = put(t, "PUT", r.ResponseURL, []byte(strings.Repeat("x", 100_000)))
	expect("oversized", 400, "<Code>EntityTooLarge</Code>", status, answer)
	if response, refusal := long.Response(); response != nil || refusal == nil || refusal.Reason != "Response object is too long." {
		t.Errorf("oversized: %v, %v", response, refusal)
	}
	late := box.Open(server.URL, r, time.Minute)
	now = now.Add(time.Minute)
	status, answer = put(t, "PUT", r.ResponseURL, body(r, nil))
	expect("late", 403, "Request has expired", status, answer)
	late.Close()
	status, answer = put(t, "PUT", r.ResponseURL, body(r, nil))
	expect("closed", 403, "<Code>SignatureDoesNotMatch</Code>", status, answer)
	slot.Close()
	long.Close()
	if len(box.slots) > 0 {
		t.Error("the mailbox is not empty")
	}
}

// TestFirstResponseWins delivers many responses at once.
func TestFirstResponseWins(t *testing.T) {
	box, r := &Mailbox{}, request(Create)
	slot := box.Open("http://h", r, time.Hour)
	parsed, err := url.Parse(r.ResponseURL)
	if err != nil {
		t.Fatal(err)
	}
	at := AddressOf(parsed)
	taken := make([]string, 50)
	var all sync.WaitGroup
	for i := range taken {
		all.Go(func() {
			id := fmt.Sprint("p-", i)
			if outcome, _, err := box.Deliver(t.Context(), at, body(r, map[string]any{"PhysicalResourceId": id})); err == nil && outcome == Taken {
				taken[i] = id
			}
		})
	}
	all.Wait()
	won := slices.DeleteFunc(taken, func(id string) bool { return id == "" })
	response, _ := slot.Response()
	if len(won) != 1 || response.PhysicalResourceID != won[0] {
		t.Errorf("%v won, and the response is %+v", won, response)
	}
}

func TestSignaturesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s := NewSignature()
		seen[s] = true
		if len(s) != 64 || (Address{"o", s}).Hash() == s {
			t.Errorf("signature %s", s)
		}
	}
	if len(slices.Collect(maps.Keys(seen))) != 100 {
		t.Error("a signature came twice")
	}
}

// TestNoEscapes: URLs in requests and messages can be copied.
func TestNoEscapes(t *testing.T) {
	for _, kind := range []RequestType{Create, Update, Delete} {
		text, err := (&Request{RequestType: kind, ResponseURL: "http://h/r?a=1&b=<2>"}).Encode()
		if err != nil || !strings.Contains(string(text), `"http://h/r?a=1&b=<2>"`) || strings.HasSuffix(string(text), "\n") {
			t.Errorf("%s: %s %v", kind, text, err)
		}
	}
	if got := quoted("a&b"); got != `"a&b"` {
		t.Errorf("got %s", got)
	}
}
