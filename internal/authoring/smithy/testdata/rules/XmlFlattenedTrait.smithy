// want [WARNING] a#S$l: Member is `@xmlFlattened`, so `@xmlName` of target's member (`a#L$member`) has no effect. | XmlFlattenedTrait
$version: "2"
namespace a
structure S {
    @xmlFlattened
    l: L
}
list L {
    @xmlName("x")
    member: String
}
