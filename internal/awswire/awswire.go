// Package awswire speaks the wire protocols of the AWS APIs as a server: AWS Query
// (form in, XML out) and AWS JSON 1.0 and 1.1, over the Go shapes of aws-sdk-go-v2.
//
// A service is a Table: its protocol, its operations (Go functions from an SDK input
// shape to an SDK output shape), and the constraints of its members. Table.Serve does
// everything between the HTTP request and that function. Reader reads which service a
// request is for and which key it names; Verifier checks its Signature Version 4 and
// returns whose it is; ChunkedBody undoes the aws-chunked transfer encoding of S3 clients.
//
// All input is bounded: the size of the body, the number of parameters, the depth of
// members, the length of signed headers. What is refused is refused with an Error in the
// envelope of the protocol, with the codes and texts that AWS uses where they are known.
//
// The package knows no service: what a CloudFormation error is called on the wire, which
// operations exist, and what a member may hold is told by the Table. S3 (REST/XML) and
// Lambda (REST/JSON) have no Table; they use Reader, Verifier, ChunkedBody and WriteError.
package awswire

import "strings"

// Protocol is one of the wire protocols of AWS.
type Protocol int

// The protocols. Tables speak the first three; WriteError speaks all of them.
const (
	Query    Protocol = iota // form parameters in, XML out
	JSON10                   // AWS JSON 1.0: POST with X-Amz-Target
	JSON11                   // AWS JSON 1.1: the same with another content type
	RESTXML                  // S3
	RESTJSON                 // Lambda
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
