package server

import (
	"context"
	"log/slog"
	"runtime"
	runtimemetrics "runtime/metrics"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// memory refuses requests that need memory while the process has little left. More than half of its limit is live
// then: the other half is for what is garbage, so that the collector never works more than when a heap doubles.
type memory struct {
	limit   uint64 // bytes; 0 for none
	live    func() uint64
	collect func()
	now     func() time.Time
	logger  *slog.Logger

	mu        sync.Mutex
	collected time.Time // when collect was called last
	low       bool      // what was found last
}

func newMemory(config Config) *memory {
	m := &memory{limit: uint64(max(0, config.MemoryLimit)), live: config.Live, collect: runtime.GC, now: config.Now, logger: config.Logger}
	if m.live == nil {
		m.live = liveHeap
	}
	return m
}

// liveHeap is how many bytes were live at the end of the last collection. It takes less than a microsecond.
func liveHeap() uint64 {
	sample := [1]runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtimemetrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// collectAfter is how long no collection is forced after one: requests that are refused make so little garbage
// that none would come by itself.
const collectAfter = 250 * time.Millisecond

// check returns [awswire.ErrMemory] if there is little memory left.
func (m *memory) check() error {
	if m.limit == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if since := m.now().Sub(m.collected); m.live() > m.limit/2 && (since < 0 || since >= collectAfter) {
		m.collect()
		m.collected = m.now()
	}
	live := m.live()
	low := live > m.limit/2
	switch {
	case low && !m.low:
		m.logger.Warn("the server is low on memory: requests that need much of it are refused", "live", live, "limit", m.limit)
	case m.low && !low:
		m.logger.Warn("the server has enough memory again", "live", live, "limit", m.limit)
	}
	if m.low = low; low {
		return awswire.ErrMemory
	}
	return nil
}

// room is whether there is memory for a request, nil if so, and counts those that are refused.
func (s *Server) room(context.Context) error {
	err := s.memory.check()
	if err != nil {
		s.metrics.refused.Inc()
	}
	return err
}

// roomForBody is room for a large body. What a handler sends is a part of an operation that is under way, and bounded
// like all bodies.
func (s *Server) roomForBody(ctx context.Context) error {
	if _, ok := ProcessOf(ctx); ok {
		return nil
	}
	return s.room(ctx)
}
