package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// Unpack writes the code of the handlers to the folder dir, whose parent must exist: all of
// it, synced to disk, or nothing. An existing folder is not changed. Programs are executable,
// even if the archive has lost the bit: the one that the runtime starts, scripts with a first
// line like #!/bin/sh, and ELF files.
//
// The error is ctx's, or that of the file system or of the reader of the package.
func (b *Bundle) Unpack(ctx context.Context, dir string) error {
	err := files.Place(dir, func(root *os.Root) error { return b.unpack(ctx, root) })
	if err != nil {
		return fmt.Errorf("unpack the handlers: %w", err)
	}
	return nil
}

func (b *Bundle) unpack(ctx context.Context, root *os.Root) error {
	if b.archive == nil {
		return errors.New("the package has no handlers")
	}
	data, size, closer, err := section(ctx, b.archive)
	if err != nil {
		return err
	}
	defer closer()
	if strings.HasPrefix(b.Settings.Runtime, "java") && path.Ext(b.archive.Name) == ".jar" {
		return unpackJar(root, path.Base(b.archive.Name), data, size)
	}
	z, err := zip.NewReader(data, size)
	if err != nil {
		return err
	}
	program := programOf(b.Settings.Runtime, b.Settings.Entrypoint)
	for _, file := range z.File {
		if !filepath.IsLocal(filepath.FromSlash(file.Name)) {
			return fmt.Errorf("%q is outside the folder", file.Name) // on this system only
		}
		if err := root.MkdirAll(filepath.FromSlash(path.Dir(file.Name)), 0o755); err != nil {
			return err
		}
		if file.FileInfo().IsDir() {
			err = root.MkdirAll(filepath.FromSlash(path.Clean(file.Name)), 0o755)
		} else {
			err = unpackFile(ctx, root, file, file.Name == program)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unpackJar keeps the archive of handlers in Java as one file, where the Java runtime of Lambda finds
// jars.
func unpackJar(root *os.Root, name string, jar io.ReaderAt, size int64) error {
	if err := root.Mkdir("lib", 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(filepath.Join("lib", name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	err = lambda.CopyJar(out, jar, size)
	if err == nil {
		err = files.Flush(out)
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// unpackFile writes one file. It is read-only afterwards, as on Lambda.
func unpackFile(ctx context.Context, root *os.Root, file *zip.File, program bool) error {
	name := filepath.FromSlash(file.Name)
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	head := &headWriter{w: out}
	err = copyEntry(ctx, head, file)
	mode := fs.FileMode(0o444)
	if program || file.Mode()&0o111 != 0 || head.isProgram() {
		mode = 0o555
	}
	if err == nil {
		err = out.Chmod(mode)
	}
	if err == nil {
		err = files.Flush(out)
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	return nil
}

// headWriter records the first bytes of a file.
type headWriter struct {
	w    io.Writer
	head []byte
}

func (h *headWriter) Write(p []byte) (int, error) {
	if room := 4 - len(h.head); room > 0 {
		h.head = append(h.head, p[:min(room, len(p))]...)
	}
	return h.w.Write(p)
}

func (h *headWriter) isProgram() bool {
	return bytes.HasPrefix(h.head, []byte("#!")) || bytes.HasPrefix(h.head, []byte("\x7fELF"))
}
