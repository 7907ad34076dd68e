/**
 * The handlers of Initech::TPS::Report.
 *
 * Reports are files in a folder, see archive.ts. The archive takes its time, as real services do: what is
 * filed or shredded is settled only after it was asked about it a few times. So CREATE, UPDATE and DELETE
 * return IN_PROGRESS and wait for it from one call to the next.
 */
import { createHash } from 'crypto';

import {
    Action,
    BaseResource,
    exceptions,
    handlerEvent,
    Integer,
    LoggerProxy,
    OperationStatus,
    Optional,
    ProgressEvent,
    ResourceHandlerRequest,
    SessionProxy,
} from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
import { Archive, NoReport } from './archive';
import { ResourceModel, TypeConfigurationModel } from './models';

interface CallbackContext extends Record<string, any> {
    filed?: boolean;
    shredding?: boolean;
}

type Request = ResourceHandlerRequest<ResourceModel>;
type Progress = ProgressEvent<ResourceModel, CallbackContext>;

const DEFAULT_PRIORITY = 3;

class Resource extends BaseResource<ResourceModel> {
    private readonly archive = new Archive();

    @handlerEvent(Action.Create)
    public async create(
        session: Optional<SessionProxy>,
        request: Request,
        callbackContext: CallbackContext,
        logger: LoggerProxy,
        typeConfiguration: TypeConfigurationModel
    ): Promise<Progress> {
        const model = desired(request);
        if (!callbackContext.filed) {
            this.checkCoverSheet(model, typeConfiguration);
            model.id = numberOf(request.clientRequestToken);
            complete(model);
            this.archive.file(model.serialize(), request.desiredResourceTags);
            return inProgress(model, { filed: true });
        }
        return this.settle(model);
    }

    @handlerEvent(Action.Read)
    public async read(session: Optional<SessionProxy>, request: Request): Promise<Progress> {
        return this.found(desired(request).id);
    }

    @handlerEvent(Action.Update)
    public async update(
        session: Optional<SessionProxy>,
        request: Request,
        callbackContext: CallbackContext,
        logger: LoggerProxy,
        typeConfiguration: TypeConfigurationModel
    ): Promise<Progress> {
        const model = desired(request);
        if (!callbackContext.filed) {
            this.checkCoverSheet(model, typeConfiguration);
            const entry = this.known(model.id, () => this.archive.get(model.id));
            complete(model);
            model.series = model.series || entry.report.Series;
            if (model.series !== entry.report.Series) {
                throw new exceptions.NotUpdatable(`the series of report ${model.id} cannot be changed`);
            }
            this.archive.refile(entry, model.serialize(), request.desiredResourceTags);
            return inProgress(model, { filed: true });
        }
        return this.settle(model);
    }

    @handlerEvent(Action.Delete)
    public async delete(session: Optional<SessionProxy>, request: Request, callbackContext: CallbackContext): Promise<Progress> {
        const model = desired(request);
        if (!callbackContext.shredding) {
            this.known(model.id, () => this.archive.shred(model.id, request.clientRequestToken));
            return inProgress(model, { shredding: true });
        }
        try {
            this.archive.settled(model.id);
        } catch (error) {
            if (error instanceof NoReport) {
                return ProgressEvent.success<Progress>();
            }
            throw error;
        }
        return inProgress(model, { shredding: true });
    }

    // The library does not pass the token of a page, so all reports are one page.
    @handlerEvent(Action.List)
    public async list(session: Optional<SessionProxy>, request: Request): Promise<Progress> {
        const models = this.archive.numbers(request.nextToken || '').map((id) => new ResourceModel({ id }));
        return ProgressEvent.builder<Progress>().status(OperationStatus.Success).resourceModels(models).build();
    }

    private checkCoverSheet(model: ResourceModel, typeConfiguration?: TypeConfigurationModel): void {
        if (typeConfiguration?.requireCoverSheet && !model.coverSheet) {
            throw new exceptions.InvalidRequest(
                `the report has no cover sheet, which the configuration of ${this.typeName} requires; did you get the memo?`
            );
        }
    }

    /** Does something with a report that may not exist. */
    private known<T>(id: Optional<string>, action: () => T): T {
        try {
            return action();
        } catch (error) {
            throw error instanceof NoReport ? new exceptions.NotFound(this.typeName, String(id)) : error;
        }
    }

    private settle(model: ResourceModel): Progress {
        return this.known(model.id, () => this.archive.settled(model.id)) ? this.found(model.id) : inProgress(model, { filed: true });
    }

    private found(id: Optional<string>): Progress {
        const { report } = this.known(id, () => this.archive.get(id));
        return ProgressEvent.success<Progress>(ResourceModel.deserialize(report));
    }
}

/** The model of a request, which is frozen, as a copy that can be changed. */
function desired(request: Request): ResourceModel {
    return new ResourceModel(request.desiredResourceState);
}

/** The same request files the same report again, and no second one. */
function numberOf(token: string): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz234567';
    const hash = createHash('sha256').update(token).digest();
    return `tps-${Array.from(hash.subarray(0, 12), (byte) => letters[byte % letters.length]).join('')}`;
}

function complete(model: ResourceModel): void {
    model.fileName = `${model.id}.json`;
    model.priority = model.priority ?? Integer(DEFAULT_PRIORITY);
}

function inProgress(model: ResourceModel, context: CallbackContext): Progress {
    model.reviewCode = undefined; // write-only
    return ProgressEvent.builder<Progress>()
        .status(OperationStatus.InProgress)
        .resourceModel(model)
        .callbackContext(context)
        .callbackDelaySeconds(1)
        .build();
}

export const resource = new Resource(ResourceModel.TYPE_NAME, ResourceModel, undefined, undefined, TypeConfigurationModel);

// What Lambda calls, and what tests call with the events of sam-tests.
export const entrypoint = resource.entrypoint;
export const testEntrypoint = resource.testEntrypoint;
