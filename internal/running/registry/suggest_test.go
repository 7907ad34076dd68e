package registry

import (
	"fmt"
	"testing"
)

// TestSuggest: a type of another region is found, and the nearest name of the own one; what other
// accounts have and what was deregistered is not.
func TestSuggest(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		elsewhere, stranger := owner, owner
		elsewhere.Region, stranger.Account = "ap-south-1", "999999999999"
		g.fill(owner, 3, "{}")
		g.fill(elsewhere, 100, "{}")
		g.fill(stranger, 50, "{}")
		for name, want := range map[string]string{
			"Acme::Fill::T00001":  "{[ap-south-1] Acme::Fill::T00001}",
			"Acme::Fill::T00050":  "{[ap-south-1] Acme::Fill::T00000}",
			"Acme::Fill::T00099":  "{[] Acme::Fill::T00000}",
			"Acme::Fil::T00002":   "{[] Acme::Fill::T00002}",
			"Vendor::Other::Name": "{[] }",
		} {
			found, err := g.Suggest(t.Context(), owner, name)
			if got := fmt.Sprint(found); err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", name, got, err, want)
			}
		}
	})
}
