package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// What is the change of a step or of a resource, in words.
func (s Step) What() string {
	what := map[string]string{"CREATE": "create", "UPDATE": "update", "DELETE": "delete"}[s.Action]
	if s.Replaces {
		what = "create, to replace it"
	}
	switch {
	case s.Hook != "":
		what += ": refused by " + s.Hook
	case s.Failed:
		what += ": fails"
	}
	return what
}

// Target is what the hook saw, in words.
func (v Verdict) Target() string { return cmp.Or(v.LogicalID, "the stack or its change set") }

// What is whether the handler runs, in words.
func (e Extension) What() string {
	switch {
	case e.Runs:
		return "runs"
	case e.Kind == "HOOK", e.Reason == unused:
		return "does not run: " + e.Reason
	}
	return "is simulated: " + e.Reason
}

// At is the step that fails, in words.
func (f Failure) At() string {
	at := strings.ToLower(f.Action) + " " + f.LogicalID
	if f.When == "after" {
		at += ", after its work was done"
	}
	if f.Rollback != "" {
		action, id, _ := strings.Cut(f.Rollback, " ")
		at += "; then " + strings.ToLower(action) + " " + id + " in the rollback"
	}
	return at
}

// Names are the resources of a list, in words.
func Names(list []Lost) string {
	var out []string
	for _, l := range list {
		out = append(out, l.LogicalID+" ("+l.PhysicalID+")")
	}
	return strings.Join(out, ", ")
}

// LostTitle says when resources are lost.
func (r *Report) LostTitle() string {
	if r.Succeeds() {
		return "Lost for good if the update succeeds"
	}
	return "Lost for good"
}

// Near are the quotas of which most is used.
func (r *Report) Near() (out []Quota) {
	for _, q := range r.Quotas {
		if q.Used*5 >= q.Limit*4 {
			out = append(out, q)
		}
	}
	return out
}

// A textPage is the text of a report.
type textPage struct {
	strings.Builder
	clean func(string) string // makes a text safe for a terminal
}

// table adds a table, if it has rows.
func (b *textPage) table(title, heading string, n int, row func(i int) []string) {
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  %s\n", heading)
	for i := range n {
		cells := row(i)
		for j := range cells {
			cells[j] = b.clean(cells[j])
		}
		fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
	}
	_ = t.Flush() // writes into memory
}

// steps adds a table of steps.
func (b *textPage) steps(title string, list []Step) {
	b.table(title, "STEP\tRESOURCE\tTYPE\tACTION", len(list), func(i int) []string {
		s := list[i]
		return []string{strconv.Itoa(i + 1), s.LogicalID, s.Type, s.What()}
	})
}

// WriteText writes the report for people. clean makes a text safe for a terminal.
func (r *Report) WriteText(w io.Writer, clean func(string) string) error {
	b := &textPage{clean: clean}
	fmt.Fprintf(b, "Rehearsal of %s in %s: %s\n", clean(r.StackName), clean(r.Region), clean(r.Summary()))
	if r.Status != "" && r.Reason != "" {
		fmt.Fprintf(b, "  %s\n", clean(r.Reason))
	}
	b.steps("Steps", r.Steps)
	b.steps("Rollback", r.Rollback)
	b.table("What hooks say", "RESOURCE\tHOOK\tMODE\tMESSAGE", len(r.Verdicts), func(i int) []string {
		v := r.Verdicts[i]
		return []string{v.Target(), v.Hook, v.Mode, v.Message}
	})
	b.table("Hooks and handlers", "TYPE\tKIND\tIN THIS REHEARSAL", len(r.Extensions), func(i int) []string {
		e := r.Extensions[i]
		return []string{e.Name, strings.ToLower(e.Kind), e.What()}
	})
	if len(r.Path) > 1 {
		fmt.Fprintf(b, "\nLongest path: %s\n", clean(strings.Join(r.Path, " → ")))
	}
	b.table("If a step fails", "FAILURE\tENDS IN\tLEFT OVER\tLOST", len(r.Failures), func(i int) []string {
		f := r.Failures[i]
		return []string{f.At(), f.Status, orDash(Names(f.Left)), orDash(Names(f.Lost))}
	})
	for _, f := range r.Failures {
		if f.Command != "" {
			fmt.Fprintf(b, "\nThe rollback is stuck at %s (%s). To continue without it: %s\n", clean(strings.Join(f.Stuck, ", ")), clean(f.At()), clean(f.Command))
		}
	}
	if len(r.Lost) > 0 {
		fmt.Fprintf(b, "\n%s: %s\n", r.LostTitle(), clean(Names(r.Lost)))
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(b, "\nLeft over: %s\n", clean(Names(r.Left)))
	}
	for _, c := range r.Conflicts {
		fmt.Fprintf(b, "\nIn use: %s (%s) exists already, so %s cannot be created\n", clean(c.Identifier), clean(c.Type), clean(c.LogicalID))
	}
	for _, q := range r.Near() {
		fmt.Fprintf(b, "\nQuota: %d of %d %s\n", q.Used, q.Limit, q.Name)
	}
	if len(r.Exports) > 0 {
		fmt.Fprintf(b, "\nOther stacks import: %s\n", clean(strings.Join(r.Exports, ", ")))
	}
	fmt.Fprintf(b, "\n%s", words.Count(r.Runs, "run"))
	if r.Skipped > 0 {
		fmt.Fprintf(b, "; %s not rehearsed", words.Count(r.Skipped, "failure"))
	}
	b.WriteString(". Not known:\n")
	for _, text := range r.Unknown {
		fmt.Fprintf(b, "  - %s\n", clean(text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate -path .

// WriteHTML writes the report as one page.
func (r *Report) WriteHTML(w io.Writer) error { return page(r).Render(context.Background(), w) }
