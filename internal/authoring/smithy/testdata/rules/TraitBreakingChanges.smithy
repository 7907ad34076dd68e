// want [ERROR] a#t: Invalid trait breakingChanges element 0, '/x/y', at segment 'y': Evaluated shape `smithy.api#String`, a string, has no member named `y` | TraitBreakingChanges
$version: "2"
namespace a
@trait(breakingChanges: [{path: "/x/y", change: "any"}])
structure t { x: String }
