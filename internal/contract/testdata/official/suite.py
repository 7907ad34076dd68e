"""Runs the official contract tests of the package cloudformation-cli against handlers that
answer at a URL. Reads one JSON object a line, {"schema", "inputs", "url"}, and answers each
with one line, {"failed": [ids]}. Nothing is asked of AWS and nothing is waited for."""
import io
import json
import os
import sys
import urllib.request

import pytest

from rpdk.core.contract import resource_client
from rpdk.core.contract.contract_plugin import ContractPlugin
from rpdk.core.contract.suite import __file__ as suite_file
from rpdk.core.test import get_marker_options, temporary_ini_file

resource_client.get_temporary_credentials = lambda *args, **kwargs: {}
resource_client.sleep = lambda seconds: 0 / 0 if seconds < 0 else seconds + 0
resource_client.TypeConfiguration.get_type_configuration = staticmethod(lambda *args: None)


class Lambda:
    def __init__(self, url):
        self.url = url
        self.calls = 0

    def invoke(self, FunctionName, Payload):
        self.calls += 1
        if self.calls > 300:
            raise RuntimeError("more than 300 calls: it never ends")
        with urllib.request.urlopen(self.url, Payload) as reply:
            return {"Payload": io.BytesIO(reply.read())}


class Client(resource_client.ResourceClient):
    def __init__(self, schema, inputs, url):
        self._session = self._role_arn = self._log_group_name = self._log_role_arn = None
        self._headers = self._docker_image = self._executable_entrypoint = self._typeconfig = None
        self._type_name, self.region, self.account = schema["typeName"], "us-east-1", "123456789012"
        self._function_name, self._client = "TypeFunction", Lambda(url)
        self._strategy = self._update_strategy = self._invalid_strategy = None
        self._overrides, self._inputs, self._timeout_in_seconds = {}, inputs, 240
        self._update_schema(schema)


class Failures:
    def __init__(self):
        self.failed = []

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid.split("/")[-1])


answers = os.fdopen(os.dup(1), "w")
devnull = os.open(os.devnull, os.O_WRONLY)
os.dup2(devnull, 1)
for line in sys.stdin:
    job = json.loads(line)
    found = Failures()
    client = Client(job["schema"], job["inputs"], job["url"])
    with temporary_ini_file() as path:
        arguments = ["-c", path, "-q", "-p", "no:cacheprovider", "-m", get_marker_options(job["schema"]), "--rootdir", os.path.dirname(suite_file), os.path.dirname(suite_file) + "/resource"]
        pytest.main(arguments, plugins=[ContractPlugin({"resource_client": client}), found])
        os.unlink(path)
    answers.write(json.dumps({"failed": found.failed}) + "\n")
    answers.flush()
