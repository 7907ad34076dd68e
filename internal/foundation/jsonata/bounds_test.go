package jsonata

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestBounds evaluates what would never end, or take all memory, and wants to be told
// which bound ended it.
func TestBounds(t *testing.T) {
	tests := []struct {
		name, source string
		want         Limit
	}{
		{"recursion", `($f := function($n){1 + $f($n)}; $f(1))`, LimitDepth},
		{"recursion in a tail", `($f := function(){$f()}; $f())`, LimitSteps},
		{"mutual recursion in a tail", `($f := function($n){$g($n)}; $g := function($n){$f($n + 1)}; $f(0))`, LimitSteps},
		{"Y combinator", `(λ($x){$x($x)})(λ($x){$x($x)})`, LimitSteps},
		{"range", `[1..10000000]`, LimitMemory},
		{"ranges", `[1..5000].[1..5000]`, LimitMemory},
		{"appended for ever", `($f := function($a){$f($append($a, [1..1000]))}; $f([]))`, LimitMemory},
		{"doubled string", `($f := function($s){$f($s & $s)}; $f("ab"))`, LimitMemory},
		{"padded string", `$pad("", 1e12)`, LimitMemory},
		{"padded string, left", `$pad("", -1e300, "abc")`, LimitMemory},
		{"joined strings", `$join([1..1000].($pad("", 100000)))`, LimitMemory},
		{"replaced by more", `($f := function($s){$f($replace($s, "a", "aaaaaaaaaa"))}; $f("a"))`, LimitMemory},
		{"split", `$split($pad("", 20000000), "")`, LimitMemory},
		{"nested arrays as text", `($f := function($a, $n){$n = 0 ? $a : $f([$a, $a], $n - 1)}; $string($f(1, 60)))`, LimitMemory},
		{"nested arrays as result", `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $f(1, 60))`, LimitMemory},
		{"nested arrays compared", `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $f(1, 60) = $f(1, 60))`, LimitSteps},
		{"nested arrays, descendants", `($f := function($a, $n){$n = 0 ? $a : $f([[$a], [$a]], $n - 1)}; $count($f(1, 60).**))`, LimitSteps},
		{"deep array as text", `($f := function($a, $n){$n = 0 ? $a : $f([[$a]], $n - 1)}; $string($f(1, 100000)))`, LimitNesting},
		{"deep array as truth", `($f := function($a, $n){$n = 0 ? $a : $f([[$a]], $n - 1)}; $f(1, 100000) ? 1 : 2)`, LimitNesting},
		{"deep array looked into", `($f := function($a, $n){$n = 0 ? $a : $f([[$a]], $n - 1)}; $f(1, 100000).a)`, LimitNesting},
		{"cycle made by a transform", `({"a": {}} ~> |a|{"self": $}|) ~> |a|{"b": 1}|`, ""},
		{"cycle as result", `{"a": {}} ~> |a|{"self": $}|`, LimitNesting},
		{"cycle as text", `$string({"a": {}} ~> |a|{"self": $}|)`, LimitNesting},
		{"cycle, descendants", `$count(({"a": {}} ~> |a|{"self": $, "also": $}|).**)`, LimitNesting},
		{"catastrophic pattern", `$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /^(a+)+$/)`, LimitTime},
		{"catastrophic pattern in a loop", `[1..1000000].$contains("aaaaaaaaaaaaaaaaaaaaaa!", /^(a|aa)+$/)`, LimitTime},
		{"catastrophic picture", `$toMillis("` + strings.Repeat("one ", 40) + `!", "[Yw][Mw][Dw][dw][Hw][mw][sw]")`, LimitTime},
		{"sort that never agrees", `$sort([1..100000], function($a, $b){$count([1..100]) > 0})`, LimitMemory},
		{"quadratic index", `[1..100000][[1..100000]]`, LimitMemory},
		{"quadratic distinct", `$distinct([1..30000].{"a": $})`, LimitSteps},
		{"eval in eval", `($s := "$eval($s)"; $eval($s))`, LimitDepth},
		{"eval of a long text", `$eval($pad("1", 1000000, "+1"))`, LimitSource},
		{"cross join", `[1..1000]@$a.[1..1000]@$b.{"a": $a, "b": $b}`, LimitMemory},
		{"merge", `$reduce([1..100000], function($o, $i){$merge([$o, {$string($i): 1}])}, {})`, LimitMemory},
		{"chain of functions", `($c := function($h, $n){$n = 0 ? $h : $c($h ~> $string, $n - 1)}; $c($string, 100000)(1))`, LimitDepth},
		{"template of a replacement", `$replace($pad("", 100000, "a"), /(a+)/, $pad("", 100000, "$1"))`, LimitMemory},
		{"grouped join", `[1..20000]@$a.[1..20]@$b{"k": $count($a)}`, LimitMemory},
		{"picture of separators", `$formatNumber(1, $pad("", 200000, "0,0,,"))`, LimitSteps},
		{"picture of digits", `$formatInteger(1, $pad("", 200000, "0,0.0"))`, LimitSteps},
		{"pictures in a loop", `[1..100000].$toMillis("x", "[Dw] [Mw] [Yw] [Hw] [mw] [sw] [dw]")`, ""},
		{"rounded picture", `$formatNumber(1, "0." & $pad("", 100000, "0"))`, ""},
		{"roman", `$formatInteger(1e15, "i")`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			expr, err := Compile(test.source, Config{})
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = expr.Eval(t.Context(), Undefined)
			runtime.ReadMemStats(&after)
			var e *Error
			if !errors.As(err, &e) || test.want != "" && e.Limit != test.want {
				t.Errorf("ended with %v, wanted the limit %q", err, test.want)
			}
			// The estimate is of what is made; what Go really allocates is of that order.
			if made := after.TotalAlloc - before.TotalAlloc; made > 2<<30 {
				t.Errorf("allocated %d MB", made>>20)
			}
		})
	}
}

