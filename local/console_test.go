package local_test

import (
	"bytes"
	"html"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/local"
)

// A consoleUser is a browser at a console.
type consoleUser struct {
	http.Client

	t   *testing.T
	url string
}

// signedIn is a browser that has opened a URL with a token.
func signedIn(t *testing.T, server *local.Server, address string) *consoleUser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	u := &consoleUser{t: t, url: server.URL()}
	u.Jar, u.CheckRedirect = jar, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if status, _, location := u.send(http.MethodGet, address, nil); status != http.StatusSeeOther || location != "/_cfn/" {
		t.Fatalf("signing in at %s: %d to %q", address, status, location)
	}
	return u
}

func (u *consoleUser) send(method, address string, form url.Values) (status int, body, location string) {
	u.t.Helper()
	request, err := http.NewRequestWithContext(u.t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		u.t.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", u.url)
	}
	response, err := u.Do(request)
	if err != nil {
		u.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		u.t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header.Get("Location")
}

// oneAccountURL is what cfn console prints for a key.
func oneAccountURL(t *testing.T, server *local.Server, id, secret string) string {
	t.Helper()
	r, err := submit.Open(t.Context(), submit.Config{Endpoint: server.URL(), Key: aws.Credentials{AccessKeyID: id, SecretAccessKey: secret}, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	address, once, err := r.ConsoleURL(t.Context())
	if err != nil || !once {
		t.Fatal(address, once, err)
	}
	return address
}

var postForm = regexp.MustCompile(`<form method="post" action="([^"]*)"`)

// pages are the pages that links lead to, but no stream.
func (u *consoleUser) pages(waiting ...string) (pages map[string]string, forms []string) {
	u.t.Helper()
	pages = map[string]string{}
	for len(waiting) > 0 && len(pages) < 400 {
		path, _, _ := strings.Cut(html.UnescapeString(waiting[0]), "#")
		waiting = waiting[1:]
		if _, seen := pages[path]; seen || regexp.MustCompile(`^/_cfn/([a-z-]+/)?events|/assets/`).MatchString(path) {
			continue
		}
		status, text, _ := u.send(http.MethodGet, u.url+path, nil)
		if status >= 500 {
			u.t.Errorf("%s: %d", path, status)
		}
		pages[path] = text
		for _, link := range canaryLink.FindAllStringSubmatch(text, -1) {
			waiting = append(waiting, link[1])
		}
		for _, form := range postForm.FindAllStringSubmatch(text, -1) {
			if path := html.UnescapeString(form[1]); !slices.Contains(forms, path) {
				forms = append(forms, path)
			}
		}
	}
	return pages, forms
}

// TestConsoleOfOneAccount: a browser that signed in with the URL for one account sees nothing of
// another one, and changes nothing of it, under whatever account, name or ARN it looks there.
func TestConsoleOfOneAccount(t *testing.T) {
	server := serving(t, local.ServerConfig{Config: local.Config{Dir: t.TempDir(), Keys: twoKeys}})
	mine := signer(server.URL(), keyID, secret)
	names := possessions(t, server.URL(), mine)
	other := keyedClients(t, server.URL(), otherID, otherSecret)
	if _, err := other.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: aws.String("theirs"), TemplateBody: aws.String(`{"Resources": {"H": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`)}); err != nil {
		t.Fatal(err)
	}
	before := belongings(t, mine, names)
	const in = "in=" + account + "/" + region

	// What the owner of the server sees is what there is to see.
	all := signedIn(t, server, server.ConsoleURL())
	pages, forms := all.pages("/_cfn/?"+in, "/_cfn/stacks?"+in, "/_cfn/stack-sets?"+in, "/_cfn/requests?"+in, "/_cfn/registrations?"+in, "/_cfn/calls?"+in, "/_cfn/logs?"+in, "/_cfn/logs?group=/owned/group&"+in,
		"/_cfn/stacks/"+url.PathEscape(names["ARN StackId"])+"/template?"+in, "/_cfn/stacks/owned/changes/"+url.PathEscape(names["ARN ChangeSetName"])+"?"+in)
	shown := 0
	for _, text := range pages {
		if strings.Contains(text, canary) {
			shown++
		}
	}
	if shown < 8 || len(forms) < 4 {
		t.Errorf("the owner sees %d pages of %d, and the forms %q", shown, len(pages), forms)
	}

	spy := signedIn(t, server, oneAccountURL(t, server, otherID, otherSecret))
	_, page, _ := spy.send(http.MethodGet, server.URL()+"/_cfn/stacks/theirs/drift?in="+otherAccount+"/us-east-1", nil)
	if page == "" || strings.Contains(page, account) {
		t.Errorf("the page of an own stack names another account: %s", page)
	}
	_, page, _ = spy.send(http.MethodGet, server.URL()+"/_cfn/stacks/theirs/drift?in="+otherAccount+"/"+region, nil)
	token := tokenField.FindStringSubmatch(page)
	if token == nil {
		t.Fatalf("the page of an own stack has no form: %s", page)
	}
	elsewhere := func(path string) []string {
		return []string{path, strings.ReplaceAll(path, in, "in="+otherAccount+"/"+region), strings.ReplaceAll(path, in, "")}
	}
	for path := range pages {
		if !strings.Contains(path, in) {
			continue // a page of all accounts, or of the place that addresses leave out
		}
		for i, path := range elsewhere(path) {
			if status, text, _ := spy.send(http.MethodGet, server.URL()+path, nil); strings.Contains(text, canary) || i == 0 && status != http.StatusForbidden {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
	}
	for _, path := range forms {
		for _, path := range elsewhere(path) {
			if status, text, _ := spy.send(http.MethodPost, server.URL()+path, url.Values{"token": {token[1]}, "version": {"00000001"}}); status < 400 || strings.Contains(text, canary) {
				t.Errorf("POST %s: %d %s", path, status, text)
			}
		}
	}
	if after := belongings(t, mine, names); after != before {
		t.Errorf("something was changed:\n%s\nwas\n%s", after, before)
	}
	if status, _, _ := spy.send(http.MethodPost, server.URL()+"/_cfn/stacks/theirs/drift?in="+otherAccount+"/"+region, url.Values{"token": {token[1]}}); status != http.StatusSeeOther {
		t.Errorf("a form of the own account: %d", status)
	}
}

// TestConsoleTokens: the token and the cookies of the console are nowhere but in the printed URL and in the
// browser, and are worth nothing elsewhere.
func TestConsoleTokens(t *testing.T) {
	var logged bytes.Buffer
	dir := t.TempDir()
	server := serving(t, local.ServerConfig{Config: local.Config{Dir: dir, Keys: twoKeys, Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	second := serving(t, local.ServerConfig{Config: local.Config{Keys: twoKeys}})
	_, token, found := strings.Cut(server.ConsoleURL(), "/_cfn/?token=")
	if !found || len(token) < 40 || server.ConsoleURL() == second.ConsoleURL() {
		t.Fatalf("the URL is %s", server.ConsoleURL())
	}
	u := signedIn(t, server, server.ConsoleURL())
	at, err := url.Parse(server.URL() + "/_cfn/")
	if err != nil || len(u.Jar.Cookies(at)) != 1 {
		t.Fatal(u.Jar.Cookies(at), err)
	}
	once := oneAccountURL(t, server, otherID, otherSecret)
	secrets := []string{token, u.Jar.Cookies(at)[0].Value, once[strings.LastIndexByte(once, '=')+1:]}

	// A browser sends its cookies to every port of a host: the sessions of two servers do not mix.
	for _, address := range []string{second.URL() + "/_cfn/", second.URL() + "/_cfn/?token=" + token, second.URL() + "/_cfn/events"} {
		if status, _, _ := u.send(http.MethodGet, address, nil); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", address, status)
		}
	}
	if status, _, _ := u.send(http.MethodGet, second.ConsoleURL(), nil); status != http.StatusSeeOther {
		t.Errorf("the second server: %d", status)
	}
	for _, url := range []string{server.URL(), second.URL()} {
		if status, _, _ := u.send(http.MethodGet, url+"/_cfn/stacks", nil); status != http.StatusOK {
			t.Errorf("%s after signing in at both: %d", url, status)
		}
	}

	// The API knows neither.
	for _, authorization := range []string{"", "Bearer " + token} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/?Action=ListStacks&Version=2010-05-15&token="+token, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", authorization)
		request.AddCookie(u.Jar.Cookies(at)[0])
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("the API with the token and the cookie: %s", response.Status)
		}
	}

	texts := map[string]string{"the log": logged.String(), "the environment": strings.Join(server.EndpointEnviron(), "\n")}
	for _, path := range []string{"/healthz", "/metrics", "/_cfn/", "/_cfn/calls"} {
		_, texts[path], _ = u.send(http.MethodGet, server.URL()+path, nil)
	}
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		texts[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		for i, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s has secret %d", name, i)
			}
		}
	}
	// The metrics are totals of all accounts.
	if strings.Contains(texts["/metrics"], account) || strings.Contains(texts["/metrics"], "account=") || strings.Contains(texts["/metrics"], "region=") || !strings.Contains(texts["/metrics"], "cfn_requests_total") {
		t.Errorf("the metrics: %s", texts["/metrics"])
	}
}

// TestConsoleWithoutKeys: without keys, the API needs no credentials, and the console no token.
func TestConsoleWithoutKeys(t *testing.T) {
	server := serving(t, local.ServerConfig{})
	if server.ConsoleURL() != server.URL()+"/_cfn/" {
		t.Errorf("the URL is %s", server.ConsoleURL())
	}
	response, err := http.Get(server.ConsoleURL())
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the console: %s", response.Status)
	}
	r, err := submit.Open(t.Context(), submit.Config{Endpoint: server.URL(), Key: aws.Credentials{AccessKeyID: account, SecretAccessKey: secret}, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if address, once, err := r.ConsoleURL(t.Context()); err != nil || once || address != server.URL()+"/_cfn/" {
		t.Errorf("cfn console: %s %t %v", address, once, err)
	}
}
