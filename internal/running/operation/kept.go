package operation

import (
	"context"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// recentLife is for how long what was found is not looked for again.
const recentLife = time.Second

// maxRecent bounds how much is kept.
const maxRecent = 256

// Recent keeps what was looked up lately, for a second: a wave of calls looks it up once. The
// zero value is ready for use.
type Recent[K comparable, V any] struct {
	mu    sync.Mutex
	found map[K]recent[V]
}

type recent[V any] struct {
	value V
	until time.Time
}

// Get returns what was found for a key, or looks for it. Errors are not kept.
func (r *Recent[K, V]) Get(now time.Time, key K, look func() (V, error)) (V, error) {
	r.mu.Lock()
	kept, ok := r.found[key]
	r.mu.Unlock()
	if ok && now.Before(kept.until) {
		return kept.value, nil
	}
	value, err := look()
	if err != nil {
		return value, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found == nil || len(r.found) >= maxRecent {
		r.found = map[K]recent[V]{}
	}
	r.found[key] = recent[V]{value, now.Add(recentLife)}
	return value, nil
}

// A VersionKey names a version of a type in an account and region.
type VersionKey struct {
	awswire.Place
	Name, Version string
}

// typeOf is Types.Type. Only a lookup that names its version may be answered by what was found
// lately: the default may have moved since.
func (e *Engine) typeOf(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	if version == "" {
		return e.config.Types.Type(ctx, caller, name, version)
	}
	return e.types.Get(e.config.Now(), VersionKey{caller.Place, name, version}, func() (*Type, error) {
		return e.config.Types.Type(ctx, caller, name, version)
	})
}
