package smithy

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxNesting bounds how deep arrays, objects and traits nest within each other.
const maxNesting = 64

// A parser reads one file of the IDL and passes its definitions to a loader. Its methods
// return false when the statement cannot be read further; the error is then in fault, and the
// loop over statements reports it and restarts at the next statement.
type parser struct {
	*lexer
	load  *loader
	fault *Event

	version      version
	namespace    string
	uses         map[string]ID // names that "use" statements bring in
	inputSuffix  string
	outputSuffix string
	docs         []string   // lines of documentation comments that nothing has claimed yet
	docsAt       diag.Range // the first of them
	idAt         diag.Range // the shape ID that was read last
	depth        int
}

// parseIDL reads a file into the loader.
func parseIDL(load *loader, file, src string) {
	p := &parser{
		load: load, version: version1,
		uses: map[string]ID{}, inputSuffix: "Input", outputSuffix: "Output",
	}
	p.lexer = newLexer(file, src)
	p.noteDoc()
	p.skipAll()
	if ok := p.control(); ok {
		load.versions[file] = p.version
		p.skipAll()
		if p.metadata() {
			p.shapeSection()
		}
	}
	if p.fault != nil {
		load.report(*p.fault)
	}
}

// --- moving through tokens

func (p *parser) advance() tokenKind {
	p.next()
	p.noteDoc()
	return p.kind
}

// noteDoc stores the text of a documentation comment.
func (p *parser) noteDoc() {
	if p.kind != tokDoc {
		return
	}
	line := p.lexeme()[3:]
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	if len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	if len(p.docs) == 0 {
		p.docsAt = p.at()
	}
	p.docs = append(p.docs, line)
}

// takeDocs returns the pending documentation, and forgets it.
func (p *parser) takeDocs() (string, bool) {
	if len(p.docs) == 0 {
		return "", false
	}
	size := 0
	for _, line := range p.docs {
		size += len(line) + 1
	}
	text := make([]byte, 0, size)
	for i, line := range p.docs {
		if i > 0 {
			text = append(text, '\n')
		}
		text = append(text, line...)
	}
	p.docs = p.docs[:0]
	return string(text), true
}

func (p *parser) skipSpaces() {
	for p.kind == tokSpace {
		p.advance()
	}
}

func (p *parser) skipWhitespace() {
	for p.kind.whitespace() {
		p.advance()
	}
}

// skipAll skips whitespace and documentation comments.
func (p *parser) skipAll() {
	for p.kind.whitespace() || p.kind == tokDoc {
		p.advance()
	}
}

// fail records a syntax error at the current token.
func (p *parser) fail(shape ID, message string) bool {
	return p.failAt(p.at(), shape, fmt.Sprintf("Syntax error at line %d, column %d: %s", p.line, p.column(), message))
}

// failAt records a fault with a specific text.
func (p *parser) failAt(at diag.Range, shape ID, message string) bool {
	p.fault = &Event{ID: modelError, Severity: ErrorSeverity, Shape: shape, Message: message, At: at}
	return false
}

func (p *parser) warn(id, message string, at diag.Range) {
	p.load.report(Event{ID: id, Severity: WarningSeverity, Message: message, At: at})
}

// expect checks that the current token is one of the kinds; it does not move on.
func (p *parser) expect(kinds ...tokenKind) bool {
	if slices.Contains(kinds, p.kind) {
		return true
	}
	if p.kind == tokError {
		return p.fail("", p.reason)
	}
	if len(kinds) == 1 {
		return p.fail("", "Expected "+kinds[0].describe(tokens[kinds[0]].example)+" but found "+p.kind.describe(p.lexeme()))
	}
	text := "Expected one of "
	for i, k := range kinds {
		if i > 0 {
			text += ", "
		}
		text += k.describe(tokens[k].example)
	}
	return p.fail("", text+"; but found "+p.kind.describe(p.lexeme()))
}

