{{- $api := .API -}}
/**
 * The handlers of {{.TypeName}}.
 *
 * They call {{$api.Service}} with the client in client.ts. api.ts says which properties each operation sends and
 * returns, and where. The handlers are yours: cfn generate keeps what you change here.
 */
import {
    Action,
    BaseResource,
    exceptions,
    handlerEvent,
    LoggerProxy,
    OperationStatus,
    Optional,
    ProgressEvent,
    ResourceHandlerRequest,
    SessionProxy,
} from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
import { api } from './api';
import { Client } from './client';
import { ResourceModel, TypeConfigurationModel } from './models';
import { {{.Imports}} } from './wire';

interface CallbackContext extends Record<string, any> {
{{- if eq $api.Find "identifier"}}
    checked?: boolean; // nothing had the identifier
{{- end}}
    identifier?: Values; // of the resource that was created
{{- if $api.TagLater}}
    tagged?: boolean;
{{- end}}
{{- if $api.HasUpdate}}
    updated?: number; // how many updates are done
{{- end}}
    deleting?: boolean;
    tries?: number;
}

type Request = ResourceHandlerRequest<ResourceModel>;
type Progress = ProgressEvent<ResourceModel, CallbackContext>;

const DELAY_SECONDS = {{$api.Delay}};
const MAX_TRIES = {{.Tries}};
const TRANSIENT = ['Throttling', 'NetworkFailure', 'ServiceInternalError']; // errors that may not occur again

class Resource extends BaseResource<ResourceModel> {
    // {{$api.Create}}, then {{$api.Read}} until it returns the resource{{if $api.Wait}} in the right state{{end}}.
    @handlerEvent(Action.Create)
    public async create(
        session: Optional<SessionProxy>,
        request: Request,
        context: CallbackContext,
        logger: LoggerProxy,
        configuration: TypeConfigurationModel
    ): Promise<Progress> {
        const client = connect(session, request, configuration);
        try {
            return await this.creating(client, request, context);
        } catch (error) {
            // A first call that is repeated as a whole can make a second resource.
            if (Object.keys(context).length === 0 || !hasCode(error, ...TRANSIENT)) {
                throw error;
            }
            return this.later({ ...valuesOf(request.desiredResourceState), ...context.identifier }, context, error);
        }
    }

    // {{$api.Read}}
    @handlerEvent(Action.Read)
    public async read(
        session: Optional<SessionProxy>,
        request: Request,
        context: CallbackContext,
        logger: LoggerProxy,
        configuration: TypeConfigurationModel
    ): Promise<Progress> {
        const client = connect(session, request, configuration);
        const desired = {{if $api.Additional}}await this.locate(client, valuesOf(request.desiredResourceState)){{else}}valuesOf(request.desiredResourceState){{end}};
        return success(await this.get(client, desired));
    }
{{- if $api.HasUpdate}}

{{- range $api.Updates}}
{{- if eq .Index 0}}

    // Calls the operations whose properties change, one in each call of the handler:
{{- end}}
    // {{.Name}}: {{.Properties}}
{{- else}}

    // Changes the tags.
{{- end}}
    @handlerEvent(Action.Update)
    public async update(
        session: Optional<SessionProxy>,
        request: Request,
        context: CallbackContext,
        logger: LoggerProxy,
        configuration: TypeConfigurationModel
    ): Promise<Progress> {
        const client = connect(session, request, configuration);
        const desired = {{if $api.Additional}}await this.locate(client, valuesOf(request.desiredResourceState)){{else}}valuesOf(request.desiredResourceState){{end}};
        const live = context.updated ? await this.ready(client, desired) : await this.get(client, desired);
        if (!live) {
            return this.later(desired, context);
        }
{{- if or $api.Updates $api.CreateOnly}}
        const before = valuesOf(request.previousResourceState);
        const previous = Object.keys(before).length > 0 ? before : live;
{{- end}}
{{- if $api.CreateOnly}}
        for (const name of [{{$api.CreateOnly}}]) {
            const [wanted, ...known] = [desired, previous, live].map((values) => valueAt(values, name.split('/')) ?? undefined);
            if (wanted !== undefined && known.some((value) => value !== undefined) && !known.some((value) => equal(value, wanted))) {
                throw new exceptions.NotUpdatable(`${name} of ${nameOf(desired)} cannot be changed`);
            }
        }
{{- end}}
{{- if $api.Updates}}
        for (let n = context.updated ?? 0; n < api.update.length; n++) {
            if (await client.update(api.update[n], desired, previous, live)) {
                return inProgress(desired, { updated: n + 1 });
            }
        }
{{- end}}
{{- if $api.Tags}}
        const tagged = {{len $api.Updates}} + 1;
        if (context.updated !== tagged && (await client.changeTags(api.tags, live, tagsOf(request)))) {
            return inProgress(desired, { updated: tagged });
        }
{{- end}}
        return success(live{{if .Unread}}, desired{{end}});
    }
{{- end}}

