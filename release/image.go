package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// image writes an OCI archive with an index of one image for each architecture. The images have the
// binary, /tmp and nothing else; they run as a user without a name.
func image(file, version string, binaries map[string]string) (err error) {
	date, err := sourceDate()
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		img, err := platformImage(binaries[arch], arch, version, date)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			Platform:    &v1.Platform{OS: "linux", Architecture: arch},
			Annotations: map[string]string{"org.opencontainers.image.ref.name": version},
		}})
	}
	dir, err := os.MkdirTemp("", "formwork-image-")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, files.RemoveTemp(dir)) }()
	if _, err := layout.Write(dir, index); err != nil {
		return err
	}
	return archive(file, dir, date)
}

func platformImage(binary, arch, version string, date time.Time) (v1.Image, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, h := range []*tar.Header{
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "usr/bin/cfn", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))},
	} {
		h.ModTime = date
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if h.Size > 0 {
			if _, err := w.Write(data); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: date}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/bin/cfn"}, User: "65532:65532", WorkingDir: "/tmp",
		Env:    []string{"PATH=/usr/bin", "HOME=/tmp"},
		Labels: map[string]string{"org.opencontainers.image.title": "cfn", "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"},
	}
	return mutate.ConfigFile(img, config)
}

// archive packs a folder into a tar file that has the same bytes each time.
func archive(file, dir string, date time.Time) (err error) {
	var names []string
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := out.Close(); err == nil {
			err = closeErr
		}
	}()
	w := tar.NewWriter(out)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(inside), Mode: 0o644, Size: int64(len(data)), ModTime: date}); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return w.Close()
}
