package api

import (
	"slices"
	"strings"
	"unicode"
)

// norm is a name without case and separators: "FriendlyName" and "friendly_name" are equal.
func norm(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// pascal is a name as properties have it: letters and digits, each word with a capital.
func pascal(name string) string {
	var b strings.Builder
	start := true
	for _, r := range name {
		switch {
		case r >= 128 || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			start = true
			continue
		case start:
			r = unicode.ToUpper(r)
		}
		start = false
		b.WriteRune(r)
	}
	return b.String()
}

// singular is a noun without the ending of the plural.
func singular(noun string) string {
	lower := strings.ToLower(noun)
	ends := func(endings ...string) bool {
		return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(lower, ending) })
	}
	switch {
	case slices.Contains([]string{"aws", "dns", "nfs", "sms", "mms", "tls"}, lower), ends("aas"):
		return noun
	case ends("statuses", "aliases"):
		return noun[:len(noun)-2]
	case ends("apis", "uris", "emojis"):
		return noun[:len(noun)-1]
	case strings.HasSuffix(lower, "ies") && len(noun) > 4:
		return noun[:len(noun)-3] + "y"
	case ends("sses", "xes", "ches", "shes"):
		return noun[:len(noun)-2]
	case ends("ss", "us", "is"):
		return noun
	case strings.HasSuffix(lower, "s"):
		return noun[:len(noun)-1]
	}
	return noun
}

// same reports whether a member of a resource is the one of that name, with or without the
// name of the resource before it: "clusterName" and "name".
func same(noun, a, b string) bool {
	a, b, noun = norm(a), norm(b), norm(noun)
	return a == b || a == noun+b || b == noun+a
}
