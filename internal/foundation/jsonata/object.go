package jsonata

import (
	"cmp"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
)

// An Object is a JSON object that keeps the order of its keys as JavaScript does: keys
// that are array indexes ("0", "7", "42") first and in numeric order, then all others in
// the order in which they came. The zero Object is empty and ready to use. It is not
// safe for use while another goroutine changes it.
type Object struct {
	keys    []string
	values  []any          // in the order of keys, while there are few
	large   map[string]any // the values beyond smallObject keys, instead of values
	indexes int            // how many keys at the front are array indexes
}

// smallObject is the number of keys up to which a linear search is faster than a map.
const smallObject = 8

// Len is the number of keys.
func (o *Object) Len() int { return len(o.keys) }

// Keys returns the keys in order. The caller must not change the slice.
func (o *Object) Keys() []string { return o.keys }

// Get returns the value of key, and whether there is one.
func (o *Object) Get(key string) (any, bool) {
	if o.large != nil {
		value, found := o.large[key]
		return value, found
	}
	for i, k := range o.keys {
		if k == key {
			return o.values[i], true
		}
	}
	return nil, false
}

// at is the value of the i-th key.
func (o *Object) at(i int) any {
	if o.large != nil {
		return o.large[o.keys[i]]
	}
	return o.values[i]
}

// All yields the keys with their values, in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i, key := range o.keys {
			if !yield(key, o.at(i)) {
				return
			}
		}
	}
}

// Set sets the value of key. An existing key keeps its place.
func (o *Object) Set(key string, value any) { o.put(key, value) }

// put is Set; it returns the number of keys that had to make place.
func (o *Object) put(key string, value any) int {
	if o.large != nil {
		if _, found := o.large[key]; found {
			o.large[key] = value
			return 0
		}
	} else if i := slices.Index(o.keys, key); i >= 0 {
		o.values[i] = value
		return 0
	}
	at := len(o.keys)
	if number, ok := arrayIndex(key); ok {
		at = sort.Search(o.indexes, func(i int) bool {
			other, _ := arrayIndex(o.keys[i])
			return other > number
		})
		o.indexes++
	}
	o.keys = slices.Insert(o.keys, at, key)
	switch {
	case o.large != nil:
		o.large[key] = value
	case len(o.keys) <= smallObject:
		o.values = slices.Insert(o.values, at, value)
	default:
		o.values = slices.Insert(o.values, at, value)
		o.large = make(map[string]any, 2*len(o.keys))
		for i, k := range o.keys {
			o.large[k] = o.values[i]
		}
		o.values = nil
	}
	return len(o.keys) - 1 - at
}

// Delete removes key, if it exists.
func (o *Object) Delete(key string) {
	i := slices.Index(o.keys, key)
	if i < 0 {
		return
	}
	o.keys = slices.Delete(slices.Clone(o.keys), i, i+1)
	if o.large != nil {
		delete(o.large, key)
	} else {
		o.values = slices.Delete(o.values, i, i+1)
	}
	if i < o.indexes {
		o.indexes--
	}
}

// newObject makes an object of keys and their values, in an order that makes adding them
// one by one cheap. Of a key that comes more than once the last value counts.
func newObject(keys []string, values []any) *Object {
	type numbered struct {
		number uint64
		at     int
	}
	var front []numbered
	for i, key := range keys {
		if number, ok := arrayIndex(key); ok {
			front = append(front, numbered{number, i})
		}
	}
	slices.SortStableFunc(front, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	out := &Object{keys: make([]string, 0, len(keys))}
	if len(keys) <= smallObject {
		out.values = make([]any, 0, len(keys))
	} else {
		out.large = make(map[string]any, len(keys))
	}
	for _, f := range front {
		out.put(keys[f.at], values[f.at])
	}
	for i, key := range keys {
		if _, ok := arrayIndex(key); !ok {
			out.put(key, values[i])
		}
	}
	return out
}

// arrayIndex reads a key that JavaScript orders by number: the canonical decimal form
// of 0 to 2^32-2.
func arrayIndex(key string) (uint64, bool) {
	if key == "" || len(key) > 10 || key[0] < '0' || key[0] > '9' || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(key, 10, 32)
	return n, err == nil && n < math.MaxUint32
}

// MarshalJSON writes the object in the order of its keys. Entries that are functions or
// regular expressions are left out, as JavaScript does.
func (o *Object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for key, value := range o.All() {
		switch value.(type) {
		case *Function, *Regexp:
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), text...)
	}
	return append(out, '}'), nil
}
