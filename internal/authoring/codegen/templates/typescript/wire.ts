// {{.Marker}}

/**
 * Requests and responses of the API: how src/api.ts describes them, and how properties get into requests and out
 * of responses.
 */
import { randomUUID } from 'crypto';

import { exceptions, HandlerErrorCode } from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
{{- if .API.XML}}
import { treeOf, valueOf } from './xml';
{{- end}}

/** Values of properties, by their names in the schema. */
export type Values = Record<string, any>;

/** How the API is called. */
export interface Binding {
    typeName: string;
    api: string;
    protocol: string;
{{- if .API.Query}}
    /** The parameter Version. */
    version?: string;
{{- else if .API.XML}}
    /** The namespace of bodies. */
    namespace?: string;
{{- end}}
    endpoint?: string;
    auth: { kind: string; tokenUrl?: string; service?: string; keys?: Key[] };
    identifier: string[];
    create: Call;
    read: Call;
    update?: Call[];
    delete: Call;
    list?: Call;
    tags?: Tags;
    wait?: Wait;
    find: { by: string; properties?: string[]; reason: string };
    /** Error codes by HTTP status. */
    statuses: Record<string, string>;
    /** The members of objects. */
    shapes?: Record<string, { property: string; wire: string; shape: Shape; secret?: boolean }[]>;
}

/** A value of the type configuration that every request has, in a header, the query or a cookie. */
export interface Key {
    in: string;
    name: string;
    property: string;
    /** Messages must not repeat it. */
    secret?: boolean;
}

/** One operation. */
export interface Call {
    name: string;
    method: string;
    /** Has labels: {id}, or {path+} for several segments. */
    path: string;
{{- if .API.Host}}
    /** What comes before the host of the endpoint, with labels. */
    host?: string;
{{- end}}
    target?: string;
    contentType?: string;
    accept?: string;
{{- if .API.Query}}
    /** The element within the response that has its values. */
    result: string;
{{- else if .API.XML}}
    /** The element that is the body of the request. */
    root?: string;
{{- end}}
    send?: Bound[];
    /** What the response has, or each item of a list. */
    receive?: Bound[];
{{- if not .API.XML}}
    /** A member of the body that is sent even if nothing is in it. */
    envelope?: string;
{{- end}}
    /** What is the same in every request. */
    fixed?: (Spot & { value: string })[];
    /** Where an idempotency token is sent. */
    token?: Spot;
    /** The properties that an update sets, and whether it sends only those that change. */
    changes?: string[];
    partial?: boolean;
    /** Where the body has the items of a list. */
    items?: string[];
{{- if .API.Among}}
    /** Whether the response has several resources. */
    among?: boolean;
{{- end}}
    page?: Page;
    /** Error codes by the name of the error or by HTTP status. */
    errors?: Record<string, string>;
}

/** A place in a request or response: a name in the path, query{{if .API.Host}}, host{{end}} or headers, or a path in the body. */
export interface Spot {
    in: string;
    at: string[];
}

/** A property in a request or response. */
export interface Bound extends Spot {
    property: string;
    shape: Shape;
    required?: boolean;
    /** An update or delete sends the value that was read. */
    live?: boolean;
    /** Messages must not repeat it. */
    secret?: boolean;
    /** What an update sends for a property that was removed. */
    reset?: any;
}

/** How a value is written. */
export interface Shape {
    kind: string;
    /** The property is a string, the value of the API a number. */
    text?: boolean;
    format?: string;
    item?: Shape;
    name?: string;
{{- if .API.XML}}
    /** The element of each item of a list or entry of a map, unless it has the name of the list or map. */
    element?: string;
    /** The elements in an entry of a map. */
    key?: string;
    value?: string;
{{- end}}
}

/** How a list is read page by page. */
export interface Page extends Spot {
    style: string;
    next?: string[];
    size?: Spot;
    count?: number;
    first?: number;
}

/** By which property a resource is ready. */
export interface Wait {
    property: string;
    pending?: string[];
    success?: string[];
    failure?: string[];
    deleting?: string[];
    gone?: string[];
    delay: number;
}