    // {{$api.Delete}}, then {{$api.Read}} until it finds nothing.
    @handlerEvent(Action.Delete)
    public async delete(
        session: Optional<SessionProxy>,
        request: Request,
        context: CallbackContext,
        logger: LoggerProxy,
        configuration: TypeConfigurationModel
    ): Promise<Progress> {
        const client = connect(session, request, configuration);
        const desired = { ...valuesOf(request.desiredResourceState), ...context.identifier };
        if (context.deleting) {
            try {
                await this.get(client, desired);
            } catch (error) {
                if (hasCode(error, 'NotFound')) {
                    return ProgressEvent.success<Progress>();
                }
                if (!hasCode(error, ...TRANSIENT)) {
                    throw error;
                }
            }
            return this.later(desired, context);
        }
        const live = await this.get(client, {{if $api.Additional}}await this.locate(client, desired){{else}}desired{{end}});
        await found(client.call(api.delete, { ...desired, ...live })); // another delivery may have deleted it
        const identifier = only(live, api.identifier);
        return inProgress(identifier, { deleting: true, identifier });
    }
{{- if $api.List}}

    // {{$api.List}}. The library does not pass the token of a page, so all resources are one page.
    @handlerEvent(Action.List)
    public async list(
        session: Optional<SessionProxy>,
        request: Request,
        context: CallbackContext,
        logger: LoggerProxy,
        configuration: TypeConfigurationModel
    ): Promise<Progress> {
        const client = connect(session, request, configuration);
        const models: ResourceModel[] = [];
        for await (const item of client.list(api.list, valuesOf(request.desiredResourceState))) {
{{- if $api.Gone}}
            if (![{{$api.Gone}}].includes(item.{{$api.Wait}})) {
                models.push(modelOf(item));
            }
{{- else}}
            models.push(modelOf(item));
{{- end}}
        }
        return ProgressEvent.builder<Progress>().status(OperationStatus.Success).resourceModels(models).build();
    }
{{- end}}

    /** Takes the next step of a create. */
    private async creating(client: Client, request: Request, context: CallbackContext): Promise<Progress> {
        const desired = { ...valuesOf(request.desiredResourceState), ...context.identifier };
{{- if eq $api.Find "identifier"}}
        if (!context.checked) {
            if (await found(this.get(client, desired))) {
                throw new exceptions.AlreadyExists(this.typeName, nameOf(desired));
            }
            return inProgress(desired, { checked: true });
        }
{{- end}}
        if (!context.identifier) {
            return inProgress(desired, { ...context, identifier: await this.make(client, {{if $api.TagOnCreate}}request, {{end}}desired) });
        }
{{- if $api.TagLater}}
        if (!context.tagged) {
            const made = await found(this.get(client, desired));
            if (!made) {
                return this.later(desired, context);
            }
            await client.changeTags(api.tags, made, tagsOf(request));
            return inProgress(desired, { ...context, tagged: true });
        }
{{- end}}
        const live = await this.ready(client, desired);
{{- if $api.Later}}
        if (!live) {
            return this.later(desired, context);
        }
        // What {{$api.Create}} does not set.
        const sent = only(desired, (api.create.send ?? []).map(({ property }) => property));
        for (let n = context.updated ?? 0; n < api.update.length; n++) {
            if (await client.update(api.update[n], desired, sent, live)) {
                return inProgress(desired, { ...context, updated: n + 1 });
            }
        }
        return success(live{{if .Unread}}, desired{{end}});
{{- else}}
        return live ? success(live{{if .Unread}}, desired{{end}}) : this.later(desired, context);
{{- end}}
    }

