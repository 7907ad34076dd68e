package handler

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestDelays(t *testing.T) {
	s := time.Second
	tests := []struct {
		name  string
		delay Delay
		want  string // the waits until it gives up; "" looks only for an overflow
	}{
		{"constant", Constant(2*s, 7*s), "[2s 2s 2s]"},
		{"constant, exactly to the end", Constant(2*s, 6*s), "[2s 2s 2s]"},
		{"constant without a wait", Constant(0, 6*s), "[]"},
		{"constant longer than its time-out", Constant(7*s, 6*s), "[]"},
		{"exponential", Exponential(s, 20*s), "[1s 2s 4s 8s]"},
		{"exponential does not overflow", Exponential(math.MaxInt64/4, math.MaxInt64), ""},
		{"capped", CappedExponential(s, 5*s, 20*s), "[1s 2s 4s 5s 5s]"},
		{"multiple of", MultipleOf(2*s, 3, 30*s), "[2s 6s 12s]"},
		{"multiple of does not overflow", MultipleOf(math.MaxInt64/2, 1000, math.MaxInt64), ""},
		{"blended", Blended(Constant(s, 2*s), Constant(5*s, 11*s)), "[1s 1s 5s 5s]"},
		{"blended of three", Blended(Constant(s, s), Constant(2*s, s), Exponential(4*s, 13*s)), "[1s 4s 8s]"},
		{"blended of nothing", Blended(), "[]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			waits := []time.Duration{}
			for attempt := 1; test.delay(attempt) > 0; attempt++ {
				waits = append(waits, test.delay(attempt))
				if len(waits) > 100 {
					t.Fatal("no end")
				}
			}
			if got := fmt.Sprint(waits); got != test.want && test.want != "" {
				t.Errorf("got %s, want %s", got, test.want)
			}
			for _, attempt := range []int{0, -1, len(waits) + 1, 1 << 40} {
				if test.delay(attempt) > 0 {
					t.Errorf("attempt %d still waits", attempt)
				}
			}
			if total := sum(waits); total < 0 {
				t.Errorf("the waits overflow: %v", waits)
			}
		})
	}
}

func sum(waits []time.Duration) (total time.Duration) {
	for _, wait := range waits {
		total += wait
	}
	return total
}

func TestDefaultDelayLastsTwentyMinutes(t *testing.T) {
	if DefaultDelay(240) != 5*time.Second || DefaultDelay(241) != 0 {
		t.Error(DefaultDelay(240), DefaultDelay(241))
	}
}

func TestDelaySeconds(t *testing.T) {
	for d, want := range map[time.Duration]int64{0: 0, -5: 0, 499 * time.Millisecond: 0, 500 * time.Millisecond: 1, time.Minute: 60, math.MaxInt64: 9223372037} {
		if got := delaySeconds(d); got != want && d != math.MaxInt64 {
			t.Errorf("%v: got %d, want %d", d, got, want)
		}
	}
	if delaySeconds(math.MaxInt64) <= 0 {
		t.Error("overflow")
	}
}
