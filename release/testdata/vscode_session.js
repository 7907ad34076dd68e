// A session of Visual Studio Code with the unpacked extension: the module vscode is the part of its API that the
// extension uses. It prints what a user would see.
// usage: node vscode_session.js EXTENSION CFN PROJECT
'use strict';

const fs = require('fs');
const path = require('path');
const Module = require('module');
const { pathToFileURL, fileURLToPath } = require('url');

const [extension, cfn, project] = process.argv.slice(2);

class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
  isEqual(p) { return this.line === p.line && this.character === p.character; }
}
class Range {
  constructor(start, end) { Object.assign(this, { start, end }); }
  isEqual(r) { return this.start.isEqual(r.start) && this.end.isEqual(r.end); }
}
class Uri {
  constructor(text) { this.text = text; this.scheme = text.split(':')[0]; }
  static parse(text) { return new Uri(text); }
  toString() { return this.text; }
  get fsPath() { return fileURLToPath(this.text); }
}
const record = (...names) => class { constructor(...values) { names.forEach((name, i) => { this[name] = values[i]; }); } };
const disposable = (dispose = () => {}) => ({ dispose });

const listeners = {};
const on = (name) => (f) => { listeners[name] = f; return disposable(); };
const providers = {};
const register = (name) => (selector, provider, ...rest) => { providers[name] = { provider, selector, rest }; return disposable(() => delete providers[name]); };
const commands = {};
const problems = new Map();
const arrived = new Map();
const log = [];
const shown = [];
const settings = { path: cfn, arguments: ['-vv'], stacks: {} };
const watched = [];

const vscode = {
  Position, Range, Uri,
  Location: record('uri', 'range'),
  TextEdit: record('range', 'newText'),
  Diagnostic: record('range', 'message', 'severity'),
  DiagnosticRelatedInformation: record('location', 'message'),
  CompletionItem: record('label', 'kind'),
  CompletionList: record('items', 'isIncomplete'),
  SnippetString: record('value'),
  MarkdownString: class { constructor(value = '') { this.value = value; } appendText(text) { this.value += text; return this; } },
  Hover: record('contents', 'range'),
  DocumentSymbol: record('name', 'detail', 'kind', 'range', 'selectionRange'),
  WorkspaceEdit: class { constructor() { this.edits = new Map(); } set(uri, edits) { this.edits.set(uri.toString(), edits); } },
  CodeAction: record('title', 'kind'),
  CodeActionKind: { QuickFix: 'quickfix' },
  CodeLens: record('range', 'command'),
  window: {
    createOutputChannel: () => ({ append: (text) => log.push(text), appendLine: (text) => log.push(text + '\n'), ...disposable() }),
    showErrorMessage: (text) => { shown.push(text); return Promise.resolve(undefined); },
  },
  languages: {
    createDiagnosticCollection: () => ({
      set: (uri, list) => { problems.set(uri.toString(), list); (arrived.get(uri.toString()) || (() => {}))(list); },
      delete: (uri) => problems.delete(uri.toString()), clear: () => problems.clear(), ...disposable(),
    }),
    registerCompletionItemProvider: register('completion'), registerHoverProvider: register('hover'), registerDefinitionProvider: register('definition'),
    registerReferenceProvider: register('references'), registerRenameProvider: register('rename'), registerDocumentSymbolProvider: register('symbols'),
    registerCodeLensProvider: register('lenses'), registerCodeActionsProvider: register('actions'),
  },
  commands: {
    registerCommand: (name, f) => { commands[name] = f; return disposable(); },
    executeCommand: (name, ...args) => commands[name](...args),
  },
  workspace: {
    workspaceFolders: [{ uri: new Uri(pathToFileURL(project).href), name: 'project' }],
    textDocuments: [],
    getConfiguration: () => ({ get: (name) => settings[name] }),
    createFileSystemWatcher: (pattern) => { watched.push(pattern); return { onDidCreate: () => disposable(), onDidChange: () => disposable(), onDidDelete: () => disposable(), ...disposable() }; },
    onDidChangeConfiguration: on('configuration'), onDidOpenTextDocument: on('open'), onDidChangeTextDocument: on('change'),
    onDidSaveTextDocument: on('save'), onDidCloseTextDocument: on('close'),
  },
};
const started = []; // processes with their options
const childProcess = require('child_process');
const { spawn } = childProcess;
childProcess.spawn = (program, args, options) => {
  const child = spawn(program, args, options);
  started.push({ child, options });
  return child;
};
const running = () => started.filter(({ child }) => child.pid && child.exitCode === null && child.signalCode === null).length;
const load = Module._load;
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));

