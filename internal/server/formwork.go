package server

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/simulate"
)

// formwork is the table of what AWS has no operations for. Requests are signed and checked
// like those of every other service.
func formwork(shelf *simulate.Shelf) *awswire.Table {
	return &awswire.Table{
		Service:      "formwork",
		Protocol:     awswire.JSON10,
		TargetPrefix: "Formwork",
		Operations: []awswire.Operation{
			awswire.Op("ImportTypes", func(ctx context.Context, _ awswire.Caller, in *ImportTypesInput) (*ImportTypesOutput, error) {
				return importTypes(ctx, shelf, in)
			}),
		},
		Constraints: map[string][]awswire.Constraint{
			"ImportTypes": {{Member: "Schemas", Required: true, MinLength: 1, MaxLength: 500}},
		},
	}
}

// ImportTypesInput puts published schemas on the shelf of the server.
type ImportTypesInput struct {
	Schemas []SchemaDocument
}

// A SchemaDocument is the schema of a resource type. Name is that of its file.
type SchemaDocument struct {
	Name   *string
	Schema *string
}

// ImportTypesOutput names the types that were imported.
type ImportTypesOutput struct {
	TypeNames []string
}

func importTypes(ctx context.Context, shelf *simulate.Shelf, in *ImportTypesInput) (*ImportTypesOutput, error) {
	documents := make([]simulate.Document, len(in.Schemas))
	for i, d := range in.Schemas {
		documents[i] = simulate.Document{Name: aws.ToString(d.Name), Text: []byte(aws.ToString(d.Schema))}
	}
	names, problems, err := shelf.Import(ctx, documents)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, awswire.Errorf("ValidationException", 0, "The schemas have errors; nothing was imported: %s", (&diag.Invalid{Problems: problems}).Error())
	}
	return &ImportTypesOutput{TypeNames: names}, nil
}
