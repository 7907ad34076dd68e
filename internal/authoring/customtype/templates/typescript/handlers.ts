/**
 * The handlers of {{.TypeName}}, which call the code of the custom resource {{.ResourceType}} in the folder custom.
 */
import {
    Action,
    BaseResource,
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
    public async create(session: Optional<SessionProxy>, request: Request, _context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
        return new CustomResource(session, request, logger).create();
    }

    @handlerEvent(Action.Update)
    public async update(session: Optional<SessionProxy>, request: Request, _context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
        return new CustomResource(session, request, logger).update();
    }

    @handlerEvent(Action.Delete)
    public async delete(session: Optional<SessionProxy>, request: Request, _context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
        return new CustomResource(session, request, logger).delete();
    }

    @handlerEvent(Action.Read)
    public async read(session: Optional<SessionProxy>, request: Request, _context: CallbackContext, logger: LoggerProxy): Promise<Progress> {
{{- if not .Read}}
        // Next: return all properties of the resource that request.desiredResourceState names, or throw
        // new exceptions.NotFound(this.typeName, identifier), and remove what you return from writeOnlyProperties in the
        // schema.
{{- end}}
        return new CustomResource(session, request, logger).read();
    }
}

export const resource = new Resource(ResourceModel.TYPE_NAME, ResourceModel, undefined, undefined, TypeConfigurationModel);

// What Lambda calls, and what tests call with the events of sam-tests.
export const entrypoint = resource.entrypoint;
export const testEntrypoint = resource.testEntrypoint;
