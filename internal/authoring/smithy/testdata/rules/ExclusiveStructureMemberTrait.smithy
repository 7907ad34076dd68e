// want [ERROR] a#S: The `httpPayload` trait can be applied to only a single member of a shape, but it was found on the following members: `x`, `y` | ExclusiveStructureMemberTrait
$version: "2"
namespace a
structure S {
    @httpPayload
    x: String
    @httpPayload
    y: String
}
