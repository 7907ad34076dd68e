package plan

import (
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// changeOf is how an existing resource becomes what a template wants, from which it differs.
func changeOf(current Resource, differ []Difference, s *schema.Schema, retagged bool) Action {
	out := None
	if retagged && Taggable(s) || current.Type == NestedStack || current.Status == types.ResourceStatusUpdateFailed {
		out = Update
	}
	for _, d := range differ {
		out = Update
		if d.Recreation == types.RequiresRecreationAlways {
			return replacement(s)
		}
	}
	return out
}

// replacement is how resources of a type are replaced.
func replacement(s *schema.Schema) Action {
	if s != nil && s.ReplacementStrategy == "delete_then_create" {
		return Remake
	}
	return Replace
}

// Taggable reports whether the tags of the stack reach resources of a type in updates.
func Taggable(s *schema.Schema) bool {
	return s != nil && s.Tagging.TagUpdatable && (s.Handler("update") != nil || len(s.Handlers) == 0)
}
