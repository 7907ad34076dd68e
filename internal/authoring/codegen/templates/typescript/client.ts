// {{.Marker}}

/**
 * A client of the API that src/api.ts describes: it authenticates, sends requests, and follows pages.
 */
import { createHash, createHmac } from 'crypto';
import { setTimeout as pause } from 'timers/promises';

import { exceptions, SessionProxy } from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
import {
    ApiError,
    Binding,
    Call,
    decode,
    encode,
    equal,
{{- if .API.Host}}
    fillHost,
{{- end}}
    fillPath,
{{- if not .API.XML}}
    formOf,
{{- end}}
    fromJSON,
    joined,
    Key,
    mergePatch,
    Message,
    only,
    Page,
    percent,
    place,
    TagCall,
    Tags,
    tagsFromMap,
    tagsToMap,
{{- if not .API.XML}}
    toJSON,
{{- end}}
    valueAt,
    Values,
} from './wire';
{{- if .API.XML}}
import { elements, fromXML, {{if .API.Query}}queryForm{{else}}toXML{{end}} } from './xml';
{{- end}}

/** The type configuration. */
export interface Configuration {
    Endpoint?: string;
    Region?: string;
    BearerToken?: string;
    Basic?: { Username?: string; Password?: string };
    OAuth?: { ClientId?: string; ClientSecret?: string; TokenUrl?: string; Scopes?: string };
    [property: string]: unknown;
}

const CALL_SECONDS = 25; // READ and LIST have 30
const RETRIES = 2;
const MAX_PAUSE_SECONDS = 5;
const MAX_RESPONSE = 8 << 20;
const MAX_PAGES = 1000;

/** A response without an error. */
interface Answer {
    body: any;
    headers: Headers;
}

type Position = string | number | undefined;

const accessTokens = new Map<string, { value: string; expires: number }>();

/** Calls the API during one call of a handler. */
export class Client {
    private readonly deadline: number;
    private readonly idempotencyToken: string; // the same in every delivery of the request
    private tokenKey = '';

    constructor(
        private readonly api: Binding,
        private readonly configuration: Configuration,
        private readonly session: SessionProxy | null | undefined,
        private readonly request: { region: string; clientRequestToken: string; logicalResourceIdentifier?: string }
    ) {
        this.deadline = Date.now() + CALL_SECONDS * 1000;
        this.idempotencyToken = uuidOf(`${request.clientRequestToken}/${request.logicalResourceIdentifier ?? ''}`);
    }

    /** Calls an operation with values of properties, and returns those that its response has. */
    async call(call: Call, values: Values): Promise<Values> {
{{- if .API.Among}}
        if (call.among) {
            for await (const item of this.list(call, values)) {
                if (this.api.identifier.every((name) => values[name] === undefined || equal(item[name], values[name]))) {
                    return item;
                }
            }
            throw new ApiError('NotFound', `${call.name}: the response does not have the resource`);
        }
{{- end}}
        const { body{{if .API.ETag}}, headers{{end}} } = await this.send(call, encode(this.api, call.send, values));
        return decode(this.api, call.receive, body{{if .API.ETag}}, headers{{end}});
    }

    /** Returns the items in the body of a response. */
    private itemsOf(call: Call, body: any): Values[] {
{{- if .API.XML}}
        const items = elements(valueAt(body, call.items ?? []));
{{- else}}
        const items = valueAt(body, call.items ?? []) ?? [];
        if (!Array.isArray(items)) {
            throw new ApiError('GeneralServiceException', `${call.name}: the response has no list`);
        }
{{- end}}
        return items.map((item) => decode(this.api, call.receive, item));
    }

    /** Returns the items of all pages of a list. Items do not repeat the identifiers of their parents. */
    async *list(call: Call, values: Values): AsyncGenerator<Values, void, undefined> {
        const { page } = call;
        const parents = only(values, this.api.identifier);
        const counted = page?.style === 'number' || page?.style === 'offset';
        let position: Position = counted ? (page.first ?? 0) : undefined;
        for (let n = 0; n < MAX_PAGES; n++) {
            const message = encode(this.api, call.send, values);
            if (page?.size && page.count) {
                place(message, page.size, page.count);
            }
            if (page && position !== undefined) {
                place(message, page, position);
            }
            const { body } = await this.send(call, message);
            const items = this.itemsOf(call, body).map((item) => ({ ...parents, ...item }));
            yield* items;
            const next: Position = page && this.nextPage(page, body, items, position);
            if (next === undefined || next === position) {
                return;
            }
            position = next;
        }
        throw new ApiError('GeneralServiceException', `${call.name}: more than ${MAX_PAGES} pages`);
    }

