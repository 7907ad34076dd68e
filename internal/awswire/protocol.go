package awswire

import "io"

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
