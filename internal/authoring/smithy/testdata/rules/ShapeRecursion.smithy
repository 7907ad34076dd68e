// want [ERROR] a#L: Found invalid shape recursion: a#L$member > a#L. A recursive list, set, or map shape is only valid | ShapeRecursion
// want [ERROR] a#S: Found invalid shape recursion: a#S$t > a#T > a#T$s > a#S. A structure cannot be mutually recursive through all required members. | ShapeRecursion
// want [ERROR] a#U: It is impossible to create instances of this recursive union | ShapeRecursion
$version: "2"
namespace a
list L { member: L }
structure S {
    @required
    t: T
}
structure T {
    @required
    s: S
}
union U { u: U }
