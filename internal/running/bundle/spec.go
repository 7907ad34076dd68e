package bundle

import (
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Spec names the handler of one version of a type, or another function that runs like one.
type Spec struct {
	awswire.Place
	Kind       schema.Kind
	TypeName   string // as in the schema, not an alias
	Version    string // "00000001"
	Package    string // hash of the blob
	Runtime    string // "provided.al2023", "python3.12"; "" is what the package says
	Entrypoint string // likewise
	LogGroup   string // "" is that of Lambda: "/aws/lambda/" and the function's name
	Role       string // ARN of the execution role, "" for none: whose credentials the handler has
}
