package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/proving/sample"
)

// The example inputs of a resource type.
const (
	examplesDir   = "example_inputs"
	exampleCreate = examplesDir + "/inputs_1_create.json"
	exampleUpdate = examplesDir + "/inputs_1_update.json"
	exampleWrong  = examplesDir + "/inputs_1_invalid.json"
)

// record has the checksums of the files of mode [codegen.Refreshed] as they were generated: those that still match were
// not edited.
const record = examplesDir + "/.generated.json"

// Refresh completes the example inputs in files, which the schema s generates, and adds the record of the files of mode
// [codegen.Refreshed]. The mode of those that the author has edited or deleted since the previous "cfn generate" becomes
// [codegen.Once]. edited are the handlers among them for which the generated text has changed.
func (p *Project) Refresh(s *schema.Schema, files []codegen.File) (refreshed []codegen.File, edited []string, err error) {
	if p.Kind != schema.Resource {
		return files, nil, nil
	}
	fillInputs(files, s)
	text, err := document.ReadFile(p.Path(record), maxDocument)
	mode := codegen.Refreshed
	if errors.Is(err, fs.ErrNotExist) {
		mode = codegen.Once // of init
	} else if err != nil {
		return nil, nil, fmt.Errorf("read the checksums of the generated files: %w", err)
	}
	var written map[string]string // nil: every file counts as edited
	_ = json.Unmarshal(text, &written)
	sums := object{{"$comment", "checksums of the example inputs and of generated handlers as cfn generate wrote them: it updates those that still match"}}
	for i, f := range files {
		if f.Mode != codegen.Refreshed {
			continue
		}
		name, example := strings.CutPrefix(f.Path, examplesDir+"/")
		sums = append(sums, pair{name, checksum(f.Data)})
		before, known := written[name]
		data, err := document.ReadFile(p.Path(f.Path), maxDocument)
		switch {
		case err == nil && checksum(data) == before:
		case errors.Is(err, fs.ErrNotExist) && written != nil && !known: // new
		default:
			files[i].Mode = codegen.Once
			if err == nil && !example && known && before != checksum(f.Data) {
				edited = append(edited, f.Path)
			}
		}
	}
	if len(sums) == 1 { // a language without example inputs
		return files, nil, nil
	}
	return append(files, codegen.File{Path: record, Data: encode(sums), Mode: mode}), edited, nil
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
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
			Hint: "run cfn generate, which updates example inputs that nobody edited; fix others, or delete them",
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
