/**
 * Calls the code of the custom resource {{.ResourceType}}, as CloudFormation does, and makes its response that of a handler.
 */
import { spawn } from 'child_process';
{{- if not .Read}}
import { createHash } from 'crypto';
{{- end}}
import { mkdtempSync, readFileSync, rmSync } from 'fs';
import { tmpdir } from 'os';
import * as path from 'path';
import {
    exceptions,
    HandlerErrorCode,
    LoggerProxy,
    OperationStatus,
    Optional,
    ProgressEvent,
    ResourceHandlerRequest,
    SessionProxy,
} from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
import { ResourceModel } from './models';

export type CallbackContext = Record<string, any>;
export type Progress = ProgressEvent<ResourceModel, CallbackContext>;
type Properties = Record<string, any>;

const TYPE_NAME = '{{.TypeName}}';
const RESOURCE_TYPE = '{{.ResourceType}}'; // in requests to the code
const HANDLER = {{json .Handler}}; // its module and function in the folder custom
{{- if .Read}}
const READ = {{json .ReadFunction}}; // the function that reads a resource: function(event, context)
{{- end}}

// Properties whose names in the custom resource cannot be those of a schema.
const NAMES: Record<string, string> = {{json .Names}};
// Read-only properties, with the keys of Data that they are.
const ATTRIBUTES: Record<string, string> = {{json .Attributes}};
const WRITE_ONLY: string[] = {{json .WriteOnly}};
{{- if not .Read}}
const SECRETS: string[] = {{json .Secrets}};
// What is kept beside the properties: code makes identifiers of the stack and the logical ID that a resource was created with.
const STACK = 'stack ID';
const LOGICAL = 'logical ID';
{{- end}}
// The environment variables of the function.
const ENVIRONMENT: Record<string, string> = {{json .Environment}};

const SECONDS = 50; // a handler has a minute for a call

/** A response, as CloudFormation gets it. */
interface Answer {
    Status: string;
    Reason?: string;
    PhysicalResourceId?: string;
    Data?: Properties;
}

export class CustomResource {
    private readonly identifier: string;
    private stack: string;
    private logical: string;

    constructor(
        private readonly session: Optional<SessionProxy>,
        private readonly request: ResourceHandlerRequest<ResourceModel>,
        private readonly logger: LoggerProxy
    ) {
        this.identifier = modelOf(request.desiredResourceState).{{.Identifier}} || modelOf(request.previousResourceState).{{.Identifier}};
        const account = request.awsAccountId || '000000000000';
        const place = `${request.awsPartition || 'aws'}:cloudformation:${request.region || 'us-east-1'}:${account}`;
        this.stack = `arn:${place}:stack/none/${request.clientRequestToken}`; // requests have none
        this.logical = request.logicalResourceIdentifier || 'Resource';
    }

    async create(): Promise<Progress> {
        const model = modelOf(this.request.desiredResourceState);
        const answer = await this.call('Create', propertiesOf(model));
        if (answer.Status === 'FAILED') {
            // CloudFormation deletes what a custom resource has created before it failed.
            const unknown = `${this.logical}-${this.request.clientRequestToken.slice(0, 12)}`;
            await this.call('Delete', propertiesOf(model), answer.PhysicalResourceId || unknown);
            return failed(answer);
        }
{{- if not .Read}}
        try {
            await this.keep(completed(model, answer, {}, SECRETS));
        } catch (error) {
            await this.call('Delete', propertiesOf(model), answer.PhysicalResourceId); // nothing would know it
            throw error;
        }
{{- end}}
        return succeeded(completed(model, answer, {}));
    }

    async update(): Promise<Progress> {
        const model = modelOf(this.request.desiredResourceState);
{{- if .Read}}
        await this.found();
        const old = modelOf(this.request.previousResourceState);
{{- else}}
        const old: Properties = { ...(await this.kept()), ...modelOf(this.request.previousResourceState) };
{{- end}}
        const properties = propertiesOf(model);
        const before = propertiesOf(old);
        const answer = await this.call('Update', properties, this.identifier, before);
        if (answer.Status === 'FAILED') {
            return failed(answer);
        }
        if (answer.PhysicalResourceId !== this.identifier) {
            // The code has made another resource. CloudFormation would have to be told before: undo it.
            await this.call('Delete', properties, answer.PhysicalResourceId);
            const changed = [...new Set([...Object.keys(model), ...Object.keys(old)])]
                .filter((name) => isProperty(name) && JSON.stringify(model[name]) !== JSON.stringify(old[name]))
                .sort();
            return ProgressEvent.failed<Progress>(
                HandlerErrorCode.NotUpdatable,
                'the code of the custom resource made another resource: add the property that needs one to createOnlyProperties ' +
                    `in the schema; changed: ${changed.join(', ')}`
            );
        }
{{- if not .Read}}
        await this.keep(completed(model, answer, old, SECRETS));
{{- end}}
        return succeeded(completed(model, answer, old));
    }

