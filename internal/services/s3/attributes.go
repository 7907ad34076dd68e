package s3

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// attributes is what an object has besides its bytes, as a row keeps it.
type attributes struct {
	Headers  map[string]string `json:"headers,omitempty"` // Content-Type and so on
	Meta     map[string]string `json:"meta,omitempty"`    // by names in lower case, without x-amz-meta-
	Tags     []tag             `json:"tags,omitempty"`
	Class    string            `json:"class,omitempty"` // "" for STANDARD
	SSE      string            `json:"sse,omitempty"`   // "" for AES256; as the client sent it, nothing is encrypted
	Key      string            `json:"key,omitempty"`
	Checksum checksum          `json:"sum,omitzero"` // of an upload: its algorithm and kind
}

// keptHeaders are the headers of an object that are given back as they came.
var keptHeaders = []string{"Content-Type", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires", "X-Amz-Website-Redirect-Location"}

const (
	maxMetadata = 2 << 10
	metaPrefix  = "X-Amz-Meta-"
)

// storageClasses that differ by price only. The archives, which want a restore before a
// read, are refused.
var storageClasses = []string{"STANDARD", "REDUCED_REDUNDANCY", "STANDARD_IA", "ONEZONE_IA", "INTELLIGENT_TIERING", "GLACIER_IR"}

// readAttributes takes the attributes of an object from the headers of its upload.
func readAttributes(h http.Header) (attributes, error) {
	if err := s3RefuseHeaders(h); err != nil {
		return attributes{}, err
	}
	a := attributes{Headers: map[string]string{"Content-Type": "binary/octet-stream"}, Meta: map[string]string{}}
	for _, name := range keptHeaders {
		if value := strings.Join(h.Values(name), ", "); value != "" {
			a.Headers[name] = strings.ToValidUTF8(value, "\uFFFD")
		}
	}
	if encoding := awswire.ContentEncoding(h); encoding != "" {
		a.Headers["Content-Encoding"] = strings.ToValidUTF8(encoding, "\uFFFD")
	} else {
		delete(a.Headers, "Content-Encoding") // aws-chunked ended with the request
	}
	size := 0
	for name, values := range h {
		rest, ok := cutPrefixFold(name, metaPrefix)
		if !ok {
			continue
		}
		value := strings.ToValidUTF8(strings.Join(values, ","), "\uFFFD")
		size += len(rest) + len(value)
		a.Meta[strings.ToLower(rest)] = value
	}
	if size > maxMetadata {
		return a, s3Error("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size", "Size", strconv.Itoa(size), "MaxSizeAllowed", strconv.Itoa(maxMetadata))
	}
	switch class := cmp.Or(h.Get("X-Amz-Storage-Class"), "STANDARD"); {
	case class == "GLACIER" || class == "DEEP_ARCHIVE":
		return a, s3NotImplemented("the storage class " + class)
	case !slices.Contains(storageClasses, class):
		return a, s3Error("InvalidStorageClass", "The storage class you specified is not valid", "StorageClassRequested", words.Cut(class, 50))
	case class != "STANDARD":
		a.Class = class
	}
	switch sse := h.Get("X-Amz-Server-Side-Encryption"); sse {
	case "", "AES256":
	case "aws:kms", "aws:kms:dsse":
		a.SSE, a.Key = sse, h.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id")
	default:
		return a, s3Error("InvalidEncryptionAlgorithmError", "The encryption request you specified is not valid. The valid value is AES256.")
	}
	if text := h.Get("X-Amz-Tagging"); text != "" {
		var err error
		if a.Tags, err = parseTagHeader(text); err != nil {
			return a, err
		}
	}
	return a, nil
}

// parseTagHeader reads tags that are written as a query: a=1&b=2.
func parseTagHeader(text string) ([]tag, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, s3Error("InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.", "ArgumentName", "x-amz-tagging")
	}
	var tags []tag
	for key, all := range values {
		if len(all) > 1 {
			return nil, s3Error("InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.", "ArgumentName", "x-amz-tagging")
		}
		tags = append(tags, tag{key, all[0]})
	}
	slices.SortFunc(tags, func(x, y tag) int { return cmp.Compare(x.Key, y.Key) })
	return tags, checkS3Tags(tags, 10)
}

// writeTo sets the headers that an object is answered with.
func (a attributes) writeTo(h http.Header) {
	for name, value := range a.Headers {
		h.Set(name, value)
	}
	for name, value := range a.Meta {
		h["x-amz-meta-"+name] = []string{value} // S3 sends these in lower case
	}
	if a.Class != "" {
		h.Set("X-Amz-Storage-Class", a.Class)
	}
	if len(a.Tags) > 0 {
		h.Set("X-Amz-Tagging-Count", strconv.Itoa(len(a.Tags)))
	}
	a.writeEncryption(h)
}

func (a attributes) writeEncryption(h http.Header) {
	h.Set("X-Amz-Server-Side-Encryption", cmp.Or(a.SSE, "AES256"))
	if a.Key != "" {
		h.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", a.Key)
	}
}

// writeTo sets the headers of a checksum, if there is one.
func (c checksum) writeTo(h http.Header) {
	if c.Sum == "" {
		return
	}
	h.Set(checksumHeader+strings.ToLower(c.Algorithm), c.Sum)
	h.Set("X-Amz-Checksum-Type", c.kind())
}
