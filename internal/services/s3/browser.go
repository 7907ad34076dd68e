package s3

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Objects are untrusted, and are served from the origin of this server, which its API and its
// console share. An object must therefore not become a page of that origin: browsers get it in
// a sandbox, without scripts and with a separate origin, and must use its Content-Type.
// Formats that can contain scripts are downloaded rather than displayed. Other clients ignore
// these headers.

// sandbox keeps a browser from running what it was answered.
func sandbox(h http.Header) {
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
}

var (
	// shown are the uses of an answer, in Sec-Fetch-Dest, in which a browser would make a
	// page of it, and executed those in which a page would run it.
	shown    = []string{"document", "embed", "fencedframe", "frame", "iframe", "object", "xslt"}
	executed = []string{"audioworklet", "paintworklet", "script", "serviceworker", "sharedworker", "worker"}
)

// refuseScript refuses to give a page of this server's own origin, which is the console's,
// an object as its script. Pages of S3 are in a sandbox and have no such origin.
func refuseScript(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "same-origin" && slices.Contains(executed, r.Header.Get("Sec-Fetch-Dest")) {
		return s3Error("AccessDenied", "An object is no script for a page of this server.")
	}
	return nil
}

// saveScripts makes a browser save what can hold scripts, where it would show or run it. h
// are the headers of the answer.
func saveScripts(r *http.Request, h http.Header) {
	use := r.Header.Get("Sec-Fetch-Dest")
	if r.Header.Get("Sec-Fetch-Mode") != "navigate" && !slices.Contains(shown, use) && !slices.Contains(executed, use) || !holdsScripts(h.Get("Content-Type")) {
		return
	}
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err == nil && kind == "attachment" {
		return
	}
	disposition := ""
	if err == nil {
		disposition = mime.FormatMediaType("attachment", parameters) // with the name of the file
	}
	if disposition == "" {
		disposition = "attachment"
	}
	h.Set("Content-Disposition", disposition)
}

// holdsScripts reports whether a browser may find scripts in what has a type: HTML, all XML,
// SVG, scripts themselves, and documents of several parts. So may what has no proper type.
func holdsScripts(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return true
	}
	return strings.HasPrefix(kind, "multipart/") || slices.ContainsFunc([]string{"html", "xml", "xsl", "svg", "script"}, func(part string) bool { return strings.Contains(kind, part) })
}

// responseHeaders are the response headers that a query can set, by parameter.
var responseHeaders = map[string]string{
	"response-content-type": "Content-Type", "response-cache-control": "Cache-Control", "response-content-disposition": "Content-Disposition",
	"response-content-encoding": "Content-Encoding", "response-content-language": "Content-Language", "response-expires": "Expires",
}

// overrides are the response headers that the query sets. They require a credential: otherwise
// any link could make a page of any object.
func overrides(q *s3Request) (map[string]string, error) {
	set := map[string]string{}
	for parameter, name := range responseHeaders {
		if value := q.query.Get(parameter); value != "" {
			set[name] = value
		}
	}
	if len(set) > 0 && !hasCredential(q.r.Header, q.query) {
		return nil, s3Error("InvalidRequest", "Request specific response headers cannot be used for anonymous GET requests.")
	}
	return set, nil
}

// hasCredential reports whether a request says whose it is. Whether that is true, the
// awswire.Verifier has checked where there is one.
func hasCredential(h http.Header, query url.Values) bool {
	return h.Get("Authorization") != "" || query.Has("X-Amz-Credential") || query.Has("AWSAccessKeyId")
}
