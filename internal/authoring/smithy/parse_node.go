package smithy

import (
	"fmt"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A written trait is a trait in a file, before its name is resolved.
type writtenTrait struct {
	name       string
	value      *document.Value
	at         diag.Range
	annotation bool // without a value
	doc        bool // a documentation comment
}

// --- shape IDs

// namespaceName reads identifiers joined by dots.
func (p *parser) namespaceName() (string, bool) {
	from := p.start
	to := p.end
	if !p.skip(tokIdentifier) {
		return "", false
	}
	for p.kind == tokDot {
		p.advance()
		to = p.end
		if !p.skip(tokIdentifier) {
			return "", false
		}
	}
	return p.src[from:to], true
}

// relativeName reads "Name" or "Name$member".
func (p *parser) relativeName() (to int, ok bool) {
	to = p.end
	if !p.skip(tokIdentifier) {
		return 0, false
	}
	if p.kind == tokDollar {
		p.advance()
		to = p.end
		if !p.skip(tokIdentifier) {
			return 0, false
		}
	}
	return to, true
}

func (p *parser) absoluteID() (string, bool) {
	from := p.start
	p.idAt = p.at()
	if _, ok := p.namespaceName(); !ok {
		return "", false
	}
	if !p.skip(tokPound) {
		return "", false
	}
	to, ok := p.relativeName()
	if !ok {
		return "", false
	}
	return p.src[from:to], true
}

// shapeID reads an absolute or a relative shape ID.
func (p *parser) shapeID() (string, bool) {
	from := p.start
	p.idAt = p.at()
	name, ok := p.namespaceName()
	if !ok {
		return "", false
	}
	switch p.kind {
	case tokDollar:
		p.advance()
		to := p.end
		if !p.skip(tokIdentifier) {
			return "", false
		}
		return p.src[from:to], true
	case tokPound:
		p.advance()
		to, ok := p.relativeName()
		if !ok {
			return "", false
		}
		return p.src[from:to], true
	}
	return name, true
}

// --- values

// node reads a value.
func (p *parser) node() (*document.Value, bool) {
	return p.nodeAt(p.at())
}

func (p *parser) nodeAt(at diag.Range) (*document.Value, bool) {
	if !p.expect(tokString, tokTextBlock, tokNumber, tokIdentifier, tokLBrace, tokLBracket) {
		return nil, false
	}
	switch p.kind {
	case tokString, tokTextBlock:
		v := &document.Value{Kind: document.String, Text: p.text, At: at}
		p.advance()
		return v, true
	case tokNumber:
		v := &document.Value{Kind: document.Number, Text: p.lexeme(), At: at}
		p.advance()
		return v, true
	case tokIdentifier:
		id, ok := p.shapeID()
		if !ok {
			return nil, false
		}
		return p.wordValue(id, at), true
	case tokLBrace:
		return p.object(at)
	}
	return p.array(at)
}

// wordValue is the value of an unquoted word: a keyword, or the ID of a shape, which
// becomes known when all files are read.
func (p *parser) wordValue(word string, at diag.Range) *document.Value {
	switch word {
	case "true", "false":
		return &document.Value{Kind: document.Bool, Bool: word == "true", At: at}
	case "null":
		return &document.Value{Kind: document.Null, At: at}
	}
	v := &document.Value{Kind: document.String, Text: word, At: at}
	p.refer(word, func(id ID, t Type) {
		v.Text = string(id)
		if t == "" {
			p.load.report(Event{
				ID: "SyntacticShapeIdTarget", Severity: DangerSeverity, At: at,
				Message: fmt.Sprintf("Syntactic shape ID `%s` does not resolve to a valid shape ID: `%s`. Did you mean to quote "+
					"this string? Are you missing a model file?", word, id),
			})
		}
	})
	return v
}

func (p *parser) array(at diag.Range) (*document.Value, bool) {
	if !p.enter() {
		return nil, false
	}
	v := &document.Value{Kind: document.Array, At: at}
	p.advance()
	p.skipAll()
	for p.kind != tokRBracket {
		item, ok := p.node()
		if !ok {
			return nil, false
		}
		v.Items = append(v.Items, item)
		p.skipAll()
	}
	p.advance()
	p.leave()
	return v, true
}

func (p *parser) object(at diag.Range) (*document.Value, bool) {
	p.advance()
	p.skipAll()
	if !p.enter() {
		return nil, false
	}
	v := &document.Value{Kind: document.Object, At: at}
	for p.kind != tokEOF {
		if !p.expect(tokRBrace, tokString, tokIdentifier) {
			return nil, false
		}
		if p.kind == tokRBrace {
			break
		}
		if !p.entry(v, "Duplicate member: '%s'", tokString, tokIdentifier) {
			return nil, false
		}
	}
	if !p.skip(tokRBrace) {
		return nil, false
	}
	p.leave()
	return v, true
}

// entry reads "key: value" into an object, and what space follows.
func (p *parser) entry(v *document.Value, duplicate string, kinds ...tokenKind) bool {
	at := p.at()
	key, ok := p.key(kinds...)
	if !ok {
		return false
	}
	p.skipAll()
	if !p.skip(tokColon) {
		return false
	}
	p.skipAll()
	value, ok := p.node()
	if !ok {
		return false
	}
	if v.Member(key) != nil {
		return p.failAt(at, "", fmt.Sprintf(duplicate, key))
	}
	v.Members = append(v.Members, document.Member{Key: key, KeyAt: at, Value: value})
	p.skipAll()
	return true
}

// --- traits

// docsAndTraits reads documentation comments, then traits, before a shape or a member.
func (p *parser) docsAndTraits(member bool) ([]writtenTrait, bool) {
	p.skipWhitespace()
	var doc *writtenTrait
	documented, at := p.kind == tokDoc, p.at()
	p.skipAll()
	if documented {
		if text, found := p.takeDocs(); found {
			value := &document.Value{Kind: document.String, Text: text, At: at}
			doc = &writtenTrait{name: string(traitDocumentation), value: value, at: at, doc: true}
		}
	}
	traits, ok := p.traits()
	if !ok {
		return nil, false
	}
	if doc != nil {
		traits = append(traits, *doc)
	}
	if member {
		p.dropDocs()
	}
	return traits, true
}

// traits reads any number of traits with the space behind them.
func (p *parser) traits() ([]writtenTrait, bool) {
	var out []writtenTrait
	for p.kind == tokAt {
		t, ok := p.trait()
		if !ok {
			return nil, false
		}
		out = append(out, t)
		p.skipAll()
	}
	return out, true
}

func (p *parser) trait() (writtenTrait, bool) {
	none := writtenTrait{}
	at := p.at()
	if !p.skip(tokAt) {
		return none, false
	}
	name, ok := p.shapeID()
	if !ok {
		return none, false
	}
	t := writtenTrait{name: name, at: at, annotation: true, value: &document.Value{At: at}}
	if p.kind != tokLParen {
		return t, true
	}
	p.advance()
	p.skipAll()
	if p.kind == tokRParen {
		p.advance()
		return t, true
	}
	t.annotation = false
	if t.value, ok = p.traitBody(at); !ok {
		return none, false
	}
	p.skipAll()
	return t, p.skip(tokRParen)
}

// traitBody reads the text in the parentheses of a trait: a value, or the members of an object
// without its braces.
func (p *parser) traitBody(at diag.Range) (*document.Value, bool) {
	if !p.expect(tokLBrace, tokLBracket, tokTextBlock, tokString, tokNumber, tokIdentifier) {
		return nil, false
	}
	switch p.kind {
	case tokString:
		key, keyAt := p.text, p.at()
		p.advance()
		p.skipAll()
		if p.kind == tokColon {
			return p.traitMembers(key, keyAt)
		}
		return &document.Value{Kind: document.String, Text: key, At: at}, true
	case tokIdentifier:
		keyAt := p.at()
		word, ok := p.shapeID()
		if !ok {
			return nil, false
		}
		p.skipAll()
		if p.kind == tokRParen || !validIdentifier(word) {
			return p.wordValue(word, at), true
		}
		if !p.expect(tokColon) {
			return nil, false
		}
		return p.traitMembers(word, keyAt)
	}
	return p.nodeAt(at)
}

// traitMembers reads the members of an object after its first key.
func (p *parser) traitMembers(key string, at diag.Range) (*document.Value, bool) {
	if !p.skip(tokColon) {
		return nil, false
	}
	p.skipAll()
	if !p.enter() {
		return nil, false
	}
	v := &document.Value{Kind: document.Object, At: at}
	value, ok := p.node()
	if !ok {
		return nil, false
	}
	v.Members = append(v.Members, document.Member{Key: key, KeyAt: at, Value: value})
	p.skipAll()
	for p.kind != tokRParen {
		if !p.entry(v, "Duplicate member of trait: '%s'", tokIdentifier, tokString) {
			return nil, false
		}
	}
	p.leave()
	return v, true
}
