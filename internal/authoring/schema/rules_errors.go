package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// errorRules are the rules for documents that the meta-schema accepts and that cannot be used.
var errorRules = []Rule{{
	ID:       "schema/ref-unresolved",
	Upstream: "java: loading; cfn validate: inlining",
	Purpose:  "Every $ref refers to a schema.",
	Why:      "A property with a broken reference has no type, so it cannot be checked and no code can be generated for it.",
	Example:  `wrong: {"$ref": "#/definitions/Tagg"}` + "\n" + `right: {"$ref": "#/definitions/Tag"}`,
	check:    refsResolve,
}, {
	ID:      "schema/ref-offline",
	Purpose: "Documents that a $ref refers to are available without the network.",
	Why:     "cfn makes no network calls by default, because a check that depends on a remote server is not reproducible.",
	Example: `wrong: {"$ref": "https://example.com/common.json#/definitions/Tag"}` + "\n" + `right: {"$ref": "common.json#/definitions/Tag"} with common.json beside the schema`,
	check:   refsOffline,
}, {
	ID:       "schema/id",
	Upstream: "java: J1",
	Purpose:  "$id, if set, is a URI.",
	Why:      "References to other documents are relative to it.",
	Example:  `wrong: "$id": ""` + "\n" + `right: "$id": "https://example.com/initech-tps-report.json"`,
	check:    idIsURI,
}, {
	ID:       "schema/array-type",
	Upstream: "cfn validate",
	Purpose:  "arrayType is set on properties of type array only.",
	Why:      "It defines how the items of an array are compared. The registry rejects it on other types.",
	Example:  `wrong: {"type": "string", "arrayType": "Standard"}`,
	check:    arrayTypeOnArrays,
}, {
	ID:       "schema/conditional-create-only",
	Upstream: "cfn validate",
	Purpose:  "conditionalCreateOnlyProperties has nothing in common with createOnlyProperties and readOnlyProperties.",
	Why:      "Changing a property replaces the resource always, sometimes or never; only one can be true.",
	Example:  `right: each path in one of the lists`,
	kinds:    []Kind{Resource},
	check:    conditionalCreateOnlyApart,
}, {
	ID:       "schema/remote",
	Upstream: "cfn validate",
	Purpose:  `The key "remote" is reserved for CloudFormation.`,
	Why:      "Tools use this key for external documents that they copy into a schema.",
	Example:  `wrong: "remote": {"schema0": {…}}` + "\n" + `right: "definitions": {…}`,
	kinds:    []Kind{Resource},
	check:    remoteIsReserved,
}, {
	ID:       "schema/taggable-and-tagging",
	Upstream: "java: J5; guard-rail: TAG003",
	Purpose:  "Tagging is described by tagging, without the deprecated taggable.",
	Why:      "The two can contradict each other, so the registry rejects a schema with both.",
	Example:  `right: "tagging": {"taggable": true}`,
	kinds:    []Kind{Resource},
	check:    taggingOnce,
}, {
	ID:       "schema/tag-updatable",
	Upstream: "java: J3",
	Purpose:  "tagUpdatable requires an update handler.",
	Why:      "tagUpdatable is true by default; without an update handler, tags cannot be changed.",
	Example:  `right: "tagging": {"taggable": true, "tagUpdatable": false}`,
	kinds:    []Kind{Resource},
	check:    tagsUpdatable,
}, {
	ID:       "schema/tag-property",
	Upstream: "java: J4; guard-rail: TAG013",
	Purpose:  "tagProperty refers to a property of the schema, with a pointer that starts with /properties/.",
	Why:      "CloudFormation passes the tags of the stack in this property.",
	Example:  `right: "tagProperty": "/properties/Tags"`,
	kinds:    []Kind{Resource},
	check:    tagPropertyExists,
}, {
	ID:       "schema/hook-permission",
	Upstream: "cfn validate",
	Purpose:  "A hook does not have the permissions cloudformation:* or cloudformation:RegisterType.",
	Why:      "A hook that can change types and stacks could disable itself; the registry rejects it.",
	Example:  `wrong: "permissions": ["cloudformation:*"]` + "\n" + `right: "permissions": ["cloudformation:DescribeStacks"]`,
	kinds:    []Kind{Hook},
	check:    hookPermissions,
}, {
	ID:       "schema/hook-target",
	Upstream: "cfn validate",
	Purpose:  `The target names of a hook do not contain "*?".`,
	Why:      "The registry rejects the two wildcards together.",
	Example:  `wrong: "AWS::S3::Bu*?ket"` + "\n" + `right: "AWS::S3::Bu*ket"`,
	kinds:    []Kind{Hook},
	check:    hookTargets,
}}

