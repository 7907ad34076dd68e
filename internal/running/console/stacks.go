package console

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/stack"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	shownStacks = 50  // on a page of the list
	shownEvents = 100 // on a page of the events
)

// stacksView is the list of stacks.
type stacksView struct {
	Search  string
	Deleted bool
	Rows    []stack.Summary
	Next    string // address of the next page, "" if this is the last one
	First   string // address of the first page, "" if this is it
}

func (c *Console) listStacks(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Stacks", "stacks"
	v := &stacksView{Search: strings.TrimSpace(bounded(p.query.Get("q"), maxQuery)), Deleted: p.query.Get("deleted") == "1"}
	p.Follow = p.link("/stacks/events")
	at := p.query.Get("before")
	before, id, err := readCallPlace(at)
	if err != nil {
		return nil, err
	}
	v.Rows, err = c.config.Stacks.Stacks(r.Context(), stack.Query{
		Place: p.Place, Search: v.Search, Deleted: v.Deleted, BeforeTime: before, BeforeID: id, Limit: shownStacks + 1,
	})
	if err != nil {
		return nil, err
	}
	address := func(before string) string {
		return p.link("/stacks", "q", v.Search, "deleted", flag(v.Deleted), "before", before)
	}
	if len(v.Rows) > shownStacks {
		v.Rows = v.Rows[:shownStacks]
		last := v.Rows[shownStacks-1]
		v.Next = address(strconv.FormatInt(last.CreatedAt.UnixMicro(), 10) + "~" + last.ID)
	}
	if at != "" {
		v.First = address("")
	}
	return p.stacksBody(v), nil
}

// stackPath is the path of a stack, by its name or ARN, with what follows it.
func stackPath(name, rest string) string { return "/stacks/" + url.PathEscape(name) + rest }

// stackKey is what addresses call a stack: a name belongs to the stack that lives.
func stackKey(s *stack.Summary) string {
	if s.DeletedAt.IsZero() {
		return s.Name
	}
	return s.ARN
}

// stackHead is the header of all pages about one stack.
type stackHead struct {
	*stack.StackState
	Tab    string
	Causes []cause // of the failure of the latest operation, and of its rollback
	page   *page
	names  map[string]string // of resources for people, by their logical ids
}

// link is an address below the stack.
func (h *stackHead) link(rest string, pairs ...string) string {
	return h.page.link(stackPath(stackKey(&h.Summary), rest), pairs...)
}

// Simulated reports whether any resource of the stack is simulated.
func (h *stackHead) Simulated() bool {
	return slices.ContainsFunc(h.Resources, func(x stack.ResourceState) bool { return x.Simulated })
}

// stack reads the stack that a request names.
func (c *Console) stack(r *http.Request, p *page, tab string) (*stackHead, error) {
	s, err := c.config.Stacks.Stack(r.Context(), p.Place, r.PathValue("stack"))
	if err != nil {
		if refused(err) {
			return nil, errNoStack()
		}
		return nil, err
	}
	h := &stackHead{StackState: s, Tab: tab, page: p}
	p.Title, p.Section = s.Name, "stacks"
	p.Follow = p.link("/stacks/events", "stack", stackKey(&s.Summary))
	if r.Method != http.MethodPost {
		err = c.findCauses(r, p, h)
	}
	return h, err
}

// contextLines are what a template says of itself or of a resource: why it is as it is, and what must not change.
func contextLines(of *template.Context) (out []string) {
	if of == nil {
		return nil
	}
	if of.Why != "" {
		out = append(out, "why: "+of.Why)
	}
	if of.Owner != "" {
		out = append(out, "owner: "+of.Owner)
	}
	if of.Arch != "" {
		out = append(out, "arch: "+of.Arch)
	}
	for _, must := range of.Must {
		out = append(out, "must: "+must)
	}
	var never []string
	for _, name := range slices.Sorted(maps.Keys(of.Mutability)) {
		if of.Mutability[name] == template.NeverChange {
			never = append(never, name)
		}
	}
	switch {
	case of.Mutable == template.NeverChange:
		out = append(out, "must never change")
	case never != nil:
		out = append(out, "must never change: "+strings.Join(never, ", "))
	}
	return out
}

func (c *Console) showStack(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "resources")
	if err != nil {
		return nil, err
	}
	drawn := h.drawn()
	return p.stackBody(h, drawn, drawGraph(drawn, h.tone)), nil
}

func (c *Console) stackOutputs(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "outputs")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " outputs"
	return p.outputsBody(h), nil
}

// eventsView is a page of the events of a stack.
type eventsView struct {
	*stackHead
	Operation   string // only of this one, "" for all
	Failed      bool
	Rows        []stack.EventState
	Next, First string
}

