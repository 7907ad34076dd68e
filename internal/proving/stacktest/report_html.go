package stacktest

import (
	"context"
	"fmt"
	"io"

	"github.com/formwork-dev/formwork/internal/foundation/words"
)

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate -path .

// htmlPage is what the template shows.
type htmlPage struct {
	*Summary
	Verdict string
	Files   []htmlFile
	Again   func(*Result) string
}

// An htmlFile is a file with its cases.
type htmlFile struct {
	Name    string
	Results []*Result
}

// WriteHTML writes the summary as one self-contained page, without scripts. again is the command that repeats a case.
func (s *Summary) WriteHTML(w io.Writer, again func(*Result) string) error {
	page := &htmlPage{Summary: s, Verdict: "All cases passed", Again: again}
	_, failed, _ := s.Count()
	switch {
	case failed > 0:
		page.Verdict = words.Count(failed, "case") + " failed"
	case !s.OK():
		page.Verdict = "The run is not complete"
	}
	for _, r := range s.Results {
		if n := len(page.Files); n == 0 || page.Files[n-1].Name != r.File {
			page.Files = append(page.Files, htmlFile{Name: r.File})
		}
		of := &page.Files[len(page.Files)-1]
		of.Results = append(of.Results, r)
	}
	if err := htmlReport(page).Render(context.Background(), w); err != nil {
		return fmt.Errorf("write the HTML report: %w", err)
	}
	return nil
}

// outcome is the class of a result, and its word.
func (r *Result) outcome() string {
	switch {
	case r.Skipped != "":
		return "skipped"
	case r.Failed():
		return "failed"
	}
	return "passed"
}

func (r *Result) title() string {
	if name := r.Name(); name != "" {
		return name
	}
	return "steps"
}

var countWords = [...]string{"passed", "failed", "skipped"}

func (s *Summary) counts() [3]int {
	passed, failed, skipped := s.Count()
	return [...]int{passed, failed, skipped}
}
