package awswire

import (
	"bytes"
	"errors"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	logstypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/google/go-cmp/cmp"
)

// Shapes that no service of today's tables has, but the SDK's generator can make.
type (
	openContent interface {
		MarshalSmithyDocument() ([]byte, error)
	}
	raw   string
	inner struct{ A *string }
	odd   struct {
		Sparse  []*string
		Structs map[string]inner
		Lists   map[string][]string
		Float   float64
		Single  *float32
		Small   int16
		Blob    []byte
		At      time.Time
		Self    *odd
		Doc     openContent
		Union   logstypes.ResourceConfig

		hidden func()
	}
)

func (r raw) MarshalSmithyDocument() ([]byte, error) {
	if r == "" {
		return nil, errors.New("nothing to write")
	}
	return []byte(r), nil
}

func oddShape(t *testing.T) *shape {
	t.Helper()
	s := &shapes{unions: []reflect.Type{reflect.TypeFor[logstypes.ResourceConfigMemberOpenSearchResourceConfig]()}}
	sh, err := s.of(reflect.TypeFor[odd]())
	if err != nil {
		t.Fatal(err)
	}
	return sh
}

func ref[T any](v T) *T { return &v }

// full is a value of every member.
func full() odd {
	return odd{
		hidden: func() {},
		Sparse: []*string{ref("a"), nil, ref("")}, Structs: map[string]inner{"y": {A: ref("b")}, "x": {}}, Lists: map[string][]string{"l": {"", "c"}},
		Float: math.Inf(-1), Single: ref(float32(0.1)), Small: -3, Blob: []byte{}, At: time.UnixMilli(1500).UTC(), Self: &odd{Float: math.NaN(), At: time.UnixMilli(0).UTC()},
		Union: &logstypes.ResourceConfigMemberOpenSearchResourceConfig{Value: logstypes.OpenSearchResourceConfig{DataSourceRoleArn: ref("r")}},
	}
}

func TestOddShapesAsJSON(t *testing.T) {
	sh := oddShape(t)
	in := full()
	in.Doc = raw(`{"free":[1,null]}`)
	var b bytes.Buffer
	if err := writeJSON(&b, sh, reflect.ValueOf(&in).Elem()); err != nil {
		t.Fatal(err)
	}
	const want = `{"Sparse":["a",null,""],"Structs":{"x":{},"y":{"A":"b"}},"Lists":{"l":["","c"]},"Float":"-Infinity","Single":0.1,"Small":-3,"Blob":"","At":1.5,` +
		`"Self":{"Float":"NaN","Small":0,"At":0},"Doc":{"free":[1,null]},"Union":{"OpenSearchResourceConfig":{"DataSourceRoleArn":"r"}}}`
	if b.String() != want {
		t.Errorf("got  %s\nwant %s", &b, want)
	}
	text := strings.Replace(b.String(), `"Doc":{"free":[1,null]},`, "", 1)
	var out odd
	if err := decodeJSON(sh, []byte(text), reflect.ValueOf(&out).Elem()); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(out.Self.Float) {
		t.Errorf("NaN became %v", out.Self.Float)
	}
	in.Doc, in.hidden, in.Self.Float, out.Self.Float = nil, nil, 0, 0
	if diff := cmp.Diff(plain(reflect.ValueOf(in)), plain(reflect.ValueOf(out))); diff != "" {
		t.Error(diff)
	}
	in.Doc = raw("")
	if err := writeJSON(&b, sh, reflect.ValueOf(&in).Elem()); err == nil || err.Error() != "Doc: nothing to write" {
		t.Errorf("a document that cannot be written: %v", err)
	}
}

func TestOddShapesAsForms(t *testing.T) {
	sh := oddShape(t)
	tree, err := parseForm("Sparse.member.1=a&Sparse.member.2=&Structs.entry.1.key=x&Structs.entry.1.value.A=b&Lists.entry.1.key=l&Lists.entry.1.value.member.1=c" +
		"&Float=-Infinity&Single=1e-1&Small=-3&Blob=AP8%3D&At=1970-01-01T01:00:01.5%2B01:00&Self.Self.At=1.5&Self.At=Thu,+01+Jan+1970+00:00:01+GMT&Union.OpenSearchResourceConfig.DataSourceRoleArn=r")
	if err != nil {
		t.Fatal(err)
	}
	var got odd
	if err := decodeForm(sh, tree, reflect.ValueOf(&got).Elem(), ""); err != nil {
		t.Fatal(err)
	}
	second := time.UnixMilli(1000).UTC()
	want := odd{
		Sparse: []*string{ref("a"), ref("")}, Structs: map[string]inner{"x": {A: ref("b")}}, Lists: map[string][]string{"l": {"c"}},
		Float: math.Inf(-1), Single: ref(float32(0.1)), Small: -3, Blob: []byte{0, 255}, At: time.UnixMilli(1500).UTC(), Self: &odd{At: second, Self: &odd{At: time.UnixMilli(1500).UTC()}},
		Union: &logstypes.ResourceConfigMemberOpenSearchResourceConfig{Value: logstypes.OpenSearchResourceConfig{DataSourceRoleArn: ref("r")}},
	}
	if diff := cmp.Diff(plain(reflect.ValueOf(want)), plain(reflect.ValueOf(got))); diff != "" {
		t.Error(diff)
	}
	var b bytes.Buffer
	if err := writeXML(&b, sh, reflect.ValueOf(full()), "R"); err != nil {
		t.Fatal(err)
	}
	const xml = `<R><Sparse><member>a</member><member></member><member></member></Sparse><Structs><entry><key>x</key><value></value></entry><entry><key>y</key><value><A>b</A></value></entry></Structs>` +
		`<Lists><entry><key>l</key><value><member></member><member>c</member></value></entry></Lists><Float>-Infinity</Float><Single>0.1</Single><Small>-3</Small><Blob></Blob><At>1970-01-01T00:00:01.500Z</At>` +
		`<Self><Float>NaN</Float><Small>0</Small><At>1970-01-01T00:00:00.000Z</At></Self><Union><OpenSearchResourceConfig><DataSourceRoleArn>r</DataSourceRoleArn></OpenSearchResourceConfig></Union></R>`
	if b.String() != xml {
		t.Errorf("got  %s\nwant %s", &b, xml)
	}
}

