package local

import "os"

// WithLive has a server take the memory that is live from a function.
func WithLive(config Config, live func() uint64) Config {
	config.live = live
	return config
}

// The handlers of these tests are the binary of the tests, and leave notes in folders of the tests.
func init() { alwaysMounted = []string{os.TempDir() + ":rw"} }
