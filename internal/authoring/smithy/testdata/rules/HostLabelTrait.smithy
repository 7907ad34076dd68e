// want [DANGER] a#O: `endpoint` trait hostPrefix contains host labels and does not end in a period (`.`). | HostLabelTrait
// want [ERROR] a#O: This operation uses a#OInput as input, but the following host labels found in the operation's `endpoint` trait do not have a corresponding member marked with the `hostLabel` trait: `x` | HostLabelTrait
// want [ERROR] a#P: The `endpoint` trait hostPrefix, -., could not expand in to a valid RFC 3986 host: -. | HostLabelTrait
$version: "2"
namespace a
@endpoint(hostPrefix: "{x}")
operation O {
    input := { y: String }
}
@endpoint(hostPrefix: "-.")
operation P {}
