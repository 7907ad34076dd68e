// The traits that say how a resource becomes a CloudFormation type.
$version: "2.0"

namespace aws.cloudformation

@unstable
@trait(selector: "resource")
structure cfnResource {
    name: String
    additionalSchemas: StructureIdList
    @deprecated
    primaryIdentifier: String
}

@private
list StructureIdList {
    @idRef(failWhenMissing: true, selector: "structure")
    member: String
}

@unstable
@trait(selector: "structure > :test(member > string)", conflicts: [cfnExcludeProperty])
structure cfnAdditionalIdentifier {}

@unstable
@trait(selector: "structure > member")
string cfnName

@unstable
@trait(selector: "structure > member", conflicts: [cfnAdditionalIdentifier, cfnMutability, cfnDefaultValue])
structure cfnExcludeProperty {}

@unstable
@trait(selector: "structure > member", conflicts: [cfnExcludeProperty])
enum cfnMutability {
    FULL = "full"
    CREATE_AND_READ = "create-and-read"
    CREATE = "create"
    READ = "read"
    WRITE = "write"
}

@unstable
@trait(selector: "resource > operation -[input, output]-> structure > member", conflicts: [cfnExcludeProperty])
structure cfnDefaultValue {}
