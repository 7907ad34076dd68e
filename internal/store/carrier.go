package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

// A carrier brings wake-ups that are due to the workers of some node. It is River, which
// keeps them in tables of its own, hands each to one free worker among all nodes, and
// waits for the running ones when it stops. All of River that the product uses is here.
type carrier struct{ client *river.Client[*sql.Tx] }

// carried is what River keeps of a wake-up.
type carried struct {
	WakeKind string `json:"kind"`
	ID       string `json:"id"`
	Given    int64  `json:"given"` // the wake-up's queued: microseconds since 1970
}

// Kind is River's name for what is carried.
func (carried) Kind() string { return "wakeup" }

func (s *Store) carrierDriver() riverdriver.Driver[*sql.Tx] {
	if s.IsPostgres() {
		return riverdatabasesql.New(s.sqlDB())
	}
	return riversqlite.New(s.sqlDB())
}

func (s *Store) carrierMigrator() (*rivermigrate.Migrator[*sql.Tx], error) {
	migrator, err := rivermigrate.New(s.carrierDriver(), &rivermigrate.Config{Logger: quieter(s.logger)})
	if err != nil {
		return nil, fmt.Errorf("the tables of River: %w", err)
	}
	return migrator, nil
}

// carrierVersions lists the versions of River's tables that the program knows.
func (s *Store) carrierVersions() ([]int64, error) {
	migrator, err := s.carrierMigrator()
	if err != nil {
		return nil, err
	}
	var versions []int64
	for _, migration := range migrator.AllVersions() {
		versions = append(versions, int64(migration.Version))
	}
	return versions, nil
}

// startCarrier starts River. run is called with ctx's values, several at a time.
//
// River hears of a job at once from the process that gave it. It looks for those of
// other nodes by polling; between them minutes may lie without work, so this is slow,
// and on SQLite, where there are no others, slower still.
func startCarrier(ctx context.Context, s *Store, run func(ctx context.Context, kind, id string)) (*carrier, error) {
	poll := 5 * time.Second
	if s.IsPostgres() {
		poll = 250 * time.Millisecond
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[carried]) error {
		run(ctx, job.Args.WakeKind, job.Args.ID)
		return nil
	}))
	client, err := river.NewClient(s.carrierDriver(), &river.Config{
		ID:                          s.config.NewID(),
		Queues:                      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.config.Concurrency}},
		Workers:                     workers,
		Logger:                      quieter(s.logger),
		JobTimeout:                  -1, // the wake-up's lease decides who is dead
		MaxAttempts:                 1,
		FetchCooldown:               time.Millisecond,
		FetchPollInterval:           poll,
		CompletedJobRetentionPeriod: time.Minute,
		DiscardedJobRetentionPeriod: time.Minute,
		CancelledJobRetentionPeriod: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("set up River: %w", err)
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("start River: %w", err)
	}
	return &carrier{client}, nil
}

// give has wake-ups carried to the workers. Outside of a transaction River tells its own
// fetcher, so that a wake-up does not wait for the next poll.
func (c *carrier) give(ctx context.Context, rows []wakeup) error {
	jobs := make([]river.InsertManyParams, len(rows))
	for i, row := range rows {
		jobs[i] = river.InsertManyParams{Args: carried{row.Kind, row.ID, row.Queued.UnixMicro()}}
	}
	if _, err := c.client.InsertMany(ctx, jobs); err != nil {
		return fmt.Errorf("give wake-ups to River: %w", err)
	}
	return nil
}

// nextCarried is what River will hand out next, or the zero value.
func (s *Store) nextCarried(ctx context.Context) (carried, error) {
	var next carried
	var args []byte
	err := s.reader.NewRaw("SELECT args FROM river_job WHERE state = 'available' ORDER BY priority, scheduled_at, id LIMIT 1").Scan(ctx, &args)
	if errors.Is(err, sql.ErrNoRows) {
		return next, nil
	} else if err != nil {
		return next, fmt.Errorf("look into the queue of River: %w", err)
	}
	return next, json.Unmarshal(args, &next)
}

// stop takes no more, and waits for what runs.
func (c *carrier) stop(ctx context.Context) error { return c.client.Stop(ctx) }

// quieter makes River's reports of itself debug messages, and its errors warnings: all it
// does is tried again.
func quieter(logger *slog.Logger) *slog.Logger { return slog.New(quietHandler{logger.Handler()}) }

type quietHandler struct{ slog.Handler }

func quietLevel(level slog.Level) slog.Level {
	if level >= slog.LevelError {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func (h quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, quietLevel(level))
}

func (h quietHandler) Handle(ctx context.Context, record slog.Record) error {
	record.Level = quietLevel(record.Level)
	return h.Handler.Handle(ctx, record)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs)}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name)}
}
