package template

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// MaxMade is how many bytes the expansion and the evaluation of templates may make for one request. A
// template of two kilobytes can otherwise fill the memory: a loop repeats functions that repeat texts.
const MaxMade = 32 << 20

// A Budget is what remains of [MaxMade] for one request: expansion, modules, conditions and all values
// share it. Several goroutines may use it. Nil has no bound, and is for what was paid for already.
type Budget struct {
	made atomic.Int64
	room func() error // nil always has
}

// NewBudget returns the budget of a request that has made nothing.
func NewBudget() *Budget { return &Budget{} }

type roomKey struct{}

// WithRoom lets [BudgetOf] and [Room] end the requests of a context while the process has no memory for more: room
// returns why, or nil.
func WithRoom(ctx context.Context, room func(context.Context) error) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// Room is what room of [WithRoom] returns, nil without one.
func Room(ctx context.Context) error {
	if room, ok := ctx.Value(roomKey{}).(func(context.Context) error); ok {
		return room(ctx)
	}
	return nil
}

// BudgetOf is NewBudget for a request that ends with the error of [Room].
func BudgetOf(ctx context.Context) *Budget {
	return &Budget{room: func() error { return Room(ctx) }}
}

// roomAfter is after how many bytes the room is looked at again.
const roomAfter = 1 << 20

// Spend takes bytes. The error is the refusal of what is at a place in the template, or that of [Room].
func (b *Budget) Spend(bytes int, at diag.Range, pointer document.Pointer) error {
	if b == nil {
		return nil
	}
	made := b.made.Add(int64(bytes))
	if made > MaxMade {
		b.made.Store(MaxMade + 1) // so that no sum overflows
		return exceeded(at, pointer)
	}
	if b.room != nil && (made == int64(bytes) || made/roomAfter != (made-int64(bytes))/roomAfter) {
		return b.room()
	}
	return nil
}

// allow reports as Spend does whether there is room for bytes, which the caller spends when they are
// made, or not at all if they are not kept.
func (b *Budget) allow(bytes int, at diag.Range, pointer document.Pointer) error {
	if b == nil || b.made.Load()+int64(bytes) <= MaxMade {
		return nil
	}
	return exceeded(at, pointer)
}

// left is how many bytes may be made.
func (b *Budget) left() int {
	if b == nil {
		return MaxMade
	}
	return int(max(0, MaxMade-b.made.Load()))
}

// exceeded names the property, condition or output in which the budget ended. A transform has no pointer:
// it names the line of what it reads.
func exceeded(at diag.Range, pointer document.Pointer) error {
	place := fmt.Sprintf("line %d, column %d", at.Start.Line, at.Start.Column)
	if call := slices.IndexFunc(pointer, func(token string) bool { return strings.HasPrefix(token, "Fn::") || token == "Ref" }); call > 0 {
		pointer = pointer[:call]
	}
	if len(pointer) > 0 {
		place = pointer.String()
	}
	return Refuse(tooMuch, at, pointer, MaxMade, place)
}

// tooMuch is the refusal of what exceeds the budget.
const tooMuch = "value-too-large"

// ends reports whether an error ends the work: no other refusal replaces it.
func ends(err error) bool { return err != nil && (Refused(err) == nil || isExceeded(err)) }

// isExceeded reports whether an error has the refusal of what exceeds the budget, which no other
// refusal replaces.
func isExceeded(err error) bool {
	return slices.ContainsFunc(Refused(err), func(e *Error) bool { return e.ID == "template/"+tooMuch })
}

// What a value takes in memory, in bytes, beside its text.
const (
	valueCost  = 144 // a document.Value
	memberCost = 88  // a document.Member
	itemCost   = 8   // a pointer to a document.Value

	scalarCost = 16 // an evaluated scalar
	slotCost   = 16 // an item of an evaluated list
	entryCost  = 48 // a member of an evaluated map
)

// Cost is about how many bytes a document takes in memory.
func Cost(v *document.Value) int {
	if v == nil {
		return 0
	}
	n := ShallowCost(v) + len(v.Text)
	for _, item := range v.Items {
		n += Cost(item)
	}
	for _, m := range v.Members {
		n += len(m.Key) + Cost(m.Value)
	}
	return n
}

// ShallowCost is how many bytes a copy of a value takes that shares what is in it.
func ShallowCost(v *document.Value) int {
	return valueCost + itemCost*len(v.Items) + memberCost*len(v.Members)
}

// costOf is about how many bytes an evaluated value takes, were nothing in it shared: it is not when
// it is written as JSON.
func costOf(value any) int {
	switch v := value.(type) {
	case string:
		return scalarCost + len(v)
	case json.Number:
		return scalarCost + len(v)
	case []any:
		n := 0
		for _, item := range v {
			n += slotCost + costOf(item)
		}
		return n
	case map[string]any:
		n := entryCost
		for key, item := range v {
			n += entryCost + len(key) + costOf(item)
		}
		return n
	}
	return 0
}

// nodesOf is how many bytes an evaluated value takes as a document.
func nodesOf(value any) int {
	switch v := value.(type) {
	case string:
		return valueCost + len(v)
	case []any:
		n := valueCost
		for _, item := range v {
			n += itemCost + nodesOf(item)
		}
		return n
	case map[string]any:
		n := valueCost
		for key, item := range v {
			n += memberCost + len(key) + nodesOf(item)
		}
		return n
	}
	return valueCost
}

// cost is how many bytes the value of a Ref to the parameter takes.
func (b Bound) cost() int {
	s := b.effective()
	if !b.List {
		return scalarCost + len(s)
	}
	return (slotCost + scalarCost) * (strings.Count(s, ",") + 1)
}
