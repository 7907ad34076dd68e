# AWS::CloudFormation::StackSet in templates: created by "aws cloudformation deploy"; an update, drift, a
# failure, Cloud Control and import with boto3. The last line is "done".
import boto3, json, os, subprocess, time

account = os.environ["AWS_ACCESS_KEY_ID"]
other = "888877776666"
cfn = boto3.client("cloudformation", region_name="us-east-1")
control = boto3.client("cloudcontrol", region_name="us-east-1")
TYPE = "AWS::CloudFormation::StackSet"


def setting(value):
    return json.dumps({"Parameters": {"Value": {"Type": "String", "Default": value}}, "Resources": {
        "Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "front", "Type": "String", "Value": {"Ref": "Value"}}}}})


def properties(name, body, *groups, **more):
    return dict({"StackSetName": name, "PermissionModel": "SELF_MANAGED", "TemplateBody": body, "StackInstancesGroup": [
        {"DeploymentTargets": {"Accounts": accounts}, "Regions": regions, "ParameterOverrides": [{"ParameterKey": "Value", "ParameterValue": v} for v in overrides]}
        for accounts, regions, overrides in groups]}, **more)


def template(properties, **attributes):
    return json.dumps({"Resources": {"Set": dict({"Type": TYPE, "Properties": properties}, **attributes)},
                       "Outputs": {"Ref": {"Value": {"Ref": "Set"}}, "Att": {"Value": {"Fn::GetAtt": ["Set", "StackSetId"]}}}})


def deploy(properties):
    with open("front.json", "w") as f:
        f.write(template(properties))
    subprocess.run(["aws", "cloudformation", "deploy", "--stack-name", "front", "--template-file", "front.json", "--region", "us-east-1"], check=True)


def update(properties, status):
    cfn.update_stack(StackName="front", TemplateBody=template(properties))
    until(lambda: cfn.describe_stacks(StackName="front")["Stacks"][0]["StackStatus"] in ("UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"))
    assert cfn.describe_stacks(StackName="front")["Stacks"][0]["StackStatus"] == status


def values():
    found = {}
    for a in (account, other):
        for r in ("us-east-1", "eu-west-1"):
            ssm = boto3.client("ssm", region_name=r, aws_access_key_id=a, aws_secret_access_key="any")
            for p in ssm.get_parameters(Names=["front"])["Parameters"]:
                found[a, r] = p["Value"]
    return found


def until(what):
    for _ in range(600):
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it takes too long")


def ended(answer):
    event = answer["ProgressEvent"]
    return until(lambda: next((e for e in [control.get_resource_request_status(RequestToken=event["RequestToken"])["ProgressEvent"]] if e["OperationStatus"] in ("SUCCESS", "FAILED")), None))


deploy(properties("front", setting("one"), ([account], ["us-east-1", "eu-west-1"], []), ([other], ["eu-west-1"], ["mine"]),
                  OperationPreferences={"RegionConcurrencyType": "PARALLEL", "MaxConcurrentPercentage": 100}, ManagedExecution={"Active": True}, ExecutionRoleName="deployer"))
assert values() == {(account, "us-east-1"): "one", (account, "eu-west-1"): "one", (other, "eu-west-1"): "mine"}, values()
outputs = {o["OutputKey"]: o["OutputValue"] for o in cfn.describe_stacks(StackName="front")["Stacks"][0]["Outputs"]}
stack_set = cfn.describe_stack_set(StackSetName="front")["StackSet"]
assert outputs == {"Ref": stack_set["StackSetId"], "Att": stack_set["StackSetId"]}, outputs
assert stack_set["ManagedExecution"] == {"Active": True} and stack_set["ExecutionRoleName"] == "deployer", stack_set

print("# update")
current = properties("front", setting("two"), ([account], ["eu-west-1"], []), ([other], ["eu-west-1", "us-east-1"], ["mine"]))
update(current, "UPDATE_COMPLETE")
assert values() == {(account, "eu-west-1"): "two", (other, "eu-west-1"): "mine", (other, "us-east-1"): "mine"}, values()

print("# drift")


def drift():
    detection = cfn.detect_stack_drift(StackName="front")["StackDriftDetectionId"]
    until(lambda: cfn.describe_stack_drift_detection_status(StackDriftDetectionId=detection)["DetectionStatus"] != "DETECTION_IN_PROGRESS")
    found = cfn.describe_stack_resource_drifts(StackName="front")["StackResourceDrifts"][0]
    return found["StackResourceDriftStatus"], [d["PropertyPath"] for d in found.get("PropertyDifferences", [])]


assert drift() == ("IN_SYNC", []), drift()
for body, found in ((setting("three"), ("MODIFIED", ["/TemplateBody"])), (setting("two"), ("IN_SYNC", []))):
    operation = cfn.update_stack_set(StackSetName="front", TemplateBody=body)["OperationId"]
    until(lambda: cfn.describe_stack_set_operation(StackSetName="front", OperationId=operation)["StackSetOperation"]["Status"] == "SUCCEEDED")
    assert drift() == found, drift()

print("# a failure")
taken = boto3.client("ssm", region_name="us-east-1")
taken.put_parameter(Name="front", Type="String", Value="in the way")
update(dict(current, StackInstancesGroup=[{"DeploymentTargets": {"Accounts": [account, other]}, "Regions": ["eu-west-1", "us-east-1"]}]), "UPDATE_ROLLBACK_COMPLETE")
events = [e for page in cfn.get_paginator("describe_stack_events").paginate(StackName="front") for e in page["StackEvents"]]
reasons = [e["ResourceStatusReason"] for e in events if e["ResourceStatus"] == "UPDATE_FAILED"]
assert len(reasons) == 1 and "Stack set operation [" in reasons[0] and "ResourceLogicalId:Setting" in reasons[0] and "HandlerErrorCode: NotStabilized" in reasons[0], reasons
assert values() == {(account, "us-east-1"): "in the way", (account, "eu-west-1"): "two", (other, "eu-west-1"): "mine", (other, "us-east-1"): "mine"}, values()
taken.delete_parameter(Name="front")

print("# Cloud Control")
assert [r["Identifier"] for r in control.list_resources(TypeName=TYPE)["ResourceDescriptions"]] == [stack_set["StackSetId"]]
model = json.loads(control.get_resource(TypeName=TYPE, Identifier=stack_set["StackSetId"])["ResourceDescription"]["Properties"])
assert model["StackSetName"] == "front" and model["TemplateBody"] == setting("two") and "StackInstancesGroup" not in model, model
cfn.delete_stack(StackName="front")
cfn.get_waiter("stack_delete_complete").wait(StackName="front", WaiterConfig={"Delay": 1})
assert values() == {} and cfn.list_stack_sets(Status="ACTIVE")["Summaries"] == []
one = ended(control.create_resource(TypeName=TYPE, DesiredState=json.dumps(properties("front", setting("four"), ([account], ["us-east-1"], [])))))
assert one["OperationStatus"] == "SUCCESS" and values() == {(account, "us-east-1"): "four"}, one

print("# import")
imported = json.loads(template(properties("front", setting("four"), ([account], ["us-east-1"], [])), DeletionPolicy="Delete"))
del imported["Outputs"]  # an import adds none
cfn.create_change_set(StackName="back", ChangeSetName="import", ChangeSetType="IMPORT", TemplateBody=json.dumps(imported), ResourcesToImport=[
    {"ResourceType": TYPE, "LogicalResourceId": "Set", "ResourceIdentifier": {"StackSetId": one["Identifier"]}}])
cfn.get_waiter("change_set_create_complete").wait(StackName="back", ChangeSetName="import", WaiterConfig={"Delay": 1})
cfn.execute_change_set(StackName="back", ChangeSetName="import")
cfn.get_waiter("stack_import_complete").wait(StackName="back", WaiterConfig={"Delay": 1})
cfn.delete_stack(StackName="back")
cfn.get_waiter("stack_delete_complete").wait(StackName="back", WaiterConfig={"Delay": 1})
assert values() == {}, values()
one = ended(control.create_resource(TypeName=TYPE, DesiredState=json.dumps(properties("again", setting("five"), ([other], ["us-east-1"], [])))))
assert one["OperationStatus"] == "SUCCESS" and values() == {(other, "us-east-1"): "five"}, one
gone = ended(control.delete_resource(TypeName=TYPE, Identifier=one["Identifier"]))
assert gone["OperationStatus"] == "SUCCESS" and values() == {}, gone
print("done")
