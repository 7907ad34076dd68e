package secret

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// secrets are values whose spellings differ from each other.
var secrets = map[string]string{
	"plain":     "hunter22hunter22",
	"quotes":    `PLANT"ED1'tsig`,
	"backslash": `C:\new\table`,
	"html":      "a<b>&c=d;e'f",
	"url":       "p@ss w/rd+100%!*()",
	"umlauts":   "Übergröße-😀-key",
	"control":   "tab\tbell\afeed\fend",
	"lines":     "-----BEGIN KEY-----\nMIIEvQIBADAN\"Bgkq\r\nhkiG9w0BAQEF\n",
	"not UTF-8": "\xff\xfe-binary-\x80\x81",
	"long":      strings.Repeat("0123456789abcdef", 1000) + "ü\"",
}

// encodings are ways in which a handler prints a value.
var encodings = map[string]func(string) string{
	"as it is":      func(s string) string { return s },
	"in a word":     func(s string) string { return "mysql -p" + s + "x" },
	"JSON":          func(s string) string { return mustJSON(map[string]any{"model": []any{s}}) },
	"JSON twice":    func(s string) string { return mustJSON(mustJSON(map[string]any{"a": s})) },
	"JSON thrice":   func(s string) string { return mustJSON(mustJSON(mustJSON(s))) },
	"%q":            func(s string) string { return fmt.Sprintf("value %q", s) },
	"%+q":           func(s string) string { return fmt.Sprintf("value %+q", s) },
	"%q in JSON":    func(s string) string { return mustJSON(fmt.Sprintf("value %q", s)) },
	"JSON in %q":    func(s string) string { return strconv.Quote(mustJSON(s)) },
	"query":         func(s string) string { return "https://x/?k=" + url.QueryEscape(s) + "&b=1" },
	"path":          func(s string) string { return "https://x/" + url.PathEscape(s) + "/1" },
	"HTML":          html.EscapeString,
	"XML":           func(s string) string { b, _ := xml.Marshal(s); return string(b) },
	"base64":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 bare":   func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) },
	"base64 URL":    func(s string) string { return base64.URLEncoding.EncodeToString([]byte(s)) },
	"base64 URL -=": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"basic auth":    func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) },
	"basic auth 2":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte("you:" + s)) },
	"hex":           func(s string) string { return fmt.Sprintf("%x", s) },
	"upper hex":     func(s string) string { return fmt.Sprintf("%X", s) },
	"mixed hex":     func(s string) string { return strings.ReplaceAll(fmt.Sprintf("%x", s), "a", "A") },
	"hex of more":   func(s string) string { return fmt.Sprintf("%x", `{"a": "`+s+`"}`) },
	"hex in a word": func(s string) string { return "id=a" + fmt.Sprintf("%x", s) },
	"% x":           func(s string) string { return fmt.Sprintf("[% x]", s) },
	"%# x":          func(s string) string { return fmt.Sprintf("%# x", s) },
	"%#v of bytes":  func(s string) string { return fmt.Sprintf("%#v", []byte(s)) },
	"colons":        func(s string) string { return strings.ReplaceAll(fmt.Sprintf("% X", s), " ", ":") },
	"hex in JSON":   func(s string) string { return mustJSON(map[string]any{"key": fmt.Sprintf("%x", s)}) },
	"xxd":           func(s string) string { return inGroups(fmt.Sprintf("%x", s), 4, " ") },
	"xxd -p":        func(s string) string { return inGroups(fmt.Sprintf("%x", s), 60, "\n") },
	"base64 JSON":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte(`{"a":` + mustJSON(s) + `}`)) },
}

