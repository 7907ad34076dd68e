package cloudcontrol

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// parse reads JSON. member is what the text is called in messages.
func parse(member, text string) (any, error) {
	value, problems := document.ParseJSON(member, []byte(text), document.Limits{})
	if len(problems) > 0 {
		start := problems[0].At.Start
		return nil, invalid("%s is not valid JSON: line %d, column %d: %s", member, start.Line, start.Column, problems[0].Message)
	}
	plain := value.Any()
	if at, found := store.FindUnstorable(plain); found {
		return nil, invalid("%s contains the character U+0000 at %s", member, cmp.Or(at, "/"))
	}
	return plain, nil
}

// object reads a JSON object.
func object(member, text string) (map[string]any, error) {
	value, err := parse(member, text)
	if err != nil {
		return nil, err
	}
	out, ok := value.(map[string]any)
	if !ok {
		return nil, invalid("%s must be a JSON object", member)
	}
	return out, nil
}

// validate validates a model against the schema of its type.
func validate(s *schema.Schema, model map[string]any) error {
	var faults []string
	for _, v := range s.Check(model, schema.CheckConfig{}) {
		if v.Keyword != "" {
			faults = append(faults, v.ServiceText())
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return invalid("Model validation failed (%s)", strings.Join(faults, "\n"))
}

// patched applies a JSON patch (RFC 6902) to a model.
func patched(model map[string]any, patch string) (map[string]any, error) {
	if _, err := parse("PatchDocument", patch); err != nil {
		return nil, err
	}
	operations, err := jsonpatch.DecodePatch([]byte(patch))
	if err != nil {
		return nil, invalid("PatchDocument must be a JSON array of patch operations (RFC 6902), each with an op, a path and what the op needs")
	}
	before, err := json.Marshal(model)
	if err != nil {
		return nil, err
	}
	for _, o := range operations {
		if path, empty := emptyName(o); empty {
			return nil, noSuchPath(o, path)
		}
	}
	options := &jsonpatch.ApplyOptions{AccumulatedCopySizeLimit: maxProperties}
	after, err := operations.ApplyWithOptions(before, options)
	switch {
	case errors.Is(err, jsonpatch.ErrTestFailed):
		return nil, invalid("[TEST Operation] value mismatch")
	case errors.Is(err, jsonpatch.ErrMissing), errors.Is(err, jsonpatch.ErrInvalidIndex):
		failed := operations[sort.Search(len(operations)-1, func(i int) bool {
			_, err := operations[:i+1].ApplyWithOptions(before, options)
			return err != nil
		})]
		path, _ := failed.Path()
		if from, fromErr := failed.From(); fromErr == nil && !found(before, from) {
			path = from
		}
		return nil, noSuchPath(failed, path)
	case err != nil:
		return nil, invalid("Invalid patch update: a value of the resource cannot be changed as the patch asks")
	case len(after) > maxProperties:
		return nil, invalid("Invalid patch update: the model would have more than %d bytes", maxProperties)
	}
	return object("The patched model", string(after))
}

// noSuchPath refuses an operation of a patch, in the words of the service.
func noSuchPath(o jsonpatch.Operation, path string) error {
	return invalid("[%s Operation] noSuchPath in source, path provided : /%s", strings.ToUpper(o.Kind()), path)
}

// found reports whether a document has a value at a path.
func found(document []byte, path string) bool {
	reads := jsonpatch.Patch{{"op": raw("copy"), "from": raw(path), "path": raw(path)}}
	_, err := reads.Apply(document)
	return err == nil
}

func raw(text string) *json.RawMessage {
	out, _ := json.Marshal(text) // of text, it does not fail
	return (*json.RawMessage)(&out)
}

// emptyName returns the path of an operation that has an empty name in it. No property is called so, and the
// library takes it for the object around.
func emptyName(o jsonpatch.Operation) (string, bool) {
	for _, member := range []func() (string, error){o.Path, o.From} {
		if path, err := member(); err == nil && path != "" && strings.Contains(path+"/", "//") {
			return path, true
		}
	}
	return "", false
}

// maxProperties is the most bytes that a model may have.
const maxProperties = 262144

// changed lists those of the paths whose values differ between two models, as written.
func changed(paths []schema.Path, before, after map[string]any) []string {
	var out []string
	for _, path := range paths {
		if !slices.Equal(values(before, path), values(after, path)) {
			out = append(out, path.Text)
		}
	}
	return out
}

// values are what a path has in a model, each with its place, as JSON.
func values(model map[string]any, path schema.Path) []string {
	var out []string
	for _, at := range schema.Present(model, []schema.Path{path}) {
		value, _ := at.Find(model)
		if encoded, err := json.Marshal(value); err == nil {
			out = append(out, at.String()+"="+string(encoded))
		}
	}
	return out
}

// An identity is what a request calls a resource.
type identity struct {
	primary string         // the values of the primary identifier joined with "|", "" if the request has another one
	model   map[string]any // the properties of the identifier
}

// identify reads an identifier: the values of the primary identifier joined with "|", or a
// JSON object with the properties of the primary or an additional identifier, and no others.
func identify(s *schema.Schema, identifier string) (identity, error) {
	if len(identifier) > store.MaxKey {
		return identity{}, invalid("Identifier has %d bytes; at most %d are allowed", len(identifier), store.MaxKey)
	}
	paths := s.PrimaryIdentifier
	if strings.HasPrefix(strings.TrimSpace(identifier), "{") {
		model, err := object("Identifier", identifier)
		if err == nil {
			if joined := operation.IdentifierOf(s, model); joined != "" && len(model) <= len(paths) {
				return identity{joined, operation.WithIdentifier(s, nil, joined)}, nil
			}
			for _, additional := range s.AdditionalIdentifiers {
				if _, known := schema.Identifier(model, additional); known && len(model) <= len(additional) {
					return identity{model: model}, nil
				}
			}
		}
	} else if len(paths) == 1 || strings.Count(identifier, "|") == len(paths)-1 {
		return identity{identifier, operation.WithIdentifier(s, nil, identifier)}, nil
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = path.Text
	}
	return identity{}, invalid("Identifier %s is not valid for identifier [%s]", identifier, strings.Join(names, ", "))
}

// writable is a model without its read-only properties.
func writable(s *schema.Schema, model map[string]any) map[string]any {
	out, _ := schema.Without(model, s.ReadOnly).(map[string]any)
	return out
}
