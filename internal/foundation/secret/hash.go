package secret

import (
	"math/bits"
	"math/rand/v2"
)

// The hash of a text is that of Rabin and Karp: a polynomial modulo a prime, at a random
// place. The hash of any part of a text follows from those of two of its prefixes, so that the
// time to check a place in a text does not depend on how long the secrets are. The probability
// that a text is hidden by mistake, because it has the hash of a secret, is about one in 2^48.

const prime = 1<<61 - 1

var base = 1<<32 + rand.Uint64N(prime-1<<33)

// times is a product modulo the prime.
func times(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return reduced(high<<3|low>>61, low&prime)
}

// reduced is a sum of two numbers up to the prime, modulo it.
func reduced(a, b uint64) uint64 {
	sum := a + b
	if sum >= prime {
		sum -= prime
	}
	return sum
}

func next(hash uint64, c byte) uint64 { return reduced(times(hash, base), uint64(c)+1) }

// sum is the hash of a text.
func sum(text string) uint64 {
	hash := uint64(0)
	for i := range len(text) {
		hash = next(hash, text[i])
	}
	return hash
}

// sums has the hashes of the parts of a text.
type sums struct {
	text  string
	first []uint64 // of each prefix; nil until needed
}

// direct is up to how many bytes a part is hashed by itself.
const direct = 32

// of is the hash of text[i : i+n]. The weight of the hash of a prefix in that of a text with n more bytes is powers[n].
func (s *sums) of(i, n int, powers []uint64) uint64 {
	if n <= direct {
		return sum(s.text[i : i+n])
	}
	if s.first == nil {
		s.first = make([]uint64, len(s.text)+1)
		for i := range len(s.text) {
			s.first[i+1] = next(s.first[i], s.text[i])
		}
	}
	return reduced(s.first[i+n], prime-times(s.first[i], powers[n]))
}
