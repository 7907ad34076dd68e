package s3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	s3Namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

	maxDocument = 1 << 20 // bytes of a bucket's document
	maxList     = 8 << 20 // bytes of the lists of DeleteObjects and CompleteMultipartUpload
	maxXMLDepth = 32
)

// body is the payload of the request: without its chunk framing, verified, and with an
// announced length of at most max bytes.
func (q *s3Request) body(max int64) (*awswire.Body, error) {
	body, err := awswire.ChunkedBody(q.r)
	if err != nil {
		return nil, err
	}
	if body.Length > max {
		return nil, tooLarge(body.Length, max)
	}
	return body, nil
}

func tooLarge(length, max int64) error {
	return s3Error("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size",
		"ProposedSize", strconv.FormatInt(length, 10), "MaxSizeAllowed", strconv.FormatInt(max, 10))
}

// document reads a body of at most max bytes.
func (q *s3Request) document(max int64) ([]byte, error) {
	body, err := q.body(max)
	if err != nil {
		return nil, err
	}
	text, err := body.ReadAll(q.ctx, max)
	if err == nil && int64(len(text)) > max {
		err = tooLarge(int64(len(text)), max)
	}
	return text, err
}

// sent reads the XML document of a request, of at most max bytes and with a root element
// called root, into v.
func (q *s3Request) sent(root string, max int64, v any) error {
	if err := s3RefuseHeaders(q.r.Header); err != nil {
		return err
	}
	text, err := q.document(max)
	if err != nil {
		return err
	}
	return parseXML(text, root, v)
}

var errMalformedXML = s3Error("MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")

// parseXML reads a document whose root element is called root into v, nil to only check
// it. Document types, and so all entities, are refused, as is what is nested too deeply.
func parseXML(text []byte, root string, v any) error {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	depth, seen := 0, false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errMalformedXML
		}
		switch t := token.(type) {
		case xml.Directive:
			return errMalformedXML
		case xml.StartElement:
			if depth++; depth > maxXMLDepth || depth == 1 && (seen || t.Name.Local != root) {
				return errMalformedXML
			}
			seen = true
		case xml.EndElement:
			depth--
		case xml.CharData:
			if depth == 0 && len(bytes.TrimSpace(t)) > 0 {
				return errMalformedXML
			}
		}
	}
	if !seen {
		return errMalformedXML
	}
	if v == nil {
		return nil
	}
	if err := xml.Unmarshal(text, v); err != nil {
		return errMalformedXML
	}
	return nil
}

// answer writes v as XML, with status 200.
func (q *s3Request) answer(v any) error {
	text, err := xml.Marshal(v)
	if err != nil {
		return err
	}
	q.write("application/xml", []byte(xml.Header), text)
	return nil
}

// write writes the pieces of a document, with status 200.
func (q *s3Request) write(contentType string, pieces ...[]byte) {
	length := 0
	for _, piece := range pieces {
		length += len(piece)
	}
	h := q.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(length))
	q.w.WriteHeader(http.StatusOK)
	for _, piece := range pieces {
		if _, err := q.w.Write(piece); err != nil {
			return // the client hung up
		}
	}
}

// xmlTime is a time in the format of S3's XML: with milliseconds, in UTC.
type xmlTime time.Time

func (t xmlTime) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, "2006-01-02T15:04:05.000Z"), nil
}

// quoted is an ETag in the wire format.
func quoted(etag string) string { return `"` + etag + `"` }

// unquoted takes the quotation marks off an ETag, where there are any.
func unquoted(etag string) string {
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
}

// xmlKey writes keys in the requested encoding: unchanged, or escaped as in URLs.
type xmlKey func(string) string

// keysAs reads the parameter encoding-type.
func (q *s3Request) keysAs() (xmlKey, string, error) {
	switch kind := q.query.Get("encoding-type"); kind {
	case "":
		return func(key string) string { return key }, "", nil
	case "url":
		return escapeKey, kind, nil
	default:
		return nil, "", s3Error("InvalidArgument", "Invalid Encoding Method specified in Request", "ArgumentName", "encoding-type", "ArgumentValue", words.Cut(kind, 50))
	}
}

// escapeKey escapes all but letters, digits and -_.*/ as S3 does in lists; a space is a
// plus sign.
func escapeKey(key string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.*/", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}
