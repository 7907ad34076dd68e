package drift

import "github.com/formwork-dev/formwork/internal/diag"

// Rules returns the table of what the comparison of models reports.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "drift/model", Purpose: "The two models of a comparison are objects with properties.",
			Why: "Only properties can drift.", Example: "wrong: \"a\"\nright: {\"Name\": \"a\"}"},
		{ID: "drift/transform-syntax", Purpose: "Each alternative of a propertyTransform is a JSONata expression.",
			Why: "One that does not parse is passed over: what the service answers in its own form is shown as drift.", Example: "wrong: \"$lowercase(Name\"\nright: \"$lowercase(Name)\""},
		{ID: "drift/transform-failed", Purpose: "The transforms of properties can be evaluated with the models that are compared, within the bounds for time and memory.",
			Why: "One that fails, on a property that is not there for example, is passed over: a difference is shown that may be none.", Example: "wrong: \"Size + 1\" where Size is a text\nright: \"$number(Size) + 1\""},
	}
}
