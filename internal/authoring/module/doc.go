// Package module has CloudFormation modules: what a template fragment may contain, the schema
// of a module, and the expansion of a template that uses modules into one that does not.
//
// [ParseFragment] checks a fragment by the rules of the user guide. [Expand] replaces the
// resources of the types of modules by the resources, conditions, mappings and outputs of
// their fragments. Every value keeps the position at which it was written, in the template or
// in a fragment, so that messages about the result name the right file; [Expansion.SourceMap]
// lists them by the lines of the printed template.
//
// The package does no I/O: [Fragments] finds the fragment of a type.
package module
