package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// schemaView is the documentation of a schema.
type schemaView struct {
	*typeHead
	Schema     *schema.Schema // nil if it cannot be read
	Problem    string         // why it cannot
	At         []string       // the path of what is shown, empty for all
	Crumbs     []crumb        // the way to it
	Parent     *property      // what is shown, nil for all
	Properties []*property
	Search     string
	Hits       []*property
	AllHits    bool
	Settings   []*property // of the type configuration
	Identifier []string    // the primary identifier, dotted
	Handlers   []schema.Handler
	VersionIDs []string // to choose from
	Raw        [][]token
	RawSize    int
}

type crumb struct{ Name, Link string }

// maxRaw is the maximum size of a schema that a page displays. Larger ones can be downloaded.
const maxRaw = 256 << 10

// published is an error for the hooks of AWS itself, whose schemas are not published.
func (h *typeHead) published() error {
	if h.Managed() {
		return &fault{Status: http.StatusNotFound, Title: "No schema", Message: "The schema of " + value(h.OriginalTypeName) + " is not published."}
	}
	return nil
}

func (c *Console) showSchema(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "schema")
	if err != nil {
		return nil, err
	}
	if err := h.published(); err != nil {
		return nil, err
	}
	p.Title = h.Name + " schema"
	v := &schemaView{typeHead: h, Search: strings.TrimSpace(bounded(p.query.Get("q"), maxQuery)), RawSize: len(value(h.DescribeTypeOutput.Schema))}
	if v.VersionIDs, err = c.versionIDs(r, p, h); err != nil {
		return nil, err
	}
	v.Schema, v.Problem = c.schemas.load(value(h.DescribeTypeOutput.Schema), h.Kind)
	if v.Schema == nil {
		return p.schemaBody(v), nil
	}
	reader := newSchemaReader(v.Schema)
	v.Handlers = v.Schema.Handlers
	for _, id := range v.Schema.PrimaryIdentifier {
		v.Identifier = append(v.Identifier, strings.Join(id.Tokens, "."))
	}
	if at := p.query.Get("at"); at != "" {
		pointer, ok := document.ParsePointer(at)
		if ok {
			v.Properties, v.Parent, ok = reader.document(pointer)
		}
		if !ok {
			return nil, &fault{Status: http.StatusNotFound, Title: "Property not found", Message: "This version of " + h.Name + " has no property " + bounded(at, 300) + "."}
		}
		v.At = pointer
		v.Crumbs = v.crumbs()
		return p.schemaBody(v), nil
	}
	v.Properties, _, _ = reader.document(nil)
	if v.Schema.TypeConfiguration != nil {
		v.Settings, _, _ = newSchemaReader(v.Schema.TypeConfiguration).document(nil)
	}
	if v.Search != "" {
		v.Hits, v.AllHits = reader.search(v.Search)
	}
	if text := value(h.DescribeTypeOutput.Schema); len(text) <= maxRaw {
		v.Raw = highlight(indented(text))
	}
	return p.schemaBody(v), nil
}

// crumbs lead from the schema to the property that is shown.
func (v *schemaView) crumbs() []crumb {
	crumbs := []crumb{{"Properties", v.at(nil)}}
	for i := range v.At {
		crumbs = append(crumbs, crumb{v.At[i], v.at(v.At[:i+1])})
	}
	return crumbs
}

// at is the address of a property's own page, of the whole schema for the empty path.
func (v *schemaView) at(path []string) string {
	return v.link("/schema", "v", v.Version, "at", document.Pointer(path).String())
}

// versionIDs are the live versions of a private type, the newest first.
func (c *Console) versionIDs(r *http.Request, p *page, h *typeHead) ([]string, error) {
	if !h.Registered() {
		return nil, nil
	}
	found, err := c.config.Registry.TypeVersions(r.Context(), c.caller(p), schema.Kind(h.Kind), h.Name)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, state := range found {
		if !state.Deprecated {
			ids = append(ids, state.ID)
		}
	}
	return ids, nil
}

// sendSchema is the schema as it was registered, as a file.
func (c *Console) sendSchema(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "")
	if err != nil {
		return nil, err
	}
	if err := h.published(); err != nil {
		return nil, err
	}
	name := schema.Hyphenated(h.Name)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `attachment; filename="`+anchorOf([]string{name})+`.json"`)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(value(h.DescribeTypeOutput.Schema))) // the client hung up
	return nil, nil
}

// compareView is what changed from one version to another.
type compareView struct {
	*typeHead
	VersionIDs []string
	From, To   string
	Changes    []lint.Change
	Counts     [3]int // by severity
	Compared   bool
	Problem    string
}

