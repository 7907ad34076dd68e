package console

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A listener reads the events of a stream.
type listener struct {
	t      *testing.T
	status int
	lines  *bufio.Scanner
	end    func()
}

func listen(t *testing.T, server *httptest.Server, path, last string) *listener {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+Prefix+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{t: t, status: response.StatusCode, lines: bufio.NewScanner(response.Body), end: func() { cancel(); response.Body.Close() }}
	t.Cleanup(l.end)
	if l.status == http.StatusOK && response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the stream is %s", response.Header.Get("Content-Type"))
	}
	return l
}

// next is the next event, all lines of it; "" at the end of the stream.
func (l *listener) next() string {
	l.t.Helper()
	var event []string
	for l.lines.Scan() {
		switch line := l.lines.Text(); {
		case line == "" && len(event) > 0:
			return strings.Join(event, "|")
		case line == "" || strings.HasPrefix(line, ":") || strings.HasPrefix(line, "retry:"):
		default:
			event = append(event, line)
		}
	}
	return ""
}

func serve(t *testing.T, c *Console) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // before the server, which waits for its requests
	return server
}

func TestFollowLogs(t *testing.T) {
	t.Parallel()
	logs := newEngines(t)
	for i := range 7 {
		logs.write("g", fmt.Sprintf("line %d", i+1))
	}
	server := serve(t, newConsole(t, logs))
	l := listen(t, server, "/logs/events?group=g&after=5", "")
	want := func(number int, text string) {
		t.Helper()
		event := l.next()
		if !strings.HasPrefix(event, fmt.Sprintf("id: %d|event: line|data: {", number)) || !strings.Contains(event, `"pieces":[{"t":"`+text) {
			t.Errorf("got %s, want line %d %s", event, number, text)
		}
	}
	want(6, "line 6")
	want(7, "line 7")
	logs.write("g", "\x1b[31mred\x1b[0m </script>\nid: 5")
	want(8, "red")
	l.end()

	// A reader that comes back says what it has: that counts more than the address.
	l = listen(t, server, "/logs/events?group=g&after=2", "7")
	want(8, "red")
	l.end()

	// An ID that is gone is no obstacle, and neither is a group that does not exist yet.
	l = listen(t, server, "/logs/events?group=later", "")
	logs.write("later", "first")
	want(1, "first")

	for _, path := range []string{"/logs/events", "/logs/events?group=g&in=nowhere", "/events?in=nowhere"} {
		if l := listen(t, server, path, ""); l.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, l.status)
		}
	}
}

// TestBacklog: a reader that was away for long gets everything, in pieces.
func TestBacklog(t *testing.T) {
	t.Parallel()
	logs := newEngines(t)
	const n = 3*streamLines + 7
	for i := range n {
		logs.write("g", fmt.Sprint(i))
	}
	l := listen(t, serve(t, newConsole(t, logs)), "/logs/events?group=g&after=1", "")
	for i := 2; i <= n; i++ {
		if event := l.next(); !strings.HasPrefix(event, fmt.Sprintf("id: %d|", i)) {
			t.Fatalf("line %d: %s", i, event)
		}
	}
}

func TestFollowChanges(t *testing.T) {
	t.Parallel()
	e := world(t)
	elsewhere := awswire.Caller{Place: awswire.Place{Account: "123456789012", Region: "eu-west-1"}, RequestID: "r"}
	e.typed(private{place: elsewhere.Place, kind: "RESOURCE", name: "A1::B1::C1", standard: 1, versions: []row{{}}})
	c := newConsole(t, e)
	server := serve(t, c)
	l := listen(t, server, "/events", "")
	other := listen(t, server, "/events?in=123456789012/eu-west-1", "")
	e.setVersion(caller, "MongoDB::Atlas::Cluster", "00000003")
	e.setVersion(elsewhere, "A1::B1::C1", "00000001")
	if event := l.next(); event != `event: change|data: {"kind":"RESOURCE","type":"MongoDB::Atlas::Cluster"}` {
		t.Errorf("got %s", event)
	}
	if event := other.next(); event != `event: change|data: {"kind":"RESOURCE","type":"A1::B1::C1"}` {
		t.Errorf("got %s", event)
	}
	other.end()
	fixtures.Await(t, "room for another stream", func() bool { return len(c.streams) == 1 })

	// Closing the console ends what is open, and nothing new begins.
	c.Close()
	if event := l.next(); event != "" {
		t.Errorf("after the end: %s", event)
	}
	if n := len(c.streams); n != 0 {
		t.Errorf("%d streams are open", n)
	}
	if l := listen(t, server, "/events", ""); l.status != http.StatusServiceUnavailable {
		t.Errorf("a stream begins after the end: %d", l.status)
	}
	if w := get(t, c, "/"); w.Code != http.StatusOK {
		t.Errorf("a page after the end: %d", w.Code)
	}
}

