package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// table writes a table with a heading.
func (c *app) table(heading string, rows func(*tabwriter.Writer)) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	rows(w)
	return w.Flush()
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// short is the beginning of a description, in one line.
func short(text string) string {
	return words.CutRunes(strings.Join(strings.Fields(text), " "), 60)
}
