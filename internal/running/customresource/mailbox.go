package customresource

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Outcome is what became of a body that was put at a response URL.
type Outcome string

// The outcomes.
const (
	Taken        Outcome = "TAKEN"       // it is the response, valid or one that the service refuses
	NotTheAnswer Outcome = "IGNORED"     // it answers another request: the response is still waited for
	TooLong      Outcome = "TOO_LONG"    // it is the response, refused because it has more than MaxResponse bytes
	Used         Outcome = "USED"        // a response was taken before
	Expired      Outcome = "EXPIRED"     // it came after the deadline
	UnknownURL   Outcome = "UNKNOWN_URL" // no request has the URL
)

// URLPath is the path that response URLs start with, below the address of what takes them.
const URLPath = "/cfn-response/"

// urlSignature is the parameter of a response URL that nobody can guess.
const urlSignature = "X-Amz-Signature"

// NewSignature makes the secret part of a response URL: 256 random bits.
func NewSignature() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// An Address is what a response URL names: the object of the request, and the signature for it.
type Address struct{ Object, Signature string }

// AddressOf returns the address in a URL that a response is put at.
func AddressOf(at *url.URL) Address {
	_, object, _ := strings.Cut(at.Path, URLPath)
	return Address{object, Signature(at.Query())}
}

// Hash is what is stored of an address.
func (a Address) Hash() string {
	sum := sha256.Sum256([]byte(a.Object + "\x00" + a.Signature))
	return hex.EncodeToString(sum[:])
}

// ResponseURL makes the URL of the response to a request. The base is the address of what
// takes it: "http://127.0.0.1:4566".
func ResponseURL(base string, request *Request, signature string, now time.Time, life time.Duration) string {
	query := url.Values{
		"X-Amz-Algorithm": {"AWS4-HMAC-SHA256"}, "X-Amz-Date": {now.UTC().Format("20060102T150405Z")},
		"X-Amz-Expires": {strconv.FormatInt(int64(life.Seconds()), 10)}, "X-Amz-SignedHeaders": {"host"}, urlSignature: {signature},
	}
	return base + URLPath + url.PathEscape(request.Object()) + "?" + query.Encode()
}

// urlToken is the parameter with the signature in a response URL that is not in the form of presigned ones.
const urlToken = "token"

// Signature returns the signature of a response URL or of its query, "" for none.
func Signature(query url.Values) string { return cmp.Or(query.Get(urlSignature), query.Get(urlToken)) }

// Unsigned returns a response URL that is not in the form of presigned ones, for servers that check the signatures of those.
func Unsigned(at *url.URL) string {
	unsigned := *at
	unsigned.RawQuery = url.Values{urlToken: {Signature(at.Query())}}.Encode()
	return unsigned.String()
}

// An Inbox takes what is put at response URLs. Mailbox and Provider implement it.
type Inbox interface {
	// Deliver takes a body, which may be cut one byte after MaxResponse. The violations are
	// those of the body if a request has the URL.
	Deliver(ctx context.Context, at Address, body []byte) (Outcome, Violations, error)
}

// A Mailbox is an Inbox in memory, for requests outside of stacks. The zero value is ready.
// Any number of goroutines may use it.
type Mailbox struct {
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
	// NewSignature makes the secret part of URLs. Nil means the function NewSignature.
	NewSignature func() string

	mu    sync.Mutex
	slots map[string]*Slot // by the hash of the address
}

// A Slot is a request whose response a Mailbox takes.
type Slot struct {
	request  Request
	expires  time.Time
	taken    chan struct{}
	response *Response // of the delivery that was taken
	refusal  *Violation
	all      []Delivery
	box      *Mailbox
	hash     string
}

// A Delivery is what was put at a response URL.
type Delivery struct {
	At         time.Time
	Body       []byte // at most MaxResponse bytes and one
	Outcome    Outcome
	Response   *Response // nil if the service refuses or ignores it
	Violations Violations
}

func (m *Mailbox) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// Open sets the ResponseURL of a request and takes responses to it, for a time from now. Close
// the slot to forget it.
func (m *Mailbox) Open(base string, request *Request, life time.Duration) *Slot {
	signature := NewSignature
	if m.NewSignature != nil {
		signature = m.NewSignature
	}
	secret, now := signature(), m.now()
	request.ResponseURL = ResponseURL(base, request, secret, now, life)
	s := &Slot{request: *request, expires: now.Add(life), taken: make(chan struct{}), box: m, hash: Address{request.Object(), secret}.Hash()}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slots == nil {
		m.slots = map[string]*Slot{}
	}
	m.slots[s.hash] = s
	return s
}

// maxDeliveries bounds what a slot keeps: a provider may put without end.
const maxDeliveries = 100

// Deliver implements [Inbox].
func (m *Mailbox) Deliver(_ context.Context, at Address, body []byte) (Outcome, Violations, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.slots[at.Hash()]
	if s == nil {
		return UnknownURL, nil, nil
	}
	d := Delivery{At: m.now(), Body: slices.Clone(body[:min(len(body), MaxResponse+1)])}
	d.Response, d.Violations = Check(&s.request, body)
	d.Outcome = Judge(body, d.Violations, s.isTaken(), !d.At.Before(s.expires))
	if len(s.all) < maxDeliveries {
		s.all = append(s.all, d)
	}
	if d.Outcome == Taken || d.Outcome == TooLong {
		s.response, s.refusal = d.Response, d.Violations.Refusal()
		close(s.taken)
	}
	return d.Outcome, d.Violations, nil
}

// Judge returns what becomes of a body that was put at the URL of a known request.
func Judge(body []byte, violations Violations, used, expired bool) Outcome {
	switch {
	case used:
		return Used
	case expired:
		return Expired
	case len(body) > MaxResponse:
		return TooLong
	case violations.Ignored() != nil:
		return NotTheAnswer
	}
	return Taken
}

func (s *Slot) isTaken() bool {
	select {
	case <-s.taken:
		return true
	default:
		return false
	}
}

// Taken is closed when a response was taken.
func (s *Slot) Taken() <-chan struct{} { return s.taken }

// Response returns the response that was taken, or the violation for which the service refuses
// it. Both are nil before.
func (s *Slot) Response() (*Response, *Violation) {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return s.response, s.refusal
}

// Deliveries are what was put at the URL until now, the first 100 of them.
func (s *Slot) Deliveries() []Delivery {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	return slices.Clone(s.all)
}

// Close forgets the request: its URL is unknown from now on.
func (s *Slot) Close() {
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	delete(s.box.slots, s.hash)
}
