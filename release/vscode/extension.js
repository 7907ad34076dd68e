// The extension runs "cfn lsp" for the documents in YAML and JSON. The server decides which of them are templates, stack
// tests or parts of extensions, and ignores the others.
'use strict';

const vscode = require('vscode');
const { Client } = require('./client');
const to = require('./convert');

const languages = ['yaml', 'json', 'jsonc'];
const selector = languages.flatMap((language) => [{ language, scheme: 'file' }, { language, scheme: 'untitled' }]);
const ours = (document) => languages.includes(document.languageId) && ['file', 'untitled'].includes(document.uri.scheme);

// maxRestarts bounds how often a server that crashes is started again within a session.
const maxRestarts = 3;

class Session {
  constructor(context) {
    this.output = vscode.window.createOutputChannel('CloudFormation (cfn)');
    this.problems = vscode.languages.createDiagnosticCollection('cfn');
    this.providers = [];
    this.restarts = 0;
    context.subscriptions.push(this.output, this.problems,
      vscode.commands.registerCommand('cfn.restart', () => { this.restarts = 0; return this.restart(); }),
      vscode.workspace.onDidChangeConfiguration((e) => { if (e.affectsConfiguration('cfn')) { this.restarts = 0; return this.restart(); } }),
      vscode.workspace.onDidOpenTextDocument((d) => this.opened(d)),
      vscode.workspace.onDidChangeTextDocument((e) => this.changed(e)),
      vscode.workspace.onDidSaveTextDocument((d) => this.tell('textDocument/didSave', d)),
      vscode.workspace.onDidCloseTextDocument((d) => { this.tell('textDocument/didClose', d); this.problems.delete(d.uri); }));
  }

  // start starts the server, and opens the documents that the editor has open.
  async start() {
    const settings = vscode.workspace.getConfiguration('cfn');
    const program = settings.get('path') || 'cfn';
    const folders = (vscode.workspace.workspaceFolders || []).map((f) => ({ uri: f.uri.toString(), name: f.name }));
    // Windows looks for a program in the working folder first: it is that of the extension, since a workspace may bring a program of its own.
    const client = new Client(program, ['lsp', '--stdio', ...(settings.get('arguments') || [])], { cwd: __dirname }, {
      notification: (method, params) => { if (method === 'textDocument/publishDiagnostics' && this.client === client) this.publish(params); },
      request: (method, params) => this.register(method, params),
      log: (text) => this.output.append(text),
      exit: (error) => this.ended(client, program, error),
    });
    this.client = client;
    const answer = await client.request('initialize', {
      processId: process.pid, rootUri: folders.length ? folders[0].uri : null, workspaceFolders: folders, initializationOptions: { stacks: settings.get('stacks') || {} }, capabilities,
    });
    client.notify('initialized', {});
    this.provide(client, answer.capabilities);
    for (const document of vscode.workspace.textDocuments) this.opened(document);
  }

  // restart ends one restart before it begins the next one, so that only one server runs.
  restart() {
    this.restarting = Promise.resolve(this.restarting).then(() => this.stop()).then(() => this.start()).catch((error) => this.output.appendLine(error.message));
    return this.restarting;
  }

  async stop() {
    const client = this.client;
    this.client = undefined;
    for (const part of this.providers.splice(0)) part.dispose();
    this.problems.clear();
    if (client) await client.stop();
  }

  // ended starts a server again that ended by itself, and says why if that does not help.
  ended(client, program, error) {
    if (this.client !== client) return;
    this.client = undefined;
    for (const part of this.providers.splice(0)) part.dispose();
    this.problems.clear();
    if (error && error.code !== 'ENOENT' && this.restarts++ < maxRestarts) {
      this.output.appendLine(`${error.message}; it is started again`);
      return this.restart();
    }
    const text = error && error.code === 'ENOENT'
      ? `${program} was not found. Install cfn, or set its path.`
      : `The language server of cfn has ended${error ? ': ' + error.message : ''}.`;
    vscode.window.showErrorMessage(text, 'Open Settings', 'Restart').then((choice) => {
      if (choice === 'Open Settings') return vscode.commands.executeCommand('workbench.action.openSettings', 'cfn.path');
      if (choice === 'Restart') return vscode.commands.executeCommand('cfn.restart');
    });
  }

  opened(document) {
    if (!this.client || !ours(document)) return;
    this.client.notify('textDocument/didOpen', {
      textDocument: { uri: document.uri.toString(), languageId: document.languageId, version: document.version, text: document.getText() },
    });
  }

