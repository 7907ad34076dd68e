"""The handlers of the hook {{.TypeName}}.

A handler returns a ProgressEvent: SUCCESS if the target passes, FAILED with an error code and a message
for the user if not, or IN_PROGRESS. After IN_PROGRESS the handler is called again with the
callback_context of the event. Exceptions of the module exceptions become FAILED with their code.
"""

import logging
from typing import Any, MutableMapping, Optional

from cloudformation_cli_python_lib import (
    HandlerErrorCode,
    Hook,
    HookInvocationPoint,
    OperationStatus,
    ProgressEvent,
    SessionProxy,
    exceptions,
)

from .models import HookHandlerRequest, TypeConfigurationModel

LOG = logging.getLogger(__name__)  # ends in CloudWatch Logs
LOG.setLevel(logging.INFO)
TYPE_NAME = "{{.TypeName}}"

hook = Hook(TYPE_NAME, TypeConfigurationModel)
test_entrypoint = hook.test_entrypoint
{{range .Handlers}}

@hook.handler(HookInvocationPoint.{{.Action}})
def {{.Function}}(
    session: Optional[SessionProxy],
    request: HookHandlerRequest,
    callback_context: MutableMapping[str, Any],
    type_configuration: TypeConfigurationModel,
) -> ProgressEvent:
    # Evaluate a target that is about to be {{.Done}}{{if .Targets}}: {{.Targets}}{{end}}. Its properties are
    #
    #     request.hookContext.targetModel.get("resourceProperties")
    #
    # The module of the target in target_models has a class for them.
    return ProgressEvent.failed(
        HandlerErrorCode.InternalFailure,
        "{{.Function}} of {{$.TypeName}} is not written yet: see src/{{$.Package}}/handlers.py",
    )
{{end -}}
