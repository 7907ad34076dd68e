# Translates a template with AWS::Serverless by the public translator. Standard input is
# {"fragment", "parameters", "partition"}; standard output is the response of a macro.
import json
import logging
import sys

try:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
except (ImportError, ValueError, OSError):
    pass  # not on this system

try:
    from samtranslator.model.exceptions import InvalidDocumentException
    from samtranslator.translator.transform import transform
except ImportError:
    sys.exit(3)

try:
    from samtranslator.internal.managed_policies import get_bundled_managed_policy_map
except ImportError:

    def get_bundled_managed_policy_map(partition):
        return {}


class Policies:
    """The managed policies of IAM by name, without a call of IAM."""

    def __init__(self, partition):
        self.partition = partition

    def load(self):
        return get_bundled_managed_policy_map(self.partition) or {}


def main():
    logging.disable(logging.CRITICAL)
    request = json.load(sys.stdin)
    try:
        fragment = transform(request["fragment"], request["parameters"], Policies(request["partition"]))
        response = {"status": "success", "fragment": fragment}
    except InvalidDocumentException as e:
        causes = [getattr(cause, "message", str(cause)) for cause in e.causes]
        response = {"status": "failure", "errorMessage": " ".join([e.message, *causes])}
    json.dump(response, sys.stdout)


main()
