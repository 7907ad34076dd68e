package awswire

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A Target is what a request is for and which key it names, as the request itself says. It
// is read once; routing and the check of the signature both use it, so that a signature
// cannot be good for one reading of a request while another one is served.
type Target struct {
	Service     string // the name that signatures have for it: "cloudformation", "s3" …
	Region      string // "" where the request names none
	AccessKeyID string // "" for a request without a credential

	Host string // the name that the client has for this server, with its port if it named one
	Path string // decoded; for all services but S3 without "." and ".." and empty segments

	Bucket, Key string // of S3; both empty for other services

	bucketInHost bool
	escaped      string // the path as sent
	query        url.Values
	credential   credential
}

// A Reader reads targets. The zero value is one for a server without proxies before it.
type Reader struct {
	// Hosts are the names of proxies before this server. X-Forwarded-Host, which any client
	// can send, is used only if it is one of them, with any port. A name that begins with a
	// dot matches all names below it, as buckets have them. Nil means that the header is
	// ignored.
	Hosts []string

	// Bucket returns the bucket of S3 that a host names, "" where it is in the path. Nil
	// means that it always is.
	Bucket func(host string) string

	// MustSign refuses requests without a signature, before their body is looked at.
	MustSign bool
}

// The services that are recognized without a credential scope.
var (
	targets = map[string]string{
		"CloudApiService": "cloudcontrolapi",
		"AmazonSSM":       "ssm",
		"secretsmanager":  "secretsmanager",
		"Logs_20140328":   "logs",
		"AWSEvents":       "events",
	}
	versions = map[string]string{
		"2010-05-15": "cloudformation",
		"2011-06-15": "sts",
		"2010-03-31": "sns",
		"2010-05-08": "iam",
		"2016-11-15": "ec2",
	}
	lambdaPath = lazyregexp.New(`^/20\d\d-\d\d-\d\d/(functions|layers|event-source-mappings|tags|account-settings|code-signing-configs)(/|$)`)
	twelve     = lazyregexp.New(`^[0-9]{12}$`)
)

// Read reads the target of a request. The service is that of the credential scope in the
// Authorization header or in a presigned URL, else that of the X-Amz-Target, else of the
// Action and Version of a form, else Lambda for its paths; anything else is S3. It may be
// one that the server does not have. A form is read for that and put back, so r.Body may be
// another one afterwards.
//
// Nothing is verified: only a Verifier can identify the caller. The error is always an *Error:
// a credential or a query that cannot be parsed, a missing signature, a form that is too
// large. The target is filled in as far as it is known even then.
func (d Reader) Read(r *http.Request) (Target, error) {
	t := Target{Host: d.host(r), escaped: r.URL.EscapedPath()}
	if t.escaped == "" {
		t.escaped = "/"
	}
	var malformed error
	t.query, malformed = url.ParseQuery(r.URL.RawQuery)
	c, signed, err := credentialOf(r, t.query)
	t.credential = c
	switch {
	case err == nil && signed:
		t.AccessKeyID = c.accessKeyID
		if c.region != "*" {
			t.Region = c.region
		}
		if malformed != nil {
			// A query that servers parse differently is not covered by a signature.
			err = Errorf("InvalidURI", http.StatusBadRequest, "Couldn't parse the specified URI.")
		}
	case err == nil && d.MustSign:
		err = Errorf("MissingAuthenticationToken", http.StatusForbidden, "Request is missing Authentication Token")
	}
	if t.Service = c.service; t.Service == "" {
		var formErr error
		if t.Service, formErr = unsignedService(r, t.query, d.MustSign); err == nil {
			err = formErr
		}
	}
	d.readPath(r, &t)
	if err != nil {
		err = inWordsOf(t.Service, c, err)
	}
	return t, err
}

