package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// The bounds of one part of a type name, in characters.
const (
	minNamePart = 2
	maxNamePart = 64
)

// TypeNameFault returns what is wrong with the name of a type of a kind, "" if it is valid:
// how many parts it has, or which of them is too short, too long or has a wrong character.
func TypeNameFault(kind Kind, name string) string {
	wanted := []string{"Organization", "Service", "Resource"}
	switch kind {
	case Hook:
		wanted[2] = "Hook"
	case Module:
		wanted = []string{"Organization", "Service", "Name", "MODULE"}
	}
	form := strings.Join(wanted, "::")
	parts := strings.Split(name, "::")
	switch {
	case name == "":
		return "the name is empty; the form is " + form
	case len(parts) == 1 && strings.Contains(name, ":"):
		return "its parts are separated by two colons; the form is " + form
	case len(parts) == 4 && kind != Module && parts[3] == "MODULE":
		return "names that end in ::MODULE belong to modules"
	}
	for _, part := range parts[:min(len(parts), len(wanted))] {
		if fault := namePartFault(part); fault != "" {
			return fmt.Sprintf("the part %q %s; the form is %s", diag.Cut(part), fault, form)
		}
	}
	switch {
	case len(parts) < len(wanted):
		return fmt.Sprintf("it has %d of the %d parts; the form is %s", len(parts), len(wanted), form)
	case len(parts) > len(wanted):
		return fmt.Sprintf("it has %d parts, %d too many; the form is %s", len(parts), len(parts)-len(wanted), form)
	case kind == Module && parts[3] != "MODULE":
		return fmt.Sprintf("the last part is %q, not \"MODULE\"; the form is %s", diag.Cut(parts[3]), form)
	}
	return ""
}

// namePartFault returns what is wrong with one part of a type name, "" if it is valid.
func namePartFault(part string) string {
	for _, r := range part {
		if r > 'z' || !isName(string(r)) {
			return fmt.Sprintf("has the character %q; only ASCII letters and digits are allowed", r)
		}
	}
	switch n := utf8.RuneCountInString(part); {
	case n < minNamePart:
		return fmt.Sprintf("is too short: a part has at least %d characters", minNamePart)
	case n > maxNamePart:
		return fmt.Sprintf("is too long: a part has at most %d characters", maxNamePart)
	}
	return ""
}
