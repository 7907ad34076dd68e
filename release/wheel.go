package main

import (
	"archive/zip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The modules of the Python package.
var (
	//go:embed packages/init.py
	pythonInit []byte
	//go:embed packages/main.py
	pythonMain []byte
)

// module is the name of the Python package, and of files of wheels.
const pythonModule = "formwork_cfn"

// writeWheel writes the wheel of a platform. The binary is a script of the wheel, which pip copies into the folder of programs: nothing runs before it.
func writeWheel(dir, version string, p platform, files map[string][]byte, sbom []byte) error {
	version, err := pythonVersion(version)
	if err != nil {
		return err
	}
	name := pythonModule + "-" + version
	info := name + ".dist-info/"
	entries := append([]entry{
		{name: name + ".data/scripts/" + p.binary, content: files[p.binary], executable: true},
		{name: pythonModule + "/__init__.py", content: pythonInit},
		{name: pythonModule + "/__main__.py", content: pythonMain},
		{name: info + "entry_points.txt", content: []byte("[console_scripts]\n" + packageName + " = " + pythonModule + ".__main__:main\n")},
		{name: info + "WHEEL", content: []byte(wheelFile(p))},
	}, licenseEntries(info+"licenses/", files)...)
	if sbom != nil {
		entries = append(entries, entry{name: info + "sboms/cfn.cdx.json", content: sbom})
	}
	entries = append(entries, entry{name: info + "METADATA", content: []byte(pythonMetadata(version, info, entries))})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	var record strings.Builder
	for _, e := range entries {
		sum := sha256.Sum256(e.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.content))
	}
	record.WriteString(info + "RECORD,,\n")
	entries = append(entries, entry{name: info + "RECORD", content: []byte(record.String())})
	return create(filepath.Join(dir, name+"-py3-none-"+strings.Join(p.tags, ".")+".whl"), func(w io.Writer) error { return writeZip(w, entries) })
}

func wheelFile(p platform) string {
	var text strings.Builder
	text.WriteString("Wheel-Version: 1.0\nGenerator: formwork\nRoot-Is-Purelib: false\n")
	for _, tag := range p.tags {
		fmt.Fprintf(&text, "Tag: py3-none-%s\n", tag)
	}
	return text.String()
}

// pythonMetadata describes the package, with all licenses that it contains.
func pythonMetadata(version, info string, entries []entry) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0\n", packageName, version, packageSummary)
	for _, e := range entries {
		if file, found := strings.CutPrefix(e.name, info+"licenses/"); found {
			fmt.Fprintf(&text, "License-File: %s\n", file)
		}
	}
	fmt.Fprintf(&text, "Project-URL: Homepage, %s\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s", homepage, packageReadme("`pip install "+packageName+"`"))
	return text.String()
}

// packageReadme is what the indexes show.
func packageReadme(install string) string {
	return "# cfn\n\n" + packageSummary + ".\n\n" + install + " installs `cfn`, one static program without dependencies. See [" + homepage + "](" + homepage + ").\n"
}

// writeZip writes entries as they are, with one time and the permissions of Unix.
func writeZip(to io.Writer, entries []entry) error {
	w := zip.NewWriter(to)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		mode := os.FileMode(0o644)
		if e.executable {
			mode = 0o755
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.content); err != nil {
			return err
		}
	}
	return w.Close()
}

var semantic = regexp.MustCompile(`^([0-9]+\.[0-9]+\.[0-9]+)(?:-(alpha|beta|rc|snapshot)(?:\.?([0-9]+))?)?$`)

// pythonVersion is a version of a release as Python orders versions: 1.2.0-rc.1 is 1.2.0rc1.
func pythonVersion(version string) (string, error) {
	m := semantic.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("the version %q has no form in Python: expected 1.2.3, 1.2.3-rc.1, -beta.1, -alpha.1 or -snapshot", version)
	}
	if m[2] == "" {
		return m[1], nil
	}
	number := m[3]
	if number == "" {
		number = "0"
	}
	return m[1] + map[string]string{"alpha": "a", "beta": "b", "rc": "rc", "snapshot": ".dev"}[m[2]] + number, nil
}
