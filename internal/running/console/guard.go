package console

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// policy allows only the parts of the pages; no inline script, no inline style, no embedding
// in frames.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secure sets what every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// Not no-referrer: with it, browsers send forms with the origin "null".
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// foreign returns why a request that a page of another origin caused is refused; "" otherwise.
// Such a page may only link to the console. The same host with another port is another origin
// as well: on loopback, any other program.
func foreign(r *http.Request) string {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		if !read || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" {
			return "requests from other origins are not allowed"
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) || u.Scheme != "http" && u.Scheme != "https" {
			return "requests from other origins are not allowed"
		}
	} else if !read && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return "forms are accepted only from pages of the console; in programs, use the AWS API"
	}
	return ""
}

const (
	cookieName = "cfn_console"
	tokenField = "token"
	maxForm    = 256 << 10 // a template of 51,200 bytes, of which each may take three
)

// visitor is the random value that a browser is known by, "" if it has none yet: its session, or
// where nobody signs in, a value that means nothing but that two requests come from the same browser.
func visitor(r *http.Request) string {
	if s := sessionOf(r); s.id != "" {
		return s.id
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil || len(cookie.Value) != 32 || strings.Trim(cookie.Value, "0123456789abcdef") != "" {
		return ""
	}
	return cookie.Value
}

// introduce gives a browser its value if it has none.
func (c *Console) introduce(w http.ResponseWriter, r *http.Request) string {
	if known := visitor(r); known != "" {
		return known
	}
	value := hex.EncodeToString(c.random(16))
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: Prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	return value
}

// sign is the token of a browser's forms. A cookie alone proves nothing: every program on
// the same host can set one.
func (c *Console) sign(visitor string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte("console form\x00" + visitor))
	return hex.EncodeToString(mac.Sum(nil))
}

// checkForm reads the form of a POST and rejects one that no page of the console sent.
func (c *Console) checkForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		status := http.StatusBadRequest
		if errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		return &fault{Status: status, Title: "The form cannot be read", Message: "Go back, reload the page and try again."}
	}
	known := visitor(r)
	if !hmac.Equal([]byte(r.PostForm.Get(tokenField)), []byte(c.sign(cmp.Or(known, "nobody")))) || known == "" {
		return &fault{Status: http.StatusForbidden, Title: "No changes made", Message: "The page is older than the server, or cookies are disabled. Go back, reload the page and try again."}
	}
	return nil
}
