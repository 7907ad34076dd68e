package cli

import (
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
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// A side is one of the two versions that are compared.
type side struct {
	schemas []*schema.Schema
	folder  bool   // a folder of any number of schemas, not one schema
	dir     string // whose settings govern it
}

func (s side) byType() map[string]*schema.Schema {
	out := map[string]*schema.Schema{}
	for _, one := range s.schemas {
		out[one.TypeName.Value] = one
	}
	return out
}

// versions reads one side: what exists on disk, else what git has under the name.
func (c *app) versions(ctx context.Context, name string, cfg schema.Config) (side, error) {
	_, err := os.Stat(c.path(name))
	if err != nil {
		return c.revision(ctx, name, cfg)
	}
	if strings.EqualFold(filepath.Ext(name), ".zip") && !isDir(c.path(name)) {
		return c.packaged(ctx, name)
	}
	subjects, err := c.subjects(name)
	if err != nil {
		return side{}, err
	}
	out := side{folder: isDir(c.path(name)) && !isProject(c.path(name)), dir: c.path(name)}
	if !isDir(out.dir) {
		out.dir = filepath.Dir(out.dir)
	}
	for _, subject := range subjects {
		file := subject.name
		if subject.project {
			if file, err = c.schemaOf(subject.name); err != nil {
				return side{}, err
			}
		}
		data, err := readSchemaFile(c.path(file))
		if err != nil {
			return side{}, fmt.Errorf("read the schema: %w", err)
		}
		one, err := loadVersion(file, data, cfg)
		if err != nil {
			return side{}, err
		}
		out.schemas = append(out.schemas, one)
	}
	return out, nil
}

// packaged reads the schema of a package.
func (c *app) packaged(ctx context.Context, name string) (side, error) {
	b, _, err := c.readPackage(ctx, name)
	switch {
	case err != nil:
		return side{}, err
	case b.Kind == schema.Module:
		return side{}, withHint(fmt.Errorf("%s is a module, which has no schema", name), "cfn test --upgrade-from %s compares what the versions of a module expand to", shellQuote(name))
	}
	return side{schemas: []*schema.Schema{b.Schema}, dir: filepath.Dir(c.path(name))}, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// schemaOf is the schema file of a project.
func (c *app) schemaOf(dir string) (string, error) {
	p, problems, err := project.Open(c.path(dir), dir)
	if err != nil {
		return "", err
	}
	if err := problems.Err(); err != nil {
		return "", err
	}
	return filepath.Join(dir, p.SchemaFile()), nil
}

// loadVersion loads a schema. What is wrong with it matters only where it cannot be read: the
// old version may well break rules of today.
func loadVersion(name string, data []byte, cfg schema.Config) (*schema.Schema, error) {
	s, problems := schema.Load(name, data, cfg)
	var fatal diag.List
	for _, p := range problems {
		if s == nil || strings.HasPrefix(p.ID, "document/") && p.Severity == diag.Error {
			fatal.Add(p)
		}
	}
	return s, fatal.Err()
}

// gitTimeout and gitOutput bound what git may take.
const (
	gitTimeout = 30 * time.Second
	gitWait    = time.Second // after the end of the process, for its output
	gitOutput  = 64 << 20
	gitFiles   = 10_000
)

// revision reads one side from git: REV:PATH, or REV for the project's schema.
func (c *app) revision(ctx context.Context, name string, cfg schema.Config) (side, error) {
	rev, file, hasPath := strings.Cut(name, ":")
	if rev == "" || strings.HasPrefix(rev, "-") {
		return side{}, withHint(fmt.Errorf("no such file or folder: %s", name), "to name a version in git, use REVISION:PATH, such as v1.2.0:schema.json")
	}
	top, err := c.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return side{}, withHint(fmt.Errorf("%s is not a file or folder, and not a version in git: %w", name, err), "run cfn inside a git repository to compare versions")
	}
	if _, err := c.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}"); err != nil {
		if ctx.Err() != nil {
			return side{}, ctx.Err()
		}
		return side{}, withHint(fmt.Errorf("%s is neither a file or folder nor a revision in git", rev), "git log --oneline lists revisions; git tag lists tags")
	}
	out := side{dir: c.Dir}
	if !hasPath {
		if file, err = c.schemaOf(""); err != nil {
			return side{}, withHint(fmt.Errorf("a revision without a path means the schema of the project: %w", err), "add the path of the schema: %s:schema.json", rev)
		}
		file = "./" + filepath.ToSlash(file)
	}
	tree, err := c.treePath(strings.TrimSpace(string(top)), file)
	if err != nil {
		return side{}, err
	}
	kind, err := c.git(ctx, "cat-file", "-t", rev+":"+tree)
	switch {
	case err != nil && ctx.Err() != nil:
		return side{}, ctx.Err()
	case err != nil:
		return side{}, withHint(fmt.Errorf("%s does not contain %s", rev, tree), "paths are relative to the top of the repository; start with ./ for the working folder")
	case strings.TrimSpace(string(kind)) == "tree":
		out.folder = true
		out.schemas, err = c.treeSchemas(ctx, rev, tree, cfg)
		return out, err
	}
	one, err := c.blob(ctx, rev, tree, cfg)
	out.schemas = []*schema.Schema{one}
	return out, err
}

