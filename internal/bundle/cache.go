package bundle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/project"
	"github.com/formwork-dev/formwork/internal/schema"
)

// A Cache is a folder of unpacked handlers, by the hash of their package. Any number of
// processes share one: an entry appears whole, by a rename, and never changes. What a
// process leaves behind that is killed in the middle is swept later.
type Cache struct {
	// Dir is the folder. It is made when it is first needed.
	Dir string

	// Now is the clock of Sweep and of the recorded uses. Nil means time.Now.
	Now func() time.Time
}

// Code is an unpacked handler with what is needed to run it.
type Code struct {
	Hash     string
	Dir      string // with the code
	Scratch  string // for what interpreters want to keep, such as compiled code
	Settings project.Settings
	Schema   *schema.Schema
	Targets  []*schema.Schema // of a hook
}

// The names within a cache.
const (
	newPrefix  = ".new-"
	oldPrefix  = ".old-"
	codeDir    = "code"
	listFile   = "contents" // the sizes and names of all other files, one in a line
	scratchDir = "scratch"
)

var hashForm = regexp.MustCompile(`^[0-9a-f]{32,128}$`)

// Get returns the handlers of a package. If they are not unpacked, it calls read for the
// package, which also returns a function that ends its use. The error is that of read, ctx's,
// or that of the file system.
func (c *Cache) Get(ctx context.Context, hash string, read func(context.Context) (*Bundle, func(), error)) (*Code, error) {
	if !hashForm.MatchString(hash) {
		return nil, fmt.Errorf("%q is not a hash of a package", hash)
	}
	c.Touch(hash) // before looking: Sweep must see that it is in use
	code, err := c.load(hash)
	if !errors.Is(err, fs.ErrNotExist) {
		return code, err
	}
	b, done, err := read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of unpacked handlers: %w", err)
	}
	// An entry without its parts, as cleaners of old files leave them, makes room.
	if err := c.discard(hash); err != nil {
		return nil, fmt.Errorf("unpack the handlers: %w", err)
	}
	err = place(c.entry(hash), func(root *os.Root) error { return b.unpackAll(ctx, root) })
	if err != nil {
		return nil, err
	}
	return c.load(hash)
}

func (c *Cache) entry(hash string) string { return filepath.Join(c.Dir, hash) }

// Touch records the use of a package, if it is unpacked.
func (c *Cache) Touch(hash string) {
	now := c.now()
	_ = os.Chtimes(c.entry(hash), now, now) // a missing package is not in use
}

func (c *Cache) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// unpackAll writes the entry of a cache.
func (b *Bundle) unpackAll(ctx context.Context, root *os.Root) error {
	files := map[string][]byte{schemaFile: b.SchemaText, project.SettingsFile: b.SettingsText}
	for _, target := range b.TargetSchemas {
		files[project.TargetsDir+"/"+path.Base(target.File)] = target.Root.AppendJSON(nil)
	}
	for _, dir := range []string{codeDir, scratchDir, project.TargetsDir} {
		if err := root.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for name, data := range files {
		if err := root.WriteFile(filepath.FromSlash(name), data, 0o644); err != nil {
			return err
		}
	}
	code, err := root.OpenRoot(codeDir)
	if err != nil {
		return err
	}
	err = b.unpack(ctx, code)
	if closed := code.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return writeList(root)
}

// writeList records what an entry consists of.
func writeList(root *os.Root) error {
	var list strings.Builder
	err := fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintf(&list, "%d %q\n", info.Size(), name)
		}
		return err
	})
	if err != nil {
		return err
	}
	return root.WriteFile(listFile, []byte(list.String()), 0o644)
}

// mostList bounds the list of an entry, in bytes.
const mostList = 64 << 20

