"""The handlers of {{.TypeName}}, which call {{.API.Service}} by the client in client.py.

api.json says which properties each operation sends and returns, and where. The handlers
are yours: cfn generate keeps what you change here.
"""

from typing import Any, MutableMapping, Optional

from cloudformation_cli_python_lib import (
    Action,
    OperationStatus,
    ProgressEvent,
    SessionProxy,
    exceptions,
)

from .client import (
    Client,
    PagedResource,
    identified,
    model,
    properties,
{{- if .API.Tags}}
    with_stack_tags,
{{- end}}
)
from .models import ResourceHandlerRequest, ResourceModel, TypeConfigurationModel
from .wire import API, Values{{if and .API.HasUpdate .API.CreateOnly}}, dig{{end}}{{if or .API.Failure (or (eq .API.Find "identifier") (eq .API.Find "list"))}}, identifier_of{{end}}

TYPE_NAME = "{{.TypeName}}"
SECONDS = {{.API.Delay}}  # between two reads of a resource that changes
TRIES = 30  # of calls that fail: reads may lag behind
TRANSIENT = (
    exceptions.NetworkFailure,
    exceptions.ServiceInternalError,
    exceptions.Throttling,
)
{{- if and .API.HasUpdate .API.CreateOnly}}
CREATE_ONLY = [{{.API.CreateOnly}}]
{{- end}}
{{- if .API.Failure}}
FAILED = [{{.API.Failure}}]
{{- end}}
{{- if .API.Success}}
READY = [{{.API.Success}}]
{{- else if .API.Pending}}
PENDING = [{{.API.Pending}}]
{{- end}}

resource = PagedResource(TYPE_NAME, ResourceModel, TypeConfigurationModel)
test_entrypoint = resource.test_entrypoint


@resource.handler(Action.CREATE)
def create_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    # {{.API.Create}}
    client = Client(session, request)
    desired = properties(request.desiredResourceState)
{{- if eq .API.Find "identifier"}}
    if not callback_context:
        # The first call only looks. From the second one on, a resource that exists is
        # that of an earlier delivery of this request, whose response was lost.
        try:
            client.read(desired)
        except exceptions.NotFound:
            return in_progress(desired, {"checked": True}, 0)
        raise exceptions.AlreadyExists(TYPE_NAME, identifier_of(desired))
{{- end}}
    if "identifier" not in callback_context:
{{- if eq .API.Find "identifier"}}
        try:
            created = client.call(API["create"], {{if .API.TagOnCreate}}with_stack_tags(desired, request){{else}}desired{{end}})
        except (exceptions.AlreadyExists, exceptions.ResourceConflict):
            created = {}  # by an earlier delivery
        except TRANSIENT as problem:
            return again(desired, callback_context, problem)
{{- else if eq .API.Find "list"}}
        # The service chooses the identifier. After a lost response, a new resource with
        # the same {{.API.Unique}} is the one that was made.
        unique = API["find"]["properties"]
        others = [identifier_of(item) for item in client.find(desired, unique)]
        try:
            created = client.call(API["create"], {{if .API.TagOnCreate}}with_stack_tags(desired, request){{else}}desired{{end}})
        except (
            exceptions.NetworkFailure,
            exceptions.ServiceInternalError,
            exceptions.GeneralServiceException,
        ):
            for created in client.find(desired, unique):
                if identifier_of(created) not in others:
                    break
            else:
                raise
{{- else}}
        created = client.call(API["create"], {{if .API.TagOnCreate}}with_stack_tags(desired, request){{else}}desired{{end}})
{{- end}}
        identifier = identified({**desired, **created})
        # Whatever happens from now on, CloudFormation knows the resource.
        return in_progress({**desired, **identifier}, {"identifier": identifier}, 0)
    desired.update(callback_context["identifier"])
{{- if or .API.Later .API.TagLater}}
    event = settle(client, desired, callback_context)
    if event.status != OperationStatus.SUCCESS:
        return event
    live = properties(event.resourceModel)
    try:
{{- if .API.Later}}
        # Updates set what create does not.
        names = [entry["property"] for entry in API["create"].get("send", [])]
        before = {name: desired[name] for name in names if name in desired}
        done = callback_context.get("updates", 0)
        for number, operation in enumerate(API["update"][done:], done + 1):
            if client.update(operation, desired, before, live):
                return in_progress(desired, {**callback_context, "updates": number})
{{- end}}
{{- if .API.TagLater}}
        client.retag(live, with_stack_tags(desired, request))
        event.resourceModel = model(client.read(desired))
{{- end}}
    except TRANSIENT as problem:
        return again(desired, callback_context, problem)
    return event
{{- else}}
    return settle(client, desired, callback_context)
{{- end}}


@resource.handler(Action.READ)
def read_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    # {{.API.Read}}
    client = Client(session, request)
    live = client.read({{if .API.Additional}}named(client, request){{else}}properties(request.desiredResourceState){{end}})
    return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=model(live))
{{- if .API.HasUpdate}}


