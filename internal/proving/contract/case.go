package contract

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A Suite is a group of cases that is run or left out as a whole.
type Suite string

// The suites. The zero Suite is SuiteCore.
const (
	SuiteCore     Suite = "core"     // the tests of the official suite, with its names and verdicts
	SuiteExtended Suite = "extended" // the clauses of the contract that no test of the core suite checks
	SuiteAll      Suite = "all"      // both, and the rules for every event on top of the core tests

	// SuiteCustom has the tests of handlers of custom resources. They are run by another
	// package, which uses the reports of this one; it is not a choice for [Run].
	SuiteCustom Suite = "custom-resource"
)

// Suites are the values that a user may choose from.
var Suites = []Suite{SuiteCore, SuiteExtended, SuiteAll}

// has reports whether a choice of suites contains one.
func (s Suite) has(other Suite) bool {
	if s == "" {
		s = SuiteCore
	}
	if other == "" {
		other = SuiteCore
	}
	return s == SuiteAll || s == other
}

// A Case is one test of the suite.
type Case struct {
	// ID names the case. In the core suite it is the official one:
	// "handler_create.py::contract_create_delete".
	ID string

	// Suite is SuiteCore if empty.
	Suite Suite

	// Needs are the handlers that the case is about. A case is left out where the schema
	// lacks one of them.
	Needs []string

	// Clause is the clause of the handler contract that the case tests, in a sentence.
	Clause string

	// Clauses are the IDs of the same in [Clauses].
	Clauses []string

	// Skip returns why the case does not apply to a schema, "" if it does. Nil never skips.
	Skip func(*schema.Schema) string

	// fixture prepares the resource that the case shares with others of its file. Nil
	// for cases that have none.
	fixture func(*run, context.Context) error

	// alone keeps other sets of inputs from doing anything meanwhile: the case looks at
	// all resources that exist.
	alone bool

	// last puts the case behind all others of its set, after what they left was deleted.
	last bool

	run func(context.Context, *run) error
}

// File is the part of the ID before "::": "handler_create.py".
func (c *Case) File() string {
	file, _, _ := strings.Cut(c.ID, "::")
	return file
}

// Name is the part of the ID after "::": "contract_create_delete".
func (c *Case) Name() string {
	_, name, _ := strings.Cut(c.ID, "::")
	return name
}

// suite is the suite of the case, by its name.
func (c *Case) suite() Suite {
	if c.Suite == "" {
		return SuiteCore
	}
	return c.Suite
}

// markers are the pytest markers of hook handlers; those of resource handlers are the
// names of the handlers.
var markers = map[string]string{
	"preCreate": "create_pre_provision", "preUpdate": "update_pre_provision", "preDelete": "delete_pre_provision",
}

// Markers are the pytest markers of the case.
func (c *Case) Markers() []string {
	out := make([]string, len(c.Needs))
	for i, handler := range c.Needs {
		out[i] = handler
		if marker := markers[handler]; marker != "" {
			out[i] = marker
		}
	}
	return out
}

// applies reports whether the schema has all handlers that the case is about.
func (c *Case) applies(s *schema.Schema) bool {
	return len(c.missing(s)) == 0
}

// Cases are all tests in the order in which they run: the hook tests and the resource
// tests in the order of the official suite, then the extended ones.
var Cases = slices.Concat(hookCases, resourceCases, extendedHookCases, extendedCases)