// TestLookAgain: pages look again from time to time, because other servers say nothing.
func TestLookAgain(t *testing.T) {
	t.Parallel()
	c := newConsole(t, newEngines(t), func(c *Config) { c.RefreshInterval = 10 * time.Millisecond })
	if event := listen(t, serve(t, c), "/events", "").next(); event != "event: look|data: null" {
		t.Errorf("got %s", event)
	}
}

// TestFollowCalls: a page of calls hears of those that it would show, and of no others.
func TestFollowCalls(t *testing.T) {
	t.Parallel()
	logs := world(t)
	server := serve(t, newConsole(t, logs))
	address := func(path string) string {
		page := get(t, newConsole(t, logs), path).Body.String()
		return strings.TrimPrefix(html.UnescapeString(regexp.MustCompile(`data-changes="([^"]*)"`).FindStringSubmatch(page)[1]), Prefix)
	}
	call := func(id, typeName, action, status string, age time.Duration) {
		logs.called(handlers.Invocation{
			ID: id, Account: home.Account, Region: home.Region, Kind: "RESOURCE", TypeName: typeName, Version: "00000002", Action: action, Status: status, StartedAt: store.At(then.Add(-age)),
		})
	}
	all := address("/calls")
	everything := listen(t, server, all, "")
	failures := listen(t, server, address(clusterPath+"/calls?failed=1&action=READ"), "")
	call("1", "Other::Type::Name", "READ", "FAILED", 0)
	first := everything.next()
	if !strings.HasPrefix(first, "id: ") || !strings.HasSuffix(first, "|event: change|data: null") {
		t.Errorf("got %s", first)
	}
	call("2", "MongoDB::Atlas::Cluster", "READ", "SUCCESS", 0)
	everything.next()
	call("3", "MongoDB::Atlas::Cluster", "DELETE", "ERROR", 0)
	everything.next()
	call("4", "MongoDB::Atlas::Cluster", "READ", "ERROR", time.Second) // began before others, ended after them
	if now := everything.next(); now == first || !strings.HasSuffix(now, "|event: change|data: null") {
		t.Errorf("got %s", now)
	}
	heard := failures.next()
	if !strings.HasSuffix(heard, "|event: change|data: null") {
		t.Errorf("got %s", heard)
	}
	failures.end()

	// The page is told nothing that it knows: neither by its address nor from before.
	id, _, _ := strings.Cut(strings.TrimPrefix(heard, "id: "), "|")
	again := listen(t, server, address(clusterPath+"/calls?failed=1&action=READ"), "")
	reconnected := listen(t, server, "/calls/events?type=MongoDB::Atlas::Cluster&failed=1&action=READ&last=old", id)
	call("5", "MongoDB::Atlas::Cluster", "READ", "ERROR", 0)
	if a, b := again.next(), reconnected.next(); a != b || a == heard {
		t.Errorf("told %s and %s after %s", a, b, heard)
	}
	if l := listen(t, server, "/calls/events?in=nowhere", ""); l.status != http.StatusNotFound {
		t.Errorf("of no place: status %d", l.status)
	}
}

// TestManyStreams: there are only so many, and one that ends makes room.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	c := newConsole(t, newEngines(t), func(c *Config) { c.MaxStreams = 3 })
	server := serve(t, c)
	var open []*listener
	for range 3 {
		open = append(open, listen(t, server, "/events", ""))
	}
	l := listen(t, server, "/logs/events?group=g", "")
	if l.status != http.StatusServiceUnavailable {
		t.Errorf("a fourth stream: %d", l.status)
	}
	open[1].end()
	fixtures.Await(t, "room for another", func() bool { return len(c.streams) == 2 })
	if l := listen(t, server, "/events", ""); l.status != http.StatusOK {
		t.Errorf("after one has ended: %d", l.status)
	}
}
