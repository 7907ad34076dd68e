package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// nestedModules are a version of a module and the modules in it, which are looked for when they are needed.
type nestedModules struct {
	app      *app
	typeName string
	fragment *module.Fragment
	folders  []string // of the others
	others   *localModules
}

// nestedModules are those of both versions: of the project, and of the same folders in the revision of the old one. A package has no
// other modules, so that those of the project are in both.
func (c *app) nestedModules(folders []string, p *project.Project, old *oldVersion, fragment *module.Fragment) (before, after *nestedModules) {
	if len(folders) == 0 {
		folders = []string{filepath.Dir(c.projectDir())}
	}
	after = &nestedModules{app: c, typeName: p.TypeName, fragment: fragment, folders: folders}
	before = &nestedModules{app: c, typeName: p.TypeName, fragment: old.fragment, folders: folders}
	if old.tree == nil {
		return before, after
	}
	before.app, before.folders = c.in(old.tree.dir), nil // messages name files as the repository does
	for _, folder := range folders {
		at, err := filepath.Rel(c.projectDir(), c.path(folder))
		if at = filepath.Join(old.tree.project, at); err != nil || !below(old.tree.dir, at) {
			at = old.tree.dir // what is above the repository is not in the revision
		}
		before.folders = append(before.folders, at)
	}
	return before, after
}

// below reports whether a path is a folder or in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Fragment implements [module.Fragments].
func (n *nestedModules) Fragment(ctx context.Context, typeName string) (*module.Fragment, error) {
	if typeName == n.typeName {
		return n.fragment, nil
	}
	if n.others == nil {
		others, err := n.app.findModules(ctx, "", moduleOptions{folders: n.folders, ignoreLock: true})
		if err != nil {
			return nil, withHint(fmt.Errorf("find the modules in %s: %w", n.typeName, err), "pass --modules DIR with the folder of their projects or packages")
		}
		n.others = others
	}
	found := n.others.found[typeName]
	if projects := slices.DeleteFunc(slices.Clone(found), (*localModule).packaged); len(projects) > 0 {
		found = projects
	}
	if i := slices.IndexFunc(found, func(m *localModule) bool { return m.hash != found[0].hash }); i > 0 {
		return nil, withHint(fmt.Errorf("module %s has several versions: %s", typeName, pathsOf(found)), "pass --modules DIR with a folder that has one of them")
	}
	if len(found) == 0 {
		return nil, nil
	}
	n.others.used[typeName] = found[0]
	return found[0].fragment, nil
}

// packaged reports whether a module is in a package, which may be older than the project beside it.
func (m *localModule) packaged() bool { return strings.EqualFold(filepath.Ext(m.path), ".zip") }

// used is the fragment of a module in the module, nil if it has none of the type.
func (n *nestedModules) used(typeName string) *module.Fragment {
	if n.others == nil || n.others.used[typeName] == nil {
		return nil
	}
	return n.others.used[typeName].fragment
}

// A modulePath names a module in the module under test.
type modulePath struct {
	path     string // logical IDs, the outermost first: Site/Owner
	typeName string
	changed  bool // it differs between the versions
}

// modulesOf are the modules that a resource is in, the outermost first, without the one under test.
func (u *moduleUpgrade) modulesOf(r *template.Resource) (out []modulePath) {
	if r.Metadata == nil {
		return nil
	}
	note := plan.ModuleInfo(r.Metadata.Any())
	if note == nil {
		return nil
	}
	names, ids := strings.Split(*note.TypeHierarchy, "/"), strings.Split(*note.LogicalIdHierarchy, "/")
	slices.Reverse(names)
	slices.Reverse(ids)
	for i := 1; i < min(len(names), len(ids)); i++ {
		before, after := u.old.used(names[i]), u.new.used(names[i])
		changed := before != nil && after != nil && !bytes.Equal(before.Data, after.Data)
		out = append(out, modulePath{strings.Join(ids[1:i+1], "/"), names[i], changed})
	}
	return out
}

// within says which module in the module a resource is in, "" for none.
func (u *moduleUpgrade) within(r *template.Resource) string {
	modules := u.modulesOf(r)
	if len(modules) == 0 {
		return ""
	}
	inner := modules[len(modules)-1]
	modules = slices.DeleteFunc(modules, func(m modulePath) bool { return !m.changed })
	switch {
	case len(modules) == 0:
		return fmt.Sprintf(" in %s", inner)
	case len(modules) == 1 && inner.changed:
		return fmt.Sprintf(" in %s, which changed", inner)
	}
	var changed []string
	for _, m := range modules {
		changed = append(changed, m.String())
	}
	return fmt.Sprintf(" in %s, where %s changed", inner, strings.Join(changed, " and "))
}

// changedModules are the modules in the module that differ between the versions, by their paths.
func (u *moduleUpgrade) changedModules() (out []string) {
	for _, d := range []*plan.Deployment{u.before, u.after} {
		for _, r := range d.Scope.ActiveResources() {
			for _, m := range u.modulesOf(r) {
				if text := m.String(); m.changed && !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

func (m modulePath) String() string { return fmt.Sprintf("%s (%s)", m.path, m.typeName) }
