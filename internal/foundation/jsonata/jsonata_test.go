package jsonata

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// evalText compiles and evaluates with the input given as JSON, "" for undefined, and
// returns the result as JSON, "undefined", or the code of the error.
func evalText(t testing.TB, source, input string, config Config) string {
	t.Helper()
	expr, err := Compile(source, config)
	var got any
	if err == nil {
		in := Undefined
		if input != "" {
			in = ordered(t, []byte(input))
		}
		got, err = expr.Eval(t.Context(), in)
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Code
	case err != nil:
		return err.Error()
	}
	return show(got)
}

// TestReference holds answers of jsonata-js 2.2.2 that its suite does not ask for.
func TestReference(t *testing.T) {
	tests := []struct{ source, input, want string }{
		// Numbers as JavaScript writes them.
		{`$string(1e21)`, ``, `"1e+21"`},
		{`$string(1e20)`, ``, `"100000000000000000000"`},
		{`$string(0.000001)`, ``, `"0.000001"`},
		{`$string(1e-7)`, ``, `"1e-7"`},
		{`$string(-0)`, ``, `"0"`},
		{`-0`, ``, `0`},
		{`$string(1/3)`, ``, `"0.333333333333333"`},
		{`1/3`, ``, `0.3333333333333333`},
		{`$string(123456789012345678)`, ``, `"123456789012345680"`},
		{`$string(1.2345678901234567e30)`, ``, `"1.2345678901234567e+30"`},
		{`(1.1+2.2)&""`, ``, `"3.3"`},
		{`0/0`, ``, `null`},
		{`1/0`, ``, `null`},
		{`-(1/0)`, ``, `D1001`},
		{`$string(0/0)`, ``, `D3001`},
		{`$sum([1e308,1e308])`, ``, `null`},
		{`$round(2.5)`, ``, `2`},
		{`$round(-0.5)`, ``, `0`},
		{`$round(4.525,2)`, ``, `4.52`},
		{`$round(123.456,-2)`, ``, `100`},
		{`$round(1,4.49)`, ``, `null`},
		{`$formatBase(-255,16)`, ``, `"-ff"`},
		{`$formatBase(1e30,16)`, ``, `"c9f2c9cd04675000000000000"`},
		{`$formatBase(1e21)`, ``, `"1e+21"`},
		{`$number("0X1f")`, ``, `31`},
		{`$number("0o17")`, ``, `15`},
		{`$number("0b12")`, ``, `D3030`},
		{`$number("1.")`, ``, `D3030`},
		{`$power(1,foo)`, ``, `D3061`},
		// Strings as JavaScript counts them.
		{`$length("\ud800")`, ``, `1`},
		{`$length("😀a")`, ``, `2`},
		{`$length("\ud83d\ude00")`, ``, `1`},
		{`$count($split("😀a",""))`, ``, `3`},
		{`$join($split("😀a",""))`, ``, `"😀a"`},
		{`$match("a😀b",/b/).index`, ``, `3`},
		{`$match("😀",/./)[0].match = "\ud83d"`, ``, `true`},
		{`$replace("a😀b",/😀/,"-")`, ``, `"a-b"`},
		{`$contains("😀",/^[😀]{2}$/)`, ``, `true`},
		{`$sort(["\uffee","😀"])[0]`, ``, `"😀"`},
		{`$substring("hello",1.7,2.2)`, ``, `"el"`},
		{`$substring("hello world",foo,5)`, ``, `""`},
		{`$pad('x',-5,'ab')`, ``, `"ababx"`},
		{`$pad("a",3.7,"xy")`, ``, `"axy"`},
		{`$uppercase("straße")`, ``, `"STRASSE"`},
		{`$lowercase("ΟΔΟΣ")`, ``, `"οδος"`},
		{`$base64encode("é€")`, ``, `"6aw="`},
		{`$base64decode("4oKs")`, ``, "\"â\u0082¬\""},
		{`$base64decode("Y W-_")`, ``, `"ao¿"`},
		{`$decodeUrl("%2f%41")`, ``, `"%2fA"`},
		{`$decodeUrl("%C0%80")`, ``, `D3140`},
		{`"\'"`, ``, `S0103`},
		{`$string({"a":[1,{}],"b":[]},true)`, ``, `"{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"`},
		{`$string("\u2028\u0001\ud800")`, ``, `"\u2028\u0001�"`},
		{`$string(["\ud800\u001f<"])`, ``, `"[\"\\ud800\\u001f\u003c\"]"`},
		// Objects keep their order, array indexes first.
		{`{"b":1,"2":2,"1":3}`, ``, `{"1":3,"2":2,"b":1}`},
		{`$keys([{"b":1},{"a":2},{"7":1}])`, ``, `["7","b","a"]`},
		{`$keys($)`, `{"z":1,"y":2,"10":3,"9":4}`, `["9","10","z","y"]`},
		{`toString`, `{"a":1}`, `undefined`},
		// Sequences.
		{`$.*`, `{"a":[1]}`, `[1]`},
		{`*`, `[1,[2,3]]`, `[1,2,3]`},
		{`**`, `[1,[2,{"a":3}]]`, `[1,2,{"a":3},3]`},
		{`[3]^($)`, ``, `3`},
		{`a[].b`, `{"a":[{"b":3}]}`, `[3]`},
		{`[foo][]`, ``, `[]`},
		{`foo.bar[]`, ``, `undefined`},
		{`[]{"a":1}`, ``, `{"a":1}`},
		{`[]{"a":$}`, ``, `{}`},
		{`${"a":$}`, `[[1,2],[3]]`, `{"a":[1,2,3]}`},
		{`a{"k":$}`, `{"a":[[],[],[1],[2,3]]}`, `{"k":[1,2,3]}`},
		{`[1] in [[1]]`, ``, `false`},
		{`$spread([0])`, ``, `[0]`},
		{`$spread({})`, ``, `undefined`},
		{`$append(1,2)`, ``, `[1,2]`},
		{`$map(1,$string)`, ``, `"1"`},
		{`$zip([1,2],foo)`, ``, `[]`},
		{`$sift({"a":0},$boolean)`, ``, `undefined`},
		{`$merge([])`, ``, `{}`},
		// Functions.
		{`$map(["abc"],$substring)`, ``, `T0410`},
		{`$substring("a")`, ``, `T0410`},
		{`$count()`, ``, `T0410`},
		{`$length()`, `1`, `T0411`},
		{`$length()`, ``, `undefined`},
		{`λ($a,$b)<n+s:x>{[$a,$b]}(1,2,"x")`, ``, `[1,2]`},
		{`($f:=$substring(?,?,2); $f("abcd",1))`, ``, `"bc"`},
		{`($f:=function($a,$b){[$a,$b]}; $g:=$f(?); $g("y",2))`, ``, `["y"]`},
		{`($f:=$sum ~> $string; $f([1,2]))`, ``, `"3"`},
		{`($sum:=foo; $sum([1]))`, ``, `T1006`},
		{`sum([1])`, ``, `T1005`},
		{`5 ~> |$|{"a":1}|`, ``, `T0410`},
		{`{"a":0.1+0.2} ~> |$|{}|`, ``, `{"a":0.3}`},
		{`{"a":1,"b":[{"c":1}]} ~> |**[c]|{"d":2},["c"]|`, ``, `{"a":1,"b":[{"c":1}]}`},
		{`($r:=/a(.)/; $r("xabac").next().match)`, ``, `"ac"`},
		{`$match("a",/(b)?a/)`, ``, `{"match":"a","index":0,"groups":[null]}`},
		{`/a/("")`, ``, `undefined`},
		{`$eval("1+")`, ``, `D3120`},
		{`$contains("abc",foo)`, ``, `undefined`},
		{`1 ?: 2 ?: 3`, ``, `1`},
		{`$boolean($sum)`, ``, `false`},
		{`null <= 1`, ``, `T2010`},
		// Grammar.
		{`[1,]`, ``, `S0211`},
		{`(1;)`, ``, `1`},
		{`()`, ``, `undefined`},
		{`1.e`, ``, `S0213`},
		{`01`, ``, `S0201`},
		{`/a{/`, ``, `S0302`},
		{`/[/]/("a/b").start`, ``, `1`},
		{`and.or`, `{"and":{"or":1}}`, `1`},
		{`[4]/2`, ``, `T2001`},
		{`{}/2`, ``, `T2001`},
		// Pictures.
		{`$formatInteger(1e15,"w")`, ``, `"one thousand trillion"`},
		{`$formatInteger(21,"Ww;o")`, ``, `"Twenty-First"`},
		{`$formatInteger(-5,"I")`, ``, `"-V"`},
		{`$formatInteger(5.7,"0")`, ``, `"5"`},
		{`$formatInteger(1234567,"0,000:000")`, ``, `"1,234:567"`},
		{`$formatInteger(2,"0',")`, ``, `"2',"`},
		{`$formatInteger(5,"٠")`, ``, `"٥"`},
		{`$formatInteger(123,"x")`, ``, `D3130`},
		{`$parseInteger("bogus","w")`, ``, `null`},
		{`$parseInteger("twenty-first","w;o")`, ``, `21`},
		{`$formatNumber(0,"0.0e0")`, ``, `"0.0e0"`},
		{`$formatNumber(-5,"0.0e0")`, ``, `"-5.0e0"`},
		{`$formatNumber(123456,"#,##0.0e00")`, ``, `"1.2e05"`},
		{`$formatNumber(12,"xe0")`, ``, `"xe12"`},
		{`$formatNumber(9,"$0,,.#")`, ``, `D3089`},
		{`$fromMillis(0,"[Y][[x]]")`, ``, `"1970[x]"`},
		{`$fromMillis(-1e14)`, ``, `"-1199-02-15T14:13:20.000Z"`},
		{`$fromMillis(0,"[Z0]","+0530")`, ``, `"+5:30"`},
		{`$fromMillis(0,"[q]")`, ``, `D3132`},
		{`$toMillis("2018-02-31")`, ``, `1520035200000`},
		{`$toMillis("2018-13-01")`, ``, `null`},
		{`$toMillis("2018-02-01T09:42:13.1234Z")`, ``, `1517478133123`},
		{`$toMillis("2018-02-01T09:42Z")`, ``, `D3110`},
		{`$toMillis("2020-061","[Y]-[d]")`, ``, `1583020800000`},
		{`$toMillis("2020 10","[Y] [D]")`, ``, `D3136`},
		{`$toMillis("x","[Y]")`, ``, `undefined`},
	}
	for _, test := range tests {
		if got := evalText(t, test.source, test.input, Config{}); got != test.want {
			t.Errorf("%s gives %s, wanted %s", test.source, got, test.want)
		}
	}
}

