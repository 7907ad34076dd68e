// want [ERROR] a#t: `smithy.api#traitValidators` key is not a valid event ID: `1` | TraitValidators
// want [DANGER] a#S$d: Found an incompatible shape when validating the constraints of the `a#u` trait attached to `a#S`: no documents | NoDocs
$version: "2"
namespace a
@trait @traitValidators("1": {selector: "*"})
structure t {}
@trait @traitValidators(NoDocs: {selector: "> member :test(> document)", message: "no documents", severity: "DANGER"})
structure u {}
@u
structure S { d: Document }
