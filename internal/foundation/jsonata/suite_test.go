package jsonata

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A suiteCase is one case of the reference's test suite, as its TESTSUITE.md describes.
type suiteCase struct {
	ID              string
	Expr            string          `json:"expr"`
	ExprFile        string          `json:"expr-file"`
	Data            json.RawMessage `json:"data"`
	Dataset         *string         `json:"dataset"`
	Bindings        map[string]any  `json:"bindings"`
	Depth           int             `json:"depth"`
	Result          json.RawMessage `json:"result"`
	UndefinedResult bool            `json:"undefinedResult"`
	Unordered       bool            `json:"unordered"`
	Code            string          `json:"code"`
	Token           string          `json:"token"`
	Error           struct {
		Code    string `json:"code"`
		Token   string `json:"token"`
		Message string `json:"message"`
	} `json:"error"`
}

// readSuite reads all cases; a case is named by its file and, in a file of many, its index.
func readSuite(t testing.TB, dir string) []suiteCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "groups", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases below %s (%v)", dir, err)
	}
	slices.Sort(files)
	var all []suiteCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// encoding/json cannot hold half a surrogate pair: the expression's own escape can.
		text = bytes.ReplaceAll(text, []byte(`\uD800`), []byte(`\\uD800`))
		id := filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
		var cases []suiteCase
		if strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
			err = json.Unmarshal(text, &cases)
		} else {
			cases = make([]suiteCase, 1)
			err = json.Unmarshal(text, &cases[0])
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i := range cases {
			cases[i].ID = id
			if len(cases) > 1 {
				cases[i].ID = fmt.Sprintf("%s#%d", id, i)
			}
			if name := cases[i].ExprFile; name != "" {
				source, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
				if err != nil {
					t.Fatal(err)
				}
				cases[i].Expr = string(source)
			}
		}
		all = append(all, cases...)
	}
	return all
}

// readLedger reads the cases that are known to fail, with the reasons.
func readLedger(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "ledger.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		id, reason, found := strings.Cut(line, " ")
		if !found || strings.TrimSpace(reason) == "" {
			t.Fatalf("ledger.txt: %s has no reason", id)
		}
		out[id] = strings.TrimSpace(reason)
	}
	return out
}

// input is the data of a case: given, taken from a data set, or undefined.
func (c *suiteCase) input(t testing.TB, dir string, sets map[string]any) any {
	if c.Data != nil {
		return ordered(t, c.Data)
	}
	if c.Dataset == nil || *c.Dataset == "" {
		return Undefined
	}
	if _, ok := sets[*c.Dataset]; !ok {
		text, err := os.ReadFile(filepath.Join(dir, "datasets", *c.Dataset+".json"))
		if err != nil {
			t.Fatal(err)
		}
		sets[*c.Dataset] = ordered(t, text)
	}
	return sets[*c.Dataset]
}

// ordered reads an input with its keys in order, which some cases can see.
func ordered(t testing.TB, text []byte) *Input {
	t.Helper()
	in, err := DecodeInput(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return in
}

func decode(t testing.TB, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// verdict says what is wrong with the outcome of a case, "" if nothing is.
func (c *suiteCase) verdict(t testing.TB, got any, err error) string {
	code, token := c.Code, c.Token
	if code == "" {
		code, token = c.Error.Code, c.Error.Token
	}
	if code != "" || c.Error.Message != "" {
		var e *Error
		switch {
		case err == nil:
			return fmt.Sprintf("no error, wanted %s", code)
		case !errors.As(err, &e):
			return fmt.Sprintf("error %v is not an *Error", err)
		case code != "" && e.Code != code:
			return fmt.Sprintf("error %v, wanted %s", e, code)
		case token != "" && e.Token != token:
			return fmt.Sprintf("token %q of %v, wanted %q", e.Token, e, token)
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("error %v", err)
	}
	if c.UndefinedResult {
		if got != Undefined {
			return fmt.Sprintf("%s, wanted undefined", show(got))
		}
		return ""
	}
	want := decode(t, c.Result)
	plain := Plain(got)
	if reflect.DeepEqual(plain, want) || c.Unordered && sameItems(plain, want) {
		return ""
	}
	return fmt.Sprintf("%s, wanted %s", show(got), c.Result)
}

// sameItems compares lists in any order.
func sameItems(a, b any) bool {
	texts := func(v any) []string {
		var out []string
		items, _ := v.([]any)
		for _, item := range items {
			out = append(out, show(item))
		}
		slices.Sort(out)
		return out
	}
	return len(texts(a)) > 0 && slices.Equal(texts(a), texts(b))
}

func show(v any) string {
	if v == Undefined {
		return "undefined"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v (%v)", v, err)
	}
	return string(text)
}

// TestSuite runs the reference's suite. What fails must be in testdata/ledger.txt with a
// reason, and what is there must fail.
func TestSuite(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, "jsonata-suite"), "test-suite")
	ledger := readLedger(t)
	sets := map[string]any{}
	cases := readSuite(t, dir)
	passed := 0
	for i := range cases {
		c := &cases[i]
		// Two cases make ten million numbers: they need more than the default bounds.
		config := Config{MaxMemory: 1 << 30, MaxDepth: c.Depth}
		var got any
		expr, err := Compile(c.Expr, config)
		if err == nil {
			got, err = expr.Eval(t.Context(), c.input(t, dir, sets), c.Bindings)
		}
		problem := c.verdict(t, got, err)
		reason, listed := ledger[c.ID]
		delete(ledger, c.ID)
		switch {
		case problem == "":
			passed++
			if listed {
				t.Errorf("%s passes: remove it from ledger.txt (%s)", c.ID, reason)
			}
		case !listed:
			t.Errorf("%s: %s\n\t%s", c.ID, problem, c.Expr)
		}
	}
	for id := range ledger {
		t.Errorf("ledger.txt names %s, which is no case", id)
	}
	t.Logf("%d of %d cases pass", passed, len(cases))
}