// TestBetter holds where this package knowingly differs from the reference: see the
// documentation of the package.
func TestBetter(t *testing.T) {
	tests := []struct{ source, input, want string }{
		{`[/a/]`, ``, `[null]`},
		{`a[]/2`, `{"a":4}`, `T2001`},
		{`function(){1}/2`, ``, `T2001`},
		{`($u:=$uppercase(?); $u(5))`, ``, `T0410`},
		{`$replace("abc","b",$uppercase)`, ``, `D3012`},
		{`Order#$i^(id)[$i>0].id`, `{"Order":[{"id":2},{"id":1},{"id":0}]}`, `[0,1]`},
		{`$fromMillis(0,"[H]:[m01] [Z]","-0530")`, ``, `"18:30 -05:30"`},
		{`$fromMillis(0,"[Z]","+05:30")`, ``, `"+05:30"`},
		{`$fromMillis(0,"[Z]","abc")`, ``, `D3134`},
		{`$fromMillis(1e20)`, ``, `D1001`},
		{`$toMillis("1970-01-01 10:00 -05:30","[Y]-[M]-[D] [H]:[m] [Z]")`, ``, `55800000`},
		{`$formatNumber(1.5,"a0.0e0")`, ``, `"a1.5e0"`},
		{`$formatNumber(5,"#,##,0.#")`, ``, `"5"`},
		{`{"a":[1,{"b":1}]} ~> |a|{"c":1}|`, ``, `{"a":[1,{"b":1,"c":1}]}`},
		{`[{"a":1},{"a":2}][0].a`, ``, `1`},
		{`["ab","c"][0].$length()`, ``, `2`},
		{`[1,2]@$x.{"x":$x,"a":a}`, `{"a":3}`, `[{"x":1,"a":3},{"x":2,"a":3}]`},
		{`[1,2]#$i.{"i":$i}`, ``, `[{"i":0},{"i":1}]`},
		{`/(?/`, ``, `S0302`},
		{`/a(?<=b/`, ``, `S0302`},
		{`/a**/`, ``, `S0303`},
	}
	for _, test := range tests {
		if got := evalText(t, test.source, test.input, Config{}); got != test.want {
			t.Errorf("%s gives %s, wanted %s", test.source, got, test.want)
		}
	}
}

