package smithy

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what the conversion of models reports. What validators report has the ids of Smithy.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "smithy/service", Purpose: "The settings name the service to convert, and the model contains it.",
			Why: "The resources of the service are converted to schemas.", Example: "right: cfn smithy convert --service acme.jobs#Jobs model/"},
		{ID: "smithy/setting", Purpose: "The settings of the conversion are valid.",
			Why: "The converter does not guess, because the schemas would not be the intended ones."},
		{ID: "smithy/no-properties", Purpose: "A resource that is converted has properties.",
			Why: "A resource type without properties cannot be registered."},
		{ID: "smithy/identifier", Purpose: "The primary identifier that the trait cfnResource names is a property of the resource.",
			Why: "Otherwise, handlers could not find a resource."},
		{ID: "smithy/tag-property", Purpose: "The property that the trait taggable names is a property of the resource.",
			Why: "Otherwise, the tags of stacks are lost."},
		{ID: "smithy/no-tag-operation", Purpose: "A taggable resource has a property for its tags, or its service has an operation that sets them.",
			Why: "Otherwise, the format of the tags is unknown."},
		{ID: "smithy/recursive-list", Purpose: "A list or map that contains itself has a structure or union in between.",
			Why: "Definitions are generated from structures and unions; without one, the schema would be infinite."},
		{ID: "smithy/recursive-structure", Severity: diag.Info, Purpose: "The structure does not contain itself.",
			Why: "cfn generates a definition that refers to itself; the reference implementation runs out of stack."},
		{ID: "smithy/name-conflict", Purpose: "Two shapes do not become the same definition of a schema.",
			Why: "One would replace the other.", Example: "wrong: structure Loc_Dup beside structure LocDup\nright: rename: {\"acme.jobs#LocDup\": \"Place\"}"},
		{ID: "smithy/pointer", Purpose: "The keys of jsonAdd are JSON pointers to valid places in the schema.",
			Why: "Otherwise, the value cannot be added.", Example: "wrong: \"description\"\nright: \"/description\""},
		{ID: "smithy/same-type", Severity: diag.Warning, Purpose: "Two resources do not become the same type.",
			Why: "The last one is used and the other one is lost."},
		{ID: "smithy/same-name", Severity: diag.Warning, Purpose: "Two members do not become the same property.",
			Why: "The last one is used and the other one is lost."},
		{ID: "smithy/lost-constraint", Severity: diag.Info, Purpose: "The schema can express the constraints of the model.",
			Why: "Keywords next to a $ref have no effect, and keys of maps can only have a pattern, so the schema accepts more than the model."},
		{ID: "smithy/lost-text", Severity: diag.Info, Purpose: "The schema can express the texts of the model.",
			Why: "Keywords next to a $ref have no effect: the text of the target is used instead."},
		{ID: "smithy/lost-trait", Severity: diag.Info, Purpose: "The schema has keywords for the traits of the model.",
			Why: "Traits without a keyword are not visible to users of the schema."},
	}
}
