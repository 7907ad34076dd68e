package cli

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/builtin"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

// completeSet is the number of AWS types from which on a set of schemas is taken for all of them: each region has more.
const completeSet = 500

// A schemaSource finds the schemas of the types of templates, in this order: the projects below the working folder,
// --schemas, the registry of --registry, the data folder of cfn serve, and the schemas in this program.
type schemaSource struct {
	app      *app
	ctx      context.Context //nolint:containedctx // of one command
	sets     []*schemaSet
	remote   *submit.Remote           // nil without --registry
	library  func() *simulate.Library // opened at the first use, nil if there is none
	builtin  map[string]string
	projects map[string]*schema.Schema   // nil until they are searched
	modules  map[string]*module.Fragment // of the projects and the registry
	hooks    []string                    // folders of the hooks among the projects
	loaded   map[string]*schema.Schema
	names    []string
	roots    []string // folders in which projects are searched
	closers  []io.Closer
}

// openSchemas opens the sources of the schemas.
func (c *app) openSchemas(ctx context.Context, o *checkOptions) (_ *schemaSource, err error) {
	s := &schemaSource{app: c, ctx: ctx, loaded: map[string]*schema.Schema{}, roots: []string{c.path(".")}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, name := range o.schemas {
		set, err := openSchemaSet(ctx, c.path(name), name, o.region)
		if err != nil {
			return s, err
		}
		s.sets = append(s.sets, set)
	}
	if o.registry {
		if s.remote, err = c.openRemote(ctx, &o.remote); err != nil {
			return s, err
		}
	}
	if s.builtin, err = builtin.Schemas(true); err != nil {
		return s, err
	}
	s.library = sync.OnceValue(s.openLibrary)
	return s, nil
}

func (s *schemaSource) openLibrary() *simulate.Library {
	dir, err := s.app.dataFolder("")
	if err != nil {
		return nil // there is no folder for data
	}
	library, err := simulate.OpenLibrary(s.ctx, dir)
	if err != nil {
		s.app.notef("warning: cannot read the imported schemas in %s: %v\n", s.app.shown(dir), err)
		return nil
	}
	if library != nil {
		s.closers = append(s.closers, library)
	}
	return library
}

func (s *schemaSource) close() {
	for _, set := range s.sets {
		set.close()
	}
	for _, closer := range s.closers {
		_ = closer.Close() // it was only read
	}
}

func (s *schemaSource) source() typecheck.Source {
	return typecheck.Source{Schema: s.schema, Complete: s.complete, Names: s.allNames}
}

func (s *schemaSource) schema(typeName string) (*schema.Schema, error) {
	if known, ok := s.loaded[typeName]; ok {
		return known, nil
	}
	found, err := s.find(typeName)
	if err == nil {
		s.loaded[typeName] = found
	}
	return found, err
}

func (s *schemaSource) find(typeName string) (*schema.Schema, error) {
	if !strings.HasPrefix(typeName, "AWS::") {
		if err := s.searchProjects(); err != nil {
			return nil, err
		}
		if own := s.projects[typeName]; own != nil {
			return own, nil
		}
	}
	text, err := s.text(typeName)
	if err != nil || text == "" {
		return nil, err
	}
	parsed, problems := schema.Load(typeName, []byte(text), schema.Config{Kind: schema.Resource})
	if problem := simulate.Unusable(parsed, problems); problem != nil {
		s.app.notef("warning: the schema of %s cannot be used: %s\n", typeName, problem.Message)
		return nil, nil
	}
	return parsed, nil
}

// text returns the schema of a type that is not one of a project, "" if no source has it.
func (s *schemaSource) text(typeName string) (string, error) {
	for _, set := range s.sets {
		if text, err := set.schema(s.ctx, typeName); err != nil || text != "" {
			return text, err
		}
	}
	if s.remote != nil {
		out, err := s.remote.Describe(s.ctx, &submit.Reference{Name: typeName, Kind: types.RegistryTypeResource}, "")
		var unknown *types.TypeNotFoundException
		switch {
		case err == nil && out.Schema != nil:
			return *out.Schema, nil
		case err != nil && !errors.As(err, &unknown) && submit.Explain(err).Code != "ValidationError": // no type can have such a name
			return "", s.app.serviceError(err)
		}
	}
	if library := s.library(); library != nil {
		if text, err := library.Schema(s.ctx, typeName); err != nil || text != "" {
			return text, err
		}
	}
	if text := s.builtin[typeName]; text != "" {
		return text, nil
	}
	return simulate.Carried(typeName), nil
}

// complete reports whether a type that no source has does not exist.
func (s *schemaSource) complete(typeName string) bool {
	if s.remote != nil {
		return true
	}
	n := 0
	for _, name := range s.allNames() {
		if strings.HasPrefix(name, "AWS::") {
			n++
		}
	}
	return strings.HasPrefix(typeName, "AWS::") && n >= completeSet
}

// allNames lists the types that the sources have, of a registry the private ones.
func (s *schemaSource) allNames() []string {
	if s.names != nil {
		return s.names
	}
	if err := s.searchProjects(); err != nil {
		s.app.notef("warning: not all projects are used: %v\n", err)
	}
	names := append(slices.Collect(maps.Keys(s.projects)), slices.Collect(maps.Keys(s.builtin))...)
	names = append(names, simulate.Infrastructure()...)
	if s.remote != nil {
		names = append(names, s.registered(types.RegistryTypeResource)...)
	}
	for _, set := range s.sets {
		if index, err := set.indexed(s.ctx); err == nil {
			names = append(names, slices.Collect(maps.Keys(index))...)
		}
	}
	if library := s.library(); library != nil {
		if imported, err := library.Names(s.ctx); err == nil {
			names = append(names, imported...)
		}
	}
	slices.Sort(names)
	s.names = slices.Compact(names)
	return s.names
}

// maxRegistered bounds the private types of a registry that are listed for hints and completions.
const maxRegistered = 1000

// registered lists the private and activated types of the registry.
func (s *schemaSource) registered(kind types.RegistryType) []string {
	var names []string
	for t, err := range s.remote.Types(s.ctx, cloudformation.ListTypesInput{Visibility: types.VisibilityPrivate, Type: kind}) {
		if err != nil || len(names) == maxRegistered {
			break
		}
		names = append(names, aws.ToString(t.TypeName))
	}
	return names
}

// The bounds of the search for projects.
const (
	maxProjectLevels  = 4
	maxProjectEntries = 20_000
)

// searchProjects finds the resource types of the projects in the working folder and below, once.
func (s *schemaSource) searchProjects() error {
	if s.projects != nil {
		return nil
	}
	s.projects, s.modules = map[string]*schema.Schema{}, map[string]*module.Fragment{}
	for _, root := range s.roots {
		if err := s.searchFolder(root); err != nil {
			return err
		}
	}
	return nil
}

func (s *schemaSource) searchFolder(root string) error {
	entries := 0
	return filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if stopped := s.ctx.Err(); stopped != nil {
			return stopped
		}
		if err != nil && file != root {
			s.app.notef("warning: projects in %s are not used: %v\n", s.app.shown(file), err)
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if entries++; entries > maxProjectEntries {
			s.app.notef("warning: the working folder has more than %d files; projects in the others are not used\n", maxProjectEntries)
			return filepath.SkipAll
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && rel != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "target" || strings.Count(rel, string(filepath.Separator)) >= maxProjectLevels):
			return filepath.SkipDir
		case !entry.IsDir() && name == project.SettingsFile:
			return s.addProject(filepath.Dir(file))
		}
		return nil
	})
}