// skip expects a token and moves on.
func (p *parser) skip(kind tokenKind) bool {
	if !p.expect(kind) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expectSpaces() bool {
	if !p.expect(tokSpace) {
		return false
	}
	p.skipSpaces()
	return true
}

func (p *parser) expectWhitespace() bool {
	if !p.kind.whitespace() {
		return p.fail("", "Expected one or more whitespace characters, but found "+p.kind.describe(p.lexeme()))
	}
	p.skipAll()
	return true
}

// lineBreak expects the end of a statement: a line break, a comment or the end of the file.
func (p *parser) lineBreak() bool {
	p.skipSpaces()
	p.dropDocs()
	switch p.kind {
	case tokNewline, tokComment, tokDoc:
		p.advance()
		p.skipWhitespace()
	case tokEOF:
	default:
		return p.fail("", "Expected a line break, but found "+p.kind.describe(p.lexeme()))
	}
	return true
}

// dropDocs warns of documentation comments that document nothing.
func (p *parser) dropDocs() {
	at := p.docsAt
	if text, found := p.takeDocs(); found {
		p.badDocs(at, text)
	}
}

func (p *parser) badDocs(at diag.Range, text string) {
	p.warn("Model.BadDocumentationComment", "Found documentation comments ('///') attached to nothing. Documentation comments must "+
		"appear on their own lines, directly before shapes and members, and before any traits. The invalid comments were: "+text, at)
}

// recover reports the fault and moves to what looks like the next statement. It reports
// false at the end of the file, where the fault stays pending.
func (p *parser) recover() bool {
	p.depth = 0
	if p.kind == tokEOF {
		return false
	}
	p.load.report(*p.fault)
	p.fault = nil
	for {
		p.advance()
		if p.kind == tokEOF {
			return true
		}
		if p.start != p.lineStart {
			continue
		}
		switch p.kind {
		case tokIdentifier, tokDoc, tokAt, tokDollar:
			return true
		}
	}
}

func (p *parser) enter() bool {
	if p.depth++; p.depth > maxNesting {
		return p.fail("", fmt.Sprintf("Parser exceeded maximum allowed depth of %d", maxNesting))
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// --- the sections of a file

func (p *parser) control() bool {
	defined := map[string]bool{}
	for p.kind == tokDollar {
		if !p.controlStatement(defined) && !p.recover() {
			return false
		}
	}
	return true
}

func (p *parser) controlStatement(defined map[string]bool) bool {
	p.advance()
	key, ok := p.key(tokIdentifier, tokString)
	if !ok {
		return false
	}
	p.skipSpaces()
	if !p.skip(tokColon) {
		return false
	}
	p.skipSpaces()
	if defined[key] {
		return p.fail("", fmt.Sprintf("Duplicate control statement `%s`", key))
	}
	defined[key] = true
	value, ok := p.node()
	if !ok || !p.setControl(key, value) {
		return false
	}
	return p.lineBreak()
}

func (p *parser) setControl(key string, value *document.Value) bool {
	switch key {
	case "version":
		if value.Kind != document.String {
			return p.failAt(value.At, "", "The $version control statement must have a string value, but found "+printJSON(value))
		}
		v, known := parseVersion(value.Text)
		if !known {
			return p.fail("", "Unsupported Smithy version number: "+value.Text)
		}
		p.version = v
	case "operationInputSuffix", "operationOutputSuffix":
		if value.Kind != document.String {
			return p.failAt(value.At, "", "Expected string, but found "+kindName(value.Kind)+".")
		}
		if key == "operationInputSuffix" {
			p.inputSuffix = value.Text
		} else {
			p.outputSuffix = value.Text
		}
	default:
		p.warn(modelError, fmt.Sprintf("Unknown control statement `%s` with value `%s", key, printJSON(value)), value.At)
	}
	return true
}

// key reads an identifier or a string.
func (p *parser) key(kinds ...tokenKind) (string, bool) {
	if !p.expect(kinds...) {
		return "", false
	}
	key := p.text
	if p.kind == tokIdentifier {
		key = p.lexeme()
	}
	p.advance()
	return key, true
}

func (p *parser) isWord(word string) bool { return p.kind == tokIdentifier && p.lexeme() == word }

func (p *parser) metadata() bool {
	for p.isWord("metadata") {
		if !p.metadataStatement() && !p.recover() {
			return false
		}
	}
	return true
}

func (p *parser) metadataStatement() bool {
	p.advance()
	if !p.expectSpaces() {
		return false
	}
	key, ok := p.key(tokIdentifier, tokString)
	if !ok {
		return false
	}
	p.skipSpaces()
	if !p.skip(tokEqual) {
		return false
	}
	p.skipSpaces()
	value, ok := p.node()
	if !ok {
		return false
	}
	p.load.putMetadata(key, value)
	if !p.lineBreak() {
		return false
	}
	p.skipAll()
	return true
}

func (p *parser) shapeSection() {
	if !p.isWord("namespace") {
		if p.kind != tokEOF {
			p.fail("", "Expected a namespace definition but found "+p.kind.describe(p.lexeme()))
		}
		return
	}
	p.advance()
	if !p.expectSpaces() {
		return
	}
	namespace, ok := p.namespaceName()
	if !ok {
		return
	}
	p.namespace = namespace
	if !p.lineBreak() {
		return
	}
	if !p.useSection() {
		return
	}
	for first := true; p.kind != tokEOF; first = false {
		if !p.statement(first) && !p.recover() {
			return
		}
	}
}

func (p *parser) useSection() bool {
	p.skipAll()
	for p.isWord("use") {
		if !p.useStatement() {
			return false
		}
		p.skipAll()
	}
	return true
}

func (p *parser) useStatement() bool {
	p.advance()
	if !p.expectSpaces() {
		return false
	}
	at := p.at()
	text, ok := p.absoluteID()
	if !ok {
		return false
	}
	id := ID(text)
	if id.Member() != "" {
		return p.failAt(at, "", "Use statements cannot use members")
	}
	if previous, taken := p.uses[id.Name()]; taken {
		return p.failAt(at, "", fmt.Sprintf("Cannot use name `%s` because it conflicts with `%s`", id, previous))
	}
	p.uses[id.Name()] = id
	p.refer(text, func(_ ID, t Type) {
		if t == "" {
			p.warn(modelError, "Use statement refers to undefined shape: "+text, at)
		}
	})
	return p.lineBreak()
}

// statement reads a shape or an apply statement with its documentation and traits.
// Documentation of the first one may already have been read with the use statements.
func (p *parser) statement(first bool) bool {
	documented := p.kind == tokDoc
	var early []writtenTrait
	at := p.docsAt
	if text, found := p.takeEarlyDocs(first); found {
		documented = true
		value := &document.Value{Kind: document.String, Text: text, At: at}
		early = append(early, writtenTrait{name: string(traitDocumentation), value: value, at: value.At, doc: true})
	}
	traits, ok := p.docsAndTraits(false)
	if !ok {
		return false
	}
	traits = append(traits, early...)
	if p.kind == tokEOF {
		if documented && len(traits) == 1 {
			p.badDocs(traits[0].at, traits[0].value.Text)
			return true
		}
		if len(traits) == 0 {
			return true
		}
	}
	return p.shapeOrApply(traits)
}

func (p *parser) takeEarlyDocs(first bool) (string, bool) {
	if !first {
		return "", false
	}
	return p.takeDocs()
}

// refer resolves the shape behind a name once all files are read; resolved gets its ID, and
// its type, which is "" if the shape does not exist.
func (p *parser) refer(name string, resolved func(id ID, t Type)) {
	p.load.refer(reference{namespace: p.namespace, name: name, uses: p.uses, at: p.idAt, resolved: resolved})
}

func (p *parser) referTo(name string, target *ID) {
	p.refer(name, func(id ID, _ Type) { *target = id })
}
