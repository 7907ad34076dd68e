package registry

import (
	"context"
	"fmt"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// maxFragments is how many bytes of fragments are kept. Decoded they take many times that.
const maxFragments = 4 << 20

// fragments keeps the fragments of packages decoded. The zero value is ready for use.
type fragments struct {
	mu     sync.Mutex
	loaded map[string]*module.Fragment // by the hash of the package
	size   int
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
	if c.loaded == nil || c.size+len(f.Data) > maxFragments {
		c.loaded, c.size = map[string]*module.Fragment{}, 0 // the next use reads them again
	}
	if c.loaded[v.Package] == nil {
		c.loaded[v.Package] = f
		c.size += len(f.Data)
	}
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
