"""Calls the code of the custom resource {{.ResourceType}}, as CloudFormation does, and makes its response that of a handler."""
{{if not .Read}}import hashlib
{{end}}import json
import logging
import os
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, MutableMapping, Optional
{{if not .Read}}
from botocore.exceptions import ClientError
{{- end}}
from cloudformation_cli_python_lib import HandlerErrorCode, OperationStatus, ProgressEvent, SessionProxy, exceptions

from .models import ResourceHandlerRequest, ResourceModel

LOG = logging.getLogger(__name__)
LOG.setLevel(logging.INFO)

TYPE_NAME = "{{.TypeName}}"
RESOURCE_TYPE = "{{.ResourceType}}"  # in requests to the code
HANDLER = {{json .Handler}}  # its module and function in the folder custom
{{- if .Read}}
READ = {{json .ReadFunction}}  # the function that reads a resource: function(event, context)
{{- end}}

# Properties whose names in the custom resource cannot be those of a schema.
NAMES: Dict[str, str] = {{json .Names}}
# Read-only properties, with the keys of Data that they are.
ATTRIBUTES: Dict[str, str] = {{json .Attributes}}
WRITE_ONLY: List[str] = {{json .WriteOnly}}
{{- if not .Read}}
SECRETS: List[str] = {{json .Secrets}}
# What is kept beside the properties: code makes identifiers of the stack and the logical ID that a resource was created with.
# Requests without a stack have others each time, and resources move between stacks.
STACK, LOGICAL = "stack ID", "logical ID"
{{- end}}
# The environment variables of the function.
ENVIRONMENT: Dict[str, str] = {{json .Environment}}

SECONDS = 50  # a handler has a minute for a call
POLL_SECONDS = 30  # between calls of code that polls

HERE = os.path.dirname(os.path.abspath(__file__))


def create(session: Optional[SessionProxy], request: ResourceHandlerRequest, context: MutableMapping[str, Any]) -> ProgressEvent:
    model = _model(request.desiredResourceState)
    answer = _call(session, request, context, "Create", _properties(model))
    if answer["Status"] == "PENDING":
        return _pending(answer, _with(model, answer, {}))
    if answer["Status"] == "FAILED":
        # CloudFormation deletes what a custom resource has created before it failed.
        identifier = answer.get("PhysicalResourceId") or _unknown(request)
        _call(session, request, {}, "Delete", _properties(model), identifier)
        return _failed(answer)
{{- if not .Read}}
    try:
        _keep(session, request, answer, model)
    except Exception:
        _call(session, request, {}, "Delete", _properties(model), answer["PhysicalResourceId"])  # nothing would know it
        raise
{{- end}}
    return _succeeded(_with(model, answer, {}))


def update(session: Optional[SessionProxy], request: ResourceHandlerRequest, context: MutableMapping[str, Any]) -> ProgressEvent:
    model, old = _model(request.desiredResourceState), _model(request.previousResourceState)
    identifier = model.get("{{.Identifier}}") or old.get("{{.Identifier}}")
    if not identifier:
        raise exceptions.NotFound(TYPE_NAME, "without {{.Identifier}}")
{{- if .Read}}
    if not context:
        _found(session, request, identifier)
{{- else}}
    kept = _kept(session, request, identifier)
    old = dict(kept, **old)
{{- end}}
    answer = _call(session, request, context, "Update", _properties(model), identifier, _properties(old))
    if answer["Status"] == "PENDING":
        return _pending(answer, dict(model, {{.Identifier}}=identifier))
    if answer["Status"] == "FAILED":
        return _failed(answer)
    if answer["PhysicalResourceId"] != identifier:
        # The code has made another resource. CloudFormation would have to be told before: undo it.
        _call(session, request, {}, "Delete", _properties(model), answer["PhysicalResourceId"])
        changed = sorted(name for name in {**model, **old} if model.get(name) != old.get(name) and _is_property(name))
        return ProgressEvent.failed(
            HandlerErrorCode.NotUpdatable,
            "the code of the custom resource made another resource: add the property that needs one to createOnlyProperties "
            "in the schema; changed: %s" % ", ".join(changed),
        )
{{- if not .Read}}
    _keep(session, request, answer, model, old)
{{- end}}
    return _succeeded(_with(model, answer, old))