// eachRef calls f for every schema of the document with its $ref and the error of it.
func (in *inspection) eachRef(f func(at site, ref *document.Value, err error)) {
	for _, at := range in.refs.sites {
		if err := in.refs.broken[at.node]; err != nil {
			f(at, at.node.Get("$ref"), err)
		}
	}
}

func refsResolve(in *inspection) {
	in.eachRef(func(at site, ref *document.Value, err error) {
		var offline *offlineError
		if errors.As(err, &offline) {
			return
		}
		hint := ""
		var dangling *danglingError
		if errors.As(err, &dangling) && len(*in.problems) <= maxHints {
			hint = dangling.nearest()
		}
		in.report(ref.At, at.pointer.Append("$ref"), fmt.Sprintf("cannot resolve the reference %q: %s", diag.Cut(ref.Text), diag.Cut(err.Error())), hint)
	})
}

// nearest proposes a key where the pointer leaves the document.
func (e *danglingError) nearest() string {
	v := e.root
	for i, token := range e.pointer {
		next := v.Lookup(document.Pointer{token})
		if next != nil {
			v = next
			continue
		}
		keys := make([]string, 0, 16)
		for _, m := range v.Distinct() {
			keys = append(keys, m.Key)
		}
		if near := words.Nearest(token, keys); near != "" {
			better := e.pointer[:i].Append(near).Append(e.pointer[i+1:]...)
			return fmt.Sprintf("did you mean %q?", "#"+better.String())
		}
		return ""
	}
	return ""
}

func refsOffline(in *inspection) {
	in.eachRef(func(at site, ref *document.Value, err error) {
		var offline *offlineError
		if errors.As(err, &offline) {
			in.report(ref.At, at.pointer.Append("$ref"),
				fmt.Sprintf("the reference %q refers to %s, but remote references are not fetched", diag.Cut(ref.Text), diag.Cut(offline.url)),
				fmt.Sprintf("save the document next to the schema and use %q", diag.Cut(offline.file+fragmentOf(ref.Text))))
		}
	})
}

func fragmentOf(ref string) string {
	if i := strings.Index(ref, "#"); i >= 0 {
		return ref[i:]
	}
	return ""
}

func idIsURI(in *inspection) {
	id := in.Root.Get("$id")
	if id == nil || id.Kind != document.String {
		return
	}
	if _, err := url.Parse(id.Text); err != nil || id.Text == "" {
		in.report(id.At, document.Pointer{"$id"}, fmt.Sprintf("$id is not a URI: %q", diag.Cut(id.Text)), "remove it, or use the URL where the schema is published")
	}
}

func arrayTypeOnArrays(in *inspection) {
	for _, at := range in.refs.sites {
		m := at.node.Member("arrayType")
		allowed := declaredTypes(at.node)
		if at.own && m != nil && allowed != 0 && allowed&typeArray == 0 {
			in.report(m.KeyAt, at.pointer.Append("arrayType"), `arrayType is for properties of type "array"`, "remove it")
		}
	}
}

// A listed is one path of a list with the place of its text in the document.
type listed struct {
	Path
	pointer document.Pointer
}

// list returns the paths under a top-level key.
func (in *inspection) list(key string) []listed {
	list := in.Root.Get(key)
	if list == nil {
		return nil
	}
	var out []listed
	for i, item := range list.Items {
		if item.Kind == document.String {
			out = append(out, listed{in.path(item.Text, item.At), document.Pointer{key, fmt.Sprint(i)}})
		}
	}
	return out
}

// byProperty returns the paths under a top-level key by the property that they name.
func (in *inspection) byProperty(key string) map[string]listed {
	out := map[string]listed{}
	for _, p := range in.list(key) {
		out[p.property()] = p
	}
	return out
}

// property is the same text for paths that name the same property.
func (p Path) property() string {
	if len(p.Tokens) == 0 {
		return p.Text
	}
	return p.Tokens.String()
}

func conditionalCreateOnlyApart(in *inspection) {
	for _, key := range []string{"createOnlyProperties", "readOnlyProperties"} {
		others := in.byProperty(key)
		for _, p := range in.list("conditionalCreateOnlyProperties") {
			if other, both := others[p.property()]; both {
				in.report(p.At, p.pointer, fmt.Sprintf("%q is also in %s", p.Text, key), "keep it in one of the two lists",
					diag.Note{At: other.At, Message: "the other entry"})
			}
		}
	}
}

func remoteIsReserved(in *inspection) {
	if m := in.Root.Member("remote"); m != nil {
		in.report(m.KeyAt, document.Pointer{"remote"}, `"remote" is reserved for CloudFormation`, `move shared schemas to "definitions"`)
	}
}

