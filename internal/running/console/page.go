package console

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/services/awswire"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	wording "github.com/formwork-dev/formwork/internal/foundation/words"
)

// A page is what all pages have in common. What a page is about is in the component that
// its screen returns.
type page struct {
	Title     string
	Section   string // of the navigation: "types", "tests" …
	Place     awswire.Place
	Places    []awswire.Place
	Home      awswire.Place // the place that addresses leave out
	Scheme    string        // "http" or "https"
	Host      string
	Version   string
	Warning   string
	Notice    string // that something was done
	Live      bool   // follows changes of the registry
	Follow    string // address of a stream that the page follows instead
	Script    string // address of the script
	Style     string
	Icon      string
	Scheming  string // address of the script that sets the color scheme
	Help      string // address of the page of the documentation, "" if the server has none
	Token     string // of forms
	SignedOut bool   // the page is for signing in, and has no navigation
	Path      string // of the request, without the prefix
	query     url.Values
	now       time.Time
	requestID string
}

var (
	accountPattern = lazyregexp.New(`^[0-9]{12}$`)
	regionPattern  = lazyregexp.New(`^[a-z]{2,8}(-[a-z]{1,12}){1,3}-[0-9]{1,2}$`)
)

const placeField = "in"

// barePage is a page with what does not depend on who looks at it.
func (c *Console) barePage(r *http.Request) *page {
	home := c.home(r)
	p := &page{
		Place: home, Home: home, Host: r.Host, Version: c.config.Version,
		Script: c.asset("console.js"), Style: c.asset("console.css"), Icon: c.asset("icon.svg"), Scheming: c.asset("scheme.js"),
		Path: strings.TrimPrefix(r.URL.Path, Prefix), query: r.URL.Query(), now: c.config.Now(),
		requestID: hex.EncodeToString(c.random(8)),
	}
	if p.Scheme = "http"; r.TLS != nil {
		p.Scheme = "https"
	}
	return p
}

// newPage reads what every request says: for which place, and by whom. Its page is never
// nil, so that an error can be shown.
func (c *Console) newPage(w http.ResponseWriter, r *http.Request) (*page, error) {
	p := c.barePage(r)
	p.Warning, p.Token = c.config.Warning, c.sign(c.introduce(w, r))
	p.Notice = notices[p.query.Get("done")]
	place, err := c.place(r)
	if err != nil {
		return p, err
	}
	p.Place = place
	if c.config.Places != nil {
		places, err := c.config.Places(r.Context())
		if err != nil {
			return p, fmt.Errorf("list accounts and regions: %w", err)
		}
		p.Places = slices.DeleteFunc(slices.Clone(places), func(place awswire.Place) bool { return !sessionOf(r).sees(place) })
	}
	p.Places = append(p.Places, p.Place, p.Home)
	slices.SortFunc(p.Places, func(a, b awswire.Place) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Region, b.Region))
	})
	p.Places = slices.Compact(p.Places)
	return p, nil
}

// home is the place of requests that name none.
func (c *Console) home(r *http.Request) awswire.Place {
	home := c.config.Default
	home.Account = cmp.Or(sessionOf(r).account, home.Account)
	return home
}

// place is the account and region that a request is about. Everything that a page shows or changes
// is looked up there.
func (c *Console) place(r *http.Request) (awswire.Place, error) {
	home := c.home(r)
	if !findable(r.URL) {
		return home, &fault{Status: http.StatusNotFound, Title: "Page not found", Message: "The address contains characters that are not allowed in names."}
	}
	place, err := readPlace(r.URL.Query().Get(placeField), home)
	if err == nil && !sessionOf(r).sees(place) {
		return home, &fault{Status: http.StatusForbidden, Title: "Another account", Message: "You are signed in to account " + home.Account + " only."}
	}
	return place, err
}

// findable reports whether what an address names can be looked up: the store refuses texts with NUL, and
// those that are not UTF-8.
func findable(address *url.URL) bool {
	texts := []string{address.Path}
	for _, values := range address.Query() {
		texts = append(texts, values...)
	}
	return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "\x00") || !utf8.ValidString(text) })
}

// readPlace reads "account/region"; "" is the place given.
func readPlace(text string, otherwise awswire.Place) (awswire.Place, error) {
	if text == "" {
		return otherwise, nil
	}
	account, region, _ := strings.Cut(text, "/")
	if !accountPattern.MatchString(account) || !regionPattern.MatchString(region) {
		return otherwise, &fault{Status: http.StatusBadRequest, Title: "Invalid account or region", Message: "Use an account and a region such as 123456789012/eu-west-1."}
	}
	return awswire.Place{Account: account, Region: region}, nil
}

