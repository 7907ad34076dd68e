package server

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// guard keeps web pages out. A page in the developer's browser can send forms to a server
// on loopback, and registering a type runs code; so a request that a page of another origin
// caused is refused, and so is one for a host name that is not this machine's, which is how
// a page makes itself of the same origin (DNS rebinding).
type guard struct {
	hosts []string // host names beside loopback's; nil with any is true
	any   bool     // every host name is accepted: another layer checks the callers
}

// refuse says why a request is not served, nil if it is.
func (g guard) refuse(r *http.Request) *awswire.Error {
	host := hostname(r.Host)
	if !g.any && !g.known(host) && !(tunneled(r) && awswire.AWSHost(host)) {
		return awswire.Errorf("AccessDenied", http.StatusForbidden,
			"host %q is not this machine: use 127.0.0.1 or localhost", r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		// "same-site" is another port or subdomain: on loopback, any other program.
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet || !isConsole(r.URL.Path) {
			return awswire.Errorf("AccessDenied", http.StatusForbidden, "requests from web pages of another origin are rejected")
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return awswire.Errorf("AccessDenied", http.StatusForbidden, "requests from web pages of another origin are rejected")
		}
	}
	return nil
}

type tunnelKey struct{}

// Tunneled marks requests that clients have sent to a host of AWS through a proxy, or over TLS: no
// page of a browser can do that. They are requests of the API, whatever their path.
func Tunneled(ctx context.Context) context.Context { return context.WithValue(ctx, tunnelKey{}, true) }

func tunneled(r *http.Request) bool { return r.Context().Value(tunnelKey{}) != nil }

// refuseBrowser says why a request of the API is not served that a browser sends by itself,
// nil if it is no such one. A page can make a browser send any request that needs no header
// of its own, such as for a picture, and to a host that was named with --host without
// saying whose page it was. It cannot make it sign one. What looks presigned is served as
// far as it reads from S3: downloads are what presigned URLs are for.
func refuseBrowser(r *http.Request, service string) *awswire.Error {
	browser := r.Header.Get("Sec-Fetch-Mode") != "" || strings.HasPrefix(r.UserAgent(), "Mozilla/")
	reads := service == "s3" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if !browser || r.Header.Get("Authorization") != "" || reads && signed(r) {
		return nil
	}
	return awswire.Errorf("AccessDenied", http.StatusForbidden, "unsigned requests of a browser are rejected; the console is at /_cfn/")
}

// signed reports whether a request has a credential, valid or not.
func signed(r *http.Request) bool {
	query := r.URL.Query()
	return r.Header.Get("Authorization") != "" || query.Has("X-Amz-Credential") || query.Has("AWSAccessKeyId")
}

// refusePage returns why a page of the console is not shown, nil if it is. The console is for
// this machine only, also where browsers sign in: its cookies are as safe as the network.
func (g guard) refusePage(r *http.Request) *awswire.Error {
	ip := net.ParseIP(hostname(r.RemoteAddr))
	// A proxy on this machine passes on what comes from others, and says so.
	proxied := r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != ""
	if ip == nil || !ip.IsLoopback() || proxied || !g.known(hostname(r.Host)) {
		return awswire.Errorf("AccessDenied", http.StatusForbidden, "the console is for a browser on the machine of the server: open it as http://127.0.0.1 or http://localhost")
	}
	return nil
}

// Own reports whether a Host header is this machine or one of the configured hosts itself, not
// a bucket below it.
func (s *Server) Own(host string) bool {
	name := hostname(host)
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(name, "localhost") || contains(s.config.Hosts, name)
}

// known reports whether a host name, without port, names this server. Names under localhost
// are loopback's by RFC 6761 §6.3; S3 clients put the bucket there.
func (g guard) known(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || contains(g.hosts, host)
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	for _, own := range g.hosts {
		own = strings.ToLower(own)
		if host == own || strings.HasSuffix(host, "."+own) {
			return true
		}
	}
	return false
}

// hostname is a Host header without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.Trim(host, "[]")
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if strings.EqualFold(v, s) {
			return true
		}
	}
	return false
}

func isConsole(path string) bool { return path == "/_cfn" || strings.HasPrefix(path, "/_cfn/") }
