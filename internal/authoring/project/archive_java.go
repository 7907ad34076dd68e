package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// Jar is the archive that Maven builds of the handlers of a project in Java, slash-separated,
// seen from the project. The error is a *[BuildError] if there is none, or several.
func (p *Project) Jar() (string, error) {
	prefix := schema.Hyphenated(p.TypeName) + "-"
	found, err := p.jars(prefix)
	if err != nil {
		return "", fmt.Errorf("look for the handlers: %w", err)
	}
	switch len(found) {
	case 0:
		return "", &BuildError{fmt.Sprintf("the handlers are not built: %s does not exist", p.Name(TargetFolder+"/"+prefix+"*.jar")), "build them with: mvn package"}
	case 1:
		return found[0], nil
	}
	return "", &BuildError{"there are several jars that could be the handlers: " + strings.Join(found, ", "), "build them with: mvn clean package"}
}

// TargetFolder is where Maven builds.
const TargetFolder = "target"

func (p *Project) jars(prefix string) ([]string, error) {
	entries, err := (&archiver{dir: p.Dir}).entries(TargetFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() && strings.HasPrefix(name, prefix) && filepath.Ext(name) == ".jar" {
			found = append(found, TargetFolder+"/"+name)
		}
	}
	return found, err
}

// packJava adds the jar and the sources, those that the official tool generates included.
func (p *Project) packJava(a *archiver, _ ArchiveConfig) error {
	jar, err := p.Jar()
	if err != nil {
		return err
	}
	if err := a.file(jar, jar, 0o644); err != nil {
		return err
	}
	if err := a.file("pom.xml", "pom.xml", 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{"src", TargetFolder + "/generated-sources"} {
		if err := a.folder(dir, true); err != nil {
			return err
		}
	}
	return nil
}
