// Package simulate stands in for resource types that have no handlers here. Their
// published schemas are kept on a [Shelf]; a generic provider driven by the schema makes,
// reads, updates and deletes resources that exist only as rows.
//
// A simulated create applies defaults, names what the template left unnamed, makes up
// read-only values from ARN formats, patterns and examples, and refuses an identifier that
// is taken. An update refuses create-only properties. Nothing behind a resource exists: a
// simulated queue takes no messages.
//
// Types run only where [Config].Patterns names them. Everybody else is told that the type
// is unknown, and what to do about it.
//
// The references are resource-schema.txt and resource-handler-contract.txt.
package simulate
