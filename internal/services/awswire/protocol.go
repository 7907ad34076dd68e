package awswire

import (
	"io"
	"mime"
	"net/http"
)

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
	case "cloudcontrolapi", "states", "formwork":
		return JSON10
	case "ssm", "secretsmanager", "logs", "events":
		return JSON11
	default:
		return Query
	}
}

// ProtocolOfRequest is ProtocolOf for a service that may be unknown: then the headers of the
// request say in which form its client reads an answer.
func ProtocolOfRequest(service string, r *http.Request) Protocol {
	protocol := ProtocolOf(service)
	if protocol != Query {
		return protocol
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "application/x-amz-json-1.0":
		return JSON10
	case kind == "application/x-amz-json-1.1", r.Header.Get("X-Amz-Target") != "":
		return JSON11
	case kind == "application/json":
		return RESTJSON
	}
	return protocol
}
