package local_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// idleStart is about how long a server takes to start on an idle machine.
const idleStart = 100 * time.Millisecond

// timeScale divides the second that the things wait between their calls.
const timeScale = 20

// TestKillStacks kills a server at random moments while stacks are created, updated, rolled back
// and deleted. Each operation must end as it does when no server dies, with the same events, as
// many calls, and every thing made once and none left. FORMWORK_KILLS says how often (5),
// FORMWORK_SEED how the chances fall.
func TestKillStacks(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	if testing.Short() {
		t.Skip("skipped: -short leaves out what takes servers that die")
	}
	t.Parallel()
	killWhile(t, 1, slices.Sorted(maps.Keys(scripts))...)
}

// TestKillChanges is TestKillStacks for change sets, imports, refactors and drift detection:
// nothing is lost, and nothing is made, imported or moved twice.
func TestKillChanges(t *testing.T) {
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Skip("skipped: what is left of a killed server is looked for in /proc")
	}
	if testing.Short() {
		t.Skip("skipped: -short leaves out what takes servers that die")
	}
	t.Parallel()
	killWhile(t, 3, slices.Sorted(maps.Keys(changeScripts))...)
}

// killWhile kills a server at random moments while several stacks at once are taken through each
// of some scripts.
func killWhile(t *testing.T, several int, names ...string) {
	t.Helper()
	kills, _ := number(t, "FORMWORK_KILLS", 5)
	seed, _ := number(t, "FORMWORK_SEED", int(rand.Uint32()))
	t.Logf("FORMWORK_SEED=%d", seed)
	chances := rand.New(rand.NewPCG(uint64(seed), 4))
	world, data := newLedger(t)
	m := newTorment(t, world, names...)
	options := serverOptions{Dir: t.TempDir() + "/data", TimeScale: timeScale}
	server := mustStart(t, options)
	m.up(server)
	registerThings(t, newClients(t, server.url), data, childTemplate)
	m.refer()

	work := m.begin(chances, several)
	var ready []time.Duration
	var deaths []kill
	for range rounds(t, kills) {
		// On a busy machine servers live longer: they must get something done before they die.
		life := time.Duration(50+chances.IntN(1200)) * time.Millisecond
		letRun(life * min(max(server.took/idleStart, 1), 6))
		if work.failed() {
			break
		}
		m.down(server)
		server.kill()
		death := kill{at: time.Now()}
		if chances.IntN(10) == 0 { // while it starts
			startAndKill(t, options, time.Duration(1+chances.IntN(150))*time.Millisecond)
		}
		death.started = time.Now()
		if n := len(deaths); n > 0 {
			deaths[n-1].next = death.at
		}
		deaths = append(deaths, death)
		server = mustStart(t, options)
		ready = append(ready, server.took)
		m.up(server)
	}
	work.finish()
	world.checkTwice(t)
	server.terminate(t)
	checkRows(t, options)
	deaths[len(deaths)-1].next = time.Now()
	resumed := m.recoveries(deaths)
	t.Logf("%d kills, %d operations, %d calls that ended; ready after %s, work taken up after %s", len(deaths), m.settled, m.calls(), spread(ready), spread(resumed))
	// Where even an idle server takes long to start, the machine is too busy to tell.
	if limit := 3 * time.Second; len(resumed) > 4 && percentile(resumed, 50) > limit && percentile(ready, 50) < 3*idleStart {
		t.Errorf("half of the restarts took more than %s to take up the work", limit)
	}
}

// startAndKill starts a server and kills it after a while, ready or not.
func startAndKill(t *testing.T, options serverOptions, life time.Duration) {
	t.Helper()
	options.life = life
	if p, err := startProcess(t, options); err == nil {
		p.kill()
	}
}

