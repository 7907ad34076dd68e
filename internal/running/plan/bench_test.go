package plan

import (
	"fmt"
	"strings"
	"testing"
)

// many is a template of 500 resources of which each but the first refers to another one.
func many(size string) string {
	lines := make([]string, 500)
	for i := range lines {
		lines[i] = fmt.Sprintf("R%03d: {Properties: {Size: %s, Note: !Sub 'x-${R%03d}'}}", i, size, i/2)
		if i == 0 {
			lines[i] = "R000: {Properties: {Size: " + size + "}}"
		}
	}
	return things(lines...)
}

// BenchmarkPlan plans the update of a stack of 500 resources.
func BenchmarkPlan(b *testing.B) {
	for name, after := range map[string]string{
		"one change":  strings.Replace(many("1"), "Size: 1", "Size: 2", 1),
		"all change":  many("2"),
		"none change": many("1"),
	} {
		b.Run(name, func(b *testing.B) {
			m := newStackModel(testSchemas(b))
			first, next := deployment(b, many("1"), nil), deployment(b, after, nil)
			m.apply(b, m.plan(b, first), first)
			b.ReportAllocs()
			for b.Loop() {
				m.plan(b, next)
			}
		})
	}
}
