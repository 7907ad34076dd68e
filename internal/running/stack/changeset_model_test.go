package stack

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// pairsOfRig is how many pairs of TestChangeSetsSayWhatIsDone share a store: with more, reading
// its events takes longer than the work.
const pairsOfRig = 20

// TestChangeSetsSayWhatIsDone makes change sets of random pairs of templates, executes them and
// compares what the handlers were called for with what the change set says: which resources,
// which action, and whether they are replaced. FORMWORK_PAIRS is the number of pairs,
// FORMWORK_SEED the first one.
func TestChangeSetsSayWhatIsDone(t *testing.T) {
	pairs := 100
	if testing.Short() {
		pairs = 20
	}
	if n, err := strconv.Atoi(os.Getenv("FORMWORK_PAIRS")); err == nil {
		pairs = n
	}
	first, _ := strconv.Atoi(os.Getenv("FORMWORK_SEED"))
	for from := first; from < first+pairs; from += pairsOfRig {
		to := min(from+pairsOfRig, first+pairs)
		t.Run(fmt.Sprintf("%d-%d", from, to-1), func(t *testing.T) {
			t.Parallel()
			runPairs(t, from, to)
		})
	}
}

// runPairs runs the pairs of some seeds, one after the other.
func runPairs(t *testing.T, from, to int) {
	g := onSQLite(t)
	given := strings.NewReplacer(`"Note": {`, `"Given": {"type": "string"}, "Note": {`)
	remade := strings.NewReplacer("Acme::Test::Thing", "Acme::Test::Remade", `"additionalProperties": false,
`, `"additionalProperties": false, "replacementStrategy": "delete_then_create",
`)
	fixed := strings.NewReplacer("Acme::Test::Thing", "Acme::Test::Fixed", `"update": {"permissions": []}, `, "", `"taggable": true`, `"taggable": false`)
	for _, source := range []string{fixtures.Thing, remade.Replace(fixtures.Thing), fixed.Replace(fixtures.Thing)} {
		g.world.knows(t, given.Replace(source))
	}
	for seed := from; seed < to; seed++ {
		maker := fixtures.Templates{Rand: rand.New(rand.NewPCG(uint64(seed), 13))}
		p := &pair{rig: g, name: fmt.Sprintf("pair-%d", seed)}
		before, after := maker.Template(), maker.Template()
		parameters := []string{maker.Pick("p", "q"), maker.Pick("p", "q")}
		p.run(types.ChangeSetTypeCreate, before, parameters[0])
		p.run(types.ChangeSetTypeUpdate, after, parameters[1])
		if t.Failed() {
			t.Fatalf("seed %d:\n%s %s\n%s %s", seed, before, parameters[0], after, parameters[1])
		}
	}
}

// A pair is a stack that is created and updated by change sets.
type pair struct {
	*rig
	name string
}

