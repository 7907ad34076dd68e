package stackset

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

func TestNext(t *testing.T) {
	const soft = types.ConcurrencyModeSoftFailureTolerance
	n := func(n int32) *int32 { return aws.Int32(n) }
	for name, test := range map[string]struct {
		p        types.StackSetOperationPreferences
		regions  []share
		stopping bool
		want     decision
	}{
		"one by one without preferences": {regions: []share{{Pending: 3}, {Pending: 3}}, want: decision{Start: []int{1, 0}}},
		"no second one before the first": {regions: []share{{Pending: 2, Running: 1}, {Pending: 3}}, want: decision{Start: []int{0, 0}}},
		"the next region":                {regions: []share{{Succeeded: 3}, {Pending: 3}}, want: decision{Start: []int{0, 1}}},
		"all regions at once": {p: types.StackSetOperationPreferences{RegionConcurrencyType: types.RegionConcurrencyTypeParallel, MaxConcurrentCount: n(2), FailureToleranceCount: n(5)},
			regions: []share{{Pending: 3}, {Pending: 1}, {Pending: 1, Running: 2}}, want: decision{Start: []int{2, 1, 0}}},
		"strict: one more than may fail": {p: types.StackSetOperationPreferences{MaxConcurrentCount: n(10), FailureToleranceCount: n(2)},
			regions: []share{{Pending: 10}}, want: decision{Start: []int{3}}},
		"strict: fewer after failures": {p: types.StackSetOperationPreferences{MaxConcurrentCount: n(10), FailureToleranceCount: n(2)},
			regions: []share{{Pending: 7, Failed: 2, Running: 1}}, want: decision{Start: []int{0}}},
		"soft": {p: types.StackSetOperationPreferences{MaxConcurrentCount: n(10), FailureToleranceCount: n(2), ConcurrencyMode: soft},
			regions: []share{{Pending: 7, Failed: 2, Running: 1}}, want: decision{Start: []int{7}}},
		"percentages are rounded down": {p: types.StackSetOperationPreferences{MaxConcurrentPercentage: n(50), FailureTolerancePercentage: n(50)},
			regions: []share{{Pending: 3}}, want: decision{Start: []int{1}}},
		"but one runs": {p: types.StackSetOperationPreferences{MaxConcurrentPercentage: n(1)}, regions: []share{{Pending: 3}}, want: decision{Start: []int{1}}},
		"a percentage of 4 of which 2 may fail": {p: types.StackSetOperationPreferences{MaxConcurrentPercentage: n(100), FailureTolerancePercentage: n(50)},
			regions: []share{{Pending: 4}}, want: decision{Start: []int{3}}},
		"a failure that is not tolerated": {regions: []share{{Pending: 2, Failed: 1}, {Pending: 3}}, want: decision{Start: []int{0, 0}, Cancel: true, Exceeded: true, Over: true}},
		"what runs ends": {p: types.StackSetOperationPreferences{MaxConcurrentCount: n(2), ConcurrencyMode: soft}, regions: []share{{Pending: 1, Running: 1, Failed: 1}},
			want: decision{Start: []int{0}, Cancel: true, Exceeded: true}},
		"tolerance is per region": {p: types.StackSetOperationPreferences{FailureToleranceCount: n(1)}, regions: []share{{Succeeded: 2, Failed: 1}, {Failed: 1, Pending: 2}},
			want: decision{Start: []int{0, 1}}},
		"stopped":             {regions: []share{{Pending: 2, Running: 1}, {Pending: 3}}, stopping: true, want: decision{Start: []int{0, 0}, Cancel: true}},
		"stopped and all end": {regions: []share{{Succeeded: 1, Cancelled: 2}}, stopping: true, want: decision{Start: []int{0}, Over: true}},
		"the end":             {regions: []share{{Succeeded: 3}}, want: decision{Start: []int{0}, Over: true}},
		"nothing to do":       {want: decision{Over: true}},
	} {
		got := preferences{test.p}.next(test.regions, test.stopping)
		if !slices.Equal(got.Start, test.want.Start) || got.Cancel != test.want.Cancel || got.Exceeded != test.want.Exceeded || got.Over != test.want.Over {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestOrder(t *testing.T) {
	p := preferences{types.StackSetOperationPreferences{RegionOrder: []string{"c", "x", "a", "c"}}}
	if got := p.order([]string{"a", "b", "a", "c"}); !slices.Equal(got, []string{"c", "a", "b"}) {
		t.Errorf("the order is %q", got)
	}
}
