package registry

import (
	"context"
	"fmt"
	"sync"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/bundle"
	"github.com/formwork-dev/formwork/internal/module"
	"github.com/formwork-dev/formwork/internal/schema"
)

// maxFragments is how many fragments of modules are kept.
const maxFragments = 64

// fragments keeps the fragments of packages decoded. The zero value is ready for use.
type fragments struct {
	mu     sync.Mutex
	loaded map[string]*module.Fragment // by the hash of the package
}

// Fragment returns the template fragment of the default version of a module that an account has
// registered or activated, nil if it has none.
func (r *Registry) Fragment(ctx context.Context, caller awswire.Caller, typeName string) (*module.Fragment, error) {
	v, err := r.Resolve(ctx, caller, schema.Module, typeName, "")
	switch {
	case notFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c := &r.fragments
	c.mu.Lock()
	f := c.loaded[v.Package]
	c.mu.Unlock()
	if f != nil {
		return f, nil
	}
	if f, err = r.readFragment(ctx, v); err != nil {
		return nil, fmt.Errorf("read the fragment of %s, version %s: %w", typeName, v.VersionID, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil || len(c.loaded) >= maxFragments {
		c.loaded = map[string]*module.Fragment{} // the next use reads it again
	}
	c.loaded[v.Package] = f
	return f, nil
}

// readFragment reads the package of a version, which was checked when it was registered.
func (r *Registry) readFragment(ctx context.Context, v *Version) (*module.Fragment, error) {
	blob, size, err := r.store.Blobs().Open(ctx, v.Package)
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }() // it was only read
	b, problems, err := bundle.Read(ctx, blob, size, bundle.Config{Label: v.TypeName, Kind: schema.Module, Limits: r.config.Limits})
	if err != nil {
		return nil, err
	}
	if b == nil || b.Fragment == nil {
		return nil, problems.Err()
	}
	return b.Fragment, nil
}
