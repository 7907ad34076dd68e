package registry

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Package returns a part of the package of a version of a private type, at most limit bytes from an offset, and the size of the whole
// package. Version "" is the default one.
func (r *Registry) Package(ctx context.Context, caller awswire.Caller, kind schema.Kind, typeName, version string, offset int64, limit int) (part []byte, size int64, err error) {
	_, v, err := r.findOwn(ctx, r.store.Read(), caller, schema.TypeARN{Kind: kind, TypeName: typeName, Version: version})
	if err != nil {
		return nil, 0, err
	}
	blob, size, err := r.store.Blobs().Open(ctx, v.PackageHash)
	if err != nil {
		return nil, 0, fmt.Errorf("open the package of %s: %w", typeName, err)
	}
	defer func() { _ = blob.Close() }() // it was only read
	if offset < 0 || offset > size {
		return nil, 0, refuse("Offset %d is outside of the package, which has %d bytes.", offset, size)
	}
	part = make([]byte, min(int64(limit), size-offset))
	if _, err := blob.ReadAt(part, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read the package of %s: %w", typeName, err)
	}
	return part, size, nil
}
