package registry

import (
	"sync"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The bounds of the configurations that are kept.
const (
	maxConfigurations = 128
	maxKeptText       = 16 << 10 // of one, in bytes
)

// configurations are those that were read since one of them changed: each call of a handler needs
// one. The zero value is ready for use.
type configurations struct {
	mu    sync.Mutex
	since int // counts the changes
	found map[configurationKey]*configurationRow
}

type configurationKey struct {
	awswire.Place
	arn, alias string
}

// get returns a configuration, nil if there is none. The row must not be changed.
func (c *configurations) get(key configurationKey, read func() (*configurationRow, error)) (*configurationRow, error) {
	c.mu.Lock()
	since := c.since
	row, known := c.found[key]
	c.mu.Unlock()
	if known {
		return row, nil
	}
	row, err := read()
	if err != nil || row != nil && len(row.Configuration) > maxKeptText {
		return row, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since != since {
		return row, nil // it may have changed while it was read
	}
	if c.found == nil || len(c.found) >= maxConfigurations {
		c.found = map[configurationKey]*configurationRow{}
	}
	c.found[key] = row
	return row, nil
}

// forget is called when one has changed.
func (c *configurations) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since++
	c.found = nil
}