// inGroups is a text with a separator after each n characters.
func inGroups(text string, n int, separator string) string {
	var groups []string
	for part := range slices.Chunk([]byte(text), n) {
		groups = append(groups, string(part))
	}
	return strings.Join(groups, separator)
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestEverySpelling compares what is shown of a secret with what is shown of another one
// of the same length, which the Set does not know: only the latter's text may be there.
func TestEverySpelling(t *testing.T) {
	for name, value := range secrets {
		var set Set
		set.Add(value)
		for how, encode := range encodings {
			if name == "not UTF-8" && (strings.Contains(how, "JSON") || how == "XML") || name == "control" && how == "XML" {
				continue // these have no such text
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				text := encode(value)
				got := set.Hide("before " + text + " after")
				if !strings.Contains(got, Hidden) || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
					t.Fatalf("nothing is hidden, or too much: %q", got)
				}
				// The base64 of something longer keeps the first bits of the secret's first byte.
				for i := 0; i+7 <= len(text); i++ {
					if piece := text[i : i+7]; strings.Contains(got, piece) && !strings.Contains(encode("")+encode(strings.Repeat("?", len(value))), piece) {
						t.Fatalf("%q of the secret is shown: %q", piece, got)
					}
				}
			})
		}
	}
}

// What other languages print, written down from them.
func TestSpellingsOfOtherLanguages(t *testing.T) {
	tests := []struct{ name, secret, text, want string }{
		{"json.dumps of Python", "Übergröße", `{"k": "\u00dcbergr\u00f6\u00dfe"}`, `{"k": "<hidden>"}`},
		{"json.dumps, surrogates", "😀 key 1", `"\ud83d\ude00 key 1"`, `"<hidden>"`},
		{"repr of Python", "it's\na \"key\"", `{'k': 'it\'s\na "key"'}`, `{'k': '<hidden>'}`},
		{"repr in double quotes", "it's\na key", `{'k': "it's\na key"}`, `{'k': "<hidden>"}`},
		{"quote_plus of Python", "a b/c&d", "k=a+b%2Fc%26d", "k=<hidden>"},
		{"encodeURIComponent", "a b/(c)!d", "k=a%20b%2F(c)!d", "k=<hidden>"},
		{"lower-case hex", "a b/c?dd", "k=a+b%2fc%3fdd", "k=<hidden>"},
		{"encodeURI", "a b/c?d=e&f", "k=a%20b/c?d=e&f", "k=<hidden>"},
		{"quote of Python", "aa/bb==cc&dd", "https://x/aa/bb%3D%3Dcc%26dd?", "https://x/<hidden>?"},
		{"quote with more left", "aa/bb==cc&dd", "aa%2Fbb==cc%26dd", "<hidden>"},
		{"user and password", "p@ss:wo/rd", "postgres://me:p%40ss%3Awo%2frd@db/x", "postgres://me:<hidden>@db/x"},
		{"user of Go", "p$s&wo+r,d;=", "https://me:p$s&wo+r,d;=@x", "https://me:<hidden>@x"},
		{"URL within a URL", "a b/(c)!d", "u=https%3A%2F%2Fx%3Fk%3Da%2520b%252F(c)!d%26", "u=https%3A%2F%2Fx%3Fk%3D<hidden>%26"},
		{"form in JSON", "a b&c=<d>", `{"body": "k=a+b%26c\u003d%3Cd%3e"}`, `{"body": "k=<hidden>"}`},
		{"URL in XML in JSON", "a'b&c<d>e", `"<u>x?k=a&#39;b&amp;c%3Cd%3Ee</u>"`, `"<u>x?k=<hidden></u>"`},
		{"escape that is cut off", "abcdefgh%", "k=abcdefgh%2", "k=<hidden>2"},
		{"Gson", "it's=<k>&more", `{"k":"it\u0027s\u003d\u003ck\u003e\u0026more"}`, `{"k":"<hidden>"}`},
		{"a shell", "it's a key", `mysql -p'it'\''s a key'`, `mysql -p'<hidden>'`},
		{"junit", `a"b<c>'d e`, `<f message="a&#34;b&lt;c&gt;&#39;d e"/>`, `<f message="<hidden>"/>`},
		{"bytes.hex of Python", "pa/ss=wo+rd", "key 70612f73733d776f2b7264.", "key <hidden>."},
		{"bytes.hex with a separator", "pa/ss=wo+rd", "70:61:2f:73:73:3d:77:6f:2b:72:64, 00:01", "<hidden>, 00:01"},
		{"hexdump", "pa/ss=wo+rd", "00000000  70 61 2f 73 73 3d 77 6f  2b 72 64  |...", "00000000  <hidden>  |..."},
		{"a digit before", "pa/ss=wo+rd", "f70612F73733D776F2B7264f", "f<hidden>f"},
		{"a short one", "hunt22", "68756e743232; 68756e74323278", "<hidden>; 68756e74323278"},
		{"another hexadecimal", "pa/ss=wo+rd", "70612f73733d776f2b72", "70612f73733d776f2b72"},
		{"one line of many", "first line is long\nsecond one too\nshort", "  second one too\n short", "  <hidden>\n short"},
		{"without its line end", "a key of a file\n", "key=a key of a file.", "key=<hidden>."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var set Set
			set.Add(test.secret)
			if got := set.Hide(test.text); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestShortValuesAreHiddenAsWords(t *testing.T) {
	tests := []struct{ name, secret, text, want string }{
		{"a word", "hunt22", "pass hunt22, no", "pass <hidden>, no"},
		{"in a word", "main", "domain mainly main", "domain mainly <hidden>"},
		{"after an escape", "main", `a\nmain\tmain\u000amain\x0amain%0Amain`, `a\n<hidden>\t<hidden>\u000a<hidden>\x0a<hidden>%0A<hidden>`},
		{"in color", "main", "\x1b[1;31mmain\x1b[0m", "\x1b[1;31m<hidden>\x1b[0m"},
		{"marks around", "-ab-", "x-ab-y", "x<hidden>y"},
		{"seven umlauts", "öäüöäüö", "xöäüöäüö öäüöäüö", "xöäüöäüö <hidden>"},
		{"eight characters", "hunter22", "-phunter22x", "-p<hidden>x"},
		{"three bytes", "abc", "abc", "abc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var set Set
			set.Add(test.secret)
			if got := set.Hide(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A secret that overlaps with another one leaves no rest of either.
func TestSecretsThatOverlap(t *testing.T) {
	var set Set
	set.Add("abcdefgh", "efghijklmn", "abcdefghij", "12345678", "abcd")
	for text, want := range map[string]string{
		"xabcdefghijklmnx":      "x<hidden>x",
		"abcdefgh12345678":      "<hidden>",
		"abcdefgh 12345678":     "<hidden> <hidden>",
		"abcd efgh":             "<hidden> efgh",
		"":                      "",
		"abc":                   "abc",
		"nothing of it is here": "nothing of it is here",
	} {
		if got := set.Hide(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestASetThatIsFullHidesAll(t *testing.T) {
	var set Set
	random := rand.New(rand.NewPCG(1, 2))
	line := func() string { return fmt.Sprintf("%016x", random.Uint64()) }
	for !set.full {
		set.Add(line())
		if set.size > capacity+(1<<20) {
			t.Fatal("the bound does not hold")
		}
	}
	if got := set.Hide("harmless"); got != overflow.Mark() {
		t.Error(got)
	}
	if got := set.Hide(""); got != "" {
		t.Error(got)
	}
}

// FuzzHide checks that no value that was added is left in the text that has it.
func FuzzHide(f *testing.F) {
	f.Add("hunter22hunter22", "x", "y")
	f.Add("a\"b\nlonger line", "\\", "")
	f.Add("\xffabcdefgh", "\xff", "\x80")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		var set Set
		set.Add(secret)
		got := set.Hide(before + secret + after)
		if len(secret) >= 2*short && len([]rune(secret)) >= short && !strings.Contains(before+Hidden+after, secret) && strings.Contains(got, secret) {
			t.Fatalf("%q is in %q", secret, got)
		}
	})
}

// A value of the most that a request may have leaves room for others, and is hidden.
func TestLargeValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	binary := make([]byte, 3<<20)
	for i := range binary {
		binary[i] = byte(random.Uint32())
	}
	var text strings.Builder
	for text.Len() < 4<<20 {
		fmt.Fprintf(&text, `{"key%d": "<value> & 'more'"}`, random.Uint32())
	}
	for name, value := range map[string]string{
		"base64": base64.StdEncoding.EncodeToString(binary), "JSON": text.String(), "of one byte": strings.Repeat("a", 4<<20),
		"lines": strings.Repeat("key = value\n", 300_000),
	} {
		var set Set
		set.Add(value)
		if set.full || set.Size() > capacity/2 {
			t.Errorf("%s: the set has %d bytes", name, set.Size())
		}
		if got, want := set.Hide(mustJSON(map[string]string{"a": value})), `{"a":"<hidden>"}`; got != want && got != `{"a":"<hidden>\n"}` {
			t.Errorf("%s: %.100s", name, got)
		}
	}
}

func BenchmarkHide(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string { return strconv.FormatUint(random.Uint64(), 36) }
	var prose strings.Builder
	for prose.Len() < 6<<20 {
		fmt.Fprintf(&prose, `{"Id": %q, "Name": "the name of a thing"}, `, word())
	}
	var known []string
	for range 1000 {
		known = append(known, word()+`"`+word())
	}
	alike := make([]string, 1000)
	for i := range alike {
		alike[i] = strings.Repeat("a", 40) + word()
	}
	for name, test := range map[string]struct {
		text    string
		secrets []string
	}{
		"1 secret":          {prose.String(), known[:1]},
		"1000 secrets":      {prose.String(), known},
		"1000 begin alike":  {strings.Repeat("a", 6<<20), alike},
		"long, of one byte": {strings.Repeat("a", 6<<20), []string{strings.Repeat("a", 5000) + "b"}},
	} {
		b.Run(name, func(b *testing.B) {
			var set Set
			set.Add(test.secrets...)
			b.SetBytes(int64(len(test.text)))
			for b.Loop() {
				set.Hide(test.text)
			}
		})
	}
}

// BenchmarkLarge learns a large value and hides it in a request.
func BenchmarkLarge(b *testing.B) {
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 4<<20 {
		fmt.Fprintf(&text, `{"key%d": "<value> & 'more'"}`, random.Uint32())
	}
	request := mustJSON(map[string]string{"a": text.String()})
	b.SetBytes(int64(len(request)))
	for b.Loop() {
		var set Set
		set.Add(text.String())
		set.Hide(request)
	}
}

func BenchmarkAdd(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var set Set
	for b.Loop() {
		set.Add(strconv.FormatUint(random.Uint64(), 36) + `"<ü`)
	}
}

// What is hidden says why, and the reason cannot break the text around it.
func TestReasons(t *testing.T) {
	var set Set
	set.Add("anonymous")
	set.AddFor("write-only /Password", "hunter22hunter22", "anonymous")
	set.AddFor(NoEcho, "hunter22hunter22", "echo-secret")
	set.AddFor(Reason("write-only /a\"<b>\n\u001b[31m"+strings.Repeat("x", 500)), "oddly-named")
	for text, want := range map[string]string{
		"anonymous":                        "<hidden>",
		"a hunter22hunter22 b":             "a <hidden: write-only /Password> b",
		"k=aHVudGVyMjJodW50ZXIyMg==":       "k=<hidden: write-only /Password>",
		"echo-secret hunter22hunter22":     "<hidden: NoEcho parameter> <hidden: write-only /Password>",
		"hunter22hunter22echo-secret":      "<hidden: write-only /Password>",
		"oddly-named":                      "<hidden: write-only /a??b????31m" + strings.Repeat("x", 120-len("write-only /a??b????31m")) + ">",
		"%68unter22hunter22 echo%2Dsecret": "<hidden: write-only /Password> <hidden: NoEcho parameter>",
	} {
		if got := set.Hide(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := WithoutReasons(set.Hide(text)); strings.Contains(got, ":") {
			t.Errorf("%q has a reason left", got)
		}
	}
}

// TestSize compares what a Set says that it uses with what it does: who has many secrets relies on it.
func TestSize(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]string, 20_000)
	for i := range values {
		values[i] = fmt.Sprintf("%016x%016x%016x%016x", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()) // as in the URLs of responses
		if i%4 == 0 {
			values[i] = fmt.Sprintf("pass\"word <%x>\n", random.Uint64())
		}
	}
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var set Set
	before := live()
	set.Add(values...)
	uses, says := int64(live()-before), int64(set.Size())
	t.Logf("%d secrets use %d KB, the set says %d KB", len(values), uses>>10, says>>10)
	if uses > says*5/4 || uses < says/4 {
		t.Errorf("%d secrets use %d KB, the set says %d KB", len(values), uses>>10, says>>10)
	}
	runtime.KeepAlive(&set)
	runtime.KeepAlive(values)
}
