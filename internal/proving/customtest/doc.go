// Package customtest calls and tests the handlers of custom resources without a stack.
//
//   - A [Receiver] takes the responses of handlers at presigned URLs of this machine.
//   - [Send] sends one request to a handler and judges its response.
//   - [Run] sends a handler all that CloudFormation may send it: requests that are delivered
//     twice, that time out or are rolled back, deletions of what never existed. Each response
//     that breaks a rule of the protocol is reported with the rule. [Cases] has the tests,
//     [Rules] the rules.
//
// The protocol itself, with the rules for a single response, is in package customresource.
package customtest
