package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/bundle"
)

func newModuleLock(c *app) *cobra.Command {
	var opts moduleOptions
	cmd := &cobra.Command{
		Use:   "lock TEMPLATE",
		Short: "Pin the modules of a template to the versions that are there now",
		Long: `Pin the modules of a template to the versions that are there now.

Templates cannot name the version of a module. The lock file TEMPLATE.modules.lock has the path and the
SHA-256 of the fragment of each module that the template uses, and of the modules in these. From then
on "cfn module expand" uses exactly these fragments and fails if one has changed.

If a folder has several versions of a module, choose one with --pin TYPE=PATH. PATH is the project or
package of the version as the error message shows it.

Exit code: 0 if the lock file was written, 1 with errors, 2 for a usage error.`,
		Example: `  cfn module lock stack.yaml --modules ../modules
  cfn module lock stack.yaml --pin Acme::S3::Bucket::MODULE=modules/bucket-2.zip`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := templateArgument(cmd, args)
			if err != nil {
				return err
			}
			return c.moduleLock(cmd.Context(), cmd, file, opts)
		},
	}
	c.moduleFlags(cmd, &opts)
	cmd.Flags().StringArrayVar(&opts.pins, "pin", nil, "use the version of a module at a path: `TYPE=PATH` (may be repeated)")
	annotate(cmd.Flags(), addition, "pin")
	return cmd
}

func newModuleOutdated(c *app) *cobra.Command {
	var opts moduleOptions
	cmd := &cobra.Command{
		Use:   "outdated TEMPLATE",
		Short: "List the modules that differ from the lock file of a template",
		Long: `List the modules of a template with their state against its lock file:

  current     the locked version is the only one
  others      the locked version is there, and other versions are, too
  changed     the locked version is no longer there
  missing     no version of the module is there
  not locked  the template uses the module, and the lock file does not have it
  not used    the lock file has the module, and the template does not use it

Exit code: 0 if all modules are current, 3 if not, 1 with errors, 2 for a usage error.`,
		Example:     `  cfn module outdated stack.yaml --modules ../modules`,
		Args:        cobra.ArbitraryArgs,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := templateArgument(cmd, args)
			if err != nil {
				return err
			}
			return c.moduleOutdated(cmd.Context(), file, opts)
		},
	}
	c.moduleFlags(cmd, &opts)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A moduleLock is the lock file of a template.
type moduleLock struct {
	Version int            `json:"version"`
	Modules []lockedModule `json:"modules"` // sorted by type
}

type lockedModule struct {
	Type   string `json:"type"`
	Path   string `json:"path"` // from the folder of the lock file, with slashes
	SHA256 string `json:"sha256"`
}

const (
	lockSuffix  = ".modules.lock"
	lockVersion = 1
	maxLock     = 1 << 20
)

func (l *moduleLock) find(typeName string) *lockedModule {
	if l == nil {
		return nil
	}
	i := slices.IndexFunc(l.Modules, func(m lockedModule) bool { return m.Type == typeName })
	if i < 0 {
		return nil
	}
	return &l.Modules[i]
}

// readLock reads the lock file of a template; it is nil if there is none.
func (c *app) readLock(file string) (*moduleLock, error) {
	data, err := document.ReadFile(c.path(file+lockSuffix), maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	lock := &moduleLock{}
	if err := json.Unmarshal(data, lock); err != nil || lock.Version != lockVersion {
		return nil, withHint(fmt.Errorf("%s is not a lock file of this version of cfn", file+lockSuffix), "run cfn module lock %s to write it again", shellQuote(file))
	}
	return lock, nil
}

// A localModule is one version of a module in a folder.
type localModule struct {
	typeName string
	path     string // of the project or package, as shown
	fragment *module.Fragment
	hash     string // of the fragment
}

// localModules are the modules in folders. They implement [module.Fragments].
type localModules struct {
	app    *app
	file   string // the template
	found  map[string][]*localModule
	lock   *moduleLock       // nil uses what is there
	pins   map[string]string // paths by type
	loose  bool              // the lock is a preference
	used   map[string]*localModule
	others func(ctx context.Context, typeName string) (*module.Fragment, error) // of modules that are not in the folders, nil for none
	labels []string                                                             // the folders
}

// The bounds of the search for modules.
const (
	maxModuleFolders = 6      // levels
	maxModuleEntries = 50_000 // files and folders
)

// findModules looks for the modules in the folders of the options.
func (c *app) findModules(ctx context.Context, file string, opts moduleOptions) (*localModules, error) {
	m := &localModules{app: c, file: file, found: map[string][]*localModule{}, used: map[string]*localModule{}, labels: opts.folders}
	if len(opts.folders) == 0 {
		m.labels = []string{filepath.Join(filepath.Dir(file), "modules")}
	}
	for _, folder := range m.labels {
		if err := m.scan(ctx, folder); err != nil {
			if len(opts.folders) == 0 && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return nil, missingFile(err, folder, "--modules names a folder with module projects or packages")
		}
	}
	if opts.ignoreLock {
		return m, nil
	}
	var err error
	m.lock, err = c.readLock(file)
	return m, err
}

// scan adds the modules in a folder and below.
func (m *localModules) scan(ctx context.Context, folder string) error {
	root := m.app.path(folder)
	entries := 0
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if entries++; entries > maxModuleEntries {
			return fmt.Errorf("%s has more than %d files", folder, maxModuleEntries)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || strings.Count(rel, string(filepath.Separator)) >= maxModuleFolders):
			return filepath.SkipDir
		case !entry.IsDir() && name == project.SettingsFile:
			return m.addProject(filepath.Dir(path))
		case entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(name), ".zip"):
			return m.addPackage(ctx, path)
		}
		return nil
	})
}

