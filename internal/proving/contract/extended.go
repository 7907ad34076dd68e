package contract

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// extendedCases are the tests of the clauses that no core test checks. Cases of one file share
// a resource, as in the core suite; cases that need separate resources are in separate files,
// because two resources with one chosen identifier cannot exist.
var extendedCases = []Case{
	{
		ID: "extended_create.py::contract_create_defaults", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "What a create was not asked for has its default value in the models of the create and of a read.", Clauses: []string{"create.defaults", "read.complete"},
		Skip: skipUnlessDefaults, run: createDefaults,
	},
	{
		ID: "extended_create.py::contract_create_consistent", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "Straight after a create, and again, reads return what was requested.", Clauses: []string{"create.in-progress", "create.applied", "stable.consistent"},
		run: createConsistent,
	},
	{
		ID: "extended_create.py::contract_create_same_token", Suite: SuiteExtended, Needs: []string{"create", "delete"},
		Clause: "A create that is called again with the same token makes no second resource, and returns the first.", Clauses: []string{"create.idempotent", "leak.token", "leak.identifier"},
		alone: true, run: createSameToken,
	},
	{
		ID: "extended_create.py::contract_create_additional_identifiers", Suite: SuiteExtended, Needs: []string{"create", "delete"},
		Clause: "Creating a resource with an additional identifier of another fails with AlreadyExists.", Clauses: []string{"create.exists"},
		Skip: skipUnlessAdditionalIsChosen, run: createAdditional,
	},
	{
		ID: "extended_create.py::contract_create_invalid", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "An input that breaks the schema SHOULD fail with InvalidRequest; if so, nothing exists afterwards. " + stricter, Clauses: []string{"create.input", "create.failed-first"},
		run: createInvalid,
	},
	{
		ID: "extended_create.py::contract_create_tags", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "A create with tags of the stack and of the system applies the tags that were requested; those of the system do not come back.", Clauses: []string{"tags.create", "tags.system"},
		Skip: skipUnlessTagged, run: createTags,
	},
	{
		ID: "extended_create.py::contract_create_update_delete", Suite: SuiteExtended, Needs: []string{"create", "update", "delete"},
		Clause: "A resource can be updated and deleted as soon as it was created.", Clauses: []string{"stable.runtime", "create.runtime-state"},
		run: createUpdateDelete,
	},
	{
		ID: "extended_read.py::contract_read_complete", Suite: SuiteExtended, Needs: []string{"create", "read"},
		Clause: "The models of a create and of a read have the same properties, read-only ones included: all that have values.", Clauses: []string{"create.read-only", "read.complete"},
		fixture: (*run).createdResource, run: readComplete,
	},
	{
		ID: "extended_read.py::contract_read_primary_identifier", Suite: SuiteExtended, Needs: []string{"create", "read"},
		Clause: "The primary identifier alone is enough to read a resource.", Clauses: []string{"read.input", "create.read"},
		fixture: (*run).createdResource, run: readPrimary,
	},
	{
		ID: "extended_read.py::contract_read_additional_identifiers", Suite: SuiteExtended, Needs: []string{"create", "read"},
		Clause: "Any additional identifier alone is enough to read a resource.", Clauses: []string{"create.read-additional", "read.input"},
		Skip: skipUnlessAdditional, fixture: (*run).createdResource, run: readAdditional,
	},
	{
		ID: "extended_read.py::contract_read_without_create", Suite: SuiteExtended, Needs: []string{"read"},
		Clause: "Reading what never existed fails with NotFound.", Clauses: []string{"read.not-found"},
		run: readWithoutCreate,
	},
	{
		ID: "extended_read.py::contract_list_readable", Suite: SuiteExtended, Needs: []string{"create", "read", "list"},
		Clause: "Every primary identifier that a list returns can be read.", Clauses: []string{"list.readable", "list.identifiers"},
		fixture: (*run).createdResource, alone: true, run: listReadable,
	},
	{
		ID: "extended_read.py::contract_list_pages", Suite: SuiteExtended, Needs: []string{"create", "list", "delete"},
		Clause: "The pages of a list, of whatever size, have every resource once and end.", Clauses: []string{"list.pages"},
		fixture: (*run).createdResource, alone: true, run: listPages,
	},
	{
		ID: "extended_read.py::contract_list_filter", Suite: SuiteExtended, Needs: []string{"create", "list"},
		Clause: "A list that filters by several properties returns what agrees with all of them.", Clauses: []string{"list.filter"},
		fixture: (*run).createdResource, alone: true, run: listFilter,
	},
	{
		ID: "extended_read.py::contract_create_drift", Suite: SuiteExtended, Needs: []string{"create", "read"},
		Clause: "Right after a create nothing has drifted, property transforms applied.", Clauses: []string{"drift.none"},
		fixture: (*run).createdResource, run: drifted,
	},
	{
		ID: "extended_update.py::contract_update_consistent", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "Straight after an update, and again, reads return what was requested.", Clauses: []string{"update.in-progress", "update.applied", "stable.consistent"},
		fixture: (*run).createdResource, run: updateConsistent,
	},
	{
		ID: "extended_update.py::contract_update_complete", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "The models of an update and of a read have the same properties, read-only ones and defaults included.", Clauses: []string{"update.read-only", "update.defaults", "read.complete"},
		fixture: (*run).createdResource, run: updateComplete,
	},
	{
		ID: "extended_update.py::contract_update_collections", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "An update replaces collections: what is not in the new ones is gone.", Clauses: []string{"update.collections"},
		fixture: (*run).createdResource, run: updateCollections,
	},
	{
		ID: "extended_update.py::contract_update_removes", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "An update SHOULD remove the properties that its request leaves out. " + stricter, Clauses: []string{"update.removed"},
		fixture: (*run).createdResource, run: updateRemoves,
	},
	{
		ID: "extended_update.py::contract_update_create_only", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "Changing a create-only property SHOULD fail with NotUpdatable and change nothing. " + stricter, Clauses: []string{"update.create-only"},
		Skip: skipUnlessCreateOnly, fixture: (*run).createdResource, run: updateCreateOnly,
	},
	{
		ID: "extended_update.py::contract_update_creates_nothing", Suite: SuiteExtended, Needs: []string{"create", "update", "list"},
		Clause: "An update makes no new physical resource: a list returns the same identifiers before and after.", Clauses: []string{"update.creates-nothing"},
		fixture: (*run).createdResource, alone: true, run: updateCreatesNothing,
	},
	{
		ID: "extended_update.py::contract_update_additional_identifiers", Suite: SuiteExtended, Needs: []string{"create", "update"},
		Clause: "Any additional identifier is enough to update a resource.", Clauses: []string{"update.additional"},
		Skip: skipUnlessAdditional, fixture: (*run).createdResource, run: updateAdditional,
	},
	{
		ID: "extended_update.py::contract_update_without_identifier", Suite: SuiteExtended, Needs: []string{"update"},
		Clause: "An update without the identifier that the service assigns fails with NotFound.", Clauses: []string{"update.not-found"},
		Skip: skipUnlessAssigned, run: updateWithoutIdentifier,
	},
	{
		ID: "extended_update.py::contract_update_tags", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "An update replaces the tags; those of the system do not come back.", Clauses: []string{"tags.update", "tags.system"},
		Skip: skipUnlessTagsChange, fixture: (*run).createdResource, run: updateTags,
	},
	{
		ID: "extended_update.py::contract_update_drift", Suite: SuiteExtended, Needs: []string{"create", "update", "read"},
		Clause: "Right after an update nothing has drifted, property transforms applied.", Clauses: []string{"drift.none"},
		fixture: (*run).createdResource, run: updateDrifted,
	},
	{
		ID: "extended_delete.py::contract_delete_primary_identifier", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "The primary identifier alone is enough to delete a resource.", Clauses: []string{"delete.input", "delete.success"},
		run: deletePrimary,
	},
	{
		ID: "extended_delete.py::contract_delete_additional_identifiers", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "Any additional identifier alone is enough to delete a resource.", Clauses: []string{"delete.input"},
		Skip: skipUnlessAdditional, run: deleteAdditional,
	},
	{
		ID: "extended_delete.py::contract_delete_final", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "Straight after a delete, and again, the resource does not exist.", Clauses: []string{"delete.final", "delete.stable", "stable.consistent"},
		run: deleteFinal,
	},
	{
		ID: "extended_delete.py::contract_delete_create_again", Suite: SuiteExtended, Needs: []string{"create", "delete"},
		Clause: "Once a resource is deleted, the same input can be created again, whoever chooses the identifier.", Clauses: []string{"delete.create"},
		run: deleteCreateAgain,
	},
	{
		ID: "extended_delete.py::contract_delete_without_create", Suite: SuiteExtended, Needs: []string{"delete"},
		Clause: "Deleting what never existed fails with NotFound.", Clauses: []string{"delete.not-found"},
		run: deleteWithoutCreate,
	},
	{
		ID: "extended_configuration.py::contract_type_configuration", Suite: SuiteExtended, Needs: []string{"create"},
		Clause: "The type configuration that the handlers get obeys its schema.", Clauses: []string{"configuration.schema"},
		Skip: skipUnlessConfigurable, run: typeConfiguration,
	},
	{
		ID: "extended_leaks.py::contract_nothing_left", Suite: SuiteExtended, Needs: []string{"create", "read", "delete"},
		Clause: "At the end nothing that the tests created can be read or listed.", Clauses: []string{"leak.delete", "leak.identifier", "leak.token"},
		alone: true, last: true, run: nothingLeft,
	},
}