func (c *Console) compareVersions(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "compare")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " versions compared"
	v := &compareView{typeHead: h, From: p.query.Get("from"), To: p.query.Get("to")}
	if v.VersionIDs, err = c.versionIDs(r, p, h); err != nil {
		return nil, err
	}
	if v.From == "" && v.To == "" && len(v.VersionIDs) > 1 {
		v.From, v.To = v.VersionIDs[1], v.VersionIDs[0]
	}
	if v.From == "" || v.To == "" {
		return p.compareBody(v), nil
	}
	var sides [2]*schema.Schema
	for i, version := range []string{v.From, v.To} {
		out, err := c.config.Registry.DescribeType(r.Context(), c.caller(p), &cloudformation.DescribeTypeInput{
			Type: types.RegistryType(h.Kind), TypeName: aws.String(h.Name), VersionId: aws.String(version),
		})
		if err != nil {
			return nil, err
		}
		if sides[i], v.Problem = c.schemas.load(value(out.Schema), h.Kind); sides[i] == nil {
			v.Problem = "The schema of version " + version + " cannot be read: " + v.Problem
			return p.compareBody(v), nil
		}
	}
	v.Problem = ""
	v.Changes, v.Compared = lint.Diff(sides[0], sides[1]), true
	for _, change := range v.Changes {
		v.Counts[min(int(change.Severity), len(v.Counts)-1)]++
	}
	return p.compareBody(v), nil
}

// A schemaCache keeps the schemas that were read last: reading a large one takes longer
// than making its page. The zero cache is empty.
type schemaCache struct {
	mu      sync.Mutex
	entries []cachedSchema // the most recently used one is last
	bytes   int
}

type cachedSchema struct {
	sum     [sha256.Size]byte
	size    int
	schema  *schema.Schema
	problem string
}

const (
	maxCached      = 64
	maxCachedBytes = 8 << 20
)

// load reads a schema. It is nil if it cannot be read at all; problem is the reason then.
// Documents that it refers to are not loaded: the schema is untrusted.
func (c *schemaCache) load(text, kind string) (s *schema.Schema, problem string) {
	sum := sha256.Sum256([]byte(kind + "\x00" + text))
	c.mu.Lock()
	if i := slices.IndexFunc(c.entries, func(e cachedSchema) bool { return e.sum == sum }); i >= 0 {
		e := c.entries[i]
		c.entries = append(slices.Delete(c.entries, i, i+1), e)
		c.mu.Unlock()
		return e.schema, e.problem
	}
	c.mu.Unlock()
	s, problems := schema.Load("", []byte(text), schema.Config{Kind: schema.Kind(kind)})
	if s == nil {
		problem = "the schema is invalid"
		for _, p := range problems {
			if p.Severity == diag.Error {
				problem = p.At.String() + ": " + p.Message
				break
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, cachedSchema{sum, len(text), s, problem})
	c.bytes += len(text)
	for len(c.entries) > 1 && (len(c.entries) > maxCached || c.bytes > maxCachedBytes) {
		c.bytes -= c.entries[0].size
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	return s, problem
}

// indented is a JSON text with a line for each value, in the original order. A text that has
// lines already is not changed.
func indented(text string) string {
	if strings.Count(strings.TrimSpace(text), "\n") > 0 {
		return text
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		return text
	}
	return b.String()
}

// jsonText is a value as indented JSON.
func jsonText(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// A token is a piece of JSON text with its color: "k" for a key, "s" for a string, "n" for
// other scalars, "" for everything between.
type token struct{ Class, Text string }

// highlight cuts JSON text into lines of tokens. It colours what it recognises and takes
// any text.
func highlight(text string) [][]token {
	var lines [][]token
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, tokens(bounded(line, 20<<10)))
	}
	return lines
}

func tokens(line string) []token {
	var out []token
	add := func(class, text string) {
		if text == "" {
			return
		}
		if last := len(out) - 1; last >= 0 && out[last].Class == class && class == "" {
			out[last].Text += text
			return
		}
		out = append(out, token{class, text})
	}
	for line != "" {
		i := strings.IndexAny(line, `"-0123456789tfn`)
		if i < 0 {
			add("", line)
			break
		}
		add("", line[:i])
		line = line[i:]
		if line[0] != '"' {
			end := len(line)
			if n := strings.IndexAny(line, ",]} \t"); n >= 0 {
				end = n
			}
			add("n", line[:max(end, 1)])
			line = line[max(end, 1):]
			continue
		}
		end := 1
		for end < len(line) && line[end] != '"' {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(line))
		class := "s"
		if strings.HasPrefix(strings.TrimLeft(line[end:], " \t"), ":") {
			class = "k"
		}
		add(class, line[:end])
		line = line[end:]
	}
	return out
}

// markTone is the class of what a schema says about a property.
func markTone(mark string) string {
	switch mark {
	case "primary identifier", "additional identifier":
		return "id"
	case "create-only", "conditionally create-only":
		return "fixed"
	case "write-only":
		return "secret"
	case "deprecated":
		return "old"
	}
	return ""
}
