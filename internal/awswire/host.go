package awswire

import "regexp"

var awsHost = regexp.MustCompile(`(?i)^(?:[a-z0-9_-]+\.)+(?:amazonaws\.com(?:\.cn)?|amazonaws\.eu|api\.aws)\.?$`)

// AWSHost reports whether a host, without port, is one of the APIs of AWS.
func AWSHost(host string) bool { return awsHost.MatchString(host) }
