// want [DANGER] a#O: Expected an `http` code in the 2xx range, but found 300 | HttpResponseCodeSemantics
// want [WARNING] a#P: The HTTP 204 status code does not allow a response body. | HttpResponseCodeSemantics
// want [DANGER] a#E: Expected an `httpError` code in the 4xx range for a `client` error, but found 500 | HttpResponseCodeSemantics
$version: "2"
namespace a
@http(method: "POST", uri: "/", code: 300)
operation O {}
@http(method: "POST", uri: "/p", code: 204)
operation P {
    output := { b: String }
}
@error("client") @httpError(500)
structure E {}