func (m *localModules) addProject(dir string) error {
	label := m.app.shown(dir)
	p, problems, err := project.Open(dir, label)
	if err != nil || p == nil {
		return errors.Join(err, problems.Err())
	}
	if p.Kind != schema.Module {
		return nil
	}
	fragment, problems, err := p.Fragment()
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return err
	}
	fragment.File = p.Name(fragment.File)
	m.add(&localModule{typeName: p.TypeName, path: label, fragment: fragment})
	return nil
}

// addPackage adds the module in a package; other archives are left out.
func (m *localModules) addPackage(ctx context.Context, path string) error {
	data, err := document.ReadFile(path, maxPackage)
	if err != nil {
		return err
	}
	label := m.app.shown(path)
	b, problems, err := bundle.Read(ctx, bytes.NewReader(data), int64(len(data)), bundle.Config{Label: label})
	if err != nil || b == nil || b.Kind != schema.Module {
		return err
	}
	if err := problems.Err(); err != nil {
		return err
	}
	b.Fragment.File = label + "!/" + b.Fragment.File
	m.add(&localModule{typeName: b.TypeName, path: label, fragment: b.Fragment})
	return nil
}

func (m *localModules) add(found *localModule) {
	sum := sha256.Sum256(found.fragment.Data)
	found.hash = hex.EncodeToString(sum[:])
	all := m.found[found.typeName]
	if !slices.ContainsFunc(all, func(other *localModule) bool { return other.path == found.path }) {
		m.found[found.typeName] = append(all, found)
	}
}

// Fragment implements [module.Fragments].
func (m *localModules) Fragment(ctx context.Context, typeName string) (*module.Fragment, error) {
	chosen, err := m.choose(typeName)
	switch {
	case err == nil && chosen == nil && m.others != nil:
		return m.others(ctx, typeName)
	case err != nil || chosen == nil:
		return nil, err
	}
	m.used[typeName] = chosen
	return chosen.fragment, nil
}

