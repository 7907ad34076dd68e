package project

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// Bounds of what FindTargets reads.
const (
	maxSchemaFiles = 20_000
	maxSchemaBytes = 512 << 20
)

var typeNameMember = lazyregexp.New(`"typeName"\s*:\s*"([A-Za-z0-9:]{1,204})"`)

// typeNameOf is the type of a schema if it is one of those that are wanted, "" otherwise. Schemas have
// other members of the same name: those of a relationshipRef.
func typeNameOf(text []byte, wanted map[string][]byte) string {
	for _, member := range typeNameMember.FindAllSubmatch(text, -1) {
		if _, ok := wanted[string(member[1])]; !ok {
			continue
		}
		var top struct {
			TypeName string `json:"typeName"`
		}
		if json.Unmarshal(text, &top) != nil {
			return ""
		}
		return top.TypeName
	}
	return ""
}

// FindTargets looks in a folder of published schemas, such as that of an installed cfn-lint, for
// resource types by name, and returns a file for [TargetsDir] for each that it finds; the
// author keeps or replaces them. Of several schemas of one type it takes the longest: those
// folders contain a variant for each region. A schema with errors is not taken; the problems
// contain the reasons.
//
// The error is ctx's, that of the file system, or of a folder that is too large.
func FindTargets(ctx context.Context, dir string, names []string) ([]codegen.File, diag.List, error) {
	texts := map[string][]byte{}
	for _, name := range names {
		texts[name] = nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("look for schemas of targets: %w", err)
	}
	defer func() { _ = root.Close() }() // only read
	count, total := 0, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !entry.Type().IsRegular() || path.Ext(name) != ".json":
			return nil
		}
		text, err := document.ReadFS(root.FS(), name, maxDocument)
		var large *document.TooLargeError
		if errors.As(err, &large) {
			return nil
		} else if err != nil {
			return err
		}
		if count, total = count+1, total+len(text); count > maxSchemaFiles || total > maxSchemaBytes {
			return fmt.Errorf("%s contains more than %d files or %d MiB", dir, maxSchemaFiles, maxSchemaBytes>>20)
		}
		typeName := typeNameOf(text, texts)
		if longest, wanted := texts[typeName]; wanted && len(longest) < len(text) {
			texts[typeName] = text
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look for schemas of targets: %w", err)
	}
	var found []codegen.File
	var problems diag.List
	for _, name := range names {
		if texts[name] == nil {
			continue
		}
		file := TargetsDir + "/" + schema.Hyphenated(name) + ".json"
		s, faults := loadTarget(file, texts[name])
		if problems = append(problems, faults...); s != nil && s.TypeName.Value == name {
			found = append(found, codegen.File{Path: file, Data: encode(s.Root), Mode: codegen.Once})
		}
	}
	return found, problems, nil
}