func (c *Console) stackEvents(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "events")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " events"
	v := &eventsView{stackHead: h, Operation: bounded(p.query.Get("operation"), 200), Failed: p.query.Get("failed") == "1"}
	query := stack.EventQuery{Place: p.Place, Stack: h.ARN, OperationID: v.Operation, Failed: v.Failed, Limit: shownEvents + 1}
	if text := p.query.Get("before"); text != "" {
		if query.Before, err = strconv.ParseInt(text, 10, 64); err != nil || query.Before < 1 {
			return nil, &fault{Status: http.StatusBadRequest, Title: "Page not found", Message: "The page token in the address is invalid. Start with the first page."}
		}
		v.First = v.address(v.Failed)
	}
	if v.Rows, err = c.config.Stacks.Events(r.Context(), query); err != nil {
		return nil, err
	}
	if len(v.Rows) > shownEvents {
		v.Rows = v.Rows[:shownEvents]
		v.Next = v.address(v.Failed, "before", strconv.FormatInt(v.Rows[shownEvents-1].Seq, 10))
	}
	return p.eventsBody(v), nil
}

// address is the list with the failures only, or with all of it.
func (v *eventsView) address(failed bool, pairs ...string) string {
	return v.link("/events", append([]string{"operation", v.Operation, "failed", flag(failed)}, pairs...)...)
}

// templateView is the template of a stack, with the lines of what failed marked.
type templateView struct {
	*stackHead
	Processed bool
	Operation string // that deployed it, "" for the template that the stack has
	Lines     []templateLine
	Size      int
	Cut       bool
}

// A templateLine is one line of a template.
type templateLine struct {
	Tokens []token
	ID     string // of the resource that starts there, may be ""
	Failed string // why that resource failed, "" if it did not
}

func (c *Console) stackTemplate(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.stack(r, p, "template")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " template"
	v := &templateView{stackHead: h, Processed: p.query.Get("stage") == "processed", Operation: bounded(p.query.Get("operation"), 200)}
	if v.Operation == "" && p.query.Get("of") == "" {
		v.Operation = h.attempted()
	}
	source, err := c.config.Stacks.Source(r.Context(), p.Place, h.ARN, v.Operation, v.Processed)
	if err != nil {
		return nil, err
	}
	v.Size, v.Cut = len(source.Text), len(source.Text) > maxRaw
	for _, line := range highlightTemplate(bounded(source.Text, maxRaw)) {
		v.Lines = append(v.Lines, templateLine{Tokens: line})
	}
	for id, line := range source.Lines {
		if line > 0 && line <= len(v.Lines) {
			v.Lines[line-1].ID, v.Lines[line-1].Failed = id, h.failure(id)
		}
	}
	return p.templateBody(v), nil
}

// stage is the address of one of the templates.
func (v *templateView) stage(operation string, processed bool) string {
	of, stage := "", ""
	if operation == "" && v.attempted() != "" {
		of = "stack"
	}
	if processed {
		stage = "processed"
	}
	return v.link("/template", "operation", operation, "of", of, "stage", stage)
}

// followStacks notifies a page of changes: of one stack, or of the list.
func (c *Console) followStacks(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	place, err := c.place(r)
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	name := q.Get("stack")
	c.follow(w, r, func(s *stream) error {
		poll := time.NewTicker(c.config.Poll)
		defer poll.Stop()
		last, err := c.stackMark(s, place, name)
		for looks := 1; err == nil; looks++ {
			select {
			case <-s.ctx.Done():
				return s.ctx.Err()
			case <-s.beat.C:
				err = s.alive()
				continue
			case <-poll.C:
			}
			var mark stack.Mark
			if mark, err = c.stackMark(s, place, name); err != nil {
				break
			}
			switch {
			case mark != last:
				last = mark
				err = s.send("change", "", nil)
			case looks%4 == 0: // what runs has grown longer
				err = s.send("look", "", nil)
			}
		}
		return err
	})
}

func (c *Console) stackMark(s *stream, place awswire.Place, name string) (stack.Mark, error) {
	if name == "" {
		return c.config.Stacks.ListMark(s.ctx, place)
	}
	mark, err := c.config.Stacks.StackMark(s.ctx, place, name)
	if err == nil {
		var refactors int64
		refactors, err = c.config.Refactors.Mark(s.ctx, place, name)
		mark.Sets += refactors
	}
	if refused(err) {
		return stack.Mark{}, nil // it was deleted
	}
	return mark, err
}

// simulatedWords marks a resource that is simulated, or in an emulator.
func simulatedWords(x *stack.ResourceState) string {
	if x.Simulated {
		return ", simulated"
	}
	if x.Where != "" {
		return ", " + x.Where
	}
	return ""
}

