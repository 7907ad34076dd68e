# A provider of custom resources with crhelper that polls.
from crhelper import CfnResource

helper = CfnResource(json_logging=True, log_level="INFO", boto_level="CRITICAL", polling_interval=1, sleep_on_delete=0)
polls = {}  # of this process, by request: the event of a poll is that of the first one


@helper.create
@helper.update
@helper.delete
def begin(event, context):
    if event["ResourceProperties"].get("Mode") == "refuse":
        raise ValueError("refused on purpose")
    helper.Data["Address"] = "at-" + event["ResourceProperties"]["Size"]


@helper.poll_create
@helper.poll_update
@helper.poll_delete
def poll(event, context):
    polls[event["RequestId"]] = polls.get(event["RequestId"], 0) + 1
    if polls[event["RequestId"]] < 2:
        return None
    if event["ResourceProperties"].get("Mode") == "fail":
        raise ValueError("failed on purpose")
    return "polled-thing"


def lambda_handler(event, context):
    helper(event, context)
