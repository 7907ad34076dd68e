package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/formwork-dev/formwork/internal/codegen"
	"github.com/formwork-dev/formwork/internal/diag"
	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/sample"
	"github.com/formwork-dev/formwork/internal/schema"
)

// The example inputs of a resource type.
const (
	examplesDir   = "example_inputs"
	exampleCreate = examplesDir + "/inputs_1_create.json"
	exampleUpdate = examplesDir + "/inputs_1_update.json"
	exampleWrong  = examplesDir + "/inputs_1_invalid.json"
)

// generatedSchema is the schema that the sources were last generated from.
const generatedSchema = "cmd/resource/schema_gen.json"

// RefreshExamples changes the mode of unedited example inputs in files to [codegen.Refreshed]:
// their text on disk is what the schema of the previous "cfn generate", which is in the
// project, generates. in is what files were generated from.
func (p *Project) RefreshExamples(in codegen.Input, files []codegen.File) error {
	if p.Kind != schema.Resource {
		return nil
	}
	old, err := document.ReadFile(p.Path(generatedSchema), maxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // never generated
	}
	if err != nil {
		return fmt.Errorf("read the schema of the previous run: %w", err)
	}
	for _, f := range files {
		if f.Path == generatedSchema && bytes.Equal(f.Data, old) {
			return nil // the examples are made of the same schema
		}
	}
	s, problems := schema.Load(generatedSchema, old, schema.Config{Kind: p.Kind})
	if problems.HasErrors() {
		return nil // edited, or written by another program
	}
	in.Schema, s = s, in.Schema
	before, err := codegen.Generate(in)
	if err != nil {
		return nil //nolint:nilerr // the previous schema cannot be generated from: nothing is known to be unedited
	}
	fillInputs(before, in.Schema)
	fillInputs(files, s)
	made := map[string][]byte{}
	for _, f := range before {
		made[f.Path] = f.Data
	}
	for i, f := range files {
		if path.Dir(f.Path) != examplesDir {
			continue
		}
		data, err := document.ReadHead(p.Path(f.Path), int64(len(made[f.Path])+1))
		if err == nil && bytes.Equal(data, made[f.Path]) {
			files[i].Mode = codegen.Refreshed
		}
	}
	return nil
}

// fillInputs replaces placeholders of the generator that the schema rejects with valid values
// in the example inputs. Values that cannot be generated are not changed.
func fillInputs(files []codegen.File, s *schema.Schema) {
	refused := func(data []byte) bool {
		root, problems := document.ParseJSON("", data, document.Limits{})
		return problems.HasErrors() || len(s.Check(root.Any(), schema.CheckConfig{})) > 0
	}
	for i := range files {
		if files[i].Path != exampleCreate || !refused(files[i].Data) {
			continue
		}
		made := sample.New(s, sample.Config{Seed: 1, Profile: sample.Full})
		create, err := made.Create()
		if err != nil {
			return
		}
		update, err := made.Update(create)
		if err != nil {
			update = create // a type without updates
		}
		for j := range files {
			switch files[j].Path {
			case exampleCreate:
				files[j].Data = encode(create)
			case exampleUpdate:
				files[j].Data = encode(update)
			}
		}
		return
	}
}

// CheckExamples reports the example inputs that the schema does not accept any more. The
// example of an invalid input is left out, and so are values with a {{placeholder}}.
func (p *Project) CheckExamples(s *schema.Schema) (diag.List, error) {
	var problems diag.List
	if p.Kind != schema.Resource || s == nil {
		return nil, nil
	}
	for _, name := range []string{exampleCreate, exampleUpdate} {
		data, err := document.ReadFile(p.Path(name), maxDocument)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read an example input: %w", err)
		}
		stale := diag.Problem{
			ID: "project/example-stale", Severity: diag.Warning,
			Hint: "fix the file, or delete it if you do not use it; cfn generate only updates example inputs that were not edited",
		}
		root, faults := document.ParseJSON(p.Name(name), data, document.Limits{})
		if faults.HasErrors() {
			stale.At, stale.Message = faults[0].At, "the example input is not valid JSON: "+faults[0].Message
			problems.Add(stale)
			continue
		}
		for _, v := range s.Check(s.Recast(root.Any()), schema.CheckConfig{}) {
			value := root.Lookup(v.Pointer)
			stale.At, stale.Pointer = root.At, v.Pointer.String()
			if value != nil {
				if value.Kind == document.String && strings.Contains(value.Text, "{{") {
					continue
				}
				stale.At = value.At
			}
			stale.Message = "the schema does not accept the example input: " + strings.TrimSuffix(v.String(), " ["+v.Keyword+"]")
			problems.Add(stale)
			break // one finding names the file; the rest is likely to follow from it
		}
	}
	return problems, nil
}
