// Package typecheck checks templates against the schemas of their resource types.
//
// [Properties] and [HasAttribute] judge one resource whose values are known as far as an operation knows
// them: the validation before a deployment. [Check] judges a template as it is written: it evaluates each
// resource for every combination of its conditions that the parameters allow, passes the values to the same
// two functions, and finds the places in the template that the violations came from. What a deployment
// refuses is therefore what Check reports, with the same messages.
//
// The package does no I/O: a [Source] finds the schemas.
package typecheck
