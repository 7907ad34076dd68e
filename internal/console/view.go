package console

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/registry"
)

// sections are the links of the main navigation, by their paths.
var sections = []choice{{"/", "Types"}, {"/stacks", "Stacks"}, {"/registrations", "Registrations"}, {"/tests", "Tests"}, {"/calls", "Calls"}, {"/logs", "Logs"}, {"/contract", "Contract"}}

// name is the section as pages name it.
func (c choice) name() string { return cmp.Or(strings.TrimPrefix(c.Value, "/"), "types") }

// changes is where a page hears about changes, "" if it does not follow them.
func (p *page) changes() string {
	if p.Live && p.Follow == "" {
		return p.link("/events")
	}
	return p.Follow
}

// placeAction is the path that another place is chosen for: the section, because what a
// page is about may not exist there.
func (p *page) placeAction() string {
	for _, s := range sections {
		if s.name() == p.Section {
			return s.Value
		}
	}
	return "/"
}

// tone is the class of a status.
func tone(status string) string {
	switch status {
	case "PASSED", "COMPLETE", "SUCCESS", "LIVE", "passed", "compatible":
		return "good"
	case "FAILED", "ERROR", "failed", "error", "breaking":
		return "bad"
	case "IN_PROGRESS", "warning":
		return "wait"
	case "DEFAULT":
		return "main"
	case "simulated":
		return "simulated"
	}
	return stackTone(status)
}

// plainWords are the statuses that say little as the API words them.
var plainWords = map[string]string{
	"ANSWERED": "answered without a progress event", "ERROR": "no answer", "NOT_TESTED": "not tested yet",
	"registered": "registered here", "activated": "activated from public", "LIVE": "in use",
}

// words is a status as people write it.
func words(status string) string {
	if plain := plainWords[status]; plain != "" {
		return plain
	}
	return strings.ToLower(strings.ReplaceAll(status, "_", " "))
}

// provisioning says what a resource type can do.
func provisioning(kind string) string {
	switch kind {
	case "FULLY_MUTABLE":
		return "can be created, updated and deleted"
	case "IMMUTABLE":
		return "every change replaces the resource"
	case "NON_PROVISIONABLE":
		return "cannot be created by stacks"
	}
	return words(kind)
}

// parts cuts a name after its separators, so that a page can break it there.
func parts(name string) []string {
	var out []string
	start := 0
	for i := 0; i < len(name); i++ {
		end := 0
		switch {
		case strings.HasPrefix(name[i:], "::"):
			end = i + 2
			i++
		case name[i] == ':' || name[i] == '_' || name[i] == '/' || name[i] == '.' || name[i] == '-':
			end = i + 1
		}
		if end > 0 && end < len(name) {
			out = append(out, name[start:end])
			start = end
		}
	}
	return append(out, name[start:])
}

func seconds(s float64) string {
	switch {
	case s < 0.0005:
		return "0 s"
	case s < 1:
		return strconv.Itoa(int(s*1000+0.5)) + " ms"
	case s < 120:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	}
	return strconv.Itoa(int(s)/60) + " min " + strconv.Itoa(int(s)%60) + " s"
}

func itoa(n int) string { return strconv.Itoa(n) }

// current is the value of aria-current; "false" is as good as none.
func current(yes bool) string {
	if yes {
		return "page"
	}
	return "false"
}

// envCommand sets up a shell for this server. cfn knows the address that it serves by
// default; another one is named, unless it is none that a shell takes as it is.
func (p *page) envCommand() string {
	if p.Host == "127.0.0.1:4566" || p.Host == "localhost:4566" || !hostPattern.MatchString(p.Host) {
		return `eval "$(cfn env)"`
	}
	return `eval "$(cfn env --endpoint ` + p.Scheme + "://" + p.Host + `)"`
}

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// about is the type that an address is about, "" for none.
func (p *page) about() (kind, name string) {
	parts := strings.SplitN(strings.TrimPrefix(p.Path, "/types/"), "/", 3)
	if !strings.HasPrefix(p.Path, "/types/") || len(parts) < 3 {
		return "", ""
	}
	return parts[0], parts[1]
}

// shelfOf is the status of a type in a list.
func shelfOf(s types.TypeSummary, v *typesView) string {
	switch {
	case v.Deprecated:
		return "DEPRECATED"
	case value(s.IsActivated):
		return "activated"
	case v.Shelf == "public":
		return "public"
	}
	return "registered"
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
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

func propertyCount(n int) string {
	if n == 1 {
		return "1 property"
	}
	return itoa(n) + " properties"
}

// size is a number of bytes for people.
func size(n int) string {
	if n < 1<<10 {
		return itoa(n) + " bytes"
	}
	return itoa((n+512)>>10) + " KiB"
}

// runTally says in words how the tests of a run went.
func runTally(r registry.TestRun) string {
	var said []string
	for _, t := range []tally{{Word: "failed", N: r.Failed}, {Word: "passed", N: r.Passed}, {Word: "skipped", N: r.Skipped}} {
		if t.N > 0 {
			said = append(said, itoa(t.N)+" "+t.Word)
		}
	}
	return cmp.Or(strings.Join(said, ", "), "–")
}

// verdict is the title of a run's page.
func (v *testView) verdict() string {
	switch {
	case v.Run.Ended.IsZero() && v.Report == nil:
		return "The contract tests are running"
	case v.Report != nil && len(v.Report.Tests) == 0:
		return "No tests ran"
	case v.Run.Status == types.TypeTestsStatusPassed:
		return "The handlers keep the contract"
	case v.Run.Failed > 0, v.Report != nil && v.Report.Failed+v.Report.Errors > 0:
		return "The handlers break the contract"
	}
	return "The tests did not end"
}

func (v *testView) seed() string {
	if v.Report.Seed == nil {
		return ""
	}
	return strconv.FormatUint(*v.Report.Seed, 10)
}

// shares is how much of the tests each outcome has, in thousandths.
func (v *testView) shares() []bar {
	var bars []bar
	left, total := 0, 0
	for _, t := range v.Tallies {
		total += t.N
	}
	for _, t := range v.Tallies {
		width := 1000 * t.N / total
		class := map[string]string{"failed": "bad", "error": "bad", "passed": "good"}[t.Outcome]
		bars = append(bars, bar{Left: left, Width: max(width-2, 3), Class: cmp.Or(class, "plain")})
		left += width
	}
	return bars
}

// suiteTally says how many tests a suite has.
func suiteTally(s suite) string {
	if s.Broken == 0 {
		return count(len(s.Tests), "test")
	}
	return count(len(s.Tests), "test") + ", " + itoa(s.Broken) + " not passed"
}

// suiteName is a suite as a title.
func suiteName(name string) string {
	if name == "" {
		return "Tests"
	}
	return strings.ToUpper(name[:1]) + bounded(name[1:], 100) + " suite"
}

// note is what a call said besides its status.
func (b *bar) note() string {
	return strings.Join(slices.DeleteFunc([]string{b.ErrorCode, b.Message, b.Error}, func(s string) bool { return s == "" }), ": ")
}

func lineClass(sign string) string {
	switch sign {
	case "-":
		return "want"
	case "+":
		return "got"
	}
	return "same"
}

// logLines are the lines of a log within a page, each with its line break.
func logLines(text string) [][]piece {
	var lines [][]piece
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, append(pieces(strings.TrimRight(line, "\r")), piece{Text: "\n"}))
	}
	return lines
}

// logAction is the path of a log's page.
func (p *page) logAction(v *logsView) string {
	if v.Head != nil {
		return typePath(v.Head.Kind, v.Head.Name, "/logs")
	}
	return "/logs"
}
