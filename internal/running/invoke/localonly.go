package invoke

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// LocalVariable is the environment variable that "cfn env" exports beside those of the AWS
// SDKs. While it is set, this program does not call AWS services on other machines: a
// forgotten export of another tool, or an option, must not turn a trial into a deployment.
const LocalVariable = "FORMWORK_ENDPOINT"

// NotLocalError is the refusal to call an endpoint that is not on this machine.
type NotLocalError struct{ URL string }

func (e *NotLocalError) Error() string {
	return fmt.Sprintf("%s is not on this machine, and while %s is set nothing else is called", e.URL, LocalVariable)
}

// RetryableError prevents retries by the AWS SDK.
func (e *NotLocalError) RetryableError() bool { return false }

// CheckLocal returns a *[NotLocalError] if the environment allows calls to this machine
// only, and the endpoint, a URL, is elsewhere. An empty endpoint is that of AWS.
func CheckLocal(getenv func(string) string, endpoint string) error {
	if getenv(LocalVariable) == "" {
		return nil
	}
	if endpoint == "" {
		return &NotLocalError{"AWS"}
	}
	u, err := url.Parse(endpoint)
	if err != nil || !Loopback(u.Hostname()) {
		return &NotLocalError{endpoint}
	}
	return nil
}

// Loopback reports whether a host, without a port, is this machine by its name or address,
// without DNS.
func Loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// LocalClient is the AWS SDK's HTTP client, except that it refuses with a *[NotLocalError] to
// call other machines while LocalVariable is set. That also applies to calls that the SDK
// makes internally: STS and SSO for credentials, the metadata service.
//
// The check is in the Proxy function of the transport, because every request passes it before
// anything is looked up or dialed, and a client of another type would lose the SDK's settings,
// such as AWS_CA_BUNDLE. For the same reason, redirects are checked there as [CheckRedirect] does. A
// header that does not come, and an upload that does not end, have limits; see also [Bounded].
func LocalClient(getenv func(string) string) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTimeout(exchangeTimeout).WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout = headerTimeout
		proxy := t.Proxy
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if n := redirects(r); n > 0 {
				if err := checkRedirect(n, r.Response.Request.URL, r.URL); err != nil {
					return nil, err
				}
			}
			if err := CheckLocal(getenv, r.URL.Scheme+"://"+r.URL.Host); err != nil {
				return nil, err
			}
			if proxy == nil {
				return nil, nil
			}
			return proxy(r)
		}
	})
}
