package project

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// An object is a JSON object whose members are written in their order.
type object []pair

type pair struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, p := range o {
		if i > 0 {
			b = append(b, ',')
		}
		for j, part := range []any{p.key, p.value} {
			if j > 0 {
				b = append(b, ':')
			}
			text, err := marshal(part)
			if err != nil {
				return nil, err
			}
			b = append(b, text...)
		}
	}
	return append(b, '}'), nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// encode writes a JSON file as the official tool does: indented by four, with a newline
// at the end. v is made of objects, lists, texts and values of documents.
func encode(v any) []byte {
	text, err := marshal(v)
	if err == nil {
		var b bytes.Buffer
		if err = json.Indent(&b, text, "", "    "); err == nil {
			return append(b.Bytes(), '\n')
		}
	}
	panic(fmt.Sprintf("project: a value that is not JSON: %v", err))
}
