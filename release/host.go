package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the packager
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// host writes the archive and the Debian package for Linux on this machine's architecture into dir, as
// .goreleaser.yaml in root defines them, with their checksums and install.sh, and the packages for pip and npm. It needs
// neither GoReleaser nor the other platforms.
func host(dir, root, version string) (err error) {
	config, err := hostConfig(root, version)
	if err != nil {
		return err
	}
	made, err := os.MkdirTemp("", "formwork-release-")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, files.RemoveTemp(made)) }()
	if err := manual(made, version); err != nil {
		return err
	}
	if err := licenses(filepath.Join(made, "licenses"), root); err != nil {
		return err
	}
	if err := compile(root, filepath.Join(made, config.Builds[0].Binary), config); err != nil {
		return err
	}
	if err := pack(dir, sources{root: root, made: made}, version, config); err != nil {
		return err
	}
	return packages(dir, version)
}

// hostConfig reads the configuration for this machine; files have the date of the last commit.
func hostConfig(root, version string) (*releaseConfig, error) {
	git := exec.Command("git", "log", "-1", "--format=%cI")
	git.Dir = root
	out, err := git.Output()
	if err != nil {
		return nil, fmt.Errorf("read the date of the last commit: git log: %w", err)
	}
	commit, err := time.Parse(time.RFC3339, strings.TrimSpace(string(out)))
	if err != nil {
		return nil, fmt.Errorf("read the date of the last commit: %w", err)
	}
	return readConfig(root, version, runtime.GOARCH, commit.UTC())
}

func compile(root, binary string, config *releaseConfig) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	build := config.Builds[0]
	args := slices.Concat([]string{"build"}, build.Flags, []string{"-ldflags=" + strings.Join(build.Ldflags, " "), "-o", binary, build.Main})
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = slices.Concat(os.Environ(), build.Env, []string{"GOOS=linux"})
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// pack writes what users download. The same files have the same bytes each time.
func pack(dir string, from sources, version string, config *releaseConfig) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var names []string
	for _, product := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{config.Archives[0].NameTemplate + ".tar.gz", func(w io.Writer) error { return writeArchive(w, from, config) }},
		{config.NFPMs[0].FileNameTemplate + ".deb", func(w io.Writer) error { return writeDeb(w, from, version, config) }},
		{config.Checksum.NameTemplate, func(w io.Writer) error { return writeSums(w, dir, names) }},
	} {
		if err := create(filepath.Join(dir, product.name), product.write); err != nil {
			return fmt.Errorf("write %s: %w", product.name, err)
		}
		names = append(names, product.name)
	}
	script, err := os.ReadFile(from.path("install.sh"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "install.sh"), script, 0o755)
}

func create(file string, write func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return cmp.Or(write(f), f.Close())
}

// writeArchive writes the archive that install.sh unpacks.
func writeArchive(to io.Writer, from sources, config *releaseConfig) error {
	z, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	settings := config.Archives[0]
	for _, entry := range settings.Files {
		found, inside, err := from.expand(entry.Src)
		if err != nil {
			return err
		}
		for i, file := range found {
			if err := addFile(w, path.Join(entry.Dst, inside[i]), file, entry.Info); err != nil {
				return err
			}
		}
	}
	binary := config.Builds[0].Binary
	if err := addFile(w, binary, filepath.Join(from.made, binary), settings.BuildsInfo); err != nil {
		return err
	}
	return cmp.Or(w.Close(), z.Close())
}

func addFile(w *tar.Writer, name, file string, info fileInfo) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{
		Name: name, Mode: int64(info.Mode), Size: stat.Size(), ModTime: info.MTime, Uname: info.Owner, Gname: info.Group,
	}); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// writeDeb writes the Debian package with the library that GoReleaser uses.
func writeDeb(to io.Writer, from sources, version string, config *releaseConfig) error {
	settings, binary := config.NFPMs[0], config.Builds[0].Binary
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: settings.PackageName, Arch: runtime.GOARCH, Platform: "linux", Version: version, Section: settings.Section,
		Maintainer: settings.Maintainer, Description: settings.Description, Homepage: settings.Homepage, License: settings.License,
		MTime: settings.MTime,
	})
	for _, content := range settings.Contents {
		content := *content
		content.Source = from.path(content.Source)
		info.Contents = append(info.Contents, &content)
	}
	info.Contents = append(info.Contents, &nfpmfiles.Content{
		Source: filepath.Join(from.made, binary), Destination: "/usr/bin/" + binary, FileInfo: &nfpmfiles.ContentFileInfo{Mode: 0o755, MTime: settings.MTime},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	return packager.Package(info, to)
}

// writeSums writes the checksums of files in dir.
func writeSums(to io.Writer, dir string, names []string) error {
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, f)
		if err := cmp.Or(err, f.Close()); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to, "%x  %s\n", hash.Sum(nil), name); err != nil {
			return err
		}
	}
	return nil
}