    // {{$api.Create}}. Returns the identifier of the resource.
    private async make(client: Client, {{if $api.TagOnCreate}}request: Request, {{end}}desired: Values): Promise<Values> {
{{- if $api.TagOnCreate}}
        const tags = tagsFromMap(api.tags.form, tagsOf(request));
        const values = { ...desired, [api.tags.property]: tags };
{{- end}}
{{- if eq $api.Find "identifier"}}
        let made: Values = {};
        try {
            made = await client.call(api.create, {{.Values}});
        } catch (error) {
            if (!hasCode(error, 'AlreadyExists', 'ResourceConflict')) {
                throw error;
            } // otherwise it was made by an earlier delivery, whose response was lost
        }
{{- else if eq $api.Find "list"}}
        const others = new Set<string>();
        for await (const other of this.same(client, desired, [{{.Unique}}])) {
            others.add(nameOf(other));
        }
        let made: Optional<Values>;
        try {
            made = await client.call(api.create, {{.Values}});
        } catch (error) {
            // The response may be lost: a new resource with the same {{$api.Unique}} is this one.
            if (hasCode(error, 'NetworkFailure', 'ServiceInternalError', 'GeneralServiceException')) {
                for await (const other of this.same(client, desired, [{{.Unique}}])) {
                    made = others.has(nameOf(other)) ? made : other;
                }
            }
            if (!made) {
                throw error;
            }
        }
{{- else}}
{{- if eq $api.Find "token"}}
        // Another delivery sends the same token, which makes no second resource.
{{- end}}
        const made = await client.call(api.create, {{.Values}});
{{- end}}
        const identifier = only({ ...desired, ...made }, api.identifier);
        if (Object.keys(identifier).length < api.identifier.length) {
            throw new exceptions.GeneralServiceException(`${api.create.name} returns no identifier`);
        }
        return identifier;
    }

    /** Returns the resource with the identifier in some properties. The error is NotFound if it does not exist. */
    private async get(client: Client, desired: Values): Promise<Values> {
        const identifier = only(desired, api.identifier);
        if (Object.keys(identifier).length < api.identifier.length) {
            throw new exceptions.NotFound(this.typeName, nameOf(desired));
        }
{{- if or $api.Gone $api.TagList}}
        const live = { ...identifier, ...(await client.call(api.read, desired)) };
{{- else}}
        return { ...identifier, ...(await client.call(api.read, desired)) };
{{- end}}
{{- if $api.Gone}}
        if ([{{$api.Gone}}].includes(live.{{$api.Wait}})) {
            throw new exceptions.NotFound(this.typeName, nameOf(desired));
        }
{{- end}}
{{- if $api.TagList}}
        const tags = await client.tags(api.tags, live);
        return { ...live, ...(tags && { [api.tags.property]: tags }) };
{{- else if $api.Gone}}
        return live;
{{- end}}
    }

    /** Returns the resource once the service has done what was requested, and undefined before. */
    private async ready(client: Client, desired: Values): Promise<Optional<Values>> {
        let live: Values;
        try {
            live = await this.get(client, desired);
        } catch (error) {
            // Reads may lag behind.
            if (hasCode(error, 'NotFound', ...TRANSIENT)) {
                return undefined;
            }
            throw error;
        }
{{- if or $api.Success (or $api.Failure $api.Pending)}}
        const status = live.{{$api.Wait}};
{{- if $api.Failure}}
        if ([{{$api.Failure}}].includes(status)) {
            throw new exceptions.NotStabilized(`{{$api.Wait}} of ${nameOf(desired)} is ${status}`);
        }
{{- end}}
{{- if $api.Success}}
        return [{{$api.Success}}].includes(status) ? live : undefined;
{{- else if $api.Pending}}
        return [{{$api.Pending}}].includes(status) ? undefined : live;
{{- else}}
        return live;
{{- end}}
{{- else}}
        return live;
{{- end}}
    }