func (s *schemaSource) addProject(dir string) error {
	label := s.app.shown(dir)
	p, problems, err := project.Open(dir, label)
	if p == nil {
		s.app.notef("warning: the types of the project %s are not used: %v\n", label, errors.Join(err, problems.Err()))
		return nil //nolint:nilerr // the project is left out
	}
	if p.Kind == schema.Module {
		if f, problems, err := p.Fragment(); err == nil && f != nil && !problems.HasErrors() {
			f.File = p.Name(f.File)
			s.modules[p.TypeName] = f
		}
		return nil
	}
	if p.Kind == schema.Hook {
		s.hooks = append(s.hooks, label)
	}
	if p.Kind != schema.Resource {
		return nil
	}
	config, err := s.app.schemaConfig(s.ctx)
	if err != nil {
		return err
	}
	parsed, problems, err := p.Schema(config)
	if err != nil || parsed == nil || problems.HasErrors() {
		s.app.notef("warning: the schema of %s in %s has errors and is not used; run cfn validate there\n", p.TypeName, label)
		return nil //nolint:nilerr // the project is left out
	}
	if s.projects[p.TypeName] != nil {
		s.app.notef("warning: several projects have the type %s; that of %s is not used\n", p.TypeName, label)
		return nil
	}
	s.projects[p.TypeName] = parsed
	return nil
}

// fragment returns the fragment of a module of the projects, or of the registry of cfn serve; nil if they do not have
// it. AWS does not show fragments.
func (s *schemaSource) fragment(ctx context.Context, typeName string) (*module.Fragment, error) {
	if err := s.searchProjects(); err != nil {
		return nil, err
	}
	if known, ok := s.modules[typeName]; ok || s.remote == nil {
		return known, nil
	}
	file, text, err := s.remote.Module(ctx, typeName)
	if err != nil || text == "" {
		return nil, err
	}
	label := typeName + "!/" + file
	f, problems := module.ParseFragment(label, label, []byte(text))
	if f == nil {
		return nil, problems.Err()
	}
	s.modules[typeName] = f
	return f, nil
}

