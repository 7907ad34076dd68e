"""What programs do: the way of types through the registry, with boto3.

The working folder has the packages, the table of errors, and a request for the handler;
AWS_ACCESS_KEY_ID is the account and SECOND_ACCOUNT another one. Every error that the model
of the API lists for an operation of the registry must be provoked. The last line is "done".
"""

import json
import os
import pathlib
import re
import time

import boto3
from botocore.exceptions import ClientError, WaiterError

ACCOUNT, SECOND = os.environ["AWS_ACCESS_KEY_ID"], os.environ["SECOND_ACCOUNT"]
BUCKET = "packages-" + ACCOUNT
ARN = f"arn:aws:cloudformation:us-east-1:{ACCOUNT}:type"
OPERATIONS = (
    "ActivateType BatchDescribeTypeConfigurations DeactivateType DeregisterType DescribePublisher DescribeType "
    "DescribeTypeRegistration ListTypeRegistrations ListTypeVersions ListTypes PublishType RecordHandlerProgress "
    "RegisterPublisher RegisterType SetTypeConfiguration SetTypeDefaultVersion TestType"
).split()
REPORT = {"Type": "RESOURCE", "TypeName": "Initech::TPS::Report"}
MEMO = {"Type": "RESOURCE", "TypeName": "Initech::TPS::Memo"}
HOOK = {"Type": "HOOK", "TypeName": "LocalStack::Testing::TestHook"}
MODULE = {"Type": "MODULE", "TypeName": "LocalStack::Testing::TestModule::MODULE"}

cf = boto3.client("cloudformation")
s3 = boto3.client("s3")
function = boto3.client("lambda")
provoked = set()


def check(what, got, want):
    assert got == want, f"{what} is {got!r}, want {want!r}"


def eventually(what, condition):
    deadline = time.monotonic() + 60
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.1)
    return answer


def refused(operation, code, message, **params):
    """The call must be refused, with the code and a message that has the text."""
    call = getattr(cf, re.sub("(?<!^)(?=[A-Z])", "_", operation).lower())
    try:
        answer = call(**params)
    except ClientError as error:
        check(f"the code of {operation} {params}", error.response["Error"]["Code"], code)
        assert message in error.response["Error"]["Message"], f"{operation} {params} is refused with {error}, want {message}"
        shapes = [s for s in cf.meta.service_model.operation_model(operation).error_shapes if s.metadata["error"]["code"] == code]
        if shapes:  # a modelled error arrives as the exception of its name
            check(f"the exception of {operation}", type(error).__name__, shapes[0].name)
            check(f"the HTTP status of {operation}", error.response["ResponseMetadata"]["HTTPStatusCode"], shapes[0].metadata["error"]["httpStatusCode"])
        provoked.add((operation, code))
        return
    raise AssertionError(f"{operation} {params} is not refused: {answer}")


def register(type, package, **params):
    return cf.register_type(**type, SchemaHandlerPackage=f"s3://{BUCKET}/{package}", **params)["RegistrationToken"]


def wait(*tokens):
    for token in tokens:
        cf.get_waiter("type_registration_complete").wait(RegistrationToken=token, WaiterConfig={"Delay": 0.2, "MaxAttempts": 300})


def registration():
    s3.create_bucket(Bucket=BUCKET)
    for package in pathlib.Path().glob("*.zip"):
        s3.upload_file(str(package), BUCKET, package.name)
    first = dict(
        ClientRequestToken="the-first-report",
        LoggingConfig={"LogRoleArn": f"arn:aws:iam::{ACCOUNT}:role/logs", "LogGroupName": "reports"},
        ExecutionRoleArn=f"arn:aws:iam::{ACCOUNT}:role/reports",
    )
    token = register(REPORT, "report-1.zip", **first)
    check("the token of the same request", register(REPORT, "report-1.zip", **first), token)
    wait(token, register(MEMO, "memo.zip"), register(HOOK, "hook.zip"), register(MODULE, "module.zip"))
    wait(register(REPORT, "report-2.zip"))
    answer = cf.describe_type_registration(RegistrationToken=token)
    check("the version", answer["TypeVersionArn"], f"{ARN}/resource/Initech-TPS-Report/00000001")
    failed = register(REPORT, "no-such.zip")
    try:
        wait(failed)
    except WaiterError as error:
        check("the failed registration", error.last_response["ProgressStatus"], "FAILED")
    else:
        raise AssertionError("a package that is not there is registered")
    check("the failed registrations", cf.list_type_registrations(RegistrationStatusFilter="FAILED")["RegistrationTokenList"], [failed])


