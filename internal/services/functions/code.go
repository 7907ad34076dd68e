package functions

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The limits of code, which are those of Lambda.
const (
	maxInline   = 4 << 20
	maxZip      = 250 << 20
	maxUnpacked = 500 << 20
	maxFiles    = 50_000
)

//go:embed cfn-response.js
var responseNode []byte

//go:embed cfnresponse.py
var responsePython []byte

// ResponseModule is the module for responses of custom resources that Lambda has beside code in a template in Python or JavaScript.
func ResponseModule(runtime string) (name string, data []byte) {
	if strings.HasPrefix(runtime, "python") {
		return "cfnresponse.py", responsePython
	}
	return "cfn-response.js", responseNode
}

// Inline returns the zip file for code in a template: the source, with the module for custom
// resources beside it as on Lambda.
func Inline(runtime, source string) ([]byte, error) {
	files := map[string][]byte{}
	switch {
	case len(source) > maxInline:
		return nil, refused("Code.ZipFile has more than %d bytes.", maxInline)
	case strings.HasPrefix(runtime, "nodejs"):
		files["index.js"], files["node_modules/cfn-response.js"] = []byte(source), responseNode
	case strings.HasPrefix(runtime, "python"):
		files["index.py"], files["cfnresponse.py"] = []byte(source), responsePython
	default:
		return nil, refused("ZipFile can only be used when Runtime is set to either of nodejs or python.")
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"index.js", "node_modules/cfn-response.js", "index.py", "cfnresponse.py"} {
		if files[name] == nil {
			continue
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("pack the code of a function: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("pack the code of a function: %w", err)
	}
	return b.Bytes(), nil
}

func refused(format string, args ...any) error {
	return awswire.Errorf("InvalidParameterValueException", 400, format, args...)
}

// Store stores a zip file with code, and returns its hash. The error is an *awswire.Error for
// one that cannot be unpacked.
func (f *Functions) Store(ctx context.Context, code io.Reader) (hash string, err error) {
	blob, err := f.config.Store.Blobs().Put(ctx, code, maxZip)
	var large *store.TooLargeError
	if errors.As(err, &large) {
		return "", refused("Zipped size must be smaller than %d bytes.", large.Max)
	}
	if err != nil {
		return "", err
	}
	opened, size, err := f.config.Store.Blobs().Open(ctx, blob.Hash)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }() // it was only read
	_, err = entries(opened, size)
	return blob.Hash, err
}

// entries are the regular files of a zip file. Links and other things are left out.
func entries(r io.ReaderAt, size int64) ([]*zip.File, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, refused("Could not unzip uploaded file. Please check your file, then try to upload again.")
	}
	var out []*zip.File
	var total uint64
	taken := map[string]bool{} // by name: whether it is a folder, as the name of a file says
	for _, file := range archive.File {
		name := strings.ReplaceAll(file.Name, `\`, "/")
		if file.Mode()&fs.ModeType != 0 || strings.HasSuffix(name, "/") {
			continue
		}
		name = path.Clean(name)
		fault := files.NameFault(name)
		switch {
		case fault != "":
			return nil, refused("The code has a file whose name %s: %q.", fault, words.Cut(file.Name, 100))
		case name == "." || !filepath.IsLocal(filepath.FromSlash(name)):
			return nil, refused("The code has a file outside of its folder: %q.", file.Name)
		case !take(taken, name):
			return nil, refused("The code has a file and a folder of the same name: %q.", file.Name)
		case file.Flags&encrypted != 0 || file.Method != zip.Store && file.Method != zip.Deflate:
			return nil, refused("The code has a file that is encrypted or compressed with an unsupported method: %q.", file.Name)
		case file.UncompressedSize64 > maxUnpacked:
			total = maxUnpacked
		}
		file.Name = name
		out = append(out, file)
		if total += file.UncompressedSize64; total > maxUnpacked || len(out) > maxFiles {
			return nil, refused("Unzipped size must be smaller than %d bytes, of at most %d files.", maxUnpacked, maxFiles)
		}
	}
	return out, nil
}

// encrypted is the flag of an encrypted file.
const encrypted = 1

// take records the name of a file and of the folders that it is in, and reports whether no other file is one of these
// folders, or the other way round.
func take(taken map[string]bool, name string) bool {
	if taken[name] {
		return false
	}
	taken[name] = false
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		folder, known := taken[dir]
		if known {
			return folder
		}
		taken[dir] = true
	}
	return true
}

// The names in a folder with unpacked code.
const (
	codeDir   = "code"
	zipHashes = "zip-hashes" // of what was unpacked, each in a line
)

// Unpacked returns the folder with the code of a hash, or with the files of several layers: of those of one name, that of the last
// layer.
func (f *Functions) Unpacked(ctx context.Context, hashes ...string) (string, error) {
	list := strings.Join(hashes, "\n")
	sum := sha256.Sum256([]byte(list))
	dir, err := f.unpacked.Folder(ctx, hex.EncodeToString(sum[:]), func(ctx context.Context, root *os.Root) error {
		err := errors.Join(root.Mkdir(codeDir, 0o755), root.WriteFile(zipHashes, []byte(list), 0o644))
		room := uint64(maxUnpacked)
		for i := 0; i < len(hashes) && err == nil; i++ {
			err = f.unpack(ctx, hashes[i], root, &room)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("unpack the code of a function: %w", err)
	}
	return filepath.Join(dir, codeDir), nil
}

// unpack writes the files of a zip file, which replace those of the same names, into a folder that has room for some bytes.
func (f *Functions) unpack(ctx context.Context, hash string, root *os.Root, room *uint64) error {
	code, size, err := f.config.Store.Blobs().Open(ctx, hash)
	if err != nil {
		return err
	}
	defer func() { _ = code.Close() }() // it was only read
	found, err := entries(code, size)
	if err != nil {
		return err
	}
	for _, file := range found {
		if file.UncompressedSize64 > *room {
			return refused("Unzipped size must be smaller than %d bytes.", maxUnpacked)
		}
		*room -= file.UncompressedSize64
		if err := extract(ctx, root, file); err != nil {
			return err
		}
	}
	return nil
}

// extract writes one file. Its size was announced, and is not exceeded.
func extract(ctx context.Context, root *os.Root, file *zip.File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := filepath.Join(codeDir, filepath.FromSlash(file.Name))
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	from, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, file.Mode().Perm()&0o755|0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.LimitReader(from, int64(file.UncompressedSize64)))
	if err == nil {
		err = files.Flush(to)
	}
	return errors.Join(err, to.Close())
}

// unusedCode is how long code is kept that no function has any more.
const unusedCode = time.Hour

// Expire removes the unpacked code of functions that do not exist any more.
func (f *Functions) Expire(ctx context.Context, now time.Time) error {
	keeps := func(ctx context.Context, name string) (bool, error) {
		list, err := os.ReadFile(filepath.Join(f.config.Dir, name, zipHashes))
		if err != nil {
			return false, nil // a damaged folder
		}
		for hash := range strings.Lines(string(list)) {
			if kept, err := f.KeepsBlob(ctx, strings.TrimSpace(hash)); err != nil || !kept {
				return false, err
			}
		}
		return true, nil
	}
	if _, err := f.unpacked.Sweep(ctx, now, unusedCode, keeps); err != nil {
		return fmt.Errorf("remove code of functions: %w", err)
	}
	return nil
}