// TestOddMistakes has what only these shapes can be wrong about.
func TestOddMistakes(t *testing.T) {
	sh := oddShape(t)
	for text, want := range map[string]string{
		`{"Small":40000}`:     "NUMBER_VALUE can not be converted to an Integer of 16 bits at Small",
		`{"Small":32768.0}`:   "NUMBER_VALUE can not be converted to an Integer of 16 bits at Small",
		`{"Float":"nan"}`:     "STRING_VALUE can not be converted to a Number at Float",
		`{"Single":1e39}`:     "NUMBER_VALUE can not be converted to a Number at Single",
		`{"Blob":"!"}`:        "STRING_VALUE can not be converted to a Blob, which is a string in base64 at Blob",
		`{"At":"2026-11-20"}`: "STRING_VALUE can not be converted to a Timestamp, which is a number of seconds since 1970 at At",
		`{"At":1e300}`:        "NUMBER_VALUE can not be converted to a Timestamp, which is a number of seconds since 1970 at At",
		`{"Doc":1}`:           "Documents are not supported in requests at Doc",
		`{"Union":{"OpenSearchResourceConfig":{},"OpenSearchResourceConfig":{}}}`: `Duplicate member "OpenSearchResourceConfig" at Union`,
		strings.Repeat(`{"Self":`, 33) + "{}" + strings.Repeat("}", 33):           "nested deeper than 32 levels",
	} {
		var out odd
		if err := decodeJSON(sh, []byte(text), reflect.ValueOf(&out).Elem()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for form, want := range map[string]string{
		"Single=0x10":  "Value is not a number at Single",
		"Float=inf":    "Value is not a number at Float",
		"Small=1.0":    "Value is not an integer of 16 bits at Small",
		"Blob=%21":     "Value is not base64 at Blob",
		"At=yesterday": "timestamp must follow ISO8601 at At",
		"Doc=1":        "A document cannot be sent as a parameter at Doc",
		"Union=1":      "Unexpected value where a structure was expected at Union",
		"Lists.entry.1=x&Lists.entry.1.key=a&Lists.entry.1.value=": "An entry of a map needs a key and a value at Lists",
	} {
		tree, err := parseForm(form)
		if err != nil {
			t.Fatal(err)
		}
		var out odd
		if err := decodeForm(sh, tree, reflect.ValueOf(&out).Elem(), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", form, err, want)
		}
	}
	if err := writeXML(&bytes.Buffer{}, sh, reflect.ValueOf(odd{Doc: raw("{}")}), "R"); err == nil {
		t.Error("a document was written as XML")
	}
	if err := writeJSON(&bytes.Buffer{}, sh, reflect.ValueOf(odd{Union: &logstypes.UnknownUnionMember{Tag: "x"}})); err == nil || !strings.Contains(err.Error(), "is not a listed member of the union") {
		t.Errorf("an unknown union member: %v", err)
	}
}

// TestPaths has how clients write the path of a request into its signature.
func TestPaths(t *testing.T) {
	for _, test := range []struct {
		path string
		s3   bool
		want []string
	}{
		{"/", false, []string{"/"}},
		{"", false, []string{"/"}},
		{"", true, []string{"/"}},
		{"/a/../b//c/./d/", false, []string{"/a/../b//c/./d/", "/b/c/d/"}},
		{"/../..", false, []string{"/../..", "/"}},
		{"/a%3Ab", false, []string{"/a%253Ab", "/a%3Ab"}},
		{"/a/../b//c/", true, []string{"/a/../b//c/"}},
		{"/a%2fb%2B+é*", true, []string{"/a/b%2B%2B%C3%A9%2A"}},
	} {
		u := &url.URL{Path: test.path}
		if strings.Contains(test.path, "%") {
			u.RawPath = test.path
			var err error
			if u.Path, err = url.PathUnescape(test.path); err != nil {
				t.Fatal(err)
			}
		}
		r := &http.Request{URL: u}
		target, _ := Reader{}.Read(r)
		target.Service = "ssm"
		if test.s3 {
			target.Service = "s3"
		}
		Reader{}.readPath(r, &target)
		if got := target.canonicalPaths(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
	query, err := url.ParseQuery("b=2&a=%7e+x&a=&acl&%25zz=1&b=1&X-Amz-Signature=s")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := canonicalQuery(query, true), "%25zz=1&a=&a=~%20x&acl=&b=1&b=2"; got != want {
		t.Errorf("query %s, want %s", got, want)
	}
}
