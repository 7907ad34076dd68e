package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// AnnouncedBy is between a finding and the changes that announce it, in messages.
const AnnouncedBy = "; announced by "

// An Announced is a change of the schema, as cfn diff reports it.
type Announced struct {
	ID      string `json:"id"`
	Pointer string `json:"pointer"`
}

// An announcement is what the differences of the two schemas say about what a test found.
type announcement struct {
	tested  bool          // a test failed
	changes []lint.Change // that announce it
}

// announcement finds the changes that announce a violation: those with its effect on a property that it is about, else those with
// the effect on the whole resource.
func (u *upgradeRun) announcement(c *Case, err error, broken *Violation) announcement {
	effect := ""
	var fault *upgradeFault
	if errors.As(err, &fault) {
		effect = fault.effect
	}
	var named, general []lint.Change
	for _, change := range u.up.Changes {
		if change.Effect == "" || effect != "" && !strings.HasPrefix(change.Effect, effect) {
			continue
		}
		switch {
		case change.ID == "breaking/handler-removed" && u.general(c, broken, change):
			named = append(named, change)
		case u.general(c, broken, change):
			general = append(general, change)
		case u.about(broken, change):
			named = append(named, change)
		}
	}
	if len(named) == 0 {
		named = general
	}
	return announcement{true, named}
}

// general reports whether a change is about the resource as a whole, and about what a test does with it: about its identifier, a handler,
// the tags.
func (u *upgradeRun) general(c *Case, broken *Violation, change lint.Change) bool {
	tokens := strings.Split(change.Pointer, "/")[1:]
	switch {
	case len(tokens) > 1 && tokens[0] == "handlers":
		removed := change.ID == "breaking/handler-removed" && slices.Contains(c.Needs, tokens[1])
		return removed || change.ID == "breaking/permission-added" && hasWord(broken.Message, "AccessDenied")
	case strings.HasPrefix(change.ID, "breaking/TAG"):
		return slices.Contains(c.Clauses, "tags.update")
	case len(tokens) < 2 || tokens[0] != "properties":
		return true
	case change.ID == "breaking/PR002" || change.ID == "breaking/RQ001": // about the property alone
		return false
	}
	return slices.ContainsFunc(slices.Concat(u.up.Old.PrimaryIdentifier, u.up.Schema.PrimaryIdentifier), func(path schema.Path) bool {
		return slices.Equal(path.Tokens, tokens[1:])
	})
}

// about reports whether a violation is about the property of a change: it names the property, or the update changed it.
func (u *upgradeRun) about(broken *Violation, change lint.Change) bool {
	for _, pointer := range append([]string{change.Pointer}, change.Also...) {
		tokens := strings.Split(strings.TrimPrefix(pointer, "/properties/"), "/")
		if slices.Contains(u.touched, tokens[0]) || hasWord(broken.Message, tokens[len(tokens)-1]) {
			return true
		}
		for _, d := range broken.Differences {
			if len(d.Pointer) > 0 && d.Pointer[0] == tokens[0] {
				return true
			}
		}
	}
	return false
}

// hasWord reports whether a text contains a word.
func hasWord(text, word string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z')
	}
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			break
		}
		if at += i; !letter(at-1) && !letter(at+len(word)) {
			return true
		}
		at += len(word)
	}
	return false
}

// complete says in a result what announced it. A test whose finding was accepted has passed.
func (a announcement) complete(result *Result) {
	if !a.tested {
		return
	}
	var ids []string
	for _, change := range a.changes {
		result.Announced = append(result.Announced, Announced{change.ID, change.Pointer})
		ids = append(ids, change.ID)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		result.Message += "; cfn diff does not announce it"
		return
	}
	result.Message += AnnouncedBy + strings.Join(ids, ", ")
	open := slices.IndexFunc(a.changes, func(c lint.Change) bool { return c.Accepted == "" })
	if open < 0 {
		accepted := slices.MinFunc(a.changes, func(a, b lint.Change) int { return cmp.Compare(a.ID, b.ID) })
		result.Outcome, result.Note = Passed, fmt.Sprintf("%s, accepted: %s", result.Message, accepted.Accepted)
		result.Message, result.Clause, result.Differences = "", "", nil
	}
}
