// want [ERROR] a#OInput: A member of this structure is marked with the `httpPayload` trait, but the following structure members are not explicitly bound to the HTTP message: `b` | HttpPayload
$version: "2"
namespace a
@http(method: "POST", uri: "/")
operation O {
    input := {
        @httpPayload
        a: Blob
        b: String
    }
}
