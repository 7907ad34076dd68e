# A stack set through its life with boto3: instances in two accounts and two regions, an update with
# parameters, drift, a failure that stops the operation, deletion. The last line is "done".
import boto3, json, os, time
from botocore.exceptions import ClientError

account = os.environ["AWS_ACCESS_KEY_ID"]
other = "999988887777"
regions = ["us-east-1", "eu-west-1"]
cfn = boto3.client("cloudformation", region_name="us-east-1")


def refused(code, call, **arguments):
    try:
        call(**arguments)
    except ClientError as error:
        assert error.response["Error"]["Code"] == code, error
        return
    raise AssertionError("not refused with " + code)


def finished(operation, name="settings"):
    while True:
        o = cfn.describe_stack_set_operation(StackSetName=name, OperationId=operation)["StackSetOperation"]
        if o["Status"] not in ("RUNNING", "STOPPING", "QUEUED"):
            return o
        time.sleep(0.1)


def results(operation):
    pages = cfn.get_paginator("list_stack_set_operation_results").paginate(StackSetName="settings", OperationId=operation)
    return {(r["Account"], r["Region"]): r for page in pages for r in page["Summaries"]}


template = json.dumps({
    "Parameters": {"Value": {"Type": "String", "Default": "one"}, "Secret": {"Type": "String", "NoEcho": True}},
    "Resources": {"Setting": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "setting", "Type": "String", "Value": {"Ref": "Value"}, "Description": {"Ref": "Secret"}}}},
})
created = cfn.create_stack_set(StackSetName="settings", TemplateBody=template, Parameters=[{"ParameterKey": "Secret", "ParameterValue": "hush"}], Tags=[{"Key": "team", "Value": "tps"}])
refused("NameAlreadyExistsException", cfn.create_stack_set, StackSetName="settings", TemplateBody=template, Parameters=[{"ParameterKey": "Secret", "ParameterValue": "x"}])
operation = cfn.create_stack_instances(
    StackSetName="settings", Accounts=[account, other], Regions=regions, OperationPreferences={"RegionConcurrencyType": "PARALLEL", "MaxConcurrentPercentage": 100, "FailureTolerancePercentage": 50},
    ParameterOverrides=[{"ParameterKey": "Value", "ParameterValue": "mine"}])["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED", results(operation)
assert len(results(operation)) == 4
instances = [i for page in cfn.get_paginator("list_stack_instances").paginate(StackSetName="settings") for i in page["Summaries"]]
assert sorted((i["Account"], i["Region"], i["Status"]) for i in instances) == sorted((a, r, "CURRENT") for a in (account, other) for r in regions), instances
for i in instances:
    there = dict(region_name=i["Region"], aws_access_key_id=i["Account"], aws_secret_access_key="any")
    assert boto3.client("ssm", **there).get_parameter(Name="setting")["Parameter"]["Value"] == "mine"
    stack = boto3.client("cloudformation", **there).describe_stacks(StackName=i["StackId"])["Stacks"][0]
    assert stack["StackName"].startswith("StackSet-settings-") and stack["Tags"] == [{"Key": "team", "Value": "tps"}], stack
described = cfn.describe_stack_set(StackSetName=created["StackSetId"])["StackSet"]
assert described["Parameters"] == [{"ParameterKey": "Secret", "ParameterValue": "****"}] and described["Regions"] == sorted(regions), described

print("# update")
operation = cfn.update_stack_set(StackSetName="settings", UsePreviousTemplate=True, OperationPreferences={"RegionOrder": ["eu-west-1", "us-east-1"]}, Parameters=[
    {"ParameterKey": "Secret", "UsePreviousValue": True}, {"ParameterKey": "Value", "ParameterValue": "two"}])["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED"
assert boto3.client("ssm", region_name="eu-west-1").get_parameter(Name="setting")["Parameter"]["Value"] == "mine"
operation = cfn.update_stack_instances(StackSetName="settings", Accounts=[account], Regions=["eu-west-1"], ParameterOverrides=[])["OperationId"]
finished(operation)
operation = cfn.update_stack_instances(StackSetName="settings", Accounts=[account], Regions=["eu-west-1"], ParameterOverrides=[{"ParameterKey": "Value", "ParameterValue": "three"}])["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED"
assert boto3.client("ssm", region_name="eu-west-1").get_parameter(Name="setting")["Parameter"]["Value"] == "three"
instance = cfn.describe_stack_instance(StackSetName="settings", StackInstanceAccount=account, StackInstanceRegion="eu-west-1")["StackInstance"]
assert instance["ParameterOverrides"] == [{"ParameterKey": "Value", "ParameterValue": "three"}], instance

print("# drift")
boto3.client("ssm", region_name="eu-west-1").put_parameter(Name="setting", Value="drifted", Overwrite=True)
operation = cfn.detect_stack_set_drift(StackSetName="settings", OperationPreferences={"RegionConcurrencyType": "PARALLEL", "MaxConcurrentPercentage": 100, "ConcurrencyMode": "SOFT_FAILURE_TOLERANCE"})["OperationId"]
details = finished(operation)["StackSetDriftDetectionDetails"]
assert details["DriftStatus"] == "DRIFTED" and details["DriftedStackInstancesCount"] == 1 and details["InSyncStackInstancesCount"] == 3, details
drifts = cfn.list_stack_instance_resource_drifts(StackSetName="settings", StackInstanceAccount=account, StackInstanceRegion="eu-west-1", OperationId=operation)["Summaries"]
assert drifts[0]["PropertyDifferences"][0]["ActualValue"] == "drifted", drifts

print("# a failure")
boto3.client("ssm", region_name="sa-east-1").put_parameter(Name="setting", Value="taken", Type="String")
operation = cfn.create_stack_instances(StackSetName="settings", Accounts=[account], Regions=["sa-east-1", "ap-south-1"])["OperationId"]
assert finished(operation)["Status"] == "FAILED"
found = results(operation)
assert found[account, "sa-east-1"]["Status"] == "FAILED" and "ResourceLogicalId:Setting, ResourceType:AWS::SSM::Parameter, ResourceStatusReason:" in found[account, "sa-east-1"]["StatusReason"], found
assert found[account, "ap-south-1"]["Status"] == "CANCELLED" and found[account, "ap-south-1"]["StatusReason"] == "Cancelled since failure tolerance has exceeded", found
boto3.client("ssm", region_name="sa-east-1").delete_parameter(Name="setting")
operation = cfn.create_stack_instances(StackSetName="settings", Accounts=[account], Regions=["sa-east-1", "ap-south-1"])["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED", results(operation)

print("# delete")
refused("StackSetNotEmptyException", cfn.delete_stack_set, StackSetName="settings")
operation = cfn.delete_stack_instances(StackSetName="settings", Accounts=[account], Regions=["us-east-1"], RetainStacks=True)["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED"
kept = [s for s in cfn.describe_stacks()["Stacks"] if s["StackName"].startswith("StackSet-settings-")]
assert len(kept) == 1, kept
operation = cfn.import_stacks_to_stack_set(StackSetName="settings", StackIds=[kept[0]["StackId"]])["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED", results(operation)
operation = cfn.delete_stack_instances(
    StackSetName="settings", Accounts=[account, other], Regions=regions + ["sa-east-1", "ap-south-1"], RetainStacks=False,
    OperationPreferences={"RegionConcurrencyType": "PARALLEL", "MaxConcurrentCount": 2, "FailureToleranceCount": 1})["OperationId"]
assert finished(operation)["Status"] == "SUCCEEDED", results(operation)
assert cfn.list_stack_instances(StackSetName="settings")["Summaries"] == []
cfn.delete_stack_set(StackSetName="settings")
refused("StackSetNotFoundException", cfn.describe_stack_set, StackSetName="settings")
assert [s["Status"] for page in cfn.get_paginator("list_stack_sets").paginate(Status="DELETED") for s in page["Summaries"]] == ["DELETED"]
print("done")
