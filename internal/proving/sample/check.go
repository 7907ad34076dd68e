package sample

import (
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxVisits bounds the schemas that one check of a part may apply. Published schemas need some
// thousands for the largest models; nested combiners multiply without a limit.
const maxVisits = 1 << 16

// check judges a part of a model while it is made. Every check costs steps, in proportion
// to its length, and one that would be too long ends the making.
func (r *run) check(v any, node *document.Value) []schema.Violation {
	visits := 0
	r.visit(v, node, nil, &visits)
	r.steps += 1 + visits/8
	if visits > maxVisits {
		r.steps = r.most + 1
		return []schema.Violation{{Message: "cannot be checked: its schema is too complex, because its combiners multiply"}}
	}
	return r.g.schema.Check(v, schema.CheckConfig{Node: node})
}

// visit counts the schemas that a check applies.
func (r *run) visit(v any, node *document.Value, same *frame, visits *int) {
	if *visits++; *visits > maxVisits {
		return
	}
	node, err := r.g.schema.Resolve(node)
	if err != nil || node == nil || node.Kind != document.Object {
		return
	}
	for f := same; f != nil; f = f.up {
		if f.node == node {
			return
		}
	}
	same = &frame{node, same}
	k := r.g.rulesOf(node)
	for _, branches := range [][]*document.Value{k.allOf, k.anyOf, k.oneOf, {k.not, k.condition, k.then, k.otherwise}} {
		for _, branch := range branches {
			if branch != nil {
				r.visit(v, branch, same, visits)
			}
		}
	}
	switch v := v.(type) {
	case []any:
		sp := &spec{rules: []*rules{k}}
		for i, item := range v {
			for _, child := range itemsAt(sp, i) {
				r.visit(item, child, nil, visits)
			}
			if k.contains != nil {
				r.visit(item, k.contains, nil, visits)
			}
		}
	case map[string]any:
		for _, m := range k.dependencies {
			r.visit(v, m.Value, same, visits)
		}
		for key, value := range v {
			if child := k.property[key]; child != nil {
				r.visit(value, child, nil, visits)
			} else if k.additional != nil {
				r.visit(value, k.additional, nil, visits)
			}
			for _, m := range k.patterns {
				r.visit(value, m.Value, nil, visits)
			}
		}
	}
}

// verify checks a value against what it was made for.
func (r *run) verify(v any, sp *spec, at document.Pointer) error {
	for _, node := range sp.sources {
		for _, violation := range r.check(v, node) {
			return fault(at.Append(violation.Pointer...), violation.Keyword, "what was tried %s", violation.Message)
		}
	}
	return nil
}

// fits reports whether a value fits the rules of a spec and none of the refused schemas.
func (r *run) fits(v any, sp *spec) bool {
	for _, k := range sp.rules {
		if len(r.check(v, k.node)) > 0 {
			return false
		}
	}
	for _, node := range sp.refused {
		if len(r.check(v, node)) == 0 {
			return false
		}
	}
	return r.steps <= r.most
}
