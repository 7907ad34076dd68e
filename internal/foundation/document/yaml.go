package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// ParseYAML reads one YAML 1.2 document into the values that JSON has.
//
// Plain scalars follow the core schema of YAML 1.2: null and ~, true and false in three
// spellings each, numbers; everything else is text, including on, yes, 2001-01-01 and 1_000.
// Numbers become JSON numbers without loss: 0x1F is 31, +.5 is 0.5. A number with leading
// zeros is text, with a warning, because the versions of YAML disagree about it; .inf and .nan
// are problems. The keys of a mapping are their text.
//
// Anchors and aliases are expanded, each alias into separate values that have the places of
// the anchor. A plain key << merges mappings, as most readers of YAML do: the mapping's own
// keys have precedence, then the earlier of several. Tags other than those of the core schema
// are problems, as are further documents in the file.
//
// Problems have the IDs of [ParseJSON] (a repeated key is a warning) and document/tag,
// document/key, document/number, document/alias, document/merge and
// document/several-documents. The value is nil if the syntax is faulty, of which only the
// first fault is found, or a bound is exceeded; with other errors it is of use for further
// messages only.
func ParseYAML(file string, data []byte, limits Limits) (*Value, diag.List) {
	return ParseYAMLDialect(file, data, limits, Dialect{})
}

// A Dialect is what a format does differently from the YAML of [ParseYAML].
type Dialect struct {
	// Tag returns the value for a tag such as !Ref and the value after it, or nil if the
	// format does not have the tag. A tagged scalar is always a String. at is where the tag
	// is.
	Tag func(tag string, at diag.Range, v *Value) *Value

	NoAliases bool // an alias is a problem document/alias
	NoMerge   bool // a merge key is a problem document/merge
	Booleans  bool // yes, no, on and off are booleans, as in YAML 1.1, with a warning document/boolean
}

// ParseYAMLDialect is [ParseYAML] for a format with tags.
func ParseYAMLDialect(file string, data []byte, limits Limits, dialect Dialect) (*Value, diag.List) {
	limits = limits.withDefaults()
	c := &yamlReader{file: file, limits: limits, dialect: dialect, anchored: map[*yaml.Node]*Value{}}
	if len(data) > limits.Bytes {
		c.add("too-large", diag.Error, diag.Range{File: file},
			fmt.Sprintf("the document is larger than %d bytes", limits.Bytes), "")
		return nil, c.problems
	}
	c.text = newYAMLText(data)
	if !c.readable() {
		return nil, c.problems
	}
	root := c.load()
	if root == nil {
		return nil, c.problems
	}
	v := c.value(root, 0)
	if c.stopped {
		return nil, c.problems
	}
	return v, c.problems
}

// A yamlReader turns the nodes of the YAML library into values.
type yamlReader struct {
	file     string
	text     *yamlText
	limits   Limits
	dialect  Dialect
	problems diag.List

	anchored map[*yaml.Node]*Value // nil while the node is being read
	made     int                   // number of values
	stopped  bool                  // a bound was exceeded: nothing more is read
	tooDeep  bool                  // the library was stopped for the depth
}

func (c *yamlReader) add(id string, severity diag.Severity, at diag.Range, message, hint string) {
	c.problems.Add(diag.Problem{ID: "document/" + id, Severity: severity, At: at, Message: message, Hint: hint})
}

// between is the range of two byte offsets.
func (c *yamlReader) between(start, end int) diag.Range {
	return diag.Range{File: c.file, Start: c.text.position(start), End: c.text.position(end)}
}

// readable looks for bytes that are not allowed in YAML, and for more of the characters that
// start values than there may be values: the library would use a thousand times their memory.
func (c *yamlReader) readable() bool {
	if at, what := c.text.unreadable(); what != "" {
		c.add("syntax", diag.Error, c.between(at, at+1), what, "save the file as UTF-8 text")
		return false
	}
	signs := 0
	for _, b := range c.text.data {
		switch b {
		case ',', '[', '{', '-', '?', ':', '\n', '\r':
			signs++
		}
	}
	if most := 2 * c.limits.Values; signs > most {
		c.add("too-large", diag.Error, diag.Range{File: c.file},
			fmt.Sprintf("the document has %d lines, commas, colons and other characters that can start a value; the limit is %d", signs, most), "")
		return false
	}
	return true
}

func (c *yamlReader) tooMany(at diag.Range) {
	if !c.stopped {
		c.add("too-large", diag.Error, at, fmt.Sprintf("the document has more than %d values here", c.limits.Values),
			"an alias counts as all values that it refers to")
	}
	c.stopped = true
}

