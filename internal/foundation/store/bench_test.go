package store

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// PostgreSQL runs without fsync here unless FORMWORK_POSTGRES names a server that syncs.
func eachBench(b *testing.B, bench func(b *testing.B, config Config)) {
	for _, place := range fixtures.Stores(b) {
		b.Run(place.Name, func(b *testing.B) { bench(b, Config{Dir: place.Dir, DSN: place.DSN}) })
	}
}

type thing struct {
	Row `db:"things"`

	ID   string `db:"id,pk"`
	Data string `db:"data"`
	At   Time   `db:"at"`
}

// withThings opens a store that has one table more.
func withThings(t testing.TB, config Config) *Store {
	t.Helper()
	s := open(t, config)
	if _, err := Exec(t.Context(), s.on(s.writer), "CREATE TABLE IF NOT EXISTS things (id TEXT NOT NULL PRIMARY KEY, data TEXT NOT NULL, at BIGINT)"); err != nil {
		t.Fatal(err)
	}
	return s
}

func BenchmarkWrite(b *testing.B) {
	eachBench(b, func(b *testing.B, config Config) {
		s := withThings(b, config)
		run := 0
		for i := 0; b.Loop(); i++ {
			row := thing{ID: fmt.Sprintf("%d-%d", run, i), Data: "some text", At: s.Now()}
			if err := s.Write(b.Context(), func(ctx context.Context, tx *Tx) error {
				return Insert(ctx, tx, &row)
			}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWriteParallel(b *testing.B) {
	eachBench(b, func(b *testing.B, config Config) {
		s := withThings(b, config)
		ids := make(chan int, 100)
		go func() {
			for i := 0; ; i++ {
				select {
				case ids <- i:
				case <-b.Context().Done():
					return
				}
			}
		}()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				row := thing{ID: fmt.Sprintf("%d", <-ids), Data: "some text", At: s.Now()}
				if err := s.Write(b.Context(), func(ctx context.Context, tx *Tx) error {
					exists, err := Exists(ctx, tx, "FROM things WHERE id = ?", row.ID)
					if err != nil || exists {
						return err
					}
					return Insert(ctx, tx, &row)
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func BenchmarkRead(b *testing.B) {
	eachBench(b, func(b *testing.B, config Config) {
		s := withThings(b, config)
		var rows []*thing
		for i := range 1000 {
			rows = append(rows, &thing{ID: fmt.Sprint(i), Data: "some text", At: s.Now()})
		}
		if err := Insert(b.Context(), s.on(s.writer), rows...); err != nil {
			b.Fatal(err)
		}
		b.Run("one", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				row := thing{ID: fmt.Sprint(i % 1000)}
				if err := Get(b.Context(), s.Read(), &row, "WHERE id = ?", row.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("hundred", func(b *testing.B) {
			for b.Loop() {
				var page []thing
				if err := List(b.Context(), s.Read(), &page, "ORDER BY id LIMIT 100"); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkWake is from the call of Write to the first line of the worker.
func BenchmarkWake(b *testing.B) {
	eachBench(b, func(b *testing.B, config Config) {
		s := open(b, config)
		ran := make(chan string, 100)
		if err := s.Work(b.Context(), runs(map[string]Run{"k": func(_ context.Context, id string) (time.Time, error) {
			ran <- id
			return time.Time{}, nil
		}})); err != nil {
			b.Fatal(err)
		}
		b.Run("one", func(b *testing.B) {
			var times []time.Duration
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				wake(b, s, "k", fmt.Sprint(i), time.Time{})
				<-ran
				times = append(times, time.Since(start))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-p50")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), "µs-p95")
		})
		b.Run("thousand", func(b *testing.B) {
			for b.Loop() {
				if err := s.Write(b.Context(), func(ctx context.Context, tx *Tx) error {
					for i := range 1000 {
						if err := tx.Wake(ctx, "k", fmt.Sprint("t", i), time.Time{}); err != nil {
							return err
						}
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				for range 1000 {
					<-ran
				}
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "wakes/s")
		})
	})
}

// BenchmarkOpen is what the start of the server pays, the workers included.
func BenchmarkOpen(b *testing.B) {
	start := func(b *testing.B, config Config) {
		s, err := Open(b.Context(), config)
		if err == nil {
			err = s.Work(b.Context(), runs(map[string]Run{"k": func(context.Context, string) (time.Time, error) { return time.Time{}, nil }}))
		}
		b.StopTimer()
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.Run("sqlite/fresh", func(b *testing.B) {
		for b.Loop() {
			start(b, Config{Dir: b.TempDir()})
		}
	})
	b.Run("sqlite/existing", func(b *testing.B) {
		config := Config{Dir: b.TempDir()}
		start(b, config)
		for b.Loop() {
			start(b, config)
		}
	})
	b.Run("postgres/existing", func(b *testing.B) {
		dsn, err := fixtures.Postgres(b)
		if err != nil {
			b.Skip(err)
		}
		start(b, Config{DSN: dsn})
		for b.Loop() {
			start(b, Config{DSN: dsn})
		}
	})
}

// BenchmarkIdle reports what an open store holds of the heap.
func BenchmarkIdle(b *testing.B) {
	heap := func() uint64 {
		runtime.GC() // finalizers
		runtime.GC() // what they held
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	for b.Loop() {
		before := heap()
		s, err := Open(b.Context(), Config{Dir: b.TempDir()})
		if err == nil {
			err = s.Work(b.Context(), runs(map[string]Run{"k": func(context.Context, string) (time.Time, error) { return time.Time{}, nil }}))
		}
		if err != nil {
			b.Fatal(err)
		}
		after := heap()
		b.ReportMetric(float64(after-min(before, after))/1024, "KiB-held")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBlob(b *testing.B) {
	eachBench(b, func(b *testing.B, config Config) {
		s := open(b, config)
		content := make([]byte, 1<<20)
		b.SetBytes(int64(len(content)))
		for i := 0; b.Loop(); i++ {
			copy(content, fmt.Sprint(i))
			if _, err := s.Blobs().Put(b.Context(), bytes.NewReader(content), 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
