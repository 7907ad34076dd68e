package bundle

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// A Cache is a folder of unpacked handlers, by the hash of their package.
type Cache struct{ folders files.Cache }

// NewCache returns the cache in a folder, with the clock of the recorded uses.
func NewCache(dir string, now func() time.Time) *Cache {
	return &Cache{files.Cache{Dir: dir, Now: now}}
}

// Touch records the use of a package, if it is unpacked.
func (c *Cache) Touch(hash string) { c.folders.Touch(hash) }

// Sweep removes packages that were not used for that long, and incomplete ones that are older
// than an hour. It returns how many packages it removed.
func (c *Cache) Sweep(ctx context.Context, unused time.Duration) (int, error) {
	removed, err := c.folders.Sweep(ctx, c.folders.Now(), unused, nil)
	if err != nil {
		return removed, fmt.Errorf("sweep the unpacked handlers: %w", err)
	}
	return removed, nil
}

// Code is an unpacked handler with what is needed to run it.
type Code struct {
	Hash     string
	Dir      string // with the code
	Settings project.Settings
	Schema   *schema.Schema
	Targets  []*schema.Schema // of a hook
}

// The names within an entry.
const (
	codeDir = "code"
)

// Get returns the handlers of a package. If they are not unpacked, or damaged, it calls read
// for the package, which also returns a function that ends its use. The error is that of read,
// ctx's, or that of the file system.
func (c *Cache) Get(ctx context.Context, hash string, read func(context.Context) (*Bundle, func(), error)) (*Code, error) {
	var unread error
	dir, err := c.folders.Folder(ctx, hash, func(ctx context.Context, root *os.Root) error {
		b, done, err := read(ctx)
		if unread = err; err != nil {
			return err
		}
		defer done()
		return b.unpackAll(ctx, root)
	})
	if unread != nil {
		return nil, unread
	}
	if err != nil {
		return nil, fmt.Errorf("unpack the handlers: %w", err)
	}
	return load(dir, hash)
}

// unpackAll writes the entry of a cache.
func (b *Bundle) unpackAll(ctx context.Context, root *os.Root) error {
	documents := map[string][]byte{schemaFile: b.SchemaText, project.SettingsFile: b.SettingsText}
	for _, target := range b.TargetSchemas {
		documents[project.TargetsDir+"/"+path.Base(target.File)] = target.Root.AppendJSON(nil)
	}
	for _, dir := range []string{codeDir, project.TargetsDir} {
		if err := root.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	for name, data := range documents {
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
	return err
}

// load reads an entry.
func load(dir, hash string) (*Code, error) {
	code := &Code{Hash: hash, Dir: filepath.Join(dir, codeDir)}
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
