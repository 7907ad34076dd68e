package project

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// startTypeScript has a current runtime and the entry points of the official plug-in.
func startTypeScript(p *Project) error {
	if p.Kind == schema.Hook {
		return errors.New("start the project: the official library for TypeScript has no hooks; write the hook in Go, Python or Java")
	}
	p.Runtime, p.Entrypoint, p.TestEntrypoint = codegen.TypeScriptRuntime, codegen.TypeScriptEntrypoint, codegen.TypeScriptTestEntrypoint
	return nil
}

// packTypeScript adds the built handlers and their libraries as ResourceProvider.zip, and the sources
// beside it: the layout of the official plug-in.
func (p *Project) packTypeScript(a *archiver, config ArchiveConfig) error {
	if info, err := os.Stat(p.Path("src")); err != nil || !info.IsDir() {
		return &BuildError{fmt.Sprintf("the project has no folder %s with its handlers", p.Name("src")), "cfn init typescript writes one"}
	}
	module := entryModule(p.Entrypoint)
	found := slices.ContainsFunc(config.Built, func(file string) bool { return strings.TrimSuffix(file, path.Ext(file)) == module })
	if !found {
		return &BuildError{
			fmt.Sprintf("the package has no %s.js, in which Lambda looks for the handlers", module),
			fmt.Sprintf("let the build write it, and name its folder under \"files\" in package.json: %q", path.Dir(module)),
		}
	}
	inner := newArchiver(a.ctx, p.Dir)
	for _, file := range slices.Sorted(slices.Values(config.Built)) {
		if err := inner.file(file, file, 0o644); err != nil {
			return err
		}
	}
	if config.Libraries != "" {
		if err := inner.nodeModules(config.Libraries+"/node_modules", "node_modules"); err != nil {
			return err
		}
	}
	if err := a.provider(inner, "package.json"); err != nil {
		return err
	}
	return a.folder("src", true)
}

// entryModule is the module of an entry point, without its extension: "dist/handlers" of
// "dist/handlers.entrypoint".
func entryModule(entrypoint string) string {
	base, _, _ := strings.Cut(path.Base(entrypoint), ".")
	return path.Join(path.Dir(entrypoint), base)
}

// nodeModules appends installed packages without what npm keeps for itself: the links to
// programs, and its own notes.
func (a *archiver) nodeModules(from, to string) error {
	entries, err := a.entries(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", from, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if path.Base(from) == "node_modules" && slices.Contains([]string{".bin", ".package-lock.json", ".cache"}, name) {
			continue
		}
		if entry.IsDir() {
			err = a.nodeModules(from+"/"+name, to+"/"+name)
		} else {
			err = a.file(from+"/"+name, to+"/"+name, mode(entry))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
