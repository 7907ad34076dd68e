package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/goreleaser/nfpm/v2/files"
	"go.yaml.in/yaml/v4"
)

// releaseConfig is the part of .goreleaser.yaml that makes the archive and the package for one platform.
type releaseConfig struct {
	Builds []struct {
		Main, Binary        string
		Env, Flags, Ldflags []string
	}
	Archives []struct {
		NameTemplate string   `yaml:"name_template"`
		BuildsInfo   fileInfo `yaml:"builds_info"`
		Files        []struct {
			Src, Dst string
			Info     fileInfo
		}
	}
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
	}
	NFPMs []struct {
		FileNameTemplate                           string `yaml:"file_name_template"`
		PackageName                                string `yaml:"package_name"`
		Homepage, Maintainer, Description, License string
		Section                                    string
		MTime                                      time.Time
		Contents                                   files.Contents
	} `yaml:"nfpms"`
}

type fileInfo struct {
	Owner, Group string
	Mode         os.FileMode
	MTime        time.Time
}

// readConfig fills in the templates of .goreleaser.yaml for Linux on arch, and reads it.
func readConfig(root, version, arch string, commit time.Time) (*releaseConfig, error) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		return nil, err
	}
	// The version of a snapshot is given to this program, which does not read the template of it.
	functions := template.FuncMap{"incpatch": func(version string) string { return version }}
	filled, err := template.New(".goreleaser.yaml").Funcs(functions).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := filled.Execute(&b, map[string]any{
		"Os": "linux", "Arch": arch, "Version": version,
		"Env":        map[string]string{"MINISIGN_KEY": ""}, // nothing is signed here
		"CommitDate": commit.Format(time.RFC3339), "CommitTimestamp": commit.Unix(),
	}); err != nil {
		return nil, err
	}
	var config releaseConfig
	if err := yaml.Unmarshal(b.Bytes(), &config); err != nil {
		return nil, fmt.Errorf(".goreleaser.yaml: %w", err)
	}
	if len(config.Builds) != 1 || len(config.Archives) != 1 || len(config.NFPMs) != 1 {
		return nil, fmt.Errorf(".goreleaser.yaml has %d builds, %d archives and %d nfpms; expected one of each", len(config.Builds), len(config.Archives), len(config.NFPMs))
	}
	return &config, nil
}

// sources finds the files that .goreleaser.yaml names: in the repository, or, below build/release, in
// the folder made, which has what this program makes.
type sources struct {
	root, made string
}

func (s sources) path(name string) string {
	if inside, found := strings.CutPrefix(name, "build/release/"); found {
		return filepath.Join(s.made, filepath.FromSlash(inside))
	}
	return filepath.Join(s.root, filepath.FromSlash(name))
}

// expand returns the files that match a pattern, sorted, and their paths relative to the part of
// the pattern without wildcards. Patterns are NAME, DIR/* and DIR/**/*.
func (s sources) expand(pattern string) (found, inside []string, err error) {
	folder, recursive := strings.CutSuffix(pattern, "/**/*")
	if recursive {
		err = filepath.WalkDir(s.path(folder), func(file string, entry os.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				found = append(found, file)
			}
			return err
		})
	} else {
		found, err = filepath.Glob(s.path(pattern))
		folder = strings.TrimSuffix(filepath.ToSlash(filepath.Dir(pattern)), ".")
	}
	if err != nil {
		return nil, nil, err
	}
	if len(found) == 0 {
		return nil, nil, fmt.Errorf(".goreleaser.yaml: no file matches %s", pattern)
	}
	slices.Sort(found)
	for _, file := range found {
		name, err := filepath.Rel(s.path(folder+"/"), file)
		if err != nil {
			return nil, nil, err
		}
		inside = append(inside, filepath.ToSlash(name))
	}
	return found, inside, nil
}
