package console

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	signInPath = Prefix + "/sign-in"
	urlToken   = "token" // the parameter of a URL that signs in
	toField    = "to"    // the page to show after signing in

	linkLife    = time.Minute        // of a URL for one account, which works once
	sessionLife = 7 * 24 * time.Hour // since the last request

	// What one account, or the token of the server, may have at once. More replace the oldest.
	maxLinks    = 16
	maxSessions = 64

	// maxFailures is how many wrong tokens get a page in a minute.
	maxFailures = 20
)

type hash = [sha256.Size]byte

// A door lets browsers in that have signed in. What it knows is in memory only and ends with the
// server: tokens and sessions of another server, or of this one before it was restarted, are
// worth nothing. A nil door lets everybody in.
type door struct {
	token string // of the URL that is printed: all accounts
	now   func() time.Time

	mu       sync.Mutex
	links    []pass // for one account each, one use
	sessions []pass
	failures int
	since    time.Time // of the first of the failures
}

// A pass is what a token is worth. Only the hash of the token is kept.
type pass struct {
	token   hash
	account string // "" for all accounts
	used    time.Time
}

// A session is what a browser may see.
type session struct {
	id      string // of its cookie
	account string // "" for all accounts
}

// sees reports whether a session is for the account of a place.
func (s session) sees(place awswire.Place) bool { return s.account == "" || s.account == place.Account }

type sessionKey struct{}

// sessionOf is the session of a request; the zero session if nobody has to sign in.
func sessionOf(r *http.Request) session {
	s, _ := r.Context().Value(sessionKey{}).(session)
	return s
}

// newToken is a random text that nobody guesses.
func (c *Console) newToken() string { return base64.RawURLEncoding.EncodeToString(c.random(32)) }

// Token is the token of URLs with which browsers see all accounts, as in /_cfn/?token=…; "" if
// nobody has to sign in.
func (c *Console) Token() string {
	if c.door == nil {
		return ""
	}
	return c.door.token
}

// TokenFor is a token for a URL with which one browser sees one account. It works once, within a
// minute. It is "" if nobody has to sign in.
func (c *Console) TokenFor(account string) string {
	if c.door == nil {
		return ""
	}
	token := c.newToken()
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	c.door.links = with(c.door.links, pass{sha256.Sum256([]byte(token)), account, c.door.now()}, maxLinks)
	return token
}

// with is a list with another pass, and without the oldest one of the account if it has most.
func with(list []pass, p pass, most int) []pass {
	oldest, n := -1, 0
	for i, other := range list {
		if other.account != p.account {
			continue
		}
		if n++; oldest < 0 || other.used.Before(list[oldest].used) {
			oldest = i
		}
	}
	if n >= most {
		list = slices.Delete(list, oldest, oldest+1)
	}
	return append(list, p)
}

// find is the place of a token in a list, -1 for none. Its time depends only on the length of the
// list.
func find(list []pass, token string) int {
	sum, at := sha256.Sum256([]byte(token)), -1
	for i := range list {
		if subtle.ConstantTimeCompare(list[i].token[:], sum[:]) == 1 {
			at = i
		}
	}
	return at
}

// redeem is the account that a token signs in to. A token of TokenFor works no more after it.
func (d *door) redeem(token string) (account string, valid bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.links = slices.DeleteFunc(d.links, func(p pass) bool { return d.now().Sub(p.used) > linkLife })
	if find([]pass{{token: sha256.Sum256([]byte(d.token))}}, token) == 0 {
		return "", true
	}
	at := find(d.links, token)
	if at < 0 {
		return "", false
	}
	account = d.links[at].account
	d.links = slices.Delete(d.links, at, at+1)
	return account, true
}

// begin starts a session in place of another one, which may be none.
func (d *door) begin(id, account, before string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := find(d.sessions, before); at >= 0 {
		d.sessions = slices.Delete(d.sessions, at, at+1)
	}
	d.sessions = with(d.sessions, pass{sha256.Sum256([]byte(id)), account, d.now()}, maxSessions)
}

// session is the one of a cookie.
func (d *door) session(id string) (session, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sessions = slices.DeleteFunc(d.sessions, func(p pass) bool { return d.now().Sub(p.used) > sessionLife })
	at := find(d.sessions, id)
	if at < 0 {
		return session{}, false
	}
	d.sessions[at].used = d.now()
	return session{id, d.sessions[at].account}, true
}

