package console

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A visitant is a browser at a console where browsers sign in.
type visitant struct {
	t       *testing.T
	c       *Console
	host    string
	cookies map[string]string
}

// send sends a request, with a token of a form if there is one on the page of the last answer.
func (v *visitant) send(method, address string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	v.t.Helper()
	r := httptest.NewRequestWithContext(v.t.Context(), method, "http://"+v.host+address, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "http://"+v.host)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	v.c.ServeHTTP(w, r)
	for _, cookie := range w.Result().Cookies() {
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != Prefix || cookie.Domain != "" || !cookie.Expires.IsZero() {
			v.t.Errorf("%s %s: the cookie %s", method, address, cookie)
		}
		v.cookies[cookie.Name] = cookie.Value
	}
	return w
}

func (v *visitant) open(path string, headers ...string) *httptest.ResponseRecorder {
	v.t.Helper()
	return v.send(http.MethodGet, Prefix+path, nil, headers...)
}

func (v *visitant) another() *visitant {
	return &visitant{t: v.t, c: v.c, host: v.host, cookies: map[string]string{}}
}

// lockedConsole is a console of a world where browsers sign in, at a time that the test sets.
func lockedConsole(t *testing.T, now *time.Time, more ...func(*Config)) (*visitant, *engines) {
	t.Helper()
	e := world(t)
	c := newConsole(t, e, append(more, func(c *Config) { c.SignIn, c.Now = true, func() time.Time { return *now } })...)
	return &visitant{t: t, c: c, host: "127.0.0.1:4566", cookies: map[string]string{}}, e
}

// actions are the addresses of every form.
var actions = []string{
	clusterPath + "/default", clusterPath + "/test", clusterPath + "/deregister", "/types/RESOURCE/Example::Chat::Room/activate", "/types/RESOURCE/Acme::Mail::List/deactivate",
	"/stacks/orders/changes/bigger/execute", "/stacks/orders/changes/bigger/delete", "/stacks/orders/refactors/refactor-2/execute", "/stacks/orders/drift",
	"/deploy", "/stacks/shop/cancel", "/stacks/shop/continue", "/stacks/shop/rollback", "/stacks/shop/delete",
}

// streamsOf are the addresses of every stream.
var streamsOf = []string{"/events", "/stacks/events", "/stack-sets/events", "/requests/events", "/calls/events", "/logs/events?group=x"}

// TestEveryRouteHasARow: a new page, form or stream is in the lists of these tests.
func TestEveryRouteHasARow(t *testing.T) {
	t.Parallel()
	now := then
	v, _ := lockedConsole(t, &now)
	for _, path := range append(append([]string{}, allPages...), streamsOf...) {
		if _, pattern := v.c.routes.Handler(httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+Prefix+path, nil)); pattern == "GET /_cfn/" {
			t.Errorf("%s is not a page", path)
		}
	}
	covered := map[string]bool{"GET /_cfn/": true, "GET /_cfn/assets/{file}": true, "GET /_cfn/docs/": true}
	for method, paths := range map[string][]string{http.MethodGet: append(append([]string{clusterPath + "/schema.json"}, allPages...), streamsOf...), http.MethodPost: actions} {
		for _, path := range paths {
			_, pattern := v.c.routes.Handler(httptest.NewRequest(method, "http://127.0.0.1"+Prefix+path, nil))
			covered[pattern] = true
		}
	}
	for _, r := range v.c.table() {
		if !covered[r.pattern()] {
			t.Errorf("no row for %s", r.pattern())
		}
	}
}