  changed(event) {
    if (!this.client || !ours(event.document) || event.contentChanges.length === 0) return;
    this.client.notify('textDocument/didChange', {
      textDocument: { uri: event.document.uri.toString(), version: event.document.version },
      contentChanges: event.contentChanges.map((c) => ({ range: to.fromRange(c.range), text: c.text })),
    });
  }

  tell(method, document) {
    if (this.client && ours(document)) this.client.notify(method, { textDocument: { uri: document.uri.toString() } });
  }

  publish(params) {
    this.problems.set(vscode.Uri.parse(params.uri), params.diagnostics.map(to.diagnostic));
  }

  // register watches the files that the server wants to be notified of.
  register(method, params) {
    if (method !== 'client/registerCapability') throw new Error(`unknown method ${method}`);
    for (const registration of params.registrations) {
      for (const { globPattern } of registration.registerOptions.watchers || []) {
        const watcher = vscode.workspace.createFileSystemWatcher(globPattern);
        const changed = (type) => (uri) => this.client && this.client.notify('workspace/didChangeWatchedFiles', { changes: [{ uri: uri.toString(), type }] });
        this.providers.push(watcher, watcher.onDidCreate(changed(1)), watcher.onDidChange(changed(2)), watcher.onDidDelete(changed(3)));
      }
    }
  }

  // provide registers what the server is able to do.
  provide(client, able) {
    const at = (document, position) => ({ textDocument: { uri: document.uri.toString() }, position: position && to.fromPosition(position) });
    const ask = async (method, params, token, convert) => {
      const result = await client.request(method, params, token);
      return result === null || result === undefined ? undefined : convert(result);
    };
    const l = vscode.languages;
    this.providers.push(
      l.registerCompletionItemProvider(selector, {
        provideCompletionItems: (d, p, token) => ask('textDocument/completion', at(d, p), token,
          (r) => new vscode.CompletionList(r.items.map(to.completionItem), r.isIncomplete)),
      }, ...able.completionProvider.triggerCharacters),
      l.registerHoverProvider(selector, {
        provideHover: (d, p, token) => ask('textDocument/hover', at(d, p), token, (r) => new vscode.Hover(to.markup(r.contents), r.range && to.range(r.range))),
      }),
      l.registerDefinitionProvider(selector, { provideDefinition: (d, p, token) => ask('textDocument/definition', at(d, p), token, to.locations) }),
      l.registerReferenceProvider(selector, {
        provideReferences: (d, p, { includeDeclaration }, token) => ask('textDocument/references', { ...at(d, p), context: { includeDeclaration } }, token, to.locations),
      }),
      l.registerRenameProvider(selector, {
        prepareRename: (d, p, token) => ask('textDocument/prepareRename', at(d, p), token, (r) => ({ range: to.range(r.range), placeholder: r.placeholder })),
        provideRenameEdits: (d, p, newName, token) => ask('textDocument/rename', { ...at(d, p), newName }, token, to.workspaceEdit),
      }),
      l.registerDocumentSymbolProvider(selector, { provideDocumentSymbols: (d, token) => ask('textDocument/documentSymbol', at(d), token, (r) => r.map(to.symbol)) }),
      l.registerCodeLensProvider(selector, { provideCodeLenses: (d, token) => ask('textDocument/codeLens', at(d), token, (r) => r.map(to.codeLens)) }),
      l.registerCodeActionsProvider(selector, {
        provideCodeActions: (d, r, context, token) => ask('textDocument/codeAction', { ...at(d), range: to.fromRange(r), context: { diagnostics: [] } }, token,
          (found) => found.map((a) => to.codeAction(a, context.diagnostics))),
      }, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }));
  }
}

// capabilities are those of this client.
const capabilities = {
  general: { positionEncodings: ['utf-16'] },
  workspace: { didChangeWatchedFiles: { dynamicRegistration: true }, workspaceFolders: true },
  textDocument: {
    synchronization: { didSave: true },
    publishDiagnostics: { relatedInformation: true, versionSupport: true },
    completion: { completionItem: { snippetSupport: true, documentationFormat: ['markdown', 'plaintext'], insertTextModeSupport: { valueSet: [1, 2] } } },
    hover: { contentFormat: ['markdown', 'plaintext'] },
    rename: { prepareSupport: true },
    documentSymbol: { hierarchicalDocumentSymbolSupport: true },
    codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ['quickfix'] } } },
  },
};

let session;

exports.activate = async (context) => {
  session = new Session(context);
  await session.start().catch((error) => session.output.appendLine(error.message));
};

exports.deactivate = () => session && session.stop();
