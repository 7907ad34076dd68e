package registry

import (
	"context"
	"sync"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Change notifies a subscriber that a type has changed. It is a hint to read the type again:
// the store has the current state.
type Change struct {
	awswire.Place
	Kind     schema.Kind
	TypeName string
	Version  string // "" if the change is not about one version
	What     Event
}

// An Event is what happened to a type.
type Event string

// What happens to types.
const (
	RegistrationStarted  Event = "registration-started"
	RegistrationMoved    Event = "registration-moved" // to the next stage
	RegistrationComplete Event = "registration-complete"
	RegistrationFailed   Event = "registration-failed"
	DefaultChanged       Event = "default-changed"
	Deregistered         Event = "deregistered"
	ConfigurationChanged Event = "configuration-changed"
)

// pendingChanges is how many changes wait for a subscriber that does not read.
const pendingChanges = 64

// Subscribe returns the changes that this process makes from now on, until ctx ends and closes
// the channel. A subscriber that is more than a few dozen changes behind misses some. Changes
// made by other processes on the same database are not included.
func (r *Registry) Subscribe(ctx context.Context) <-chan Change {
	channel := make(chan Change, pendingChanges)
	r.changes.add(channel)
	context.AfterFunc(ctx, func() { r.changes.remove(channel) })
	return channel
}

// broadcast hands changes to those who listen.
type broadcast struct {
	mu        sync.Mutex
	listeners map[chan Change]struct{}
}

func newBroadcast() *broadcast {
	return &broadcast{listeners: map[chan Change]struct{}{}}
}

func (b *broadcast) add(channel chan Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listeners[channel] = struct{}{}
}

func (b *broadcast) remove(channel chan Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listeners, channel)
	close(channel)
}

// send never waits. It is called after the change is committed.
func (b *broadcast) send(change Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for channel := range b.listeners {
		select {
		case channel <- change:
		default:
		}
	}
}