def delete(session: Optional[SessionProxy], request: ResourceHandlerRequest, context: MutableMapping[str, Any]) -> ProgressEvent:
    model = _model(request.desiredResourceState)
    identifier = model.get("{{.Identifier}}")
    if not identifier:
        raise exceptions.NotFound(TYPE_NAME, "without {{.Identifier}}")
{{- if .Read}}
    if not context:
        _found(session, request, identifier)
{{- else}}
    model = dict(_kept(session, request, identifier), **model)
{{- end}}
    answer = _call(session, request, context, "Delete", _properties(model), identifier)
    if answer["Status"] == "PENDING":
        return _pending(answer, {"{{.Identifier}}": identifier})
    if answer["Status"] == "FAILED":
        return _failed(answer)
{{- if not .Read}}
    session.client("ssm").delete_parameter(Name=_parameter(identifier))
{{- end}}
    return ProgressEvent(status=OperationStatus.SUCCESS)


def read(session: Optional[SessionProxy], request: ResourceHandlerRequest) -> ProgressEvent:
    identifier = _model(request.desiredResourceState).get("{{.Identifier}}")
    if not identifier:
        raise exceptions.NotFound(TYPE_NAME, "without {{.Identifier}}")
{{- if .Read}}
    return _succeeded(_found(session, request, identifier))


def _found(session: Optional[SessionProxy], request: ResourceHandlerRequest, identifier: str) -> Dict[str, Any]:
    """Returns the model of a resource as the function READ finds it."""
    answer = _call(session, request, {}, "Read", {}, identifier)
    if answer["Status"] == "FAILED":
        raise exceptions.GeneralServiceException(str(answer.get("Reason")))
    properties = answer.get("Data")
    if properties is None:
        raise exceptions.NotFound(TYPE_NAME, identifier)
    back = {wire: name for name, wire in NAMES.items()}
    model = {back.get(name, name): value for name, value in properties.items() if name not in ATTRIBUTES.values()}
    return _with(model, {"PhysicalResourceId": identifier, "Data": properties}, {})
{{- else}}
    LOG.warning("READ of %s is not written yet and returns what the code returned last: see read_handler in src/{{.Package}}/handlers.py", TYPE_NAME)
    return _succeeded(_with({}, {"PhysicalResourceId": identifier}, _kept(session, request, identifier)))


def _parameter(identifier: str) -> str:
    """The name of the parameter of Systems Manager that keeps what the code returned last."""
    return "/%s/%s" % (TYPE_NAME.replace("::", "-"), hashlib.sha256(identifier.encode()).hexdigest()[:32])


def _keep(
    session: SessionProxy, request: ResourceHandlerRequest, answer: Dict[str, Any], model: Dict[str, Any], old: Optional[Dict[str, Any]] = None
) -> None:
    """Keeps the attributes for READ, and the properties without secrets for a Delete that has only the identifier."""
    kept = _with(model, answer, old or {}, hidden=SECRETS)
    kept.update({STACK: _stack(request), LOGICAL: request.logicalResourceIdentifier})
    session.client("ssm").put_parameter(
        Name=_parameter(answer["PhysicalResourceId"]), Value=json.dumps(kept), Type="SecureString", Overwrite=True,
        Tier="Intelligent-Tiering",
    )


def _kept(session: SessionProxy, request: ResourceHandlerRequest, identifier: str) -> Dict[str, Any]:
    """Returns what was kept of the resource, whose stack and logical ID the request gets."""
    try:
        found = session.client("ssm").get_parameter(Name=_parameter(identifier), WithDecryption=True)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            raise exceptions.NotFound(TYPE_NAME, identifier)
        raise
    kept = json.loads(found["Parameter"]["Value"])
    request.stackId, request.logicalResourceIdentifier = kept.pop(STACK), kept.pop(LOGICAL)
    return kept
{{- end}}

def _model(state: Optional[ResourceModel]) -> Dict[str, Any]:
    return _written(state._serialize()) if state else {}


