package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// The test binary doubles as another process: with childVar set it behaves as one of
// children instead of running tests, with a store in the place that the others name.
const (
	childVar = "TEST_STORE_CHILD"
	dirVar   = "TEST_STORE_DIR"
	dsnVar   = "TEST_STORE_DSN"
	nameVar  = "TEST_STORE_NAME"
)

// testLease is short enough to be waited for.
const testLease = time.Second

var children = map[string]func(s *Store, name string) error{
	"hold":  holdFolder,
	"churn": churn,
	"share": share,
	"long":  runLong,
}

func TestMain(m *testing.M) {
	child, ok := children[os.Getenv(childVar)]
	if !ok {
		os.Exit(m.Run())
	}
	s, err := Open(context.Background(), Config{Dir: os.Getenv(dirVar), DSN: os.Getenv(dsnVar), Lease: testLease, Concurrency: 4})
	if err == nil {
		err = child(s, os.Getenv(nameVar))
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// A process is a child and the lines it prints.
type process struct {
	cmd   *exec.Cmd
	lines chan string
}

func startChild(t *testing.T, config Config, child, name string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+child, dirVar+"="+config.Dir, dsnVar+"="+config.DSN, nameVar+"="+name)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // children end when it does
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 100000)}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		stdin.Close()
		p.kill()
	})
	return p
}

// expect reads a line, which must not be an error.
func (p *process) expect(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok || strings.HasPrefix(line, "error:") {
			t.Fatalf("the child ended: %s", line)
		}
		return line
	case <-time.After(2 * time.Minute):
		t.Fatal("the child says nothing")
		return ""
	}
}

// kill ends the process as kill -9 does, and returns what it had still printed.
func (p *process) kill() []string {
	_ = p.cmd.Process.Kill()
	var rest []string
	for line := range p.lines {
		rest = append(rest, line)
	}
	_ = p.cmd.Wait()
	return rest
}

// untilParentEnds keeps a child from outliving a test that failed.
func untilParentEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }

func holdFolder(*Store, string) error {
	fmt.Println("open")
	untilParentEnds()
	return nil
}

func TestFolderIsLocked(t *testing.T) {
	config := Config{Dir: fixtures.TempDir(t)}
	holder := startChild(t, config, "hold", "")
	holder.expect(t)
	_, err := Open(t.Context(), config)
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("got %v, want a LockedError", err)
	}
	if locked.PID != holder.cmd.Process.Pid || locked.Dir != config.Dir {
		t.Errorf("got %+v, want process %d in %s", locked, holder.cmd.Process.Pid, config.Dir)
	}
	if !strings.Contains(err.Error(), strconv.Itoa(locked.PID)) || !strings.Contains(err.Error(), "stop it, or choose another folder") {
		t.Errorf("the message does not help: %v", err)
	}
	holder.kill()
	open(t, config)
	if _, err := Open(t.Context(), config); !errors.As(err, &locked) {
		t.Errorf("opened twice in one process: %v", err)
	}
}

// churn wakes ids of its own, and prints each when it is acknowledged. Its
// worker counts every effect by compare-and-set.
func churn(s *Store, name string) error {
	go untilParentEndsThenExit()
	if err := s.Work(context.Background(), runs(map[string]Run{"effect": effect(s, name)})); err != nil {
		return err
	}
	for i := range 200 { // as many as a test waits for at most, and some
		id := fmt.Sprintf("%s-%06d", name, i)
		err := s.Write(context.Background(), func(ctx context.Context, tx *Tx) error {
			if _, err := Exec(ctx, tx, "INSERT INTO effects (id, done, by_node) VALUES (?, 0, '')", id); err != nil {
				return err
			}
			return tx.Wake(ctx, "effect", id, time.Time{})
		})
		if err != nil {
			return err
		}
		fmt.Println(id)
	}
	select {}
}

func untilParentEndsThenExit() {
	untilParentEnds()
	os.Exit(0)
}

// effect is a worker that moves a row from 0 to 1, and notices when it did not.
func effect(s *Store, name string) Run {
	return func(ctx context.Context, id string) (time.Time, error) {
		var done int
		if err := Query(ctx, s.Read(), &done, "SELECT done FROM effects WHERE id = ?", id); err != nil {
			return time.Time{}, err
		}
		if done > 0 {
			return time.Time{}, nil
		}
		return time.Time{}, s.Write(ctx, func(ctx context.Context, tx *Tx) error {
			_, err := Exec(ctx, tx, "UPDATE effects SET done = done + 1, by_node = ? WHERE id = ? AND done = ?", name, id, done)
			return err
		})
	}
}

func makeEffects(t *testing.T, s *Store) {
	t.Helper()
	if _, err := Exec(t.Context(), s.on(s.writer), "CREATE TABLE effects (id TEXT NOT NULL PRIMARY KEY, done BIGINT NOT NULL, by_node TEXT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
}

// TestKilledAtAnyMoment kills a busy process again and again. What it acknowledged is
// there, every effect of it comes about, and each of them once.
func TestKilledAtAnyMoment(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		config.Lease = testLease
		s := open(t, config)
		makeEffects(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var acknowledged []string
		for round, after := range []int{1, 2, 3, 7, 20, 50, 120} {
			child := startChild(t, config, "churn", fmt.Sprint("n", round))
			for range after {
				acknowledged = append(acknowledged, child.expect(t))
			}
			acknowledged = append(acknowledged, child.kill()...)
		}
		s = open(t, config)
		var ids []string
		if err := Query(t.Context(), s.Read(), &ids, "SELECT id FROM effects ORDER BY id"); err != nil {
			t.Fatal(err)
		}
		for _, id := range acknowledged {
			if _, found := slices.BinarySearch(ids, id); !found {
				t.Errorf("%s was acknowledged and is lost", id)
			}
		}
		t.Logf("%d effects, %d acknowledged, %d unfinished", len(ids), len(acknowledged), len(waiting(t, s)))
		work(t, s, map[string]Run{"effect": effect(s, "last")})
		idle(t, s)
		var wrong []string
		if err := Query(t.Context(), s.Read(), &wrong, "SELECT id FROM effects WHERE done <> 1"); err != nil {
			t.Fatal(err)
		}
		if len(wrong) > 0 {
			t.Errorf("%d of %d effects did not come about once: %q", len(wrong), len(ids), wrong[:min(5, len(wrong))])
		}
	})
}

