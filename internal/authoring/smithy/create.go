package smithy

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A traitFault is the reason why a value is not valid for a trait.
type traitFault struct {
	at      diag.Range
	message string
}

// checkTrait applies the rules that a built-in trait must satisfy to be usable: the type of
// its value, those of its members, and what traitChecks adds. Traits that models define are
// not checked. false means that the error is reported.
func (l *loader) checkTrait(target ID, t *Trait) bool {
	if l.builtin == nil {
		return true
	}
	definition := l.builtin.shapes[t.ID]
	if definition == nil || l.defs[t.ID] != nil {
		return true
	}
	fault := traitKind(l.builtin, definition, t)
	if check := traitChecks[t.ID]; check != nil && fault == nil {
		fault = check(t)
	}
	if fault == nil {
		return true
	}
	l.error(fault.at, target, fmt.Sprintf("Error creating trait `%s`: %s", t.ID.idiomatic(), fault.message))
	return false
}

// jsonKinds gives the kind of JSON value that the values of a type are.
func jsonKind(t Type) (document.Kind, bool) {
	switch {
	case t == Structure || t == Map || t == Union:
		return document.Object, true
	case t.collection():
		return document.Array, true
	case t == Boolean:
		return document.Bool, true
	case t.isString() || t == Blob:
		return document.String, true
	case t.number():
		return document.Number, true
	}
	return document.Null, false // documents and timestamps: any
}

// traitKind checks the value of a trait, and its members one level deep, against the
// types of its definition.
func traitKind(m *Model, definition *Shape, t *Trait) *traitFault {
	want, bound := jsonKind(definition.Type)
	if bound && t.Value.Kind != want {
		message := fmt.Sprintf("Expected %s, but found %s.", kindName(want), kindName(t.Value.Kind))
		if definition.Type == Structure && len(definition.Members) == 0 {
			message = fmt.Sprintf("Annotation traits  must be an object or omitted in the IDL, but found %s", kindName(t.Value.Kind))
		}
		return &traitFault{t.At, message}
	}
	if definition.Type != Structure {
		return nil
	}
	for _, member := range definition.Members {
		v := t.Value.Get(member.Name())
		if v == nil {
			if member.Has(traitRequired) {
				return &traitFault{t.At, fmt.Sprintf("Missing expected member `%s`.", member.Name())}
			}
			continue
		}
		want, bound := jsonKind(m.target(member).Type)
		if bound && v.Kind != want {
			return &traitFault{v.At, fmt.Sprintf("Expected `%s` to be %s %s; found %s", member.Name(), article(kindName(want)), kindName(want), kindName(v.Kind))}
		}
	}
	return nil
}

// traitChecks are the further rules on values, by trait.
var traitChecks = map[ID]func(t *Trait) *traitFault{
	traitError: func(t *Trait) *traitFault {
		if t.Value.Text != "client" && t.Value.Text != "server" {
			return &traitFault{t.At, fmt.Sprintf("error trait must be set to client or server, found `%s`", t.Value.Text)}
		}
		return nil
	},
	traitLength: needsBound,
	traitRange:  needsBound,
	traitHTTPHeader: func(t *Trait) *traitFault {
		if t.Value.Text == "" {
			return &traitFault{t.At, "httpHeader field name binding must not be empty"}
		}
		return nil
	},
	traitEnum: func(t *Trait) *traitFault {
		if len(t.Value.Items) == 0 {
			return &traitFault{t.At, "enum must have at least one entry"}
		}
		for i, item := range t.Value.Items {
			switch {
			case item.Kind != document.Object:
				return &traitFault{item.At, fmt.Sprintf("Expected array element %d to be a object but found %s.", i, kindName(item.Kind))}
			case item.Get("value") == nil:
				return &traitFault{item.At, "Missing expected member `value`."}
			}
		}
		return nil
	},
	traitExternalDocs: func(t *Trait) *traitFault {
		for _, m := range t.Value.Members {
			if m.Value.Kind != document.String {
				return &traitFault{m.Value.At, fmt.Sprintf("Expected string, but found %s.", kindName(m.Value.Kind))}
			}
			if u, err := url.Parse(m.Value.Text); err != nil || u.Scheme == "" {
				return &traitFault{t.At, fmt.Sprintf("Each externalDocumentation value must be a valid URL. Found %q for name %q", m.Value.Text, m.Key)}
			}
		}
		return nil
	},
	traitHTTP: func(t *Trait) *traitFault {
		if problem := checkURI(t.Value.Get("uri").Str()); problem != "" {
			return &traitFault{t.At, problem}
		}
		return nil
	},
	traitEndpoint: func(t *Trait) *traitFault {
		if problem := checkHostPrefix(t.Value.Get("hostPrefix").Str()); problem != "" {
			return &traitFault{t.At, problem}
		}
		return nil
	},
	traitTrait: func(t *Trait) *traitFault {
		if selector := t.Value.Get("selector"); selector != nil {
			if _, err := parseSelector(selector.Text); err != nil {
				return &traitFault{selector.At, err.Error()}
			}
		}
		if v := t.Value.Get("structurallyExclusive"); v != nil && v.Text != "member" && v.Text != "target" {
			return &traitFault{v.At, fmt.Sprintf("Expected one of `member`, `target`; got `%s`.", v.Text)}
		}
		return nil
	},
	traitIDRef: func(t *Trait) *traitFault {
		if selector := t.Value.Get("selector"); selector != nil {
			if _, err := parseSelector(selector.Text); err != nil {
				return &traitFault{selector.At, err.Error()}
			}
		}
		return nil
	},
}

