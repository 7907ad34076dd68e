package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A Registry is the schemas in some folders, as the public registry passes them out: one
// file for each, such as aws-ec2-vpc.json. References find them without a network, by the
// name of the file, the $id, or the type: aws-ec2-vpc.json is AWS::EC2::VPC, whatever the
// file is called. A file that has an $id is only found by URLs that are that one.
//
// Several goroutines may use a Registry. A nil Registry is empty.
type Registry struct {
	limits document.Limits
	files  map[string]string // by name, the path
	paths  []string          // in the order of the folders and of the names

	mu      sync.Mutex
	parsed  map[string]*registered // by path
	indexed bool
	ids     map[string]string // by $id without its fragment, the path
	types   map[string]string // by the name that a file of the type has
}

// A registered document is one that was read, or could not be.
type registered struct {
	root *document.Value
	id   string
	err  error
}

// maxRegistry bounds how many files of one folder are listed; the public registry has some
// 1,600 types.
const maxRegistry = 1 << 15

// OpenRegistry lists the files in folders that end in .json, .yaml or .yml; it ignores
// subfolders. Of files that have the same name in several folders the first one counts. Files
// are read when a reference needs them. The error names the folder that cannot be read, has no
// such files or too many.
func OpenRegistry(limits document.Limits, folders ...string) (*Registry, error) {
	r := &Registry{
		limits: limits, files: map[string]string{}, parsed: map[string]*registered{},
		ids: map[string]string{}, types: map[string]string{},
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			var failed *fs.PathError
			if errors.As(err, &failed) {
				err = failed.Err
			}
			return nil, fmt.Errorf("open the folder of schemas %s: %w", folder, err)
		}
		found := 0
		for _, entry := range entries {
			name := entry.Name()
			if entry.IsDir() || !slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(name))) {
				continue
			}
			if found++; found > maxRegistry {
				return nil, fmt.Errorf("open the folder of schemas %s: it has more than %d files", folder, maxRegistry)
			}
			if r.files[name] == "" {
				r.files[name] = filepath.Join(folder, name)
				r.paths = append(r.paths, r.files[name])
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("open the folder of schemas %s: it has no files .json, .yaml or .yml", folder)
		}
	}
	return r, nil
}

// find returns the document that a URL names, nil if it does not exist. The error means that
// it exists and cannot be read.
func (r *Registry) find(u *url.URL) (*document.Value, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	location, name := u.String(), path.Base(u.Path)
	if file := r.files[name]; file != "" {
		if doc := r.read(file); doc.id == "" || doc.id == location || !u.IsAbs() {
			return doc.root, doc.err
		}
	}
	r.index()
	if file := r.ids[location]; file != "" {
		return r.read(file).root, nil
	}
	if file := r.types[strings.ToLower(name)]; file != "" {
		if doc := r.read(file); doc.id == "" || !u.IsAbs() {
			return doc.root, nil
		}
	}
	return nil, nil
}

// index reads every file for its $id and its type. Those that cannot be read have neither.
func (r *Registry) index() {
	if r.indexed {
		return
	}
	r.indexed = true
	for _, file := range r.paths {
		known := r.parsed[file]
		doc := r.read(file)
		if known == nil {
			delete(r.parsed, file) // most of them are never used
		}
		if doc.root == nil {
			continue
		}
		if doc.id != "" && r.ids[doc.id] == "" {
			r.ids[doc.id] = file
		}
		name := Hyphenated(doc.root.Get("typeName").Str()) + ".json"
		if r.types[name] == "" {
			r.types[name] = file
		}
	}
}

func (r *Registry) read(file string) *registered {
	if doc := r.parsed[file]; doc != nil {
		return doc
	}
	doc := &registered{}
	r.parsed[file] = doc
	data, err := readBeside(filepath.Dir(file), url.PathEscape(filepath.Base(file)), r.limits)
	if err == nil {
		doc.root, err = parseForeign(file, data, r.limits)
	}
	if err != nil { // without the folder: messages are cut where they get long
		doc.err = errors.New(strings.TrimPrefix(err.Error(), filepath.Dir(file)+string(filepath.Separator)))
		return doc
	}
	doc.id, _, _ = strings.Cut(doc.root.Get("$id").Str(), "#")
	return doc
}

// Hyphenated is a type's name as files, stacks, keys and log groups have it:
// "Initech::TPS::Report" is "initech-tps-report".
func Hyphenated(typeName string) string {
	return strings.ToLower(Dashed(typeName))
}

// Dashed is a type's name as ARNs, functions and roles have it: "Initech::TPS::Report" is
// "Initech-TPS-Report".
func Dashed(typeName string) string { return strings.ReplaceAll(typeName, "::", "-") }
