// Values of the language server protocol as values of Visual Studio Code, and back. Positions are in UTF-16 in both.
'use strict';

const vscode = require('vscode');

const position = (p) => new vscode.Position(p.line, p.character);
const range = (r) => new vscode.Range(position(r.start), position(r.end));
const fromPosition = (p) => ({ line: p.line, character: p.character });
const fromRange = (r) => ({ start: fromPosition(r.start), end: fromPosition(r.end) });
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const locations = (l) => (l ? (Array.isArray(l) ? l : [l]).map(location) : []);
const edit = (e) => new vscode.TextEdit(range(e.range), e.newText);

// markup is text of a server: it gets no commands and no HTML.
const markup = (m) => (m.kind === 'markdown' ? new vscode.MarkdownString(m.value) : new vscode.MarkdownString().appendText(m.value));

function diagnostic(d) {
  const out = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  out.code = d.code;
  out.source = d.source;
  out.relatedInformation = (d.relatedInformation || []).map((r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message));
  return out;
}

function completionItem(item) {
  const out = new vscode.CompletionItem(item.label, item.kind - 1);
  out.detail = item.detail;
  out.sortText = item.sortText;
  out.filterText = item.filterText;
  out.insertText = item.insertTextFormat === 2 ? new vscode.SnippetString(item.textEdit.newText) : item.textEdit.newText;
  out.range = range(item.textEdit.range);
  out.keepWhitespace = item.insertTextMode === 1;
  if (item.documentation) out.documentation = markup(item.documentation);
  return out;
}

function symbol(s) {
  const out = new vscode.DocumentSymbol(s.name, s.detail || '', s.kind - 1, range(s.range), range(s.selectionRange));
  out.children = (s.children || []).map(symbol);
  return out;
}

function workspaceEdit(e) {
  const out = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries((e && e.changes) || {})) out.set(vscode.Uri.parse(uri), edits.map(edit));
  return out;
}

// codeAction repairs those of the problems of the editor that it names.
function codeAction(a, shown) {
  const out = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
  const fixes = (d) => a.diagnostics.some((f) => f.code === d.code && range(f.range).isEqual(d.range));
  out.diagnostics = shown.filter(fixes);
  out.isPreferred = a.isPreferred;
  out.edit = workspaceEdit(a.edit);
  return out;
}

const codeLens = (l) => new vscode.CodeLens(range(l.range), l.command);

module.exports = { position, range, fromPosition, fromRange, locations, markup, diagnostic, completionItem, symbol, workspaceEdit, codeAction, codeLens };
