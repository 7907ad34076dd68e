// Package awswire implements the wire protocols of the AWS APIs for servers: AWS Query (form
// in, XML out) and AWS JSON 1.0 and 1.1, over the Go shapes of aws-sdk-go-v2.
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
// The package is independent of services: a Table defines the operations, the error codes on
// the wire, and the constraints of members. S3 (REST/XML) and Lambda (REST/JSON) have no
// Table; they use Reader, Verifier, ChunkedBody and WriteError.
package awswire

// Protocol is one of the wire protocols of AWS.
type Protocol int

// The protocols. Tables support the first three; WriteError supports all of them.
const (
	Query    Protocol = iota // form parameters in, XML out
	JSON10                   // AWS JSON 1.0: POST with X-Amz-Target
	JSON11                   // AWS JSON 1.1: the same with another content type
	RESTXML                  // S3
	RESTJSON                 // Lambda
)
