package store

import (
	"context"
	"fmt"
	"time"
)

// The sweep is one wake-up, so that of several nodes on one database one does it.
const (
	workSweep  = "sweep"
	sweepID    = "blobs"
	firstSweep = 10 * time.Minute // after the start
	nextSweep  = time.Hour        // after the last one
)

// A Sweep removes obsolete data, once an hour: expired rows, and then the blobs that no row
// names.
type Sweep struct {
	// Expire are the functions of those who own rows. Each knows how long its rows are kept.
	Expire []func(ctx context.Context, now time.Time) error

	// Keeps reports whether the owner of rows needs a blob. One that no function keeps is
	// removed.
	Keeps []func(ctx context.Context, hash string) (bool, error)

	grace time.Duration // as of Blobs.Sweep
}

// SweepHourly wakes the sweep for the first time and returns its worker, which Work takes.
func (s *Store) SweepHourly(ctx context.Context, sweep Sweep) (map[string]Worker, error) {
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		return tx.Wake(ctx, workSweep, sweepID, s.config.Now().Add(firstSweep))
	})
	if err != nil {
		return nil, fmt.Errorf("schedule the sweep of blobs: %w", err)
	}
	run := func(ctx context.Context, _ string) (time.Time, error) {
		err := s.sweep(ctx, sweep)
		return s.config.Now().Add(nextSweep), err
	}
	return map[string]Worker{workSweep: {Run: run}}, nil
}

func (s *Store) sweep(ctx context.Context, sweep Sweep) error {
	now := s.config.Now()
	for _, expire := range sweep.Expire {
		if err := expire(ctx, now); err != nil {
			return err
		}
	}
	swept, err := s.Blobs().Sweep(ctx, sweep.grace, func(ctx context.Context, hash string) (bool, error) {
		for _, keeps := range sweep.Keeps {
			if kept, err := keeps(ctx, hash); kept || err != nil {
				return kept, err
			}
		}
		return false, nil
	})
	if swept.Blobs > 0 {
		s.config.Logger.InfoContext(ctx, "blobs that nothing names were removed", "blobs", swept.Blobs, "bytes", swept.Bytes)
	}
	return err
}
