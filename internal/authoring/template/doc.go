// Package template reads, expands, checks and evaluates CloudFormation templates.
//
// It works in five steps, each of which a caller may stop at:
//
//	Parse     JSON or YAML to a [Template], ordered as written, with the place of every value
//	Bind      values for its parameters, checked against the declarations
//	Expand    transforms: loops, includes, macros; the result is the processed template
//	Check     what the service refuses at the call: shapes, names, references, limits
//	NewScope  conditions computed once; then properties, outputs, dependencies of resources
//
// The package does no I/O. Data outside of a template comes from interfaces that are declared
// here and implemented by the engine: [ParameterStore], [Macros], [Types], [References],
// [Resolver].
//
// # Values
//
// Evaluated values have the types of encoding/json: map[string]any, []any, string, bool and
// [encoding/json.Number], which keeps the text of a number. A part that depends on an unknown
// value is [Unknown]; a string with an unknown part is Unknown as a whole. AWS::NoValue
// removes the member or the item.
//
// Dynamic references ({{resolve:…}}) are ordinary text until [ResolveDynamic] is called, so
// that their values never reach what is stored or shown.
//
// # Refusals
//
// Every refusal is an [*Error] with the wire code and the exact words of the service; all of
// them are in one table, see [Refusals]. Functions return [Errors], in the order in which the
// service would find them: it answers the first one, "cfn template check" prints all.
package template