func taggingOnce(in *inspection) {
	short, long := in.Root.Member("taggable"), in.Root.Member("tagging")
	if short != nil && long != nil {
		in.report(short.KeyAt, document.Pointer{"taggable"}, `"taggable" and "tagging" both describe tagging`, `remove "taggable", which is deprecated`,
			diag.Note{At: long.KeyAt, Message: "described here"})
	}
}

func tagsUpdatable(in *inspection) {
	m := in.Root.Member("tagging")
	if m == nil || m.Value.Get("taggable") == nil || !in.Tagging.TagUpdatable || in.Handler("update") != nil {
		return
	}
	at, pointer, message := m.KeyAt, document.Pointer{"tagging"}, "tags are updatable unless tagUpdatable is false, but there is no update handler"
	if flag := m.Value.Member("tagUpdatable"); flag != nil {
		at, pointer, message = flag.Value.At, pointer.Append("tagUpdatable"), "tagUpdatable is true, but there is no update handler"
	}
	in.report(at, pointer, message, `add an update handler, or set "tagUpdatable": false`)
}

func tagPropertyExists(in *inspection) {
	m := in.Root.Member("tagging")
	if m == nil || m.Value.Kind != document.Object {
		return
	}
	property := m.Value.Get("tagProperty")
	if property == nil {
		if in.Tagging.Taggable && m.Value.Get("taggable") != nil && in.Property(document.Pointer{"Tags"}) == nil {
			in.report(m.KeyAt, document.Pointer{"tagging"}, `the type is taggable, but has no property "Tags"`,
				`declare it, set "tagProperty" to another property, or set "taggable": false`)
		}
		return
	}
	pointer := document.Pointer{"tagging", "tagProperty"}
	switch {
	case property.Kind != document.String:
	case !strings.HasPrefix(property.Text, "/properties/"):
		in.report(property.At, pointer, fmt.Sprintf("tagProperty is %q, which does not start with /properties/", diag.Cut(property.Text)), "use a pointer such as /properties/Tags")
	case in.Tagging.Taggable && in.Property(in.Tagging.Property.Tokens) == nil:
		in.report(property.At, pointer, fmt.Sprintf("tagProperty is %q, but there is no such property", diag.Cut(property.Text)), in.nearestProperty(in.Tagging.Property))
	}
}

// nearestProperty proposes a top-level property for a path that cannot be resolved.
func (in *inspection) nearestProperty(p Path) string {
	if len(*in.problems) > maxHints {
		return ""
	}
	tokens := p.Tokens
	if len(tokens) == 0 {
		parsed, _ := document.ParsePointer(p.Text)
		if len(parsed) == 0 {
			return "it reads like /properties/Name"
		}
		tokens = parsed[len(parsed)-1:]
	}
	var keys []string
	for _, m := range in.Properties() {
		keys = append(keys, m.Key)
	}
	for _, word := range keys {
		if strings.EqualFold(word, tokens[0]) {
			return fmt.Sprintf("did you mean %q?", "/properties/"+word)
		}
	}
	if near := words.Nearest(tokens[0], keys); near != "" {
		return fmt.Sprintf("did you mean %q?", "/properties/"+near)
	}
	return ""
}

func hookPermissions(in *inspection) {
	in.eachPermission(func(at *document.Value, pointer document.Pointer) {
		switch {
		case strings.Contains(at.Text, "cloudformation:*"):
			in.report(at.At, pointer, fmt.Sprintf("a hook cannot have the permission %q", diag.Cut(at.Text)), "list the operations that it calls")
		case at.Text == "cloudformation:RegisterType":
			in.report(at.At, pointer, "a hook cannot have the permission to register types", "remove it")
		}
	})
}

// eachPermission calls f for the permissions of all handlers.
func (in *inspection) eachPermission(f func(at *document.Value, pointer document.Pointer)) {
	for _, h := range in.Root.Get("handlers").Distinct() {
		permissions := h.Value.Get("permissions")
		if permissions == nil {
			continue
		}
		for i, item := range permissions.Items {
			if item.Kind == document.String {
				f(item, document.Pointer{"handlers", h.Key, "permissions", fmt.Sprint(i)})
			}
		}
	}
}

func hookTargets(in *inspection) {
	for _, h := range in.Root.Get("handlers").Distinct() {
		targets := h.Value.Get("targetNames")
		if targets == nil {
			continue
		}
		for i, item := range targets.Items {
			if item.Kind == document.String && strings.Contains(item.Text, "*?") {
				in.report(item.At, document.Pointer{"handlers", h.Key, "targetNames", fmt.Sprint(i)},
					fmt.Sprintf("the target name %q has the wildcards \"*?\"", diag.Cut(item.Text)), `write "*" alone`)
			}
		}
	}
}
