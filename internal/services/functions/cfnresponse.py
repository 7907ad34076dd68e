# The module cfnresponse for functions whose code is in a template, with the interface that
# AWS documents.
import json
import urllib.error
import urllib.request

SUCCESS = "SUCCESS"
FAILED = "FAILED"


def send(event, context, responseStatus, responseData, physicalResourceId=None, noEcho=False, reason=None):
    body = json.dumps({
        "Status": responseStatus,
        "Reason": reason or "See the details in CloudWatch Log Stream: {}".format(context.log_stream_name),
        "PhysicalResourceId": physicalResourceId or context.log_stream_name,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "NoEcho": noEcho,
        "Data": responseData,
    }).encode("utf-8")
    request = urllib.request.Request(event["ResponseURL"], data=body, method="PUT", headers={"content-type": ""})
    try:
        with urllib.request.urlopen(request) as response:
            print("The response of the custom resource was sent, status", response.status)
    except (urllib.error.URLError, OSError) as error:
        print("The response of the custom resource cannot be sent:", error)
