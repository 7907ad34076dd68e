package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// packageName is the name of the packages on PyPI and npm.
const packageName = "formwork-cfn"

const (
	packageSummary = "Develop, test and deploy CloudFormation on your own machine"
	homepage       = "https://github.com/formwork-dev/formwork"
)

// A platform is one that a release has an archive for, with its names elsewhere.
type platform struct {
	archive  string // in the folder of the release
	binary   string
	tags     []string // of wheels: what pip looks for
	os, arch string   // of npm
}

// platforms are all of them. One wheel is for glibc and for musl, since the binary is static. Interpreters on musl 1.2 accept the tag of 1.1,
// and "pip download --platform" compares tags literally. macOS 12 is the lowest one that the linker of Go writes into binaries.
var platforms = []platform{
	{"cfn_linux_amd64.tar.gz", "cfn", []string{"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"}, "linux", "x64"},
	{"cfn_linux_arm64.tar.gz", "cfn", []string{"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"}, "linux", "arm64"},
	{"cfn_darwin_amd64.tar.gz", "cfn", []string{"macosx_12_0_x86_64"}, "darwin", "x64"},
	{"cfn_darwin_arm64.tar.gz", "cfn", []string{"macosx_12_0_arm64"}, "darwin", "arm64"},
	{"cfn_windows_amd64.zip", "cfn.exe", []string{"win_amd64"}, "win32", "x64"},
	{"cfn_windows_arm64.zip", "cfn.exe", []string{"win_arm64"}, "win32", "arm64"},
}

// An entry is a file of a package.
type entry struct {
	name       string
	content    []byte
	executable bool
}

// packages writes the wheels and the npm packages for the archives of a release in dir, beside them. The binary in each is the one of
// the archive, and the same archives make the same bytes.
func packages(dir, version string) error {
	found := 0
	for _, p := range platforms {
		files, err := readArchive(filepath.Join(dir, p.archive))
		if errors.Is(err, fs.ErrNotExist) {
			continue // "make release-host" builds for one platform
		}
		if err == nil && files[p.binary] == nil {
			err = fmt.Errorf("it has no %s", p.binary)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.archive, err)
		}
		sbom, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(strings.TrimSuffix(p.archive, ".zip"), ".tar.gz")+".cdx.json"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := writeWheel(dir, version, p, files, sbom); err != nil {
			return err
		}
		if err := writePlatformPackage(dir, version, p, files); err != nil {
			return err
		}
		found++
	}
	if found == 0 {
		return fmt.Errorf("%s has no archive of a release, such as %s", dir, platforms[0].archive)
	}
	return writeMainPackage(dir, version)
}

// builtVersion is the version of the release that GoReleaser has built in dir.
func builtVersion(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
	if err != nil {
		return "", err
	}
	var built struct{ Version string }
	if err := json.Unmarshal(data, &built); err != nil || built.Version == "" {
		return "", fmt.Errorf("%s/metadata.json has no version of a release: %w", dir, cmp.Or(err, errors.New("the field version is missing")))
	}
	return built.Version, nil
}

// packaged are the files of an archive that packages have as well.
var packaged = regexp.MustCompile(`^(cfn|cfn\.exe|LICENSE|licenses/.*)$`)

// readArchive reads an archive of a release.
func readArchive(file string) (map[string][]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	add := func(name string, r io.Reader) error {
		if !packaged.MatchString(name) {
			return nil
		}
		content, err := io.ReadAll(r)
		files[name] = content
		return err
	}
	if strings.HasSuffix(file, ".zip") {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				return nil, err
			}
			if err := errors.Join(add(f.Name, r), r.Close()); err != nil {
				return nil, err
			}
		}
		return files, nil
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = add(h.Name, r)
		}
		if err != nil {
			return nil, err
		}
	}
}

// licenseEntries are the license of the program and those of its dependencies, in a folder of a package.
func licenseEntries(folder string, files map[string][]byte) (entries []entry) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if inside, found := strings.CutPrefix(name, "licenses/"); found {
			entries = append(entries, entry{name: folder + "dependencies/" + inside, content: files[name]})
		} else if name == "LICENSE" {
			entries = append(entries, entry{name: folder + name, content: files[name]})
		}
	}
	return entries
}
