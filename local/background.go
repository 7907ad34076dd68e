package local

import (
	"context"
	"maps"
	"time"

	"github.com/formwork-dev/formwork/internal/store"
)

// work starts the background jobs.
func (c *CloudFormation) work(ctx context.Context) error {
	sweep := store.Sweep{
		Expire: []func(context.Context, time.Time) error{
			c.s3.Expire, c.services.Expire, c.registry.Expire, c.operations.Expire, c.cloudControl.Expire, c.hooks.Expire, c.tokens.Expire,
			c.custom.Expire, c.deployed.Expire, c.states.Expire, c.stackSets.Expire,
		},
		Keeps: []func(context.Context, string) (bool, error){c.s3.Keeps, c.registry.KeepsBlob, c.deployed.KeepsBlob},
	}
	workers, err := c.store.SweepHourly(ctx, sweep)
	if err != nil {
		return err
	}
	maps.Copy(workers, c.registry.Workers())
	maps.Copy(workers, c.operations.Workers())
	maps.Copy(workers, c.stacks.Workers())
	maps.Copy(workers, c.custom.Workers())
	maps.Copy(workers, c.states.Workers())
	maps.Copy(workers, c.rules.Workers())
	maps.Copy(workers, c.topics.Workers())
	maps.Copy(workers, c.stackSets.Workers())
	return c.store.Work(ctx, workers)
}
