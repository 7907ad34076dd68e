// want [ERROR] a#O: Operation URI, `/x/{a}`, conflicts with other operation URIs in the same service: [`a#P` (/x/{b})] | HttpUriConflict
$version: "2"
namespace a
service S { operations: [O, P] }
@http(method: "POST", uri: "/x/{a}")
operation O {
    input := {
        @required @httpLabel
        a: String
    }
}
@http(method: "POST", uri: "/x/{b}")
operation P {
    input := {
        @required @httpLabel
        b: String
    }
}