    /** Continues in another call of the handler, unless there were too many of them. */
    private later(desired: Values, context: CallbackContext, error?: unknown): Progress {
        const tries = (context.tries ?? 0) + 1;
        if (tries > MAX_TRIES) {
            throw error ?? new exceptions.NotStabilized(`${nameOf(desired)} did not settle in time`);
        }
        return inProgress(desired, { ...context, tries }, DELAY_SECONDS);
    }
{{- if $api.Additional}}

    /** Returns the properties of a request with the primary identifier, which is looked up by an additional one. */
    private async locate(client: Client, desired: Values): Promise<Values> {
        if (api.identifier.every((name) => desired[name] !== undefined)) {
            return desired;
        }
        for (const names of [{{.Additional}}]) {
            if (names.every((name) => desired[name] !== undefined)) {
                for await (const live of this.same(client, desired, names)) {
                    return { ...desired, ...only(live, api.identifier) };
                }
            }
        }
        return desired;
    }
{{- end}}
{{- if $api.Finds}}

    /** Returns the resources of the list that have the same values of some properties. */
    private async *same(client: Client, desired: Values, names: string[]): AsyncGenerator<Values, void, undefined> {
        for await (const item of client.list(api.list, desired)) {
            // The list may have less than the resource.
            const complete = names.every((name) => item[name] !== undefined);
            const live = complete ? item : await found(this.get(client, item));
            if (live && names.every((name) => equal(live[name], desired[name])){{if $api.Gone}} && ![{{$api.Gone}}].includes(live.{{$api.Wait}}){{end}}) {
                yield live;
            }
        }
    }
{{- end}}
}

function connect(session: Optional<SessionProxy>, request: Request, configuration: TypeConfigurationModel): Client {
    return new Client(api, configuration?.serialize() ?? {}, session, request);
}

/** Returns the result, or undefined if the resource does not exist. */
async function found<T>(result: Promise<T>): Promise<Optional<T>> {
    try {
        return await result;
    } catch (error) {
        if (hasCode(error, 'NotFound')) {
            return undefined;
        }
        throw error;
    }
}

function valuesOf(model: Optional<ResourceModel>): Values {
    return model?.serialize() ?? {};
}

function modelOf(values: Values): ResourceModel {
    try {
        return ResourceModel.deserialize(values as any) as ResourceModel;
    } catch (error: any) {
        const reason = `the API returned a value that does not fit the schema: ${error.message}`;
        throw new exceptions.GeneralServiceException(reason);
    }
}
{{- if $api.Tags}}

/** Returns the tags of a request, with those of its stack. */
function tagsOf(request: Request): Record<string, string> {
    const own = valuesOf(request.desiredResourceState)[api.tags.property];
    return { ...request.desiredResourceTags, ...tagsToMap(api.tags.form, own) };
}
{{- end}}

function nameOf(values: Values): string {
    return api.identifier.map((name) => values[name] ?? '').join('|');
}
{{- if .Unread}}

/** Ends an operation with the resource. Reads do not return some of the properties that were requested. */
function success(live: Values, desired: Values = {}): Progress {
    return ProgressEvent.success<Progress>(modelOf({ ...only(desired, [{{.Unread}}]), ...live }));
}
{{- else}}

function success(live: Values): Progress {
    return ProgressEvent.success<Progress>(modelOf(live));
}
{{- end}}

/** Continues in another call, whose request has these properties. */
function inProgress(values: Values, context: CallbackContext, seconds = 0): Progress {
    return ProgressEvent.builder<Progress>()
        .status(OperationStatus.InProgress)
        .resourceModel(modelOf({ ...values, ...context.identifier }))
        .callbackContext(context)
        .callbackDelaySeconds(seconds)
        .build();
}

export const resource = new Resource(
    ResourceModel.TYPE_NAME,
    ResourceModel,
    undefined,
    undefined,
    TypeConfigurationModel
);

// What Lambda calls, and what tests call with the events of sam-tests.
export const entrypoint = resource.entrypoint;
export const testEntrypoint = resource.testEntrypoint;