// run makes a change set, executes it, and checks what was done.
func (p *pair) run(kind types.ChangeSetType, body, parameter string) {
	p.t.Helper()
	out, err := p.CreateChangeSet(p.t.Context(), owner, &cloudformation.CreateChangeSetInput{
		StackName: &p.name, ChangeSetName: aws.String("c"), ChangeSetType: kind, TemplateBody: &body,
		Parameters: []types.Parameter{{ParameterKey: aws.String("P"), ParameterValue: &parameter}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	set := (&setRig{p.rig, p.t.(*testing.T), owner}).planned(*out.Id)
	if set.Status == types.ChangeSetStatusFailed {
		if aws.ToString(set.StatusReason) != reasonNoChanges {
			p.t.Errorf("the change set failed: %s\n%s", aws.ToString(set.StatusReason), body)
		}
		return
	}
	valued, err := p.DescribeChangeSet(p.t.Context(), owner, &cloudformation.DescribeChangeSetInput{ChangeSetName: out.Id, IncludePropertyValues: aws.Bool(true)})
	if err != nil {
		p.t.Fatal(err)
	}
	before := p.physicalIDs()
	p.world.mu.Lock()
	from := len(p.world.seen)
	p.world.mu.Unlock()
	if _, err := p.ExecuteChangeSet(p.t.Context(), owner, &cloudformation.ExecuteChangeSetInput{ChangeSetName: out.Id}); err != nil {
		p.t.Fatal(err)
	}
	if s := p.settled(p.name); s.StackStatus != types.StackStatusCreateComplete && s.StackStatus != types.StackStatusUpdateComplete {
		p.t.Fatalf("the stack is in %s: %s\n%s", s.StackStatus, aws.ToString(s.StackStatusReason), strings.Join(p.story(p.name), "\n"))
	}
	calls := p.callsSince(from)
	p.check(set, valued, before, p.physicalIDs(), calls)
	p.checkSteps(*out.Id, calls)
}

// checkSteps compares the calls with the steps that the change set stores: what is certain is done, and nothing that
// is larger than what it says.
func (p *pair) checkSteps(arn string, calls map[string]string) {
	p.t.Helper()
	c, err := store.Find[changeSetRow](p.t.Context(), p.store.Read(), "arn = ?", arn)
	if err != nil || c == nil {
		p.t.Fatal(err)
	}
	allowed := map[plan.Action][]string{
		plan.Create: {"CREATE"}, plan.Replace: {"CREATE DELETE", "UPDATE", ""}, plan.Remake: {"DELETE CREATE", "UPDATE", ""}, plan.Update: {"UPDATE", ""}, plan.None: {""},
	}
	planned := map[string]bool{}
	for _, s := range c.Plan.Get().Main {
		planned[s.LogicalID] = true
		want := allowed[s.Most]
		if s.Certain {
			want = want[:1]
		}
		made := strings.TrimSuffix(calls[s.LogicalID], " DELETE")
		if s.Most == plan.Replace {
			made = calls[s.LogicalID]
		}
		if !slices.Contains(want, made) {
			p.t.Errorf("%s: the step is %s, the handlers were called for %q, want one of %q", s.LogicalID, encode(s), calls[s.LogicalID], want)
		}
	}
	stored := c.Plan.Get()
	for id, made := range calls {
		if change := stored.Change(id); !planned[id] && (change == nil || change.Action != types.ChangeActionRemove) {
			p.t.Errorf("no step is planned for %s, and the handlers were called for %s", id, made)
		}
	}
}

func (p *pair) physicalIDs() map[string]string {
	out, err := p.DescribeStackResources(p.t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: &p.name})
	if err != nil {
		p.t.Fatal(err)
	}
	ids := map[string]string{}
	for _, r := range out.StackResources {
		ids[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
	return ids
}

// callsSince are the calls of handlers by logical id: "CREATE DELETE".
func (p *pair) callsSince(from int) map[string]string {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	out := map[string]string{}
	for _, request := range p.world.seen[from:] {
		if request.StackName == p.name {
			out[request.LogicalID] = strings.TrimSpace(out[request.LogicalID] + " " + string(request.Action))
		}
	}
	return out
}

// check holds the calls against the changes.
func (p *pair) check(set, valued *cloudformation.DescribeChangeSetOutput, before, after, calls map[string]string) {
	p.t.Helper()
	certain := map[string]*types.ResourceChange{}
	for _, c := range valued.Changes {
		certain[*c.ResourceChange.LogicalResourceId] = c.ResourceChange
	}
	listed := map[string]bool{}
	for _, change := range set.Changes {
		c := change.ResourceChange
		id := *c.LogicalResourceId
		listed[id] = true
		shown, isCertain := certain[id]
		isCertain = isCertain && !strings.Contains(aws.ToString(shown.AfterContext), plan.Pending)
		if want := expectedCalls(c, isCertain); !slices.Contains(want, calls[id]) {
			p.t.Errorf("%s: the change set says %s, the handlers were called for %q, want one of %q", id, encode(c), calls[id], want)
		}
		replaced := before[id] != "" && after[id] != "" && before[id] != after[id]
		if c.Action == types.ChangeActionModify && (replaced && c.Replacement == types.ReplacementFalse || !replaced && c.Replacement == types.ReplacementTrue && isCertain) {
			p.t.Errorf("%s: the change set says replacement %s, it was %s and is %s", id, c.Replacement, before[id], after[id])
		}
	}
	for id, made := range calls {
		if !listed[id] {
			p.t.Errorf("%s is not in the change set, and the handlers were called for %s", id, made)
		}
	}
	for id := range after {
		if !listed[id] && before[id] != after[id] {
			p.t.Errorf("%s is not in the change set, and went from %q to %q", id, before[id], after[id])
		}
	}
}

// expectedCalls are the calls that a change may lead to. One whose values are known leads to
// exactly one of them, but for a conditional replacement.
func expectedCalls(c *types.ResourceChange, certain bool) []string {
	update := []string{"UPDATE"}
	replace := []string{"CREATE DELETE"}
	if *c.ResourceType == "Acme::Test::Remade" {
		replace = []string{"DELETE CREATE"}
	}
	switch c.Action {
	case types.ChangeActionAdd:
		return []string{"CREATE"}
	case types.ChangeActionRemove:
		if c.PolicyAction == types.PolicyActionRetain {
			return []string{""}
		}
		return []string{"DELETE"}
	}
	if !slices.Contains(c.Scope, types.ResourceAttributeProperties) {
		return []string{""}
	}
	var out []string
	switch c.Replacement {
	case types.ReplacementTrue:
		out = replace
	case types.ReplacementConditional:
		out = slices.Concat(update, replace)
	default:
		out = update
	}
	if certain {
		return out
	}
	out = append(slices.Clone(out), "") // what is taken from another resource may turn out to be the same
	if c.Replacement == types.ReplacementTrue {
		out = append(out, update...)
	}
	return out
}
