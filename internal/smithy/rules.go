package smithy

import "github.com/formwork-dev/formwork/internal/diag"

// Rules returns the table of what the conversion of models reports. What validators report has the ids of Smithy.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "smithy/service", Purpose: "The service that is converted is named, is in the model and is a service.",
			Why: "Its resources are the ones that become schemas.", Example: "right: cfn smithy convert --service acme.jobs#Jobs model/"},
		{ID: "smithy/setting", Purpose: "The settings of the conversion have values that they can have.",
			Why: "Nothing is guessed: the schemas would be other ones than were asked for."},
		{ID: "smithy/no-properties", Purpose: "A resource that becomes a schema has properties.",
			Why: "A resource type without any cannot be registered."},
		{ID: "smithy/identifier", Purpose: "The primary identifier that the trait cfnResource names is a property of the resource.",
			Why: "Handlers could not find a resource again."},
		{ID: "smithy/tag-property", Purpose: "The property that the trait taggable names is one of the resource.",
			Why: "Tags of stacks would be lost."},
		{ID: "smithy/no-tag-operation", Purpose: "A taggable resource has a property for its tags, or its service an operation that sets them.",
			Why: "Otherwise what form the tags have is not known."},
		{ID: "smithy/recursive-list", Purpose: "A list or map that contains itself has a structure or union between.",
			Why: "Definitions are made of structures and unions: the schema would never end."},
		{ID: "smithy/recursive-structure", Severity: diag.Info, Purpose: "The structure does not contain itself.",
			Why: "Here it becomes a definition that refers to itself; the reference implementation runs out of stack."},
		{ID: "smithy/name-conflict", Purpose: "No two shapes become one definition of a schema.",
			Why: "One would take the place of the other.", Example: "wrong: structure Loc_Dup beside structure LocDup\nright: rename: {\"acme.jobs#LocDup\": \"Place\"}"},
		{ID: "smithy/pointer", Purpose: "The keys of jsonAdd are JSON pointers, and what they lead to leaves the schema an object.",
			Why: "There would be no place for the value.", Example: "wrong: \"description\"\nright: \"/description\""},
		{ID: "smithy/same-type", Severity: diag.Warning, Purpose: "No two resources become one type.",
			Why: "The last one counts, and the other one is lost."},
		{ID: "smithy/same-name", Severity: diag.Warning, Purpose: "No two members become one property.",
			Why: "The last one counts, and the other one is lost."},
		{ID: "smithy/lost-constraint", Severity: diag.Info, Purpose: "Constraints of the model have a place in the schema.",
			Why: "Beside a $ref nothing counts, and keys of maps can have a pattern only: the schema is wider than the model."},
		{ID: "smithy/lost-text", Severity: diag.Info, Purpose: "Texts of the model have a place in the schema.",
			Why: "Beside a $ref nothing counts: that of the target is shown instead."},
		{ID: "smithy/lost-trait", Severity: diag.Info, Purpose: "Traits of the model have a keyword in the schema.",
			Why: "What schemas have no word for, users of the schema cannot know."},
	}
}