@resource.handler(Action.UPDATE)
def update_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
{{- range .API.Updates}}
    # {{.Name}}
{{- end}}
    client = Client(session, request)
    desired = {{if .API.Additional}}named(client, request){{else}}properties(request.desiredResourceState){{end}}
    live = client.read(desired)
{{- if .API.Compares}}
    before = properties(request.previousResourceState) or live
{{- end}}
{{- if .API.CreateOnly}}
    for name in CREATE_ONLY:
        wanted, *known = (dig(v, name.split("/")) for v in (desired, before, live))
        if wanted is not None and any(v is not None for v in known) and wanted not in known:
            raise exceptions.NotUpdatable(f"{name} of {TYPE_NAME} cannot be changed")
{{- end}}
{{- if eq (len .API.Updates) 1}}
    if "updated" not in callback_context:
        client.update(API["update"][0], desired, before, live)
{{- if .API.Tags}}
        client.retag(live, with_stack_tags(desired, request))
{{- end}}
    return settle(client, desired, {**callback_context, "updated": True})
{{- else}}
{{- if .API.Updates}}
    done = callback_context.get("updates", 0)
{{- if or .API.Success (or .API.Failure .API.Pending)}}
    if done and not ready(live):
        return in_progress(desired, callback_context)
{{- end}}
    for number, operation in enumerate(API["update"][done:], done + 1):
        if client.update(operation, desired, before, live):
            return in_progress(desired, {"updates": number})
{{- end}}
{{- if .API.Tags}}
    client.retag(live, with_stack_tags(desired, request))
{{- end}}
    return settle(client, desired, callback_context)
{{- end}}
{{- end}}


@resource.handler(Action.DELETE)
def delete_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    # {{.API.Delete}}
    client = Client(session, request)
    desired = {{if .API.Additional}}named(client, request){{else}}properties(request.desiredResourceState){{end}}
    if "deleting" not in callback_context:
        live = client.read(desired)
        try:
            client.call(API["delete"], live)
        except exceptions.NotFound:
            pass  # deleted by an earlier delivery
    context = {**callback_context, "deleting": True}
    try:
        client.read(desired)
    except exceptions.NotFound:
        return ProgressEvent(status=OperationStatus.SUCCESS)
    except TRANSIENT as problem:
        return again(desired, context, problem)
    return in_progress(desired, context)
{{- if .API.List}}


@resource.handler(Action.LIST)
def list_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    # {{.API.List}}
    client = Client(session, request)
    desired = properties(request.desiredResourceState)
    page, token = client.page(desired, request.nextToken)
    return ProgressEvent(
        status=OperationStatus.SUCCESS,
        resourceModels=[model(item) for item in page],
        nextToken=token,
    )
{{- end}}
{{- if .API.Additional}}


def named(client: Client, request: ResourceHandlerRequest) -> Values:
    """Returns the properties of a request, which may name the resource otherwise."""
    desired = properties(request.desiredResourceState)
    if all(desired.get(name) for name in API["identifier"]):
        return desired
    for names in [{{.API.Additional}}]:
        if names <= desired.keys():
            for found in client.find(desired, names):
                return {**desired, **identified(found)}
    return desired
{{- end}}


def settle(
    client: Client, desired: Values, context: MutableMapping[str, Any]
) -> ProgressEvent:
    """Ends an operation when the service has done what was requested, else waits."""
    try:
        live = client.read(desired)
    except (exceptions.NotFound, *TRANSIENT) as problem:
        return again(desired, context, problem)
{{- if or .API.Success (or .API.Failure .API.Pending)}}
    if not ready(live):
        return in_progress(desired, context)
{{- end}}
    return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=model(live))
{{- if or .API.Success (or .API.Failure .API.Pending)}}


def ready(live: Values) -> bool:
    """Reports whether the service has done what was requested."""
    status = live.get("{{.API.Wait}}")
{{- if .API.Failure}}
    if status in FAILED:
        raise exceptions.NotStabilized(f"{identifier_of(live)} is {status}")
{{- end}}
{{- if .API.Success}}
    return status in READY
{{- else if .API.Pending}}
    return status not in PENDING
{{- else}}
    return True
{{- end}}
{{- end}}


def again(
    desired: Values, context: MutableMapping[str, Any], problem: Exception
) -> ProgressEvent:
    """Waits after a call that failed, a limited number of times."""
    tries = context.get("tries", 0) + 1
    if tries > TRIES:
        raise exceptions.NotStabilized(f"after {TRIES} attempts: {problem}") from None
    return in_progress(desired, {**context, "tries": tries})


def in_progress(
    desired: Values, context: MutableMapping[str, Any], seconds: int = SECONDS
) -> ProgressEvent:
    return ProgressEvent(
        status=OperationStatus.IN_PROGRESS,
        resourceModel=model(desired),
        callbackContext=context,
        callbackDelaySeconds=seconds,
    )
