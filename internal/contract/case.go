package contract

import (
	"context"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/schema"
)

// A Case is one test of the suite.
type Case struct {
	// ID is the name that the official suite has for it:
	// "handler_create.py::contract_create_delete".
	ID string

	// Needs are the handlers that the case is about, which are its pytest markers. A case
	// is left out where the schema lacks one of them.
	Needs []string

	// Clause is what of the handler contract the case stands for.
	Clause string

	// Skip says why the case means nothing for a schema, "" if it does. Nil never skips.
	Skip func(*schema.Schema) string

	// fixture prepares the resource that the case shares with others of its file. Nil
	// for cases that have none.
	fixture func(*run, context.Context) error

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

// applies tells whether the schema has all handlers that the case is about.
func (c *Case) applies(s *schema.Schema) bool {
	return !slices.ContainsFunc(c.Needs, func(handler string) bool { return s.Handler(handler) == nil })
}

// Cases are the tests in the order in which the official suite runs them.
var Cases = []Case{
	{
		ID:     "handler_create.py::contract_create_delete",
		Needs:  []string{"create", "delete"},
		Clause: "A create applies all that was requested and answers with it; the resource can be deleted afterwards.",
		run:    createDelete,
	},
	{
		ID:      "handler_create.py::contract_create_create",
		Needs:   []string{"create"},
		Clause:  "Creating what exists already fails with AlreadyExists.",
		Skip:    skipUnlessIdentifierIsChosen,
		fixture: (*run).createdResource,
		run:     createCreate,
	},
	{
		ID:      "handler_create.py::contract_create_read",
		Needs:   []string{"create", "read"},
		Clause:  "After a create has succeeded, a read succeeds and returns all that was requested.",
		fixture: (*run).createdResource,
		run:     createRead,
	},
	{
		ID:      "handler_create.py::contract_create_list",
		Needs:   []string{"create", "list", "read"},
		Clause:  "After a create has succeeded, a list contains the resource.",
		fixture: (*run).createdResource,
		run:     createList,
	},
	{
		ID:     "handler_create.py::contract_create_taggable",
		Needs:  []string{"create"},
		Clause: "A resource that can be tagged is created with tags.",
		Skip:   skipUnlessTaggable,
		run:    createTaggable,
	},
	{
		ID:      "handler_delete.py::contract_delete_read",
		Needs:   []string{"delete", "read"},
		Clause:  "Reading a deleted resource fails with NotFound.",
		fixture: (*run).deletedResource,
		run:     deleteRead,
	},
	{
		ID:      "handler_delete.py::contract_delete_list",
		Needs:   []string{"delete", "list"},
		Clause:  "A list does not contain a deleted resource.",
		fixture: (*run).deletedResource,
		run:     deleteList,
	},
	{
		ID:      "handler_delete.py::contract_delete_update",
		Needs:   []string{"delete", "update"},
		Clause:  "Updating a deleted resource fails with NotFound.",
		fixture: (*run).deletedResource,
		run:     deleteUpdate,
	},
	{
		ID:      "handler_delete.py::contract_delete_delete",
		Needs:   []string{"delete"},
		Clause:  "Deleting a deleted resource fails with NotFound.",
		fixture: (*run).deletedResource,
		run:     deleteDelete,
	},
	{
		ID:      "handler_delete.py::contract_delete_create",
		Needs:   []string{"create", "delete"},
		Clause:  "Once a resource is deleted, one with the same identifier can be created.",
		Skip:    skipUnlessIdentifierIsChosen,
		fixture: (*run).deletedResource,
		run:     deleteCreate,
	},
	{
		ID:     "handler_misc.py::contract_check_asserts_work",
		Clause: "The suite itself notices when two models differ.",
		run:    checkAssertsWork,
	},
	{
		ID:      "handler_update.py::contract_update_read",
		Needs:   []string{"update", "read"},
		Clause:  "After an update has succeeded, a read returns the same resource with all that was requested.",
		fixture: (*run).updatedResource,
		run:     updateRead,
	},
	{
		ID:      "handler_update.py::contract_update_list",
		Needs:   []string{"update", "list"},
		Clause:  "After an update has succeeded, a list contains the same resource.",
		fixture: (*run).updatedResource,
		run:     updateList,
	},
	{
		ID:      "handler_update.py::contract_update_tag_updatable",
		Needs:   []string{"update"},
		Clause:  "A resource whose tags can be changed is updated with tags.",
		Skip:    skipUnlessTagsCanChange,
		fixture: (*run).updatedResource,
		run:     updateTagUpdatable,
	},
	{
		ID:     "handler_update_invalid.py::contract_update_without_create",
		Needs:  []string{"update"},
		Clause: "Updating a resource that does not exist fails with NotFound and says so.",
		run:    updateWithoutCreate,
	},
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
