package smithy

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// Bounds on what is read from folders and archives.
const (
	maxSourceFile  = 64 << 20  // one file, unpacked
	maxSourceBytes = 256 << 20 // all files of one call
	maxSourceFiles = 10_000
	maxFolderDepth = 64
	maxManifest    = 1 << 20
)

// ReadSources reads models: files of the IDL (.smithy) and of JSON AST (.json), folders
// with such files at any depth, and archives (.jar, .zip) with a META-INF/smithy/manifest
// that lists their models. A path that is named is read whatever it ends in; in a
// folder, other files are passed over, and JSON that is not a model too. Sizes and numbers
// are bounded. Symbolic links in folders are not followed.
func ReadSources(paths ...string) ([]Source, error) {
	r := &sourceReader{}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("read model: %w", err)
		}
		if info.IsDir() {
			err = r.folder(p, 0)
		} else {
			err = r.file(p, false)
		}
		if err != nil {
			return nil, fmt.Errorf("read model: %w", err)
		}
	}
	if len(r.sources) == 0 {
		return nil, fmt.Errorf("read model: no .smithy, .json or .jar file in %s", strings.Join(paths, ", "))
	}
	return r.sources, nil
}

type sourceReader struct {
	sources []Source
	size    int64
}

func (r *sourceReader) add(s Source) error {
	r.size += int64(len(s.Data))
	if len(r.sources) >= maxSourceFiles {
		return fmt.Errorf("%s: more than %d files", s.File, maxSourceFiles)
	}
	if r.size > maxSourceBytes {
		return fmt.Errorf("%s: more than %d MiB in all", s.File, maxSourceBytes>>20)
	}
	r.sources = append(r.sources, s)
	return nil
}

func (r *sourceReader) folder(dir string, depth int) error {
	if depth > maxFolderDepth {
		return fmt.Errorf("%s: folders are nested deeper than %d", dir, maxFolderDepth)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		p := filepath.Join(dir, entry.Name())
		switch {
		case entry.IsDir():
			err = r.folder(p, depth+1)
		case entry.Type().IsRegular():
			err = r.file(p, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file reads one file; found in a folder, it must look like a model.
func (r *sourceReader) file(p string, found bool) error {
	extension := strings.ToLower(filepath.Ext(p))
	if found && extension != ".smithy" && extension != ".json" && extension != ".jar" {
		return nil
	}
	data, err := readBounded(p)
	if err != nil {
		return err
	}
	switch {
	case extension == ".jar" || extension == ".zip":
		return r.archive(p, data, found)
	case found && extension == ".json" && !bytes.Contains(data, []byte(`"smithy"`)):
		return nil
	}
	return r.add(Source{File: filepath.ToSlash(p), Data: data})
}

func readBounded(p string) ([]byte, error) {
	f, err := files.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, p, maxSourceFile)
}

func readAll(from io.Reader, name string, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: larger than %d MiB", name, limit>>20)
	}
	return data, nil
}

const manifest = "META-INF/smithy/manifest"

// archive reads the models that the manifest of an archive lists. An archive in a folder
// may be one without models.
func (r *sourceReader) archive(p string, data []byte, found bool) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	list, err := readEntry(z, p, manifest, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		if found {
			return nil
		}
		return fmt.Errorf("%s: the archive has no %s, which lists the models", p, manifest)
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		name := strings.TrimSpace(line)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if strings.HasPrefix(name, "/") || path.Clean(name) != name || strings.HasPrefix(name, "..") {
			return fmt.Errorf("%s: the manifest names %q, which is not a path within the archive", p, name)
		}
		content, err := readEntry(z, p, path.Join(path.Dir(manifest), name), maxSourceFile)
		if err != nil {
			return err
		}
		if err := r.add(Source{File: filepath.ToSlash(p) + "!/" + name, Data: content}); err != nil {
			return err
		}
	}
	return nil
}

// readEntry unpacks one file of an archive, up to a limit, whatever its header says.
func readEntry(z *zip.Reader, p, name string, limit int64) ([]byte, error) {
	f, err := z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", p, name, err)
	}
	defer f.Close()
	return readAll(f, p+"!/"+name, limit)
}
