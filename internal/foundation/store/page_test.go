package store_test

import (
	"encoding/base64"
	"slices"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

func TestPageToken(t *testing.T) {
	token := store.PageToken([]string{"key", "ä/|"}, "List", 1)
	if keys, ok := store.ReadPageToken(token, 2, "List", 1); !ok || !slices.Equal(keys, []string{"key", "ä/|"}) {
		t.Errorf("read %q, %t", keys, ok)
	}
	control := store.PageToken([]string{"a\x00", "b"}, "List", 1)
	for name, test := range map[string]struct {
		token string
		count int
		query []any
	}{
		"another query":      {token, 2, []any{"List", 2}},
		"fewer keys":         {token, 1, []any{"List", 1}},
		"not base64":         {"***", 2, []any{"List", 1}},
		"not JSON":           {base64.RawURLEncoding.EncodeToString([]byte("[")), 2, []any{"List", 1}},
		"not strings":        {base64.RawURLEncoding.EncodeToString([]byte("[1,2,3]")), 2, []any{"List", 1}},
		"a control in a key": {control, 2, []any{"List", 1}},
		"empty":              {"", 2, []any{"List", 1}},
	} {
		if keys, ok := store.ReadPageToken(test.token, test.count, test.query...); ok {
			t.Errorf("%s: read %q", name, keys)
		}
	}
}
