package lsp

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// settings are the initialization options of a client.
type settings struct {
	// Stacks are the names of the stacks that templates are compared with, by patterns of files. "" is none.
	Stacks map[string]string `json:"stacks"`
}

// configure reads the initialization options. What cannot be read is logged and has no effect.
func (s *server) configure(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var of settings
	if err := json.Unmarshal(raw, &of); err != nil {
		s.cfg.Logger.Warn("Initialization options not read", "error", err)
		return
	}
	s.settings = of
}

// stackFor is the name of the stack that the settings have for a template; set is false if no pattern matches. Of several
// patterns, the longest counts.
func (s *server) stackFor(file string) (name string, set bool) {
	patterns := slices.SortedFunc(maps.Keys(s.settings.Stacks), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, pattern := range patterns {
		if !strings.Contains(pattern, "/") {
			if ok, err := path.Match(pattern, filepath.Base(file)); ok && err == nil {
				return s.settings.Stacks[pattern], true
			}
			continue
		}
		for _, folder := range s.folders {
			rel, err := filepath.Rel(folder, file)
			if err == nil && filepath.IsLocal(rel) && matchPath(strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(filepath.ToSlash(rel), "/")) {
				return s.settings.Stacks[pattern], true
			}
		}
	}
	return "", false
}

// matchPath reports whether the parts of a path match those of a pattern, in which ** is any number of folders.
func matchPath(pattern, parts []string) bool {
	p, n := 0, 0
	star, from := -1, 0
	for n < len(parts) {
		if p < len(pattern) && pattern[p] == "**" {
			star, from = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if ok, err := path.Match(pattern[p], parts[n]); ok && err == nil {
				p, n = p+1, n+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