// fragments are the modules of the projects and of the registry, by type name.
func (s *schemaSource) fragments(ctx context.Context) (map[string]*module.Fragment, error) {
	if err := s.searchProjects(); err != nil {
		return nil, err
	}
	if s.remote != nil && s.remote.Local {
		for _, name := range s.registered(types.RegistryTypeModule) {
			if _, err := s.fragment(ctx, name); err != nil {
				return s.modules, err
			}
		}
	}
	return s.modules, nil
}

// A schemaSet is a folder or an archive of published schemas.
type schemaSet struct {
	shown   string
	files   fs.FS
	archive *zip.ReadCloser
	region  string
	byFile  map[string][]string // paths by the names of files without .json
	index   map[string]string   // paths by the names of types; nil until all files were read
}

func openSchemaSet(ctx context.Context, name, shown, region string) (*schemaSet, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, missingFile(err, shown, "--schemas names a folder, a zip or a file of schemas, such as CloudformationSchema.zip of AWS")
	}
	s := &schemaSet{shown: shown, region: region, byFile: map[string][]string{}}
	root := "."
	switch {
	case info.IsDir():
		s.files = os.DirFS(name)
	case strings.EqualFold(filepath.Ext(name), ".zip"):
		if s.archive, err = zip.OpenReader(name); err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
		s.files = s.archive
	default:
		s.files, root = os.DirFS(filepath.Dir(name)), filepath.Base(name)
	}
	found := 0
	err = fs.WalkDir(s.files, root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case entry.IsDir() || !strings.EqualFold(path.Ext(file), ".json"):
			return nil
		}
		if found++; found > maxImportFiles {
			return fmt.Errorf("more than %d files", maxImportFiles)
		}
		key := strings.ToLower(strings.TrimSuffix(path.Base(file), path.Ext(file)))
		s.byFile[key] = append(s.byFile[key], file)
		return nil
	})
	if err == nil && found == 0 {
		err = errors.New("no .json files")
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return s, nil
}

func (s *schemaSet) close() {
	if s.archive != nil {
		_ = s.archive.Close() // it was only read
	}
}

func (s *schemaSet) read(file string) (text []byte, typeName string, err error) {
	text, err = document.ReadFS(s.files, file, maxImportSchema)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", s.shown, err)
	}
	return text, topText(text, "typeName"), nil
}

// topText returns a text of the object that a document is, without reading all of the document as JSON.
func topText(data []byte, key string) string {
	depth, last, isKey := 0, "", false // the last text of the object
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ':':
			isKey = depth == 1
		case '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(data) {
				return ""
			}
			text := string(data[i+1 : end])
			if depth == 1 && isKey && last == key {
				return text
			}
			last, isKey, i = text, false, end
		}
	}
	return ""
}

// schema returns the schema of a type, "" if the set has none: it is in the file with the name of the type, or in any other.
func (s *schemaSet) schema(ctx context.Context, typeName string) (string, error) {
	for _, file := range s.byFile[schema.Hyphenated(typeName)] {
		if text, name, err := s.read(file); err != nil || name == typeName {
			return string(text), err
		}
	}
	index, err := s.indexed(ctx)
	if err != nil || index[typeName] == "" {
		return "", err
	}
	text, _, err := s.read(index[typeName])
	return string(text), err
}

// maxRegionIndex bounds the index of the types of a region.
const maxRegionIndex = 1 << 20

// regionIndex reads the index that the schemas of cfn-lint have for each region, nil if there is none.
func (s *schemaSet) regionIndex() map[string]string {
	for _, file := range s.byFile[s.region] {
		var names map[string]string
		data, err := document.ReadFS(s.files, file, maxRegionIndex)
		if err != nil || path.Base(path.Dir(file)) != "providers" || json.Unmarshal(data, &names) != nil {
			continue
		}
		index := map[string]string{}
		for name, key := range names {
			if files := s.byFile[key]; len(files) > 0 {
				index[name] = files[0]
			}
		}
		return index
	}
	return nil
}

// indexed finds the files of all types: all files are read, unless there is an index for the region.
func (s *schemaSet) indexed(ctx context.Context) (map[string]string, error) {
	if s.index == nil {
		s.index = s.regionIndex()
	}
	if s.index != nil {
		return s.index, nil
	}
	index, bytes := map[string]string{}, 0
	for _, key := range slices.Sorted(maps.Keys(s.byFile)) {
		file := s.byFile[key][0]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, name, err := s.read(file)
		if err != nil {
			return nil, err
		}
		if bytes += len(text); bytes > maxImportBytes {
			return nil, fmt.Errorf("%s: more than %d MiB of schemas", s.shown, maxImportBytes>>20)
		}
		if name != "" && index[name] == "" {
			index[name] = file
		}
	}
	s.index = index
	return index, nil
}
