package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// A treeScreen draws a tree on a terminal, each time over the one before.
type treeScreen struct {
	to            io.Writer
	width, height int
	color         bool
	lines         int // of the tree that is shown
}

// newTreeScreen returns a screen, nil if results do not go to a terminal that can draw.
func (c *app) newTreeScreen() *treeScreen {
	if !c.Terminal.Stdout || !c.Terminal.Stderr || c.verbose > 0 || c.format != "text" || c.Getenv("TERM") == "dumb" {
		return nil
	}
	s := &treeScreen{to: c.screen, width: 80, height: 24, color: c.Getenv("NO_COLOR") == ""}
	for name, size := range map[string]*int{"COLUMNS": &s.width, "LINES": &s.height} {
		if n, err := strconv.Atoi(c.Getenv(name)); err == nil && n > 0 {
			*size = n
		}
	}
	if file, ok := c.screen.(*os.File); ok {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			s.width, s.height = width, height
		}
	}
	return s
}

// draw shows the tree. The last one, with all its resources, stays.
func (s *treeScreen) draw(v *stackView, now time.Time, last bool) {
	height := max(s.height-1, 4)
	if last {
		height = len(v.rows) + 1
	}
	lines := drawTree(v, now, s.width, height)
	var out strings.Builder
	if s.lines > 0 {
		fmt.Fprintf(&out, "\x1b[%dA\r\x1b[J", s.lines)
	}
	for _, line := range lines {
		out.WriteString(line.colored(s.color) + "\n")
	}
	s.lines = len(lines)
	_, _ = io.WriteString(s.to, out.String()) // see printf
}

// A treeLine is a line of the tree with what it is about.
type treeLine struct {
	text  string
	state treeState
}

// A treeState is how far a resource is, as the tree shows it.
type treeState int

const (
	treePending treeState = iota
	treeRunning
	treeDone
	treeFailed
)

// treeMarks are the signs of the states, and their colors on a terminal.
var treeMarks = map[treeState]struct{ mark, color string }{
	treePending: {"·", "\x1b[2m"},
	treeRunning: {"…", "\x1b[36m"},
	treeDone:    {"✓", "\x1b[32m"},
	treeFailed:  {"✗", "\x1b[31m"},
}

func (l treeLine) colored(on bool) string {
	if !on {
		return l.text
	}
	return treeMarks[l.state].color + l.text + "\x1b[0m"
}

func stateOf(status string) treeState {
	switch {
	case status == "":
		return treePending
	case strings.HasSuffix(status, "_IN_PROGRESS"):
		return treeRunning
	case strings.HasSuffix(status, "_FAILED") || strings.Contains(status, "ROLLBACK"):
		return treeFailed
	}
	return treeDone
}

// drawTree returns the lines of a stack and its resources: state, elapsed time, and what a
// resource waits for. If there is not enough room, done and waiting resources are left out.
func drawTree(v *stackView, now time.Time, width, height int) []treeLine {
	shown, hidden := v.rows, 0
	if len(shown) > height-1 {
		shown, hidden = mostInteresting(v.rows, max(height-2, 1))
	}
	nameWidth, typeWidth := 0, 0
	for _, row := range shown {
		nameWidth, typeWidth = max(nameWidth, len(row.id)), max(typeWidth, len(row.typ))
	}
	nameWidth, typeWidth = min(nameWidth, 32), min(typeWidth, 36)
	head := strings.TrimRight(fmt.Sprintf("%s  %s  %s", v.name, v.status, elapsed(v.started, v.ended, v.status, now)), " ")
	lines := []treeLine{{words.CutRunes(head, width), stateOf(v.status)}}
	for i, row := range shown {
		branch := "├─"
		if i == len(shown)-1 && hidden == 0 {
			branch = "└─"
		}
		text := fmt.Sprintf("%s %s %s  %s  %s", branch, treeMarks[row.state()].mark, pad(words.CutRunes(flat(row.id), nameWidth), nameWidth), pad(words.CutRunes(flat(row.typ), typeWidth), typeWidth), v.stateText(row, now))
		lines = append(lines, treeLine{words.CutRunes(text, width), row.state()})
	}
	if hidden > 0 {
		lines = append(lines, treeLine{words.CutRunes("└─ "+words.Count(hidden, "more resource"), width), treePending})
	}
	return lines
}

// stateText describes what a resource does, and for how long.
func (v *stackView) stateText(row *resourceView, now time.Time) string {
	if row.status == "" {
		if waits := v.waitsFor(row); len(waits) > 0 {
			return "waits for " + strings.Join(waits, ", ")
		}
		return "not started"
	}
	f := row.failure
	if f == nil {
		text := row.status + "  " + elapsed(row.started, row.ended, row.status, now)
		if r, again := v.retries[row.id]; again && stateOf(row.status) == treeRunning {
			text += "  " + retryText(r)
		}
		return text
	}
	text := strings.TrimRight(f.status+"  "+elapsed(f.started, f.ended, f.status, now)+"  "+flat(f.reason), " ")
	if row.status != f.status {
		text += "  (now " + row.status + ")"
	}
	return text
}

// mostInteresting keeps up to n rows: those that run or failed before those that are done or
// wait, in their order.
func mostInteresting(rows []*resourceView, n int) (shown []*resourceView, hidden int) {
	keep := map[*resourceView]bool{}
	for _, states := range [][]treeState{{treeFailed, treeRunning}, {treePending}, {treeDone}} {
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

// elapsed is how long something took, or has taken.
func elapsed(from, to time.Time, status string, now time.Time) string {
	if from.IsZero() {
		return ""
	}
	if stateOf(status) == treeRunning {
		to = now
	}
	return max(to.Sub(from), 0).Round(100 * time.Millisecond).String()
}
