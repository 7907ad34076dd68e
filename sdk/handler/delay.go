package handler

import (
	"math"
	"time"
)

// A Delay says how long to wait before attempt number attempt+1. Attempts
// count from 1, so Delay(1) is the wait after the first try. Zero or less
// means: give up.
//
// A Delay is a pure function of the attempt. Handlers are stopped and called
// again between two attempts, often in another process, so nothing but the
// attempt can be remembered; the total time spent waiting is computed from it.
type Delay func(attempt int) time.Duration

// Constant waits delay each time, until the waits together would pass timeout.
func Constant(delay, timeout time.Duration) Delay {
	return bounded(timeout, func(int) time.Duration { return delay })
}

// Exponential waits first, twice as long, four times as long and so on, until
// the waits together would pass timeout.
func Exponential(first, timeout time.Duration) Delay {
	return CappedExponential(first, math.MaxInt64, timeout)
}

// CappedExponential waits like [Exponential], but never longer than most at once.
func CappedExponential(first, most, timeout time.Duration) Delay {
	return bounded(timeout, func(attempt int) time.Duration {
		delay := first
		for range attempt - 1 {
			if delay >= most || delay > math.MaxInt64/2 {
				break
			}
			delay *= 2
		}
		return min(delay, most)
	})
}

// MultipleOf grows in equal steps: it waits delay, and at attempt n after that
// delay × multiple × (n-1), until the waits together would pass timeout.
func MultipleOf(delay time.Duration, multiple int, timeout time.Duration) Delay {
	return bounded(timeout, func(attempt int) time.Duration {
		if attempt <= 1 {
			return delay
		}
		factor := float64(multiple) * float64(attempt-1)
		if wait := float64(delay) * factor; wait < math.MaxInt64 {
			return time.Duration(wait)
		}
		return math.MaxInt64
	})
}

// Blended uses up one delay after the other: the second counts its attempts
// from 1 again when the first has given up.
func Blended(delays ...Delay) Delay {
	return func(attempt int) time.Duration {
		for i, delay := range delays {
			if i == len(delays)-1 {
				return delay(attempt)
			}
			used := 0
			for used < attempt && delay(used+1) > 0 {
				used++
			}
			if used == attempt {
				return delay(attempt)
			}
			attempt -= used
		}
		return 0
	}
}

// maxAttempts keeps the sums of bounded short whatever the arguments are.
const maxAttempts = 100_000

// bounded gives up when the waits up to and with this attempt pass timeout.
func bounded(timeout time.Duration, wait func(attempt int) time.Duration) Delay {
	return func(attempt int) time.Duration {
		if attempt < 1 || attempt > maxAttempts {
			return 0
		}
		var total time.Duration
		for n := 1; ; n++ {
			next := wait(n)
			if next <= 0 || next > timeout-total {
				return 0
			}
			total += next
			if n == attempt {
				return next
			}
		}
	}
}

// DefaultDelay is used by chains that set no other: 5 s each time, for 20 min.
func DefaultDelay(attempt int) time.Duration {
	return Constant(5*time.Second, 20*time.Minute)(attempt)
}