// deeper reports whether a collection at the depth would be too deep.
func (c *yamlReader) deeper(depth int, at diag.Range) bool {
	if depth < c.limits.Depth {
		return false
	}
	if !c.stopped {
		at.End = at.Start
		c.add("too-deep", diag.Error, at, fmt.Sprintf("arrays and objects are nested deeper than %d levels", c.limits.Depth), "")
	}
	c.stopped = true
	return true
}

// CheckDepth stops the library before it recurses too deeply. It counts the brackets and
// the indentations that are open, each by themselves.
func (c *yamlReader) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > c.limits.Depth {
		c.tooDeep = true
		return errors.New("too deep")
	}
	return nil
}

// CheckAlias has nothing to check: the library expands no alias for nodes.
func (c *yamlReader) CheckAlias(int, int) error { return nil }

// load returns the root of the first document, or nil with a problem.
func (c *yamlReader) load() *yaml.Node {
	loader, err := yaml.NewLoader(bytes.NewReader(c.text.isolated), yaml.WithPlugin(c))
	if err != nil {
		c.syntax(err)
		return nil
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF):
		end := len(c.text.data)
		c.add("syntax", diag.Error, c.between(end, end), "the document is empty", "")
		return nil
	case err != nil:
		c.syntax(err)
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		at := c.text.offset(second.Line, second.Column)
		c.add("several-documents", diag.Error, c.between(at, at), "a second document starts here; a file can contain only one", "move it to a separate file")
	case !errors.Is(err, io.EOF):
		c.syntax(err)
		return nil
	}
	if len(first.Content) == 0 {
		return &yaml.Node{Kind: yaml.ScalarNode, Line: first.Line, Column: first.Column}
	}
	return first.Content[0]
}

func (c *yamlReader) value(n *yaml.Node, depth int) *Value {
	if c.stopped {
		return &Value{}
	}
	if n.Kind == yaml.AliasNode {
		return c.alias(n, depth)
	}
	start := c.text.start(n)
	if c.made++; c.made > c.limits.Values {
		c.tooMany(c.between(start, start))
		return &Value{}
	}
	if n.Anchor != "" {
		c.anchored[n] = nil
	}
	v := &Value{}
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		if c.deeper(depth, c.between(start, start)) {
			return v
		}
		var end int
		if n.Kind == yaml.MappingNode {
			v.Kind = Object
			end = c.members(v, n, start, depth)
		} else {
			v.Kind = Array
			end = c.items(v, n, start, depth)
		}
		v.At = c.between(start, c.text.collectionEnd(n, start, end))
		c.collectionTag(n)
	default:
		v.At = c.between(start, c.text.scalarEnd(n, start))
		c.scalar(v, n)
	}
	if c.ownTag(n) {
		at := c.text.offset(n.Line, n.Column)
		if tagged := c.dialect.Tag(c.text.restore(n.Tag), c.between(at, c.text.propertyEnd(at)), v); tagged != nil {
			v = tagged
		} else {
			c.unknownTag(n)
		}
	}
	if n.Anchor != "" {
		c.anchored[n] = v
	}
	return v
}

// ownTag reports whether a node has a tag that is for the dialect to judge.
func (c *yamlReader) ownTag(n *yaml.Node) bool {
	return c.dialect.Tag != nil && n.Style&yaml.TaggedStyle != 0 && !strings.HasPrefix(n.Tag, "!!")
}

// items reads a sequence and returns the offset at which its last item ends.
func (c *yamlReader) items(v *Value, n *yaml.Node, end, depth int) int {
	for _, item := range n.Content {
		v.Items = append(v.Items, c.value(item, depth+1))
		end = c.endOf(item, v.Items[len(v.Items)-1])
	}
	return end
}

// endOf is where a child ends in the text: an alias at its name, not where its value does.
func (c *yamlReader) endOf(n *yaml.Node, v *Value) int {
	if n.Kind == yaml.AliasNode {
		return c.text.offset(n.Line, n.Column) + 1 + len(n.Value)
	}
	return v.At.End.Offset
}

// members reads a mapping and returns the offset at which its last value ends.
func (c *yamlReader) members(v *Value, n *yaml.Node, end, depth int) int {
	first := map[string]diag.Range{}
	var place int // where in v.Members those of the sources go
	var sources []*Value
	for i := 0; i+1 < len(n.Content) && !c.stopped; i += 2 {
		name, at, ok := c.key(n.Content[i], depth)
		value := c.value(n.Content[i+1], depth+1)
		end = c.endOf(n.Content[i+1], value)
		switch {
		case !ok:
			continue
		case isMerge(n.Content[i]) && c.dialect.NoMerge:
			c.add("merge", diag.Error, at, "merge keys (<<) are not allowed here", "write the merged keys explicitly")
			continue
		case isMerge(n.Content[i]):
			if sources == nil {
				place = len(v.Members)
			}
			sources = append(sources, c.sources(value, at)...)
			continue
		}
		if before, again := first[name]; again {
			c.problems.Add(diag.Problem{
				ID: "document/duplicate-key", Severity: diag.Warning, At: at,
				Message: fmt.Sprintf("duplicate key %q; the last one is used", name),
				Hint:    "remove or rename one of them",
				Related: []diag.Note{{At: before, Message: "the first one"}},
			})
		}
		first[name] = at
		v.Members = append(v.Members, Member{Key: name, KeyAt: at, Value: value})
	}
	if sources != nil {
		merge(v, first, place, sources)
	}
	return end
}

