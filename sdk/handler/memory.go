package handler

import (
	"encoding/json"
	"fmt"
	"maps"
)

// stepsKey is the one key of the callback context that chains keep their steps under.
const stepsKey = "$steps"

// A Memory is what a handler remembers from one call of an operation to the
// next: the callback context. It is sent with IN_PROGRESS events only. Values
// are stored as plain JSON, so that any caller can pass them on, and so they
// must not be secrets. The steps of a [Chain] live under the key "$steps", with
// their results and the number of attempts; every other key is the author's.
//
// Get, Set and Delete may be called between the steps of a chain and inside of
// them. They count no attempts. A call that is cut off before it answers leaves
// the callback context as it was.
//
// Use [NewMemory] to make one in a test.
type Memory struct {
	values map[string]json.RawMessage
	steps  map[string]step
}

// A step is what a chain knows of one of its steps.
type step struct {
	Done     bool            `json:"done,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Attempts int             `json:"attempts,omitempty"` // tries that did not finish the step
}

// NewMemory is the empty memory of a first call.
func NewMemory() *Memory {
	return &Memory{values: map[string]json.RawMessage{}, steps: map[string]step{}}
}

// Get reads the value under key into the variable that into points to. It
// returns false, and leaves the variable alone, when nothing is stored there.
func (m *Memory) Get(key string, into any) (bool, error) {
	value, ok := m.values[key]
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("read callback context %q: %w", key, err)
	}
	return true, nil
}

// Set stores a value. It fails for a value that has no JSON form and for the
// key that chains use.
func (m *Memory) Set(key string, value any) error {
	if key == stepsKey {
		return fmt.Errorf("write callback context: the key %q belongs to the steps of chains", key)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write callback context %q: %w", key, err)
	}
	m.values[key] = text
	return nil
}

// Delete forgets the value under key.
func (m *Memory) Delete(key string) { delete(m.values, key) }

// MarshalJSON gives the callback context of the next call.
func (m *Memory) MarshalJSON() ([]byte, error) {
	all := maps.Clone(m.values)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if len(m.steps) > 0 {
		text, err := json.Marshal(m.steps)
		if err != nil {
			return nil, err
		}
		all[stepsKey] = text
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads a callback context; null is an empty one.
func (m *Memory) UnmarshalJSON(text []byte) error {
	*m = *NewMemory()
	if string(text) == "null" {
		return nil
	}
	if err := json.Unmarshal(text, &m.values); err != nil {
		return fmt.Errorf("read callback context: it must be an object")
	}
	if steps, ok := m.values[stepsKey]; ok {
		if err := json.Unmarshal(steps, &m.steps); err != nil {
			return fmt.Errorf("read callback context: the steps under %q are damaged", stepsKey)
		}
		if m.steps == nil {
			m.steps = map[string]step{}
		}
		delete(m.values, stepsKey)
	}
	return nil
}
