package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the metrics of /metrics, in the text format of Prometheus.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refused  prometheus.Counter
}

func newMetrics(config Config) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cfn_requests_total", Help: "API requests answered, by service, operation and error code (empty: none).",
		}, []string{"service", "operation", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cfn_request_duration_seconds", Help: "Time from the request's header to the end of the answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5, 30, 300},
		}, []string{"service", "operation"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "cfn_requests_in_flight", Help: "API requests being answered."}),
		refused:  prometheus.NewCounter(prometheus.CounterOpts{Name: "cfn_memory_refusals_total", Help: "API requests refused because the server was low on memory."}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "cfn_build_info", Help: "1, with the version of the program.", ConstLabels: prometheus.Labels{"version": config.Version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.seconds, m.inFlight, m.refused, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if config.Figures != nil {
		m.registry.MustRegister(config.Figures.gauges(config.Logger)...)
	}
	return m
}

// observe counts a request of one API operation. Names come from the tables of operations
// or are empty, so that a caller cannot make series without end.
func (m *metrics) observe(service, operation, code string, took time.Duration) {
	m.requests.WithLabelValues(service, operation, code).Inc()
	m.seconds.WithLabelValues(service, operation).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
