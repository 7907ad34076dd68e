package document

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseJSONKeepsPlacesAndOrder(t *testing.T) {
	v, problems := ParseJSON("a.json", []byte("{\n  \"z\": [1, -2.50e3],\n  \"a\": {\"\\u00e9\": \"x\\ty\"}\n}\n"), Limits{})
	if problems != nil {
		t.Fatal(problems)
	}
	if got, want := string(v.AppendJSON(nil)), `{"z":[1,-2.50e3],"a":{"é":"x\ty"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for pointer, want := range map[string]string{
		"":     "a.json:1:1",
		"/z":   "a.json:2:8",
		"/z/1": "a.json:2:12",
		"/a/é": "a.json:3:19",
	} {
		p, ok := ParsePointer(pointer)
		if !ok {
			t.Fatal(pointer)
		}
		if got := v.Lookup(p).At.String(); got != want {
			t.Errorf("%q stands at %s, want %s", pointer, got, want)
		}
	}
	if got := v.Members[1].KeyAt; got.Start.Offset != 25 || got.End.Offset != 28 {
		t.Errorf("the key a spans bytes %d to %d, want 25 to 28", got.Start.Offset, got.End.Offset)
	}
	want := map[string]any{"z": []any{json.Number("1"), json.Number("-2.50e3")}, "a": map[string]any{"é": "x\ty"}}
	if got := v.Any(); !reflect.DeepEqual(got, want) {
		t.Errorf("Any: got %v, want %v", got, want)
	}
}

func TestParseJSONProblems(t *testing.T) {
	deep := strings.Repeat("[", 600)
	for _, tt := range []struct{ name, input, want string }{
		{"trailing commas, all of them", "[1,\n [2,],\n]", `f:2:4: unexpected comma before the closing ']'|f:2:6: unexpected comma before the closing ']'`},
		{"missing comma", `{"a":1 "b":2}`, `f:1:8: a comma is missing between two elements`},
		{"duplicate key", `{"a":1,"a":2}`, `f:1:8: duplicate key "a"; the last one is used`},
		{"comment", "{\n // no\n}", `f:2:2: found '/' where a key in double quotes should be`},
		{"single quotes", "{'a':1}", `f:1:2: found '\'' where a key in double quotes should be`},
		{"python words", "[True]", `f:1:2: True is not a JSON value`},
		{"open object", `{"a":`, `f:1:6: the document ends where a value should be`},
		{"empty", "", `f:1:1: the document is empty`},
		{"only spaces", " \n ", `f:2:2: the document is empty`},
		{"open array", "[", `f:1:2: the document ends where a value should be`},
		{"open string", "[\"ab", `f:1:2: unterminated string`},
		{"newline in string", "[\"a\nb\"]", `f:1:4: a string runs over the end of its line or holds a control character`},
		{"bad escape", `["\x"]`, `f:1:3: JSON has no such escape`},
		{"bad hex", `["\u12"]`, `f:1:3: \u wants four hexadecimal digits`},
		{"leading zero", "[01]", `f:1:2: a number has a leading zero`},
		{"bare minus", "[-]", `f:1:3: found ']' where a digit should be`},
		{"rest", "{} x", `f:1:4: unexpected content after the end of the document`},
		{"not UTF-8", "[\n\"\xff\"]", `f:2:2: byte 0xFF is not UTF-8`},
		{"depth", deep, `f:1:513: arrays and objects are nested deeper than 512 levels`},
		{"missing colon", `{"a" 1}`, `f:1:6: found '1' where ":" after the key "a" should be`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := ParseJSON("f", []byte(tt.input), Limits{})
			var got []string
			for _, p := range problems {
				got = append(got, p.At.String()+": "+p.Message)
			}
			if joined := strings.Join(got, "|"); joined != tt.want {
				t.Errorf("got  %s\nwant %s", joined, tt.want)
			}
		})
	}
}

func TestParseJSONBounds(t *testing.T) {
	for _, input := range []string{
		strings.Repeat(`{"a":`, 100_000),
		"[" + strings.Repeat("0,", 5<<20) + "0]",
		strings.Repeat(" ", 50<<20),
	} {
		want := "document/too-deep"
		if len(input) > 8<<20 {
			want = "document/too-large"
		}
		if _, problems := ParseJSON("f", []byte(input), Limits{}); len(problems) != 1 || problems[0].ID != want {
			t.Errorf("a document of %d bytes: got %v, want %s", len(input), problems, want)
		}
	}
}

func TestSurrogates(t *testing.T) {
	v, _ := ParseJSON("f", []byte(`["\ud83d\ude00", "\ud83d", "\ud83dx", "\ud83d\u0041"]`), Limits{})
	if got, want := v.Strings(), []string{"😀", "\uFFFD", "\uFFFDx", "\uFFFDA"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPointer(t *testing.T) {
	for _, text := range []string{"", "/", "/a/b", "/a~1b/~0", "/~01"} {
		p, ok := ParsePointer(text)
		if !ok || p.String() != text {
			t.Errorf("%q: got %q, %v", text, p.String(), ok)
		}
	}
	for _, text := range []string{"a", "#/a", "/~", "/~2"} {
		if _, ok := ParsePointer(text); ok {
			t.Errorf("%q is not a pointer", text)
		}
	}
	v, _ := ParseJSON("f", []byte(`{"a":[10,{"b":11}]}`), Limits{})
	for text, want := range map[string]string{"/a/0": "10", "/a/1/b": "11", "/a/01": "", "/a/2": "", "/a/-": "", "/a/0/x": "", "/b": ""} {
		p, _ := ParsePointer(text)
		got := ""
		if found := v.Lookup(p); found != nil {
			got = string(found.AppendJSON(nil))
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// FuzzParseJSON holds the parser against encoding/json: what one reads, the other reads,
// and to the same value.
func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00",null,true]}`, "[1,]", `{"a":1,"a":2}`, `"\ud800"`, "\xef\xbb\xbf{}", "-0"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, problems := ParseJSON("f", data, Limits{Bytes: 1 << 16})
		bom := len(data) >= 3 && string(data[:3]) == "\xef\xbb\xbf"
		if len(data) > 1<<16 || bom {
			return
		}
		if v == nil || problems.HasErrors() {
			if json.Valid(data) && problems[0].ID != "document/too-deep" && utf8.Valid(data) {
				t.Fatalf("encoding/json reads %q, this parser says %v", data, problems)
			}
			return
		}
		d := json.NewDecoder(strings.NewReader(string(data)))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", data, err)
		}
		if got := v.Any(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %#v, want %#v", data, got, want)
		}
		again, problems := ParseJSON("f", v.AppendJSON(nil), Limits{})
		if problems.HasErrors() || !reflect.DeepEqual(again.Any(), want) {
			t.Fatalf("%q does not survive writing: %s", data, v.AppendJSON(nil))
		}
	})
}
