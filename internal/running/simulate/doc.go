// Package simulate simulates resource types that have no handlers here. Their published
// schemas are stored on a [Shelf]; a generic provider driven by the schema creates, reads,
// updates and deletes resources that exist only as rows.
//
// A simulated create applies defaults, names what the template left unnamed, makes up
// read-only values and refuses an identifier that is taken. A value has the form of
// forms.txt, else one that the schema and the properties that take it allow; it is the same
// for the same request. An update refuses create-only properties. Nothing behind a resource exists: a
// simulated queue takes no messages.
//
// Types run only if [Config].Patterns matches them. Otherwise the type is unknown, and the
// error contains what to do. The schemas of [Infrastructure] need no import.
//
// The references are resource-schema.txt and resource-handler-contract.txt.
package simulate
