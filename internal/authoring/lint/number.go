package lint

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// compareNumbers compares two numbers of a document exactly, -1, 0 or 1. Numbers of more than
// maxNumber characters or with an exponent of more than three digits are compared as floating
// point. It returns false if one of them is not a number.
func compareNumbers(a, b *document.Value) (int, bool) {
	if a == nil || b == nil || a.Kind != document.Number || b.Kind != document.Number {
		return 0, false
	}
	if exact(a.Text) && exact(b.Text) {
		x, okX := newRat(a.Text)
		y, okY := newRat(b.Text)
		if okX && okY {
			return x.Cmp(y), true
		}
	}
	x, errX := strconv.ParseFloat(a.Text, 64)
	y, errY := strconv.ParseFloat(b.Text, 64)
	switch {
	case errX != nil && !isRange(errX), errY != nil && !isRange(errY):
		return 0, false
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

const maxNumber = 100

func exact(text string) bool {
	if len(text) > maxNumber {
		return false
	}
	i := strings.IndexAny(text, "eE")
	return i < 0 || len(strings.TrimLeft(text[i+1:], "+-")) <= 3
}

func isRange(err error) bool { return errors.Is(err, strconv.ErrRange) }

func newRat(text string) (*big.Rat, bool) { return new(big.Rat).SetString(text) }