// resourceCases are the tests of resource types in the order in which the official suite
// runs them.
var resourceCases = []Case{
	{
		ID:      "handler_create.py::contract_create_delete",
		Needs:   []string{"create", "delete"},
		Clause:  "A create applies all that was requested and answers with it; the resource can be deleted afterwards.",
		Clauses: []string{"create.applied", "create.match", "delete.success"},
		run:     createDelete,
	},
	{
		ID:      "handler_create.py::contract_create_create",
		Needs:   []string{"create"},
		Clause:  "Creating what exists already fails with AlreadyExists.",
		Clauses: []string{"create.exists"},
		Skip:    skipUnlessIdentifierIsCreateOnly,
		fixture: (*run).createdResource,
		run:     createCreate,
	},
	{
		ID:      "handler_create.py::contract_create_read",
		Needs:   []string{"create", "read"},
		Clause:  "After a create has succeeded, a read succeeds and returns all that was requested.",
		Clauses: []string{"create.read", "create.applied"},
		fixture: (*run).createdResource,
		run:     createRead,
	},
	{
		ID:      "handler_create.py::contract_create_list",
		Needs:   []string{"create", "list", "read"},
		Clause:  "After a create has succeeded, a list contains the resource.",
		Clauses: []string{"create.list"},
		fixture: (*run).createdResource,
		run:     createList,
	},
	{
		ID:      "handler_create.py::contract_create_taggable",
		Needs:   []string{"create"},
		Clause:  "A resource that can be tagged is created with tags.",
		Clauses: []string{"tags.create"},
		Skip:    skipUnlessTaggable,
		run:     createTaggable,
	},
	{
		ID:      "handler_delete.py::contract_delete_read",
		Needs:   []string{"delete", "read"},
		Clause:  "Reading a deleted resource fails with NotFound.",
		Clauses: []string{"delete.final", "read.not-found"},
		fixture: (*run).deletedResource,
		run:     deleteRead,
	},
	{
		ID:      "handler_delete.py::contract_delete_list",
		Needs:   []string{"delete", "list"},
		Clause:  "A list does not contain a deleted resource.",
		Clauses: []string{"delete.list"},
		fixture: (*run).deletedResource,
		run:     deleteList,
	},
	{
		ID:      "handler_delete.py::contract_delete_update",
		Needs:   []string{"delete", "update"},
		Clause:  "Updating a deleted resource fails with NotFound.",
		Clauses: []string{"delete.final", "update.not-found"},
		fixture: (*run).deletedResource,
		run:     deleteUpdate,
	},
	{
		ID:      "handler_delete.py::contract_delete_delete",
		Needs:   []string{"delete"},
		Clause:  "Deleting a deleted resource fails with NotFound.",
		Clauses: []string{"delete.not-found", "delete.final"},
		fixture: (*run).deletedResource,
		run:     deleteDelete,
	},
	{
		ID:      "handler_delete.py::contract_delete_create",
		Needs:   []string{"create", "delete"},
		Clause:  "Once a resource is deleted, one with the same identifier can be created.",
		Clauses: []string{"delete.create"},
		Skip:    skipUnlessIdentifierIsCreateOnly,
		fixture: (*run).deletedResource,
		run:     deleteCreate,
	},
	{
		ID:      "handler_misc.py::contract_check_asserts_work",
		Clause:  "The suite itself detects that two models differ.",
		Clauses: []string{"protocol.self-check"},
		run:     checkAssertsWork,
	},
	{
		ID:      "handler_update.py::contract_update_read",
		Needs:   []string{"update", "read"},
		Clause:  "After an update has succeeded, a read returns the same resource with all that was requested.",
		Clauses: []string{"update.applied", "update.match", "update.identifier-stays", "update.removed"},
		fixture: (*run).updatedResource,
		run:     updateRead,
	},
	{
		ID:      "handler_update.py::contract_update_list",
		Needs:   []string{"update", "list"},
		Clause:  "After an update has succeeded, a list contains the same resource.",
		Clauses: []string{"create.list"},
		fixture: (*run).updatedResource,
		run:     updateList,
	},
	{
		ID:      "handler_update.py::contract_update_tag_updatable",
		Needs:   []string{"update"},
		Clause:  "A resource whose tags can be changed is updated with tags.",
		Clauses: []string{"tags.update"},
		Skip:    skipUnlessTagsCanChange,
		fixture: (*run).updatedResource,
		run:     updateTagUpdatable,
	},
	{
		ID:      "handler_update_invalid.py::contract_update_without_create",
		Needs:   []string{"update"},
		Clause:  "Updating a resource that does not exist fails with NotFound and says so.",
		Clauses: []string{"update.not-found"},
		run:     updateWithoutCreate,
	},
}

// skipUnlessIdentifierIsCreateOnly leaves out the same cases as the official suite does:
// it takes an identifier for writable if it is create-only, even if it is read-only.
func skipUnlessIdentifierIsCreateOnly(s *schema.Schema) string {
	for _, path := range s.PrimaryIdentifier {
		if !s.IsCreateOnly(path.Tokens) {
			return "No writable identifiers. Skipping test."
		}
	}
	return ""
}

// skipUnlessAssigned leaves cases out that need an identifier which a request can lack.
func skipUnlessAssigned(s *schema.Schema) string {
	for _, path := range s.PrimaryIdentifier {
		if s.IsReadOnly(path.Tokens) {
			return ""
		}
	}
	return "The identifier is part of every request. Skipping test."
}

// skipUnlessIdentifierIsChosen leaves cases out that need a second resource with the same
// identifier: the service makes identifiers that are not create-only.
func skipUnlessIdentifierIsChosen(s *schema.Schema) string {
	for _, path := range s.PrimaryIdentifier {
		if !s.IsCreateOnly(path.Tokens) || s.IsReadOnly(path.Tokens) {
			return "No writable identifiers. Skipping test."
		}
	}
	return ""
}

func skipUnlessTaggable(s *schema.Schema) string {
	switch {
	case s.Root.Get("tagging") == nil: // the deprecated "taggable" alone does not count
		return "Resource does not contain tagging metadata. Skipping test."
	case !s.Tagging.Taggable:
		return "Resource is not taggable. Skipping test."
	}
	return ""
}

func skipUnlessTagsCanChange(s *schema.Schema) string {
	switch {
	case s.Root.Get("tagging") == nil: // the deprecated "taggable" alone does not count
		return "Resource does not contain tagging metadata. Skipping test."
	case !s.Tagging.TagUpdatable:
		return "Resource is not tagUpdatable. Skipping test."
	}
	return ""
}
