# A provider whose start fails: crhelper answers each request with the reason, and without a physical id.
from crhelper import CfnResource

helper = CfnResource(json_logging=False, log_level="INFO", boto_level="CRITICAL", sleep_on_delete=0)

try:
    raise ValueError("started without its settings")
except ValueError as e:
    helper.init_failure(e)


def lambda_handler(event, context):
    helper(event, context)
