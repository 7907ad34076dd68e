package plan

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/template"
)

// ModuleInfo reads which modules a resource comes from, from its metadata.
func ModuleInfo(metadata any) *types.ModuleInfo {
	all, _ := metadata.(map[string]any)
	note, _ := all[template.ModuleKey].(map[string]any)
	kinds, _ := note[template.ModuleTypes].(string)
	ids, _ := note[template.ModuleIDs].(string)
	if kinds == "" || ids == "" {
		return nil
	}
	return &types.ModuleInfo{TypeHierarchy: aws.String(kinds), LogicalIdHierarchy: aws.String(ids)}
}

// noteModules sets which modules the resources of a plan come from.
func (p *Plan) noteModules(in *Input) {
	for i := range p.Changes {
		c := &p.Changes[i]
		c.Module = ModuleInfo(in.Resources[c.LogicalID].Metadata)
		if in.Next == nil {
			continue
		}
		if r := in.Next.Template.Resource(c.LogicalID); r != nil {
			c.Module = nil
			if r.Metadata != nil {
				c.Module = ModuleInfo(r.Metadata.Any())
			}
		}
	}
}
