package words

import "bytes"

// Bounded is a writer that keeps the first Limit bytes of what is written to it, and drops the
// rest without an error.
type Bounded struct {
	Limit int

	kept bytes.Buffer
	full bool
}

// Write implements io.Writer.
func (b *Bounded) Write(p []byte) (int, error) {
	room := min(len(p), b.Limit-b.kept.Len())
	b.full = b.full || room < len(p)
	b.kept.Write(p[:room])
	return len(p), nil
}

// Full reports whether something was dropped.
func (b *Bounded) Full() bool { return b.full }

// Bytes are what was kept, until the next Write.
func (b *Bounded) Bytes() []byte { return b.kept.Bytes() }

// String is what was kept.
func (b *Bounded) String() string { return b.kept.String() }
