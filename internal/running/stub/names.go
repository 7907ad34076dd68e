package stub

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/api"
)

// plain is a name without case and separators: "FriendlyName" and "friendly_name" are equal.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}

// variants are the names that a member of a resource may have elsewhere, the likeliest first.
func variants(noun, name string) []string {
	noun, name = plain(noun), plain(name)
	out := []string{name}
	if short := strings.TrimPrefix(name, noun); short != name && short != "" {
		out = append(out, short)
	}
	return append(out, noun+name)
}

// variants are the names that a member of the resource may have elsewhere, without those of members that are beside it: the
// type of a post is not its post_type.
func (r *resource) variants(name string) []string {
	return slices.DeleteFunc(variants(r.Name, name), func(variant string) bool { return r.apart[[2]string{plain(name), variant}] })
}

// tellApart notes members of one structure.
func (r *resource) tellApart(members []*api.Member) {
	names := map[string]bool{}
	for _, m := range members {
		names[plain(m.Name)] = true
	}
	for name := range names {
		for _, variant := range variants(r.Name, name) {
			if variant != name && names[variant] {
				r.apart[[2]string{name, variant}], r.apart[[2]string{variant, name}] = true, true
			}
		}
	}
}

// alike reports whether two names are of the same member of a resource.
func alike(noun, a, b string) bool {
	return slices.Contains(variants(noun, a), plain(b))
}

// contains reports whether a name has one of several parts.
func contains(name string, parts ...string) bool {
	name = plain(name)
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// generic are the names of members that identify a resource, the likeliest first.
var generic = []string{"id", "identifier", "sid", "uuid", "arn", "name", "key", "slug", "alias", "fingerprint", "uid"}

// identifies reports whether a member of that name may identify a resource.
func identifies(noun, name string) bool {
	return slices.ContainsFunc(variants(noun, name), func(v string) bool { return slices.Contains(generic, v) })
}
