// want [WARNING] a#S$t: The `idempotencyToken` trait only has an effect when applied to a top-level operation input member, but it was applied and ignored in the following contexts: {output: [a#O]} | IdempotencyTokenIgnored
$version: "2"
namespace a
operation O { output: S }
structure S {
    @idempotencyToken
    t: String
}
