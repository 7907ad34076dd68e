// Package smithy loads Smithy models and turns their resources into CloudFormation
// resource schemas.
//
// [Load] reads Smithy IDL 1.0 and 2.0 and the JSON AST, any number of files at once, and
// returns the semantic model with every event that loading found. [Validate] runs the
// model validators. [Convert] writes the schemas of the resources of a service, bit for
// bit as the official converter writes them, quirks included; [Settings].Modern turns
// off the quirks that are accidents. [WriteAST] writes a model as JSON AST.
//
// The language is that of the Smithy specification 2.0 (https://smithy.io/2.0/spec/);
// event ids, severities and texts are those of the reference implementation, because
// suppressions and people's scripts name them. Models are hostile input: files are
// bounded in size, values in depth, and no cycle of shapes, mixins or resources makes
// a walk endless.
//
// What the package leaves out: validators that a model names in its "validators"
// metadata and that are programs of the reference implementation (its linters), and the
// trait definitions outside the namespaces smithy.api, aws.api, aws.auth,
// aws.cloudformation, aws.iam and aws.protocols. Traits without a definition warn.
package smithy