def lists():
    default = cf.describe_type(**REPORT)
    check("the default version", (default["DefaultVersionId"], default["IsDefaultVersion"], default["ProvisioningType"]), ("00000001", True, "FULLY_MUTABLE"))
    check("the schema's type", json.loads(default["Schema"])["typeName"], "Initech::TPS::Report")
    assert "TypeTestsStatus" not in default, "the status of tests is told without a VersionId"
    check("the second version", cf.describe_type(**REPORT, VersionId="00000002")["Description"], "The second edition.")
    hook = json.loads(cf.describe_type(**HOOK)["ConfigurationSchema"])
    assert "CloudFormationConfiguration" in hook["properties"], hook
    assert "ProvisioningType" not in cf.describe_type(**MODULE)
    pages = list(cf.get_paginator("list_types").paginate(PaginationConfig={"PageSize": 2}))
    check("the pages", [len(p["TypeSummaries"]) for p in pages], [2, 1])
    check("the types", [s["TypeName"] for p in pages for s in p["TypeSummaries"]], [t["TypeName"] for t in (REPORT, HOOK, MODULE)])
    immutable = cf.list_types(ProvisioningType="IMMUTABLE")["TypeSummaries"]  # the default are FULLY_MUTABLE ones
    check("what cannot be updated", [s["TypeName"] for s in immutable], [MEMO["TypeName"]])
    page = cf.list_type_versions(**REPORT, MaxResults=1)
    rest = cf.list_type_versions(**REPORT, MaxResults=1, NextToken=page["NextToken"])
    check("the versions", [s["VersionId"] for p in (page, rest) for s in p["TypeVersionSummaries"]], ["00000001", "00000002"])
    assert "NextToken" not in rest
    tokens, more = [], {}
    while True:
        page = cf.list_type_registrations(RegistrationStatusFilter="COMPLETE", MaxResults=2, **more)
        tokens += page["RegistrationTokenList"]
        if "NextToken" not in page:
            break
        more = {"NextToken": page["NextToken"]}
    check("the registrations", (len(tokens), len(set(tokens))), (5, 5))


def errors():
    for case in json.loads(pathlib.Path("errors.json").read_text()):
        refused(case["operation"], case["code"], case["message"], **case["input"])


def settings():
    cf.set_type_default_version(**REPORT, VersionId="00000002")
    check("the new default version", cf.describe_type(**REPORT)["Arn"], f"{ARN}/resource/Initech-TPS-Report/00000002")
    arn = cf.set_type_configuration(**REPORT, Configuration='{"RequireCoverSheet": true}')["ConfigurationArn"]
    hook = {"CloudFormationConfiguration": {"HookConfiguration": {"TargetStacks": "ALL", "FailureMode": "WARN", "Properties": {"EncryptionAlgorithm": "aws:kms"}}}}
    cf.set_type_configuration(TypeArn=f"{ARN}/hook/LocalStack-Testing-TestHook", Configuration=json.dumps(hook))
    answer = cf.batch_describe_type_configurations(
        TypeConfigurationIdentifiers=[
            {"TypeConfigurationArn": arn},
            {"TypeArn": f"{ARN}/hook/LocalStack-Testing-TestHook"},
            {**REPORT, "TypeConfigurationAlias": "other"},
            {"TypeConfigurationArn": arn, "TypeConfigurationAlias": "other"},
        ]
    )
    check("the configurations", [json.loads(c["Configuration"]) for c in answer["TypeConfigurations"]], [{"RequireCoverSheet": True}, hook])
    # The two errors that the operation has stand beside what was found.
    check("the errors", [e["ErrorCode"] for e in answer["Errors"]], ["TypeConfigurationNotFoundException", "CFNRegistryException"])
    check("whose error", answer["Errors"][0]["TypeConfigurationIdentifier"], {**REPORT, "TypeConfigurationAlias": "other"})
    provoked.update(("BatchDescribeTypeConfigurations", e["ErrorCode"]) for e in answer["Errors"])
    cf.set_type_configuration(**REPORT, Configuration="{}")


def invoke(name, request, **params):
    answer = function.invoke(FunctionName=name, Payload=json.dumps(request), **params)
    event = json.load(answer["Payload"])
    assert "FunctionError" not in answer, event
    return event


def operation(name, request, **params):
    """Calls a handler as CloudFormation does, until it has finished."""
    event = invoke(name, request, **params)
    while event["status"] == "IN_PROGRESS":
        request["callbackContext"] = event["callbackContext"]
        request["requestData"]["resourceProperties"] = event["resourceModel"]
        event = invoke(name, request, **params)
    check(f"the outcome of {request['action']}: {event.get('message')}", event["status"], "SUCCESS")
    return event.get("resourceModel")


def handlers():
    request = json.loads(pathlib.Path("create.json").read_text())
    model = operation("Initech-TPS-Report", request, Qualifier="00000002")
    check("the report", model["Title"], "Memo")
    for action in ("READ", "DELETE"):
        request = json.loads(pathlib.Path("create.json").read_text())
        request.update(action=action, bearerToken=action)
        request["requestData"]["resourceProperties"] = {"Id": model["Id"]}
        operation("Initech-TPS-Report", request)
    try:
        function.invoke(FunctionName="Initech-TPS-Letter", Payload=b"{}")
    except function.exceptions.ResourceNotFoundException:
        pass
    else:
        raise AssertionError("a type that is not there has a handler")