    private nextPage(page: Page, body: any, items: Values[], position: any): Position {
        const full = items.length > 0 && items.length >= (page.count ?? 1);
        switch (page.style) {
            case 'number':
                return full ? position + 1 : undefined;
            case 'offset':
                return full ? position + items.length : undefined;
            case 'last':
                return items[items.length - 1]?.[this.api.identifier[this.api.identifier.length - 1]];
            default: {
                const token = String(valueAt(body, page.next ?? []) ?? '');
                const query = new URLSearchParams(token.split('?')[1]); // the next page may be a URL
                return query.get(page.at[page.at.length - 1]) || token || undefined;
            }
        }
    }

    /**
     * Calls an update if properties that it sets differ from the previous ones, and reports whether it did. A partial
     * update sends only those; another one sends all. What the API requires and the model lacks is taken from the
     * live resource. What is removed gets an empty or default value, unless leaving it out removes it.
     */
    async update(call: Call, desired: Values, previous: Values, live: Values): Promise<boolean> {
        const merges = call.contentType?.startsWith('application/merge-patch+json');
        const resets = (call.send ?? []).filter(({ property, reset }) => !(property in desired) && reset !== undefined);
        const canSend = (name: string): boolean => name in desired || resets.some(({ property }) => property === name);
        const differs = (name: string): boolean => !equal(desired[name], previous[name]);
        const changed = call.changes?.filter((name) => differs(name) && (!call.partial || canSend(name)));
        if (!changed?.length) {
            return false;
        }
        const unchanged = call.changes?.filter((name) => call.partial && !changed.includes(name)) ?? [];
        const send = (call.send ?? []).filter(({ property, required }) => required || !unchanged.includes(property));
        const required = send.filter((bound) => bound.required).map(({ property }) => property);
        const read = send.filter((bound) => bound.live).map(({ property }) => property);
        const replaces = call.method === 'PUT' && !call.partial && this.api.protocol === 'openapi'; // leaving out removes
        const reset = resets.filter((bound) => (!replaces || bound.required) && changed.includes(bound.property));
        const message = encode(this.api, send, { ...only(live, required), ...desired, ...only(live, read) }, reset);
        if (merges) {
            message.body = mergePatch(
                message.body,
                encode(this.api, send, { ...desired, ...only(previous, changed) }).body
            );
        }
        await this.send(call, message);
        return true;
    }

    /** Returns the tags of a resource in the form of the property, or undefined without any. */
    async tags({ property, form, list }: Tags, values: Values): Promise<any> {
        if (!list) {
            return values[property];
        }
        const { body } = await this.send(list.call, encode(this.api, list.call.send, values));
        const found = {{if .API.XML}}elements(valueAt(body, list.at)){{else}}valueAt(body, list.at){{end}};
        const tags = tagsToMap(list.form, found);
        return Object.keys(tags).length > 0 ? tagsFromMap(form, tags) : undefined;
    }

    /** Gives a resource other tags, and reports whether it had others. */
    async changeTags(
        { property, form, tag, untag }: Tags,
        live: Values,
        tags: Record<string, string>
    ): Promise<boolean> {
        const before = tagsToMap(form, live[property]);
        const gone = Object.keys(before).filter((key) => !(key in tags)).sort();
        const set = Object.entries(tags).filter(([key, value]) => before[key] !== value);
        if (gone.length > 0) {
            await this.sendTags(untag, live, gone);
        }
        if (set.length > 0) {
            await this.sendTags(tag, live, tagsFromMap(tag.form, Object.fromEntries(set)));
        }
        return gone.length + set.length > 0;
    }

    private async sendTags(tagCall: TagCall, values: Values, tags: any): Promise<void> {
        const message = encode(this.api, tagCall.call.send, values);
        place(message, tagCall, tags);
        await this.send(tagCall.call, message);
    }

    /** Sends a request and returns its response. Reads are tried again if the API is throttling. */
    private async send(call: Call, message: Message): Promise<Answer> {
        const { read, list, tags } = this.api;
        const retries = call.method === 'GET' || [read, list, tags?.list?.call].includes(call) ? RETRIES : 0;
{{- if not .API.XML}}
        if (call.envelope && !message.body?.[call.envelope]) {
            place(message, { in: 'body', at: [call.envelope] }, {});
        }
{{- end}}
        for (const fixed of call.fixed ?? []) {
            place(message, fixed, fixed.value);
        }
        if (call.token) {
            place(message, call.token, this.idempotencyToken);
        }
        for (let attempt = 0; ; attempt++) {
            try {
                return await this.sendOnce(call, message);
            } catch (error) {
                if (!(error instanceof ApiError) || attempt >= retries) {
                    throw error;
                }
                const busy = error.status === 429 || error.status === 503 || error.errorCode === 'Throttling';
                const seconds = error.retryAfter || 0.2 * 2 ** attempt;
                if (!busy || seconds > MAX_PAUSE_SECONDS || Date.now() + seconds * 1000 >= this.deadline) {
                    throw error;
                }
                await pause(seconds * 1000);
            }
        }
    }

