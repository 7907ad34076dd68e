package stackset

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// preferences are how an operation goes through its instances.
type preferences struct {
	types.StackSetOperationPreferences
}

// A share is how far the instances of one region are.
type share struct {
	Pending, Running, Succeeded, Failed, Cancelled int
}

func (s share) total() int { return s.Pending + s.Running + s.Succeeded + s.Failed + s.Cancelled }

// A decision is what an operation does next.
type decision struct {
	Start    []int // how many instances to begin, by region
	Cancel   bool  // those that have not begun
	Exceeded bool  // more instances of a region failed than is tolerated
	Over     bool  // nothing runs, and nothing is to begin
}

// order puts regions into the order in which they are deployed: those of the preferences first.
func (p preferences) order(regions []string) []string {
	var out []string
	for _, name := range slices.Concat(p.RegionOrder, regions) {
		if slices.Contains(regions, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// tolerance is how many instances of a region may fail. Percentages are rounded down.
func (p preferences) tolerance(total int) int {
	if p.FailureTolerancePercentage != nil {
		return total * int(*p.FailureTolerancePercentage) / 100
	}
	return int(aws.ToInt32(p.FailureToleranceCount))
}

// concurrency is how many instances of a region run at once. With strict failure tolerance, no
// more run than could all fail without the tolerance being exceeded by more than one.
func (p preferences) concurrency(s share) int {
	most := 1
	switch {
	case p.MaxConcurrentPercentage != nil:
		most = max(1, s.total()*int(*p.MaxConcurrentPercentage)/100)
	case p.MaxConcurrentCount != nil:
		most = int(*p.MaxConcurrentCount)
	}
	if p.ConcurrencyMode == types.ConcurrencyModeSoftFailureTolerance {
		return most
	}
	return min(most, p.tolerance(s.total())+1-s.Failed)
}

// next decides what an operation does, from the state of its regions in their order.
func (p preferences) next(regions []share, stopping bool) decision {
	d := decision{Start: make([]int, len(regions))}
	running, pending := 0, 0
	for _, s := range regions {
		running += s.Running
		pending += s.Pending
		d.Exceeded = d.Exceeded || s.Failed > p.tolerance(s.total())
	}
	d.Cancel = (d.Exceeded || stopping) && pending > 0
	if d.Cancel {
		pending = 0
	}
	d.Over = running == 0 && pending == 0
	if d.Exceeded || stopping {
		return d
	}
	for i, s := range regions {
		d.Start[i] = max(0, min(s.Pending, p.concurrency(s)-s.Running))
		if p.RegionConcurrencyType != types.RegionConcurrencyTypeParallel && s.Pending+s.Running > 0 {
			break
		}
	}
	return d
}
