package registry

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// noteTimeout bounds the writing of a note, which the end of the program does not stop.
const noteTimeout = time.Second

// A TestProgress is the current contract test of a run.
type TestProgress struct {
	Test      string // its ID
	Number    int    // from 1
	Total     int
	Shrinking bool // it failed, and is run again with smaller inputs
}

// testNotes are what a run records while it is in progress: for observers, and for the process
// that continues it after a crash.
type testNotes struct {
	Progress *TestProgress            `json:",omitempty"`
	Living   map[int][]map[string]any `json:",omitempty"` // by set: identifiers of what exists
}

// notes are those of a run; none where they cannot be read.
func (r *testRunRow) notes() (notes testNotes) {
	if r.Notes == "" || json.Unmarshal([]byte(r.Notes), &notes) != nil {
		return testNotes{}
	}
	return notes
}

// left describes what an interrupted run that is not continued has left behind, "" for
// nothing.
func (n testNotes) left() string {
	var list []string
	for _, set := range slices.Sorted(maps.Keys(n.Living)) {
		for _, model := range n.Living[set] {
			text, err := json.Marshal(model)
			if err == nil {
				list = append(list, string(text))
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " Resources were left behind: " + strings.Join(list, ", ") + "."
}

// A noteKeeper keeps the notes of a run in its row.
type noteKeeper struct {
	registry *Registry
	ctx      context.Context
	run      *testRunRow
	started  int
	total    int

	mu sync.Mutex
	testNotes
}

// Report implements contract.Reporter.
func (k *noteKeeper) Report(e contract.Event) {
	switch e.Kind {
	case contract.Planned:
		k.total = len(e.Plan.Cases) * len(e.Plan.Sets)
		return
	case contract.Started:
		k.started++
	case contract.Shrinking:
	default:
		return
	}
	k.change(func(notes *testNotes) {
		notes.Progress = &TestProgress{Test: e.Case.ID, Number: k.started, Total: max(k.total, k.started), Shrinking: e.Kind == contract.Shrinking}
	})
	k.registry.announce(k.run.caller(), schema.Kind(k.run.Kind), k.run.TypeName, versionID(k.run.Version), TestProgressed)
}

// living is contract.Config.Living.
func (k *noteKeeper) living(set int, models []map[string]any) {
	k.change(func(notes *testNotes) {
		if notes.Living == nil {
			notes.Living = map[int][]map[string]any{}
		}
		notes.Living[set] = models
		if len(models) == 0 {
			delete(notes.Living, set)
		}
	})
}

// change writes the notes. Resources that were created just when the program is stopped are
// still written; a note that cannot be written does not stop the tests.
func (k *noteKeeper) change(change func(*testNotes)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.testNotes)
	text, err := json.Marshal(k.testNotes)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), noteTimeout)
		defer cancel()
		err = k.registry.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			_, err := store.Exec(ctx, tx, "UPDATE test_runs SET notes = ? WHERE id = ? AND row_version = ?", string(text), k.run.ID, k.run.RowVersion)
			return err
		})
	}
	if err != nil {
		k.registry.log.ErrorContext(k.ctx, "the progress of a test is not kept", "type", k.run.TypeName, "error", err)
	}
}

// discard deletes what an earlier attempt of the run has made, and returns what could not be
// deleted. The error is that of the context.
func (k *noteKeeper) discard(config contract.Config) (left []string, err error) {
	ctx, cancel := context.WithTimeout(k.ctx, discardTimeout)
	defer cancel()
	for _, set := range slices.Sorted(maps.Keys(k.Living)) {
		left = append(left, contract.Discard(ctx, config, k.Living[set])...)
		if err := k.ctx.Err(); err != nil {
			return nil, err
		}
		k.living(set, nil)
	}
	return left, nil
}