    private async sendOnce(call: Call, message: Message, again = true): Promise<Answer> {
        const headers: Record<string, string> = { accept: {{if .API.XML}}'application/xml'{{else}}call.accept ?? 'application/json'{{end}}, ...message.headers };
        const query = [...message.query];
        const body = this.bodyOf(call, message.body, headers);
        const path = fillPath(call, message.labels);
        const endpoint = this.endpoint({{if .API.Host}}fillHost(call, message.labels){{end}});
        await this.authenticate(headers, query);
        const parameters = joined(query);
        const url = new URL(endpoint + path + (parameters && (path.includes('?') ? '&' : '?') + parameters));
        if (this.api.auth.kind === 'sigv4') {
            this.sign(call.method, url, headers, body ?? '');
        }
        const { response, text } = await this.fetch(call.name, url, { method: call.method, headers, body });
        let content: any;
        try {
            content = text.trim() === '' ? undefined : from{{if .API.XML}}XML{{else}}JSON{{end}}(text);
        } catch {
            if (response.ok && call !== this.api.delete) {
                throw new ApiError('GeneralServiceException', `${call.name}: the response is not {{if .API.XML}}XML{{else}}JSON{{end}}`);
            }
        }
        if (response.status === 401 && again && accessTokens.delete(this.tokenKey)) {
            return this.sendOnce(call, message, false); // the token may have been revoked
        }
        if (!response.ok) {
{{- if .API.XML}}
            content = valueAt(content, ['Error']) ?? content;
{{- end}}
            throw this.failure(call, response, content, [...message.secrets, ...this.secrets(headers)]);
        }
        return { body: {{if .API.Query}}valueAt(content, [call.result]){{else}}content{{end}}, headers: response.headers };
    }

