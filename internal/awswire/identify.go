package awswire

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// Defaults are what Identify says where the request says nothing.
type Defaults struct {
	Account string // empty means 000000000000
	Region  string // empty means us-east-1
	// AccountOf gives the account of an access key id, "" if it knows none. Nil knows
	// none; then an access key id of 12 digits is the account itself.
	AccountOf func(accessKeyID string) string
	// NewID makes the request ids. Nil makes random UUIDs.
	NewID func() string
}

// The services that Identify can tell apart without a credential scope.
var (
	targets = map[string]string{
		"CloudApiService": "cloudcontrolapi",
		"AmazonSSM":       "ssm",
		"secretsmanager":  "secretsmanager",
		"Logs_20140328":   "logs",
	}
	versions = map[string]string{
		"2010-05-15": "cloudformation",
		"2011-06-15": "sts",
		"2010-05-08": "iam",
		"2016-11-15": "ec2",
	}
	lambdaPath = regexp.MustCompile(`^/20\d\d-\d\d-\d\d/(functions|layers|event-source-mappings|tags|account-settings|code-signing-configs)(/|$)`)
	twelve     = regexp.MustCompile(`^[0-9]{12}$`)
)

// Identify tells the service that a request is for, by the name that signatures have for
// it ("cloudformation", "cloudcontrolapi", "s3", "sts", "ssm", "secretsmanager", "logs",
// "lambda" …), and who calls. It believes what the request says: the credential scope of
// the Authorization header or of a presigned URL, else the X-Amz-Target, else the Action
// and Version of a form, else a path of Lambda; anything else is S3. The service may be
// one that the server does not have. A form is read for that and put back, so r.Body may
// be another one afterwards.
//
// The error is always an *Error: a credential that cannot be parsed, or a form that is too
// large. Service and caller are filled in as far as they are known even then.
func Identify(r *http.Request, d Defaults) (service string, caller Caller, err error) {
	caller = Caller{Place: Place{Account: d.Account, Region: d.Region}}
	if caller.Account == "" {
		caller.Account = "000000000000"
	}
	if caller.Region == "" {
		caller.Region = "us-east-1"
	}
	if d.NewID != nil {
		caller.RequestID = d.NewID()
	} else {
		caller.RequestID = uuid.NewString()
	}
	scope, signed, err := credentialOf(r)
	if err == nil && signed {
		caller.AccessKeyID = scope.accessKeyID
		if scope.region != "" && scope.region != "*" {
			caller.Region = scope.region
		}
		account := ""
		if d.AccountOf != nil {
			account = d.AccountOf(scope.accessKeyID)
		}
		if account == "" && twelve.MatchString(scope.accessKeyID) {
			account = scope.accessKeyID
		}
		if account != "" {
			caller.Account = account
		}
		if scope.service != "" {
			return scope.service, caller, nil
		}
	}
	if service = scope.service; service == "" {
		var formErr error
		if service, formErr = unsignedService(r); err == nil {
			err = formErr
		}
	}
	if err != nil {
		err = inWordsOf(service, scope, err)
	}
	return service, caller, err
}

// unsignedService is the service of a request that names none in a credential.
func unsignedService(r *http.Request) (string, error) {
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
	query := r.URL.RawQuery
	if r.Method == http.MethodPost && strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "application/x-www-form-urlencoded") {
		body, err := readAll(r, defaultQueryBody)
		if err != nil {
			return "cloudformation", err
		}
		r.Body = readCloser{bytes.NewReader(body), r.Body}
		query += "&" + string(body)
	}
	values, _ := url.ParseQuery(query) // what is malformed is refused by the service
	if !values.Has("Action") {
		return "s3", nil
	}
	if service, ok := versions[values.Get("Version")]; ok {
		return service, nil
	}
	return "cloudformation", nil
}

// readCloser reads from one and closes another.
type readCloser struct {
	io.Reader
	body io.Closer // nil for a request without a body
}

func (rc readCloser) Close() error {
	if rc.body == nil {
		return nil
	}
	return rc.body.Close()
}

// ProtocolOf is the protocol in which a service, by its signing name, is refused: the
// envelope of errors that come before a Table.
func ProtocolOf(service string) Protocol {
	switch service {
	case "s3":
		return RESTXML
	case "lambda":
		return RESTJSON
	case "cloudcontrolapi":
		return JSON10
	case "ssm", "secretsmanager", "logs":
		return JSON11
	default:
		return Query
	}
}