// choose returns the version of a module to use, nil if there is none.
func (m *localModules) choose(typeName string) (*localModule, error) {
	all := m.found[typeName]
	again := "cfn module lock " + shellQuote(m.file)
	if path, ok := m.pins[typeName]; ok {
		i := slices.IndexFunc(all, func(l *localModule) bool { return filepath.Clean(l.path) == filepath.Clean(path) })
		if i < 0 {
			return nil, withHint(fmt.Errorf("module %s is not in %s", typeName, path), "it is in: %s", orDash(pathsOf(all)))
		}
		return all[i], nil
	}
	if locked := m.lock.find(typeName); locked != nil {
		i := slices.IndexFunc(all, func(l *localModule) bool { return l.hash == locked.SHA256 })
		switch {
		case i >= 0:
			return all[i], nil
		case !m.loose && len(all) > 0:
			return nil, withHint(fmt.Errorf("module %s: the fragment in %s is not the locked one of %s (SHA-256 %s)", typeName, pathsOf(all), locked.Path, locked.SHA256[:min(12, len(locked.SHA256))]),
				"restore it, or run %s to use the new version", again)
		}
	} else if m.lock != nil && !m.loose && len(all) > 0 {
		return nil, withHint(fmt.Errorf("module %s is not in the lock file %s", typeName, m.file+lockSuffix), "run %s to add it", again)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if !m.loose && slices.ContainsFunc(all, func(l *localModule) bool { return l.hash != all[0].hash }) {
		return nil, withHint(fmt.Errorf("module %s has several versions: %s", typeName, pathsOf(all)), "choose one: %s --pin %s=%s", again, typeName, shellQuote(all[0].path))
	}
	return all[0], nil
}

func pathsOf(all []*localModule) string {
	paths := make([]string, len(all))
	for i, l := range all {
		paths[i] = l.path
	}
	return strings.Join(paths, ", ")
}

func (c *app) moduleLock(ctx context.Context, cmd *cobra.Command, file string, opts moduleOptions) error {
	opts.ignoreLock = true
	pins := map[string]string{}
	for _, pin := range opts.pins {
		typeName, path, found := strings.Cut(pin, "=")
		if !found || !template.IsModuleType(typeName) || path == "" {
			return &usageError{command: cmd, message: fmt.Sprintf("option --pin: expected TYPE=PATH but got %q", pin)}
		}
		pins[typeName] = path
	}
	m, err := c.usedModules(ctx, file, opts, pins)
	if err != nil {
		return err
	}
	lock := moduleLock{Version: lockVersion, Modules: []lockedModule{}}
	for _, typeName := range slices.Sorted(maps.Keys(m.used)) {
		used := m.used[typeName]
		path, err := filepath.Rel(filepath.Dir(c.path(file)), c.path(used.path))
		if err != nil {
			path = used.path
		}
		lock.Modules = append(lock.Modules, lockedModule{typeName, filepath.ToSlash(path), used.hash})
	}
	data, err := json.MarshalIndent(lock, "", "  ")
	if err != nil {
		return err
	}
	target := c.path(file + lockSuffix)
	if err := files.Write(filepath.Dir(target), filepath.Base(target), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	c.printf("%s locked in %s.\n", words.Count(len(lock.Modules), "module"), file+lockSuffix)
	return nil
}

// usedModules finds the modules that a template uses. The rest of the template is not checked.
func (c *app) usedModules(ctx context.Context, file string, opts moduleOptions, pins map[string]string) (*localModules, error) {
	data, err := document.ReadHead(c.path(file), template.MaxBytes+1)
	if err != nil {
		return nil, missingFile(err, file, hintTemplate)
	}
	t, err := template.Parse(file, data, template.ParseOptions{})
	if err != nil {
		return nil, refusedHere(err)
	}
	m, err := c.findModules(ctx, file, opts)
	if err != nil {
		return nil, err
	}
	m.pins, m.loose = pins, pins == nil
	for _, typeName := range slices.Sorted(maps.Keys(pins)) {
		if _, err := m.choose(typeName); err != nil {
			return nil, err
		}
	}
	return m, m.use(ctx, t.Modules())
}

// use looks up modules and the modules in them.
func (m *localModules) use(ctx context.Context, types []string) error {
	for len(types) > 0 {
		typeName := types[0]
		types = types[1:]
		if m.used[typeName] != nil {
			continue
		}
		f, err := m.Fragment(ctx, typeName)
		if err != nil {
			return err
		}
		if f == nil {
			if m.loose {
				continue
			}
			return withHint(fmt.Errorf("module %s not found in %s", typeName, strings.Join(m.labels, ", ")), "%s", hintModules)
		}
		for _, r := range f.Root.Get("Resources").Distinct() {
			if module.IsModule(r.Value) {
				types = append(types, r.Value.Get("Type").Text)
			}
		}
	}
	return nil
}

const hintModules = "--modules DIR names a folder with its project or package"

// A moduleState compares a module with the lock file.
type moduleState struct {
	Type   string `json:"type"`
	State  string `json:"state"`
	Locked string `json:"locked,omitempty"` // path, as locked
	Found  string `json:"found,omitempty"`  // paths of the versions that are there
}

func (c *app) moduleOutdated(ctx context.Context, file string, opts moduleOptions) error {
	m, err := c.usedModules(ctx, file, opts, nil)
	if err != nil {
		return err
	}
	if m.lock == nil {
		return withHint(fmt.Errorf("%s does not exist", file+lockSuffix), "run cfn module lock %s to write it", shellQuote(file))
	}
	states := m.states()
	if c.format == "json" {
		err = c.printJSON(states)
	} else {
		err = c.moduleTable(states)
	}
	if err == nil && slices.ContainsFunc(states, func(s moduleState) bool { return s.State != "current" }) {
		err = &exitError{exitPending, ""}
	}
	return err
}

// states are those of the locked modules and of the used ones, sorted by type.
func (m *localModules) states() []moduleState {
	names := map[string]bool{}
	for _, l := range m.lock.Modules {
		names[l.Type] = true
	}
	for name := range m.used {
		names[name] = true
	}
	out := []moduleState{}
	for _, name := range sortedNames(names) {
		all := m.found[name]
		s := moduleState{Type: name, State: "current", Found: pathsOf(all)}
		locked := m.lock.find(name)
		same := 0
		if locked != nil {
			s.Locked = locked.Path
			for _, l := range all {
				if l.hash == locked.SHA256 {
					same++
				}
			}
		}
		switch {
		case locked == nil:
			s.State = "not locked"
		case len(all) == 0:
			s.State = "missing"
		case m.used[name] == nil:
			s.State = "not used"
		case same == 0:
			s.State = "changed"
		case same < len(all):
			s.State = "others"
		}
		out = append(out, s)
	}
	return out
}
