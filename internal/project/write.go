package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/formwork-dev/formwork/internal/codegen"
	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/files"
)

// A State compares a file on disk with its generated content.
type State string

// The states.
const (
	Current  State = "current"  // generated, and what it should be
	Stale    State = "stale"    // generated, and not what it should be
	Missing  State = "missing"  // missing
	Foreign  State = "foreign"  // should be generated, but was not written by cfn
	Kept     State = "kept"     // written once, and the user's now
	Leftover State = "leftover" // generated, and not wanted any more
)

// A Status is the state of one file. Name is slash-separated, seen from the project.
type Status struct {
	Name  string
	State State
}

// Compare looks at the files in the folder without changing them. The statuses come in
// the order of files, leftovers after them.
func Compare(dir string, files []codegen.File) ([]Status, error) {
	var out []Status
	for _, f := range files {
		state, err := stateOf(dir, f)
		if err != nil {
			return nil, fmt.Errorf("look for generated files: %w", err)
		}
		out = append(out, Status{f.Path, state})
	}
	existing, err := generatedFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("look for generated files: %w", err)
	}
	canaries, err := leftoverCanaries(dir, files)
	if err != nil {
		return nil, fmt.Errorf("look for generated files: %w", err)
	}
	for _, name := range append(codegen.Stale(files, existing), canaries...) {
		out = append(out, Status{name, Leftover})
	}
	return out, nil
}

// maxHead bounds what is read of a file to see whether a generator wrote it.
const maxHead = 1 << 20

