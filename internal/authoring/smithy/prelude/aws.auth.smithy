// The authentication schemes of AWS.
$version: "2.0"

namespace aws.auth

@authDefinition(traits: [unsignedPayload])
@trait(selector: "service")
structure sigv4 {
    @required
    @length(min: 1)
    name: String
}

@authDefinition(traits: [unsignedPayload])
@trait(selector: "service[trait|aws.auth#sigv4]")
structure sigv4a {
    @required
    @length(min: 1)
    name: String
}

@trait(selector: "operation")
structure unsignedPayload {}

@authDefinition
@internal
@trait(selector: "service")
structure cognitoUserPools {
    @required
    providerArns: StringList
}

@internal
@length(min: 1)
@trait(selector: "service[trait|aws.auth#cognitoUserPools] ~> operation")
list cognitoUserPoolsScopes {
    member: String
}

@private
list StringList {
    member: String
}
