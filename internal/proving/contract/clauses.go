package contract

// A Level is how much a clause binds (RFC 2119).
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// A Clause is one rule of the handler contract, in our own words.
type Clause struct {
	ID      string // "create.applied"
	Section string
	Level   Level
	Text    string

	// Every means that the rule is checked in every call of every case; "core" if the core
	// suite does so, "extended" if only the extended suite does. Empty if cases do.
	Every Suite

	// Untested is why nothing tests the clause. Empty if it is tested.
	Untested string
}

// The sections of [Clauses]. The first five and "All handlers" are those of the resource
// handler contract.
const (
	sectionCreate   = "Create handlers"
	sectionUpdate   = "Update handlers"
	sectionDelete   = "Delete handlers"
	sectionRead     = "Read handlers"
	sectionList     = "List handlers"
	sectionModels   = "Returned models"
	sectionStable   = "Stabilization"
	sectionLeaks    = "Leaks"
	sectionProtocol = "Calling protocol"
	sectionTags     = "Tags and configuration"
	sectionHooks    = "Hooks"
)

// Clauses is the table of the handler contract ("Resource type handler contract" of the
// user guide), clause by clause, with what the official suite and the other chapters ask
// beyond it under the last sections.
var Clauses = []Clause{
	{ID: "create.time", Section: sectionCreate, Level: Must, Every: SuiteExtended, Text: "Each call returns a progress event within 60 seconds."},
	{ID: "create.shape", Section: sectionCreate, Level: Must, Every: SuiteExtended, Text: "The model of every event conforms to the shape of the schema."},
	{ID: "create.identifier", Section: sectionCreate, Level: Must, Every: SuiteCore, Text: "Every model includes the primary identifier, unless the first event is FAILED."},
	{ID: "create.identifier-stays", Section: sectionCreate, Level: Must, Every: SuiteExtended, Text: "The primary identifier is the same in all events of an operation."},
	{ID: "create.failed-first", Section: sectionCreate, Level: Must, Text: "If the first event is FAILED, the resource does not exist: a read returns NotFound."},
	{ID: "create.applied", Section: sectionCreate, Level: Must, Text: "SUCCESS is returned only when all requested properties have been applied."},
	{ID: "create.in-progress", Section: sectionCreate, Level: Must, Text: "IN_PROGRESS is returned until the desired state is reached; a read right after SUCCESS returns it."},
	{ID: "create.in-progress-model", Section: sectionCreate, Level: Should, Every: SuiteExtended, Text: "The model of an IN_PROGRESS event contains only the properties that have been set."},
	{ID: "create.timeout", Section: sectionCreate, Level: Must, Every: SuiteCore, Text: "FAILED is returned if the desired state is not reached within timeoutInMinutes."},
	{ID: "create.failed", Section: sectionCreate, Level: Must, Every: SuiteCore, Text: "FAILED includes a message and an error code of the contract."},
	{ID: "create.match", Section: sectionCreate, Level: Must, Text: "The model of SUCCESS has all requested properties except write-only ones, with the requested values."},
	{ID: "create.defaults", Section: sectionCreate, Level: Must, Text: "The model of SUCCESS has the properties with default values."},
	{ID: "create.read-only", Section: sectionCreate, Level: Must, Text: "The model of SUCCESS has the read-only properties that have values."},
	{ID: "create.no-null", Section: sectionCreate, Level: Must, Every: SuiteCore, Text: "The model of SUCCESS has no null and no property without a value."},
	{ID: "create.read", Section: sectionCreate, Level: Must, Text: "After SUCCESS, a read by the primary identifier succeeds."},
	{ID: "create.read-additional", Section: sectionCreate, Level: Must, Text: "After SUCCESS, a read by any additional identifier succeeds."},
	{ID: "create.list", Section: sectionCreate, Level: Must, Text: "After SUCCESS, a list returns the primary identifier, on one of its pages."},
	{ID: "create.idempotent", Section: sectionCreate, Level: Must, Text: "A create is idempotent: called again with the same token, it creates nothing and returns the same resource."},
	{ID: "create.exists", Section: sectionCreate, Level: Must, Text: "Creating a resource that already exists fails with AlreadyExists."},
	{ID: "create.runtime-state", Section: sectionCreate, Level: May, Text: "Once the desired state is reached, a create can wait until the resource is ready for use."},
	{ID: "create.input", Section: sectionCreate, Level: Should, Text: "Input that is invalid against the schema SHOULD fail with InvalidRequest, although the service sends none. " + stricter},

	{ID: "update.time", Section: sectionUpdate, Level: Must, Every: SuiteExtended, Text: "Each call returns a progress event within 60 seconds."},
	{ID: "update.shape", Section: sectionUpdate, Level: Must, Every: SuiteExtended, Text: "The model of every event conforms to the shape of the schema."},
	{ID: "update.identifier", Section: sectionUpdate, Level: Must, Every: SuiteCore, Text: "Every model includes the primary identifier."},
	{ID: "update.identifier-stays", Section: sectionUpdate, Level: Must, Every: SuiteExtended, Text: "Every event has the primary identifier of the request."},
	{ID: "update.create-only", Section: sectionUpdate, Level: Should, Text: "An update that changes a create-only property SHOULD fail with NotUpdatable, although the service sends none. " + stricter},
	{ID: "update.additional", Section: sectionUpdate, Level: Must, Text: "An additional identifier is enough to find the resource."},
	{ID: "update.applied", Section: sectionUpdate, Level: Must, Text: "SUCCESS is returned only when all requested properties have been applied."},
	{ID: "update.in-progress", Section: sectionUpdate, Level: Must, Text: "IN_PROGRESS is returned until the desired state is reached; a read right after SUCCESS returns it."},
	{ID: "update.in-progress-model", Section: sectionUpdate, Level: Should, Text: "The model of an IN_PROGRESS event contains only the properties that have been set.",
		Untested: "what an update has set so far cannot be seen from outside: old and new values are both right"},
	{ID: "update.timeout", Section: sectionUpdate, Level: Must, Every: SuiteCore, Text: "FAILED is returned if the desired state is not reached within timeoutInMinutes."},
	{ID: "update.failed", Section: sectionUpdate, Level: Must, Every: SuiteCore, Text: "FAILED includes a message and an error code of the contract."},
	{ID: "update.match", Section: sectionUpdate, Level: Must, Text: "The model of SUCCESS has all requested properties except write-only ones, with the requested values."},
	{ID: "update.defaults", Section: sectionUpdate, Level: Must, Text: "The model of SUCCESS has the properties with default values."},
	{ID: "update.read-only", Section: sectionUpdate, Level: Must, Text: "The model of SUCCESS has the read-only properties that have values."},
	{ID: "update.no-null", Section: sectionUpdate, Level: Must, Every: SuiteCore, Text: "The model of SUCCESS has no null and no property without a value."},
	{ID: "update.collections", Section: sectionUpdate, Level: Must, Text: "Collections are replaced as a whole."},
	{ID: "update.removed", Section: sectionUpdate, Level: Should, Text: clauseRemoved},
	{ID: "update.not-found", Section: sectionUpdate, Level: Must, Text: "Updating a resource that does not exist fails with NotFound."},
	{ID: "update.creates-nothing", Section: sectionUpdate, Level: Must, Text: "An update does not create a new physical resource."},

	{ID: "delete.time", Section: sectionDelete, Level: Must, Every: SuiteExtended, Text: "Each call returns a progress event within 60 seconds."},
	{ID: "delete.input", Section: sectionDelete, Level: Must, Text: "The primary identifier alone, or an additional one, is enough to delete."},
	{ID: "delete.stable", Section: sectionDelete, Level: Must, Text: "SUCCESS is returned only when the resource is deleted; a read right after it returns NotFound."},
	{ID: "delete.timeout", Section: sectionDelete, Level: Must, Every: SuiteCore, Text: "FAILED is returned if the resource is not deleted within timeoutInMinutes."},
	{ID: "delete.failed", Section: sectionDelete, Level: Must, Every: SuiteCore, Text: "FAILED includes a message and an error code of the contract."},
	{ID: "delete.success", Section: sectionDelete, Level: Must, Text: "SUCCESS is returned once the resource is deleted."},
	{ID: "delete.no-model", Section: sectionDelete, Level: Must, Every: SuiteExtended, Text: "SUCCESS does not include a model."},
	{ID: "delete.not-found", Section: sectionDelete, Level: Must, Text: "Deleting a resource that does not exist fails with NotFound."},
	{ID: "delete.final", Section: sectionDelete, Level: Must, Text: "After SUCCESS, every later update, delete and read fails with NotFound."},
	{ID: "delete.list", Section: sectionDelete, Level: Must, Text: "After SUCCESS, no page of a list has the primary identifier."},
	{ID: "delete.create", Section: sectionDelete, Level: Must, Text: "After SUCCESS, a create with the same identifiers does not fail with AlreadyExists."},
	{ID: "delete.billing", Section: sectionDelete, Level: Should, Text: "After SUCCESS, the resource causes no costs.", Untested: "the answers of handlers say nothing about bills"},

	{ID: "read.time", Section: sectionRead, Level: Must, Every: SuiteExtended, Text: "Each call returns a progress event within 30 seconds."},
	{ID: "read.synchronous", Section: sectionRead, Level: Must, Every: SuiteCore, Text: "The status is SUCCESS or FAILED, never IN_PROGRESS."},
	{ID: "read.failed", Section: sectionRead, Level: Must, Every: SuiteCore, Text: "FAILED includes a message and an error code of the contract."},
	{ID: "read.input", Section: sectionRead, Level: Must, Text: "The primary identifier alone, or an additional one, is enough to read."},
	{ID: "read.shape", Section: sectionRead, Level: Must, Every: SuiteExtended, Text: "The model conforms to the shape of the schema."},
	{ID: "read.complete", Section: sectionRead, Level: Must, Text: "The model has all properties that have values, including defaults and read-only properties."},
	{ID: "read.no-null", Section: sectionRead, Level: Must, Every: SuiteCore, Text: "The model has no null and no property without a value."},
	{ID: "read.not-found", Section: sectionRead, Level: Must, Text: "Reading a resource that does not exist fails with NotFound."},

	{ID: "list.time", Section: sectionList, Level: Must, Every: SuiteExtended, Text: "Each call returns a progress event within 30 seconds."},
	{ID: "list.synchronous", Section: sectionList, Level: Must, Every: SuiteCore, Text: "The status is SUCCESS or FAILED, never IN_PROGRESS."},
	{ID: "list.failed", Section: sectionList, Level: Must, Every: SuiteCore, Text: "FAILED includes a message and an error code of the contract."},
	{ID: "list.identifiers", Section: sectionList, Level: Must, Every: SuiteExtended, Text: "The response is an array of models with the primary identifier."},
	{ID: "list.readable", Section: sectionList, Level: Must, Text: "Each primary identifier of a list can be read."},
	{ID: "list.pages", Section: sectionList, Level: Must, Text: "A NextToken returns the next results, and is null when there are no more. A page may have any size."},
	{ID: "list.empty", Section: sectionList, Level: Must, Every: SuiteCore, Text: "If there are no resources, the list is an empty array."},
	{ID: "list.filter", Section: sectionList, Level: Should, Text: "Several properties in the request filter by all of them (AND)."},

	{ID: "shape.any", Section: sectionModels, Level: Must, Every: SuiteExtended, Text: "The keywords type, enum and const are applied (validation section 6.1)."},
	{ID: "shape.numbers", Section: sectionModels, Level: Must, Every: SuiteExtended, Text: "The keywords for numbers are applied (6.2)."},
	{ID: "shape.strings", Section: sectionModels, Level: Must, Every: SuiteExtended, Text: "The keywords for strings are applied (6.3)."},
	{ID: "shape.arrays", Section: sectionModels, Level: Must, Every: SuiteExtended, Text: "The keywords for arrays are applied (6.4)."},
	{ID: "shape.objects", Section: sectionModels, Level: Must, Every: SuiteExtended, Text: "The keywords for objects are applied (6.5), except required, dependencies and propertyNames."},
	{ID: "shape.exempt", Section: sectionModels, Level: May, Text: "Conditional subschemas (6.6), combiners (6.7) and the three exceptions are not applied, because correct handlers break them."},

	{ID: "stable.consistent", Section: sectionStable, Level: Must, Text: "The handler waits for eventual consistency: reads right after SUCCESS return the desired state."},
	{ID: "stable.runtime", Section: sectionStable, Level: Should, Text: "After a create, the resource can be changed and deleted at once."},

	{ID: "leak.token", Section: sectionLeaks, Level: Must, Text: "A create that is called again with the same token does not create a second resource."},
	{ID: "leak.identifier", Section: sectionLeaks, Level: Must, Text: "The created resource has the identifier that the create returned."},
	{ID: "leak.delete", Section: sectionLeaks, Level: Must, Text: "A resource that was deleted with SUCCESS does not exist at the end of the run."},

	{ID: "protocol.progress", Section: sectionProtocol, Level: Must, Every: SuiteCore, Text: clauseProgress},
	{ID: "protocol.success", Section: sectionProtocol, Level: Must, Every: SuiteCore, Text: clauseSuccess},
	{ID: "protocol.failed", Section: sectionProtocol, Level: Must, Every: SuiteCore, Text: clauseFailed},
	{ID: "protocol.write-only", Section: sectionProtocol, Level: Must, Every: SuiteCore, Text: "The models of SUCCESS do not contain write-only values."},
	{ID: "protocol.write-only-anywhere", Section: sectionProtocol, Level: Must, Every: SuiteExtended, Text: "Write-only values do not appear anywhere else: not in lists, models of FAILED or messages."},
	{ID: "protocol.model", Section: sectionProtocol, Level: Must, Every: SuiteCore, Text: clauseModel},
	{ID: "protocol.self-check", Section: sectionProtocol, Level: Must, Text: "The suite itself detects that two models differ."},

	{ID: "tags.create", Section: sectionTags, Level: Must, Text: "A taggable resource is created with its tags, including those of the stack."},
	{ID: "tags.update", Section: sectionTags, Level: Must, Text: "An update replaces the tags if they are updatable."},
	{ID: "tags.system", Section: sectionTags, Level: Must, Text: "System tags (aws:…) are not returned as tags of the resource."},
	{ID: "configuration.schema", Section: sectionTags, Level: Must, Text: "The type configuration is valid against its schema."},
	{ID: "drift.none", Section: sectionTags, Level: Must, Text: "Right after a create or update, the resource has not drifted, with property transforms applied."},

	{ID: "hook.compliant", Section: sectionHooks, Level: Must, Text: clauseHookCompliant},
	{ID: "hook.non-compliant", Section: sectionHooks, Level: Must, Text: clauseHookRefuses},
	{ID: "hook.unsupported-target", Section: sectionHooks, Level: Must, Text: clauseHookUnsupported},
	{ID: "hook.every-model", Section: sectionHooks, Level: Must, Text: clauseHookEvery},
	{ID: "hook.same-verdict", Section: sectionHooks, Level: Must, Text: clauseHookSame},
	{ID: "hook.progress", Section: sectionHooks, Level: Must, Every: SuiteCore, Text: clauseHookProgress},
	{ID: "hook.success", Section: sectionHooks, Level: Must, Every: SuiteCore, Text: clauseHookSuccess},
	{ID: "hook.failed", Section: sectionHooks, Level: Must, Every: SuiteCore, Text: clauseHookFailed},
}

// clauseText is what a clause says.
func clauseText(id string) string {
	for _, c := range Clauses {
		if c.ID == id {
			return c.Section + ": " + c.Text
		}
	}
	return ""
}
