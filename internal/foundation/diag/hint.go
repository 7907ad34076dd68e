package diag

import "fmt"

// Hinted is an error with what to do next.
type Hinted struct {
	Err  error
	Hint string
}

func (e *Hinted) Error() string { return e.Err.Error() }
func (e *Hinted) Unwrap() error { return e.Err }

// WithHint adds to an error what the user can type or do instead.
func WithHint(err error, format string, args ...any) error {
	return &Hinted{err, fmt.Sprintf(format, args...)}
}