def _written(value: Any) -> Any:
    """Returns a value without what is not set."""
    if isinstance(value, dict):
        return {key: _written(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_written(item) for item in value]
    return value


def _is_property(name: str) -> bool:
    """Reports whether templates set a property."""
    return name != "{{.Identifier}}" and name not in {path.split(".")[0] for path in ATTRIBUTES}


def _properties(model: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the properties as a custom resource gets them: without attributes, and with all scalars as strings."""
    return {NAMES.get(name, name): _stringified(value) for name, value in model.items() if _is_property(name)}


def _stringified(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stringified(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_stringified(item) for item in value]
    return _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _with(
    model: Dict[str, Any], answer: Dict[str, Any], old: Dict[str, Any], hidden: Optional[List[str]] = None
) -> Dict[str, Any]:
    """Returns a model with the identifier and the attributes of a response, and without write-only values."""
    out = json.loads(json.dumps(model))
    if answer.get("PhysicalResourceId"):
        out["{{.Identifier}}"] = answer["PhysicalResourceId"]
    for path, wire in ATTRIBUTES.items():
        value = _lookup(answer.get("Data") or {}, wire)
        if value is None:
            value = _lookup(old, path)
        if value is not None:
            at = out
            *above, name = path.split(".")
            for part in above:
                at = at.setdefault(part, {})
            at[name] = _text(value)
    for path in WRITE_ONLY if hidden is None else hidden:
        at = out
        *above, name = path.split("/")
        for part in above:
            at = at.get(part) or {}
        at.pop(name, None)
    return out


def _lookup(data: Any, path: str) -> Any:
    """Finds a key with dots in it as one key, or as a path."""
    if isinstance(data, dict) and path in data:
        return data[path]
    for part in path.split("."):
        if not isinstance(data, dict):
            return None
        data = data.get(part)
    return data


def _succeeded(model: Dict[str, Any]) -> ProgressEvent:
    return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=ResourceModel._deserialize(model))


def _pending(answer: Dict[str, Any], model: Dict[str, Any]) -> ProgressEvent:
    return ProgressEvent(
        status=OperationStatus.IN_PROGRESS, resourceModel=ResourceModel._deserialize(model),
        callbackContext={"poll": answer["Poll"]}, callbackDelaySeconds=POLL_SECONDS,
    )


def _failed(answer: Dict[str, Any]) -> ProgressEvent:
    return ProgressEvent.failed(HandlerErrorCode.GeneralServiceException, str(answer.get("Reason") or "the code gave no reason"))


def _stack(request: ResourceHandlerRequest) -> str:
    where = (request.awsPartition or "aws", request.region or "us-east-1", request.awsAccountId or "000000000000", request.clientRequestToken)
    return request.stackId or "arn:%s:cloudformation:%s:%s:stack/none/%s" % where


def _unknown(request: ResourceHandlerRequest) -> str:
    """The identifier in a Delete of what was never created."""
    return "%s-%s" % (request.logicalResourceIdentifier or "Resource", request.clientRequestToken[:12])


def _call(
    session: Optional[SessionProxy], request: ResourceHandlerRequest, context: MutableMapping[str, Any], kind: str,
    properties: Dict[str, Any], identifier: Optional[str] = None, old: Optional[Dict[str, Any]] = None,
) -> Dict[str, Any]:
    """Runs the code in a process of its own, with the credentials of the request, and returns its response."""
    partition, region = request.awsPartition or "aws", request.region or "us-east-1"
    account = request.awsAccountId or "000000000000"
    token = "arn:%s:lambda:%s:%s:function:%s" % (partition, region, account, TYPE_NAME.replace("::", "-"))
    event: Dict[str, Any] = {
        "RequestType": kind,
        "ServiceToken": token,
        "ResponseURL": "",  # that of the process
        "StackId": _stack(request),
        "RequestId": request.clientRequestToken,
        "LogicalResourceId": request.logicalResourceIdentifier or "Resource",
        "ResourceType": RESOURCE_TYPE,
        "ResourceProperties": dict(properties, ServiceToken=token),
    }
    if identifier:
        event["PhysicalResourceId"] = identifier
    if old is not None:
        event["OldResourceProperties"] = dict(old, ServiceToken=token)
    event.update(context.get("poll") or {})
    function = {{if .Read}}READ if kind == "Read" else {{end}}HANDLER
    with tempfile.TemporaryDirectory() as scratch:
        result = os.path.join(scratch, "response.json")
        order = json.dumps({"event": event, "function": function, "seconds": SECONDS, "result": result, "token": token})
        environ = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path), **ENVIRONMENT)
        environ.update(_credentials(session), AWS_REGION=region, AWS_DEFAULT_REGION=region)
        runner = [sys.executable, os.path.join(HERE, "custom_runner.py"), os.path.join(HERE, "custom")]
        try:
            subprocess.run(runner, input=order.encode(), env=environ, timeout=SECONDS + 5, check=False)
        except subprocess.TimeoutExpired:
            LOG.error("the code of the custom resource was stopped after %d seconds", SECONDS + 5)
        try:
            with open(result, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {"Status": "FAILED", "Reason": "the code of the custom resource sent no response within %d seconds" % SECONDS}


def _credentials(session: Optional[SessionProxy]) -> Dict[str, str]:
    """The credentials of the request. The code finds them in its environment, as in its own function."""
    found = session.client.__self__.get_credentials() if session else None
    if found is None:
        return {}
    frozen = found.get_frozen_credentials()
    return {
        "AWS_ACCESS_KEY_ID": frozen.access_key, "AWS_SECRET_ACCESS_KEY": frozen.secret_key, "AWS_SESSION_TOKEN": frozen.token or "",
    }
