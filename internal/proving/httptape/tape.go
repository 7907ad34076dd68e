package httptape

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// Bounds of a tape.
const (
	MaxBody    = 8 << 20  // bytes of one body; what is longer is forwarded but not recorded
	MaxTape    = 64 << 20 // bytes of a file
	maxEntries = 50_000
	version    = 1
)

// Info is what a replay has to repeat so that a program asks the same again.
type Info struct {
	Version   int    `json:"httptape"`
	TypeName  string `json:"typeName"`
	Seed      uint64 `json:"seed"`   // of generated inputs
	Tokens    uint64 `json:"tokens"` // seed of the client request tokens
	Region    string `json:"region"`
	AccountID string `json:"accountId"`
}

// An Entry is one call and its answer, without secrets.
type Entry struct {
	Method       string      `json:"method"`
	URL          string      `json:"url"`
	Target       string      `json:"target,omitempty"` // X-Amz-Target
	RequestType  string      `json:"requestType,omitempty"`
	RequestBody  string      `json:"requestBody,omitempty"`
	RequestBytes []byte      `json:"requestBytes,omitempty"` // of a body that is not a string
	Status       int         `json:"status"`
	Header       http.Header `json:"header,omitempty"`
	Body         string      `json:"body,omitempty"`
	Bytes        []byte      `json:"bytes,omitempty"`   // of a body that is not a string
	Missing      string      `json:"missing,omitempty"` // why the bodies are not here
}

// name is how messages call the request.
func (e *Entry) name() string {
	text := e.Method + " " + e.URL
	switch {
	case e.Target != "":
		_, operation, _ := strings.Cut(e.Target, ".")
		text += " (" + operation + ")"
	case strings.Contains(e.RequestBody, "Action="):
		if form, err := url.ParseQuery(e.RequestBody); err == nil && form.Get("Action") != "" {
			text += " (" + form.Get("Action") + ")"
		}
	}
	return text
}

func (e *Entry) requestBody() []byte {
	if e.RequestBytes != nil {
		return e.RequestBytes
	}
	return []byte(e.RequestBody)
}

func (e *Entry) body() []byte {
	if e.Bytes != nil {
		return e.Bytes
	}
	return []byte(e.Body)
}

// setBodies keeps texts as texts, so that a person can read the file.
func (e *Entry) setBodies(request, response []byte) {
	if utf8.Valid(request) {
		e.RequestBody = string(request)
	} else {
		e.RequestBytes = request
	}
	if utf8.Valid(response) {
		e.Body = string(response)
	} else {
		e.Bytes = response
	}
}

// A Tape is a recording. Its zero value is empty; several goroutines may use one.
type Tape struct {
	Info Info

	mu      sync.Mutex
	entries []*Entry
	size    int
	full    bool
	keys    map[string][]*Entry // nil until the first match
	played  map[string]int
}

// Len is how many calls are on the tape.
func (t *Tape) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// Entries are the calls on the tape, in their order. They must not be changed.
func (t *Tape) Entries() iter.Seq[*Entry] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Values(slices.Clone(t.entries))
}

// Join is a tape with the calls of others, to be replayed by itself. Its Info is that of the first.
func Join(tapes ...*Tape) *Tape {
	out := &Tape{}
	for i, t := range tapes {
		if i == 0 {
			out.Info = t.Info
		}
		out.entries = slices.AppendSeq(out.entries, t.Entries())
	}
	return out
}

func (t *Tape) add(e *Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size += len(e.RequestBody) + len(e.RequestBytes) + len(e.Body) + len(e.Bytes) + len(e.URL)
	if t.size > MaxTape/2 || len(t.entries) >= maxEntries { // half: the file is longer than what it holds
		t.full = true
		return
	}
	t.entries = append(t.entries, e)
}

// ErrFull reports that a tape is too long.
var ErrFull = errors.New("the recording is too long: more than 50,000 calls or 32 MiB")

