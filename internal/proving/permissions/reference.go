package permissions

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strconv"
	"strings"
	"sync"
)

// The list has a section [SERVICE] for each service: lines "=ARN" with the resources, and lines "ACTION INDEXES". reference/make.go
// writes it, and its LICENSE names the source.
//
//go:embed reference/actions.txt.gz
var packed []byte

// An action is one of the service authorization reference.
type action struct {
	name string   // sqs:CreateQueue
	arns []string // of the resources that it applies to, with variables; empty for all
}

// A service has the actions with a prefix.
type service struct {
	actions map[string]*action // by the name in lower case, without the prefix
	tags    []string           // the actions that are only about tags
}

// maxReference bounds the unpacked list, in bytes.
const maxReference = 4 << 20

// sections are the services by their prefix, not yet read.
var sections = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return out // the list is part of the program: seen by every test
	}
	text, _ := io.ReadAll(io.LimitReader(unpacked, maxReference))
	for section := range strings.SplitSeq(string(text), "[") {
		if name, lines, found := strings.Cut(section, "]\n"); found {
			out[name] = lines
		}
	}
	return out
})

var (
	servicesMu sync.Mutex
	services   = map[string]*service{}
)

// serviceOf is the service with a prefix, nil if there is none.
func serviceOf(prefix string) *service {
	servicesMu.Lock()
	defer servicesMu.Unlock()
	prefix = strings.ToLower(prefix)
	if s := services[prefix]; s != nil {
		return s
	}
	lines, ok := sections()[prefix]
	if !ok {
		return nil
	}
	s := &service{actions: map[string]*action{}}
	var arns []string
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		if arn, ok := strings.CutPrefix(line, "="); ok {
			arns = append(arns, arn)
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		a := &action{name: prefix + ":" + fields[0]}
		for index := range strings.SplitSeq(fields[1], ",") {
			if i, err := strconv.Atoi(index); err == nil && i < len(arns) {
				a.arns = append(a.arns, arns[i])
			}
		}
		s.actions[strings.ToLower(fields[0])] = a
		if aboutTags(fields[0]) {
			s.tags = append(s.tags, a.name)
		}
	}
	services[prefix] = s
	return s
}

// aboutTags reports whether an action does nothing but read and change the tags of a resource.
func aboutTags(name string) bool {
	switch name {
	case "TagResource", "UntagResource", "ListTagsForResource", "ListTags", "AddTags", "RemoveTags", "AddTagsToResource", "RemoveTagsFromResource":
		return true
	}
	return false
}

// actionOf is an action by its name in any case, nil if IAM does not have it.
func actionOf(name string) *action {
	prefix, rest, _ := strings.Cut(name, ":")
	s := serviceOf(prefix)
	if s == nil {
		return nil
	}
	return s.actions[strings.ToLower(rest)]
}