// link is an address within the console: a path below the prefix, with pairs of names and
// values for the query, of which empty ones are left out. It stays in the place.
func (p *page) link(path string, pairs ...string) string { return p.linkIn(p.Place, path, pairs...) }

func (p *page) linkIn(place awswire.Place, path string, pairs ...string) string {
	var query []string
	if place != p.Home {
		query = append(query, placeField+"="+place.String())
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query = append(query, pairs[i]+"="+url.QueryEscape(pairs[i+1]))
		}
	}
	address := Prefix + path
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	return address
}

// typePath is the path of a type, with what follows it.
func typePath(kind, name, rest string) string {
	return "/types/" + url.PathEscape(kind) + "/" + url.PathEscape(name) + rest
}

// ago is how long ago something was, in one unit.
func (p *page) ago(t time.Time) string {
	d := p.now.Sub(t)
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{365 * 24 * time.Hour, "y"}, {24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.length {
			return fmt.Sprintf("%d %s ago", d/unit.length, unit.name)
		}
	}
	return "just now"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func machineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// A fault is an error that is displayed to the user.
type fault struct {
	Status         int
	Title, Message string
	Code           string // of the AWS API, "" for none
}

func (f *fault) Error() string { return f.Title + ": " + f.Message }

// fail answers with a page for an error.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, p *page, err error) {
	if r.Context().Err() != nil {
		return // the client hung up
	}
	var (
		told    *fault
		refused *awswire.Error
	)
	switch {
	case errors.As(err, &told):
	case errors.As(err, &refused):
		told = &fault{Status: cmp.Or(refused.Status, http.StatusBadRequest), Title: "Request rejected", Message: refused.Message, Code: refused.Code}
		if refused.Code == "TypeNotFoundException" {
			told.Status, told.Title = http.StatusNotFound, "Type not found"
		}
	default:
		c.log.Error("a request of the console failed", "path", r.URL.Path, "request", p.requestID, "error", err)
		told = &fault{Status: http.StatusInternalServerError, Title: "Internal error", Message: "See the log of the server for the request " + p.requestID + "."}
	}
	p.Title, p.Live, p.Follow = told.Title, false, ""
	c.render(w, r, p, told.Status, p.faultBody(told))
}

// bounded cuts a text that is too long to be shown, and makes it visible.
func bounded(text string, limit int) string {
	text = wording.Cut(text, limit)
	if strings.IndexFunc(text, hiding) >= 0 || !utf8.ValidString(text) {
		text = string(visible([]byte(text)))
	}
	return text
}

// visible removes characters that could hide text: control characters except for line breaks
// and tabs, and the marks that change the direction of text. Every page uses it.
func visible(text []byte) []byte {
	if utf8.Valid(text) && bytes.IndexFunc(text, hiding) < 0 {
		return text
	}
	return bytes.Map(func(r rune) rune {
		if hiding(r) {
			return -1
		}
		return r
	}, bytes.ToValidUTF8(text, []byte("\uFFFD")))
}

func hiding(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' || r == '\u200E' || r == '\u200F'
}

// count is a number of things, by the noun for one.
func count(n int, noun string) string { return wording.Count(n, noun) }

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// assetVersions names each asset by its content, so that browsers keep it as long as it
// stays the same.
func assetVersions() map[string]string {
	versions := map[string]string{}
	files, err := fs.Glob(assets, "assets/*")
	if err != nil {
		panic("console: " + err.Error()) // the pattern is a constant
	}
	for _, file := range files {
		data, err := assets.ReadFile(file)
		if err != nil {
			panic("console: " + err.Error()) // the program carries it
		}
		sum := sha256.Sum256(data)
		versions[strings.TrimPrefix(file, "assets/")] = hex.EncodeToString(sum[:6])
	}
	return versions
}

func (c *Console) asset(name string) string {
	return Prefix + "/assets/" + name + "?v=" + c.versions[name]
}

var assetTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}

func (c *Console) sendAsset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	version, found := c.versions[name]
	if !found {
		http.NotFound(w, r)
		return
	}
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[name[strings.LastIndexByte(name, '.')+1:]])
	if r.URL.Query().Get("v") == version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		w.Header().Set("Cache-Control", "no-cache")
	}
	_, _ = w.Write(data) // the client hung up
}

func (c *Console) notFound(_ http.ResponseWriter, _ *http.Request, _ *page) (templ.Component, error) {
	return nil, &fault{Status: http.StatusNotFound, Title: "Page not found", Message: "The page does not exist."}
}

