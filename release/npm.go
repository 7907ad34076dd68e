package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"io"
	"path/filepath"
	"time"
)

// The programs of the npm package.
var (
	//go:embed packages/cfn.js
	npmLauncher []byte
	//go:embed packages/install.js
	npmInstall []byte
)

// A packageJSON is the description of an npm package.
type packageJSON struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Homepage             string            `json:"homepage"`
	Repository           string            `json:"repository"`
	License              string            `json:"license"`
	Engines              map[string]string `json:"engines,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	Scripts              map[string]string `json:"scripts,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"`
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

func newPackageJSON(name, version string) packageJSON {
	return packageJSON{Name: name, Version: version, Description: packageSummary, Homepage: homepage, Repository: "github:formwork-dev/formwork", License: "Apache-2.0"}
}

func (p *platform) npmName() string { return packageName + "-" + p.os + "-" + p.arch }

// writePlatformPackage writes the package with the binary for one platform. npm skips it on others.
func writePlatformPackage(dir, version string, p platform, files map[string][]byte) error {
	description := newPackageJSON(p.npmName(), version)
	description.OS, description.CPU, description.PreferUnplugged = []string{p.os}, []string{p.arch}, true
	return writeTarball(dir, description, append([]entry{
		{name: "bin/" + p.binary, content: files[p.binary], executable: true},
	}, licenseEntries("licenses/", files)...))
}

// writeMainPackage writes the package that users install. It depends on those of all platforms, in the same version; npm installs the one
// that fits. After installing, the launcher is replaced with the binary, where scripts of packages may run.
func writeMainPackage(dir, version string) error {
	description := newPackageJSON(packageName, version)
	description.Engines = map[string]string{"node": ">=16"}
	description.Bin = map[string]string{"cfn": "bin/cfn"}
	description.Scripts = map[string]string{"postinstall": "node install.js"}
	description.OptionalDependencies = map[string]string{}
	for _, p := range platforms {
		description.OptionalDependencies[p.npmName()] = version
	}
	return writeTarball(dir, description, []entry{
		{name: "bin/cfn", content: npmLauncher, executable: true},
		{name: "install.js", content: npmInstall},
	})
}

// writeTarball writes a package as "npm pack" does.
func writeTarball(dir string, description packageJSON, entries []entry) error {
	text, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		return err
	}
	entries = append([]entry{
		{name: "package.json", content: append(text, '\n')},
		{name: "README.md", content: []byte(packageReadme("`npm install " + packageName + "`"))},
	}, entries...)
	return create(filepath.Join(dir, description.Name+"-"+description.Version+".tgz"), func(w io.Writer) error { return writeTar(w, "package/", entries) })
}

// writeTar writes entries below a folder, with the time that npm gives all files.
func writeTar(to io.Writer, folder string, entries []entry) error {
	z := gzip.NewWriter(to)
	w := tar.NewWriter(z)
	for _, e := range entries {
		mode := int64(0o644)
		if e.executable {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{
			Name: folder + e.name, Mode: mode, Size: int64(len(e.content)), ModTime: time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC),
		}); err != nil {
			return err
		}
		if _, err := w.Write(e.content); err != nil {
			return err
		}
	}
	return cmp.Or(w.Close(), z.Close())
}