// treePath is a path in a revision of git: relative to the root of the repository.
func (c *app) treePath(top, file string) (string, error) {
	clean := path.Clean(filepath.ToSlash(file))
	if strings.HasPrefix(file, "./") || strings.HasPrefix(file, "../") || file == "." || file == ".." {
		dir, err := filepath.EvalSymlinks(c.Dir)
		if err != nil {
			return "", err
		}
		rel, err := filepath.Rel(filepath.FromSlash(top), dir)
		if err != nil {
			return "", err
		}
		clean = path.Join(filepath.ToSlash(rel), clean)
	}
	if clean == "." || clean == "/" {
		return "", nil
	}
	if strings.HasPrefix(clean, "../") || clean == ".." || strings.HasPrefix(clean, "/") {
		return "", fmt.Errorf("%s is outside the repository", file)
	}
	return clean, nil
}

// treeSchemas reads the schemas directly in a folder of a revision.
func (c *app) treeSchemas(ctx context.Context, rev, tree string, cfg schema.Config) ([]*schema.Schema, error) {
	list, err := c.git(ctx, "ls-tree", "-z", "--end-of-options", rev+":"+tree)
	if err != nil {
		return nil, err
	}
	var out []*schema.Schema
	entries := strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00")
	if len(entries) > gitFiles {
		return nil, fmt.Errorf("%s:%s has %d entries; the limit is %d", rev, tree, len(entries), gitFiles)
	}
	for _, entry := range entries {
		about, name, _ := strings.Cut(entry, "\t")
		if !isDocument(name) || !slices.Contains(strings.Fields(about), "blob") || strings.HasPrefix(about, "120000") {
			continue
		}
		data, err := c.git(ctx, "cat-file", "blob", rev+":"+path.Join(tree, name))
		if err != nil {
			return nil, err
		}
		if !looksLikeSchema(name, data) {
			continue
		}
		one, err := versionInGit(rev, path.Join(tree, name), data, cfg)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("folder %s:%s does not contain a schema", rev, tree)
	}
	return out, nil
}

func (c *app) blob(ctx context.Context, rev, tree string, cfg schema.Config) (*schema.Schema, error) {
	data, err := c.git(ctx, "cat-file", "blob", rev+":"+tree)
	if err != nil {
		return nil, err
	}
	return versionInGit(rev, tree, data, cfg)
}

// versionInGit loads a schema of a revision. Files beside it are in the working tree and may
// be of another version: the folder in its name does not exist.
func versionInGit(rev, tree string, data []byte, cfg schema.Config) (*schema.Schema, error) {
	if !strings.Contains(tree, "/") {
		tree = "./" + tree
	}
	return loadVersion(rev+":"+tree, data, cfg)
}

// sourceInGit is the text of a schema of a revision, by its name from versionInGit; nil if it
// does not exist.
func (c *app) sourceInGit(ctx context.Context, name string) []byte {
	rev, file, found := strings.Cut(name, ":")
	if !found || rev == "" || strings.HasPrefix(rev, "-") {
		return nil
	}
	data, err := c.git(ctx, "cat-file", "blob", rev+":"+strings.TrimPrefix(file, "./"))
	if err != nil {
		return nil
	}
	return data
}

// gitEnviron keeps git from asking, from fetching and from writing.
func (c *app) gitEnviron() []string {
	return append(slices.Clone(c.Environ), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
}

// git runs a command of git that only reads, in the working folder.
func (c *app) git(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.Dir
	cmd.Env = c.gitEnviron()
	cmd.WaitDelay = gitWait
	var stderr bytes.Buffer
	cmd.Stderr = &limited{&stderr, 4 << 10}
	var stdout bytes.Buffer
	output := &limited{&stdout, gitOutput}
	cmd.Stdout = output
	err := cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed")
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("git did not finish within %s", gitTimeout)
	case err != nil:
		if message := sentence(strings.TrimSpace(stderr.String())); message != "" {
			return nil, errors.New(message)
		}
		return nil, fmt.Errorf("git: %w", err)
	case output.left == 0:
		return nil, fmt.Errorf("git returned more than %d bytes", gitOutput)
	}
	return stdout.Bytes(), nil
}

// limited keeps the first bytes that are written to it, and takes the rest for nothing.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
