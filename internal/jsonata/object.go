package jsonata

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
)

// An Object is a JSON object that keeps the order of its keys as JavaScript does: keys
// that are array indexes ("0", "7", "42") first and in numeric order, then all others in
// the order in which they came. The zero Object is empty and ready to use. It is not
// safe for use while another goroutine changes it.
type Object struct {
	keys    []string
	values  []any
	index   map[string]int // built beyond smallObject keys
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
	if i := o.find(key); i >= 0 {
		return o.values[i], true
	}
	return nil, false
}

// All yields the keys with their values, in order.
func (o *Object) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for i, key := range o.keys {
			if !yield(key, o.values[i]) {
				return
			}
		}
	}
}

// Set gives key a value. A key that is there keeps its place.
func (o *Object) Set(key string, value any) {
	if i := o.find(key); i >= 0 {
		o.values[i] = value
		return
	}
	at := len(o.keys)
	if number, ok := arrayIndex(key); ok {
		for at = 0; at < o.indexes; at++ {
			if other, _ := arrayIndex(o.keys[at]); other > number {
				break
			}
		}
		o.indexes++
	}
	o.keys = slices.Insert(o.keys, at, key)
	o.values = slices.Insert(o.values, at, value)
	switch {
	case o.index != nil && at == len(o.keys)-1:
		o.index[key] = at
	case len(o.keys) > smallObject:
		o.reindex()
	}
}

// Delete removes key, if it is there.
func (o *Object) Delete(key string) {
	i := o.find(key)
	if i < 0 {
		return
	}
	o.keys = slices.Delete(o.keys, i, i+1)
	o.values = slices.Delete(o.values, i, i+1)
	if i < o.indexes {
		o.indexes--
	}
	if o.index != nil {
		o.reindex()
	}
}

func (o *Object) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if k == key {
			return i
		}
	}
	return -1
}

func (o *Object) reindex() {
	o.index = make(map[string]int, len(o.keys)+1)
	for i, key := range o.keys {
		o.index[key] = i
	}
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

// MarshalJSON writes the object in the order of its keys.
func (o *Object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		text, err := json.Marshal(o.values[i])
		if err != nil {
			return nil, err
		}
		out.Write(text)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