    async delete(): Promise<Progress> {
{{- if .Read}}
        await this.found();
        const model = modelOf(this.request.desiredResourceState);
{{- else}}
        const model: Properties = { ...(await this.kept()), ...modelOf(this.request.desiredResourceState) };
{{- end}}
        const answer = await this.call('Delete', propertiesOf(model), this.identifier);
        if (answer.Status === 'FAILED') {
            return failed(answer);
        }
{{- if not .Read}}
        await this.ssm().makeRequestPromise('deleteParameter', { Name: this.parameter(this.identifier) });
{{- end}}
        return ProgressEvent.builder<Progress>().status(OperationStatus.Success).build();
    }

    async read(): Promise<Progress> {
{{- if .Read}}
        return succeeded(await this.found());
    }

    /** Returns the model of the resource as the function READ finds it. */
    private async found(): Promise<Properties> {
        this.known();
        const answer = await this.call('Read', {}, this.identifier);
        if (answer.Status === 'FAILED') {
            throw new exceptions.GeneralServiceException(answer.Reason);
        }
        if (answer.Data === undefined || answer.Data === null) {
            throw new exceptions.NotFound(TYPE_NAME, this.identifier);
        }
        const back = Object.fromEntries(Object.entries(NAMES).map(([name, wire]) => [wire, name]));
        const attributes = Object.values(ATTRIBUTES);
        const model: Properties = {};
        for (const [name, value] of Object.entries(answer.Data)) {
            if (!attributes.includes(name)) {
                model[back[name] || name] = value;
            }
        }
        return completed(model, { Status: 'SUCCESS', PhysicalResourceId: this.identifier, Data: answer.Data }, {});
    }
{{- else}}
        this.logger.log(`READ of ${TYPE_NAME} is not written yet and returns what the code returned last: see read in src/handlers.ts`);
        return succeeded(completed({}, { Status: 'SUCCESS', PhysicalResourceId: this.identifier }, await this.kept()));
    }

    /** The name of the parameter of Systems Manager that keeps what the code returned last. */
    private parameter(identifier: string): string {
        return `/${TYPE_NAME.replace(/::/g, '-')}/${createHash('sha256').update(identifier).digest('hex').slice(0, 32)}`;
    }

    /** Keeps the attributes for READ, and the properties without secrets for a Delete that has only the identifier. */
    private async keep(model: Properties): Promise<void> {
        await this.ssm().makeRequestPromise('putParameter', {
            Name: this.parameter(model.{{.Identifier}}),
            Value: JSON.stringify({ ...model, [STACK]: this.stack, [LOGICAL]: this.logical }),
            Type: 'SecureString',
            Overwrite: true,
            Tier: 'Intelligent-Tiering',
        });
    }

    /** Returns what was kept of the resource, with whose stack and logical ID the code is called from now on. */
    private async kept(): Promise<Properties> {
        this.known();
        try {
            const found: any = await this.ssm().makeRequestPromise('getParameter', {
                Name: this.parameter(this.identifier),
                WithDecryption: true,
            });
            const { [STACK]: stack, [LOGICAL]: logical, ...kept } = JSON.parse(found.Parameter.Value);
            this.stack = stack;
            this.logical = logical;
            return kept;
        } catch (error) {
            if ((error as any).code === 'ParameterNotFound') {
                throw new exceptions.NotFound(TYPE_NAME, this.identifier);
            }
            throw error;
        }
    }
{{- end}}

