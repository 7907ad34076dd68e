package delegate

import (
	"embed"
	"strings"
	"sync"
)

//go:embed verified
var verifiedFiles embed.FS

// A verdict is what was measured of a type in a version of an emulator.
type verdict struct {
	ref      string          // the property that Ref returns on AWS, if the emulator's Ref has another form
	readable bool            // the emulator compares properties when it detects drift
	keeps    map[string]bool // properties that keep their values when a template leaves them out again
}

// verified returns what was measured of the types of an emulator, by name. It is empty for a version that was
// not measured.
var verified = func() func(of kind) map[string]verdict {
	var mu sync.Mutex
	read := map[kind]map[string]verdict{}
	return func(of kind) map[string]verdict {
		mu.Lock()
		defer mu.Unlock()
		if known, found := read[of]; found {
			return known
		}
		types := map[string]verdict{}
		if text, err := verifiedFiles.ReadFile("verified/" + of.name + "-" + of.version + ".txt"); err == nil {
			types = parseVerified(string(text))
		}
		if len(read) < 16 { // versions come from outside
			read[of] = types
		}
		return types
	}
}()

// parseVerified reads a list: a type per line, with words for what is special about it.
func parseVerified(text string) map[string]verdict {
	types := map[string]verdict{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		v := verdict{keeps: map[string]bool{}}
		for _, word := range words[1:] {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "ref":
				v.ref = value
			case "keeps":
				v.keeps[value] = true
			case "read":
				v.readable = true
			}
		}
		types[words[0]] = v
	}
	return types
}
