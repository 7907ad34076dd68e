package console

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/logs"
)

// A handlerCall is one past call of a handler.
type handlerCall = handlers.Invocation

// callsView is a list of calls, of all handlers of a place or of those of one type.
type callsView struct {
	Head   *typeHead // of the type, nil for all
	Search string    // in the names of types
	Action string
	Failed bool
	Stack  string // ARN; only calls on its resources, "" for all
	ID     string // only calls on this resource of the stack
	Rows   []callRow
	Next   string // address of older calls, may be ""
	First  string // address of the newest calls, "" if this is it
}

// A callRow is an operation in a list: its latest call, and all that the page has of it.
type callRow struct {
	handlerCall
	Calls []handlerCall // the first one first
}

// gather folds the calls of one operation into one row, where the latest of them is.
func gather(calls []handlerCall) []callRow {
	all := map[string][]handlerCall{}
	for _, call := range slices.Backward(calls) {
		all[operationOf(&call)] = append(all[operationOf(&call)], call)
	}
	var rows []callRow
	for _, call := range calls {
		key := operationOf(&call)
		if all[key] != nil {
			rows = append(rows, callRow{call, all[key]})
		}
		delete(all, key)
	}
	return rows
}

// failed is how many calls before the latest one failed, or had no response.
func (r *callRow) failed() int {
	n := 0
	for i := range r.Calls {
		if r.Calls[i].ID != r.ID && tone(r.Calls[i].Status) == "bad" {
			n++
		}
	}
	return n
}

// took is how long the calls of the row took together, in seconds.
func (r *callRow) took() float64 {
	var sum time.Duration
	for i := range r.Calls {
		sum += r.Calls[i].Duration
	}
	return sum.Seconds()
}

// operationOf identifies the operation. Callers may send any token, or none.
func operationOf(call *handlerCall) string {
	if call.Token == "" {
		return "call " + call.ID
	}
	return strings.Join([]string{"operation", string(call.Kind), call.TypeName, call.Token}, " ")
}

// shownCalls is how many calls a page of a list has.
const shownCalls = 50

// typeName matches names that need no quoting in a command.
var typeName = lazyregexp.New(`^[A-Za-z0-9]+(::[A-Za-z0-9]+)+$`)

// The actions that handlers are called for.
var (
	resourceActions = []string{"CREATE", "READ", "UPDATE", "DELETE", "LIST"}
	hookActions     = []string{"CREATE_PRE_PROVISION", "UPDATE_PRE_PROVISION", "DELETE_PRE_PROVISION"}
)

// Actions are those that the list can be narrowed to.
func (v *callsView) Actions() []string {
	actions := slices.Concat(resourceActions, hookActions)
	if v.Head != nil {
		actions = map[string][]string{"HOOK": hookActions}[v.Head.Kind]
		if actions == nil {
			actions = resourceActions
		}
	}
	if v.Action != "" && !slices.Contains(actions, v.Action) {
		actions = append(slices.Clone(actions), v.Action)
	}
	return actions
}

// Filtered reports whether the list has only some of the calls.
func (v *callsView) Filtered() bool {
	return v.Search != "" || v.Stack != "" || v.Action != "" || v.Failed || v.Head != nil && v.Head.Version != ""
}

func (c *Console) listCalls(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Calls", "calls"
	return c.callsPage(r, p, &callsView{})
}

// typeCalls lists the calls of a type's handlers.
func (c *Console) typeCalls(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "calls")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " calls"
	return c.callsPage(r, p, &callsView{Head: h})
}

func (c *Console) callsPage(r *http.Request, p *page, v *callsView) (templ.Component, error) {
	query := callsQuery(p.query, p.Place)
	v.Search, v.Action, v.Failed, v.Stack, v.ID = query.Search, query.Action, query.Failed, query.StackID, query.LogicalID
	if v.Head != nil {
		query.Kind, query.TypeName, query.Version, query.Search = schema.Kind(v.Head.Kind), v.Head.schemaName(), v.Head.Version, ""
		v.Search = ""
	}
	at := p.query.Get("before")
	var err error
	if query.BeforeTime, query.BeforeID, err = readCallPlace(at); err != nil {
		return nil, err
	}
	query.Limit = shownCalls + 1
	list, err := c.config.Calls.Invocations(r.Context(), query)
	if err != nil {
		return nil, err
	}
	if len(list) > shownCalls {
		list = list[:shownCalls]
		v.Next = p.callsLink(v, "before", callPlace(&list[shownCalls-1]))
	}
	v.Rows = gather(list)
	if at != "" {
		v.First = p.callsLink(v)
	} else {
		p.Follow = p.link("/calls/events", "kind", string(query.Kind), "type", query.TypeName, "v", query.Version,
			"q", query.Search, "action", query.Action, "failed", flag(query.Failed), "stack", v.Stack, "resource", v.ID, "last", callsSeen(list))
	}
	return p.callsBody(v), nil
}

