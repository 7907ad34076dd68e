"""Create, update and delete a stack of parameters of SSM, and print how long each took.

usage: parameters.py ENDPOINT COUNT
"""

import json
import sys
import time

import boto3


def template(count, value):
    resources = {
        "P%d" % i: {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "p%d" % i, "Type": "String", "Value": value}}
        for i in range(count)
    }
    return json.dumps({"Resources": resources}, separators=(",", ":"))


def main(endpoint, count):
    client = boto3.client("cloudformation", endpoint_url=endpoint)
    name = "parameters-%d" % time.time_ns()

    def settle(stack, want):
        while True:
            status = client.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
            if status == want:
                return
            if not status.endswith("_IN_PROGRESS"):
                sys.exit("%s is in %s, expected %s" % (stack, status, want))
            time.sleep(0.05)

    took = {}
    started = time.monotonic()
    stack = client.create_stack(StackName=name, TemplateBody=template(count, "a"))["StackId"]
    settle(stack, "CREATE_COMPLETE")
    took["Create"] = time.monotonic() - started

    started = time.monotonic()
    client.update_stack(StackName=name, TemplateBody=template(count, "b"))
    settle(stack, "UPDATE_COMPLETE")
    took["Update"] = time.monotonic() - started

    started = time.monotonic()
    client.delete_stack(StackName=name)
    settle(stack, "DELETE_COMPLETE")
    took["Delete"] = time.monotonic() - started

    pages = client.get_paginator("describe_stack_events").paginate(StackName=stack)
    took["Events"] = sum(len(page["StackEvents"]) for page in pages)
    json.dump(took, sys.stdout)


main(sys.argv[1], int(sys.argv[2]))
