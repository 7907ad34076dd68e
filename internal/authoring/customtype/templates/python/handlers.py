"""The handlers of {{.TypeName}}, which call the code of the custom resource {{.ResourceType}} in the folder custom."""
from typing import Any, MutableMapping, Optional

from cloudformation_cli_python_lib import Action, ProgressEvent, Resource, SessionProxy

from . import custom_resource
from .models import ResourceHandlerRequest, ResourceModel

TYPE_NAME = "{{.TypeName}}"

resource = Resource(TYPE_NAME, ResourceModel)
test_entrypoint = resource.test_entrypoint


@resource.handler(Action.CREATE)
def create_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    return custom_resource.create(session, request, callback_context)


@resource.handler(Action.UPDATE)
def update_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    return custom_resource.update(session, request, callback_context)


@resource.handler(Action.DELETE)
def delete_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
    return custom_resource.delete(session, request, callback_context)


@resource.handler(Action.READ)
def read_handler(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
{{- if not .Read}}
    # Next: return all properties of the resource that request.desiredResourceState.{{.Identifier}} names, or raise
    # exceptions.NotFound(TYPE_NAME, identifier), and remove what you return from writeOnlyProperties in the schema.
{{- end}}
    return custom_resource.read(session, request)
