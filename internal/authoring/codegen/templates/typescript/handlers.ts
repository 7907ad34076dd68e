/**
 * The handlers of {{.TypeName}}.
 *
 * A handler returns a ProgressEvent: SUCCESS with the model, FAILED with an error code, or IN_PROGRESS
 * with a model that has the primary identifier. After IN_PROGRESS the handler is called again with the
 * callback context of the event. Exceptions of the module exceptions become FAILED with their code.
 */
import {
    Action,
    BaseResource,
    exceptions,
    handlerEvent,
    HandlerErrorCode,
    LoggerProxy,
    OperationStatus,
    Optional,
    ProgressEvent,
    ResourceHandlerRequest,
    SessionProxy,
} from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
import { ResourceModel, TypeConfigurationModel } from './models';

type CallbackContext = Record<string, any>;
type Progress = ProgressEvent<ResourceModel, CallbackContext>;

class Resource extends BaseResource<ResourceModel> {
{{- range $i, $h := .Handlers}}
{{- if $i}}
{{end}}
{{- if eq .Action "Create"}}
    // Create the resource that request.desiredResourceState describes, set the read-only properties, and return
    //
    //     return ProgressEvent.success<Progress>(model);
    //
    // The request is frozen: change a copy, new ResourceModel(request.desiredResourceState). The same
    // request.clientRequestToken must not create a second resource.
{{- else if eq .Action "Read"}}
    // Return all properties of the resource. If it does not exist:
    //
    //     throw new exceptions.NotFound(this.typeName, identifier);
{{- else if eq .Action "Update"}}
    // Change the resource to request.desiredResourceState and return all of its properties. If it does not
    // exist: throw new exceptions.NotFound(this.typeName, identifier). The state before is
    // request.previousResourceState.
{{- else if eq .Action "Delete"}}
    // Delete the resource and return SUCCESS without a model. If it does not exist:
    //
    //     throw new exceptions.NotFound(this.typeName, identifier);
{{- else if eq .Action "List"}}
    // Return the resources of the account in this region, with their primary identifiers at least:
    //
    //     return ProgressEvent.builder<Progress>().status(OperationStatus.Success).resourceModels(models).build();
{{- end}}
    @handlerEvent(Action.{{.Action}})
    public async {{.Function}}(
        session: Optional<SessionProxy>,
        request: ResourceHandlerRequest<ResourceModel>,
        callbackContext: CallbackContext,
        logger: LoggerProxy,
        typeConfiguration: TypeConfigurationModel
    ): Promise<Progress> {
{{- if eq .Action "Read"}}
        logger.log('read of {{$.TypeName}} is not written yet and returns the requested model: see src/handlers.ts');
        return ProgressEvent.success<Progress>(new ResourceModel(request.desiredResourceState));
{{- else}}
        return ProgressEvent.failed<Progress>(
            HandlerErrorCode.InternalFailure,
            '{{.Function}} of {{$.TypeName}} is not written yet: see src/handlers.ts'
        );
{{- end}}
    }
{{- end}}
}

export const resource = new Resource(ResourceModel.TYPE_NAME, ResourceModel, undefined, undefined, TypeConfigurationModel);

// What Lambda calls, and what tests call with the events of sam-tests.
export const entrypoint = resource.entrypoint;
export const testEntrypoint = resource.testEntrypoint;
