package handlers

import (
	"testing"
	"time"
)

func TestWhatWasOnlyProbedEndsSooner(t *testing.T) {
	for _, tt := range []struct {
		called      bool
		limit, want time.Duration
	}{
		{false, 10 * time.Minute, probedIdle},
		{false, time.Second, time.Second},
		{true, 10 * time.Minute, 10 * time.Minute},
	} {
		if got := (&entry{called: tt.called}).patience(tt.limit); got != tt.want {
			t.Errorf("called %v, limit %v: got %v, want %v", tt.called, tt.limit, got, tt.want)
		}
	}
}
