// want [ERROR] a#O: Found conflicting traits on operation shape: `idempotent` conflicts with `readonly`, `readonly` conflicts with `idempotent` | TraitConflict
$version: "2"
namespace a
@readonly @idempotent
operation O {}
