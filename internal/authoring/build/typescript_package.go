package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// packTypeScript builds the handlers, and finds what is packed: the files that npm packs, as SAM
// does, and the libraries for Lambda.
func (t *Tools) packTypeScript(ctx context.Context, p *project.Project, o PackageOptions, config *project.ArchiveConfig) error {
	b, err := t.buildTypeScript(ctx, p, o.NoBuild)
	if err != nil {
		return err
	}
	output, err := b.runNpm(ctx, p.Dir, "pack", "--dry-run", "--json", "--ignore-scripts", "--loglevel=error")
	if err != nil {
		return err
	}
	var packed []struct {
		Files []struct {
			Path string `json:"path"`
		} `json:"files"`
	}
	if err := json.Unmarshal(output, &packed); err != nil || len(packed) != 1 {
		return fmt.Errorf("npm pack does not say which files it packs: %.200s", output)
	}
	for _, file := range packed[0].Files {
		if filepath.IsLocal(file.Path) && !strings.HasPrefix(file.Path, "node_modules/") && !strings.HasPrefix(file.Path, ".formwork/") {
			config.Built = append(config.Built, filepath.ToSlash(file.Path))
		}
	}
	config.Libraries, err = b.librariesForLambda(ctx, o)
	return err
}

// ownFolder matches versions that are a file or folder of this machine.
var ownFolder = lazyregexp.New(`^(file|link|workspace):|^\.{0,2}/`)

// librariesForLambda installs the libraries without those for development, for the platform of
// Lambda, and returns the folder of their node_modules, seen from the project.
func (b *typeScriptBuild) librariesForLambda(ctx context.Context, o PackageOptions) (string, error) {
	sum, err := b.libraries("linux " + o.Arch.node)
	if err != nil {
		return "", err
	}
	name := typeScriptDir + "/package-" + sum
	if files.Exists(b.p.Path(name)) {
		return name, nil
	}
	if o.NoBuild {
		return "", diag.WithHint(fmt.Errorf("the libraries of %s are not installed for Lambda", b.p.Name(packageFile)), "leave out --no-build, and cfn installs them")
	}
	for _, list := range []map[string]string{b.manifest.Dependencies, b.manifest.OptionalDependencies} {
		for library, version := range list {
			if ownFolder.MatchString(version) {
				return "", diag.WithHint(fmt.Errorf("%s names %s, a file or folder of this machine, as %s: that is not packaged", b.p.Name(packageFile), version, library),
					"publish it to a registry, or move its sources to src")
			}
		}
	}
	work, err := os.MkdirTemp(b.p.Path(typeScriptDir), ".cfn-libraries-")
	if err != nil {
		return "", fmt.Errorf("install the libraries: %w", err)
	}
	defer func() { _ = files.RemoveTemp(work) }() // tried again by the system, or left over in an ignored folder
	command, err := b.copyManifest(work)
	if err != nil {
		return "", err
	}
	if err := b.npmInstall(ctx, work, command, "--omit=dev", "--include=optional", "--os=linux", "--cpu="+o.Arch.node, "--libc=glibc"); err != nil {
		return "", err
	}
	if err := checkNodeNative(work, o.Arch); err != nil {
		return "", err
	}
	result := filepath.Join(work, "result")
	if err := os.Mkdir(result, 0o755); err != nil {
		return "", fmt.Errorf("install the libraries: %w", err)
	}
	modules := filepath.Join(work, "node_modules")
	if files.Exists(modules) { // there may be no library at all
		if err := os.Rename(modules, filepath.Join(result, "node_modules")); err != nil {
			return "", fmt.Errorf("install the libraries: %w", err)
		}
	}
	if err := os.Rename(result, b.p.Path(name)); err != nil && !files.Exists(b.p.Path(name)) {
		return "", fmt.Errorf("install the libraries: %w", err)
	}
	b.t.removeOld(b.p, typeScriptDir, filepath.Base(name))
	return name, nil
}

// copyManifest writes package.json without its scripts, and the lockfile, to a folder, and returns
// the command of npm that installs them.
func (b *typeScriptBuild) copyManifest(dir string) (command string, err error) {
	data, err := document.ReadFile(b.p.Path(packageFile), 1<<20)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", b.p.Name(packageFile), err)
	}
	manifest := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return "", fmt.Errorf("read %s: %w", b.p.Name(packageFile), err)
	}
	delete(manifest, "scripts") // of the project, whose sources are elsewhere
	if data, err = json.Marshal(manifest); err != nil {
		return "", fmt.Errorf("read %s: %w", b.p.Name(packageFile), err)
	}
	copies := map[string][]byte{packageFile: data}
	command = "install"
	for _, name := range []string{b.lockfile(), ".npmrc"} {
		if name == "" {
			b.t.Note("warning: the project has no package-lock.json; the next package may have other versions of its libraries\n")
			continue
		}
		text, err := document.ReadFile(b.p.Path(name), 64<<20)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("read %s: %w", b.p.Name(name), err)
		}
		copies[name] = text
		if name != ".npmrc" {
			command = "ci"
		}
	}
	for name, text := range copies {
		if err := files.Write(dir, name, text, 0o600); err != nil { // .npmrc may contain a token
			return "", fmt.Errorf("install the libraries: %w", err)
		}
	}
	return command, nil
}

// checkNodeNative refuses libraries that were compiled on a machine unlike Lambda.
func checkNodeNative(dir string, arch Arch) error {
	if arch.Here() {
		return nil
	}
	var native string
	err := filepath.WalkDir(filepath.Join(dir, "node_modules"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".node" && strings.HasSuffix(filepath.ToSlash(filepath.Dir(path)), "/build/Release") {
			native = entry.Name()
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil || native == "" {
		return err
	}
	return diag.WithHint(fmt.Errorf("%s was compiled for this machine and does not run in Lambda (Linux on %s)", native, arch.Title),
		"use a version of the library that is built for Linux, or package on Linux")
}