// Write writes the tape as JSON lines, [Info] first. It removes the secrets that redact knows
// again: some are learned only after the call that first had them.
func (t *Tape) Write(w io.Writer, redact func(string) string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full {
		return ErrFull
	}
	t.Info.Version = version
	b := bufio.NewWriter(w)
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(t.Info); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	s := scrubber{redact}
	for _, e := range t.entries {
		if err := encoder.Encode(s.entry(e)); err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// entry is a copy without secrets.
func (s scrubber) entry(e *Entry) *Entry {
	out := *e
	if u, err := url.Parse(e.URL); err == nil {
		out.URL = s.url(u).String()
	} else {
		out.URL = s.text(e.URL)
	}
	out.RequestBytes, out.RequestBody, out.Bytes, out.Body = nil, "", nil, ""
	out.setBodies(s.body(e.RequestType, e.requestBody()), s.body(e.Header.Get("Content-Type"), e.body()))
	out.Header = s.header(e.Header)
	return &out
}

// A FormatError reports that a file is not a tape, or not one of this version.
type FormatError struct {
	Line   int // from 1
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("line %d of the recording: %s", e.Line, e.Reason)
}

// Read reads a tape. What is wrong with it is a [*FormatError]; other errors are those of r.
func Read(r io.Reader) (*Tape, error) {
	t := &Tape{}
	lines := bufio.NewReaderSize(io.LimitReader(r, MaxTape+1), 1<<16)
	size := 0
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
		if size += len(line); size > MaxTape {
			return nil, &FormatError{number, fmt.Sprintf("the file is longer than %d MiB", MaxTape>>20)}
		}
		if text := bytes.TrimSpace(line); len(text) > 0 || number == 1 {
			if fault := t.line(number, text); fault != "" {
				return nil, &FormatError{number, fault}
			}
		}
		if err != nil {
			return t, nil
		}
	}
}

// line takes one line of a file and returns what is wrong with it.
func (t *Tape) line(number int, text []byte) string {
	if number == 1 {
		if err := json.Unmarshal(text, &t.Info); err != nil || t.Info.Version == 0 {
			return `not a recording: the first line must be {"httptape":1,…}; cfn test --record FILE creates a recording`
		}
		if t.Info.Version != version {
			return fmt.Sprintf("version %d is not supported; this cfn reads version %d: record again", t.Info.Version, version)
		}
		return ""
	}
	if len(t.entries) >= maxEntries {
		return fmt.Sprintf("more than %d calls", maxEntries)
	}
	e := &Entry{}
	if err := json.Unmarshal(text, e); err != nil {
		return "not JSON: " + err.Error()
	}
	u, err := url.Parse(e.URL)
	switch {
	case e.Method == "" || err != nil || u.Host == "":
		return "a call requires a method and an absolute url"
	case e.Status < 100 || e.Status > 599:
		return fmt.Sprintf("%d is not an HTTP status", e.Status)
	case len(e.body()) > MaxBody || len(e.requestBody()) > MaxBody:
		return fmt.Sprintf("a body is longer than %d MiB", MaxBody>>20)
	}
	t.entries = append(t.entries, e)
	return ""
}

// answer finds the recorded answer to a request, from which secrets have been taken. The
// same request gets the answers in the order in which they were recorded; one that only
// asks gets the last of them again when there are no more.
func (t *Tape) answer(e *Entry) *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys, t.played = map[string][]*Entry{}, map[string]int{}
		for _, recorded := range t.entries {
			k := key(recorded)
			t.keys[k] = append(t.keys[k], recorded)
		}
	}
	k := key(e)
	answers, played := t.keys[k], t.played[k]
	switch {
	case played < len(answers):
		t.played[k]++
		return answers[played]
	case len(answers) > 0 && onlyAsks(e):
		return answers[len(answers)-1]
	}
	return nil
}

// Unplayed lists the recorded calls that were not made.
func (t *Tape) Unplayed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	played := map[string]int{}
	for _, e := range t.entries {
		k := key(e)
		if played[k]++; played[k] > t.played[k] {
			names = append(names, e.name())
		}
	}
	return names
}