/** Operations on the tags of a resource, which is a property in some form. */
export interface Tags {
    property: string;
    form: TagForm;
    list?: TagCall;
    tag: TagCall;
    untag: TagCall;
}

/** Tags as a map, or as a list of objects with these members. */
export interface TagForm {
    kind: string;
    key?: string;
    value?: string;
}

/** An operation on tags, and where it has them. */
export interface TagCall extends Spot {
    call: Call;
    form: TagForm;
}

/** A failed call, with a code of the handler contract. */
export class ApiError extends exceptions.BaseHandlerException {
    constructor(
        code: string,
        message: string,
        readonly status = 0,
        readonly retryAfter = 0
    ) {
        super(message, code as HandlerErrorCode);
        this.name = code;
    }
}

/** A request before it is sent. */
export interface Message {
    labels: Record<string, string>;
    query: [string, string][];
    headers: Record<string, string>;
    body?: any;
    /** Values that messages must not repeat. */
    secrets: string[];
}

/** Puts properties where an operation has them, in the order of the API; some are set back. */
export function encode(api: Binding, send: Bound[] | undefined, values: Values, resets: Bound[] = []): Message {
    const message: Message = { labels: {}, query: [], headers: {}, secrets: [] };
    for (const bound of send ?? []) {
        const { property, shape, secret } = bound;
        if (resets.includes(bound)) {
            place(message, bound, {{if .API.XML}}treeOf(api, bound.reset, shape){{else}}bound.reset{{end}});
            continue;
        }
        const value = values[property];
        if (!isPresent(value)) {
            continue;
        }
        if (!api.identifier.includes(property)) {
            message.secrets.push(...secretsIn(api, value, shape, secret));
        }
        if (shape.text && !isNumber(value)) {
            throw new ApiError(bound.in === 'path' ? 'NotFound' : 'InvalidRequest', `${property} must be a number`);
        }
        place(message, bound, {{if .API.XML}}treeOf(api, toWire(api, value, shape), shape){{else}}toWire(api, value, shape){{end}});
    }
    return message;
}

/** Returns the texts in a value that are secret, all of them if the value is. */
function secretsIn(api: Binding, value: any, shape?: Shape, all = false): string[] {
    if (typeof value === 'string') {
        return all && value !== '' ? [value] : [];
    }
    if (!isPresent(value) || typeof value !== 'object') {
        return [];
    }
    if (shape?.kind !== 'object') {
        return Object.values(value).flatMap((item) => secretsIn(api, item, shape?.item, all));
    }
    const members = api.shapes?.[shape.name ?? ''] ?? [];
    return members.flatMap(({ property, shape: inner, secret }) =>
        secretsIn(api, valueAt(value, [property]), inner, all || secret)
    );
}

/** Takes properties out of a response, or out of an item of a list. */
export function decode(api: Binding, receive: Bound[] | undefined, body: any{{if .API.ETag}}, headers?: Headers{{end}}): Values {
    const values: Values = {};
    for (const { property, {{if .API.ETag}}in: where, {{end}}at, shape } of receive ?? []) {
        const value = {{if .API.ETag}}where === 'header' ? headers?.get(at[0]) : {{end}}{{if .API.XML}}valueOf(api, valueAt(body, at), shape){{else}}valueAt(body, at){{end}};
        if (isPresent(value)) {
            values[property] = fromWire(api, value, shape);
        }
    }
    return values;
}

function toWire(api: Binding, value: any, shape: Shape): any {
{{- if .API.Among}}
    if (shape.kind === 'list' && !Array.isArray(value)) {
        return toWire(api, [value], shape); // its only item
    }
{{- end}}
    switch (shape.kind) {
        case 'integer':
        case 'number':
            return shape.text && /^-?\d+$/.test(value) ? BigInt(value) : Number(value);
        case 'timestamp':
            return timestampToWire(value, shape.format);
        default:
            return eachInner(api, value, shape, ['property', 'wire'], (item, inner) => toWire(api, item, inner));
    }
}

