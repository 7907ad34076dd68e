package api

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what reading a description and making a schema from it report.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "api/version", Purpose: "The description is in OpenAPI 3.0 or 3.1.",
			Why: "Other versions place bodies, parameters and shapes elsewhere.", Example: "wrong: swagger: \"2.0\"\nright: openapi: 3.1.0"},
		{ID: "api/reference", Severity: diag.Warning, Purpose: "References of a description are to places in the same file.",
			Why: "Other files and URLs are never read: what they describe is taken for any value."},
		{ID: "api/too-large", Purpose: "The description and the schema stay within the limits.",
			Why: "The registry limits the size of schemas, and larger descriptions take too much memory."},
		{ID: "api/setting", Purpose: "The settings in api.yaml are valid and fit the resource.",
			Why: "A setting without an effect is a mistake.", Example: "wrong: properties: {Pasword: {writeOnly: true}}\nright: properties: {Password: {writeOnly: true}}"},
		{ID: "api/identifier", Purpose: "The identifiers of read are properties of the resource.",
			Why: "Otherwise, handlers could not find a resource.", Example: "right: identifier: [Id]"},
		{ID: "api/name", Purpose: "The names of properties are 1 to 64 letters and digits.",
			Why: "The registry refuses others.", Example: "right: properties: {_links: {name: Links}}"},
		{ID: "api/same-name", Purpose: "Two members do not become the same property.",
			Why: "One would replace the other."},
	}
}