    /** Sends one request. Redirects are not followed: they could take credentials to another server. */
    private async fetch(
        name: string,
        url: URL,
        init: { method: string; headers: Record<string, string>; body?: string }
    ): Promise<{ response: Response; text: string }> {
        const invalid = Object.keys(init.headers).find((header) => /[^\t\x20-\x7e]/.test(init.headers[header]));
        if (invalid) {
            throw new ApiError('InvalidRequest', `${name}: the header ${invalid} can only have ASCII characters`);
        }
        const limit = Math.max(1, this.deadline - Date.now());
        try {
            const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(limit) });
            const body = (response.body ?? []) as unknown as AsyncIterable<Uint8Array>;
            const chunks: Uint8Array[] = [];
            let size = 0;
            for await (const chunk of body) {
                chunks.push(chunk);
                size += chunk.length;
                if (size > MAX_RESPONSE) {
                    throw new ApiError('GeneralServiceException', `${name}: the response has more than 8 MiB`);
                }
            }
            return { response, text: Buffer.concat(chunks).toString() };
        } catch (error: any) {
            if (error instanceof ApiError) {
                throw error;
            }
            const reason =
                error.name === 'TimeoutError' ? 'no response in time' : (error.cause?.code ?? 'the request failed');
            throw new ApiError('NetworkFailure', `${name}: ${url.host}: ${reason}`);
        }
    }

    private bodyOf(call: Call, body: any, headers: Record<string, string>): string | undefined {
{{- if .API.Query}}
        headers['content-type'] = 'application/x-www-form-urlencoded; charset=utf-8';
        return queryForm(this.api, call, body);
{{- else if .API.XML}}
        if (!call.root) {
            return undefined;
        }
        headers['content-type'] = call.contentType ?? 'application/xml';
        return toXML(this.api, call, body);
{{- else}}
        const awsJson = /^awsJson(\d)_(\d)$/.exec(this.api.protocol);
        if (awsJson) {
            headers['content-type'] = `application/x-amz-json-${awsJson[1]}.${awsJson[2]}`;
            headers['x-amz-target'] = call.target ?? '';
            return toJSON(body ?? {});
        }
        if (body === undefined && !call.send?.some((bound) => bound.in === 'body')) {
            return undefined;
        }
        headers['content-type'] = call.contentType ?? 'application/json';
        if (headers['content-type'].startsWith('application/x-www-form-urlencoded')) {
            return joined(formOf(body ?? {}));
        }
        return toJSON(body ?? {});
{{- end}}
    }

    private region(): string {
        return this.configuration.Region || this.request.region || 'us-east-1';
    }

    private endpoint({{if .API.Host}}host = ''{{end}}): string {
        const { api, configuration } = this;
        const ofAws = api.auth.kind === 'sigv4' ? process.env.AWS_ENDPOINT_URL : undefined;
        const ofApi = api.endpoint{{if .API.Host}}?.replace('://', () => `://${host}`){{end}};
        const text = (configuration.Endpoint || ofAws || ofApi || '').replace(/\{Region\}/g, () => this.region());
        if (!/^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/i.test(text)) {
            const reason = 'set Endpoint to the URL of the API, such as https://api.example.com/v1';
            throw new exceptions.InvalidTypeConfiguration(api.typeName, reason);
        }
        return text.replace(/\/+$/, '');
    }

    private async authenticate(headers: Record<string, string>, query: [string, string][]): Promise<void> {
        const { kind, keys = [] } = this.api.auth;
        const { BearerToken, Basic } = this.configuration;
        for (const key of keys) {
            const value = required(this.setting(key), key.property);
            if (key.in === 'query') {
                query.push([key.name, value]);
            } else if (key.in === 'cookie') {
                headers.cookie = [headers.cookie, `${key.name}=${percent(value)}`].filter(Boolean).join('; ');
            } else {
                headers[key.name.toLowerCase()] = value;
            }
        }
        if (kind === 'bearer') {
            headers.authorization = `Bearer ${required(BearerToken, 'BearerToken')}`;
        } else if (kind === 'basic') {
            const [user, password] = [
                required(Basic?.Username, 'Basic.Username'),
                required(Basic?.Password, 'Basic.Password'),
            ];
            headers.authorization = basic(user, password);
        } else if (kind === 'oauth2') {
            headers.authorization = `Bearer ${await this.accessToken()}`;
        }
    }

    private setting(key: Key): string {
        return String(this.configuration[key.property] ?? '');
    }

    /** Returns an access token for the credentials of the client. It is kept until it expires. */
    private async accessToken(): Promise<string> {
        const { ClientId, ClientSecret, TokenUrl, Scopes = '' } = this.configuration.OAuth ?? {};
        const [id, secret] = [required(ClientId, 'OAuth.ClientId'), required(ClientSecret, 'OAuth.ClientSecret')];
        const url = urlOf(required(TokenUrl || this.api.auth.tokenUrl, 'OAuth.TokenUrl'), this.endpoint());
        this.tokenKey = sha256(JSON.stringify([url.href, id, secret, Scopes]));
        const known = accessTokens.get(this.tokenKey);
        if (known && known.expires > Date.now()) {
            return known.value;
        }
        const form = new URLSearchParams({ grant_type: 'client_credentials' });
        if (Scopes) {
            form.set('scope', Scopes);
        }
        const { response, text } = await this.fetch('access token', url, {
            method: 'POST',
            headers: {
                accept: 'application/json',
                authorization: basic(percent(id), percent(secret)),
                'content-type': 'application/x-www-form-urlencoded',
            },
            body: form.toString(),
        });
        const found = response.ok && /"access_token"/.test(text) ? fromJSON(text) : {};
        if (typeof found.access_token !== 'string') {
            const code = response.status < 500 ? 'InvalidCredentials' : 'ServiceInternalError';
            throw new ApiError(
                code,
                `access token: ${response.status} from ${url.host}; check OAuth in the type configuration`
            );
        }
        const seconds = Number(found.expires_in ?? 300) - 30;
        accessTokens.set(this.tokenKey, { value: found.access_token, expires: Date.now() + seconds * 1000 });
        return found.access_token;
    }

    /** Signs a request with Signature Version 4 and the credentials of the caller. */
    private sign(method: string, url: URL, headers: Record<string, string>, body: string): void {
        const { accessKeyId, secretAccessKey, sessionToken } = this.session?.configuration.credentials ?? {};
        if (!accessKeyId || !secretAccessKey) {
            throw new exceptions.InvalidCredentials('the request has no AWS credentials; set a role for the type');
        }
        const date = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
        headers['x-amz-date'] = date;
        if (sessionToken) {
            headers['x-amz-security-token'] = sessionToken;
        }
{{- if .API.S3}}
        headers['x-amz-content-sha256'] = sha256(body);
        if (body) {
            // S3 refuses some requests without it
            headers['content-md5'] = createHash('md5').update(body).digest('base64');
        }
{{- end}}
        const all: Record<string, string> = { ...headers, host: url.host };
        const names = Object.keys(all).sort();
        const canonical = [
            method,
            url.pathname{{if not .API.S3}}.split('/').map(percent).join('/'){{end}},
            [...url.searchParams]
                .map((pair) => pair.map(percent))
                .sort(([a, x], [b, y]) => (a < b || (a === b && x < y) ? -1 : 1))
                .map((pair) => pair.join('='))
                .join('&'),
            ...names.map((name) => `${name}:${all[name].trim().replace(/ +/g, ' ')}`),
            '',
            names.join(';'),
            sha256(body),
        ].join('\n');
        const scope = [date.slice(0, 8), this.region(), this.api.auth.service ?? '', 'aws4_request'];
        const key = scope.reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
        const signature = hmac(key, ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n'));
        headers.authorization =
            `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope.join('/')}, ` +
            `SignedHeaders=${names.join(';')}, Signature=${signature.toString('hex')}`;
    }

    /** Makes the error of a response, without the secrets that the response may repeat. */
    private failure(call: Call, { status, headers }: Response, content: any, secrets: string[]): ApiError {
        const names = [headers.get('x-amzn-errortype'), ...['__type', 'code', 'Code'].map((name) => content?.[name])];
        const type: string = names.find((text) => typeof text === 'string' && text !== '') ?? '';
        const name = type.replace(/^.*#/, '').replace(/:.*$/, '');
        const code =
            valueAt(call.errors, [name]) ??
            valueAt(call.errors, [String(status)]) ??
            valueAt(this.api.statuses, [String(status)]) ??
            (status < 500 ? 'InvalidRequest' : 'ServiceInternalError');
        const said =
            status < 400
                ? 'redirects are not followed; set Endpoint in the type configuration to the URL of the API'
                : [name, detailOf(content)].filter((part) => part !== '').join(': ');
        const shown = secrets
            .sort((a, b) => b.length - a.length) // one may contain another
            .reduce(hidden, said)
            .slice(0, 300);
        const parts = [call.name, status, shown].filter((part) => part !== '');
        return new ApiError(code, parts.join(': '), status, Number(headers.get('retry-after')) || 0);
    }

    /** Returns the credentials that a request has. */
    private secrets(headers: Record<string, string>): string[] {
        const { BearerToken, Basic, OAuth } = this.configuration;
        const authorization = headers.authorization?.replace(/^\S+ /, '');
        const keys = (this.api.auth.keys ?? []).filter(({ secret }) => secret).map((key) => this.setting(key));
        const all = [...keys, BearerToken, Basic?.Password, OAuth?.ClientSecret, authorization];
        return [...all, headers['x-amz-security-token']].filter((secret): secret is string => Boolean(secret));
    }
}

/**
 * Replaces a secret in a message. One of fewer than 4 characters is replaced only where no letter or digit is next
 * to it: words may contain it, and the message would be unreadable.
 */
function hidden(said: string, secret: string): string {
    if ([...secret].length > 3) {
        return said.split(secret).join('***');
    }
    const literal = secret.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    return said.replace(new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, 'gu'), '***');
}

