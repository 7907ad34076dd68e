package local_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// TestNodesStacks has three servers share a database and the work on stacks, and kills one after
// the other at random moments, each time with another one taking its place. What TestKillStacks
// asks for must hold here, too, and the work of the dead must go on within 30 s. A fifth of
// FORMWORK_KILLS die, one at least.
func TestNodesStacks(t *testing.T) {
	nodesStacks(t, func(p *process) (alive bool) {
		p.kill()
		return false
	})
}

// nodesStacks has nodes fall out, which strike does and reports whether they come back.
func nodesStacks(t *testing.T, strike func(*process) (alive bool)) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: -short leaves out what waits for leases to end")
	}
	t.Parallel()
	database := fixtures.NeedPostgres(t)
	kills, _ := number(t, "FORMWORK_KILLS", 5)
	kills = max(1, kills/5)
	seed, _ := number(t, "FORMWORK_SEED", int(rand.Uint32()))
	t.Logf("FORMWORK_SEED=%d", seed)
	chances := rand.New(rand.NewPCG(uint64(seed), 6))
	world, data := newLedger(t)
	m := newTorment(t, world, slices.Sorted(maps.Keys(scripts))...)
	nodes, keyOf := map[string]*process{}, ""
	start := func() {
		t.Helper()
		dir := t.TempDir() + "/data"
		if keyOf == "" {
			keyOf = dir
		} else {
			copyKey(t, keyOf, dir)
		}
		p := mustStart(t, serverOptions{Dir: dir, Database: database, TimeScale: timeScale})
		nodes[p.url] = p
		m.up(p)
	}
	for range 3 {
		start()
	}
	c, err := m.anyServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	registerThings(t, c, data, childTemplate)
	m.refer()

	var deaths []kill
	var settled []time.Duration
	for range rounds(t, kills) {
		work := m.beginOnce(chances, 2)
		letRun(time.Duration(100+chances.IntN(2500)) * time.Millisecond)
		urls := slices.Sorted(maps.Keys(nodes))
		dead := nodes[urls[chances.IntN(len(urls))]]
		m.down(dead)
		alive := strike(dead)
		death := kill{at: time.Now(), started: time.Now(), node: dead.url}
		delete(nodes, dead.url)
		start()
		work.finish()
		death.next = time.Now()
		if alive {
			nodes[dead.url] = dead
			m.up(dead)
		} else {
			deaths = append(deaths, death)
		}
		settled = append(settled, death.next.Sub(death.at))
		if t.Failed() {
			break
		}
	}
	world.checkTwice(t)
	m.checkNodes(t, nodes, database, deaths, settled)
}

// checkNodes ends the nodes and checks what they have done.
func (m *torment) checkNodes(t *testing.T, nodes map[string]*process, database string, deaths []kill, settled []time.Duration) {
	t.Helper()
	t.Logf("%d operations, nodes of one stack: %v", m.settled, m.share())
	for _, p := range nodes {
		p.terminate(t)
	}
	checkRows(t, serverOptions{Database: database})
	resumed := m.recoveries(deaths)
	t.Logf("%d nodes fell out, %d calls that ended; work taken up after %s, all stacks at the end of their scripts after %s", len(settled), m.calls(), spread(resumed), spread(settled))
	if len(resumed) > 0 && percentile(resumed, 100) > takeover {
		t.Errorf("the work of a dead node was taken up after %s, want %s", percentile(resumed, 100), takeover)
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(m.share())), func(n int) bool { return n > 1 }) {
		t.Error("no two nodes worked on the same stack")
	}
}

// share counts the nodes that called handlers for the operations of one stack, for each of those
// whose script is called life.
func (m *torment) share() map[string]int {
	nodes := map[string]map[string]bool{}
	for _, line := range m.ledger.journal(m.t) {
		_, rest, _ := strings.Cut(line.Stack, ":stack/")
		name, _, _ := strings.Cut(rest, "/")
		if strings.Contains(name, "life") && !strings.Contains(name, "-") {
			if nodes[name] == nil {
				nodes[name] = map[string]bool{}
			}
			nodes[name][line.Node] = true
		}
	}
	counts := map[string]int{}
	for name, of := range nodes {
		counts[name] = len(of)
	}
	return counts
}
