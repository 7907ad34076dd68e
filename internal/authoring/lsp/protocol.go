package lsp

import "encoding/json"

// The parts of the language server protocol 3.17 that are used, under its own names.

type position struct {
	Line      uint32 `json:"line"`      // from 0
	Character uint32 `json:"character"` // from 0, in the units that were agreed upon
}

type span struct { // "Range" in the protocol
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type initializeParams struct {
	Capabilities          clientCapabilities `json:"capabilities"`
	RootURI               string             `json:"rootUri"`
	InitializationOptions json.RawMessage    `json:"initializationOptions"`
	WorkspaceFolders      []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
}

// folders are the folders of the workspace.
func (p *initializeParams) folders() []string {
	var out []string
	for _, folder := range p.WorkspaceFolders {
		if path := pathOf(folder.URI); path != "" {
			out = append(out, path)
		}
	}
	if path := pathOf(p.RootURI); path != "" && len(out) == 0 {
		out = append(out, path)
	}
	return out
}

type clientCapabilities struct {
	General struct {
		PositionEncodings []string `json:"positionEncodings"`
	} `json:"general"`
	Workspace struct {
		DidChangeWatchedFiles struct {
			DynamicRegistration bool `json:"dynamicRegistration"`
		} `json:"didChangeWatchedFiles"`
	} `json:"workspace"`
	TextDocument struct {
		Completion struct {
			CompletionItem struct {
				SnippetSupport bool `json:"snippetSupport"`
				InsertTextMode struct {
					ValueSet []int `json:"valueSet"`
				} `json:"insertTextModeSupport"`
				DocumentationFormat []string `json:"documentationFormat"`
			} `json:"completionItem"`
		} `json:"completion"`
		Hover struct {
			ContentFormat []string `json:"contentFormat"`
		} `json:"hover"`
		DocumentSymbol struct {
			Hierarchical bool `json:"hierarchicalDocumentSymbolSupport"`
		} `json:"documentSymbol"`
		CodeAction struct {
			LiteralSupport *struct{} `json:"codeActionLiteralSupport"`
		} `json:"codeAction"`
		PublishDiagnostics struct {
			RelatedInformation bool `json:"relatedInformation"`
			VersionSupport     bool `json:"versionSupport"`
		} `json:"publishDiagnostics"`
	} `json:"textDocument"`
}

type initializeResult struct {
	Capabilities serverCapabilities `json:"capabilities"`
	ServerInfo   serverInfo         `json:"serverInfo"`
}

type serverInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type serverCapabilities struct {
	PositionEncoding       string            `json:"positionEncoding"`
	TextDocumentSync       syncOptions       `json:"textDocumentSync"`
	HoverProvider          bool              `json:"hoverProvider"`
	DefinitionProvider     bool              `json:"definitionProvider"`
	DocumentSymbolProvider bool              `json:"documentSymbolProvider"`
	CompletionProvider     completionOptions `json:"completionProvider"`
	CodeActionProvider     any               `json:"codeActionProvider"`
	ReferencesProvider     bool              `json:"referencesProvider"`
	RenameProvider         renameOptions     `json:"renameProvider"`
	CodeLensProvider       *struct{}         `json:"codeLensProvider,omitempty"`
}

type renameOptions struct {
	PrepareProvider bool `json:"prepareProvider"`
}

type syncOptions struct {
	OpenClose bool        `json:"openClose"`
	Change    int         `json:"change"` // 2: incremental
	Save      saveOptions `json:"save"`
}

type saveOptions struct {
	IncludeText bool `json:"includeText"`
}

type completionOptions struct {
	TriggerCharacters []string `json:"triggerCharacters"`
}

type codeActionOptions struct {
	Kinds []string `json:"codeActionKinds"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Version *int32 `json:"version"`
	Text    string `json:"text"`
}

type openParams struct {
	TextDocument textDocument `json:"textDocument"`
}

type changeParams struct {
	TextDocument   textDocument `json:"textDocument"`
	ContentChanges []struct {
		Range *span  `json:"range"` // nil: the text is the whole document
		Text  string `json:"text"`
	} `json:"contentChanges"`
}

// documentParams are those of every method that is about a document, or a place in one.
type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
	Range        span         `json:"range"`
	Context      struct {
		Only               []string `json:"only"`
		IncludeDeclaration bool     `json:"includeDeclaration"`
	} `json:"context"`
	NewName string `json:"newName"`
}

type renamePlace struct {
	Range       span   `json:"range"`
	Placeholder string `json:"placeholder"`
}

type codeLens struct {
	Range   span    `json:"range"`
	Command command `json:"command"`
}

type command struct {
	Title   string `json:"title"`
	Command string `json:"command"`
}

type watchedParams struct {
	Changes []struct {
		URI string `json:"uri"`
	} `json:"changes"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int32       `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type diagnostic struct {
	Range    span      `json:"range"`
	Severity int       `json:"severity"` // 1 error, 2 warning, 3 information
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type markup struct {
	Kind  string `json:"kind"` // "markdown" or "plaintext"
	Value string `json:"value"`
}

type hover struct {
	Contents markup `json:"contents"`
	Range    *span  `json:"range,omitempty"`
}

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

type completionItem struct {
	Label            string   `json:"label"`
	Kind             int      `json:"kind"`
	Detail           string   `json:"detail,omitempty"`
	Documentation    *markup  `json:"documentation,omitempty"`
	SortText         string   `json:"sortText"`
	FilterText       string   `json:"filterText"`
	InsertTextFormat int      `json:"insertTextFormat"`         // 1 plain, 2 snippet
	InsertTextMode   int      `json:"insertTextMode,omitempty"` // 1: lines are not indented further
	TextEdit         textEdit `json:"textEdit"`
}

// The kinds of completion items that are used.
const (
	itemFunction   = 3
	itemVariable   = 6
	itemClass      = 7
	itemModule     = 9
	itemProperty   = 10
	itemField      = 5
	itemEvent      = 23
	itemValue      = 12
	itemEnum       = 20 // EnumMember
	itemReference  = 18
	itemKeyword    = 14
	formatPlain    = 1
	formatSnippet  = 2
	symbolModule   = 2
	symbolClass    = 5
	symbolMethod   = 6
	symbolProperty = 7
	symbolField    = 8
	symbolVariable = 13
	symbolConstant = 14
	symbolString   = 15
	symbolNumber   = 16
	symbolBoolean  = 17
	symbolArray    = 18
	symbolObject   = 19
	symbolNull     = 21
)

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          span             `json:"range"`
	SelectionRange span             `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

type symbolInformation struct {
	Name          string   `json:"name"`
	Kind          int      `json:"kind"`
	Location      location `json:"location"`
	ContainerName string   `json:"containerName,omitempty"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	IsPreferred bool          `json:"isPreferred"`
	Edit        workspaceEdit `json:"edit"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type registrationParams struct {
	Registrations []registration `json:"registrations"`
}

type registration struct {
	ID      string `json:"id"`
	Method  string `json:"method"`
	Options any    `json:"registerOptions"`
}

type watchOptions struct {
	Watchers []watcher `json:"watchers"`
}

type watcher struct {
	GlobPattern string `json:"globPattern"`
}