{{- if not .Read}}

    private ssm(): any {
        return this.session.client('SSM');
    }
{{- end}}

    private known(): void {
        if (!this.identifier) {
            throw new exceptions.NotFound(TYPE_NAME, 'without {{.Identifier}}');
        }
    }

    /** Runs the code in a process of its own, with the credentials of the request, and returns its response. */
    private async call(kind: string, properties: Properties, identifier?: string, old?: Properties): Promise<Answer> {
        const { request } = this;
        const partition = request.awsPartition || 'aws';
        const region = request.region || 'us-east-1';
        const account = request.awsAccountId || '000000000000';
        const token = `arn:${partition}:lambda:${region}:${account}:function:${TYPE_NAME.replace(/::/g, '-')}`;
        const event: Properties = {
            RequestType: kind,
            ServiceToken: token,
            ResponseURL: '', // that of the process
            StackId: this.stack,
            RequestId: request.clientRequestToken,
            LogicalResourceId: this.logical,
            ResourceType: RESOURCE_TYPE,
            ResourceProperties: { ...properties, ServiceToken: token },
        };
        if (identifier) {
            event.PhysicalResourceId = identifier;
        }
        if (old) {
            event.OldResourceProperties = { ...old, ServiceToken: token };
        }
        const scratch = mkdtempSync(path.join(tmpdir(), 'custom-'));
        const result = path.join(scratch, 'response.json');
        const handler = {{if .Read}}kind === 'Read' ? READ : {{end}}HANDLER;
        const order = JSON.stringify({ event, function: handler, seconds: SECONDS, result, token });
        const top = path.dirname(__dirname);
        try {
            await new Promise<void>((resolve, reject) => {
                const child = spawn(process.execPath, [path.join(top, 'custom-runner.cjs'), path.join(top, 'custom')], {
                    stdio: ['pipe', 'inherit', 'inherit'],
                    env: { ...process.env, ...ENVIRONMENT, ...this.credentials(), AWS_REGION: region, AWS_DEFAULT_REGION: region },
                });
                const timer = setTimeout(() => child.kill('SIGKILL'), (SECONDS + 5) * 1000);
                child.on('error', reject);
                child.on('close', () => {
                    clearTimeout(timer);
                    resolve();
                });
                child.stdin.on('error', () => undefined); // a process that ended early has no response
                child.stdin.end(order);
            });
            return JSON.parse(readFileSync(result, 'utf8'));
        } catch (error) {
            this.logger.log(`no response of the custom resource: ${error}`);
            return { Status: 'FAILED', Reason: `the code of the custom resource sent no response within ${SECONDS} seconds` };
        } finally {
            rmSync(scratch, { recursive: true, force: true });
        }
    }

    /** The credentials of the request. The code finds them in its environment, as in its own function. */
    private credentials(): Record<string, string> {
        const found = this.session?.configuration?.credentials as any;
        if (!found) {
            return {};
        }
        return { AWS_ACCESS_KEY_ID: found.accessKeyId, AWS_SECRET_ACCESS_KEY: found.secretAccessKey, AWS_SESSION_TOKEN: found.sessionToken || '' };
    }
}

function modelOf(state?: ResourceModel): Properties {
    return state ? JSON.parse(JSON.stringify(state)) : {};
}

/** Reports whether templates set a property. */
function isProperty(name: string): boolean {
    return name !== '{{.Identifier}}' && !Object.keys(ATTRIBUTES).some((path) => path.split('.')[0] === name);
}

/** Returns the properties as a custom resource gets them: without attributes, and with all scalars as strings. */
function propertiesOf(model: Properties): Properties {
    const out: Properties = {};
    for (const [name, value] of Object.entries(model)) {
        if (isProperty(name) && value !== null && value !== undefined) {
            out[NAMES[name] || name] = stringified(value);
        }
    }
    return out;
}

function stringified(value: any): any {
    if (Array.isArray(value)) {
        return value.map(stringified);
    }
    if (value !== null && typeof value === 'object') {
        return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, stringified(item)]));
    }
    return textOf(value);
}

function textOf(value: any): string {
    return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns a model with the identifier and the attributes of a response, and without write-only values. */
function completed(model: Properties, answer: Answer, old: Properties, hidden = WRITE_ONLY): Properties {
    const out = JSON.parse(JSON.stringify(model));
    out.{{.Identifier}} = answer.PhysicalResourceId;
    for (const [place, wire] of Object.entries(ATTRIBUTES)) {
        const value = lookup(answer.Data || {}, wire) ?? lookup(old, place);
        if (value !== undefined && value !== null) {
            const above = place.split('.');
            const name = above.pop();
            let at = out;
            for (const part of above) {
                at = at[part] = at[part] || {};
            }
            at[name] = textOf(value);
        }
    }
    for (const place of hidden) {
        const above = place.split('/');
        const name = above.pop();
        const at = above.reduce((value, part) => value?.[part], out);
        if (at) {
            delete at[name];
        }
    }
    return out;
}

/** Finds a key with dots in it as one key, or as a path. */
function lookup(data: Properties, place: string): any {
    if (Object.prototype.hasOwnProperty.call(data, place)) {
        return data[place];
    }
    return place.split('.').reduce((value: any, part) => value?.[part], data);
}

function succeeded(model: Properties): Progress {
    return ProgressEvent.success<Progress>(ResourceModel.deserialize(model));
}

function failed(answer: Answer): Progress {
    return ProgressEvent.failed<Progress>(HandlerErrorCode.GeneralServiceException, answer.Reason || 'the code gave no reason');
}
