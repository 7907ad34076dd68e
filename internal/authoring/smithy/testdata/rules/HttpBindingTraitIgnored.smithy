// want [WARNING] a#S$h: The `httpHeader` trait applied to this member is ignored in all contexts. | HttpBindingTraitIgnored.TopLevel
// want [WARNING] a#I$l: The `httpQuery` trait applied to this member is ignored in some contexts: {output: [a#O]} | HttpBindingTraitIgnored.Input
$version: "2"
namespace a
structure S {
    @httpHeader("x-h")
    h: String
}
structure T { s: S }
operation O {
    input: I
    output: I
}
structure I {
    @httpQuery("l")
    l: String
}
