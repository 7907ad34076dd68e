package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// handlers compares the handlers that both versions have, and reports added and removed ones.
func (d *differ) handlers() {
	for i := range d.old.Handlers {
		o := &d.old.Handlers[i]
		at := document.Pointer{"handlers", o.Action}
		n := d.new.Handler(o.Action)
		if n == nil {
			c := d.add("breaking/handler-removed", at, fmt.Sprintf("the %s handler was removed", o.Action), o.At)
			c.Effect = handlerEffects[o.Action]
			if c.Effect == "" {
				c.Effect = changeRules[c.ID].Effect
			}
			continue
		}
		d.permissions(at.Append("permissions"), "the "+o.Action+" handler", located(o.Permissions), located(n.Permissions), n.At)
		switch {
		case n.TimeoutInMinutes < o.TimeoutInMinutes:
			d.add("breaking/timeout-lowered", at.Append("timeoutInMinutes"), fmt.Sprintf("the %s handler had %d minutes and has %d", o.Action, o.TimeoutInMinutes, n.TimeoutInMinutes), n.At)
		case n.TimeoutInMinutes > o.TimeoutInMinutes:
			d.add("compatible/timeout-raised", at.Append("timeoutInMinutes"), fmt.Sprintf("the %s handler had %d minutes and has %d", o.Action, o.TimeoutInMinutes, n.TimeoutInMinutes), n.At)
		}
		d.targets(at, o, n)
		d.request(at, o, n)
	}
	for i := range d.new.Handlers {
		if n := &d.new.Handlers[i]; d.old.Handler(n.Action) == nil {
			d.add("compatible/handler-added", document.Pointer{"handlers", n.Action}, fmt.Sprintf("a handler for %s was added", n.Action), n.At)
		}
	}
}

// handlerEffects is what no longer works without a handler.
var handlerEffects = map[string]string{
	"create": "fails: no stack can create the resource",
	"read":   "fails: Fn::GetAtt, drift detection and import of the resource fail",
	"update": "replaces: every update of the resource replaces it",
	"delete": "fails: stacks with the resource can be neither deleted nor rolled back",
	"list":   "fails: list requests of Cloud Control are refused; stacks go on",
}

func located(list []schema.Located[string]) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = item.Value
	}
	return out
}

// permissions compares two lists of permissions, in one change each way.
func (d *differ) permissions(at document.Pointer, who string, old, new []string, where diag.Range) {
	if added := missing(new, old); len(added) > 0 {
		d.add("breaking/permission-added", at, fmt.Sprintf("%s needs %s", who, enumerate(added)), where)
	}
	if removed := missing(old, new); len(removed) > 0 {
		d.add("compatible/permission-removed", at, fmt.Sprintf("%s no longer needs %s", who, enumerate(removed)), where)
	}
}

// missing returns the texts of a that b does not have, each once, in order. IAM reads
// actions without regard to case.
func missing(a, b []string) []string {
	have := map[string]bool{}
	for _, text := range b {
		have[strings.ToLower(text)] = true
	}
	var out []string
	for _, text := range a {
		if low := strings.ToLower(text); !have[low] {
			have[low] = true
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// enumerate joins texts of a document in a message.
func enumerate(texts []string) string {
	const most = 8
	out := make([]string, 0, most+1)
	for i, text := range texts {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(texts)-most))
			break
		}
		out = append(out, diag.Cut(text))
	}
	return strings.Join(out, ", ")
}

func (d *differ) targets(at document.Pointer, o, n *schema.Handler) {
	if added := missing(n.TargetNames, o.TargetNames); len(added) > 0 {
		d.add("breaking/hook-targets", at.Append("targetNames"), fmt.Sprintf("the hook has the new target %s", enumerate(added)), n.At)
	}
	if removed := missing(o.TargetNames, n.TargetNames); len(removed) > 0 {
		c := d.add("breaking/hook-targets", at.Append("targetNames"), fmt.Sprintf("the hook no longer has the target %s", enumerate(removed)), n.At)
		c.Effect = "" // nothing fails that did not
	}
}

// request compares the handlerSchema of list.
func (d *differ) request(at document.Pointer, o, n *schema.Handler) {
	at = at.Append("handlerSchema")
	switch {
	case o.Schema == nil && n.Schema == nil:
	case o.Schema == nil:
		c := d.add("breaking/list-request", at, "list requests are now checked by a schema", n.Schema.At)
		if n.Schema.Get("required") == nil && n.Schema.Get("oneOf") == nil && n.Schema.Get("anyOf") == nil && n.Schema.Get("allOf") == nil {
			c.Severity, c.Effect = Compatible, "" // it describes requests, and demands nothing
		}
	case n.Schema == nil:
		c := d.add("breaking/list-request", at, "list requests no longer have a schema", o.Schema.At)
		c.Severity, c.Effect = Compatible, ""
	default:
		d.values(o.Schema, n.Schema, at)
	}
}

