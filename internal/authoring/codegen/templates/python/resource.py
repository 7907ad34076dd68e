"""The handlers of {{.TypeName}}.

A handler returns a ProgressEvent: SUCCESS with the model, FAILED with an error code, or IN_PROGRESS
with a model that has the primary identifier. After IN_PROGRESS the handler is called again with the
callback_context of the event. Exceptions of the module exceptions become FAILED with their code.
"""
{{if .Handlers}}
import logging
from typing import Any, MutableMapping, Optional

from cloudformation_cli_python_lib import (
    Action,
    HandlerErrorCode,
    OperationStatus,
    ProgressEvent,
    Resource,
    SessionProxy,
    exceptions,
)

from .models import ResourceHandlerRequest, ResourceModel

LOG = logging.getLogger(__name__)  # ends in CloudWatch Logs
LOG.setLevel(logging.INFO)
TYPE_NAME = "{{.TypeName}}"

resource = Resource(TYPE_NAME, ResourceModel)
test_entrypoint = resource.test_entrypoint
{{- else}}
from cloudformation_cli_python_lib import Resource

from .models import ResourceModel

TYPE_NAME = "{{.TypeName}}"

resource = Resource(TYPE_NAME, ResourceModel)
test_entrypoint = resource.test_entrypoint
{{- end}}
{{range .Handlers}}

@resource.handler(Action.{{.Action}})
def {{.Function}}(
    session: Optional[SessionProxy],
    request: ResourceHandlerRequest,
    callback_context: MutableMapping[str, Any],
) -> ProgressEvent:
{{- if eq .Action "CREATE"}}
    # Create the resource that request.desiredResourceState describes, set the read-only properties, and return
    #
    #     return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=model)
    #
    # A name that the service does not choose itself comes from identifier_utils.generate_resource_identifier:
    # the same request must not create a second resource.
{{- else if eq .Action "READ"}}
    # Return all properties of the resource. If it does not exist:
    #
    #     raise exceptions.NotFound(TYPE_NAME, identifier)
{{- else if eq .Action "UPDATE"}}
    # Change the resource to request.desiredResourceState and return all of its properties. If it does not
    # exist: raise exceptions.NotFound(TYPE_NAME, identifier). The state before is request.previousResourceState.
{{- else if eq .Action "DELETE"}}
    # Delete the resource and return SUCCESS without a model. If it does not exist:
    #
    #     raise exceptions.NotFound(TYPE_NAME, identifier)
{{- else if eq .Action "LIST"}}
    # Return the resources of the account in this region, with their primary identifiers at least:
    #
    #     return ProgressEvent(status=OperationStatus.SUCCESS, resourceModels=[], nextToken=None)
{{- end}}
{{- if eq .Action "READ"}}
    LOG.warning("READ of %s is not written yet and returns the requested model: see {{.Function}} in src/{{$.Package}}/handlers.py", TYPE_NAME)
    return ProgressEvent(status=OperationStatus.SUCCESS, resourceModel=request.desiredResourceState)
{{- else}}
    return ProgressEvent.failed(
        HandlerErrorCode.InternalFailure,
        "{{.Action}} of {{$.TypeName}} is not written yet: see {{.Function}} in src/{{$.Package}}/handlers.py",
    )
{{- end}}
{{end -}}