func skipUnlessAdditional(s *schema.Schema) string {
	if len(s.AdditionalIdentifiers) == 0 {
		return "There are no additional identifiers. Skipping test."
	}
	return ""
}

func skipUnlessAdditionalIsChosen(s *schema.Schema) string {
	for _, paths := range s.AdditionalIdentifiers {
		if !slices.ContainsFunc(paths, func(p schema.Path) bool { return s.IsReadOnly(p.Tokens) }) {
			return ""
		}
	}
	return "No additional identifier is writable. Skipping test."
}

func skipUnlessDefaults(s *schema.Schema) string {
	if len(defaultsOf(s)) == 0 {
		return "No property has a default value. Skipping test."
	}
	return ""
}

func skipUnlessTagged(s *schema.Schema) string {
	if reason := skipUnlessTaggable(s); reason != "" {
		return reason
	}
	if !s.Tagging.TagOnCreate {
		return "Resource is not tagged on create. Skipping test."
	}
	return skipIfTagsAreWriteOnly(s)
}

func skipUnlessTagsChange(s *schema.Schema) string {
	if reason := skipUnlessTagsCanChange(s); reason != "" {
		return reason
	}
	return skipIfTagsAreWriteOnly(s)
}

func skipIfTagsAreWriteOnly(s *schema.Schema) string {
	if s.IsWriteOnly(s.Tagging.Property.Tokens) {
		return "The tags are write-only. Skipping test."
	}
	return ""
}

func skipUnlessCreateOnly(s *schema.Schema) string {
	if len(frozen(s)) == 0 {
		return "No property beside the identifiers is create-only. Skipping test."
	}
	return ""
}

func skipUnlessConfigurable(s *schema.Schema) string {
	if s.TypeConfiguration == nil {
		return "There is no type configuration. Skipping test."
	}
	return ""
}