// versions are the version that created a resource or updated it last, and the one that would provision it now,
// if that is another one.
func versions(x *stack.ResourceState) string {
	if x.DefaultVersion == "" || x.DefaultVersion == x.TypeVersion {
		return x.TypeVersion
	}
	return x.TypeVersion + ", now " + x.DefaultVersion
}

// callsOf is where the calls of the handler of a resource are listed, "" for one that no
// handler made.
func (h *stackHead) callsOf(x *stack.ResourceState) string {
	if x.TypeVersion == "" || x.Simulated {
		return ""
	}
	return h.page.link(typePath("RESOURCE", x.Type, "/calls"), "stack", h.ARN, "resource", x.LogicalID)
}

// logsOf is where the log of the handler of a resource is, "" for one that no handler made.
func (h *stackHead) logsOf(x *stack.ResourceState) string {
	if x.TypeVersion == "" || x.Simulated {
		return ""
	}
	return h.page.link(typePath("RESOURCE", x.Type, "/logs"))
}

// operationWords is an operation as people call it: "create", "update".
func operationWords(op stack.OperationState) string {
	return strings.TrimSuffix(words(string(op.Kind)), " stack")
}

// resource is a resource of the stack by its logical id; nil for none.
func (h *stackHead) resource(id string) *stack.ResourceState {
	i := slices.IndexFunc(h.Resources, func(x stack.ResourceState) bool { return x.LogicalID == id })
	if i < 0 {
		return nil
	}
	return &h.Resources[i]
}

// stackName is the name of a stack by its ARN.
func stackName(arn string) string {
	_, rest, _ := strings.Cut(arn, ":stack/")
	name, _, _ := strings.Cut(rest, "/")
	return cmp.Or(name, arn)
}

// list is names in a row; after the first few it counts.
func list(names []string) string {
	if len(names) <= 5 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:4], ", ") + " and " + strconv.Itoa(len(names)-4) + " more"
}

// exportWords says under which name others import an output.
func exportWords(name string) string {
	if name == "" {
		return ""
	}
	return "exported as " + bounded(name, 300)
}

// templateLines is the text of a template with an anchor for each resource.
func templateLines(lines []templateLine) templ.Component {
	return markup(func(b *strings.Builder) {
		for _, line := range lines {
			class := ""
			if line.Failed != "" {
				class = ` class="failed"`
			}
			if line.ID != "" {
				b.WriteString(`<span id="line-` + templ.EscapeString(line.ID) + `"` + class + ">")
			} else {
				b.WriteString("<span>")
			}
			writeTokens(b, line.Tokens)
			if line.Failed != "" {
				b.WriteString(`<mark> ← ` + templ.EscapeString(bounded(line.Failed, 1000)) + "</mark>")
			}
			b.WriteString("\n</span>")
		}
	})
}

// stackTone is the class of a status of a stack, a resource or an operation.
func stackTone(status string) string {
	switch {
	case strings.HasSuffix(status, "_FAILED"):
		return "bad"
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return "wait"
	case strings.HasPrefix(status, "DELETE_"):
		return "plain"
	case strings.HasSuffix(status, "ROLLBACK_COMPLETE"):
		return "bad"
	case strings.HasSuffix(status, "_COMPLETE"):
		return "good"
	}
	return "plain"
}

// yamlLine finds the key and the value of a line, and yamlMark a short form or a comment.
var (
	yamlLine = lazyregexp.New(`^(\s*(?:- +)*)([^\s#'"{\[!&*|>][^:#]*|"[^"]*"|'[^']*')(:(?:\s|$))`)
	yamlMark = lazyregexp.New(`(?:^|\s)#.*$|![A-Za-z]\w*`)
)

// highlightTemplate colours a template, which is JSON or YAML.
func highlightTemplate(text string) [][]token {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return highlight(text)
	}
	var lines [][]token
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		line = bounded(strings.TrimSuffix(line, "\r"), 20<<10)
		var out []token
		if at := yamlLine.FindStringSubmatchIndex(line); at != nil {
			out = append(out, token{"", line[:at[4]]}, token{"k", line[at[4]:at[5]]})
			line = line[at[5]:]
		}
		for line != "" {
			at := yamlMark.FindStringIndex(line)
			if at == nil {
				out = append(out, token{"", line})
				break
			}
			class := "n"
			if strings.Contains(line[at[0]:at[1]], "#") {
				class = "c"
			}
			out = append(out, token{"", line[:at[0]]}, token{class, line[at[0]:at[1]]})
			line = line[at[1]:]
		}
		lines = append(lines, out)
	}
	return lines
}