// TestErrors wants code, place and token.
func TestErrors(t *testing.T) {
	tests := []struct {
		source string
		want   Error
	}{
		{`a + "b" - 1`, Error{Code: "T2002", Position: 2, Token: "+"}},
		{`(1; $uppercase(5))`, Error{Code: "T0410", Position: 4, Token: "uppercase"}},
		{`( $f := function(){$min(2, 3)}; $f() )`, Error{Code: "T0410", Position: 19, Token: "min"}},
		{`$unknown(1)`, Error{Code: "T1006", Position: 0, Token: "unknown"}},
		{`[1,2`, Error{Code: "S0203", Position: 4, Token: "(end)"}},
		{`a b`, Error{Code: "S0201", Position: 2, Token: "b"}},
		{`é + "\q"`, Error{Code: "S0103", Position: 6, Token: "q"}},
		{`$map([1], function($x){$x & $error("no " & $x)})`, Error{Code: "D3137", Position: 28, Token: "error", Message: "no 1"}},
		{`$assert(false, "wrong")`, Error{Code: "D3141", Position: 0, Token: "assert", Message: "wrong"}},
		{`1 ~> 2`, Error{Code: "T2006", Position: 2, Token: "~>"}},
		{`{1: 2}`, Error{Code: "T1003", Position: 1, Token: "{"}},
		{`/a(?P<n>b)/`, Error{Code: "S0303", Position: 0, Token: "/a(?P<n>b)/"}},
		{`λ($x)<n<n>>{$x}`, Error{Code: "S0401", Position: 6, Token: "n"}},
	}
	for _, test := range tests {
		expr, err := Compile(test.source, Config{})
		if err == nil {
			_, err = expr.Eval(t.Context(), map[string]any{"a": 1})
		}
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", test.source, err)
			continue
		}
		if e.Code != test.want.Code || e.Position != test.want.Position || e.Token != test.want.Token {
			t.Errorf("%s: %s at %d, token %q; wanted %s at %d, token %q",
				test.source, e.Code, e.Position, e.Token, test.want.Code, test.want.Position, test.want.Token)
		}
		if test.want.Message != "" && e.Message != test.want.Message {
			t.Errorf("%s: message %q, wanted %q", test.source, e.Message, test.want.Message)
		}
		if strings.ContainsAny(e.Message, "{}") || e.Message == "" {
			t.Errorf("%s: message %q", test.source, e.Message)
		}
	}
}