function fromWire(api: Binding, value: any, shape: Shape): any {
    switch (shape.kind) {
        case 'integer':
        case 'number':
            return shape.text ? String(value) : isNumber(value) ? Number(value) : value;
        case 'string':
            return typeof value === 'object' ? value : String(value);
        case 'timestamp':
            return timestampFromWire(value, shape.format);
        case 'any':
            return JSON.parse(toJSON(value), (_, item) => item ?? undefined);
        default:
            return eachInner(api, value, shape, ['wire', 'property'], (item, inner) => fromWire(api, item, inner));
    }
}

/** Converts the values within a list, map or object. */
function eachInner(
    api: Binding,
    value: any,
    shape: Shape,
    [from, to]: ['property', 'wire'] | ['wire', 'property'],
    convert: (item: any, shape: Shape) => any
): any {
    const { kind, item = { kind: 'any' }, name = '' } = shape;
    if (kind === 'list' && Array.isArray(value)) {
        return value.filter(isPresent).map((entry) => convert(entry, item));
    }
    if (typeof value !== 'object' || Array.isArray(value)) {
        return value;
    }
    if (kind === 'map') {
        const entries = Object.entries(value).filter(([, entry]) => isPresent(entry));
        return Object.fromEntries(entries.map(([key, entry]) => [key, convert(entry, item)]));
    }
    if (kind === 'object') {
        const members = (api.shapes?.[name] ?? []).filter((member) => isPresent(valueAt(value, [member[from]])));
        return Object.fromEntries(members.map((member) => [member[to], convert(value[member[from]], member.shape)]));
    }
    return value;
}

function timestampToWire(value: any, format?: string): any {
    const date = new Date(value);
    if (Number.isNaN(date.getTime())) {
        throw new ApiError('InvalidRequest', 'a timestamp must have the format date-time');
    }
    switch (format) {
        case 'epoch-seconds':
            return date.getTime() / 1000;
        case 'http-date':
            return date.toUTCString();
        default:
            return value;
    }
}

function timestampFromWire(value: any, format?: string): any {
    if (format !== 'epoch-seconds' && format !== 'http-date') {
        return value;
    }
    const date = new Date(format === 'epoch-seconds' ? Number(value) * 1000 : value);
    return Number.isNaN(date.getTime()) ? value : date.toISOString().replace('.000Z', 'Z');
}

/** Puts a value, as the API writes it, into a request. */
export function place(message: Message, { in: where, at }: Spot, value: any): void {
    const name = at[at.length - 1];
    const text = (item: any): string => (typeof item === 'object' ? toJSON(item) : String(item));
    const items = Array.isArray(value) ? value.map(text) : [text(value)];
    switch (where) {
        case 'path':
{{- if .API.Host}}
        case 'host':
{{- end}}
            message.labels[name] = items.join(',');
            break;
        case 'query':
            message.query.push(...items.map((item): [string, string] => [name, item]));
            break;
        case 'header':
            message.headers[name.toLowerCase()] = items.join(', ');
            break;
        default:
            message.body = withValueAt(message.body, at, value);
    }
}

/** Fills the labels of a path. What would leave out a segment identifies nothing. */
export function fillPath(call: Call, labels: Record<string, string>): string {
    return call.path.replace(/\{([^}+]+)(\+?)\}/g, (_, name: string, greedy: string) => {
        const value = labels[name] ?? '';
        const segments = greedy ? value.split('/') : [value];
        if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
            throw new ApiError('NotFound', `${call.name}: "${value}" is not the ${name} of a resource`);
        }
        return segments.map(percent).join('/');
    });
}
{{- if .API.Host}}

/** Fills the labels of a host. A value is within one part of the name, so that it does not choose another host. */
export function fillHost({ name: operation, host = '' }: Call, labels: Record<string, string>): string {
    return host.replace(/\{([^}]+)\}/g, (_, name: string) => {
        const value = labels[name] ?? '';
        if (!/^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$/.test(value)) {
            const reason = `${name} is part of the host name: it must be 1 to 63 letters, digits and inner hyphens`;
            throw new ApiError('InvalidRequest', `${operation}: ${reason}`);
        }
        return value;
    });
}
{{- end}}
{{- if not .API.XML}}

/** Returns the pairs of a form: a[b]=c, and a[0]=b for lists. */
export function formOf(value: any, prefix = ''): [string, string][] {
    if (value === null || typeof value !== 'object') {
        return [[prefix, String(value)]];
    }
    return Object.entries(value).flatMap(([key, item]) => formOf(item, prefix ? `${prefix}[${key}]` : key));
}
{{- end}}

