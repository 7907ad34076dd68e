package words

import (
	"encoding/json"
	"strings"
)

// UnfoldStacks moves the stacks out of log records that are JSON objects with a member "stack", as the SDK for handlers writes
// them: each frame gets a line of its own below the record.
func UnfoldStacks(log string) string {
	const member = `,"stack":[`
	if !strings.Contains(log, member) {
		return log
	}
	var out strings.Builder
	for line := range strings.Lines(log) {
		before, list, found := strings.Cut(line, member)
		decoder := json.NewDecoder(strings.NewReader("[" + list))
		var frames []string
		if !found || !strings.HasPrefix(line, "{") || decoder.Decode(&frames) != nil {
			out.WriteString(line)
			continue
		}
		out.WriteString(before + strings.TrimRight(list[decoder.InputOffset()-1:], "\n"))
		for _, frame := range frames {
			out.WriteString("\n    " + frame)
		}
		out.WriteString(line[len(strings.TrimRight(line, "\n")):])
	}
	return out.String()
}
