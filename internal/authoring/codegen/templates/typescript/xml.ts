// {{.Marker}}

/**
 * Bodies in XML as trees: an element is its text, or an object of the elements in it; a list is elements of the same
 * name.
 */
{{- if not .API.Query}}
import { exceptions } from '@amazon-web-services-cloudformation/cloudformation-cli-typescript-lib';
{{- end}}
import { Binding, Call, {{if .API.Query}}joined, {{end}}Shape, valueAt } from './wire';

const MAX_DEPTH = 100;

/** Returns the tree of a value, as the API writes it. */
export function treeOf(api: Binding, value: any, shape: Shape): any {
    const { kind, element, item = { kind: 'any' }, key: keyName = '', value: valueName = '', name = '' } = shape;
    if (Array.isArray(value)) {
        const items = value.map((each) => treeOf(api, each, item));
        return element === undefined{{if .API.Query}} || items.length === 0{{end}} ? items : { [element]: items };
    }
    if (value === null || typeof value !== 'object') {
        return value;
    }
    if (kind === 'map') {
        const entries = Object.entries(value).map(([key, each]) => ({
            [keyName]: key,
            [valueName]: treeOf(api, each, item),
        }));
{{- if .API.Query}}
        if (entries.length === 0) {
            return undefined; // a form has no empty maps
        }
{{- end}}
        return element === undefined ? entries : { [element]: entries };
    }
    const members = (api.shapes?.[name] ?? []).map(({ wire, shape: inner }) => [
        wire,
        treeOf(api, valueAt(value, [wire]), inner),
    ]);
    return Object.fromEntries(members);
}

/** Returns the value of a tree, as the API writes it. */
export function valueOf(api: Binding, tree: any, shape: Shape): any {
    const { kind, element, item = { kind: 'any' }, key: keyName = '', value: valueName = '', name = '' } = shape;
    if (tree === undefined) {
        return undefined;
    }
    const inner = elements(element === undefined ? tree : valueAt(tree, [element])); // of a list or map
    const text = typeof tree === 'string' ? tree.trim() : tree;
    switch (kind) {
        case 'list':
            return inner.map((each) => valueOf(api, each, item));
        case 'map': {
            const keyOf = (entry: any): string => String(valueAt(entry, [keyName]) ?? '');
            return Object.fromEntries(
                inner.map((entry) => [keyOf(entry), valueOf(api, valueAt(entry, [valueName]), item)])
            );
        }
        case 'object': {
            const members = api.shapes?.[name] ?? [];
            return Object.fromEntries(
                members.map(({ wire, shape: member }) => [wire, valueOf(api, valueAt(tree, [wire]), member)])
            );
        }
        case 'boolean':
            return text === 'true' ? true : text === 'false' ? false : tree;
        case 'integer':
        case 'number':
            return text;
        default:
            return tree;
    }
}

/** Returns the elements at a place of a tree: none, one or several. */
export function elements(tree: any): any[] {
    if (tree === undefined || tree === null) {
        return [];
    }
    return Array.isArray(tree) ? tree : [tree];
}
{{if .API.Query}}
/** Returns the form of a request: a.b=c, and a.1=b for lists. */
export function queryForm(api: Binding, call: Call, body: any): string {
    return joined([['Action', call.name], ['Version', api.version ?? ''], ...fieldsOf(body)]);
}

function fieldsOf(tree: any, name = ''): [string, string][] {
    if (tree === undefined || tree === null) {
        return [];
    }
    if (typeof tree !== 'object' || (Array.isArray(tree) && tree.length === 0)) {
        return [[name, String(tree)]];
    }
    const inner = (key: string): string => (name ? `${name}.${key}` : key);
    const members = Array.isArray(tree) ? tree.map((each, n) => [String(n + 1), each]) : Object.entries(tree);
    return members.flatMap(([key, each]) => fieldsOf(each, inner(key)));
}
{{else}}
/** Returns the body of a request. */
export function toXML({ namespace }: Binding, { name: operation, root = '' }: Call, body: any): string {
    const write = (name: string, tree: any, attributes = ''): string => {
        const inner =
            tree !== null && typeof tree === 'object'
                ? Object.entries(tree).flatMap(([member, each]) => elements(each).map((item) => write(member, item)))
                : [escaped(String(tree ?? ''), name)];
        return `<${name}${attributes}>${inner.join('')}</${name}>`;
    };
    const escaped = (text: string, name: string): string => {
        if (notInXML.test(text)) {
            throw new exceptions.InvalidRequest(`${operation}: a character of ${name} cannot be part of XML`);
        }
        return text.replace(/[&<>"\r]/g, (character) => `&#${character.charCodeAt(0)};`);
    };
    return write(root, body, namespace && ` xmlns="${escaped(namespace, 'the namespace')}"`);
}
{{end}}
const notInXML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

const NAME = `[^\\s<>/=&"'!?]+`;
const ATTRIBUTE = `\\s+${NAME}\\s*=\\s*(?:"[^"<]*"|'[^'<]*')`;

// The parts of a text. There are none for type definitions, whose entities could grow without bounds.
const part = new RegExp(
    [
        '<!--[^]*?-->|<\\?[^]*?\\?>', // comments and processing instructions
        `<(?<opened>${NAME})(?:${ATTRIBUTE}){0,1000}\\s*(?<empty>/?)>`,
        `</(?<closed>${NAME})\\s*>`,
        '<!\\[CDATA\\[(?<raw>[^]*?)\\]\\]>',
        '(?<escaped>[^<]+)',
    ].join('|'),
    'gy'
);

/** Returns the tree of a text: what is in its root. Attributes and namespaces are left out. */
export function fromXML(text: string): any {
    const source = text.replace(/\r\n?/g, '\n');
    const open = [{ tag: '', text: '', members: new Map<string, any[]>() }];
    let end = 0;
    for (const { 0: all, groups = {} } of source.matchAll(part)) {
        const { opened, empty, closed, raw, escaped } = groups;
        const top = open[open.length - 1];
        end += all.length;
        if (opened !== undefined) {
            refuseIf(open.length > MAX_DEPTH || (open.length === 1 && top.members.size > 0));
            open.push({ tag: opened, text: '', members: new Map() });
        } else if (closed === undefined) {
            const content = raw ?? unescaped(escaped ?? '');
            refuseIf(notInXML.test(content) || (open.length === 1 && content.trim() !== ''));
            top.text += content;
        }
        if (closed !== undefined || empty) {
            const { tag, text: content, members } = open.pop()!;
            refuseIf(open.length === 0 || tag !== (closed ?? opened));
            const around = open[open.length - 1].members;
            const name = tag.replace(/^.*:/, '');
            const values = around.get(name) ?? [];
            values.push(members.size > 0 ? treeWith(members) : content);
            around.set(name, values);
        }
    }
    const [root] = open[0].members.values();
    refuseIf(end < source.length || open.length > 1 || root === undefined);
    return root[0];
}

function treeWith(members: Map<string, any[]>): any {
    return Object.fromEntries([...members].map(([name, values]) => [name, values.length > 1 ? values : values[0]]));
}

function refuseIf(wrong: boolean): void {
    if (wrong) {
        throw new SyntaxError('not XML');
    }
}

function unescaped(text: string): string {
    const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
    return text.replace(/&(?:(amp|lt|gt|quot|apos)|#(\d+)|#x([\da-fA-F]+));|&|\]\]>/g, (_, name, decimal, hex) => {
        refuseIf(!name && !decimal && !hex);
        return named[name] ?? String.fromCodePoint(decimal ? parseInt(decimal, 10) : parseInt(hex, 16));
    });
}
