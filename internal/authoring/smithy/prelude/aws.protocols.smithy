// The protocols of AWS, and what members and operations say to them.
$version: "2.0"

namespace aws.protocols

@trait(selector: "service")
@protocolDefinition(traits: [cors, endpoint, hostLabel, timestampFormat])
structure awsJson1_0 {
    http: StringList
    eventStreamHttp: StringList
}

@trait(selector: "service")
@protocolDefinition(traits: [timestampFormat, cors, endpoint, hostLabel])
structure awsJson1_1 {
    http: StringList
    eventStreamHttp: StringList
}

@trait(selector: "service")
@protocolDefinition(
    traits: [cors, endpoint, hostLabel, http, httpError, httpHeader, httpLabel, httpPayload, httpPrefixHeaders, httpQuery,
        httpQueryParams, httpResponseCode, httpChecksum, httpChecksumRequired, jsonName, timestampFormat]
)
structure restJson1 {
    http: StringList
    eventStreamHttp: StringList
}

@trait(selector: "service")
@deprecated
@traitValidators(
    UnsupportedProtocolDocument: { selector: "~> member :test(> document)", message: "Document types are not supported with restXml" }
)
@protocolDefinition(
    traits: [cors, endpoint, hostLabel, http, httpError, httpHeader, httpLabel, httpPayload, httpPrefixHeaders, httpQuery,
        httpQueryParams, httpResponseCode, httpChecksum, httpChecksumRequired, timestampFormat, xmlAttribute, xmlFlattened, xmlName, xmlNamespace]
)
structure restXml {
    http: StringList
    eventStreamHttp: StringList
    noErrorWrapping: Boolean
}

@deprecated
@trait(selector: "service [trait|xmlNamespace]")
@traitValidators(
    UnsupportedProtocolDocument: { selector: "~> member :test(> document)", message: "Document types are not supported with awsQuery" }
)
@protocolDefinition(
    traits: [awsQueryError, xmlAttribute, xmlFlattened, xmlName, xmlNamespace, timestampFormat, cors, endpoint, hostLabel]
)
structure awsQuery {}

@deprecated
@trait(selector: "service [trait|xmlNamespace]")
@traitValidators(
    UnsupportedProtocolDocument: { selector: "~> member :test(> document)", message: "Document types are not supported with ec2Query" }
)
@protocolDefinition(
    traits: [ec2QueryName, xmlAttribute, xmlFlattened, xmlName, xmlNamespace, timestampFormat, cors, endpoint, hostLabel]
)
structure ec2Query {}

@trait(selector: "service :test([trait|aws.protocols#awsJson1_0], [trait|smithy.protocols#rpcv2Cbor], [trait|smithy.protocols#rpcv2Json])")
structure awsQueryCompatible {}

@trait(selector: "structure [trait|error]")
structure awsQueryError {
    @required
    code: String
    @required
    httpResponseCode: Integer
}

@trait(selector: "structure > member")
@pattern("^[a-zA-Z_][a-zA-Z_0-9-]*$")
string ec2QueryName

@private
list StringList {
    member: String
}

@unstable
@trait(selector: "operation")
structure httpChecksum {
    requestAlgorithmMember: String
    requestChecksumRequired: Boolean
    requestValidationModeMember: String
    responseAlgorithms: ChecksumAlgorithmSet
}

@private
@length(min: 1)
@uniqueItems
list ChecksumAlgorithmSet {
    member: ChecksumAlgorithm
}

@private
enum ChecksumAlgorithm {
    CRC64NVME
    CRC32C
    CRC32
    MD5
    SHA1
    SHA256
    SHA512
    XXHASH64
    XXHASH3
    XXHASH128
}
