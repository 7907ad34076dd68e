package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// auth selects how requests are authenticated. Of OAuth without client credentials, and of OpenID Connect, users of the type
// set the token.
func (b *binder) auth() {
	b.out.Auth = BoundAuth{Kind: "none"}
	schemes := b.schemes()
	for _, s := range schemes {
		if s.Kind != "apiKey" {
			b.out.Auth.Kind, b.out.Auth.TokenURL = clientKind(s), s.URL
			if s.Kind == "sigv4" {
				b.out.Auth.Service = b.API.Prefix
			}
			continue
		}
		key := BoundKey{In: s.In, Name: s.Key, Property: "ApiKey", Secret: true, doc: "The key for the service, as a dynamic reference to a secret."}
		if slices.ContainsFunc(schemes, func(other Scheme) bool { return other.Kind == "apiKey" && other.Name != s.Name }) {
			key.Property, key.doc = b.keyProperty(s.Name), fmt.Sprintf("The key that is sent as the %s %s, as a dynamic reference to a secret.", s.In, s.Key)
		}
		b.out.Auth.Keys = append(b.out.Auth.Keys, key)
	}
}

// schemes are the scheme of the settings and those that calls require with it, else the fewest that all calls accept, else
// the first one that clients support.
func (b *binder) schemes() []Scheme {
	want := b.settings.Auth
	named := func(s Scheme) bool { return s.Name == want }
	if i := slices.IndexFunc(b.API.Auth, named); i < 0 && want != "" {
		b.fail("api/setting", b.settings.at["settings.auth"], fmt.Sprintf("the API has no scheme %q", diag.Cut(want)), "")
		return nil
	} else if want != "" && clientKind(b.API.Auth[i]) == "" {
		b.refuse(b.settings.at["settings.auth"], fmt.Sprintf("handlers cannot authenticate by %s", want), "")
		return nil
	}
	required := b.required()
	for _, names := range required {
		schemes := b.together(names)
		if schemes != nil && (want == "" || slices.ContainsFunc(schemes, named)) && b.refusing(names) == nil {
			return schemes
		}
	}
	rank := func(s Scheme) int {
		if len(required) > 0 && slices.Contains(required[0], s.Name) {
			return 0
		}
		return 1 + b.borrowed([]string{s.Name})
	}
	known := slices.DeleteFunc(slices.Clone(b.API.Auth), func(s Scheme) bool { return clientKind(s) == "" || want != "" && !named(s) })
	slices.SortStableFunc(known, func(x, y Scheme) int { return rank(x) - rank(y) })
	if len(known) == 0 {
		return nil
	}
	if op := b.refusing([]string{known[0].Name}); op != nil {
		b.Lost = append(b.Lost, Decision{"", "authentication", fmt.Sprintf("%s needs %s: handlers send %s only", op.Name, strings.Join(op.Auth[0], " and "), known[0].Name)})
	}
	return known[:1]
}

// required are the lists of schemes that calls require, and all that they require together: first those without a token that
// somebody else requested, of these the shortest.
func (b *binder) required() (out [][]string) {
	var all []string
	for _, step := range b.Resource.Steps() {
		for i, names := range step.Operation.Auth {
			if len(names) > 0 {
				out = append(out, names)
			}
			for _, name := range names {
				if i == 0 && !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(x, y []string) int { return cmp.Or(b.borrowed(x)-b.borrowed(y), len(x)-len(y)) })
	return append(out, all)
}

// borrowed counts the schemes whose tokens somebody else requests.
func (b *binder) borrowed(names []string) (n int) {
	for _, s := range b.API.Auth {
		if kind := clientKind(s); slices.Contains(names, s.Name) && kind != "" && kind != s.Kind {
			n++
		}
	}
	return n
}

// refusing is the first call that needs other schemes, or nil.
func (b *binder) refusing(names []string) *Operation {
	accepts := func(of []string) bool {
		return !slices.ContainsFunc(of, func(name string) bool { return !slices.Contains(names, name) })
	}
	for _, step := range b.Resource.Steps() {
		if op := step.Operation; op.Auth != nil && !slices.ContainsFunc(op.Auth, accepts) {
			return op
		}
	}
	return nil
}

// together are schemes by their names, nil if clients cannot send all of them in one request.
func (b *binder) together(names []string) (schemes []Scheme) {
	authorization := 0 // of one header
	for _, name := range names {
		i := slices.IndexFunc(b.API.Auth, func(s Scheme) bool { return s.Name == name && clientKind(s) != "" })
		if i < 0 {
			return nil
		}
		s := b.API.Auth[i]
		if s.Kind != "apiKey" || s.In == "header" && norm(s.Key) == "authorization" {
			authorization++
		}
		schemes = append(schemes, s)
	}
	if authorization > 1 {
		return nil
	}
	return schemes
}

// clientKind is how clients authenticate by a scheme, "" if they cannot.
func clientKind(s Scheme) string {
	switch {
	case s.Kind == "oauth2" && s.URL == "", s.Kind == "openIdConnect":
		return "bearer"
	case slices.Contains([]string{"apiKey", "bearer", "basic", "sigv4", "oauth2"}, s.Kind):
		return s.Kind
	}
	return ""
}

// keyProperty is a name for a key or header in the type configuration, where the names of others are taken.
func (b *binder) keyProperty(name string) string {
	property := cmp.Or(pascal(name), "Key")
	property = property[:min(len(property), 60)]
	taken := func() bool {
		return slices.Contains([]string{"Endpoint", "ApiKey", "BearerToken", "Basic", "OAuth", "Region"}, property) ||
			slices.ContainsFunc(b.out.Auth.Keys, func(k BoundKey) bool { return k.Property == property })
	}
	for base, i := property, 2; taken(); i++ {
		property = fmt.Sprint(base, i)
	}
	return property
}
