package jsonata

import (
	"slices"
	"testing"
)

func TestUnknownFunctions(t *testing.T) {
	for source, want := range map[string][]string{
		"$lowercse(Name)":                                 {"lowercse"},
		"$lowercase($trimm(Name)) & $nope()":              {"trimm", "nope"},
		"$lowercase(Name)":                                nil,
		"($f := function($x){$x & 'a'}; $f(Name))":        nil,
		"function($g){$g(1)}($lowercase)":                 nil,
		"$map(Tags, function($t){$upper($t.Key)})":        {"upper"},
		"Tags[$absent(Key)].{Key: $absent2(Value)}":       {"absent", "absent2"},
		"Name ~> $uppercase ~> $missing()":                {"missing"},
		"Items^($length(Name), >$size(Id))":               {"size"},
		"Name ? $exists(Name) : $gone(Name)":              {"gone"},
		"$substring(?, 0, $lenth(Name))":                  {"lenth"},
		"$each(Tags, function($v, $k){$v & $string($k)})": nil,
		"Items#$i.($i($lowercase))":                       nil,
		"|Tags|{'Key': $lowercased(Key)}|":                {"lowercased"},
	} {
		x, err := Compile(source, Config{})
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got := x.UnknownFunctions()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
	if !slices.Contains(Functions(), "lowercase") || !slices.IsSorted(Functions()) {
		t.Error("the names of functions are not sorted or incomplete")
	}
}