/** What the body of an error says. Other members of the details of FastAPI repeat the request. */
function detailOf(content: any): string {
    if (Array.isArray(content?.detail)) {
        return messageOf({ message: content.detail[0]?.msg });
    }
    const first = Array.isArray(content?.errors) ? content.errors[0] : undefined;
    return messageOf(content) || (typeof first === 'string' ? first : messageOf(first));
}

function messageOf(content: any): string {
    const names = ['message', 'Message', 'error', 'detail', 'title', 'errorSummary', 'error_description'];
    const texts = names.map((name) => content?.[name]?.message ?? content?.[name]);
    return texts.find((text) => text && typeof text === 'string') ?? '';
}

function required(value: string | undefined, name: string): string {
    if (!value) {
        throw new exceptions.InvalidCredentials(`set ${name} in the type configuration`);
    }
    return value;
}

function urlOf(text: string, endpoint: string): URL {
    const url = URL.canParse(text, endpoint) ? new URL(text, endpoint) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) {
        throw new exceptions.InvalidCredentials('OAuth.TokenUrl in the type configuration is not a URL');
    }
    return url;
}

function basic(user: string, password: string): string {
    return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Returns a UUID that is the same for the same text. */
function uuidOf(text: string): string {
    const digits = sha256(text);
    const parts = [digits.slice(0, 8), digits.slice(8, 12), `5${digits.slice(13, 16)}`, `8${digits.slice(17, 20)}`];
    return [...parts, digits.slice(20, 32)].join('-');
}

function sha256(text: string): string {
    return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
    return createHmac('sha256', key).update(text).digest();
}
