package local

import "os"

// The handlers of these tests are the binary of the tests, and leave notes in folders of the tests.
func init() { alwaysMounted = []string{os.TempDir() + ":rw"} }