// TestNothingWithoutSession: without a session, every page, form and stream answers 401 and shows nothing
// of what there is.
func TestNothingWithoutSession(t *testing.T) {
	t.Parallel()
	now := then
	v, e := lockedConsole(t, &now)
	before := e.contents()
	check := func(name string, w *httptest.ResponseRecorder) {
		t.Helper()
		page := w.Body.String()
		if w.Code != http.StatusUnauthorized || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		if !strings.Contains(page, `<input id="signin"`) || !strings.Contains(page, "cfn console --auth FILE") || strings.Contains(page, "data-events") || !strings.Contains(page, `data-changes=""`) {
			t.Errorf("%s: no page to sign in, or one that follows a stream:\n%s", name, page)
		}
		for _, word := range []string{"billing", "Acme", "000000000000", "without&gt; a sandbox", v.c.Token()} {
			if strings.Contains(strings.ReplaceAll(page, `name="to" value="`, ""), word) && !strings.Contains(name, word) {
				t.Errorf("%s shows %q", name, word)
			}
		}
		if found := inside.FindString(page); found != "" {
			t.Errorf("%s: %q", name, found)
		}
	}
	for _, path := range append(append([]string{"/nothing", clusterPath + "/schema.json"}, allPages...), streamsOf...) {
		check(path, v.open(path))
		v.cookies["cfn_console_4566"], v.cookies["cfn_console"] = "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"
		check(path+" with a cookie of nobody", v.open(path))
		clear(v.cookies)
	}
	for _, path := range actions {
		check("POST "+path, v.send(http.MethodPost, Prefix+path, url.Values{"token": {v.c.sign("nobody")}}))
	}
	if e.contents() != before {
		t.Error("something was changed")
	}
	if w := v.open("/assets/console.css"); w.Code != http.StatusOK {
		t.Errorf("the style of the page: %d", w.Code)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	now := then
	v, e := lockedConsole(t, &now)
	token := v.c.Token()
	if len(token) < 40 {
		t.Fatalf("the token %q is short", token)
	}
	page := "/stacks/arn%3Aaws%2Fshop?deleted=1&in=123456789012%2Fus-east-1"
	w := v.open(page + "&token=" + token)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != Prefix+page || w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("signing in: %d %v", w.Code, w.Header())
	}
	if id := v.cookies["cfn_console_4566"]; len(id) < 40 || id == token {
		t.Errorf("the cookies are %v", v.cookies)
	}
	for _, path := range append([]string{clusterPath + "/schema.json"}, allPages...) {
		if w := v.open(path); w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	form := tokenInput.FindStringSubmatch(v.open(clusterPath).Body.String())
	if form == nil {
		t.Fatal("the page has no form")
	}
	if w := v.send(http.MethodPost, Prefix+clusterPath+"/default", url.Values{"token": {form[1]}, "version": {"00000003"}}); w.Code != http.StatusSeeOther || e.version() != "00000003" {
		t.Errorf("a form: %d, the version is %s", w.Code, e.version())
	}

	// The form of one session is not that of another one.
	second := v.another()
	second.open("/?token=" + token)
	if w := second.send(http.MethodPost, Prefix+clusterPath+"/default", url.Values{"token": {form[1]}, "version": {"00000004"}}); w.Code != http.StatusForbidden || e.version() != "00000003" {
		t.Errorf("the form of another session: %d, the version is %s", w.Code, e.version())
	}

	// A session is of one server: another one, or this one after a restart, has no such session.
	restarted, _ := lockedConsole(t, &now)
	restarted.cookies = v.cookies
	for _, w := range []*httptest.ResponseRecorder{restarted.open("/"), restarted.open("/?token=" + token)} {
		if w.Code != http.StatusUnauthorized {
			t.Errorf("at another server: %d", w.Code)
		}
	}

	// A wrong token ends no session, and a session ends a week after its last use.
	if w := v.open("/calls?token=wrong"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/_cfn/calls" {
		t.Errorf("a wrong token with a session: %d", w.Code)
	}
	for range 3 {
		now = now.Add(6 * 24 * time.Hour)
		if w := v.open("/calls"); w.Code != http.StatusOK {
			t.Errorf("%s: %d", now, w.Code)
		}
	}
	now = now.Add(7*24*time.Hour + time.Second)
	if w := v.open("/calls"); w.Code != http.StatusUnauthorized {
		t.Errorf("after a week: %d", w.Code)
	}
}

var tokenInput = regexp.MustCompile(`name="token" value="([0-9a-f]+)"`)

// TestSignInPage types the token instead.
func TestSignInPage(t *testing.T) {
	t.Parallel()
	now := then
	v, _ := lockedConsole(t, &now)
	v.host = "localhost:9000"
	if page := v.open("/stacks/shop?deleted=1").Body.String(); !strings.Contains(page, `name="to" value="/_cfn/stacks/shop?deleted=1"`) || !strings.Contains(page, "--endpoint-url http://localhost:9000") {
		t.Error(page)
	}
	for to, want := range map[string]string{
		"/_cfn/stacks/shop?deleted=1&token=x": "/_cfn/stacks/shop?deleted=1", "": "/_cfn/", "//evil.example/_cfn/": "/_cfn/", "https://evil.example/_cfn/": "/_cfn/",
		"/elsewhere": "/_cfn/", "/_cfn/sign-in": "/_cfn/", "/_cfn/../../x": "/x", `/\evil.example`: "/_cfn/", "%": "/_cfn/", "javascript:alert(1)": "/_cfn/",
	} {
		b := v.another()
		if w := b.send(http.MethodPost, signInPath, url.Values{"token": {" " + v.c.Token() + "\n"}, "to": {to}}); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("to %q: %d %s, want %s", to, w.Code, w.Header().Get("Location"), want)
		}
		if w := b.open("/calls"); w.Code != http.StatusOK {
			t.Errorf("after signing in: %d", w.Code)
		}
	}
	w := v.send(http.MethodPost, signInPath, url.Values{"token": {"wrong"}, "to": {"/_cfn/calls"}})
	if page := w.Body.String(); w.Code != http.StatusUnauthorized || !strings.Contains(page, "The token is wrong") || !strings.Contains(page, `value="/_cfn/calls"`) || strings.Contains(page, `value="wrong"`) || w.Header().Get("Referrer-Policy") != "same-origin" {
		t.Errorf("a wrong token: %d %s", w.Code, page)
	}
	if page := v.send(http.MethodPost, Prefix+"/stacks/shop/drift", url.Values{}).Body.String(); !strings.Contains(page, `name="to" value="/_cfn/"`) {
		t.Errorf("a form without a session leads to itself: %s", page)
	}
	if w := v.send(http.MethodPost, signInPath, url.Values{"token": {strings.Repeat("x", maxForm)}}); w.Code != http.StatusUnauthorized {
		t.Errorf("a large form: %d", w.Code)
	}
	for _, headers := range [][]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:9000"}} {
		if w := v.send(http.MethodPost, signInPath, url.Values{"token": {v.c.Token()}}, headers...); w.Code != http.StatusForbidden || len(v.cookies) > 0 {
			t.Errorf("a form of another origin: %d", w.Code)
		}
	}
}

