/**
 * The handlers of {{.TypeName}}, which call the code of the custom resource {{.ResourceType}} in the folder custom.
 */
import {
    Action,
    BaseResource,
    {{- if not .Read}}
    exceptions,
    {{- end}}
    handlerEvent,
    LoggerProxy,
    Optional,
    ResourceHandlerRequest,
    SessionProxy,
} from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
import { CallbackContext, CustomResource, Progress } from './custom-resource';
import { ResourceModel, TypeConfigurationModel } from './models';

type Request = ResourceHandlerRequest<ResourceModel>;

class Resource extends BaseResource<ResourceModel> {
    @handlerEvent(Action.Create)
    public async create(session: Optional<SessionProxy>, request: Request, context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
        return new CustomResource(session, request, context, logger).create();
    }

    @handlerEvent(Action.Update)
    public async update(session: Optional<SessionProxy>, request: Request, context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
        return new CustomResource(session, request, context, logger).update();
    }

    @handlerEvent(Action.Delete)
    public async delete(session: Optional<SessionProxy>, request: Request, context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
        return new CustomResource(session, request, context, logger).delete();
    }

    @handlerEvent(Action.Read)
    public async read(session: Optional<SessionProxy>, request: Request, context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
{{- if .Read}}
        return new CustomResource(session, request, context, logger).read();
{{- else}}
        // Return all properties of the resource that request.desiredResourceState names:
        //
        //     return ProgressEvent.success<Progress>(new ResourceModel({...}));
        //
        // If it does not exist: throw new exceptions.NotFound(this.typeName, identifier). Then add "read" to the handlers
        // in the schema.
        throw new exceptions.InternalFailure('READ of {{.TypeName}} is not written yet: see read in src/handlers.ts');
{{- end}}
    }
}

export const resource = new Resource(ResourceModel.TYPE_NAME, ResourceModel, undefined, undefined, TypeConfigurationModel);

// What Lambda calls, and what tests call with the events of sam-tests.
export const entrypoint = resource.entrypoint;
export const testEntrypoint = resource.testEntrypoint;
