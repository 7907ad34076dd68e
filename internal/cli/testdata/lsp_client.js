// An editor's side of the language server protocol, as Visual Studio Code speaks it.
// usage: node lsp_client.js CFN PROJECT
const { spawn } = require('child_process');
const { pathToFileURL } = require('url');
const fs = require('fs');
const path = require('path');
const rpc = require('vscode-languageserver-protocol/node');

const [cfn, dir] = process.argv.slice(2);
const server = spawn(cfn, ['lsp', '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
const connection = rpc.createProtocolConnection(
  new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
const published = new Map();
connection.onNotification(rpc.PublishDiagnosticsNotification.type, (p) => published.get(p.uri)?.(p));
connection.onRequest(rpc.RegistrationRequest.type, () => {});
connection.listen();

const open = (name) => {
  const uri = pathToFileURL(path.join(dir, name)).href;
  const text = fs.readFileSync(path.join(dir, name), 'utf8');
  const found = new Promise((done) => published.set(uri, done));
  connection.sendNotification(rpc.DidOpenTextDocumentNotification.type,
    { textDocument: rpc.TextDocumentItem.create(uri, 'json', 1, text) });
  return { uri, text, found };
};
const placeOf = (doc, word) => {
  const before = doc.text.slice(0, doc.text.indexOf(word) + 2).split('\n');
  return { textDocument: { uri: doc.uri }, position: { line: before.length - 1, character: before.at(-1).length } };
};

(async () => {
  await connection.sendRequest(rpc.InitializeRequest.type, {
    processId: process.pid, rootUri: pathToFileURL(dir).href, capabilities: {
      workspace: { didChangeWatchedFiles: { dynamicRegistration: true } },
      textDocument: { hover: { contentFormat: ['plaintext'] }, publishDiagnostics: {} },
    },
  });
  await connection.sendNotification(rpc.InitializedNotification.type, {});
  const schema = open('initech-tps-report.json');
  for (const d of (await schema.found).diagnostics) console.log('schema', d.range.start.line + 1, d.code);
  const hover = await connection.sendRequest(rpc.HoverRequest.type, placeOf(schema, 'createOnlyProperties'));
  console.log('hover', hover.contents.value.split('\n')[0]);
  const input = open('inputs/inputs_1_create.json');
  for (const d of (await input.found).diagnostics) console.log('input', d.range.start.line + 1, d.code);
  const list = await connection.sendRequest(rpc.CompletionRequest.type, placeOf(input, '"DRA'));
  console.log('completion', list.items.map((item) => item.label).join(' '));
  const place = await connection.sendRequest(rpc.DefinitionRequest.type, placeOf(input, 'Status'));
  console.log('definition', path.basename(place.uri), place.range.start.line + 1);
  const template = open('stack.yaml');
  for (const d of (await template.found).diagnostics) console.log('template', d.range.start.line + 1, d.code);
  const values = await connection.sendRequest(rpc.CompletionRequest.type, placeOf(template, 'DRAFTY'));
  console.log('values', values.items.slice(0, 2).map((item) => item.label).join(' '));
  const edit = await connection.sendRequest(rpc.RenameRequest.type, { ...placeOf(template, 'Report:'), newName: 'Weekly' });
  console.log('rename', edit.changes[template.uri].map((e) => e.range.start.line + 1).join(' '));
  await connection.sendRequest(rpc.ShutdownRequest.type);
  server.on('exit', (code) => { console.log('exit', code); connection.dispose(); });
  await connection.sendNotification(rpc.ExitNotification.type);
})().catch((error) => { console.error(error); process.exit(1); });