// sections are the links of the main navigation, by their paths.
var sections = []choice{{"/stacks", "Stacks"}, {"/types", "Types"}, {"/requests", "Requests"}, {"/registrations", "Registrations"}, {"/tests", "Tests"}, {"/calls", "Calls"}, {"/logs", "Logs"}, {"/contract", "Contract"}}

// name is the section as pages name it.
func (c choice) name() string { return strings.TrimPrefix(c.Value, "/") }

// changes is where a page hears about changes, "" if it does not follow them.
func (p *page) changes() string {
	if p.Live && p.Follow == "" {
		return p.link("/events")
	}
	return p.Follow
}

// placeAction is the path that another place is chosen for: the section, because what a
// page is about may not exist there.
func (p *page) placeAction() string {
	for _, s := range sections {
		if s.name() == p.Section {
			return s.Value
		}
	}
	return "/"
}

// tone is the class of a status.
func tone(status string) string {
	switch status {
	case "PASSED", "COMPLETE", "SUCCESS", "SUCCEEDED", "CURRENT", "LIVE", "passed", "compatible", "HOOK_COMPLETE_SUCCEEDED":
		return "good"
	case "FAILED", "INOPERABLE", "DRIFTED", "ERROR", "failed", "error", "breaking":
		return "bad"
	case "IN_PROGRESS", "PENDING", "RUNNING", "QUEUED", "STOPPING", "warning":
		return "wait"
	case "DEFAULT":
		return "main"
	case "simulated":
		return "simulated"
	}
	return stackTone(status)
}

// plainWords are the statuses that say little as the API words them.
var plainWords = map[string]string{
	"ANSWERED": "answered without a progress event", "ERROR": "no answer", "NOT_TESTED": "not tested yet",
	"HOOK_COMPLETE_SUCCEEDED": "passed", "HOOK_COMPLETE_FAILED": "did not pass", "HOOK_FAILED": "failed", "HOOK_IN_PROGRESS": "in progress",
	"registered": "registered here", "activated": "activated from public", "LIVE": "in use",
}

// words is a status as people write it.
func words(status string) string {
	if plain := plainWords[status]; plain != "" {
		return plain
	}
	return strings.ToLower(strings.ReplaceAll(status, "_", " "))
}

// parts cuts a name after its separators, so that a page can break it there.
func parts(name string) []string {
	var out []string
	start := 0
	for i := 0; i < len(name); i++ {
		end := 0
		switch {
		case strings.HasPrefix(name[i:], "::"):
			end = i + 2
			i++
		case name[i] == ':' || name[i] == '_' || name[i] == '/' || name[i] == '.' || name[i] == '-':
			end = i + 1
		}
		if end > 0 && end < len(name) {
			out = append(out, name[start:end])
			start = end
		}
	}
	return append(out, name[start:])
}

func seconds(s float64) string {
	switch {
	case s < 0.0005:
		return "0 s"
	case s < 1:
		return strconv.Itoa(int(s*1000+0.5)) + " ms"
	case s < 120:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	}
	return strconv.Itoa(int(s)/60) + " min " + strconv.Itoa(int(s)%60) + " s"
}

func itoa(n int) string { return strconv.Itoa(n) }

// current is the value of aria-current; "false" is as good as none.
func current(yes bool) string {
	if yes {
		return "page"
	}
	return "false"
}

// envCommand configures a shell for this server. cfn knows its default address; another one is
// passed, unless it needs quoting in a shell.
func (p *page) envCommand() string {
	if p.atDefault() {
		return `eval "$(cfn env)"`
	}
	return `eval "$(cfn env --endpoint ` + p.Scheme + "://" + p.Host + `)"`
}

// atDefault reports whether commands find the server without its address, or cannot be passed it.
func (p *page) atDefault() bool {
	return p.Host == "127.0.0.1:4566" || p.Host == "localhost:4566" || !hostPattern.MatchString(p.Host)
}

var hostPattern = lazyregexp.New(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// about is the type that an address is about, "" for none.
func (p *page) about() (kind, name string) {
	parts := strings.SplitN(strings.TrimPrefix(p.Path, "/types/"), "/", 3)
	if !strings.HasPrefix(p.Path, "/types/") || len(parts) < 3 {
		return "", ""
	}
	return parts[0], parts[1]
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// size is a number of bytes for people.
func size(n int) string {
	if n < 1<<10 {
		return itoa(n) + " bytes"
	}
	return itoa((n+512)>>10) + " KiB"
}
