// want [WARNING] a#M$a: The `@private` trait does not prevent a mixin member from being inherited | PrivateMixinMember
$version: "2"
namespace a
@mixin
structure M {
    @private
    a: String
}
