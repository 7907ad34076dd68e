package lsp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"
)

// The bounds of a message. A document of the size that is read at all (8 MiB) fits in
// with every character of it escaped twice over.
const (
	maxHeader = 8 << 10
	maxBody   = 64 << 20
)

// A skippedError is a message that was read over; the next one can be read.
type skippedError struct{ reason string }

func (e *skippedError) Error() string { return e.reason }

// A frameReader reads messages in the framing of the base protocol: header lines, an
// empty line, and as many bytes as Content-Length says.
type frameReader struct {
	r       *bufio.Reader
	maxBody int64
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{bufio.NewReaderSize(r, maxHeader), maxBody}
}

// read returns the content of the next message. The error is io.EOF between two messages,
// a *skippedError for a message that cannot be taken, or another one after which nothing
// more can be read: the border between messages is lost.
func (f *frameReader) read() ([]byte, error) {
	length, charset, err := f.header()
	if err != nil {
		return nil, err
	}
	if length > f.maxBody || charset != "utf-8" {
		if _, err := io.CopyN(io.Discard, f.r, length); err != nil {
			return nil, fmt.Errorf("read a message of %d bytes: %w", length, unexpected(err))
		}
		if charset != "utf-8" {
			return nil, &skippedError{fmt.Sprintf("the message is in %q: only utf-8 is understood", charset)}
		}
		return nil, &skippedError{fmt.Sprintf("the message has %d bytes, more than the %d that are read", length, f.maxBody)}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(f.r, body); err != nil {
		return nil, fmt.Errorf("read a message of %d bytes: %w", length, unexpected(err))
	}
	return body, nil
}

// header reads up to the empty line. The length is never negative.
func (f *frameReader) header() (length int64, charset string, err error) {
	length, charset = -1, "utf-8"
	size := 0
	for first := true; ; first = false {
		line, err := f.r.ReadSlice('\n')
		if first && len(line) == 0 && errors.Is(err, io.EOF) {
			return 0, "", io.EOF
		}
		if size += len(line); errors.Is(err, bufio.ErrBufferFull) || size > maxHeader {
			return 0, "", fmt.Errorf("read a header: it has more than %d bytes", maxHeader)
		}
		if err != nil {
			return 0, "", fmt.Errorf("read a header: %w", unexpected(err))
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, found := strings.Cut(text, ":")
		if !found {
			return 0, "", errors.New("read a header: a line has no colon")
		}
		value = strings.TrimSpace(value)
		switch {
		case strings.EqualFold(name, "Content-Length"):
			n, err := strconv.ParseUint(value, 10, 62)
			if err != nil || length >= 0 && int64(n) != length {
				return 0, "", errors.New("read a header: Content-Length is not a number of bytes")
			}
			length = int64(n)
		case strings.EqualFold(name, "Content-Type"):
			if _, parameters, err := mime.ParseMediaType(value); err == nil && parameters["charset"] != "" {
				charset = strings.ToLower(parameters["charset"])
			}
			if charset == "utf8" { // as earlier versions of the protocol had it
				charset = "utf-8"
			}
		}
	}
	if length < 0 {
		return 0, "", errors.New("read a header: there is no Content-Length")
	}
	return length, charset, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// appendFrame appends a message with its header.
func appendFrame(b, body []byte) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}