const documentOf = (name) => {
  const text = fs.readFileSync(path.join(project, name), 'utf8');
  return { uri: new Uri(pathToFileURL(path.join(project, name)).href), languageId: name.endsWith('.json') ? 'json' : 'yaml', version: 1, text, getText() { return this.text; } };
};
const problemsOf = (document, start) => new Promise((resolve) => { arrived.set(document.uri.toString(), resolve); start(); });
const after = (document, word) => {
  const before = document.text.slice(0, document.text.indexOf(word) + word.length).split('\n');
  return new Position(before.length - 1, before.at(-1).length);
};
const none = { onCancellationRequested: () => disposable() };
const print = (...parts) => console.log(...parts);
const lines = (list) => list.map((p) => `${p.range.start.line + 1}:${p.code}`).join(' ');

(async () => {
  const { activate, deactivate } = require(extension);
  const template = documentOf('stack.yaml');
  vscode.workspace.textDocuments.push(template);
  const found = await problemsOf(template, () => activate({ subscriptions: [] }));
  print('problems', lines(found), found[0].source, found[0].severity);
  const completed = await providers.completion.provider.provideCompletionItems(template, after(template, 'Status: DRA'), none);
  print('completion', completed.items.slice(0, 3).map((i) => i.label).join(' '));
  const hover = await providers.hover.provider.provideHover(template, after(template, 'Stat'), none);
  print('hover', hover.contents.value.split('\n')[0].replace(/[*`]/g, ''));
  const [place] = await providers.definition.provider.provideDefinition(template, after(template, '!Ref Rep'), none);
  print('definition', path.basename(place.uri.fsPath), place.range.start.line + 1);
  const used = await providers.references.provider.provideReferences(template, after(template, '!Ref Rep'), { includeDeclaration: true }, none);
  print('references', used.map((l) => l.range.start.line + 1).join(' '));
  const named = await providers.rename.provider.prepareRename(template, after(template, '!Ref Rep'), none);
  const renamed = await providers.rename.provider.provideRenameEdits(template, after(template, '!Ref Rep'), 'Weekly', none);
  print('rename', named.placeholder, renamed.edits.get(template.uri.toString()).map((e) => e.range.start.line + 1).join(' '));
  const refused = await providers.rename.provider.provideRenameEdits(template, after(template, '!Ref Rep'), 'Not-a-name', none).catch((e) => e.message);
  print('refused', refused.includes('Not-a-name'));
  const symbols = await providers.symbols.provider.provideDocumentSymbols(template, none);
  print('symbols', symbols.map((s) => s.name).join(' '), symbols[0].children[0].name);
  const actions = await providers.actions.provider.provideCodeActions(template, found[0].range, { diagnostics: found }, none);
  print('actions', actions.map((a) => `${a.title} (${a.diagnostics.length})`).join(', '));
  print('lenses', (await providers.lenses.provider.provideCodeLenses(template, none)).length);

  const suite = documentOf('stack.stacktest.yaml');
  print('stack test', lines(await problemsOf(suite, () => listeners.open(suite))));
  const schema = documentOf('initech-tps-report.json');
  print('schema', lines(await problemsOf(schema, () => listeners.open(schema))));

  const start = after(template, 'DRAFTY');
  template.version = 2;
  template.text = template.text.replace('DRAFTY', 'DRAFT');
  print('repaired', (await problemsOf(template, () => listeners.change({
    document: template, contentChanges: [{ range: new Range(new Position(start.line, start.character - 1), start), text: '' }],
  }))).length);
  listeners.save(template);
  listeners.close(schema);
  print('closed', problems.has(schema.uri.toString()));
  print('in the workspace', started.some(({ options }) => options.cwd.startsWith(project)));
  print('watches', watched.includes('**/.rpdk-config'), 'logs', log.join('').length > 0);

  await problemsOf(template, () => commands['cfn.restart']());
  print('restarted', Object.keys(providers).length);
  await Promise.all([commands['cfn.restart'](), commands['cfn.restart']()]);
  print('restarted twice', Object.keys(providers).length, 'running', running());
  settings.path = path.join(project, 'no-such-program');
  await listeners.configuration({ affectsConfiguration: () => true });
  print('missing', shown.length, shown[0].replace(project, ''), Object.keys(providers).length);
  settings.path = cfn;
  await problemsOf(template, () => listeners.configuration({ affectsConfiguration: () => true }));
  print('found again', Object.keys(providers).length);
  await deactivate();
  print('stopped', Object.keys(providers).length, 'running', running());
})().catch((error) => { console.error(error, log.join('')); process.exit(1); });
