// want [ERROR] a#S: This event structure contains a member marked with the `eventPayload` trait, so all other members must be marked with the `eventHeader` trait. However, the following member(s) are not marked with the eventHeader trait: `b` | EventPayloadTrait
$version: "2"
namespace a
structure S {
    @eventPayload
    a: Blob
    b: String
}
