//go:build unix && !linux

package handlers_test

// serveRefused is never called: only tests on Linux start it.
func serveRefused() {}