// readPath fills in Path, Bucket and Key.
func (d Reader) readPath(r *http.Request, t *Target) {
	if t.Path = r.URL.Path; t.Path == "" {
		t.Path = "/"
	}
	if t.Service != "s3" {
		// The escaped path is tidied: an escaped dot or slash belongs to a name.
		if plain, err := url.PathUnescape(tidy(t.escaped)); err == nil {
			t.Path = plain
		}
		return
	}
	key := strings.TrimPrefix(t.Path, "/")
	if d.Bucket != nil {
		t.Bucket = d.Bucket(t.Host)
	}
	if t.bucketInHost = t.Bucket != ""; !t.bucketInHost {
		t.Bucket, key, _ = strings.Cut(key, "/")
	}
	t.Key = key
}

// host is what the client calls this server: the name by which a known proxy was called,
// else that of the request.
func (d Reader) host(r *http.Request) string {
	if forwarded := forwardedHost(r); forwarded != "" && d.knows(forwarded) {
		return forwarded
	}
	return r.Host
}

func forwardedHost(r *http.Request) string {
	forwarded, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ",")
	return strings.TrimSpace(forwarded)
}

// knows reports whether a host, with a port or without, is one of Hosts.
func (d Reader) knows(host string) bool {
	name := nameOf(host)
	return name != "" && slices.ContainsFunc(d.Hosts, func(known string) bool {
		known = strings.ToLower(known)
		return name == known || strings.HasPrefix(known, ".") && strings.HasSuffix(name, known)
	})
}

// nameOf is a host without its port, in lower case.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// spellings are the ways in which clients and proxies write the host of a target: with the
// port and without it. The name is the same in all of them, and only the name is used.
func (t Target) spellings(r *http.Request) []string {
	hosts := []string{t.Host}
	for _, other := range []string{r.Host, forwardedHost(r)} {
		if nameOf(other) == nameOf(t.Host) && !slices.Contains(hosts, other) {
			hosts = append(hosts, other)
		}
	}
	for _, host := range slices.Clone(hosts) {
		for _, port := range []string{":80", ":443"} {
			if bare, ok := strings.CutSuffix(host, port); ok && !slices.Contains(hosts, bare) {
				hosts = append(hosts, bare)
			}
		}
	}
	return hosts
}

// canonicalPaths are the ways in which clients write the path of a target when they sign it:
// each encodes only Path. S3 escapes once; the others escape the escaped path again, some of
// them before they normalize it, and some escape once.
func (t Target) canonicalPaths() []string {
	once := escape(t.Path, "/")
	if t.Service == "s3" {
		return []string{once}
	}
	paths := []string{escape(t.escaped, "/")}
	for _, more := range []string{escape(tidy(t.escaped), "/"), once} {
		if !slices.Contains(paths, more) {
			paths = append(paths, more)
		}
	}
	return paths
}

// unsignedService is the service of a request without a credential. Without the body, a form
// is assumed to be for CloudFormation.
func unsignedService(r *http.Request, query url.Values, withoutBody bool) (string, error) {
	if prefix, _, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		if service, known := targets[prefix]; known {
			return service, nil
		}
		name, _, _ := strings.Cut(prefix, "_")
		return strings.ToLower(shorten(name)), nil
	}
	if lambdaPath.MatchString(r.URL.Path) {
		return "lambda", nil
	}
	if r.URL.Path != "/" && r.URL.Path != "" {
		return "s3", nil
	}
	values := query // what is malformed is refused by the service
	if r.Method == http.MethodPost && strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/x-www-form-urlencoded") {
		if withoutBody {
			return "cloudformation", nil
		}
		body, err := peek(r, defaultQueryBody)
		if err != nil {
			return "cloudformation", err
		}
		values, _ = url.ParseQuery(r.URL.RawQuery + "&" + string(body))
	}
	if !values.Has("Action") {
		return "s3", nil
	}
	if service, ok := versions[values.Get("Version")]; ok {
		return service, nil
	}
	return "cloudformation", nil
}
