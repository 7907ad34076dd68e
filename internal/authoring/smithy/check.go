package smithy

import (
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Check runs the checks that every resource schema of a project has to pass. The places
// of the problems are those in the file that [Converted.JSON] makes.
func (c Converted) Check() diag.List {
	_, problems := schema.Load(c.File, c.JSON(), schema.Config{Kind: schema.Resource})
	problems.Sort()
	return problems
}