// failed counts a wrong token, and returns how many of this minute it is. A token cannot be
// guessed, at whatever rate: the right one always works, so that nobody can lock out its owner.
func (d *door) failed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failures == 0 || d.now().Sub(d.since) >= time.Minute {
		d.failures, d.since = 0, d.now()
	}
	d.failures++
	return d.failures
}

// sessionCookie is the name of the cookie of sessions. Browsers send the cookies of one port to all
// ports of a host: servers on several ports need different names.
func sessionCookie(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil || strings.Trim(port, "0123456789") != "" {
		return cookieName + "_session"
	}
	return cookieName + "_" + port
}

// admit lets a request in that has a session, and returns it with the session. It answers the others:
// with a session for the right token, or else with the page to sign in.
func (c *Console) admit(w http.ResponseWriter, r *http.Request) (admitted *http.Request) {
	if c.door == nil || strings.HasPrefix(r.URL.Path, Prefix+"/assets/") {
		return r // the assets are the same for everybody
	}
	var (
		current session
		known   bool
	)
	if cookie, err := r.Cookie(sessionCookie(r)); err == nil {
		current, known = c.door.session(cookie.Value)
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == signInPath:
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		_ = r.ParseForm() // what cannot be read has no token
		c.signIn(w, r, current, strings.TrimSpace(r.PostForm.Get(urlToken)), ownPage(r.PostForm.Get(toField)))
	case r.Method == http.MethodGet && r.URL.Query().Has(urlToken) && !fromElsewhere(r):
		c.signIn(w, r, current, r.URL.Query().Get(urlToken), withoutToken(r.URL))
	case known:
		return r.WithContext(context.WithValue(r.Context(), sessionKey{}, current))
	default:
		c.signInPage(w, r, http.StatusUnauthorized, "", ownPage(r.URL.RequestURI()))
	}
	return nil
}

// signIn begins a session for the right token and goes on to a page. The browser of a session that has
// another token keeps the session: a URL that was used before is in its history.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request, current session, token, to string) {
	account, valid := c.door.redeem(token)
	switch {
	case valid:
		id := c.newToken()
		c.door.begin(id, account, current.id)
		http.SetCookie(w, &http.Cookie{
			Name: sessionCookie(r), Value: id, Path: Prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
		})
	case current.id == "":
		c.refuseToken(w, r, to)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the token
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (c *Console) refuseToken(w http.ResponseWriter, r *http.Request, to string) {
	switch n := c.door.failed(); {
	case n <= maxFailures:
		c.signInPage(w, r, http.StatusUnauthorized, "The token is wrong, was used before, or has expired.", to)
		return
	case n == maxFailures+1:
		c.log.Warn("somebody tries tokens at the console", "address", r.RemoteAddr)
	}
	w.Header().Set("Retry-After", "60")
	http.Error(w, "too many wrong tokens; wait a minute", http.StatusTooManyRequests)
}

// fromElsewhere reports whether a page of another origin has caused a request: its links sign nobody in,
// or they could show a browser the account of somebody else in place of its own.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// ownPage is a page of the console to go on to, without a token; the first page for what is none.
func ownPage(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(u.Path, Prefix+"/") || u.Path == signInPath {
		return Prefix + "/"
	}
	return withoutToken(u)
}

func withoutToken(u *url.URL) string {
	query := u.Query()
	query.Del(urlToken)
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: query.Encode()}).String()
}

// signInPage is what a browser without a session sees.
func (c *Console) signInPage(w http.ResponseWriter, r *http.Request, status int, problem, to string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.Path != signInPath {
		to = Prefix + "/" // the form that was sent has no page of its own
	}
	p := c.barePage(r)
	p.Title, p.SignedOut = "Sign in", true
	w.Header().Set("WWW-Authenticate", `Token realm="cfn console"`)
	c.render(w, r, p, status, p.signIn(problem, to, fromElsewhere(r)))
}

// consoleCommand prints a URL for one account of this server.
func (p *page) consoleCommand() string {
	command := "cfn console --auth FILE"
	if !p.atDefault() {
		command += " --endpoint-url " + p.Scheme + "://" + p.Host
	}
	return command
}
