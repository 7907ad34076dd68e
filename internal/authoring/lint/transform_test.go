package lint

import (
	"strings"
	"testing"
)

// TestTransformAlternatives: only a $OR between whole expressions separates them.
func TestTransformAlternatives(t *testing.T) {
	for expression, want := range map[string]string{
		`Name = 'a $OR b' ? 'x' : Name`:      "",
		`$lowercase(Name) $OR $trim(Name)`:   "",
		`/* a $OR ( */ Name`:                 "",
		"$replace(Name, /($OR)/, '')":        "",
		`Name $OR $lowercase(Name`:           `the transform "$lowercase(Name" is not JSONata`,
		`Name & ' $OR ' $OR $OR $trim(Name)`: `the transform "" is not JSONata`,
	} {
		members := `"propertyTransform": {"/properties/Name": "` + strings.ReplaceAll(expression, `"`, `\"`) + `"}`
		got := ""
		for _, p := range Run(soundWith(t, members), Config{}) {
			if p.ID == "lint/transform-syntax" {
				got += p.Message
			}
		}
		if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}
