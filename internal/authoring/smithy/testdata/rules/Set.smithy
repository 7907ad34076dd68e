// want [WARNING] a#S: Set shapes are deprecated and have been removed in Smithy IDL v2. Use a list shape with the @uniqueItems trait instead. | ModelDeprecation
$version: "1.0"
namespace a
set S { member: String }
