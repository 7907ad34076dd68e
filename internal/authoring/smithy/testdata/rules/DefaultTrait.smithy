// want [ERROR] a#S$m: Member targets a#I, which requires that the member defines the same default of `1` or `null` | DefaultTrait
// want [ERROR] a#S$n: Error validating @default trait: Expected number value for integer shape, `smithy.api#Integer`; found string value, `x` | DefaultTrait
// want [ERROR] a#S$o: Member defines a default value that differs from the default value of the target shape, a#I. The member has a default of `2`, but the target has a default of `1`. | DefaultTrait
$version: "2"
namespace a
@default(1)
integer I
structure S {
    m: I
    n: Integer = "x"
    o: I = 2
}
