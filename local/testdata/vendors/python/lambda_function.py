# A provider of custom resources with crhelper.
import time

from crhelper import CfnResource

helper = CfnResource(json_logging=False, log_level="INFO", boto_level="CRITICAL", sleep_on_delete=0)


@helper.create
@helper.update
@helper.delete
def provide(event, context):
    properties = event["ResourceProperties"]
    if properties.get("Mode") == "fail":
        raise ValueError("failed on purpose")
    if properties.get("Mode") == "sleep":
        time.sleep(600)
    helper.Data["Address"] = "at-" + properties["Size"]
    return "python-thing"


def lambda_handler(event, context):
    helper(event, context)
