package smithy

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// behindRef notes a constraint or a text of a member that a $ref leaves no place for.
func (r *resourceSchema) behindRef(member *Shape, trait ID) {
	id := "smithy/lost-constraint"
	if trait == traitDocumentation || trait == traitDeprecated || trait == traitTitle {
		id = "smithy/lost-text"
	}
	r.lost.Add(diag.Problem{ID: id, Severity: diag.Info, At: member.At,
		Message: fmt.Sprintf("the %[2]s of %[1]s is lost: a schema ignores keywords next to a $ref", r.nameOf(member), trait.Name())})
}

// nameOf is the ID of a shape; for members of the synthetic structure, the resource replaces
// the structure.
func (r *resourceSchema) nameOf(s *Shape) ID {
	if s.ID.Root() == r.root.ID {
		return r.cfn.shape.ID + "." + ID(s.Name())
	}
	return s.ID
}

// unrepresented are the traits for values or properties that have no keyword in a resource
// schema.
var unrepresented = map[ID]string{
	"smithy.api#sensitive":               "sensitive values are not marked",
	traitSparse:                          "null values are not allowed for",
	traitIdempotencyToken:                "tokens are not generated",
	traitReferences:                      "references to other resources are not followed",
	traitRequiresLength:                  "the length need not be known",
	traitStreaming:                       "streaming is not possible",
	traitJSONName:                        "the name is not used",
	"smithy.api#recommended":             "nothing recommends it",
	"aws.cloudformation#cfnDefaultValue": "that the service sets a default is not said",
	traitClientOptional:                  "it counts as required",
	"smithy.api#internal":                "internal members are public",
	traitPrivate:                         "private shapes are public",
	traitExternalDocs:                    "links are left out",
	"smithy.api#xmlName":                 "the name is not used",
	"aws.api#arnReference":               "references to other resources are not followed",
}

// reportTraits notes the traits of the shapes of the resource that the schema has no
// keyword for.
func (r *resourceSchema) reportTraits() {
	seen := map[ID]bool{}
	queue := []*Shape{r.root}
	note := func(s *Shape) {
		for _, t := range s.Traits {
			if why, known := unrepresented[t.ID]; known && !s.builtin {
				r.lost.Add(diag.Problem{ID: "smithy/lost-trait", Severity: diag.Info, At: t.At,
					Message: fmt.Sprintf("a schema cannot express the trait %s on %s: %s", t.ID.idiomatic(), r.nameOf(s), why)})
			}
		}
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		note(s)
		if s.Type == Map {
			r.reportKeys(s)
		}
		for _, member := range s.Members {
			note(member)
			target := r.m.target(member)
			if target != nil && !seen[target.ID] && target.ID != unitID {
				seen[target.ID] = true
				queue = append(queue, target)
			}
		}
	}
}

// reportKeys notes what a map says of its keys beyond their pattern.
func (r *resourceSchema) reportKeys(s *Shape) {
	key := s.Member("key")
	target := r.m.target(key)
	if r.m.traitOn(key, traitLength) != nil {
		r.lost.Add(diag.Problem{ID: "smithy/lost-constraint", Severity: diag.Info, At: key.At,
			Message: fmt.Sprintf("the length of the keys of %s is lost: patternProperties only has a pattern", s.ID)})
	}
	if target.Type == Enum || slices.ContainsFunc(target.Traits, func(t *Trait) bool { return t.ID == traitEnum }) {
		r.lost.Add(diag.Problem{ID: "smithy/lost-constraint", Severity: diag.Info, At: key.At,
			Message: fmt.Sprintf("the allowed values of the keys of %s are lost: patternProperties only has a pattern", s.ID)})
	}
}
