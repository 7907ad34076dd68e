package awswire

import (
	"context"
	"net/http"
	"strings"
)

// Caller is who calls: the place that the request is about, the access key, and what to
// call the request. A Caller is not proof of anything unless a Verifier has seen the
// request.
type Caller struct {
	Place

	// ARN and UserID are those of the session that the access key belongs to; "" for keys
	// of the account itself.
	ARN, UserID string

	AccessKeyID string // "" for an anonymous request
	RequestID   string // a UUID; answered in x-amzn-RequestId and in the body
}

// A CallerFinder finds out whose a request is.
type CallerFinder struct {
	// Verifier checks signatures: a request is that of the account whose key signed it, and
	// refused without one. Nil accepts every request as that of the account that its access
	// key names.
	Verifier *Verifier

	// Lookup finds temporary keys where there is no Verifier, so that their requests are
	// those of their account. Nil finds none.
	Lookup func(ctx context.Context, accessKeyID string) (Key, bool, error)

	// Default is the account of requests that name none, unless there is a Verifier, and
	// the region of those that name none.
	Default Place
}

// Find returns the caller of a request. With a Verifier it is the owner of the key that signed
// it, without a fallback. Without one it follows from the access key. The key is looked up
// once, and an error means that the caller is unknown: an *Error after which SDKs retry.
func (f *CallerFinder) Find(r *http.Request, target Target, requestID string) (Caller, error) {
	caller := Caller{AccessKeyID: target.AccessKeyID, RequestID: requestID}
	if caller.Region = target.Region; caller.Region == "" {
		caller.Region = f.Default.Region
	}
	key, err := f.key(r, target)
	if err != nil {
		return caller, err
	}
	caller.Account, caller.ARN, caller.UserID = key.Account, key.ARN, key.UserID
	return caller, nil
}

// key is the key of a request, of which only the account is known where nothing is checked.
func (f *CallerFinder) key(r *http.Request, target Target) (Key, error) {
	switch {
	case f.Verifier != nil:
		return f.Verifier.Verify(r, target)
	case twelve.MatchString(target.AccessKeyID):
		return Key{Account: target.AccessKeyID}, nil
	case f.Lookup != nil && target.AccessKeyID != "":
		key, known, err := f.Lookup(r.Context(), target.AccessKeyID)
		if err != nil {
			return Key{}, KeyUnavailable(err)
		}
		if known {
			return key, nil
		}
	}
	return Key{Account: f.Default.Account}, nil
}

// A Place is an account in a region: what resources belong to and ARNs name.
type Place struct {
	Account string `db:"account"` // 12 digits
	Region  string `db:"region"`  // such as "eu-west-1"
}

// String is the place as addresses have it: "123456789012/eu-west-1".
func (p Place) String() string { return p.Account + "/" + p.Region }

// Partition is the ARN partition that the region belongs to: "aws" unless the region's
// prefix is that of another partition.
func (p Place) Partition() string { return PartitionOf(p.Region) }

// PartitionOf is the ARN partition of a region: aws-cn for cn-*, aws-us-gov for us-gov-*,
// aws-eusc for eusc-*, the isolated partitions for theirs, and aws for every other name.
func PartitionOf(region string) string {
	for _, p := range partitions {
		if strings.HasPrefix(region, p.prefix) {
			return p.name
		}
	}
	return "aws"
}

// DomainOf is the domain of the addresses of AWS in a region.
func DomainOf(region string) string {
	if PartitionOf(region) == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

var partitions = []struct{ prefix, name string }{
	{"cn-", "aws-cn"},
	{"us-gov-", "aws-us-gov"},
	{"eusc-", "aws-eusc"},
	{"us-iso-", "aws-iso"},
	{"us-isob-", "aws-iso-b"},
	{"eu-isoe-", "aws-iso-e"},
	{"us-isof-", "aws-iso-f"},
	{"eu-isof-", "aws-iso-f"},
}
