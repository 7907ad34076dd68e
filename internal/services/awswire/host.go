package awswire

import (
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var awsHost = lazyregexp.New(`(?i)^(?:[a-z0-9_-]+\.)+(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)\.?$`)

// AWSHost reports whether a host, without port, is one of the APIs of AWS.
func AWSHost(host string) bool { return awsHost.MatchString(host) }