// TestLinksOfOthersSignNobodyIn: else a page could show a browser another account than its own.
func TestLinksOfOthersSignNobodyIn(t *testing.T) {
	t.Parallel()
	now := then
	v, _ := lockedConsole(t, &now)
	token := v.c.TokenFor("123456789012")
	for _, site := range []string{"cross-site", "same-site"} {
		w := v.open("/calls?token="+token, "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
		if w.Code != http.StatusUnauthorized || len(v.cookies) > 0 || !strings.Contains(w.Body.String(), `<a href="/_cfn/calls">Open the page</a>`) {
			t.Errorf("%s: %d %v", site, w.Code, v.cookies)
		}
	}
	if w := v.send(http.MethodHead, Prefix+"/?token="+token, nil); w.Code != http.StatusUnauthorized {
		t.Errorf("HEAD: %d", w.Code)
	}
	if w := v.open("/?token="+token, "Sec-Fetch-Site", "none"); w.Code != http.StatusSeeOther {
		t.Errorf("the token is used up: %d", w.Code)
	}
}

// TestOneAccount: a session for one account sees and changes nothing of another one.
func TestOneAccount(t *testing.T) {
	t.Parallel()
	const own = "123456789012"
	now := then
	v, e := lockedConsole(t, &now)
	token := v.c.TokenFor(own)
	if w := v.open("/?token=" + token); w.Code != http.StatusSeeOther {
		t.Fatalf("signing in: %d", w.Code)
	}
	if w := v.another().open("/?token=" + token); w.Code != http.StatusUnauthorized {
		t.Errorf("the token works twice: %d", w.Code)
	}
	token = v.c.TokenFor(own)
	now = now.Add(linkLife + time.Second)
	if w := v.another().open("/?token=" + token); w.Code != http.StatusUnauthorized {
		t.Errorf("the token works after a minute: %d", w.Code)
	}
	in := func(path string, place awswire.Place) string {
		if strings.Contains(path, "in=") {
			return path
		}
		return path + map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "in=" + place.String()
	}
	for _, path := range append(append([]string{clusterPath + "/schema.json"}, allPages...), streamsOf...) {
		if strings.Contains(path, "in="+own) {
			continue
		}
		w := v.open(in(path, home))
		if w.Code != http.StatusForbidden && w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "billing") || strings.Contains(w.Body.String(), "value=\""+home.Account) {
			t.Errorf("%s: %d\n%s", in(path, home), w.Code, w.Body)
		}
	}
	page := v.open("/").Body.String()
	if strings.Contains(page, home.Account) || !strings.Contains(page, `value="123456789012/us-east-1" selected`) {
		t.Errorf("the first page:\n%s", page)
	}
	key := tokenInput.FindStringSubmatch(v.open("/types/RESOURCE/Example::Mail::List?publisher=" + publisher).Body.String())
	if key == nil {
		t.Fatal("the page has no form")
	}
	place := awswire.Place{Account: own, Region: home.Region}
	e.typed(private{place: place, kind: "RESOURCE", name: "MongoDB::Atlas::Cluster", standard: 1, versions: []row{{}, {}, {}}})
	before := e.contents()
	for _, path := range actions {
		if w := v.send(http.MethodPost, Prefix+in(path, home), url.Values{"token": {key[1]}}); w.Code != http.StatusForbidden || e.contents() != before {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
	w := v.send(http.MethodPost, Prefix+clusterPath+"/default", url.Values{"token": {key[1]}, "version": {"00000003"}})
	versions, err := e.registry.TypeVersions(t.Context(), awswire.Caller{Place: place}, "RESOURCE", "MongoDB::Atlas::Cluster")
	if w.Code != http.StatusSeeOther || err != nil || !versions[0].Default || e.version() != "00000002" {
		t.Errorf("in the own account: %d, %+v, %v; in the other one, the version is %s", w.Code, versions, err, e.version())
	}

	// The URL of another account replaces the session.
	session := v.cookies["cfn_console_4566"]
	v.open("/?token=" + v.c.TokenFor("222222222222"))
	if _, known := v.c.door.session(session); known {
		t.Error("the session before is still known")
	}
}

// TestWrongTokens: failures are limited and reported, and lock nobody out.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	now := then
	v, _ := lockedConsole(t, &now, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
	session := v.another()
	session.open("/?token=" + v.c.Token())
	statuses := map[int]int{}
	for i := range 100 {
		statuses[v.open(fmt.Sprintf("/?token=%d", i)).Code]++
	}
	if statuses[http.StatusUnauthorized] != maxFailures || statuses[http.StatusTooManyRequests] != 100-maxFailures {
		t.Errorf("the answers are %v", statuses)
	}
	if n := strings.Count(logged.String(), "level=WARN"); n != 1 || strings.Contains(logged.String(), v.c.Token()) {
		t.Errorf("the log has %d warnings: %s", n, &logged)
	}
	if w := session.open("/calls"); w.Code != http.StatusOK {
		t.Errorf("a session: %d", w.Code)
	}
	if w := v.another().open("/?token=" + v.c.Token()); w.Code != http.StatusSeeOther {
		t.Errorf("the right token: %d", w.Code)
	}
	now = now.Add(time.Minute)
	if w := v.open("/?token=x"); w.Code != http.StatusUnauthorized {
		t.Errorf("a minute later: %d", w.Code)
	}
}

// TestSignInIsBounded: one account cannot take memory, or the sessions of another one.
func TestSignInIsBounded(t *testing.T) {
	t.Parallel()
	now := then
	v, _ := lockedConsole(t, &now)
	v.open("/?token=" + v.c.Token())
	link := v.c.TokenFor("111111111111")
	for range 3 * maxSessions {
		now = now.Add(time.Millisecond)
		v.another().open("/?token=" + v.c.TokenFor("222222222222"))
		v.c.TokenFor("222222222222")
	}
	if len(v.c.door.links) > maxLinks+1 || len(v.c.door.sessions) > maxSessions+1 {
		t.Errorf("%d tokens and %d sessions", len(v.c.door.links), len(v.c.door.sessions))
	}
	if w := v.open("/calls"); w.Code != http.StatusOK {
		t.Errorf("the session before: %d", w.Code)
	}
	if w := v.another().open("/?token=" + link); w.Code != http.StatusSeeOther {
		t.Errorf("the token of another account: %d", w.Code)
	}
}

// TestNoSignIn: where nobody has to sign in, there are no tokens, and one in an address means nothing.
func TestNoSignIn(t *testing.T) {
	t.Parallel()
	c := newConsole(t, newEngines(t))
	if c.Token() != "" || c.TokenFor("123456789012") != "" {
		t.Error("the console has tokens")
	}
	if w := get(t, c, "/?token=x"); w.Code != http.StatusOK {
		t.Errorf("with a token: %d", w.Code)
	}
}