// callsQuery reads the filters of calls from an address.
func callsQuery(q url.Values, place awswire.Place) handlers.InvocationQuery {
	return handlers.InvocationQuery{
		Place: awswire.Place{Account: place.Account, Region: place.Region}, Limit: shownCalls,
		Search: strings.TrimSpace(bounded(q.Get("q"), maxQuery)), Action: bounded(q.Get("action"), 100), Failed: q.Get("failed") == "1",
		StackID: bounded(q.Get("stack"), 2048), LogicalID: bounded(q.Get("resource"), 300),
	}
}

// callsLink is the address of a list with the same filters.
func (p *page) callsLink(v *callsView, pairs ...string) string {
	pairs = append([]string{"action", v.Action, "failed", flag(v.Failed), "stack", v.Stack, "resource", v.ID}, pairs...)
	if v.Head != nil {
		return v.Head.link("/calls", append([]string{"v", v.Head.Version}, pairs...)...)
	}
	return p.link("/calls", append([]string{"q", v.Search}, pairs...)...)
}

// callPlace is where a list continues after a call.
func callPlace(call *handlerCall) string {
	return strconv.FormatInt(call.StartedAt.UnixMicro(), 10) + "~" + call.ID
}

func readCallPlace(text string) (at time.Time, id string, err error) {
	if text == "" {
		return time.Time{}, "", nil
	}
	micros, id, _ := strings.Cut(text, "~")
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || n <= 0 || id == "" {
		return time.Time{}, "", &fault{Status: http.StatusBadRequest, Title: "Page not found", Message: "The page token in the address is invalid. Start with the first page."}
	}
	return time.UnixMicro(n), id, nil
}