// refer takes a stack through each script while nothing happens to the servers.
func (m *torment) refer() {
	m.t.Helper()
	var all sync.WaitGroup
	for _, name := range m.names {
		all.Go(func() {
			d := &driver{torment: m, script: name, stack: "ref" + name, chances: rand.New(rand.NewPCG(1, 1))}
			if err := d.run(m.t.Context(), script(name)); err != nil {
				m.t.Error(err)
			}
		})
	}
	all.Wait()
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// labor is what goes on while servers die.
type labor struct {
	torment *torment
	ctx     context.Context
	stop    context.CancelFunc // no new stacks
	all     sync.WaitGroup

	mu     sync.Mutex
	errors []error
}

// begin takes stack after stack through the scripts, several of each at once.
func (m *torment) begin(chances *rand.Rand, several int) *labor {
	return m.labor(chances, several, true)
}

// beginOnce takes several stacks through each script.
func (m *torment) beginOnce(chances *rand.Rand, several int) *labor {
	return m.labor(chances, several, false)
}

func (m *torment) labor(chances *rand.Rand, several int, again bool) *labor {
	w := &labor{torment: m}
	stopping, stop := context.WithCancel(m.t.Context())
	w.ctx, w.stop = stopping, stop
	for _, name := range m.names {
		for range several {
			own := rand.New(rand.NewPCG(chances.Uint64(), 5))
			w.all.Go(func() {
				for n := 0; n == 0 || again && stopping.Err() == nil; n++ {
					d := &driver{torment: m, script: name, stack: m.newName(name), chances: own, disturbed: true}
					if err := d.run(m.t.Context(), script(name)); err != nil {
						w.mu.Lock()
						w.errors = append(w.errors, err)
						w.mu.Unlock()
						return
					}
				}
			})
		}
	}
	return w
}

// newName names a stack.
func (m *torment) newName(script string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stacks++
	return fmt.Sprintf("%s%05d", script, m.stacks)
}

func (w *labor) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.errors) > 0
}

// finish waits until every stack has come to the end of its script.
func (w *labor) finish() {
	w.torment.t.Helper()
	w.stop()
	w.all.Wait()
	for _, err := range w.errors {
		w.torment.t.Error(err)
	}
}

// A kill is the death of a server. It has an end when the next one of all of them is due.
type kill struct {
	at, started, next time.Time // started is when a server was there to take the work up
	node              string    // "" for all
}

// recoveries are, for each kill, how long it took until every operation that the dead server had
// under way was called again. One that was cancelled meanwhile is not called again.
func (m *torment) recoveries(kills []kill) []time.Duration {
	var all []time.Duration
	lines := m.ledger.journal(m.t)
	for _, k := range kills {
		pending := map[string]bool{}
		var last time.Duration
		for _, line := range lines {
			at := time.Unix(0, line.At)
			switch {
			case line.Action == "READ":
			case at.Before(k.at) && (line.over() || k.node != "" && line.Node != k.node):
				delete(pending, line.Token)
			case at.Before(k.at):
				pending[line.Token] = true
			case at.After(k.started) && pending[line.Token]:
				delete(pending, line.Token)
				if at.After(k.next) { // the next kill came first
					at = k.next
				}
				last = max(last, at.Sub(k.started))
			}
		}
		if last > 0 {
			all = append(all, last)
		}
	}
	return all
}

// calls counts the operations whose handler has come to an end.
func (m *torment) calls() int {
	n := 0
	for _, line := range m.ledger.journal(m.t) {
		if line.over() {
			n++
		}
	}
	return n
}

// checkRows looks for rows that nobody would ever look at again.
func checkRows(t *testing.T, options serverOptions) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{Dir: options.Dir, DSN: options.Database})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for what, query := range map[string]string{
		"an operation on a resource that does not end": `SELECT count(*) FROM operations WHERE ended_at IS NULL`,
		"an operation on a stack that does not end":    `SELECT count(*) FROM stack_operations WHERE ended_at IS NULL`,
		"a wake-up for nothing":                        `SELECT count(*) FROM wakeups WHERE kind <> 'sweep'`,
		"a step of an operation that ended":            `SELECT count(*) FROM stack_steps`,
		"a resource that is not cleaned up":            `SELECT count(*) FROM stack_cleanup`,
		"a live stack":                                 `SELECT count(*) FROM stacks WHERE live`,
		"a stack refactor that does not end":           `SELECT count(*) FROM stack_refactors WHERE status = 'CREATE_IN_PROGRESS' OR execution_status LIKE '%_IN_PROGRESS'`,
		"a drift detection that does not end":          `SELECT count(*) FROM stack_drift_detections WHERE ended_at IS NULL`,
		"a bearer token":                               `SELECT count(*) FROM handler_progress`,
	} {
		var n int
		if err := store.Query(t.Context(), db.Read(), &n, query); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// percentile is a value that so many percent are not above.
func percentile(all []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// spread says how values are spread.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "(none)"
	}
	return fmt.Sprintf("p50 %s, p95 %s, max %s (%d)", percentile(all, 50).Round(time.Millisecond), percentile(all, 95).Round(time.Millisecond),
		percentile(all, 100).Round(time.Millisecond), len(all))
}
