package local_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// node starts one of several servers on a database. They have the key of the first one.
func node(t *testing.T, database, key string) (server *process, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	if key != "" {
		copyKey(t, key, dir)
	}
	return mustStart(t, serverOptions{Dir: dir, Database: database}), dir
}

func copyKey(t *testing.T, from, to string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from, local.KeyFile))
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, local.KeyFile), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// takeover is how long the work of a node that was killed may take to be taken over and
// done: its lease of 15 s, and the work.
const takeover = 30 * time.Second

// TestNodes has two servers share a database, and kills the one that works.
func TestNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what waits for leases to end")
	}
	t.Parallel()
	database := fixtures.NeedPostgres(t)
	one, dir := node(t, database, "")
	two, _ := node(t, database, dir)
	nodes := map[string]*process{one.url: one, two.url: two}
	file := filepath.Join(t.TempDir(), "notes")
	data := spyPackage(t, file, "", 4)

	// kill waits until some node has begun, kills it and returns clients of the other one.
	kill := func(began func(spied) bool) (c clients, dead string) {
		t.Helper()
		eventually(t, takeover, "the begin of the work", func() bool {
			for _, seen := range notes(t, file) {
				if began(seen) {
					dead = seen.Endpoint
					return true
				}
			}
			return false
		})
		nodes[dead].kill()
		for url := range nodes {
			if url != dead {
				c = newClients(t, url)
			}
		}
		return c, dead
	}

	// A registration, while its handler starts.
	token := registerSpy(t, newClients(t, one.url), data)
	c, dead := kill(func(seen spied) bool { return seen.Start != "" })
	killed := time.Now()
	registered(t, c, token, takeover)
	t.Logf("the registration was complete %s after the kill", time.Since(killed).Round(time.Second))
	delete(nodes, dead)
	for alive := range nodes {
		third, _ := node(t, database, dir)
		nodes[third.url] = third
		one, two = nodes[alive], third
	}

	// A test, at a call of the handler.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := newClients(t, two.url).TestType(t.Context(), &cloudformation.TestTypeInput{Type: cfntypes.ThirdPartyTypeResource, TypeName: aws.String(spyType)}); err != nil {
		t.Fatal(err)
	}
	c, dead = kill(func(seen spied) bool { return seen.Action != "" })
	killed = time.Now()
	tested(t, c, takeover)
	t.Logf("the tests were complete %s after the kill", time.Since(killed).Round(time.Second))
	if len(notes(t, file)) == 0 {
		t.Error("the handler was not called")
	}
	delete(nodes, dead)
	for alive := range nodes {
		third, _ := node(t, database, dir)
		one, two = nodes[alive], third
	}

	// Both run the handler, and both show what it printed on either.
	for _, p := range []*process{one, two} {
		invokeSpy(t, newClients(t, p.url), `{"action": "READ"}`)
	}
	for _, p := range []*process{one, two} {
		eventually(t, time.Minute, "the logs of two processes", func() bool { return len(starts(t, p.url)) >= 2 })
	}
	sameForms(t, one.url, two.url)
}

// starts are the log streams with calls of the handler, as a server shows them.
func starts(t *testing.T, url string) map[string]bool {
	t.Helper()
	client := cloudwatchlogs.New(cloudwatchlogs.Options{BaseEndpoint: &url, Region: region, Credentials: credentials.NewStaticCredentialsProvider(account, "any", "")})
	out, err := client.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/aws/lambda/Acme-Spy-Thing"), FilterPattern: aws.String("START")})
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]bool{}
	for _, event := range out.Events {
		streams[*event.LogStreamName] = true
	}
	return streams
}

var tokenField = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

// sameForms sends the form of one server's page to another one, as behind one address.
func sameForms(t *testing.T, one, two string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	page := "/_cfn/types/RESOURCE/" + spyType + "?in=" + account + "/" + region
	response, err := client.Get(one + page)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	token := tokenField.FindSubmatch(body)
	if token == nil {
		t.Fatalf("%s: no form is on the page: %s", response.Status, body)
	}
	post := func(token string) int {
		form := url.Values{"token": {token}, "version": {"00000001"}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, two+strings.Replace(page, "?", "/default?", 1), strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", two)
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if status := post(string(token[1])); status != http.StatusSeeOther {
		t.Errorf("the form of another server: %d", status)
	}
	if status := post(strings.Repeat("0", len(token[1]))); status != http.StatusForbidden {
		t.Errorf("a form with a token of nobody: %d", status)
	}
}

// TestOtherKey starts a server whose key is not that of the database.
func TestOtherKey(t *testing.T) {
	eachPlace(t, func(t *testing.T, o serverOptions) {
		first := mustStart(t, o)
		first.terminate(t)
		kept := filepath.Join(t.TempDir(), "kept")
		copyKey(t, o.Dir, kept)
		if err := os.Remove(filepath.Join(o.Dir, local.KeyFile)); err != nil {
			t.Fatal(err)
		}
		_, err := startProcess(t, o)
		if want := filepath.Join(o.Dir, local.KeyFile) + ": the secrets of this store are sealed with another key"; err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("with another key: %v, want %s", err, want)
		}
		copyKey(t, kept, o.Dir)
		mustStart(t, o)
	})
}