var asks = lazyregexp.New(`^(Get|Describe|List|Head|BatchGet|Query|Scan|Search|Lookup)`)

// onlyAsks reports whether a request changes nothing.
func onlyAsks(e *Entry) bool {
	if e.Method == http.MethodGet || e.Method == http.MethodHead {
		return true
	}
	_, operation, _ := strings.Cut(e.Target, ".")
	if operation == "" && strings.Contains(e.RequestBody, "Action=") {
		if form, err := url.ParseQuery(e.RequestBody); err == nil {
			operation = form.Get("Action")
		}
	}
	return asks.MatchString(operation)
}

// What differs from run to run and takes no part in matching.
var (
	moments = lazyregexp.New(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?|\d{8}T\d{6}Z|(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT`)
	chunks  = lazyregexp.New(`;chunk-signature=[0-9a-f]{64}|x-amz-trailer-signature:[0-9a-f]{64}`)
	leaf    = lazyregexp.New(`<([A-Za-z][\w.-]*)>[^<]*</`)
	border  = lazyregexp.New(`boundary="?([^";]+)"?`)
)

// passing are names of parameters and members whose values are made anew for each
// request: of signatures, and tokens by which a service knows a repetition.
var passing = []string{
	"xamzalgorithm", "xamzcredential", "xamzdate", "xamzexpires", "xamzsecuritytoken", "xamzsignature", "xamzsignedheaders",
	"signature", "signaturemethod", "signatureversion", "awsaccesskeyid", "expires", "timestamp",
	"clienttoken", "clientrequesttoken", "idempotencytoken", "requesttoken", "creationtoken", "callerreference", "idempotencykey",
	"clientrequestid", "amzclienttoken", "creatorrequestid", "rolesessionname",
}

func passes(name string) bool {
	return slices.Contains(passing, strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)))
}

// key is the same for two requests that mean the same.
func key(e *Entry) string {
	place := e.URL
	if u, err := url.Parse(e.URL); err == nil {
		place = strings.ToLower(u.Scheme+"://"+u.Host) + u.EscapedPath() + "?" + normalForm(u.RawQuery)
	}
	return strings.Join([]string{e.Method, moments.ReplaceAllString(place, "<time>"), e.Target, normalBody(e.RequestType, e.requestBody())}, "\x00")
}

func normalForm(text string) string {
	var kept []string
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		if err != nil {
			plain = name
		}
		if plain == "" || passes(plain) {
			continue
		}
		if v, err := url.QueryUnescape(value); err == nil {
			value = v
		}
		kept = append(kept, url.QueryEscape(plain)+"="+url.QueryEscape(moments.ReplaceAllString(value, "<time>")))
	}
	slices.Sort(kept)
	return strings.Join(kept, "&")
}

func normalBody(contentType string, body []byte) string {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return ""
	case trimmed[0] == '{' || trimmed[0] == '[':
		if doc, ok := decodeJSON(body); ok {
			if out, err := encodeJSON(normalDocument(doc)); err == nil {
				return string(out)
			}
		}
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		return normalForm(string(trimmed))
	}
	text := string(body)
	if m := border.FindStringSubmatch(contentType); m != nil {
		text = strings.ReplaceAll(text, m[1], "<boundary>")
	}
	if trimmed[0] == '<' {
		text = leaf.ReplaceAllStringFunc(text, func(match string) string {
			if name := leaf.FindStringSubmatch(match)[1]; passes(name) {
				return "<" + name + "></"
			}
			return match
		})
	}
	return moments.ReplaceAllString(chunks.ReplaceAllString(text, ""), "<time>")
}

func normalDocument(v any) any {
	switch v := v.(type) {
	case string:
		return moments.ReplaceAllString(v, "<time>")
	case map[string]any:
		for key, member := range v {
			if passes(key) {
				delete(v, key)
				continue
			}
			v[key] = normalDocument(member)
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = normalDocument(item)
		}
		return v
	}
	return v
}
