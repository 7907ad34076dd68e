package invoke

import (
	"encoding/json"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// PrintedLog is the log of a call as a person reads it: stacks in records of JSON have a line for each frame, the frames of
// libraries in traces of Python, JavaScript and Java are folded, and records have no empty line between them.
func PrintedLog(log string) string {
	lines := strings.SplitAfter(unfoldStacks(log), "\n")
	var out strings.Builder
	folded := 0
	margin := ""
	flush := func() {
		if folded > 0 {
			out.WriteString(margin + "… " + words.Count(folded, "frame") + " of libraries\n")
		}
		folded = 0
	}
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		if line == "" && i+1 < len(lines) && nodeRecord.MatchString(lines[i+1]) {
			continue
		}
		if !ofLibraries(line) {
			flush()
			out.WriteString(lines[i])
			continue
		}
		if folded == 0 {
			margin = line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		}
		folded++
		for pythonFrame.MatchString(line) && i+1 < len(lines) && pythonSource.MatchString(lines[i+1]) {
			i++ // the source of the frame, and the marks below it
		}
	}
	if folded > 0 && !strings.HasSuffix(log, "\n") {
		flush()
		return strings.TrimSuffix(out.String(), "\n")
	}
	flush()
	return out.String()
}

// Lines of logs that are not frames.
var (
	nodeRecord   = lazyregexp.New(`^\d{4}-\d\d-\d\dT[\d:.]+Z\t`)
	pythonSource = lazyregexp.New(`^ {4,}\S`)
	noFile       = lazyregexp.New(`^\s+at .*(?:\(node:[^()]*\)|\(<anonymous>\)|\(native\)|[ (]node:\S+|\(index \d+\)|\((?:Native Method|Unknown Source)\))$`)
)

// ofLibraries reports whether a line of a log is a frame of a library or of the language.
func ofLibraries(line string) bool {
	if m := pythonFrame.FindStringSubmatch(line); m != nil {
		return ofLibrary(m[1])
	}
	if m := nodeFrame.FindStringSubmatch(line); m != nil {
		return ofLibrary(m[1])
	}
	if m := javaFrame.FindStringSubmatch(line); m != nil {
		return ofJavaLibrary(m[1])
	}
	return noFile.MatchString(line)
}

// unfoldStacks moves the stacks out of log records that are JSON objects with a member "stack", as the SDK for handlers and the
// runtime of Node.js write them: each frame gets a line of its own below the record.
func unfoldStacks(log string) string {
	const member = `,"stack":[`
	if !strings.Contains(log, member) {
		return log
	}
	var out strings.Builder
	for line := range strings.Lines(log) {
		before, list, found := strings.Cut(line, member)
		decoder := json.NewDecoder(strings.NewReader("[" + list))
		var frames []string
		if !found || !strings.HasPrefix(line, "{") && !nodeRecord.MatchString(line) || decoder.Decode(&frames) != nil {
			out.WriteString(line)
			continue
		}
		out.WriteString(before + strings.TrimRight(list[decoder.InputOffset()-1:], "\n"))
		for _, frame := range frames {
			out.WriteString("\n    " + strings.TrimLeft(frame, " "))
		}
		out.WriteString(line[len(strings.TrimRight(line, "\n")):])
	}
	return out.String()
}