func needsBound(t *Trait) *traitFault {
	if t.Value.Get("min") == nil && t.Value.Get("max") == nil {
		return &traitFault{t.At, "One of 'min' or 'max' must be provided."}
	}
	return nil
}

// checkURI returns what is wrong with the URI pattern of an operation, or "".
func checkURI(uri string) string {
	path, query, hasQuery := strings.Cut(uri, "?")
	switch {
	case strings.HasSuffix(uri, "?"):
		return "URI patterns must not end with '?'. Found " + uri
	case !strings.HasPrefix(uri, "/"):
		return "URI pattern must start with '/'. Found " + uri
	case strings.Contains(uri, "#"):
		return "URI pattern must not contain a fragment. Found " + uri
	}
	if problem := checkSegments(uri, path); problem != "" || !hasQuery {
		return problem
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "{") || strings.Contains(pair, "={") {
			return "URI labels must not appear in the query string. Found " + uri
		}
		if seen[name] {
			return "Literal query parameters must not be repeated: " + uri
		}
		seen[name] = true
	}
	return ""
}

// checkSegments checks the parts of a path and its labels.
func checkSegments(uri, path string) string {
	labels := map[string]bool{}
	greedy := false
	parts := strings.Split(path, "/")
	offset := 0
	for i, part := range parts[1:] {
		offset += len(parts[i]) + 1
		where := fmt.Sprintf(" at index %d", offset)
		if part == "" {
			if i == len(parts)-2 {
				continue // the path ends with a slash
			}
			return "Segments must not be empty" + where
		}
		if !strings.HasPrefix(part, "{") {
			if strings.ContainsAny(part, "{}") {
				return "Literal segments must not contain `{` or `}` characters. Found segment `" + part + "`" + where
			}
			continue
		}
		name, closed := strings.CutSuffix(part[1:], "}")
		if !closed {
			return "Literal segments must not contain `{` or `}` characters. Found segment `" + part + "`" + where
		}
		name, isGreedy := strings.CutSuffix(name, "+")
		switch {
		case name == "":
			return "Empty label declaration in pattern" + where + "."
		case !validIdentifier(name):
			return fmt.Sprintf("Invalid label name in pattern: '%s'%s. Labels must contain value identifiers.", name, where)
		case labels[strings.ToLower(name)]:
			return fmt.Sprintf("Label `%s` is defined more than once in pattern: %s", name, uri)
		case isGreedy && greedy:
			return "At most one greedy label segment may exist in a pattern: " + uri
		}
		labels[strings.ToLower(name)] = true
		greedy = greedy || isGreedy
	}
	return ""
}

// checkHostPrefix returns what is wrong with the host prefix of an endpoint, or "".
func checkHostPrefix(prefix string) string {
	if strings.Contains(prefix, "}{") {
		return "Host labels must not be adjacent in a pattern. Found " + prefix
	}
	for rest, at := prefix, 0; ; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			return ""
		}
		if rest[i] == '}' {
			return fmt.Sprintf("Literal segments must not contain `}`. Found at: %d", at+i)
		}
		end := strings.IndexByte(rest[i:], '}')
		if end < 0 {
			return fmt.Sprintf("Unclosed label found in pattern at: .%d", at+i)
		}
		at += i + end + 1
		rest = rest[i+end+1:]
	}
}
