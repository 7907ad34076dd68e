package local_test

import (
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// outage is how long a database is away: 5 s, or 30 s with FORMWORK_TORTURE.
func outage(t *testing.T) time.Duration {
	if n, _ := number(t, "FORMWORK_TORTURE", 0); n > 0 {
		return 30 * time.Second
	}
	return 5 * time.Second
}

// backAfter is how long it may take after an outage until all work goes on.
const backAfter = 30 * time.Second

// TestDatabaseAway takes the database away in the middle of the work on stacks: PostgreSQL is
// stopped as by pg_ctl stop -m immediate and started again, SQLite is locked by another program.
// Each operation must end as it does when nothing happens.
func TestDatabaseAway(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what takes databases away")
	}
	for name, take := range map[string]func(t *testing.T, config *local.Config) (away, back func()){
		"sqlite":   lockSQLite,
		"postgres": stopPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := local.Config{Dir: filepath.Join(t.TempDir(), "data"), TimeScale: timeScale}
			away, back := take(t, &config)
			world, data := newLedger(t)
			m := newTorment(t, world, "life", "sets")
			url := serving(t, local.ServerConfig{Config: config}).URL()
			m.serve(url)
			registerThings(t, newClients(t, url), data, childTemplate)
			m.refer()

			work := m.beginOnce(rand.New(rand.NewPCG(1, 7)), 1)
			letRun(700 * time.Millisecond)
			away()
			gone := kill{at: time.Now()}
			letRun(outage(t))
			back()
			gone.started = time.Now()
			work.finish()
			gone.next = time.Now()
			world.checkTwice(t)
			resumed := m.recoveries([]kill{gone})
			t.Logf("away for %s; %d operations, %d calls that ended, work taken up after %s", outage(t), m.settled, m.calls(), spread(resumed))
			if len(resumed) > 0 && resumed[0] > backAfter {
				t.Errorf("the work goes on %s after the database is back, want %s", resumed[0], backAfter)
			}
		})
	}
}

// stopPostgres stops a server of PostgreSQL.
func stopPostgres(t *testing.T, config *local.Config) (away, back func()) {
	t.Helper()
	server := fixtures.NewPostgresServer(t)
	config.Database = server.DSN
	return server.Stop, server.Start
}

// lockSQLite locks a database of SQLite.
func lockSQLite(t *testing.T, config *local.Config) (away, back func()) {
	t.Helper()
	file := filepath.Join(config.Dir, "formwork.db")
	var db *sql.DB
	run := func(conn *sql.Conn, statement string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var conn *sql.Conn
	away = func() {
		var err error
		if db, err = sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(20000)"); err != nil {
			t.Fatal(err)
		}
		if conn, err = db.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
		run(conn, "BEGIN IMMEDIATE")
	}
	back = func() {
		run(conn, "ROLLBACK")
		_ = conn.Close()
		_ = db.Close()
	}
	return away, back
}

// TestClockJumps sets the clock an hour forward and back again and again while stacks are worked
// on. Each operation must end as it does when nobody sets the clock.
func TestClockJumps(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out what waits")
	}
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			t.Parallel()
			var offset atomic.Int64
			config := local.Config{Dir: place.Dir, Database: place.DSN, TimeScale: timeScale, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
			if config.Dir == "" {
				config.Dir = filepath.Join(t.TempDir(), "data")
			}
			world, data := newLedger(t)
			m := newTorment(t, world, "life", "sets")
			url := serving(t, local.ServerConfig{Config: config}).URL()
			m.serve(url)
			registerThings(t, newClients(t, url), data, childTemplate)
			m.refer()

			work := m.beginOnce(rand.New(rand.NewPCG(1, 8)), 1)
			jumps := []time.Duration{time.Hour, -time.Hour, -time.Hour, time.Hour, -time.Hour, time.Hour}
			began := time.Now()
			for _, jump := range jumps {
				letRun(700 * time.Millisecond)
				offset.Add(int64(jump))
			}
			work.finish()
			world.checkTwice(t)
			took := time.Since(began)
			t.Logf("%d jumps; %d operations, %d calls that ended, after %s", len(jumps), m.settled, m.calls(), took.Round(time.Second))
			if took > 5*time.Minute {
				t.Errorf("the work took %s", took)
			}
		})
	}
}
