package drift

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what the comparison of models reports.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "drift/model", Purpose: "The two models of a comparison are objects with properties.",
			Why: "Only properties can drift.", Example: "wrong: \"a\"\nright: {\"Name\": \"a\"}"},
		{ID: "drift/transform-syntax", Purpose: "Each alternative of a propertyTransform is a JSONata expression.",
			Why: "A transform that cannot be parsed is ignored, so values that the service converts are reported as drift.", Example: "wrong: \"$lowercase(Name\"\nright: \"$lowercase(Name)\""},
		{ID: "drift/transform-failed", Purpose: "The transforms of properties can be evaluated with the compared models, within the limits for time and memory.",
			Why: "A transform that fails, for example because of a missing property, is ignored, so false drift may be reported.", Example: "wrong: \"Size + 1\" where Size is a text\nright: \"$number(Size) + 1\""},
	}
}
