// Package customresource has the protocol of custom resources: the request that a provider
// gets, the rules for its response, and what takes responses at presigned URLs. [Provider]
// provisions the custom resources of stacks with it.
//
// The reference is custom-resource-protocol.txt ("CloudFormation custom resource request
// and response reference"); the section behind each rule of a response is in the table of [Rules]. A
// response that breaks a rule has one of three effects, which are those of the service: it is
// refused and the operation fails, it is ignored because it answers another request, or it is
// accepted all the same.
//
// Request, [Check] and [Mailbox] need no stack and no store: the tests of handlers use them.
package customresource
