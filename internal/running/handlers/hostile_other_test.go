//go:build !linux

package handlers_test

func serveHostile() {}

func serveHostileUntilKilled() {}