// isMerge reports whether a key is the << that merges.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && isPlain(key)
}

// sources are the mappings that the value of a merge key names.
func (c *yamlReader) sources(v *Value, at diag.Range) []*Value {
	list := []*Value{v}
	if v.Kind == Array {
		list = v.Items
	}
	for _, source := range list {
		if source.Kind != Object {
			c.add("merge", diag.Error, at, fmt.Sprintf("<< merges mappings, not a value of type %s", source.Kind), `quote the key if it is meant to be "<<"`)
			return nil
		}
	}
	return list
}

// merge puts the members of the sources where the merge key stood, without those that the
// object has itself. Of sources with the same key the first one counts, within one the last.
func merge(v *Value, own map[string]diag.Range, place int, sources []*Value) {
	var extra []Member
	taken := map[string]int{}
	for _, source := range sources {
		earlier := len(extra)
		for _, m := range source.Members {
			if _, has := own[m.Key]; has {
				continue
			}
			switch i, has := taken[m.Key]; {
			case !has:
				taken[m.Key] = len(extra)
				extra = append(extra, m)
			case i >= earlier:
				extra[i] = m
			}
		}
	}
	v.Members = slices.Insert(v.Members, place, extra...)
}

// key reads the text of a key. It reports false if the key has none.
func (c *yamlReader) key(n *yaml.Node, depth int) (string, diag.Range, bool) {
	v := c.value(n, depth+1)
	if n.Kind == yaml.AliasNode {
		v.At = c.between(c.text.offset(n.Line, n.Column), c.endOf(n, nil))
		n = n.Alias
	}
	at := v.At
	if n.Kind != yaml.ScalarNode {
		at.End = at.Start
		c.add("key", diag.Error, at, "a key must not be a list or a mapping", "use strings as the keys of an object")
		return "", at, false
	}
	text := c.text.restore(n.Value)
	if v.Kind != String {
		c.add("key", diag.Warning, at, fmt.Sprintf("this key is of type %s in YAML and is converted to a string", v.Kind), fmt.Sprintf("quote it: %q", text))
	}
	return text, at, true
}

// alias copies the value of an alias.
func (c *yamlReader) alias(n *yaml.Node, depth int) *Value {
	at := c.text.offset(n.Line, n.Column)
	place := c.between(at, at+1+len(n.Value))
	if c.dialect.NoAliases {
		c.add("alias", diag.Error, place, fmt.Sprintf("the alias *%s is not allowed here", n.Value), "repeat the value")
		return &Value{At: place}
	}
	target, read := c.anchored[n.Alias]
	if target == nil {
		message := fmt.Sprintf("*%s refers to a node that contains it", n.Value)
		if !read {
			message = fmt.Sprintf("*%s stands for something that cannot be read", n.Value)
		}
		c.add("alias", diag.Error, place, message, "JSON has no values that contain themselves")
		return &Value{At: place}
	}
	return c.copy(target, depth, place)
}

func (c *yamlReader) copy(v *Value, depth int, alias diag.Range) *Value {
	if c.made++; c.made > c.limits.Values {
		c.tooMany(alias)
	}
	if c.stopped {
		return &Value{}
	}
	out := *v
	if (v.Kind == Array || v.Kind == Object) && c.deeper(depth, alias) {
		return &out
	}
	out.Items, out.Members = nil, nil
	for _, item := range v.Items {
		out.Items = append(out.Items, c.copy(item, depth+1, alias))
	}
	for _, m := range v.Members {
		m.Value = c.copy(m.Value, depth+1, alias)
		out.Members = append(out.Members, m)
	}
	return &out
}

