package server

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/formwork-dev/formwork/internal/running/registry"
)

// Figures are what /metrics reports beside the requests. They are looked at when somebody asks
// for the metrics. All members must be set.
type Figures struct {
	Handlers  func() int                                       // that have processes here
	Registry  func(ctx context.Context) (registry.Busy, error) // on all servers
	WakeUps   func(ctx context.Context) (int64, error)         // that wait, on all servers
	StoreSize func(ctx context.Context) (int64, error)         // in bytes
}

// maxFigure bounds how long a figure may take to find out.
const maxFigure = 2 * time.Second

// gauges are the metrics of figures. What cannot be found out is NaN.
func (f *Figures) gauges(logger *slog.Logger) []prometheus.Collector {
	measure := func(of func(ctx context.Context) (int64, error)) func() float64 {
		return func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), maxFigure)
			defer cancel()
			n, err := of(ctx)
			if err != nil {
				logger.Warn("a metric cannot be measured", "error", err)
				return math.NaN()
			}
			return float64(n)
		}
	}
	busy := func(of func(registry.Busy) int64) func() float64 {
		return measure(func(ctx context.Context) (int64, error) {
			found, err := f.Registry(ctx)
			return of(found), err
		})
	}
	var collectors []prometheus.Collector
	add := func(name, help string, value func() float64) {
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	add("cfn_handlers_running", "Handlers of registered types that have processes here.", func() float64 { return float64(f.Handlers()) })
	add("cfn_registrations_in_progress", "Registrations in progress, of all servers on the database.", busy(func(b registry.Busy) int64 { return b.Registrations }))
	add("cfn_tests_in_progress", "Tests of types that run or wait for their turn, of all servers on the database.", busy(func(b registry.Busy) int64 { return b.Tests }))
	add("cfn_wakeups_waiting", "Background jobs that wait for their time or for a worker, of all servers on the database.", measure(f.WakeUps))
	add("cfn_store_size_bytes", "Size of the database; packages in files are not counted.", measure(f.StoreSize))
	return collectors
}