// TestCompileBounds compiles sources that are too long or nested too deeply.
func TestCompileBounds(t *testing.T) {
	tests := []struct {
		name, source string
		want         Limit
	}{
		{"brackets", strings.Repeat("(", 30000), LimitNesting},
		{"arrays", strings.Repeat("[", 30000) + strings.Repeat("]", 30000), LimitNesting},
		{"objects", strings.Repeat(`{"a":`, 10000), LimitNesting},
		{"predicates", strings.Repeat("a[", 30000), LimitNesting},
		{"signs", strings.Repeat("-", 30000) + "1", LimitNesting},
		{"sum", "1" + strings.Repeat("+1", 30000), LimitNesting},
		{"calls", "f" + strings.Repeat("()", 30000), LimitNesting},
		{"conditions", strings.Repeat("1?", 30000), LimitNesting},
		{"elvis", strings.Repeat("(", 200) + "1" + strings.Repeat("?:1)", 200), ""},
		{"lambdas", strings.Repeat("function(){", 5000), LimitNesting},
		{"parents", strings.Repeat("a.", 200) + strings.Repeat("%.", 199) + "%", ""},
		{"names", strings.Repeat("a.", 10000) + "a", LimitNesting},
		{"length", strings.Repeat(" ", 1<<20), LimitSource},
		{"pattern", "/" + strings.Repeat("a", 20000) + "/", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile(test.source, Config{})
			var e *Error
			if test.want == "" {
				if errors.As(err, &e) && e.Limit != "" {
					t.Errorf("a bound was reached: %v", err)
				}
				return
			}
			if !errors.As(err, &e) || e.Limit != test.want {
				t.Errorf("ended with %v, wanted the limit %q", err, test.want)
			}
		})
	}
}

// TestContext ends an evaluation from outside.
func TestContext(t *testing.T) {
	expr, err := Compile(`($f := function($n){$f($n + 1)}; $f(0))`, Config{MaxSteps: 1 << 60, MaxMemory: 1 << 60})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = expr.Eval(ctx, nil)
	var e *Error
	if !errors.As(err, &e) || e.Limit != LimitTime || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	if _, err = expr.Eval(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("started under an ended context: %v", err)
	}
}

// TestInputDepth gives inputs that are nested too deeply.
func TestInputDepth(t *testing.T) {
	var nested any = 1
	for range maxDataDepth + 1 {
		nested = []any{nested}
	}
	var e *Error
	if _, err := NewInput(nested); !errors.As(err, &e) || e.Limit != LimitNesting {
		t.Errorf("NewInput: %v", err)
	}
	text := strings.Repeat("[", maxDataDepth+2) + strings.Repeat("]", maxDataDepth+2)
	if _, err := DecodeInput([]byte(text)); !errors.As(err, &e) || e.Limit != LimitNesting {
		t.Errorf("DecodeInput: %v", err)
	}
	nested = 1
	for range maxDataDepth - 10 {
		nested = []any{nested}
	}
	for _, source := range []string{"$", "$string()", "$.**[0]", "$boolean($)", "$ = $", "$distinct([$, $])", "$clone([$])"} {
		expr, err := Compile(source, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := expr.Eval(t.Context(), nested); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestNoSecrets looks for values of the input in messages.
func TestNoSecrets(t *testing.T) {
	secrets := []string{"hunter2-hunter2", "hunter hunter", "hunter", "[hunter", "/hunter[/", "$hunter(1)", "\"hunter"}
	for _, source := range []string{
		"$number(p)", "p + 1", "1 + p", "-p", "p < 1", "p > true", "$abs(p)", "$sum(p)", "[p..3]", "[1..p]",
		"{p: 1, p: 2}", "{1: p}", "p()", "$toMillis(p)", "$eval(p)", "$fromMillis(0, p)", "$fromMillis(0, '[Y]', p)",
		"$formatInteger(1, p)", "$decodeUrl(p & '%')", "$parseInteger(p, p)", "$formatNumber(1, p)", "1 ~> |$|p|",
		"{} ~> |$|p|", "{} ~> |$|{}, [1, p]|", "[{'a': p}, {'a': 1}]^(a)", "[{'a': {'b': p}}, {'a': 1}]^(a)",
		"$replace(p, /h/, function(){1})", "$split(p, $uppercase)", "$sort([p, 1])", "$single([p, p])",
		"$lookup(p, 1)", "$eval('$number(p)')", "$power(p, 1)", "$join([p, 1])", "$formatBase(1, p)", "$assert(p)",
		"$toMillis('1', p)",
	} {
		expr, err := Compile(source, Config{})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		for _, secret := range secrets {
			_, err = expr.Eval(t.Context(), map[string]any{"p": secret})
			for cause := err; cause != nil; cause = errors.Unwrap(cause) {
				if strings.Contains(fmt.Sprintf("%v %+v", cause, cause), "hunter") {
					t.Errorf("%s: the message holds the value: %v", source, cause)
				}
			}
		}
	}
}
