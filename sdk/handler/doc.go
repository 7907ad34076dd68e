// Package handler is the SDK for the handlers of CloudFormation extensions:
// resource types and hooks. It needs the standard library only.
//
// # Resource types
//
// A resource type is five functions over a model that "cfn generate" writes
// from the schema of the type:
//
//	func main() {
//		handler.Start(handler.Resource[resource.Model, resource.TypeConfiguration]{
//			TypeName: resource.TypeName,
//			Schema:   resource.Schema,
//			Create:   resource.Create,
//			Read:     resource.Read,
//			Update:   resource.Update,
//			Delete:   resource.Delete,
//			List:     resource.List,
//		})
//	}
//
// Each takes a [Request] and returns an [Event], which it makes with a method
// of the request: Success, SuccessList, Deleted, InProgress, Failed or Fail.
//
//	func Read(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
//		report, err := load(ctx, req.Desired.Id)
//		if err != nil {
//			return req.Fail(err)
//		}
//		return req.Success(report)
//	}
//
// # Errors
//
// Functions below a handler return plain errors. [FromError] finds the handler
// error code: that of an [Error] such as [NotFound] gives, or one that follows
// from the error of an AWS SDK, from an HTTP status or from a time-out.
//
// # Work that takes longer
//
// A call must end within a minute, and an operation may take hours. Between
// the calls of an operation lives nothing but its [Memory], the callback
// context. A [Chain] keeps the steps of an operation there, so that a handler
// reads from top to bottom although it is called many times.
//
// # What the runtime does
//
// Around the handlers, [Start] speaks the Lambda Runtime API, and for each call
//   - brings the request into the types of the schema, whether the caller sends
//     5 or "5", and leaves out nulls;
//   - validates the model on the first call of a CREATE or UPDATE;
//   - answers a READ, UPDATE or DELETE without an identifier with NotFound;
//   - passes the deadline to the handler as that of its context, a quarter of a
//     second early, so that the handler can still answer;
//   - turns every fault into a FAILED event, panics included;
//   - removes write-only values from the models of terminal events and lists,
//     and credentials and write-only values from the log.
//
// It must not be relied on for keeping secrets that a handler writes elsewhere,
// and it does not check returned models against the schema: "cfn test" does.
//
// # Tests
//
// The package handlertest runs operations to their end in the test process,
// counting delays instead of waiting.
package handler
