package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// Bounds of a revision that is written to a folder.
const (
	checkoutFiles = 50_000
	checkoutBytes = 1 << 30
)

// A checkout is a revision of a repository in a temporary folder.
type checkout struct {
	dir     string // the top of the repository
	project string // the folder in it that the command works in
	left    []string
}

func (t *checkout) close() { _ = files.RemoveTemp(t.dir) } // only a temporary folder is left if this fails

// A treeEntry is a file of a revision.
type treeEntry struct {
	mode, hash, name string
	size             int64
}

// checkout writes the files of a revision into a temporary folder: those of the whole repository, because projects use files beside
// them. No hook and no filter of git runs; links and submodules are left out.
func (c *app) checkout(ctx context.Context, rev string) (*checkout, error) {
	of := c.in(c.projectDir())
	top, err := of.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, withHint(fmt.Errorf("%s is not a file, and not a revision in git: %w", rev, err), "pass a package, a revision in git or the number of a version")
	}
	commit, err := of.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, withHint(fmt.Errorf("%s is neither a file nor a revision in git", rev), "git tag lists tags; cfn types versions lists the versions in the registry")
	}
	at, err := of.treePath(strings.TrimSpace(string(top)), ".")
	if err != nil {
		return nil, err
	}
	list, err := of.git(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", strings.TrimSpace(string(commit)))
	if err != nil {
		return nil, err
	}
	t := &checkout{}
	entries, err := t.entries(string(list))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rev, err)
	}
	if t.dir, err = os.MkdirTemp("", "formwork-checkout-"); err != nil {
		return nil, err
	}
	t.project = filepath.Join(t.dir, filepath.FromSlash(at))
	if err := of.writeTree(ctx, t.dir, entries); err != nil {
		t.close()
		return nil, fmt.Errorf("check out %s: %w", rev, err)
	}
	if !isProject(t.project) {
		t.close()
		return nil, withHint(fmt.Errorf("%s has no project in %s", rev, path.Join(at, ".rpdk-config")), "the project must be in the same folder as today; for another one, pass its package")
	}
	return t, nil
}

// entries reads the output of git ls-tree. Names that lead out of the folder, or into a repository, are refused.
func (t *checkout) entries(list string) (entries []treeEntry, err error) {
	var bytes int64
	for line := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		about, name, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if len(fields) != 4 {
			continue
		}
		e := treeEntry{mode: fields[0], hash: fields[2], name: name}
		if e.mode != "100644" && e.mode != "100755" {
			t.left = append(t.left, name)
			continue
		}
		isGit := slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
		if !filepath.IsLocal(filepath.FromSlash(name)) || isGit {
			return nil, fmt.Errorf("it has a file with the name %q", name)
		}
		if e.size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
			return nil, fmt.Errorf("the size of %s: %w", name, err)
		}
		bytes += e.size
		entries = append(entries, e)
	}
	switch {
	case len(entries) > checkoutFiles:
		return nil, fmt.Errorf("it has %d files; the limit is %d", len(entries), checkoutFiles)
	case bytes > checkoutBytes:
		return nil, fmt.Errorf("its files have %d MiB; the limit is %d", bytes>>20, checkoutBytes>>20)
	}
	return entries, nil
}

// writeTree writes files of a repository, as git has them, below a folder.
func (c *app) writeTree(ctx context.Context, dir string, entries []treeEntry) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "cat-file", "--batch")
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, c.gitEnviron(), gitWait
	var names strings.Builder
	for _, e := range entries {
		names.WriteString(e.hash + "\n")
	}
	cmd.Stdin = strings.NewReader(names.String())
	var complaint bytes.Buffer
	cmd.Stderr = &limited{&complaint, 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	read := bufio.NewReader(out)
	for _, e := range entries {
		if err = writeBlob(root, read, e); err != nil {
			cancel()
			break
		}
	}
	if ended := cmd.Wait(); ended != nil && complaint.Len() > 0 { // why the output ended early
		err = errors.New(sentence(strings.TrimSpace(complaint.String())))
	} else if err == nil {
		err = ended
	}
	return err
}

// writeBlob writes the next file of the output of git cat-file --batch.
func writeBlob(root *os.Root, from *bufio.Reader, e treeEntry) error {
	header, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%s blob %d\n", e.hash, e.size); header != want {
		return fmt.Errorf("git returned %q for %s", strings.TrimSpace(header), e.name)
	}
	name := filepath.FromSlash(e.name)
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if e.mode == "100755" {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.CopyN(file, from, e.size)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = from.Discard(1)
	return err
}
