package stackview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A Screen draws a tree on a terminal, each time over the one before.
type Screen struct {
	To            io.Writer
	Width, Height int // of the terminal, in characters
	Color         bool
	lines         int // of the tree that is shown
}

// Draw shows the tree. The last one, with all its resources, stays.
func (s *Screen) Draw(v *View, now time.Time, last bool) {
	height := max(s.Height-1, 4)
	if last {
		height = len(v.Resources) + 1
	}
	lines := drawTree(v, now, s.Width, height)
	var out strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\r\x1b[J", s.lines)
	}
	for _, line := range lines {
		out.WriteString(line.colored(s.Color) + "\n")
	}
	s.lines = len(lines)
	_, _ = io.WriteString(s.To, out.String()) // see printf
}

// A line is a line of the tree with what it is about.
type line struct {
	text  string
	state State
}

// A State is how far a resource is, as the tree shows it.
type State int

const (
	Pending State = iota
	Running
	Done
	Failed
)

// treeMarks are the signs of the states, and their colors on a terminal.
var treeMarks = map[State]struct{ mark, color string }{
	Pending: {"·", "\x1b[2m"},
	Running: {"…", "\x1b[36m"},
	Done:    {"✓", "\x1b[32m"},
	Failed:  {"✗", "\x1b[31m"},
}

func (l line) colored(on bool) string {
	if !on {
		return l.text
	}
	return treeMarks[l.state].color + l.text + "\x1b[0m"
}

// StateOf is how far something with a status is.
func StateOf(status string) State {
	switch {
	case status == "":
		return Pending
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return Running
	case strings.HasSuffix(status, "_FAILED") || strings.Contains(status, "ROLLBACK"):
		return Failed
	}
	return Done
}

// drawTree returns the lines of a stack and its resources: state, Elapsed time, and what a
// resource waits for. If there is not enough room, done and waiting resources are left out.
func drawTree(v *View, now time.Time, width, height int) []line {
	shown, hidden := v.Resources, 0
	if len(shown) > height-1 {
		shown, hidden = mostInteresting(v.Resources, max(height-2, 1))
	}
	nameWidth, typeWidth := 0, 0
	for _, row := range shown {
		nameWidth, typeWidth = max(nameWidth, len(row.ID)), max(typeWidth, len(row.Type))
	}
	nameWidth, typeWidth = min(nameWidth, 32), min(typeWidth, 36)
	head := strings.TrimRight(fmt.Sprintf("%s  %s  %s", v.Name, v.status, Elapsed(v.Started, v.Ended, v.status, now)), " ")
	lines := []line{{words.CutRunes(head, width), StateOf(v.status)}}
	for i, row := range shown {
		branch := "├─"
		if i == len(shown)-1 && hidden == 0 {
			branch = "└─"
		}
		text := fmt.Sprintf("%s %s %s  %s  %s", branch, treeMarks[row.state()].mark, words.Pad(words.CutRunes(words.Flat(row.ID), nameWidth), nameWidth), words.Pad(words.CutRunes(words.Flat(row.Type), typeWidth), typeWidth), v.stateText(row, now))
		lines = append(lines, line{words.CutRunes(text, width), row.state()})
	}
	if hidden > 0 {
		lines = append(lines, line{words.CutRunes("└─ "+words.Count(hidden, "more resource"), width), Pending})
	}
	return lines
}

// stateText describes what a resource does, and for how long.
func (v *View) stateText(row *Resource, now time.Time) string {
	if row.Status == "" {
		if waits := v.waitsFor(row); len(waits) > 0 {
			return "waits for " + strings.Join(waits, ", ")
		}
		return "not started"
	}
	f := row.failure
	if f == nil {
		text := row.Status + "  " + Elapsed(row.started, row.ended, row.Status, now)
		if r, again := v.retries[row.ID]; again && StateOf(row.Status) == Running {
			text += "  " + RetryText(r)
		}
		return text
	}
	text := strings.TrimRight(f.status+"  "+Elapsed(f.started, f.ended, f.status, now)+"  "+words.Flat(f.reason), " ")
	if row.Status != f.status {
		text += "  (now " + row.Status + ")"
	}
	return text
}

// mostInteresting keeps up to n rows: those that run or failed before those that are done or
// wait, in their order.
func mostInteresting(rows []*Resource, n int) (shown []*Resource, hidden int) {
	keep := map[*Resource]bool{}
	for _, states := range [][]State{{Failed, Running}, {Pending}, {Done}} {
		for _, row := range rows {
			for _, state := range states {
				if len(keep) < n && row.state() == state {
					keep[row] = true
				}
			}
		}
	}
	for _, row := range rows {
		if keep[row] {
			shown = append(shown, row)
		}
	}
	return shown, len(rows) - len(shown)
}

// Elapsed is how long something took, or has taken.
func Elapsed(from, to time.Time, status string, now time.Time) string {
	if from.IsZero() {
		return ""
	}
	if StateOf(status) == Running {
		to = now
	}
	return max(to.Sub(from), 0).Round(100 * time.Millisecond).String()
}
