// want [ERROR] a#S: `references` trait Reference{"resource":"a#R"} is invalid for the following reasons: implicit binding of `id` is not part of the structure | ReferencesTrait
// want [ERROR] a#T: Too many identifiers were provided in the `ids` properties of Reference{"resource":"a#R","ids":{"id":"x","no":"x"}}. Expected 1 identifiers(s), but found 2. | ReferencesTrait
// want [ERROR] a#T: `references` trait Reference{"resource":"a#R","ids":{"id":"x","no":"x"}} contains extraneous resource identifier bindings, [`no`] | ReferencesTrait
$version: "2"
namespace a
resource R { identifiers: { id: String } }
@references([{resource: R}])
structure S {}
@references([{resource: R, ids: {id: "x", no: "x"}}])
structure T { x: String }
