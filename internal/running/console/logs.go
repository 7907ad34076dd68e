package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/formwork-dev/formwork/internal/services/logs"
)

const (
	shownLines  = 300 // of a log when its page is opened
	streamLines = 500 // that one look at a log sends on
	maxGroups   = 500
)

// logsView is the log of one group, or the choice of one.
type logsView struct {
	Head   *typeHead // of the type whose log it is, nil if it is a group by itself
	Groups []string
	Group  string
	Stream string    // only this one, "" for all
	Since  time.Time // start there instead of following the end; only with Stream
	Filter string
	Lines  []shownLine
	After  string // id of the last line
	Events string // address of the stream
	Again  string // address of this page
	Next   string // address of what follows in the stream, "" if nothing does
	Most   int    // lines that a page keeps
}

// A shownLine is one line of a log as pages and streams show it.
type shownLine struct {
	ID     string  `json:"-"`
	Time   string  `json:"time"`
	At     string  `json:"at"` // in full
	Stream string  `json:"stream"`
	Level  string  `json:"level,omitempty"` // "error" or "warning"
	Pieces []piece `json:"pieces"`
}

func (c *Console) showLogs(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section = "Logs", "logs"
	v := &logsView{Group: p.query.Get("group")}
	if stream := p.query.Get("stream"); stream != "" && v.Group != "" {
		since, err := readMoment(p.query.Get("since"))
		if err != nil {
			return nil, err
		}
		v.Stream, v.Since = stream, since
	}
	groups, err := c.config.Logs.Groups(r.Context(), p.Place)
	if err != nil {
		return nil, err
	}
	v.Groups = groups[:min(len(groups), maxGroups)]
	if v.Group == "" && len(v.Groups) == 1 {
		v.Group = v.Groups[0]
	}
	v.Again = p.link("/logs", "group", v.Group)
	if v.Stream != "" {
		return c.streamPage(r, p, v)
	}
	return c.logPage(r, p, v)
}

// typeLogs is the log of a type's handlers.
func (c *Console) typeLogs(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "logs")
	if err != nil {
		return nil, err
	}
	p.Title = h.Name + " logs"
	v := &logsView{Head: h, Group: h.logGroup(), Again: h.link("/logs", "v", h.Version)}
	return c.logPage(r, p, v)
}

func (c *Console) logPage(r *http.Request, p *page, v *logsView) (templ.Component, error) {
	v.Filter, v.Most = strings.TrimSpace(bounded(p.query.Get("q"), maxQuery)), 2000
	if v.Group == "" {
		return p.logsBody(v), nil
	}
	lines, err := c.config.Logs.Lines(r.Context(), p.Place, v.Group, "", shownLines)
	if err != nil {
		return nil, err
	}
	v.show(lines)
	v.Events = p.link("/logs/events", "group", v.Group, "after", v.After)
	return p.logsBody(v), nil
}

func (v *logsView) show(lines []logs.Event) {
	for _, line := range lines {
		v.After = line.ID
		v.Lines = append(v.Lines, showLine(line))
	}
	if v.Filter != "" {
		v.Lines = slices.DeleteFunc(v.Lines, func(l shownLine) bool { return !l.contains(v.Filter) })
	}
}

// streamPage is what one process of a handler wrote since a time: a page to read, which
// does not move.
func (c *Console) streamPage(r *http.Request, p *page, v *logsView) (templ.Component, error) {
	v.Filter = strings.TrimSpace(bounded(p.query.Get("q"), maxQuery))
	lines, err := c.config.Logs.StreamLines(r.Context(), p.Place, v.Group, v.Stream, v.Since, streamLines)
	if err != nil {
		return nil, err
	}
	v.show(lines)
	if len(lines) == streamLines {
		v.Next = p.streamLink(v.Group, v.Stream, lines[len(lines)-1].Time)
	}
	return p.streamBody(v), nil
}

// streamLink is where a stream is shown from a time on.
func (p *page) streamLink(group, stream string, since time.Time) string {
	return p.link("/logs", "group", group, "stream", stream, "since", moment(since))
}

// moment is a time in addresses, in milliseconds: lines of logs have no finer ones.
func moment(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// readMoment reads a time of an address; "" is the zero time.
func readMoment(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > 1<<48 {
		return time.Time{}, &fault{Status: http.StatusBadRequest, Title: "Invalid time", Message: "Times in addresses are in milliseconds since 1970."}
	}
	return time.UnixMilli(ms), nil
}

func showLine(line logs.Event) shownLine {
	at := line.Time.UTC()
	return shownLine{
		ID: line.ID, Time: at.Format("15:04:05.000"), At: at.Format(time.RFC3339Nano), Stream: bounded(line.Stream, 200),
		Level: level(line.Text), Pieces: pieces(strings.TrimRight(line.Text, "\r\n")),
	}
}

// contains reports whether the text of a line has a text in it, capitals or not.
func (l *shownLine) contains(text string) bool {
	var b strings.Builder
	for _, p := range l.Pieces {
		b.WriteString(p.Text)
	}
	return strings.Contains(strings.ToLower(b.String()), strings.ToLower(text))
}

// level guesses the level of a line from its beginning.
func level(text string) string {
	head := strings.ToUpper(text[:min(len(text), 120)])
	for _, l := range []struct{ level, words string }{{"error", "ERROR FATAL PANIC: CRITICAL TRACEBACK EXCEPTION"}, {"warning", "WARN"}} {
		for _, word := range strings.Fields(l.words) {
			if strings.Contains(head, word) {
				return l.level
			}
		}
	}
	return ""
}

// followLogs sends new lines of a group. A client that reconnects continues after its
// Last-Event-ID.
func (c *Console) followLogs(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	place, err := c.place(r)
	group := q.Get("group")
	if err != nil || group == "" {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = q.Get("after")
	}
	c.follow(w, r, func(s *stream) error {
		poll := time.NewTicker(c.config.Poll)
		defer poll.Stop()
		for {
			lines, err := c.config.Logs.Lines(s.ctx, place, group, after, streamLines)
			if err != nil {
				return err
			}
			for _, line := range lines {
				if err := s.send("line", line.ID, showLine(line)); err != nil {
					return err
				}
				after = line.ID
			}
			if len(lines) == streamLines {
				continue // there is more
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

// logAction is the path of a log's page.
func (p *page) logAction(v *logsView) string {
	if v.Head != nil {
		return typePath(v.Head.Kind, v.Head.Name, "/logs")
	}
	return "/logs"
}
