package local

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/formwork-dev/formwork/internal/handlers"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/server"
	"github.com/formwork-dev/formwork/internal/store"
)

// The sweep of blobs is one wake-up, so that of several servers on one database one does it.
const (
	workSweep  = "sweep"
	sweepID    = "blobs"
	firstSweep = 10 * time.Minute // after the start
	nextSweep  = time.Hour        // after the last one

	keepUploads       = 7 * 24 * time.Hour  // those that were begun and not completed
	keepOperations    = 7 * 24 * time.Hour  // those that have ended
	keepRegistrations = 90 * 24 * time.Hour // those that have ended
)

// work starts the background jobs.
func (c *CloudFormation) work(ctx context.Context) error {
	workers := c.registry.Workers()
	maps.Copy(workers, c.operations.Workers())
	maps.Copy(workers, c.stacks.Workers())
	workers[workSweep] = c.sweep
	err := c.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Wake(ctx, workSweep, sweepID, c.config.Now().Add(firstSweep))
	})
	if err != nil {
		return fmt.Errorf("sweep blobs: %w", err)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	changes := c.registry.Subscribe(life)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.removeDeregistered(changes)
	}()
	c.atEnd(func(context.Context) error {
		end()
		<-done
		return nil
	})
	return c.store.Work(ctx, workers)
}

// sweep is a store.Worker: it removes rows that nobody needs any more, and the blobs that
// no row names.
func (c *CloudFormation) sweep(ctx context.Context, _ string) (time.Time, error) {
	now := c.config.Now()
	uploads, err := c.s3.Expire(ctx, now.Add(-keepUploads))
	if err != nil {
		return time.Time{}, err
	}
	if uploads > 0 {
		c.config.Logger.InfoContext(ctx, "uploads to S3 that nobody completed were removed", "uploads", uploads)
	}
	if _, err := c.services.Expire(ctx); err != nil {
		return time.Time{}, err
	}
	if err := c.registry.Expire(ctx, now.Add(-keepRegistrations)); err != nil {
		return time.Time{}, err
	}
	if err := c.operations.Expire(ctx, now.Add(-keepOperations)); err != nil {
		return time.Time{}, err
	}
	if err := c.cloudControl.Expire(ctx, now.Add(-keepOperations)); err != nil {
		return time.Time{}, err
	}
	if err := c.tokens.Expire(ctx); err != nil {
		return time.Time{}, err
	}
	swept, err := c.store.Blobs().Sweep(ctx, 0, c.keeps)
	if swept.Blobs > 0 {
		c.config.Logger.InfoContext(ctx, "blobs that nothing names were removed", "blobs", swept.Blobs, "bytes", swept.Bytes)
	}
	return c.config.Now().Add(nextSweep), err
}

// keeps asks everybody who keeps blobs.
func (c *CloudFormation) keeps(ctx context.Context, hash string) (bool, error) {
	for _, keeps := range []func(context.Context, string) (bool, error){c.s3.Keeps, c.registry.KeepsBlob} {
		if kept, err := keeps(ctx, hash); kept || err != nil {
			return kept, err
		}
	}
	return false, nil
}

// removeDeregistered ends the handlers of what was deregistered here. Those of other
// servers on the same database, and of changes that were missed, end when they are idle.
func (c *CloudFormation) removeDeregistered(changes <-chan registry.Change) {
	for change := range changes {
		if change.What == registry.Deregistered || change.What == registry.Deactivated {
			c.handlers.Remove(handlers.Spec{Place: change.Place, Kind: change.Kind, TypeName: change.TypeName, Version: change.Version})
		}
	}
}

// gauges are looked at when somebody asks for the metrics. What cannot be told is NaN.
func (c *CloudFormation) gauges() map[string]server.Gauge {
	measure := func(of func(ctx context.Context) (int64, error)) func() float64 {
		return func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			n, err := of(ctx)
			if err != nil {
				c.config.Logger.Warn("a metric cannot be told", "error", err)
				return math.NaN()
			}
			return float64(n)
		}
	}
	return map[string]server.Gauge{
		"cfn_handlers_running": {Help: "Handlers of registered types that have processes here.", Value: func() float64 { return float64(c.handlers.Running()) }},
		"cfn_registrations_in_progress": {Help: "Registrations in progress, of all servers on the database.", Value: measure(func(ctx context.Context) (int64, error) {
			busy, err := c.registry.Busy(ctx)
			return busy.Registrations, err
		})},
		"cfn_tests_in_progress": {Help: "Tests of types that run or wait for their turn, of all servers on the database.", Value: measure(func(ctx context.Context) (int64, error) {
			busy, err := c.registry.Busy(ctx)
			return busy.Tests, err
		})},
		"cfn_wakeups_waiting":  {Help: "Pieces of background work that wait for their time or for a worker, of all servers on the database.", Value: measure(c.store.Waiting)},
		"cfn_store_size_bytes": {Help: "Size of the database; packages in files are not counted.", Value: measure(c.store.Size)},
	}
}