// TestBuiltIns reads the table of functions.
func TestBuiltIns(t *testing.T) {
	if len(functions) != len(builtIns) {
		t.Errorf("%d names for %d functions", len(functions), len(builtIns))
	}
	for _, f := range builtIns {
		signature, err := parseSignature(f.signature)
		if err != nil || len(signature.params) < min(f.arity, 1) || f.run == nil {
			t.Errorf("%s: %s: %v", f.name, f.signature, err)
		}
	}
}

// TestMessages wants words for every code that the source can give.
func TestMessages(t *testing.T) {
	for code, text := range messages {
		if text == "" || strings.HasSuffix(text, ".") || len(code) != 5 {
			t.Errorf("%s: %q", code, text)
		}
	}
	if e := newError("T0410", unplaced, "", "{index}", "2"); e.Error() != "jsonata T0410: argument 2 of the function does not match its signature" {
		t.Error(e)
	}
}

// TestInput gives every kind of input.
func TestInput(t *testing.T) {
	type name string
	tests := []struct {
		input any
		want  any
	}{
		{nil, nil},
		{Undefined, Undefined},
		{true, true},
		{json.Number("12.5"), 12.5},
		{json.Number("1e999"), nil},
		{math.NaN(), nil},
		{7, 7.0},
		{uint8(7), 7.0},
		{int64(-7), -7.0},
		{float32(0.5), 0.5},
		{name("x"), nil},
		{"a\xffb", "a\uFFFDb"},
		{[]string{"a", "b"}, []any{"a", "b"}},
		{[]any{nil, Undefined}, []any{nil, nil}},
		{map[string]int{"b": 1, "a": 2}, map[string]any{"b": 1.0, "a": 2.0}},
		{map[string]any{"a": Undefined}, map[string]any{}},
		{struct{}{}, nil},
		{json.Number("x"), nil},
		{map[int]string{}, nil},
	}
	expr, err := Compile("$", Config{})
	if err != nil {
		t.Fatal(err)
	}
	failing := map[int]bool{10: true, 16: true, 17: true, 18: true}
	for i, test := range tests {
		got, err := expr.Eval(t.Context(), test.input)
		if failing[i] != (err != nil) {
			t.Errorf("%T: %v", test.input, err)
		}
		if err == nil && !reflect.DeepEqual(Plain(got), test.want) {
			t.Errorf("%T: %v, wanted %v", test.input, got, test.want)
		}
	}
	for _, text := range []string{"", "{", "[1,]", "1 2", `{"a":1}}`, "nul"} {
		if _, err := DecodeInput([]byte(text)); err == nil {
			t.Errorf("DecodeInput reads %q", text)
		}
	}
	if got := evalText(t, "$", `{"b":1,"a":2,"b":3}`, Config{}); got != `{"b":3,"a":2}` {
		t.Error(got)
	}
}

