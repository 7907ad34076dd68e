// The traits that say what callers must be allowed to do.
$version: "2.0"

namespace aws.iam

@trait(selector: "operation")
structure iamAction {
    name: String
    documentation: String
    relativeDocumentation: String
    requiredActions: RequiredActionsList
    resources: ActionResources
    createsResources: ResourceNameList
}

@private
@uniqueItems
list RequiredActionsList {
    member: IamIdentifier
}

@private
@pattern("^([A-Za-z0-9][A-Za-z0-9-\\.]{0,62}:[^:]+)$")
string IamIdentifier

@private
structure ActionResources {
    required: ActionResourceMap
    optional: ActionResourceMap
}

@private
map ActionResourceMap {
    key: ResourceName
    value: ActionResource
}

@private
string ResourceName

@private
structure ActionResource {
    conditionKeys: ConditionKeysList
}

@private
@uniqueItems
list ConditionKeysList {
    member: String
}

@private
@uniqueItems
list ResourceNameList {
    member: ResourceName
}

@deprecated(message: "Set `name` in aws.iam#iamAction instead", since: "2023-11-10")
@trait(selector: "operation")
string actionName

@deprecated(message: "Set `documentation` in aws.iam#iamAction instead", since: "2023-11-10")
@trait(selector: "operation")
string actionPermissionDescription

@deprecated(message: "Set `requiredActions` in aws.iam#iamAction instead", since: "2023-11-10")
@trait(selector: "operation")
list requiredActions {
    member: IamIdentifier
}

@trait(selector: ":test(resource, operation)")
list conditionKeys {
    member: ConditionKeyName
}

@private
@pattern("^(([A-Za-z0-9][A-Za-z0-9-\\.]{0,62}:)?[^:\\s]+)$")
string ConditionKeyName

@trait(selector: "member")
@pattern("^(([A-Za-z0-9][A-Za-z0-9-\\.]{0,62}:)?[^:\\s]+)$")
string conditionKeyValue

@trait(selector: "service")
map defineConditionKeys {
    key: ConditionKeyName
    value: ConditionKeyDefinition
}

@private
structure ConditionKeyDefinition {
    @required
    type: ConditionKeyType
    documentation: String
    externalDocumentation: String
    relativeDocumentation: String
    required: Boolean
}

@private
enum ConditionKeyType {
    STRING = "String"
    NUMERIC = "Numeric"
    DATE = "Date"
    BOOL = "Bool"
    BINARY = "Binary"
    IP_ADDRESS = "IPAddress"
    ARN = "ARN"
    ARRAY_OF_STRING = "ArrayOfString"
    ARRAY_OF_NUMERIC = "ArrayOfNumeric"
    ARRAY_OF_DATE = "ArrayOfDate"
    ARRAY_OF_BOOL = "ArrayOfBool"
    ARRAY_OF_BINARY = "ArrayOfBinary"
    ARRAY_OF_IP_ADDRESS = "ArrayOfIPAddress"
    ARRAY_OF_ARN = "ArrayOfARN"
}

@trait(selector: ":test(service, resource)")
structure disableConditionKeyInference {}

@trait(selector: "resource")
structure iamResource {
    name: String
    relativeDocumentation: String
    disableConditionKeyInheritance: Boolean
}

@trait(selector: "service")
list serviceResolvedConditionKeys {
    member: ConditionKeyName
}

@trait(selector: ":test(service, operation)")
list supportedPrincipalTypes {
    member: PrincipalType
}

@private
enum PrincipalType {
    ROOT = "Root"
    IAM_USER = "IAMUser"
    IAM_ROLE = "IAMRole"
    FEDERATED_USER = "FederatedUser"
}
