# What programs do with stacks and change sets, with boto3: every operation, waiters, paginators
# and errors. AWS_ACCESS_KEY_ID is the account. The last line is "done".
import json, os, time
import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, WaiterError

account = os.environ["AWS_ACCESS_KEY_ID"]
cf = boto3.client("cloudformation", config=Config(retries={"max_attempts": 0}))
ssm, s3 = boto3.client("ssm"), boto3.client("s3")
SOON = {"Delay": 1, "MaxAttempts": 60}


def equal(what, got, want):
    assert got == want, f"{what} is {got!r}, want {want!r}"


def refused(code, message, operation, **arguments):
    try:
        answer = operation(**arguments)
    except ClientError as e:
        got = e.response["Error"]
        assert got["Code"] == code and message in got["Message"], f"refused with {got}, want {code}: {message}"
        return e
    raise AssertionError(f"{operation} {arguments} answered {answer}, want {code}: {message}")


def wait(name, **arguments):
    cf.get_waiter(name).wait(WaiterConfig=SOON, **arguments)


def fails(name, **arguments):
    try:
        wait(name, **arguments)
    except WaiterError as e:
        assert "terminal failure" in str(e), e
        return
    raise AssertionError(f"the waiter {name} did not fail")


def status(name):
    return cf.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]


def until(what, condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"still not: {what}")


def waits(name, stack="reports"):
    """Waits until a resource waits for its signal."""
    def created():
        found = [r for r in cf.describe_stack_resources(StackName=stack)["StackResources"] if r["LogicalResourceId"] == name]
        return found and found[0]["ResourceStatus"] == "CREATE_IN_PROGRESS" and found[0].get("PhysicalResourceId")
    until(f"{name} waits", created)


WAIT = {"Type": "AWS::CloudFormation::WaitCondition", "CreationPolicy": {"ResourceSignal": {"Count": 1, "Timeout": "PT10M"}}}


