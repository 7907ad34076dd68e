package httptape

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Kind is a kind of failure of a call.
type Kind string

// The kinds of faults.
const (
	Throttle    Kind = "throttled"                       // the service refuses: too many requests
	ServerError Kind = "answered with a server error"    // the service fails
	CutBefore   Kind = "cut before it was sent"          // the connection ends; the service never knew
	CutAfter    Kind = "cut after the service was asked" // the service has done it; the answer is lost
	Slow        Kind = "delayed"                         // the answer comes after Fault.Delay
)

// A Fault is a call that fails.
type Fault struct {
	Kind  Kind
	Call  int           // counted from 0 since the last Proxy.Inject, retries of the client included
	Delay time.Duration // of Slow
}

// String is "outbound call 2 throttled".
func (f Fault) String() string {
	if f.Kind == Slow {
		return fmt.Sprintf("outbound call %d %s by %s", f.Call+1, f.Kind, f.Delay)
	}
	return fmt.Sprintf("outbound call %d %s", f.Call+1, f.Kind)
}

// A protocol is the family of formats that a service answers errors in.
type protocol int

const (
	plain protocol = iota // no service of AWS
	awsJSON
	awsCBOR
	awsQuery
	awsEC2
	awsRESTJSON
	awsRESTXML
	awsS3
)

// detect guesses the protocol from a request.
func detect(r *http.Request, host string, body []byte) protocol {
	kind := r.Header.Get("Content-Type")
	service := strings.ToLower(host)
	form := strings.HasPrefix(kind, "application/x-www-form-urlencoded") && strings.Contains(string(body), "Action=") || r.URL.Query().Has("Action")
	signed := strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") || r.Header.Get("X-Amz-Date") != "" || r.URL.Query().Has("X-Amz-Signature")
	switch {
	case strings.Contains(r.Header.Get("Smithy-Protocol"), "cbor"):
		return awsCBOR
	case r.Header.Get("X-Amz-Target") != "" || strings.HasPrefix(kind, "application/x-amz-json"):
		return awsJSON
	case form && (strings.HasPrefix(service, "ec2.") || strings.Contains(string(body), "Version=2016-11-15")):
		return awsEC2
	case form:
		return awsQuery
	case !signed && !strings.Contains(service, ".amazonaws.com"):
		return plain
	case strings.HasPrefix(service, "s3.") || strings.Contains(service, ".s3.") || strings.Contains(service, ".s3-") || r.Header.Get("X-Amz-Content-Sha256") != "" && !strings.Contains(kind, "json"):
		if strings.Contains(service, "route53") || strings.Contains(service, "cloudfront") {
			return awsRESTXML
		}
		return awsS3
	case strings.Contains(kind, "xml") || strings.Contains(service, "route53") || strings.Contains(service, "cloudfront"):
		return awsRESTXML
	}
	return awsRESTJSON
}

// refusal is how a service refuses, or fails.
type refusal struct {
	status            int
	kind, code, error string // Content-Type, error code, body
}

// refusals are the answers of each protocol: to throttle, and to fail. Codes are those
// that the SDKs of AWS take for temporary.
var refusals = map[protocol]map[Kind]refusal{
	plain: {
		Throttle:    {429, "application/json", "", `{"message":"Too Many Requests"}`},
		ServerError: {503, "application/json", "", `{"message":"Service Unavailable"}`},
	},
	awsJSON: {
		Throttle:    {400, "application/x-amz-json-1.1", "ThrottlingException", `{"__type":"ThrottlingException","message":"Rate exceeded"}`},
		ServerError: {500, "application/x-amz-json-1.1", "InternalServerError", `{"__type":"InternalServerError","message":"The request failed."}`},
	},
	awsCBOR: {
		Throttle:    {400, "application/cbor", "ThrottlingException", cborError("ThrottlingException", "Rate exceeded")},
		ServerError: {500, "application/cbor", "InternalServiceFault", cborError("InternalServiceFault", "The request failed.")},
	},
	awsQuery: {
		Throttle:    {400, "text/xml", "", xmlError("Sender", "Throttling", "Rate exceeded")},
		ServerError: {503, "text/xml", "", xmlError("Receiver", "ServiceUnavailable", "The request failed.")},
	},
	awsEC2: {
		Throttle:    {503, "text/xml", "", ec2Error("RequestLimitExceeded", "Request limit exceeded.")},
		ServerError: {500, "text/xml", "", ec2Error("InternalError", "The request failed.")},
	},
	awsRESTJSON: {
		Throttle:    {429, "application/json", "TooManyRequestsException", `{"message":"Rate exceeded"}`},
		ServerError: {500, "application/json", "InternalServerException", `{"message":"The request failed."}`},
	},
	awsRESTXML: {
		Throttle:    {400, "text/xml", "", xmlError("Sender", "Throttling", "Rate exceeded")},
		ServerError: {503, "text/xml", "", xmlError("Receiver", "ServiceUnavailable", "The request failed.")},
	},
	awsS3: {
		Throttle:    {503, "application/xml", "", s3Error("SlowDown", "Please reduce your request rate.")},
		ServerError: {500, "application/xml", "", s3Error("InternalError", "The request failed.")},
	},
}

const faultRequestID = "00000000-0000-4000-8000-000000000000"

func xmlError(party, code, message string) string {
	return "<ErrorResponse><Error><Type>" + party + "</Type><Code>" + code + "</Code><Message>" + message + "</Message></Error><RequestId>" + faultRequestID + "</RequestId></ErrorResponse>"
}

func ec2Error(code, message string) string {
	return "<Response><Errors><Error><Code>" + code + "</Code><Message>" + message + "</Message></Error></Errors><RequestID>" + faultRequestID + "</RequestID></Response>"
}

func s3Error(code, message string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + "</Code><Message>" + message + "</Message><RequestId>" + faultRequestID + "</RequestId></Error>"
}

// cborError is the map {"__type": code, "message": message} of RFC 8949.
func cborError(code, message string) string {
	text := func(s string) string {
		if len(s) < 24 {
			return string([]byte{0x60 | byte(len(s))}) + s
		}
		return string([]byte{0x78, byte(len(s))}) + s
	}
	return "\xa2" + text("__type") + text(code) + text("message") + text(message)
}

// write answers as the service would.
func (answer refusal) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", answer.kind)
	header.Set("X-Amzn-Requestid", faultRequestID)
	if answer.code != "" {
		header.Set("X-Amzn-Errortype", answer.code)
	}
	if answer.kind == "application/cbor" {
		header.Set("Smithy-Protocol", "rpc-v2-cbor")
	}
	w.WriteHeader(answer.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(answer.error)) // the client may have hung up
	}
}

// proxyCode is the error code of answers that are the proxy's own.
const proxyCode = "CfnProxyRefusal"

// explain is a 502 of the proxy itself in the format of a protocol.
func explain(of protocol, message string) refusal {
	answer := refusal{status: http.StatusBadGateway, kind: refusals[of][Throttle].kind, code: proxyCode}
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(message)) // a Builder takes everything
	switch of {
	case awsJSON, awsRESTJSON:
		text, _ := encodeJSON(map[string]string{"__type": proxyCode, "message": message}) // strings
		answer.error = string(text)
	case awsQuery, awsRESTXML:
		answer.error = xmlError("Receiver", proxyCode, escaped.String())
	case awsEC2:
		answer.error = ec2Error(proxyCode, escaped.String())
	case awsS3:
		answer.error = s3Error(proxyCode, escaped.String())
	default: // a CBOR text of this length is not worth an encoder
		answer.kind, answer.error = "text/plain; charset=utf-8", message+"\n"
	}
	return answer
}
