package stub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// A state is what the service keeps. It is the content of the data file.
type state struct {
	API     string           `json:"api"`
	Serial  int              `json:"serial"`
	Items   map[string]*item `json:"items"`
	Tokens  map[string]token `json:"tokens,omitempty"`
	Touched map[string]bool  `json:"touched,omitempty"` // items that were changed or deleted
}

// An item is one resource.
type item struct {
	Resource string            `json:"resource"`
	Key      []string          `json:"key"` // the identifiers of its parents, then its own
	Serial   int               `json:"serial"`
	Props    map[string]any    `json:"props"` // by plain names
	Made     []string          `json:"made,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
	ARN      string            `json:"arn,omitempty"`
	Created  time.Time         `json:"created"`
	Changed  time.Time         `json:"changed"`
	Hidden   int               `json:"hidden,omitempty"`  // reads that do not see it
	Version  int               `json:"version,omitempty"` // of changes; it is the ETag
	Pending  int               `json:"pending,omitempty"` // reads until it has its final state
	Phase    action            `json:"phase,omitempty"`   // what it is pending after
}

// A token is a call that must not be made twice.
type token struct {
	Digest string `json:"digest"`
	Item   string `json:"item"`
	Serial int    `json:"serial"` // of the item
}

func newState(name string) *state {
	return &state{API: name, Items: map[string]*item{}, Tokens: map[string]token{}, Touched: map[string]bool{}}
}

// idOf is the key of an item in the state.
func idOf(r *resource, key []string) string {
	return r.Name + "\x00" + strings.Join(key, "\x00")
}

func (i *item) id() string { return i.Resource + "\x00" + strings.Join(i.Key, "\x00") }

// get is a member of an item by one of the names that it may have.
func (i *item) get(names []string) (any, bool) {
	for _, variant := range names {
		if v, ok := i.Props[variant]; ok {
			return v, true
		}
	}
	return nil, false
}

// set stores a member, under the one of its names that it already has, else under the first.
func (i *item) set(names []string, v any) string {
	for _, variant := range names {
		if _, ok := i.Props[variant]; ok {
			i.Props[variant] = v
			return variant
		}
	}
	i.Props[names[0]] = v
	return names[0]
}

// made notes that a member is not for callers to change.
func (i *item) made(name string) {
	if !slices.Contains(i.Made, name) {
		i.Made = append(i.Made, name)
	}
}

// sorted are the items of a resource in the order in which they were created.
func (s *Stub) sorted(r *resource) []*item {
	var out []*item
	for _, i := range s.state.Items {
		if i.Resource == r.Name {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, func(a, b *item) int { return cmp.Compare(a.Serial, b.Serial) })
	return out
}

// etag is the value of the header ETag.
func (i *item) etag() string { return fmt.Sprintf("\"%d-%d\"", i.Serial, i.Version) }

// lookup finds an item by its identifiers, or by another value that identifies it, such as
// its ARN.
func (s *Stub) lookup(r *resource, key []string) *item {
	if found := s.state.Items[idOf(r, key)]; found != nil {
		return found
	}
	if len(key) == 0 {
		return nil
	}
	own := key[len(key)-1]
	for _, i := range s.sorted(r) {
		if !slices.Equal(i.Key[:len(i.Key)-1], key[:len(key)-1]) {
			continue
		}
		if i.ARN == own && own != "" {
			return i
		}
		for name, v := range i.Props {
			if identifies(r.Name, name) && textOf(v) == own {
				return i
			}
		}
	}
	return nil
}

// touch remembers that an item is not as the examples of the description have it.
func (s *Stub) touch(id string) {
	if len(s.state.Touched) < maxTouched {
		s.state.Touched[id] = true
	}
}

// load reads the data file, if it exists.
func (s *Stub) load() error {
	data, err := document.ReadFile(s.config.Data, 256<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	from := newState("")
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(from); err != nil {
		return fmt.Errorf("read the state in %s: %w", s.config.Data, err)
	}
	if from.API != s.api.Name {
		return fmt.Errorf("the state in %s is of another API: %q instead of %q", s.config.Data, cut(from.API), s.api.Name)
	}
	ids := map[string]int{}
	for _, r := range s.resources {
		ids[r.Name] = max(1, len(r.ids))
	}
	for id, i := range from.Items {
		if i == nil || i.id() != id || len(i.Key) == 0 || i.Props == nil || ids[i.Resource] > 0 && ids[i.Resource] != len(i.Key) {
			return fmt.Errorf("the state in %s has an item that is not valid", s.config.Data)
		}
		from.Serial = max(from.Serial, i.Serial)
	}
	if from.Items == nil || from.Tokens == nil || from.Touched == nil {
		return fmt.Errorf("the state in %s is not complete", s.config.Data)
	}
	s.state = from
	return nil
}

// save writes the data file, if there is one.
func (s *Stub) save() *fault {
	if s.config.Data == "" {
		return nil
	}
	data, err := json.Marshal(s.state)
	if err == nil {
		dir, name := filepath.Split(s.config.Data)
		err = files.Write(cmp.Or(dir, "."), name, data, 0o600)
	}
	if err != nil {
		return faultf(internal, "the state cannot be written: %v", err)
	}
	return nil
}

// control answers requests about the stub itself.
func (s *Stub) control(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status := http.StatusOK
	var answer any
	switch r.Method + " " + r.URL.Path {
	case "POST /_stub/reset":
		s.reset()
		if problem := s.save(); problem != nil {
			status, answer = http.StatusInternalServerError, map[string]any{"message": problem.message}
			break
		}
		w.WriteHeader(http.StatusNoContent)
		return
	case "GET /_stub/state":
		answer = s.report()
	case "POST /_stub/token": // of OAuth: any client has one
		answer = map[string]any{"access_token": "stub", "token_type": "Bearer", "expires_in": 3600}
	default:
		status = http.StatusNotFound
		answer = map[string]any{"message": "the stub has POST /_stub/reset, GET /_stub/state and POST /_stub/token"}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// report is the state for people and tests.
func (s *Stub) report() any {
	resources := map[string]any{}
	for _, r := range s.resources {
		items, hidden := []any{}, s.sensitive(r)
		for _, i := range s.sorted(r) {
			items = append(items, map[string]any{"key": i.Key, "properties": hide(i.Props, hidden), "tags": i.Tags})
		}
		resources[r.Name] = items
	}
	return map[string]any{"api": s.api.Name, "resources": resources, "calls": s.calls}
}