def template(value="one", title="Weekly", signals=(), **more):
    """A report, a parameter, and what waits for signals after the parameter."""
    resources = {
        "Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}},
        "Report": {"Type": "Initech::TPS::Report", "Properties": {
            "Title": {"Ref": "Title"}, "Series": "QTR", "CoverSheet": True, "Author": {"Name": "Peter Gibbons"}, "ReviewCode": {"Ref": "Code"}}},
    }
    for name in signals:
        resources[name] = dict(WAIT, DependsOn="Setting")
    return json.dumps({
        "AWSTemplateFormatVersion": "2010-09-09", "Description": "Reports.", "Metadata": {"Owner": "Lumbergh"},
        "Parameters": {"Title": {"Type": "String", "Default": title, "Description": "What it is about."}, "Code": {"Type": "String", "Default": "PCLoadLetter1999", "NoEcho": True}},
        "Resources": resources,
        "Outputs": {"Setting": {"Description": "Its name.", "Value": {"Ref": "Setting"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-setting"}}}},
        **more})


def pages(operation, member, **arguments):
    return [item for page in cf.get_paginator(operation).paginate(**arguments) for item in page[member]]


def read():
    print("# read")
    out = cf.validate_template(TemplateBody=template())
    equal("the parameters", out["Parameters"][0], {"ParameterKey": "Title", "DefaultValue": "Weekly", "NoEcho": False, "Description": "What it is about."})
    equal("the description", out["Description"], "Reports.")
    out = cf.get_template_summary(TemplateBody=template())
    equal("the types", sorted(out["ResourceTypes"]), ["AWS::SSM::Parameter", "Initech::TPS::Report"])
    equal("the metadata", out["Metadata"], "{'Owner': 'Lumbergh'}")
    equal("the limits", {l["Name"]: l["Value"] for l in pages("describe_account_limits", "AccountLimits")}, {"StackLimit": 2000, "StackOutputsLimit": 200, "ConcurrentResourcesLimit": 2500})
    refused("NotImplemented", "EstimateTemplateCost", cf.estimate_template_cost, TemplateBody=template())


def create():
    print("# create")
    out = cf.create_stack(
        StackName="reports", TemplateBody=template(), Tags=[{"Key": "team", "Value": "tps"}], NotificationARNs=[f"arn:aws:sns:us-east-1:{account}:news"],
        ClientRequestToken="the-first", TimeoutInMinutes=5, EnableTerminationProtection=True,
        StackPolicyBody=json.dumps({"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}))
    arn = out["StackId"]
    assert arn.startswith(f"arn:aws:cloudformation:us-east-1:{account}:stack/reports/"), arn
    wait("stack_exists", StackName="reports")
    wait("stack_create_complete", StackName="reports")
    [stack] = pages("describe_stacks", "Stacks", StackName=arn)
    equal("the status", stack["StackStatus"], "CREATE_COMPLETE")
    equal("the tags", stack["Tags"], [{"Key": "team", "Value": "tps"}])
    equal("the parameters", {p["ParameterKey"]: p["ParameterValue"] for p in stack["Parameters"]}, {"Title": "Weekly", "Code": "****"})
    equal("the output", (stack["Outputs"][0]["OutputKey"], stack["Outputs"][0]["ExportName"]), ("Setting", "reports-setting"))
    equal("the rest", (stack["TimeoutInMinutes"], stack["EnableTerminationProtection"], stack["NotificationARNs"][0][-4:], stack["DisableRollback"]), (5, True, "news", False))
    resources = {r["LogicalResourceId"]: r for r in pages("list_stack_resources", "StackResourceSummaries", StackName="reports")}
    equal("the resources", {k: (r["ResourceType"], r["ResourceStatus"]) for k, r in resources.items()}, {"Setting": ("AWS::SSM::Parameter", "CREATE_COMPLETE"), "Report": ("Initech::TPS::Report", "CREATE_COMPLETE")})
    equal("the resources of the physical id", len(cf.describe_stack_resources(PhysicalResourceId=resources["Setting"]["PhysicalResourceId"])["StackResources"]), 2)
    equal("one resource", cf.describe_stack_resource(StackName="reports", LogicalResourceId="Report")["StackResourceDetail"]["PhysicalResourceId"], resources["Report"]["PhysicalResourceId"])
    events = pages("describe_stack_events", "StackEvents", StackName="reports")
    equal("the ends of the events", (events[0]["ResourceStatus"], events[-1]["ResourceStatus"], events[-1]["ResourceStatusReason"]), ("CREATE_COMPLETE", "CREATE_IN_PROGRESS", "User Initiated"))
    equal("the token", {e["ClientRequestToken"] for e in events}, {"the-first"})
    assert "PCLoadLetter" not in str(events), "the events have the secret"
    operations = pages("describe_events", "OperationEvents", StackName="reports")
    equal("the operation", (operations[0]["OperationType"], operations[0]["OperationStatus"]), ("CREATE_STACK", "SUCCEEDED"))
    equal("the template", json.loads(json.dumps(cf.get_template(StackName="reports")["TemplateBody"])), json.loads(template()))
    assert "reports-setting" in [e["Name"] for e in pages("list_exports", "Exports")]
    assert arn in [s["StackId"] for s in pages("list_stacks", "StackSummaries", StackStatusFilter=["CREATE_COMPLETE"])]
    cf.create_stack(StackName="importer", TemplateBody=json.dumps({"Resources": {"Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::ImportValue": "reports-setting"}}}}}))
    wait("stack_create_complete", StackName="importer")
    equal("the imports", pages("list_imports", "Imports", ExportName="reports-setting"), ["importer"])
    return arn


def errors(arn):
    print("# errors")
    with open("stack-errors.json") as f:
        cases = json.loads(f.read().replace("000000000000", account))
    for case in cases:
        operation = "".join("_" + c.lower() if c.isupper() else c for c in case["operation"]).strip("_")
        e = refused(case["code"], case["message"], getattr(cf, operation), **case["input"])
        if case.get("modelled"):
            equal("the class of the error", type(e).__name__, case["modelled"])


def update(arn):
    print("# update")
    equal("the policy", json.loads(cf.get_stack_policy(StackName="reports")["StackPolicyBody"])["Statement"][0]["Effect"], "Allow")
    cf.set_stack_policy(StackName="reports", StackPolicyBody=json.dumps({"Statement": [{"Effect": "Deny", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}))
    cf.update_stack(StackName="reports", TemplateBody=template("two"))
    fails("stack_update_complete", StackName="reports")
    until("the rollback ends", lambda: status("reports") == "UPDATE_ROLLBACK_COMPLETE")
    wait("stack_rollback_complete", StackName="reports")
    cf.update_stack(
        StackName="reports", UsePreviousTemplate=True, Parameters=[{"ParameterKey": "Title", "ParameterValue": "Monthly"}, {"ParameterKey": "Code", "UsePreviousValue": True}],
        StackPolicyDuringUpdateBody=json.dumps({"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}))
    wait("stack_update_complete", StackName=arn)
    cf.set_stack_policy(StackName="reports", StackPolicyBody=json.dumps({"Statement": [{"Effect": "Allow", "Action": "Update:*", "Principal": "*", "Resource": "*"}]}))

    print("# signals and cancellation")
    cf.update_stack(StackName="reports", TemplateBody=template("two", signals=["Gate"]))
    waits("Gate")
    cf.signal_resource(StackName="reports", LogicalResourceId="Gate", UniqueId="me", Status="SUCCESS")
    wait("stack_update_complete", StackName="reports")
    cf.update_stack(StackName="reports", TemplateBody=template("three", signals=["Gate", "Other"]))
    waits("Other")
    cf.cancel_update_stack(StackName="reports", ClientRequestToken="enough")
    wait("stack_rollback_complete", StackName="reports")
    equal("the status", status("reports"), "UPDATE_ROLLBACK_COMPLETE")


def rollbacks():
    print("# rollbacks")
    cf.update_stack(StackName="reports", TemplateBody=template("four", signals=["Gate", "Other"]), DisableRollback=True)
    waits("Other")
    cf.signal_resource(StackName="reports", LogicalResourceId="Other", UniqueId="me", Status="FAILURE")
    until("the update fails", lambda: status("reports") == "UPDATE_FAILED")
    cf.rollback_stack(StackName="reports")
    wait("stack_rollback_complete", StackName="reports")
    setting = cf.describe_stack_resource(StackName="reports", LogicalResourceId="Setting")["StackResourceDetail"]["PhysicalResourceId"]
    equal("the parameter", ssm.get_parameter(Name=setting)["Parameter"]["Value"], "two")

    cf.update_stack(StackName="reports", TemplateBody=template("five", signals=["Gate", "Other"]))
    waits("Other")
    ssm.delete_parameter(Name=setting)
    cf.signal_resource(StackName="reports", LogicalResourceId="Other", UniqueId="me", Status="FAILURE")
    until("the rollback fails", lambda: status("reports") == "UPDATE_ROLLBACK_FAILED")
    refused("ValidationError", "resources to skip", cf.continue_update_rollback, StackName="reports", ResourcesToSkip=["Report"])
    cf.continue_update_rollback(StackName="reports", ResourcesToSkip=["Setting"], ClientRequestToken="go-on")
    wait("stack_rollback_complete", StackName="reports")


def change_sets():
    print("# change sets")
    arguments = dict(StackName="sets", ChangeSetName="first", ChangeSetType="CREATE", TemplateBody=template(title="Daily"), Description="The first.")
    first = cf.create_change_set(**arguments)
    wait("change_set_create_complete", ChangeSetName=first["Id"])
    out = cf.describe_change_set(ChangeSetName="first", StackName="sets", IncludePropertyValues=True)
    equal("the set", (out["Status"], out["ExecutionStatus"], out["ChangeSetId"], out["StackId"]), ("CREATE_COMPLETE", "AVAILABLE", first["Id"], first["StackId"]))
    equal("the changes", sorted((c["ResourceChange"]["Action"], c["ResourceChange"]["LogicalResourceId"]) for c in out["Changes"]), [("Add", "Report"), ("Add", "Setting")])
    assert "PCLoadLetter" not in str(out), "the change set has the secret"
    equal("the stack", status("sets"), "REVIEW_IN_PROGRESS")
    equal("the sets", [s["ChangeSetName"] for s in pages("list_change_sets", "Summaries", StackName="sets")], ["first"])
    equal("the template of the set", json.loads(json.dumps(cf.get_template(ChangeSetName=first["Id"])["TemplateBody"]))["Description"], "Reports.")
    refused("AlreadyExistsException", "already exists", cf.create_change_set, **arguments)
    cf.execute_change_set(ChangeSetName=first["Id"], ClientRequestToken="go")
    wait("stack_create_complete", StackName="sets")
    refused("ChangeSetNotFound", "does not exist", cf.execute_change_set, ChangeSetName="first", StackName="sets")
    refused("InvalidChangeSetStatus", "cannot be executed", cf.execute_change_set, ChangeSetName=first["Id"])
    cf.create_change_set(StackName="sets", ChangeSetName="nothing", UsePreviousTemplate=True)
    fails("change_set_create_complete", StackName="sets", ChangeSetName="nothing")
    refused("InvalidChangeSetStatus", "cannot be executed in its current status of [FAILED]", cf.execute_change_set, StackName="sets", ChangeSetName="nothing")
    cf.delete_change_set(StackName="sets", ChangeSetName="nothing")
    refused("ChangeSetNotFound", "ChangeSet [nothing] does not exist", cf.describe_change_set, StackName="sets", ChangeSetName="nothing")
    second = cf.create_change_set(StackName="sets", ChangeSetName="second", TemplateBody=template("six", title="Daily"))
    wait("change_set_create_complete", ChangeSetName=second["Id"])
    [change] = pages("describe_change_set", "Changes", ChangeSetName=second["Id"])
    equal("the change", (change["ResourceChange"]["Action"], change["ResourceChange"]["Scope"], change["ResourceChange"]["Replacement"]), ("Modify", ["Properties"], "False"))
    cf.execute_change_set(ChangeSetName=second["Id"])
    wait("stack_update_complete", StackName="sets")


def delete(arn):
    print("# delete")
    refused("ValidationError", "cannot be deleted while TerminationProtection is enabled", cf.delete_stack, StackName="reports")
    cf.update_termination_protection(StackName="reports", EnableTerminationProtection=False)
    cf.delete_stack(StackName="reports")
    until("the deletion is given up", lambda: "Delete canceled. Cannot delete export reports-setting as it is in use by importer." in str(cf.describe_stacks(StackName="reports")))
    for name in ["importer", "reports", "sets"]:
        cf.delete_stack(StackName=name, ClientRequestToken="away")
        wait("stack_delete_complete", StackName=name)
    equal("the status", status(arn), "DELETE_COMPLETE")
    refused("ValidationError", "Stack with id reports does not exist", cf.describe_stacks, StackName="reports")
    cf.create_stack(StackName="broken", TemplateBody=json.dumps({"Resources": {"Gate": WAIT}}), OnFailure="DELETE")
    waits("Gate", "broken")
    cf.signal_resource(StackName="broken", LogicalResourceId="Gate", UniqueId="me", Status="FAILURE")
    fails("stack_create_complete", StackName="broken")
    equal("the stacks that are left", pages("describe_stacks", "Stacks"), [])


def refactor():
    """Moves a resource into a new stack and renames another one: neither is touched."""
    def parameters(**names):
        return json.dumps({"Resources": {i: {"Type": "AWS::SSM::Parameter", "Properties": {"Name": n, "Type": "String", "Value": n}} for i, n in names.items()}})

    cf.create_stack(StackName="from", TemplateBody=parameters(Kept="/kept", Moved="/moved"))
    wait("stack_create_complete", StackName="from")
    before = [ssm.get_parameter(Name=n)["Parameter"] for n in ["/kept", "/moved"]]
    want = [{"StackName": "from", "TemplateBody": parameters(Renamed="/kept")}, {"StackName": "to", "TemplateBody": parameters(Moved="/moved")}]
    refused("ValidationError", "Stack [to] does not exist", cf.create_stack_refactor, StackDefinitions=want)
    moves = [{"Source": {"StackName": "from", "LogicalResourceId": "Kept"}, "Destination": {"StackName": "from", "LogicalResourceId": "Renamed"}}]
    ids = [cf.create_stack_refactor(StackDefinitions=want, ResourceMappings=moves, EnableStackCreation=True, Description="apart")["StackRefactorId"] for _ in range(2)]
    for i in ids:
        cf.get_waiter("stack_refactor_create_complete").wait(StackRefactorId=i, WaiterConfig=SOON)
    made = cf.describe_stack_refactor(StackRefactorId=ids[1])
    equal("the refactor", [made[k] for k in ["Description", "Status", "ExecutionStatus"]], ["apart", "CREATE_COMPLETE", "AVAILABLE"])
    actions = pages("list_stack_refactor_actions", "StackRefactorActions", StackRefactorId=ids[1])
    equal("what it does", sorted((a["Action"], a["Entity"], a.get("Detection"), a.get("ResourceIdentifier")) for a in actions), [
        ("CREATE", "STACK", None, None), ("MOVE", "RESOURCE", "AUTO", '{"Name":"/moved"}'), ("MOVE", "RESOURCE", "MANUAL", '{"Name":"/kept"}')])
    cf.execute_stack_refactor(StackRefactorId=ids[1])
    cf.get_waiter("stack_refactor_execute_complete").wait(StackRefactorId=ids[1], WaiterConfig=SOON)
    found = {r["StackRefactorId"]: r["ExecutionStatus"] for r in pages("list_stack_refactors", "StackRefactorSummaries")}
    equal("the refactors", found, {ids[0]: "OBSOLETE", ids[1]: "EXECUTE_COMPLETE"})
    one = cf.list_stack_refactors(ExecutionStatusFilter=["OBSOLETE"], MaxResults=1)["StackRefactorSummaries"]
    equal("the obsolete one", [r["StackRefactorId"] for r in one], ids[:1])
    for i in ids:
        refused("ValidationError", "cannot be executed in its current execution status", cf.execute_stack_refactor, StackRefactorId=i)
    for stack, has in {"from": ["Renamed /kept"], "to": ["Moved /moved"]}.items():
        equal(stack, [r["LogicalResourceId"] + " " + r["PhysicalResourceId"] for r in cf.describe_stack_resources(StackName=stack)["StackResources"]], has)
    equal("what has moved", [ssm.get_parameter(Name=n)["Parameter"] for n in ["/kept", "/moved"]], before)
    for stack in ["from", "to"]:
        cf.delete_stack(StackName=stack)
        wait("stack_delete_complete", StackName=stack)
    refused("ParameterNotFound", "", ssm.get_parameter, Name="/moved")


s3.create_bucket(Bucket="packages-" + account)
s3.upload_file("report.zip", "packages-" + account, "report.zip")
token = cf.register_type(Type="RESOURCE", TypeName="Initech::TPS::Report", SchemaHandlerPackage=f"s3://packages-{account}/report.zip")["RegistrationToken"]
cf.get_waiter("type_registration_complete").wait(RegistrationToken=token, WaiterConfig=SOON)
read()
stack = create()
errors(stack)
update(stack)
rollbacks()
change_sets()
delete(stack)
refactor()
print("done")
