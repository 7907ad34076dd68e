package store

import (
	"time"
)

// settle writes the outcomes of workers, all that wait at once, until the dispatcher
// finishes.
func (d *dispatcher) settle() {
	for {
		select {
		case first := <-d.outcomes:
			d.write(d.gather(first))
		case <-d.settling.Done():
			select {
			case first := <-d.outcomes: // the last ones
				d.write(d.gather(first))
				continue
			default:
			}
			return
		}
	}
}

// gather returns an outcome and those that wait behind it.
func (d *dispatcher) gather(first outcome) []outcome {
	batch := []outcome{first}
	for len(batch) < cap(d.outcomes) {
		select {
		case next := <-d.outcomes:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// write writes outcomes, and frees as many workers.
func (d *dispatcher) write(batch []outcome) {
	byNode := map[string][]outcome{} // several only while a lease is lost
	for _, o := range batch {
		byNode[o.node] = append(byNode[o.node], o)
	}
	for node, outcomes := range byNode {
		d.insist(node, outcomes)
	}
	d.mu.Lock()
	for _, o := range batch {
		if d.active[o.key()] == o.done {
			delete(d.active, o.key())
		}
		close(o.done)
		d.free++
	}
	d.mu.Unlock()
	d.ring()
}

// insist tries to write outcomes while the wake-ups are this node's: no other node would.
func (d *dispatcher) insist(node string, outcomes []outcome) {
	s := d.store
	for attempt := 0; ; attempt++ {
		held := d.lease.tenure()
		if held.node != node || held.ctx.Err() != nil {
			s.logger.Warn("outcomes of workers are lost; they will run again", "wake-ups", len(outcomes), "error", errLeaseLost)
			return
		}
		var err error
		if outcomes, err = s.unclaim(held.ctx, outcomes); err == nil {
			return
		}
		s.logger.Warn("outcomes of workers cannot be written; trying again", "wake-ups", len(outcomes), "error", s.explain(err))
		select {
		case <-d.settling.Done():
			return // the next process that opens the store runs them again
		case <-held.ctx.Done():
		case <-time.After(min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)):
		}
	}
}
