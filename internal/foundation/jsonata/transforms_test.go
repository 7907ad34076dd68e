package jsonata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestTransforms runs the expressions of published resource schemas on property models
// and compares with what the reference made of them.
func TestTransforms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(fixtures.Dir(t, "transforms"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Type, Path, Variant, Context string
		Model                        any
		Alternatives                 []struct {
			Expr      string
			Result    json.RawMessage
			Undefined bool
			Error     any
		}
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, c := range cases {
		input := at(t, c.Model, c.Context)
		for _, a := range c.Alternatives {
			count++
			expr, err := Compile(a.Expr, Config{})
			if err != nil {
				t.Errorf("%s %s: %s: %v", c.Type, c.Path, a.Expr, err)
				continue
			}
			got, err := expr.Eval(t.Context(), input)
			want := Undefined
			if a.Result != nil {
				want = decode(t, a.Result)
			}
			switch {
			case a.Error != nil:
				if err == nil {
					t.Errorf("%s %s (%s): %s gives %s, wanted an error", c.Type, c.Path, c.Variant, a.Expr, show(got))
				}
			case err != nil:
				t.Errorf("%s %s (%s): %s: %v", c.Type, c.Path, c.Variant, a.Expr, err)
			case !reflect.DeepEqual(Plain(got), want):
				t.Errorf("%s %s (%s): %s gives %s, wanted %s", c.Type, c.Path, c.Variant, a.Expr, show(got), show(want))
			}
		}
	}
	if count == 0 {
		t.Fatal("no case was run")
	}
	t.Logf("%d alternatives of %d records", count, len(cases))
}

// at follows a JSON pointer without escapes.
func at(t *testing.T, value any, pointer string) any {
	t.Helper()
	for _, key := range strings.Split(pointer, "/")[1:] {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				t.Fatalf("pointer %s", pointer)
			}
			value = v[i]
		default:
			t.Fatalf("pointer %s", pointer)
		}
	}
	return value
}
