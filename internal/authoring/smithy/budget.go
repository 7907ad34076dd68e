package smithy

import (
	"fmt"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// Bounds on the work for models that are made to be tangled. Real models take less than a
// hundredth of either.
const (
	maxSteps      = 20_000_000
	stepsPerShape = 100             // in addition to those
	maxMatchTime  = 2 * time.Second // of all patterns together
)

// A budget bounds the work of one validation.
type budget struct {
	all, left int
	spent     bool
	at        diag.Range // where the work was when it became too much
}

func newBudget(m *Model) *budget {
	all := maxSteps + stepsPerShape*len(m.shapes)
	return &budget{all: all, left: all}
}

// spend takes steps off the budget for work on a shape. False means: stop.
func (b *budget) spend(steps int, s *Shape) bool {
	if b.left -= steps; b.left >= 0 {
		return true
	}
	if !b.spent {
		b.spent, b.at = true, s.At
	}
	return false
}

// event is what a spent budget becomes.
func (b *budget) event() Event {
	return Event{
		ID: "TooTangled", Severity: ErrorSeverity, At: b.at,
		Message: fmt.Sprintf("Checking the model takes more than %d steps. The check stopped here; there may be more problems.", b.all),
		Hint:    "check selectors with several ~> and long cycles of shapes",
	}
}