// collectionTag accepts the tags that match the collection anyway.
func (c *yamlReader) collectionTag(n *yaml.Node) {
	want := "!!seq"
	if n.Kind == yaml.MappingNode {
		want = "!!map"
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != want && !c.ownTag(n) {
		c.unknownTag(n)
	}
}

func (c *yamlReader) unknownTag(n *yaml.Node) {
	at := c.text.offset(n.Line, n.Column)
	c.add("tag", diag.Error, c.between(at, at), fmt.Sprintf("the tag %s has no equivalent in JSON", c.text.restore(n.Tag)),
		"remove the tag, and write the resulting value")
}

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// isPlain reports whether a scalar has neither quotes nor a tag, so that its text determines
// its type.
func isPlain(n *yaml.Node) bool {
	return n.Style&(quoted|yaml.TaggedStyle) == 0 && n.Tag != "!"
}

// scalar finds out what a scalar is.
func (c *yamlReader) scalar(v *Value, n *yaml.Node) {
	text := c.text.restore(n.Value)
	switch {
	case isPlain(n):
		c.plain(v, text)
		return
	case n.Style&yaml.TaggedStyle == 0 || n.Tag == "!!str" || c.ownTag(n):
		v.Kind, v.Text = String, text
		return
	}
	kinds := map[string]Kind{"!!null": Null, "!!bool": Bool, "!!int": Number, "!!float": Number}
	want, known := kinds[n.Tag]
	if !known {
		c.unknownTag(n)
		v.Kind, v.Text = String, text
		return
	}
	c.plain(v, text)
	if v.Kind != want || n.Tag == "!!int" && strings.ContainsAny(v.Text, ".eE") {
		c.add("tag", diag.Error, v.At, fmt.Sprintf("the tag %s does not match the value", n.Tag), "remove the tag, or fix the value")
	}
}

// plain resolves a plain scalar by the core schema.
func (c *yamlReader) plain(v *Value, text string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		v.Kind = Null
		return
	case "true", "True", "TRUE", "false", "False", "FALSE":
		v.Kind, v.Bool = Bool, text[0] == 't' || text[0] == 'T'
		return
	}
	v.Kind, v.Text = String, text
	if word := booleans[text]; c.dialect.Booleans && word != "" {
		v.Kind, v.Bool, v.Text = Bool, word == "true", ""
		c.add("boolean", diag.Warning, v.At, fmt.Sprintf("%s is read as the boolean %s", text, word), fmt.Sprintf("write %s, or %q if it is a string", word, text))
		return
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case ".inf", ".nan":
		if isSpecialFloat(text) {
			c.add("number", diag.Error, v.At, text+" is a number that JSON does not have", `quote it if it is a string`)
			return
		}
	}
	literal, zeros := jsonNumber(text)
	if zeros {
		c.add("number", diag.Warning, v.At, fmt.Sprintf("%s is read as a string: versions of YAML disagree about numbers with leading zeros", text),
			fmt.Sprintf("write %q, or the number without the zeros", text))
		return
	}
	if literal != "" {
		v.Kind, v.Text = Number, literal
	}
}

// booleans are the words of YAML 1.1 that are text in YAML 1.2.
var booleans = map[string]string{
	"yes": "true", "Yes": "true", "YES": "true", "on": "true", "On": "true", "ON": "true",
	"no": "false", "No": "false", "NO": "false", "off": "false", "Off": "false", "OFF": "false",
}

// isSpecialFloat knows the spellings of infinity and not-a-number in the core schema.
func isSpecialFloat(text string) bool {
	switch text {
	case ".nan", ".NaN", ".NAN":
		return true
	}
	switch strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+") {
	case ".inf", ".Inf", ".INF":
		return len(text) <= 5
	}
	return false
}

// jsonNumber converts a number of the core schema to JSON. It returns "" for text that is not
// a number, and reports whether it would be one without its leading zeros.
func jsonNumber(text string) (literal string, zeros bool) {
	if len(text) > 2 && len(text) <= maxBased && text[0] == '0' && (text[1] == 'x' || text[1] == 'o') {
		base := map[byte]int{'x': 16, 'o': 8}[text[1]]
		if n, ok := new(big.Int).SetString(text[2:], base); ok && text[2] != '+' && text[2] != '-' {
			return n.String(), false
		}
		return "", false
	}
	rest := text
	sign := ""
	if rest[0] == '+' || rest[0] == '-' {
		sign, rest = strings.TrimPrefix(rest[:1], "+"), rest[1:]
	}
	whole, rest := digits(rest)
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		fraction, rest = digits(rest[1:])
	}
	exponent := ""
	if whole+fraction != "" && rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		mark := 1
		if len(rest) > 1 && (rest[1] == '+' || rest[1] == '-') {
			mark = 2
		}
		var power string
		power, after := digits(rest[mark:])
		if power != "" {
			exponent, rest = rest[:mark]+power, after
		}
	}
	switch {
	case rest != "" || whole+fraction == "":
		return "", false
	case len(whole) > 1 && whole[0] == '0':
		return "", true
	case whole == "":
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + exponent, false
}

// maxBased is the length of hexadecimal and octal numbers that are converted, which takes
// quadratic time.
const maxBased = 256

// digits splits off the leading decimal digits of a text.
func digits(text string) (number, rest string) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}
