// Package builtin provisions the resource types that this server has the services for:
// parameters, buckets, secrets, log groups and log streams, macros, stack sets, and what the registry has:
// versions of extensions, publishers, activations. What a template declares exists afterwards in
// the service, where every client finds it.
//
// A create first reports the identifier that the resource will have and creates it in its
// second call, so that a call repeated after a crash knows its own resource. A property
// that the service here cannot honor fails the operation by name; nothing is ignored.
//
// The references are resource-handler-contract.txt, the API models of the services, and for the
// types of the registry their published schemas and the publishing chapter of the user guide.
package builtin