def tests():
    for params in ({"VersionId": "00000001"}, {"VersionId": "00000002", "LogDeliveryBucket": BUCKET}):
        cf.test_type(**REPORT, **params)
    cf.test_type(**MEMO)
    # The handler of the memos waits in its first call, until there is a file "go".
    bearer = eventually("a call", lambda: pathlib.Path("bearer").exists() and pathlib.Path("bearer").read_text())
    progress = {"BearerToken": bearer}
    cf.record_handler_progress(**progress, OperationStatus="IN_PROGRESS", CurrentOperationStatus="PENDING")
    refused("RecordHandlerProgress", "ConditionalCheckFailed", "The operation is in status IN_PROGRESS, not in PENDING.",
            **progress, OperationStatus="SUCCESS", CurrentOperationStatus="PENDING")
    cf.record_handler_progress(**progress, OperationStatus="SUCCESS", ResourceModel="{}")
    refused("RecordHandlerProgress", "InvalidStateTransition", "An operation in status SUCCESS cannot get the status FAILED.",
            **progress, OperationStatus="FAILED", ErrorCode="InternalFailure")
    pathlib.Path("go").touch()

    def tested(type, version):
        answer = cf.describe_type(**type, VersionId=version)
        return answer["TypeTestsStatus"] != "IN_PROGRESS" and answer

    for type, version, want in ((REPORT, "00000001", "PASSED"), (REPORT, "00000002", "PASSED"), (MEMO, "00000001", "FAILED")):
        answer = eventually(f"the tests of {type['TypeName']}", lambda: tested(type, version))
        check(f"the outcome: {answer.get('TypeTestsStatusDescription')}", answer["TypeTestsStatus"], want)
    logs = s3.list_objects_v2(Bucket=BUCKET, Prefix="CloudFormation/ContractTestResults/Initech::TPS::Report/")
    check("the delivered logs", logs["KeyCount"], 1)


def publishing():
    publisher = cf.register_publisher(AcceptTermsAndConditions=True)["PublisherId"]
    check("the publisher", cf.describe_publisher(PublisherId=publisher)["PublisherStatus"], "VERIFIED")
    refused("PublishType", "CFNRegistryException", "You cannot specify a version number the first time", **REPORT, PublicVersionNumber="2.0.0")
    public = cf.publish_type(**REPORT)["PublicTypeArn"]
    cf.publish_type(Type="RESOURCE", Arn=f"{ARN}/resource/Initech-TPS-Report/00000001", PublicVersionNumber="1.1.0")
    refused("PublishType", "CFNRegistryException", "is already published as public version 1.0.0.", **REPORT)

    second = boto3.Session(aws_access_key_id=SECOND, aws_secret_access_key="any")
    other = second.client("cloudformation")
    found = other.list_types(Visibility="PUBLIC", Filters={"Category": "THIRD_PARTY", "PublisherId": publisher})["TypeSummaries"]
    check("what can be activated", [(s["TypeName"], s["PublisherId"]) for s in found], [("Initech::TPS::Report", publisher)])
    alias = {"Type": "RESOURCE", "TypeName": "Initrode::TPS::Report"}
    arn = other.activate_type(PublicTypeArn=public, TypeNameAlias=alias["TypeName"])["Arn"]
    check("the activated type", arn, f"arn:aws:cloudformation:us-east-1:{SECOND}:type/resource/Initrode-TPS-Report")
    described = other.describe_type(Arn=arn)
    check("its origin", (described["OriginalTypeName"], described["PublicVersionNumber"], described["IsActivated"]), ("Initech::TPS::Report", "1.1.0", True))
    assert "DefaultVersionId" not in described
    other.set_type_configuration(**alias, Configuration='{"RequireCoverSheet": false}')
    request = json.loads(pathlib.Path("create.json").read_text())
    check("the report", second.client("lambda").invoke(FunctionName="Initrode-TPS-Report", Payload=json.dumps(request))["StatusCode"], 200)
    other.deactivate_type(**alias)
    check("what is activated", other.list_types(Filters={"Category": "ACTIVATED"})["TypeSummaries"], [])


def deregistration():
    cf.deregister_type(Arn=f"{ARN}/resource/Initech-TPS-Report/00000001")
    check("the live versions", [s["VersionId"] for s in cf.list_type_versions(**REPORT)["TypeVersionSummaries"]], ["00000002"])
    check("the others", [s["VersionId"] for s in cf.list_type_versions(**REPORT, DeprecatedStatus="DEPRECATED")["TypeVersionSummaries"]], ["00000001"])
    for type in (REPORT, MEMO, HOOK, MODULE):
        cf.deregister_type(**type)
    check("the types that are left", cf.list_types()["TypeSummaries"], [])
    check("the status afterwards", cf.describe_type(**REPORT)["DeprecatedStatus"], "DEPRECATED")


def documented():
    """Every error of the model was provoked. The others of the service belong to stacks."""
    model = cf.meta.service_model
    listed = {(name, shape.metadata["error"]["code"]) for name in OPERATIONS for shape in model.operation_model(name).error_shapes}
    check("documented errors that were not provoked", sorted(listed - provoked), [])


for step in (registration, lists, errors, settings, handlers, tests, publishing, deregistration, documented):
    print("#", step.__name__, flush=True)
    step()
print("done")