// TestInputStays evaluates what changes data, and wants the input unchanged.
func TestInputStays(t *testing.T) {
	const text = `{"a":[3,1,2],"b":{"c":[{"d":1}]},"10":1,"9":2}`
	input := ordered(t, []byte(text))
	for _, source := range []string{
		`$sort(a)`, `a^($)`, `$reverse(a)`, `$append(a, 1)`, `$ ~> |b|{"x":1},"c"|`, `$ ~> |b.c|{"d":2}|`,
		`$merge([$, {"a":1}])`, `a[]`, `(b.c)[]`, `$shuffle(a)`, `$distinct(a)`, `b.c@$x#$i.{"i":$i}`, `[a][0]`,
	} {
		expr, err := Compile(source, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := expr.Eval(t.Context(), input); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		got, err := (&evaluator{config: &Config{}, steps: 1000, memory: 1 << 20}).export(input.value, 0)
		if want := `{"9":2,"10":1,"a":[3,1,2],"b":{"c":[{"d":1}]}}`; err != nil || show(got) != want {
			t.Errorf("after %s: %s", source, show(got))
		}
	}
}

// TestResults looks at the results that JSON does not have.
func TestResults(t *testing.T) {
	eval := func(source string) any {
		t.Helper()
		expr, err := Compile(source, Config{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := expr.Eval(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	regex, ok := eval(`/^ab+$/im`).(*Regexp)
	if !ok || regex.Source() != "^ab+$" || regex.Flags() != "im" || regex.String() != "/^ab+$/im" {
		t.Fatalf("regular expression: %v", regex)
	}
	for text, want := range map[string]bool{"ABB": true, "x\nab": true, "b": false} {
		if got, err := regex.MatchString(text); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	slow := eval(`/^(a+)+$/`).(*Regexp)
	var e *Error
	if _, err := slow.MatchString(strings.Repeat("a", 50) + "!"); !errors.As(err, &e) || e.Limit != LimitTime {
		t.Errorf("a slow expression: %v", err)
	}
	if f, ok := eval(`$substring`).(*Function); !ok || f.Name() != "substring" || f.Parameters() != 3 {
		t.Error("a built-in function")
	}
	if f, ok := eval(`function($a, $b){$a}`).(*Function); !ok || f.Name() != "" || f.Parameters() != 2 {
		t.Error("a lambda")
	}
	if got := show(eval(`{"f": $sum, "r": /a/, "n": null, "l": [$sum, 1/0]}`)); got != `{"n":null,"l":[null,null]}` {
		t.Error(got)
	}
}

// TestBindings gives variables, and the world outside.
func TestBindings(t *testing.T) {
	config := Config{
		Now:    func() time.Time { return time.UnixMilli(1_500_000_000_123) },
		Random: func() float64 { return 0.25 },
	}
	expr, err := Compile(`[$a, $b.c, $now(), $millis(), $random(), $shuffle([1, 2, 3, 4]), $now("[Y]")]`, config)
	if err != nil {
		t.Fatal(err)
	}
	got, err := expr.Eval(t.Context(), nil, map[string]any{"a": 1, "b": map[string]any{"c": "x"}}, map[string]any{"a": 2})
	if want := `[2,"x","2017-07-14T02:40:00.123Z",1500000000123,0.25,4,3,1,2,"2017"]`; err != nil || show(got) != want {
		t.Errorf("%s, %v", show(got), err)
	}
	if _, err := expr.Eval(t.Context(), nil, map[string]any{"a": struct{}{}}); err == nil || !strings.Contains(err.Error(), "binding a") {
		t.Errorf("a binding that is no data: %v", err)
	}
}

// TestConcurrent evaluates one expression in many goroutines.
func TestConcurrent(t *testing.T) {
	expr, err := Compile(`($f := function($n){$n = 0 ? 0 : $n + $f($n - 1)}; {"s": $f(n), "m": $match(t, /[a-z]+/).match, `+
		`"u": ($ ~> |o|{"x": $$.n}|).o, "e": $eval("n + 1"), "w": $uppercase(t)})`, Config{})
	if err != nil {
		t.Fatal(err)
	}
	input := ordered(t, []byte(`{"n":20,"t":"ab cd é","o":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}}`))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := expr.Eval(t.Context(), input)
				if want := `{"s":210,"m":["ab","cd"],"u":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"x":20},"e":21,"w":"AB CD É"}`; err != nil || show(got) != want {
					t.Errorf("%s, %v", show(got), err)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestObject uses an Object as its documentation says.
func TestObject(t *testing.T) {
	var o Object
	for _, key := range strings.Split("x 10 y 9 4294967295 01 z a b c d 0 e", " ") {
		o.Set(key, key)
	}
	o.Set("y", 2)
	o.Delete("9")
	o.Delete("missing")
	want := "0 10 x y 4294967295 01 z a b c d e"
	if got := strings.Join(o.Keys(), " "); got != want {
		t.Errorf("keys %s, wanted %s", got, want)
	}
	if v, ok := o.Get("y"); v != 2 || !ok {
		t.Error(v, ok)
	}
	if _, ok := o.Get("9"); ok || o.Len() != 12 {
		t.Error("9 is still there")
	}
	for key, value := range o.All() {
		if got, _ := o.Get(key); got != value {
			t.Errorf("%s: %v and %v", key, got, value)
		}
		if key == "x" {
			break
		}
	}
}