// tagging compares what the documents say about tags. A schema that says nothing counts
// as taggable by default, but promises nothing that could be broken.
func (d *differ) tagging() {
	o, n := d.old.Root.Get("tagging"), d.new.Root.Get("tagging")
	if canonicalText(o, false) == canonicalText(n, false) && d.old.Tagging.Taggable == d.new.Tagging.Taggable {
		return
	}
	at := document.Pointer{"tagging"}
	where := memberAt(d.new.Root, "tagging")
	if o != nil && n == nil {
		d.add("breaking/TAG100", at, "tagging was removed", memberAt(d.old.Root, "tagging"))
	}
	for _, m := range membersOf(o) {
		if n != nil && n.Get(m.Key) == nil {
			d.add("breaking/TAG100", at.Append(m.Key), m.Key+" was removed from tagging", m.KeyAt)
		}
	}
	before := len(d.changes)
	if d.old.Tagging.Declared && d.new.Tagging.Declared {
		d.tagFlags(at, where)
	}
	if o != nil && n != nil {
		d.permissions(at.Append("permissions"), "tagging", d.old.Tagging.Permissions, d.new.Tagging.Permissions, where)
	}
	if len(d.changes) == before && n != nil {
		d.add("compatible/tagging", at, "tagging was extended", where)
	}
}

// tagFlags compares the effective values of the two declarations, including defaults.
func (d *differ) tagFlags(at document.Pointer, where diag.Range) {
	old, new := d.old.Tagging, d.new.Tagging
	flag := func(key string, o, n bool, id string) {
		switch {
		case o == n:
		case n:
			d.add("compatible/tagging", at.Append(key), key+" was false and is true", where)
		case id != "":
			d.add(id, at.Append(key), key+" was true and is false", where)
		}
	}
	flag("taggable", old.Taggable, new.Taggable, "breaking/TAG101")
	if !old.Taggable || !new.Taggable || d.old.Root.Get("tagging") == nil || d.new.Root.Get("tagging") == nil {
		return // the other flags follow, or the older key taggable says nothing about them
	}
	flag("tagOnCreate", old.TagOnCreate, new.TagOnCreate, "breaking/TAG102")
	flag("cloudFormationSystemTags", old.CloudFormationSystemTags, new.CloudFormationSystemTags, "breaking/TAG103")
	flag("tagUpdatable", old.TagUpdatable, new.TagUpdatable, "breaking/tag-updatable")
	if o, n := places([]schema.Path{old.Property}), places([]schema.Path{new.Property}); o[0].key != n[0].key {
		d.add("breaking/TAG104", at.Append("tagProperty"), fmt.Sprintf("the tags were in %s and are in %s", quote(o[0].key), quote(n[0].key)), where)
	}
}

func (d *differ) transforms() {
	index := func(s *schema.Schema) map[string]schema.Transform {
		out := map[string]schema.Transform{}
		for _, t := range s.PropertyTransform {
			out[places([]schema.Path{t.Path})[0].key] = t
		}
		return out
	}
	old, new := index(d.old), index(d.new)
	for _, key := range sortedKeys(old) {
		o := old[key]
		at := places([]schema.Path{o.Path})[0].pointer()
		switch n, stays := new[key]; {
		case !stays:
			d.add("breaking/transform-removed", at, "the transform was removed", o.Path.At)
		case n.Expression.Value != o.Expression.Value:
			d.add("breaking/transform-changed", at, "the transform changed", n.Expression.At)
		}
	}
	for _, key := range sortedKeys(new) {
		if _, known := old[key]; !known {
			n := new[key]
			d.add("compatible/transform-added", places([]schema.Path{n.Path})[0].pointer(), "the property now has a transform", n.Path.At)
		}
	}
}

// configuration compares the settings of the type, whose properties are judged like those
// of the type.
func (d *differ) configuration() {
	at := document.Pointer{"typeConfiguration"}
	o, n := d.old.Root.Get("typeConfiguration"), d.new.Root.Get("typeConfiguration")
	switch {
	case o == nil && n == nil:
	case o == nil && n.Get("required") != nil && len(itemsOf(n.Get("required"))) > 0:
		d.add("breaking/configuration", at, "the type now has settings, and some are required", memberAt(d.new.Root, "typeConfiguration"))
	case o == nil:
		d.add("compatible/configuration-added", at, "the type now has settings", memberAt(d.new.Root, "typeConfiguration"))
	case n == nil:
		d.add("breaking/configuration-removed", at, "the type no longer has settings", memberAt(d.old.Root, "typeConfiguration"))
	default:
		d.values(o, n, at)
	}
}
