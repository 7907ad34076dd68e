// want [ERROR] a#S$b: Members that target blobs marked with the `streaming` trait MUST also be marked with the `required` or `default` trait. | StreamingTrait
// want [ERROR] a#T$s: Members cannot target structures that contain a stream, but this member targets a#S | StreamingTrait
// want [ERROR] a#E: Each member of an event stream union must target a structure shape, but the following union members do not: [x] | StreamingTrait
$version: "2"
namespace a
@streaming
blob B
structure S { b: B }
structure T { s: S }
@streaming
union E { x: String }
