// want [ERROR] a#A: Circular resource hierarchy found: a#A -> a#B -> a#A | ResourceCycle
$version: "2"
namespace a
resource A { resources: [B] }
resource B { resources: [A] }
