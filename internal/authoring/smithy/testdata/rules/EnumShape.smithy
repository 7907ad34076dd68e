// want [ERROR] a#E$B: Multiple enum members found with duplicate value `A` | EnumShape
// want [WARNING] a#E$c: The name `c` does not match the recommended enum name format | EnumShape
// want [ERROR] a#I$BIG: intEnum members must fit within an integer, but found: 9999999999 | EnumShape
$version: "2"
namespace a
enum E {
    A
    B = "A"
    c
}
intEnum I {
    BIG = 9999999999
}
