// want [WARNING] a#O: This operation uses the `GET` method in the `http` trait, but is not marked with the readonly trait | HttpMethodSemantics.MissingReadonlyTrait
// want [DANGER] a#O: This operation uses the `GET` method in the `http` trait, but the following members are sent as part of the payload of the request: `b`. | HttpMethodSemantics.UnexpectedPayload
// want [WARNING] a#P: This operation uses the `put` method in the `http` trait, but expected `PUT`. | HttpMethodSemantics
// want [WARNING] a#Q: OPTIONS requests are typically used as part of CORS | HttpMethodSemantics.OPTIONS
$version: "2"
namespace a
@http(method: "GET", uri: "/")
operation O {
    input := { b: String }
}
@idempotent @http(method: "put", uri: "/p")
operation P {}
@readonly @http(method: "OPTIONS", uri: "/q")
operation Q {}
