package contract

import (
	"io"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// WriteGitHub writes the failures of a summary as workflow commands, which GitHub shows
// next to the handlers in the schema.
func WriteGitHub(w io.Writer, s *Summary, of *schema.Schema) error {
	return diag.Print(w, Problems(s, of), "github")
}
