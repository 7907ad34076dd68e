package local_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if options := os.Getenv(childVar); options != "" {
		if err := serveAsChild(options); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
