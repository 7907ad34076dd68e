package formwork_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// mistakes are those that the guide of the SDK warns of, each with the tests of cfn test --suite all that find it.
var mistakes = map[string][]string{
	"System tags":            {"contract_create_tags", "contract_update_tags"},
	"Defaults":               {"contract_create_defaults"},
	"Create-only properties": {"contract_update_create_only"},
	"Removed properties":     {"contract_update_removes", "contract_update_collections"},
	"Read-only properties":   {"contract_read_complete", "contract_update_complete"},
	"Additional identifiers": {"contract_read_additional_identifiers", "contract_update_additional_identifiers", "contract_delete_additional_identifiers"},
	"Repeated tokens":        {"contract_create_same_token"},
	"Pages":                  {"contract_list_pages"},
}

// TestGuideWarnsOfMistakes: what the SDK leaves to the author, and cfn test --suite all then finds, is in the guide.
func TestGuideWarnsOfMistakes(t *testing.T) {
	text, err := os.ReadFile("sdk/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "finds these common mistakes:")
	if !found {
		t.Fatal("sdk/README.md has no list of common mistakes")
	}
	list, _, _ = strings.Cut(list, "\n## ")
	tests := map[string]bool{}
	for _, c := range contract.Cases {
		tests[c.Name()] = true
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^- \*\*(.+?)\.\*\*`).FindAllStringSubmatch(list, -1) {
		named[m[1]] = true
		if mistakes[m[1]] == nil {
			t.Errorf("no test is known to find %q", m[1])
		}
	}
	for mistake, finders := range mistakes {
		if !named[mistake] {
			t.Errorf("the guide does not warn of %q", mistake)
		}
		for _, test := range finders {
			if !tests[test] {
				t.Errorf("%s: there is no test %s", mistake, test)
			}
		}
	}
}
