package stacktest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxGolden bounds a golden file, in bytes.
const maxGolden = 4 << 20

// judgePlan compares the changes with a golden file, or writes it.
func (r *runner) judgePlan(_ context.Context, m document.Member, out *outcome) error {
	if out.changes == nil {
		r.fail("expectation", m.Value.At, nil, "there is no change set: use changeSet or update")
		return nil
	}
	got, err := r.planText(out)
	if err != nil {
		return err
	}
	file := r.job.suite.path(m.Value.Text)
	if write := r.cloud.config.WriteFile; write != nil {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return write(file, got)
	}
	want, err := document.ReadFile(file, maxGolden)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.fail("golden", m.Value.At, nil, "there is no file %s; run with --update to write it", m.Value.Text)
		return nil
	case err != nil:
		return err
	case !bytes.Equal(bytes.TrimSpace(want), bytes.TrimSpace(got)):
		r.fail("golden", m.Value.At, nil, "the changes are not those in %s; run with --update to accept them:\n%s", m.Value.Text, difference(string(want), string(got)))
	}
	return nil
}

// planText is a change set without what differs between runs and between versions of the service: identifiers, times, the
// order of changes and details, the replacement of what is added.
func (r *runner) planText(out *outcome) ([]byte, error) {
	found := out.shownChanges()
	list := []any{}
	for _, logical := range sortedKeys(found) {
		value, err := plain(found[logical])
		if err != nil {
			return nil, err
		}
		change, _ := value.(map[string]any)
		if change["Action"] == "Add" {
			delete(change, "Replacement")
		}
		delete(change, "PolicyAction")
		if id := aws.ToString(found[logical].PhysicalResourceId); id != "" {
			change["PhysicalResourceId"] = "<" + logical + ">"
		}
		if details, ok := change["Details"].([]any); ok {
			slices.SortFunc(details, func(a, b any) int { return strings.Compare(shown(a), shown(b)) })
		}
		list = append(list, withoutEmpty(change))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(list); err != nil {
		return nil, err
	}
	return []byte(r.masks().Replace(r.cloud.calls.secrets.Hide(text.String()))), nil
}

// minMasked is the least length of an identifier that is replaced: a shorter one may be a part of another word.
const minMasked = 8

// masks replaces identifiers of stacks and resources by names. A longer one comes first: the shorter one may be its beginning.
func (r *runner) masks() *strings.Replacer {
	names := map[string]string{}
	for name, state := range r.stacks {
		names[state.id] = name
	}
	for _, c := range r.cloud.calls.since(0) {
		if r.stacks[c.Stack] == nil {
			continue
		}
		if name, known := names[c.answer.Identifier]; !known || c.LogicalID < name {
			names[c.answer.Identifier] = c.LogicalID
		}
	}
	longest := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, identifier := range longest {
		if len(identifier) >= minMasked {
			pairs = append(pairs, identifier, "<"+names[identifier]+">")
		}
	}
	return strings.NewReplacer(pairs...)
}

// withoutEmpty is a value without its empty members.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, of := range v {
			if of = withoutEmpty(of); of != nil && of != "" {
				out[key] = of
			}
		}
		return out
	case []any:
		for i := range v {
			v[i] = withoutEmpty(v[i])
		}
	}
	return v
}

// maxDifference bounds the lines of a difference that are shown.
const maxDifference = 60

// difference lists the lines that differ between two texts, with - and +, and some around them.
func difference(want, got string) string {
	text := string(diff.Diff("expected", []byte(want), "got", []byte(got)))
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 3 {
		lines = lines[3:] // the names
	}
	if len(lines) > maxDifference {
		lines = append(lines[:maxDifference], fmt.Sprintf("… and %d more lines", len(lines)-maxDifference))
	}
	return "  " + strings.Join(lines, "\n  ")
}