// whole reports whether an entry has every file of its list, with the size that it had. A full
// disk, a crash of the machine or a cleaner of old files can shorten or remove some.
func whole(dir string) bool {
	list, err := document.ReadFile(filepath.Join(dir, listFile), mostList)
	if err != nil || len(list) == 0 || list[len(list)-1] != '\n' {
		return false
	}
	for line := range strings.Lines(string(list)) {
		size, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, err := strconv.Unquote(quoted)
		if err != nil || !filepath.IsLocal(filepath.FromSlash(name)) {
			return false
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() || strconv.FormatInt(info.Size(), 10) != size {
			return false
		}
	}
	return true
}

// load reads an entry. The error is fs.ErrNotExist if it is missing, incomplete or damaged.
func (c *Cache) load(hash string) (*Code, error) {
	dir := c.entry(hash)
	code := &Code{Hash: hash, Dir: filepath.Join(dir, codeDir), Scratch: filepath.Join(dir, scratchDir)}
	if info, err := os.Stat(code.Dir); err != nil || !info.IsDir() || !whole(dir) {
		return nil, fs.ErrNotExist
	}
	settings, err := document.ReadFile(filepath.Join(dir, project.SettingsFile), mostSettings)
	if err != nil {
		return nil, err
	}
	root, parsed, problems := project.ParsePackagedSettings(project.SettingsFile, settings)
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("read the unpacked handlers %s: %w", hash, err)
	}
	code.Settings = parsed
	text, err := document.ReadFile(filepath.Join(dir, schemaFile), mostDocument)
	if err != nil {
		return nil, err
	}
	var kind schema.Kind
	if root.Member("artifact_type") != nil {
		kind = parsed.Kind
	}
	code.Schema, _ = schema.Load(schemaFile, text, schema.Config{Kind: kind}) // it had no faults
	if code.Schema == nil {
		return nil, fmt.Errorf("read the unpacked handlers %s: the schema is damaged", hash)
	}
	targets, err := os.ReadDir(filepath.Join(dir, project.TargetsDir))
	if err != nil {
		return nil, err
	}
	for _, entry := range targets {
		text, err := document.ReadFile(filepath.Join(dir, project.TargetsDir, entry.Name()), mostDocument)
		if err != nil {
			return nil, err
		}
		if s, _ := schema.Load(entry.Name(), text, schema.Config{Kind: schema.Resource}); s != nil {
			code.Targets = append(code.Targets, s)
		}
	}
	return code, nil
}

// Sweep removes packages that were not used for that long, and incomplete ones that are older
// than an hour. It returns how many packages it removed.
func (c *Cache) Sweep(ctx context.Context, unused time.Duration) (int, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep the unpacked handlers: %w", err)
	}
	removed := 0
	for _, entry := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		name := entry.Name()
		whole := hashForm.MatchString(name)
		if !whole && !strings.HasPrefix(name, newPrefix) && !strings.HasPrefix(name, oldPrefix) {
			continue // not ours
		}
		age := unused
		if !whole {
			age = time.Hour
		}
		info, err := entry.Info()
		if err != nil || c.now().Sub(info.ModTime()) < age {
			continue
		}
		if !whole {
			err = os.RemoveAll(filepath.Join(c.Dir, name))
		} else if err = c.retire(name, unused); err == nil {
			removed++
		}
		if err != nil && !errors.Is(err, errInUse) {
			return removed, fmt.Errorf("sweep the unpacked handlers: %w", err)
		}
	}
	return removed, nil
}

var errInUse = errors.New("in use")

// retire removes an unused entry. If its use has started meanwhile, the entry is restored.
func (c *Cache) retire(hash string, unused time.Duration) error {
	old := filepath.Join(c.Dir, oldPrefix+rand.Text())
	if err := os.Rename(c.entry(hash), old); err != nil {
		return err
	}
	if info, err := os.Stat(old); err == nil && c.now().Sub(info.ModTime()) < unused {
		if os.Rename(old, c.entry(hash)) == nil {
			return errInUse
		}
	}
	return os.RemoveAll(old)
}

// discard removes an entry that is not whole.
func (c *Cache) discard(hash string) error {
	if _, err := os.Stat(c.entry(hash)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if code, err := c.load(hash); err == nil && code != nil {
		return nil // another process was first
	}
	return c.retire(hash, 0)
}
