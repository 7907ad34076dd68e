// want [ERROR] a#O: The `exists` property references error `a#E`, but it is not in the operation's errors list. Expected one of  | IdempotentTrait
$version: "2"
namespace a
@idempotent(exists: [E])
operation O {}
@error("client")
structure E {}
