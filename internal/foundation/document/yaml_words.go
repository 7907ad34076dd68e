package document

import (
	"errors"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// A yamlFault is the message for a syntax error of the YAML library.
type yamlFault struct {
	message, hint string

	// atContext puts the problem where the construct began rather than where the library
	// gave up.
	atContext bool
}

const (
	noTabs   = "YAML is indented with blanks, never with tabs"
	quoteIt  = `put the text in quotes: "…"`
	directed = "a line that begins with % is for YAML itself; " + quoteIt
)

// yamlFaults are the errors by the library's message. If a message is used for several
// constructs, the construct and a colon precede it.
var yamlFaults = map[string]yamlFault{
	"block sequence entries are not allowed in this context": {message: `a list cannot start here with "-"`, hint: "start it on a new line"},
	"mapping values are not allowed in this context":         {message: `a ":" is not allowed here`, hint: "quote a string that contains a colon and a space, and start a mapping on a new line"},
	"mapping keys are not allowed in this context":           {message: `a key cannot start here with "?"`, hint: quoteIt},
	"could not find expected ':'":                            {message: `missing ":" after this key`, hint: "quote a string of several lines, or indent it below its key", atContext: true},
	"did not find expected key":                              {message: "this line is neither a key of the mapping above nor part of a value in it", hint: "start the keys of a mapping in the same column"},
	"did not find expected '-' indicator":                    {message: "this line is neither an item of the list above nor part of one", hint: `put the "-" of all items in the same column`},
	"did not find expected ',' or ']'":                       {message: `a comma or "]" is missing`},
	"did not find expected ',' or '}'":                       {message: `a comma or "}" is missing`},
	"did not find expected node content":                     {message: "a value is missing here"},
	"did not find expected <document start>":                 {message: "unexpected content after the end of the document"},
	"found unexpected content after document-end marker":     {message: "unexpected content after the end of the document"},

	"found a tab character that violates indentation":                            {message: "the indentation contains a tab", hint: noTabs},
	"found a tab character where an indentation space is expected":               {message: "the indentation contains a tab", hint: noTabs},
	"found character that cannot start any token":                                {message: "a value cannot start with this character", hint: quoteIt},
	"found a comment without preceding whitespace":                               {message: "missing space before the # of a comment"},
	"did not find expected whitespace or line break":                             {message: "missing space after a tag"},
	"did not find the expected '>'":                                              {message: "a tag that starts with !< does not end with >"},
	"found undefined tag handle":                                                 {message: "the tag has a prefix that is not declared", hint: "remove it: JSON has no tags"},
	"did not find expected alphabetic or numeric character":                      {message: "missing name after & or *", hint: quoteIt},
	"while scanning a block scalar: did not find expected comment or line break": {message: "the text starts on the line of its | or >", hint: "start it on the next line"},
	"found an indentation indicator equal to 0":                                  {message: "the digit after | or > must be from 1 to 9"},

	"found unknown escape character":                                      {message: "unknown escape sequence", hint: `a backslash itself is written \\`},
	"did not find expected hexadecimal number":                            {message: "an escape sequence has too few hexadecimal digits", hint: `\x has two of them, \u four, \U eight`},
	"found invalid Unicode character escape code":                         {message: "invalid escape sequence", hint: `a character beyond U+FFFF is one escape of eight digits: \U0001F600`},
	"while scanning a quoted scalar: found unexpected end of stream":      {message: "unterminated string", atContext: true},
	"while scanning a quoted scalar: found unexpected document indicator": {message: "unterminated string", atContext: true},

	"found unknown directive name":                          {message: "unknown directive", hint: directed},
	"could not find expected directive name":                {message: "a directive has no name", hint: directed},
	"found unexpected non-alphabetical character":           {message: "a directive has an invalid name", hint: directed},
	"found incompatible YAML document":                      {message: "the YAML version of the document is not 1.1 or 1.2"},
	"did not find expected <document end> before directive": {message: "a directive is inside the document", hint: directed},
	"found duplicate %TAG directive":                        {message: "duplicate directive"},
	"found duplicate %YAML directive":                       {message: "duplicate directive"},
}

// yamlConstructs say where something began that the library could not read to its end.
var yamlConstructs = map[string]string{
	"while parsing a block mapping":    "the mapping begins here",
	"while parsing a block collection": "the list begins here",
	"while parsing a flow mapping":     "the mapping begins here",
	"while parsing a flow sequence":    "the list begins here",
	"while scanning a quoted scalar":   "the string begins here",
	"while scanning a block scalar":    "the text begins here",
}

// syntax reports what stopped the library.
func (c *yamlReader) syntax(err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		c.add("syntax", diag.Error, diag.Range{File: c.file}, "cannot parse the YAML", "")
		return
	}
	at := c.text.offset(load.Mark.Line, load.Mark.Column)
	if load.Mark.Line == 0 {
		at = 0
	}
	if c.tooDeep {
		c.deeper(c.limits.Depth, c.between(at, at))
		return
	}
	fault, known := yamlFaults[load.ContextMsg+": "+load.Message]
	if !known {
		fault, known = yamlFaults[load.Message]
	}
	name, unknownAnchor := strings.CutPrefix(load.Message, "unknown anchor '")
	switch {
	case unknownAnchor:
		name = c.text.restore(strings.TrimSuffix(name, "' referenced"))
		fault = yamlFault{message: "undefined anchor &" + name, hint: "quote a string that starts with *"}
	case !known && strings.Contains(load.ContextMsg, "directive"):
		fault = yamlFault{message: "cannot parse the directive", hint: directed}
	case !known:
		fault = yamlFault{message: "cannot parse this as YAML"}
	case strings.Contains(load.Message, "cannot start") && at < len(c.text.data) && c.text.data[at] == '\t':
		fault = yamlFault{message: "the indentation contains a tab", hint: noTabs}
	}
	p := diag.Problem{ID: "document/syntax", Message: fault.message, Hint: fault.hint}
	context := c.text.offset(load.ContextMark.Line, load.ContextMark.Column)
	began := yamlConstructs[load.ContextMsg]
	switch {
	case load.ContextMark.Line == 0:
	case fault.atContext:
		at = context
	case began != "" && context != at:
		p.Related = []diag.Note{{At: c.between(context, context), Message: began}}
	}
	_, size := utf8.DecodeRune(c.text.data[at:])
	p.At = c.between(at, at+size)
	c.problems.Add(p)
}
