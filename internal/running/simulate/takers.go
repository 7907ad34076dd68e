package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// takers are the patterns of the properties that take the attributes of other resources, by the name of the property:
// an identifier has to match them, too. A property that names what it takes (relationshipRef) is under that type and
// property, "AWS::EC2::Subnet/SubnetId".
type takers map[string][]string

// maxPatterns bounds the patterns of one name.
const maxPatterns = 8

// A reading is the takers of a service, and the hashes of the schemas that they were read from.
type reading struct {
	hashes []string
	takers takers
}

// takersOf are those of the types of one service. Their schemas are read again only if one of them was imported since, be it by
// another node.
func (s *Shelf) takersOf(ctx context.Context, typeName string) (takers, error) {
	end := strings.LastIndex(typeName, "::")
	if end < 0 {
		return nil, nil
	}
	service := typeName[:end+len("::")]
	var rows []publishedRow
	const ofService = "WHERE type_name >= ? AND type_name < ? ORDER BY type_name"
	var hashes []string
	if err := store.Query(ctx, s.config.Store.Read(), &hashes, "SELECT hash FROM published_types "+ofService, service, service+"\x7f"); err != nil {
		return nil, fmt.Errorf("read the published types of %s: %w", strings.TrimSuffix(service, "::"), err)
	}
	s.mu.Lock()
	last := s.takers[service]
	s.mu.Unlock()
	if slices.Equal(last.hashes, hashes) {
		return last.takers, nil
	}
	if err := store.List(ctx, s.config.Store.Read(), &rows, ofService, service, service+"\x7f"); err != nil {
		return nil, fmt.Errorf("read the published types of %s: %w", strings.TrimSuffix(service, "::"), err)
	}
	now := reading{takers: takers{}}
	for i := range rows {
		now.hashes = append(now.hashes, rows[i].Hash)
		now.takers.read([]byte(rows[i].Schema))
	}
	s.mu.Lock()
	s.takers[service] = now
	s.mu.Unlock()
	return now.takers, nil
}

// A taker is what is read of the schema of a property.
type taker struct {
	Ref          string   `json:"$ref"`
	Pattern      string   `json:"pattern"`
	Items        *taker   `json:"items"`
	AnyOf        []*taker `json:"anyOf"`
	Relationship struct {
		TypeName     string `json:"typeName"`
		PropertyPath string `json:"propertyPath"`
	} `json:"relationshipRef"`
}

func (t takers) read(text []byte) {
	var of struct {
		Properties  map[string]json.RawMessage `json:"properties"`
		Definitions map[string]json.RawMessage `json:"definitions"`
		ReadOnly    []string                   `json:"readOnlyProperties"`
	}
	if json.Unmarshal(text, &of) != nil {
		return
	}
	parse := func(raw json.RawMessage) *taker {
		var one taker
		if json.Unmarshal(raw, &one) != nil { // such as a list of items: no single taker
			return nil
		}
		return &one
	}
	resolve := func(one *taker) *taker {
		if one == nil || one.Ref == "" {
			return one
		}
		return parse(of.Definitions[strings.TrimPrefix(one.Ref, "#/definitions/")])
	}
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		raw := of.Properties[name]
		if slices.Contains(of.ReadOnly, "/properties/"+name) {
			continue
		}
		one := resolve(parse(raw))
		if one != nil && one.Items != nil {
			name, one = strings.TrimSuffix(name, "s"), resolve(one.Items)
		}
		if one == nil {
			continue
		}
		t.add(name, one.Pattern)
		for _, branch := range append(one.AnyOf, one) {
			if branch = resolve(branch); branch != nil && branch.Relationship.TypeName != "" {
				t.add(branch.Relationship.TypeName+strings.TrimPrefix(branch.Relationship.PropertyPath, "/properties"), branch.Pattern)
			}
		}
	}
}

func (t takers) add(name, pattern string) {
	if pattern != "" && len(t[name]) < maxPatterns && !slices.Contains(t[name], pattern) {
		t[name] = append(t[name], pattern)
	}
}

// patterns are those that a property of a resource has to match: those of properties of its name, with the name of the
// resource before a name that every resource may have.
func (t takers) patterns(typeName, property string) []string {
	name := property
	switch property {
	case "Id", "Arn":
		name = typeName[strings.LastIndex(typeName, ":")+1:] + property
	case "Name", "Type", "Version", "Status", "Description":
		return t[typeName+"/"+property]
	}
	return slices.Concat(t[name], t[typeName+"/"+property])
}

// unmatched counts the patterns that a text does not match.
func unmatched(patterns []string, text string) int {
	count := 0
	for _, pattern := range patterns {
		re, err := schema.CompilePattern(pattern)
		if err != nil {
			continue
		}
		if found, err := re.MatchString(text); err == nil && !found {
			count++
		}
	}
	return count
}
