// The model of the trait page of the specification, "Example model".
$version: "2"

namespace smithy.example

use aws.cloudformation#cfnAdditionalIdentifier
use aws.cloudformation#cfnDefaultValue
use aws.cloudformation#cfnExcludeProperty
use aws.cloudformation#cfnMutability
use aws.cloudformation#cfnName
use aws.cloudformation#cfnResource

service Foos {
    version: "2020-07-02"
    resources: [Foo]
}

@cfnResource(additionalSchemas: [FooProperties])
resource Foo {
    identifiers: {
        fooId: String
    }
    create: CreateFoo
    read: GetFoo
    update: UpdateFoo
}

@http(method: "POST", uri: "/foos", code: 200)
operation CreateFoo {
    input: CreateFooRequest
    output: CreateFooResponse
}

structure CreateFooRequest {
    @cfnMutability("full")
    tags: TagList

    @cfnMutability("write")
    secret: String

    fooAlias: String

    createProperty: ComplexProperty
    mutableProperty: ComplexProperty
    writeProperty: ComplexProperty
    createWriteProperty: ComplexProperty
}

structure CreateFooResponse {
    fooId: String
}

@readonly
@http(method: "GET", uri: "/foos/{fooId}", code: 200)
operation GetFoo {
    input: GetFooRequest
    output: GetFooResponse
}

structure GetFooRequest {
    @httpLabel
    @required
    fooId: String

    @httpQuery("fooAlias")
    @cfnAdditionalIdentifier
    fooAlias: String
}

structure GetFooResponse {
    fooId: String

    @httpResponseCode
    @cfnExcludeProperty
    responseCode: Integer

    @cfnMutability("read")
    updatedAt: Timestamp

    fooAlias: String
    createProperty: ComplexProperty

    @cfnDefaultValue
    mutableProperty: ComplexProperty

    readProperty: ComplexProperty
}

@idempotent
@http(method: "PUT", uri: "/foos/{fooId}", code: 200)
operation UpdateFoo {
    input: UpdateFooRequest
}

structure UpdateFooRequest {
    @httpLabel
    @required
    fooId: String

    fooAlias: String
    mutableProperty: ComplexProperty
    writeProperty: ComplexProperty
}

structure FooProperties {
    addedProperty: String

    @cfnMutability("full")
    barProperty: String

    @cfnName("Immutable")
    @cfnMutability("create-and-read")
    immutableSetting: Boolean

    @cfnMutability("read")
    createdAt: Timestamp

    @cfnMutability("write")
    password: String
}

structure ComplexProperty {
    anotherProperty: String
}

list TagList {
    member: String
}