func stateOf(dir string, f codegen.File) (State, error) {
	// Enough to report whether it is the same, and whose it is: the file may have grown
	// beyond what is read of a document, by our own hand even.
	data, err := document.ReadHead(filepath.Join(dir, filepath.FromSlash(f.Path)), int64(max(len(f.Data)+1, maxHead)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing, nil
	case err != nil:
		return "", err
	case f.Mode == codegen.Once:
		return Kept, nil
	case bytes.Equal(data, f.Data):
		return Current, nil
	case f.Mode == codegen.Refreshed:
		return Stale, nil
	case generated(f.Path, data):
		return Stale, nil
	}
	return Foreign, nil
}

// generatedFiles lists what generators wrote in the places where something can be left
// over: the documentation, the copy of the SDK, the models of a hook's targets, the role.
func generatedFiles(dir string) ([]string, error) {
	var names []string
	places := []string{DocsDir, ".formwork/sdk", "resource-role.yaml", "hook-role.yaml"}
	for _, folder := range codegen.GeneratedFolders() {
		found, err := fs.Glob(os.DirFS(dir), folder)
		if err != nil {
			return nil, err
		}
		places = append(places, found...)
	}
	for _, place := range places {
		err := filepath.WalkDir(filepath.Join(dir, filepath.FromSlash(place)), func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			data, err := document.ReadHead(path, maxHead)
			if name := filepath.ToSlash(rel); err == nil && codegen.IsGenerated(name, data) {
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// A Purpose selects the files that [Write] writes.
type Purpose uint8

const (
	// Regenerate updates generated files and leaves those alone that are
	// written once.
	Regenerate Purpose = iota
	// Start also writes the files that are written only once, if they do not exist.
	Start
	// Overwrite replaces every file.
	Overwrite
)

// Write brings the files in the folder to their wanted state and returns the status that
// each had before. What is Current or Kept is not touched, so that its times stay; nor is
// what is Foreign, unless the purpose is to overwrite. Leftovers are removed.
//
// Either everything is written or nothing is, and the last of the files last. The error is
// ctx's if ctx ended before the files were moved to their places, a *[files.LinkError] if a
// file would be outside of the folder, or that of the file system.
func Write(ctx context.Context, dir string, files []codegen.File, purpose Purpose) ([]Status, error) {
	statuses, err := Compare(dir, files)
	if err != nil {
		return nil, err
	}
	b := batch{dir: dir}
	for i, status := range statuses {
		write := false
		switch status.State {
		case Missing:
			write = purpose != Regenerate || files[i].Mode == codegen.Generated
		case Stale:
			write = true
		case Kept, Foreign:
			write = purpose == Overwrite
		case Leftover:
			b.remove(status.Name)
		}
		if write {
			b.put(status.Name, files[i].Data)
		}
	}
	if err := b.run(ctx); err != nil {
		return statuses, err
	}
	for _, status := range statuses {
		if status.State == Leftover {
			removeEmpty(dir, path.Dir(status.Name))
		}
	}
	return statuses, nil
}

// removeEmpty removes a folder of the project that is empty, and those above it that are
// empty then. name is slash-separated; the project's own folder stays.
func removeEmpty(dir, name string) {
	for ; name != "."; name = path.Dir(name) {
		if os.Remove(filepath.Join(dir, filepath.FromSlash(name))) != nil {
			return // not empty
		}
	}
}

// A batch is a set of changes to the files of a folder that happen all or not at all.
//
// New contents are first written to a folder inside of dir, hence on the same file system.
// Then each file is moved to its place, and the file that it replaces into that folder. When a
// move fails, those before are undone. Only a process that is killed between the first move
// and the last leaves some files replaced, and the folder .cfn-*, which then contains the
// replaced files.
type batch struct {
	dir   string
	steps []step

	staging string         // the folder with the new and the replaced files
	undo    []func() error // steps that undo the moves, in order
}

type step struct {
	name   string
	data   []byte
	delete bool
}

func (b *batch) put(name string, data []byte) {
	b.steps = append(b.steps, step{name: name, data: data})
}

func (b *batch) remove(name string) {
	b.steps = append(b.steps, step{name: name, delete: true})
}

func (b *batch) run(ctx context.Context) (err error) {
	if len(b.steps) == 0 {
		return nil
	}
	for _, s := range b.steps {
		if err := b.inside(s.name); err != nil {
			return err
		}
	}
	if b.staging, err = os.MkdirTemp(b.dir, ".cfn-"); err != nil {
		return fmt.Errorf("write into the project: %w", err)
	}
	defer func() { _ = files.RemoveTemp(b.staging) }()
	for i, s := range b.steps {
		if s.delete {
			continue
		}
		if err := os.WriteFile(b.staged("new", i), s.data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", s.name, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, s := range b.steps {
		if err := b.apply(i, s); err != nil {
			err = fmt.Errorf("write %s: %w", s.name, err)
			for _, undo := range slices.Backward(b.undo) {
				if undone := undo(); undone != nil {
					err = errors.Join(err, fmt.Errorf("take it back: %w", undone))
				}
			}
			return err
		}
	}
	return nil
}

// inside refuses the name of a file that would land outside of the folder, through a link
// on its way. A link in the place of the file itself is replaced, not followed.
func (b *batch) inside(name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("write to the project: %s is outside the project folder", name)
	}
	if err := files.LinkOut(b.dir, path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (b *batch) staged(kind string, i int) string {
	return filepath.Join(b.staging, fmt.Sprintf("%s-%d", kind, i))
}

func (b *batch) apply(i int, s step) error {
	path := filepath.Join(b.dir, filepath.FromSlash(s.name))
	if err := b.mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	mode := fs.FileMode(0)
	if info, err := os.Lstat(path); err == nil {
		if info.IsDir() {
			return &fs.PathError{Op: "replace", Path: path, Err: errors.New("it is a folder")}
		}
		if info.Mode().IsRegular() { // of a link they say nothing
			mode = info.Mode().Perm()
		}
		old := b.staged("old", i)
		if err := os.Rename(path, old); err != nil {
			return err
		}
		b.undo = append(b.undo, func() error { return os.Rename(old, path) })
	}
	if s.delete {
		return nil
	}
	if mode != 0 {
		if err := os.Chmod(b.staged("new", i), mode); err != nil {
			return err
		}
	}
	if err := os.Rename(b.staged("new", i), path); err != nil {
		return err
	}
	b.undo = append(b.undo, func() error { return os.Remove(path) })
	return nil
}

// mkdir makes a folder and those above it, and remembers which ones it made.
func (b *batch) mkdir(path string) error {
	if info, err := os.Stat(path); err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("it is a file")}
		}
		return nil
	}
	if err := b.mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		return err
	}
	b.undo = append(b.undo, func() error { return os.Remove(path) })
	return nil
}
