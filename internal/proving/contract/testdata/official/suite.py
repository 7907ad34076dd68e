"""Runs the official contract tests of the package cloudformation-cli against handlers that
answer at a URL. Reads one JSON object a line, {"kind", "schema", "inputs", "overrides",
"targets", "url"}, and answers each with one line, {"failed": [ids], "calls": number}. Without
inputs, the suite generates them, the same in each run. Nothing is asked of AWS and nothing is
waited for."""
import gc
import io
import json
import os
import random
import sys
import urllib.request

import hypothesis.core
import pytest

from rpdk.core.contract import hook_client, resource_client
from rpdk.core.contract.contract_plugin import ContractPlugin
from rpdk.core.contract.suite import __file__ as suite_file
from rpdk.core.jsonutils.pointer import fragment_decode
from rpdk.core.test import get_marker_options, temporary_ini_file


def wait(seconds):
    if seconds < 0:
        raise ValueError("a delay is not negative")


class Clock:
    sleep = staticmethod(wait)
    time = staticmethod(hook_client.time.time)


resource_client.get_temporary_credentials = hook_client.get_temporary_credentials = lambda *args, **kwargs: {}
resource_client.sleep, hook_client.time = wait, Clock
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


class Offline:
    """A client without AWS: what the constructors of the official clients set."""

    def __init__(self, job):
        self._session = self._role_arn = self._log_group_name = self._log_role_arn = None
        self._headers = self._docker_image = self._executable_entrypoint = self._typeconfig = None
        self._type_name, self.region, self.account = job["schema"]["typeName"], "us-east-1", "123456789012"
        self._function_name, self._client = "TypeFunction", Lambda(job["url"])
        self._overrides, self._inputs, self._timeout_in_seconds = {}, job["inputs"], 240
        self._update_schema(job["schema"])


class Resource(Offline, resource_client.ResourceClient):
    pass


class Hook(Offline, hook_client.HookClient):
    def __init__(self, job):
        super().__init__(job)
        self._overrides = decoded(job["overrides"] or {}, 3)
        self._target_info, self._resolved_targets = self._setup_target_info(job["targets"]), {}


def decoded(overrides, depth):
    """The pointers of overrides, as the official tool reads them from overrides.json."""
    if depth == 0:
        return {fragment_decode(pointer, prefix=""): value for pointer, value in overrides.items()}
    return {name: decoded(items, depth - 1) for name, items in overrides.items()}


class Failures:
    def __init__(self):
        self.failed = []

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid.split("/")[-1])


# Of a run only the names of failed tests are read, and a third of its time goes into tracebacks and collected garbage.
quick = ["--tb=no", "-p", "no:unraisableexception", "-p", "no:threadexception"]
gc.freeze()
answers = os.fdopen(os.dup(1), "w")
devnull = os.open(os.devnull, os.O_WRONLY)
os.dup2(devnull, 1)
for line in sys.stdin:
    job = json.loads(line)
    found = Failures()
    hypothesis.core.global_force_seed = 1
    random.seed(1)
    if job["kind"] == "HOOK":
        folder, client = "/hook", Hook(job)
        plugin = ContractPlugin({"hook_client": client})
    else:
        folder, client = "/resource", Resource(job)
        plugin = ContractPlugin({"resource_client": client})
    with temporary_ini_file() as path:
        arguments = ["-c", path, "-q", "-p", "no:cacheprovider", *quick, "-m", get_marker_options(job["schema"]), "--rootdir", os.path.dirname(suite_file), os.path.dirname(suite_file) + folder]
        pytest.main(arguments, plugins=[plugin, found])
        os.unlink(path)
    answers.write(json.dumps({"failed": found.failed, "calls": client._client.calls}) + "\n")
    answers.flush()