// share works for a second node.
func share(s *Store, name string) error {
	slow := func(ctx context.Context, id string) (time.Time, error) {
		time.Sleep(2 * time.Millisecond)
		return effect(s, name)(ctx, id)
	}
	if err := s.Work(context.Background(), runs(map[string]Run{"effect": slow})); err != nil {
		return err
	}
	fmt.Println("ready")
	untilParentEnds()
	return nil
}

func TestNodesShareTheWork(t *testing.T) {
	config := postgres(t)
	s := open(t, config)
	makeEffects(t, s)
	nodes := []*process{startChild(t, config, "share", "a"), startChild(t, config, "share", "b")}
	for _, node := range nodes {
		node.expect(t)
	}
	const count = 300
	if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		for i := range count {
			id := fmt.Sprint(i)
			if _, err := Exec(ctx, tx, "INSERT INTO effects (id, done, by_node) VALUES (?, 0, '')", id); err != nil {
				return err
			}
			if err := tx.Wake(ctx, "effect", id, time.Time{}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	idle(t, s)
	for _, node := range []string{"a", "b"} {
		n, err := Count(t.Context(), s.Read(), "FROM effects WHERE by_node = ? AND done = 1", node)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("node %s had %d of %d", node, n, count)
		if n == 0 {
			t.Errorf("node %s had nothing to do", node)
		}
	}
}

// runLong has a worker that runs until the process ends.
func runLong(s *Store, _ string) error {
	if err := s.Work(context.Background(), runs(map[string]Run{"long": func(_ context.Context, id string) (time.Time, error) {
		fmt.Println(id)
		select {}
	}})); err != nil {
		return err
	}
	untilParentEnds()
	return nil
}

// TestLongWorkIsTakenOverFromTheDead shows both sides of the lease: a node that lives keeps its
// work for much longer than the lease, and a node that is killed loses it.
func TestLongWorkIsTakenOverFromTheDead(t *testing.T) {
	config := postgres(t)
	config.Lease = testLease
	s := open(t, config)
	node := startChild(t, config, "long", "")
	wake(t, s, "long", "id", time.Time{})
	if line := node.expect(t); line != "id" {
		t.Fatalf("the node runs %q", line)
	}
	var r recorder
	work(t, s, map[string]Run{"long": r.work})
	time.Sleep(3 * testLease) // what must not happen would have happened by now
	if got := r.seen(); len(got) != 0 {
		t.Fatalf("%q was taken from a node that lives", got)
	}
	node.kill()
	idle(t, s)
	if got := r.seen(); !slices.Equal(got, []string{"id"}) {
		t.Errorf("ran %q", got)
	}
}

// TestSilentNodeStops shows that a node whose lease was taken away ends its workers, and
// works on under a new name.
func TestSilentNodeStops(t *testing.T) {
	config := postgres(t)
	config.Lease = testLease
	s := open(t, config)
	var runs atomic.Int32
	causes := make(chan error, 1)
	work(t, s, map[string]Run{"k": func(ctx context.Context, _ string) (time.Time, error) {
		if runs.Add(1) == 1 {
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return time.Time{}, ctx.Err()
		}
		return time.Time{}, nil
	}})
	wake(t, s, "k", "id", time.Time{})
	fixtures.Await(t, "the worker runs", func() bool { return runs.Load() == 1 })
	if _, err := Exec(t.Context(), s.on(s.writer), "DELETE FROM nodes"); err != nil { // as another node would
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, errLeaseLost) {
		t.Errorf("ended with %v", cause)
	}
	idle(t, s)
	if runs.Load() != 2 {
		t.Errorf("%d runs, want a second one under the new lease", runs.Load())
	}
}

// TestConnectionsAreLost shows that a node outlives its connections.
func TestConnectionsAreLost(t *testing.T) {
	config := postgres(t)
	config.Lease = testLease
	s := open(t, config)
	var r recorder
	work(t, s, map[string]Run{"k": r.work})
	for i := range 5 {
		fixtures.Await(t, "all other connections are cut", func() bool {
			_, err := Exec(t.Context(), s.on(s.writer), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
			return err == nil
		})
		fixtures.Await(t, "a write goes through", func() bool {
			return s.Write(t.Context(), func(ctx context.Context, tx *Tx) error { return tx.Wake(ctx, "k", fmt.Sprint(i), time.Time{}) }) == nil
		})
	}
	fixtures.Await(t, "no wake-up is left", func() bool { // unlike idle, over broken connections
		left, err := Count(t.Context(), s.Read(), "FROM wakeups")
		return err == nil && left == 0
	})
	if got := slices.Compact(r.seen()); !slices.Equal(got, []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("ran %q", got)
	}
}
