package operation

import (
	"context"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
)

// typeLife is for how long a version of a type that was found is not looked for again. A
// wave of calls looks for it once.
const typeLife = time.Second

// maxTypes bounds how many versions of types are kept.
const maxTypes = 256

// keptTypes are versions of types that were found lately.
type keptTypes struct {
	mu    sync.Mutex
	found map[typeKey]keptType
}

type typeKey struct {
	awswire.Place
	name, version string
}

type keptType struct {
	typ   *Type
	until time.Time
}

// typeOf is Types.Type. Only a lookup that names its version may be answered by what was found
// lately: the default may have moved since.
func (e *Engine) typeOf(ctx context.Context, caller awswire.Caller, name, version string) (*Type, error) {
	if version == "" {
		return e.config.Types.Type(ctx, caller, name, version)
	}
	k, key, now := &e.types, typeKey{caller.Place, name, version}, e.config.Now()
	k.mu.Lock()
	kept, ok := k.found[key]
	k.mu.Unlock()
	if ok && now.Before(kept.until) {
		return kept.typ, nil
	}
	typ, err := e.config.Types.Type(ctx, caller, name, version)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil || len(k.found) >= maxTypes {
		k.found = map[typeKey]keptType{}
	}
	k.found[key] = keptType{typ, now.Add(typeLife)}
	return typ, nil
}
