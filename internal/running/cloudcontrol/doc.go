// Package cloudcontrol is the Cloud Control API without HTTP: single resources are created,
// read, updated, deleted and listed through the handlers of their types, outside of stacks.
//
// CreateResource, UpdateResource and DeleteResource start a request. It is a row with a
// request token, and its work is an operation of package operation: it continues after a
// restart, and a handler is called again with the same token. GetResource and ListResources
// call the handler and wait for it.
//
// The types are those of operation.Types: registered and activated ones, the types of the
// server itself, and simulated ones.
//
// Not offered: identifiers other than the primary identifier. RoleArn is accepted
// and has no effect.
//
// The reference is the API model cloudcontrol 2021-09-30.
package cloudcontrol
