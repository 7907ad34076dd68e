package jsonata

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// seeds are the expressions of the suite, and those that published schemas use.
func seeds(f *testing.F) []string {
	out := []string{`$lowercase(Name)`, `a.b[0]^(>c){d: e}`, `λ($x)<n-:n>{$x}(1)`, `/a(?=b)/`, "`q` ?: 'a\\u00e9'"}
	for _, t := range transforms {
		out = append(out, t.source)
	}
	for _, c := range readSuite(f, filepath.Join(fixtures.Dir(f, "jsonata-suite"), "test-suite")) {
		if len(c.Expr) < 300 {
			out = append(out, c.Expr)
		}
	}
	return out
}

// checkError wants an error to be of the type and the form that is promised.
func checkError(t *testing.T, source string, err error) {
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: %v is no *Error", source, err)
	}
	if e.Code == "" || e.Message == "" || strings.Contains(e.Message, "{token}") {
		t.Fatalf("%q: %+v", source, e)
	}
	if e.Code[0] == 'S' && (e.Position > len(strings.ToValidUTF8(source, "\uFFFD"))) {
		t.Fatalf("%q: position %d", source, e.Position)
	}
}

// FuzzCompile compiles anything.
func FuzzCompile(f *testing.F) {
	for _, source := range seeds(f) {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if _, err := Compile(source, Config{}); err != nil {
			checkError(t, source, err)
		}
	})
}

// FuzzEval evaluates anything against anything, within small bounds: it must end, not
// panic, give the same twice, and give what can be written as JSON.
func FuzzEval(f *testing.F) {
	f.Add(`a{"k":$}`, `{"a":[[],[],[1]]}`)
	for i, source := range seeds(f) {
		f.Add(source, []string{`{"a":[1,{"b":"x"}],"c":null,"d":{"e":1.5}}`, `[[1,2],[3]]`, `"ab"`}[i%3])
	}
	config := Config{
		MaxSteps: 20_000, MaxMemory: 4 << 20, MaxDepth: 500, RegexTimeout: 100 * time.Millisecond,
		Now:    func() time.Time { return time.UnixMilli(1e12) },
		Random: func() float64 { return 0.5 },
	}
	f.Fuzz(func(t *testing.T, source, input string) {
		expr, err := Compile(source, config)
		if err != nil {
			return
		}
		in, err := DecodeInput([]byte(input))
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var texts [2]string
		for i := range texts {
			got, err := expr.Eval(ctx, in)
			if ctx.Err() != nil {
				t.Fatalf("%q on %s takes more than 5 s", source, input)
			}
			if err != nil {
				checkError(t, source, err)
				var e *Error
				if errors.As(err, &e); e.Limit == LimitTime {
					return // may be different next time
				}
				texts[i] = err.Error()
				continue
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatalf("%q on %s: %v", source, input, err)
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			t.Fatalf("%q on %s gives %s and %s", source, input, texts[0], texts[1])
		}
	})
}
