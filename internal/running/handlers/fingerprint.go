package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fingerprint changes when the code does: processes of older code are not used again. It is made for each
// call, so files are not read: their sizes and times are what counts.
func (n Named) fingerprint(ctx context.Context, code namedCode) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%+v\n", n, code)
	s := &stamps{ctx: ctx, sum: sum}
	switch {
	case code.runtime == "remote":
	case code.runtime == "go1.x":
		s.add(filepath.Join(code.dir, code.entrypoint))
	case n.Alone:
		s.add(n.Path)
	default:
		s.walk(code.dir)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// stamps are the sizes and times of files.
type stamps struct {
	ctx context.Context
	sum hash.Hash
}

// ignored are folders that are no code of a function.
var ignored = []string{"__pycache__", ".git", ".venv", "venv"}

// walk adds the files of a folder, those of outer folders first, up to a limit. Of libraries, it adds the folders and
// the files in which installers have noted what is in them.
func (s *stamps) walk(dir string) {
	left := maxSources
	for queue := []string{dir}; len(queue) > 0 && left > 0 && s.ctx.Err() == nil; queue = queue[1:] {
		entries := firstEntries(queue[0], left)
		left -= len(entries)
		installed := libraries(entries)
		for _, entry := range entries {
			path := filepath.Join(queue[0], entry.Name())
			switch {
			case entry.Type().IsRegular():
				s.add(path)
			case !entry.IsDir() || slices.Contains(ignored, entry.Name()):
			case installed[strings.ToLower(entry.Name())]:
				for _, name := range []string{"", "RECORD", ".package-lock.json"} {
					s.add(filepath.Join(path, name))
				}
			default:
				queue = append(queue, path)
			}
		}
	}
}

// add adds the size and time of a file or folder. One that is missing or unreadable is left out: the function
// itself will report the error.
func (s *stamps) add(path string) {
	if info, err := os.Lstat(path); err == nil {
		size := info.Size()
		if info.IsDir() {
			size = 0 // depends on the file system
		}
		fmt.Fprintf(s.sum, "%s %d %d\n", path, size, info.ModTime().UnixNano())
	}
}

// firstEntries are entries of a folder in the order of their names, at most limit.
func firstEntries(dir string, limit int) []fs.DirEntry {
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = folder.Close() }() // it was only read
	entries, _ := folder.ReadDir(limit)   // what was read counts
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}

// libraries are the folders among entries, in lower case, that npm and pip have installed: pip writes a folder
// NAME-VERSION.dist-info beside NAME.
func libraries(entries []fs.DirEntry) map[string]bool {
	names := map[string]bool{"node_modules": true}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		if library, _, found := strings.Cut(name, "-"); found && strings.HasSuffix(name, ".dist-info") {
			names[name], names[library] = true, true
		}
	}
	return names
}