/** Returns tags, without those of AWS. */
export function tagsToMap({ kind, key = '', value = '' }: TagForm, tags: any): Record<string, string> {
    const list: any[] = Array.isArray(tags) ? tags : [];
    const listed = (): [any, any][] => list.map((tag) => [valueAt(tag, [key]) ?? '', valueAt(tag, [value]) ?? '']);
    const pairs = kind === 'map' && isObject(tags) ? Object.entries(tags) : listed();
    return Object.fromEntries(pairs.filter(([name]) => !String(name).startsWith('aws:')));
}

export function tagsFromMap({ kind, key = '', value = '' }: TagForm, tags: Record<string, string>): any {
    const names = Object.keys(tags).sort();
    return kind === 'map' ? tags : names.map((name) => ({ [key]: name, [value]: tags[name] }));
}

/** Returns those of the properties with these names that have a value. */
export function only(values: Values, names: string[]): Values {
    return Object.fromEntries(names.filter((name) => isPresent(values[name])).map((name) => [name, values[name]]));
}

/** Reports whether an error has one of the codes of the handler contract. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
    return error instanceof exceptions.BaseHandlerException && codes.includes(error.errorCode);
}

/** Reports whether two values are equal, whatever the order of members. */
export function equal(a: any, b: any): boolean {
    if (!isPresent(a) || !isPresent(b) || typeof a !== 'object' || typeof b !== 'object') {
        return (a ?? undefined) === (b ?? undefined);
    }
    const keys = [...Object.keys(a), ...Object.keys(b)];
    return Array.isArray(a) === Array.isArray(b) && keys.every((key) => equal(a[key], b[key]));
}

export function valueAt(body: any, at: string[]): any {
    const own = (value: any, name: string): boolean => Object.prototype.hasOwnProperty.call(value, name);
    return at.reduce((value, name) => (isObject(value) && own(value, name) ? value[name] : undefined), body);
}

function withValueAt(body: any, [name, ...rest]: string[], value: any): any {
    return name === undefined ? value : { ...body, [name]: withValueAt(body?.[name], rest, value) };
}

/** Returns the merge patch that also removes what a value had before. */
export function mergePatch(value: any, before: any): any {
    if (!isObject(value) || !isObject(before)) {
        return value;
    }
    const removed = Object.keys(before).filter((key) => !(key in value));
    const changed = Object.entries(value).map(([key, item]) => [key, mergePatch(item, before[key])]);
    return Object.fromEntries([...removed.map((key) => [key, null]), ...changed]);
}

function isPresent(value: any): boolean {
    return value !== undefined && value !== null;
}

function isObject(value: any): boolean {
    return isPresent(value) && typeof value === 'object' && !Array.isArray(value);
}

/** Reports whether a value is a number, or a text with one. */
function isNumber(value: any): boolean {
    return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value);
}

// Integers with more digits than a number can have are bigint. JSON.parse and JSON.stringify see them as strings
// with a mark that no other string has.
const mark = `${randomUUID()}:`;
const marked = new RegExp(`"${mark}(-?[0-9]+)"`, 'g');

export function toJSON(value: any): string {
    const text = JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? mark + item : item));
    return text.replace(marked, '$1');
}

export function fromJSON(text: string): any {
    let inString = false;
    const safe = text.replace(/\\.|"|-?\d[\d.eE+-]*/g, (token) => {
        inString = (token === '"') !== inString;
        return !inString && /^-?\d{16,}$/.test(token) ? `"${mark}${token}"` : token;
    });
    const isMarked = (value: any): boolean => typeof value === 'string' && value.startsWith(mark);
    return JSON.parse(safe, (_, value) => (isMarked(value) ? BigInt(value.slice(mark.length)) : value));
}

/** Joins pairs as in a query or a form. */
export function joined(pairs: [string, string][]): string {
    return pairs.map((pair) => pair.map(percent).join('=')).join('&');
}

/** Encodes a text for a URL, as RFC 3986 and Signature Version 4 require. */
export function percent(text: string): string {
    return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