// callsSeen identifies the state of a list of calls. A call is listed when it has finished, by
// its start time, so the first one does not show whether there are new ones.
func callsSeen(list []handlerCall) string {
	sum := sha256.New()
	for i := range list[:min(len(list), shownCalls)] {
		sum.Write([]byte(list[i].ID + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// followCalls notifies a page of a list of new calls.
func (c *Console) followCalls(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	place, err := c.place(r)
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	query := callsQuery(q, place)
	query.Kind, query.TypeName, query.Version = schema.Kind(q.Get("kind")), q.Get("type"), q.Get("v")
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = q.Get("last")
	}
	c.follow(w, r, func(s *stream) error {
		poll := time.NewTicker(2 * c.config.Poll)
		defer poll.Stop()
		for {
			list, err := c.config.Calls.Invocations(s.ctx, query)
			if err != nil {
				return err
			}
			if seen := callsSeen(list); seen != last {
				if err := s.send("change", seen, nil); err != nil {
					return err
				}
				last = seen
			}
			select {
			case <-s.ctx.Done():
				return s.ctx.Err()
			case <-s.beat.C:
				if err := s.alive(); err != nil {
					return err
				}
			case <-poll.C:
			}
		}
	})
}

// callView is one call with all that is kept of it.
type callView struct {
	*handlerCall
	TypeLink       string        // "" if the account has no type of the name
	StackLink      string        // "" outside of stacks that are known here
	Operation      []handlerCall // all calls of the operation, the first one first
	Newer, Older   string        // addresses of the calls of the operation next to this one, "" for none
	Request, Reply *callText
	Lines          [][]piece // that the handler wrote meanwhile
	text           []string  // that it wrote, with the frames of libraries
	MoreLines      bool
	LogLink        string // of the whole stream from there on, may be ""
}

// A callText is a request or a reply.
type callText struct {
	ID, Title string
	Lines     [][]token
	Size      int
	Cut       bool
}

// callLines is how many lines of its log the page of a call has.
const callLines = 200

func (c *Console) showCall(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	missing := &fault{Status: http.StatusNotFound, Title: "Call not found", Message: "Calls are kept for a limited time. The call may also belong to another account or region."}
	call, err := c.config.Calls.Invocation(r.Context(), p.Place, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if call == nil {
		return nil, missing
	}
	p.Title, p.Section = "Call of "+call.TypeName, "calls"
	v := &callView{handlerCall: call, Request: readCallText("request", "Request", call.Request), Reply: readCallText("reply", "Reply", call.Reply)}
	// An activated type may have another name in the account.
	_, err = c.config.Registry.DescribeType(r.Context(), c.caller(p), &cloudformation.DescribeTypeInput{Type: types.RegistryType(call.Kind), TypeName: aws.String(call.TypeName)})
	switch {
	case err == nil:
		v.TypeLink = p.link(typePath(string(call.Kind), call.TypeName, "/calls"))
	case !refused(err):
		return nil, err
	}
	if err := c.readOperation(r, p, v); err != nil {
		return nil, err
	}
	if err := c.readCallLog(r, p, v); err != nil {
		return nil, err
	}
	return p.callBody(v), nil
}

// operationCalls is how many calls of an operation the page of a call lists.
const operationCalls = 200

// readOperation finds the other calls of the operation that a call belongs to.
func (c *Console) readOperation(r *http.Request, p *page, v *callView) error {
	if v.StackID != "" {
		s, err := c.config.Stacks.Stack(r.Context(), p.Place, v.StackID)
		switch {
		case err == nil:
			v.StackLink = p.link(stackPath(stackKey(&s.Summary), "")) + "#r-" + v.LogicalID
		case !refused(err):
			return err
		}
	}
	if v.Token == "" {
		return nil
	}
	list, err := c.config.Calls.Invocations(r.Context(), handlers.InvocationQuery{
		Place: p.Place, Kind: v.Kind, TypeName: v.TypeName, Token: v.Token, Limit: operationCalls,
	})
	if err != nil {
		return err
	}
	slices.Reverse(list)
	v.Operation = list
	at := slices.IndexFunc(list, func(other handlerCall) bool { return other.ID == v.ID })
	if at > 0 {
		v.Older = p.link("/calls/" + url.PathEscape(list[at-1].ID))
	}
	if at >= 0 && at+1 < len(list) {
		v.Newer = p.link("/calls/" + url.PathEscape(list[at+1].ID))
	}
	return nil
}

func readCallText(id, title, text string) *callText {
	if text == "" {
		return nil
	}
	return &callText{ID: id, Title: title, Lines: highlight(bounded(indented(text), maxRaw)), Size: len(text), Cut: strings.HasSuffix(text, "…")}
}

// readCallLog finds what the handler wrote during a call: the lines of its stream between
// those that the runtime writes around it.
func (c *Console) readCallLog(r *http.Request, p *page, v *callView) error {
	if v.LogGroup == "" || v.LogStream == "" {
		return nil
	}
	v.LogLink = p.streamLink(v.LogGroup, v.LogStream, v.StartedAt.Time)
	lines, err := c.config.Logs.StreamLines(r.Context(), p.Place, v.LogGroup, v.LogStream, v.StartedAt.Truncate(time.Millisecond), callLines+1)
	if err != nil {
		return err
	}
	first := slices.IndexFunc(lines, func(l logs.Event) bool { return strings.HasPrefix(l.Text, "START RequestId: "+v.ID) })
	if first < 0 {
		return nil // it is not kept any more
	}
	ours := lines[first:]
	last := slices.IndexFunc(ours, func(l logs.Event) bool { return strings.HasPrefix(l.Text, "REPORT RequestId: "+v.ID) })
	if last >= 0 {
		ours = ours[:last+1]
	}
	v.MoreLines = last < 0 && len(lines) > callLines
	for _, line := range ours[:min(len(ours), callLines)] {
		v.text = append(v.text, strings.TrimRight(line.Text, "\r\n"))
	}
	if len(v.text) > 0 {
		for line := range strings.SplitSeq(invoke.PrintedLog(strings.Join(v.text, "\n")), "\n") {
			v.Lines = append(v.Lines, append(pieces(line), piece{Text: "\n"}))
		}
	}
	return nil
}

// raised is the exception that the call ended with, according to its log; "" if there is none.
func (v *callView) raised() string {
	return invoke.Raised(&invoke.Event{Status: invoke.Status(v.Status), ErrorCode: invoke.Code(v.ErrorCode), Message: v.Message}, strings.Join(v.text, "\n"))
}

// said are the lines that the handler itself wrote, without those of the runtime around them.
func (v *callView) said() [][]piece {
	var out [][]piece
	for _, line := range v.Lines {
		if !lambda.IsFrame(line[0].Text) {
			out = append(out, line)
		}
	}
	return out
}

// said is the message of a failed call besides the code.
func said(call *handlerCall) string {
	if call.Error != "" {
		return call.Error
	}
	return call.Message
}

// clock is when something was, with the day unless that is today.
func (p *page) clock(t time.Time) string {
	t = t.UTC()
	if today := p.now.UTC(); t.YearDay() == today.YearDay() && t.Year() == today.Year() {
		return t.Format("15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05")
}

// only is the list with the failures only, or with all of it.
func (v *callsView) only(failed bool) *callsView {
	other := *v
	other.Failed = failed
	return &other
}

// callsAction is the path of a list's page.
func (p *page) callsAction(v *callsView) string {
	if v.Head != nil {
		return typePath(v.Head.Kind, v.Head.Name, "/calls")
	}
	return "/calls"
}

// callTitle says in a few words what a call was.
func callTitle(call *handlerCall) string {
	if call.Action == "" {
		return call.TypeName
	}
	return bounded(call.Action, 100) + " of " + call.TypeName
}

// callLabel names a call for those who hear the list.
func callLabel(p *page, call *handlerCall) string {
	return bounded(callTitle(call), 300) + " at " + p.clock(call.StartedAt.Time)
}

// shortToken is the beginning of a token: enough to identify an operation.
func shortToken(token string) string {
	if len(token) > 13 && token[8] == '-' {
		return token[:13] + "…"
	}
	return token
}
