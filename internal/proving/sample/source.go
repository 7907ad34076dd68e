package sample

import "math/bits"

// A source is a stream of pseudo-random numbers (SplitMix64). It is written out here
// because the same seed must give the same models with every release of Go, and because
// it can be forked by a label: what one property is given depends on its own name and not
// on the properties next to it, so that a schema may grow without changing every example.
type source uint64

const golden = 0x9E3779B97F4A7C15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// fork derives an independent stream. It does not advance s.
func (s source) fork(label string) source {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(label) {
		h = (h ^ uint64(label[i])) * 1099511628211
	}
	return source(mix(uint64(s) ^ mix(h)))
}

// at derives an independent stream by number.
func (s source) at(i int) source {
	return source(mix(uint64(s) + golden*(uint64(i)+1) ^ 0xA5A5A5A5))
}

func (s *source) next() uint64 {
	*s += golden
	return mix(uint64(*s))
}

// below is a number in [0, n), 0 if n is not positive.
func (s *source) below(n int) int {
	if n <= 1 {
		return 0
	}
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// between is a number in [low, high].
func (s *source) between(low, high int) int { return low + s.below(high-low+1) }

// oneIn is true once in n times.
func (s *source) oneIn(n int) bool { return s.below(n) == 0 }

// shuffle brings the first n of something into a random order.
func (s *source) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, s.below(i+1))
	}
}
