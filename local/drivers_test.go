package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// A torment is a set of stacks that are worked on while servers die, with what they were like
// when nothing happened to the servers.
type torment struct {
	t      testing.TB
	ledger *ledger
	names  []string // of the scripts

	mu        sync.Mutex
	serving   map[string]clients // by URL
	reference map[string]string  // what a turn leaves behind, by script and turn
	settled   int                // turns that were checked
	stacks    int                // that were named
}

// newTorment is for stacks that are taken through scripts of some names.
func newTorment(t testing.TB, l *ledger, names ...string) *torment {
	return &torment{t: t, ledger: l, names: names, serving: map[string]clients{}, reference: map[string]string{}}
}

// up and down say which servers there are.
func (m *torment) up(p *process) { m.serve(p.url) }

func (m *torment) serve(url string) {
	c := newClients(m.t, url)
	m.mu.Lock()
	m.serving[url] = c
	m.mu.Unlock()
}

func (m *torment) down(p *process) {
	m.mu.Lock()
	delete(m.serving, p.url)
	m.mu.Unlock()
}

// anyServer waits for a server.
func (m *torment) anyServer(ctx context.Context) (clients, error) {
	for ctx.Err() == nil {
		m.mu.Lock()
		urls := slices.Sorted(maps.Keys(m.serving))
		var c clients
		if len(urls) > 0 {
			c = m.serving[urls[rand.IntN(len(urls))]]
		}
		m.mu.Unlock()
		if len(urls) > 0 {
			return c, nil
		}
		letRun(5 * time.Millisecond)
	}
	return clients{}, ctx.Err()
}

// stuck is how long an operation may take, however many servers die.
const stuck = 5 * time.Minute

// try makes a call until it is answered.
func (m *torment) try(ctx context.Context, what string, call func(ctx context.Context, c clients) error) error {
	for began := time.Now(); ; {
		c, err := m.anyServer(ctx)
		if err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, 20*time.Second)
		err = call(within, c)
		cancel()
		switch {
		case err == nil:
			return nil
		case codeOf(err) != "" && !strings.Contains(err.Error(), "StatusCode: 50"):
			return fmt.Errorf("%s: %w", what, err)
		case time.Since(began) > stuck:
			return fmt.Errorf("%s: not answered for %s: %w", what, stuck, err)
		}
		letRun(10 * time.Millisecond)
	}
}

// A turn is one operation on a stack.
type turn struct {
	name string
	send func(ctx context.Context, c clients, d *driver, token string) error
	want []types.StackStatus
	// loose turns may take several ways to the same state: neither their events nor the
	// number of their calls are compared.
	loose bool
}

// A driver takes a stack through the turns of a script.
type driver struct {
	*torment
	script    string
	stack     string // name
	id        string // ARN, once it is known
	chances   *rand.Rand
	before    *aftermath // of the turn before
	turn      int
	disturbed bool // the outcome is compared with the reference; otherwise it is the reference
}

// run plays a script.
func (d *driver) run(ctx context.Context, turns []turn) error {
	for i, turn := range turns {
		d.turn = i
		if err := d.play(ctx, turn); err != nil {
			return fmt.Errorf("stack %s, turn %d of %s, %s: %w", d.stack, i, d.script, turn.name, err)
		}
	}
	return nil
}

// play sends a request, waits for the end of what it began and looks at what that left.
func (d *driver) play(ctx context.Context, turn turn) error {
	token := fmt.Sprintf("%s-%d", d.stack, d.turn)
	err := d.try(ctx, turn.name, func(ctx context.Context, c clients) error {
		begun, err := d.begun(ctx, c, token)
		if begun || err != nil {
			return err
		}
		return turn.send(ctx, c, d, token)
	})
	if err != nil {
		return err
	}
	status, err := d.await(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.settled++
	d.mu.Unlock()
	var after *aftermath
	err = d.try(ctx, "look at the stack", func(ctx context.Context, c clients) error {
		after, err = d.look(ctx, c)
		return err
	})
	if err != nil {
		return err
	}
	if !slices.Contains(turn.want, status) {
		return fmt.Errorf("the status is %s, want %s: %s", status, turn.want, after.text(false))
	}
	return d.compare(turn, status, after)
}

func (d *driver) compare(turn turn, status types.StackStatus, after *aftermath) error {
	before := d.before
	d.before = after
	if problem := after.inconsistent(status); problem != "" {
		return fmt.Errorf("%s: %s", problem, after.text(false))
	}
	if before != nil && status == types.StackStatusUpdateRollbackComplete && before.state() != after.state() {
		return fmt.Errorf("the rollback ended with\n%s\ninstead of\n%s", after.state(), before.state())
	}
	if len(turn.want) > 1 {
		return nil
	}
	key, text := fmt.Sprintf("%s %d", d.script, d.turn), after.text(turn.loose)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.disturbed {
		d.reference[key] = text
		return nil
	}
	if want := d.reference[key]; want != text {
		return fmt.Errorf("it left\n%s", difference(want, text))
	}
	return nil
}

// difference shows the lines of two texts that differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for _, line := range a {
		if !slices.Contains(b, line) {
			fmt.Fprintln(&out, "-", line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			fmt.Fprintln(&out, "+", line)
		}
	}
	return out.String() + "the whole is\n" + got
}

// begun reports whether an operation with the token is known: its answer was lost.
func (d *driver) begun(ctx context.Context, c clients, token string) (bool, error) {
	events, err := d.events(ctx, c, d.ref())
	if codeOf(err) == "ValidationError" {
		return false, nil // no such stack
	}
	for _, e := range events {
		if aws.ToString(e.ClientRequestToken) == token {
			d.id = aws.ToString(e.StackId)
			return true, nil
		}
	}
	return false, err
}

// ref is what the stack is known by.
func (d *driver) ref() string {
	if d.id != "" {
		return d.id
	}
	return d.stack
}

func (d *driver) events(ctx context.Context, c clients, stack string) ([]types.StackEvent, error) {
	var events []types.StackEvent
	pages := cloudformation.NewDescribeStackEventsPaginator(c, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		events = append(events, page.StackEvents...)
	}
	slices.Reverse(events)
	return events, nil
}

// second is the name of the stack that resources are moved to. What belongs to it belongs to the
// first one.
func (d *driver) second() string { return d.stack + "-second" }

// await waits until the stack is not in progress.
func (d *driver) await(ctx context.Context) (types.StackStatus, error) {
	var status types.StackStatus
	for began := time.Now(); ; letRun(30 * time.Millisecond) {
		err := d.try(ctx, "DescribeStacks", func(ctx context.Context, c clients) error {
			out, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(d.ref())})
			if err == nil {
				status, d.id = out.Stacks[0].StackStatus, *out.Stacks[0].StackId
			}
			return err
		})
		switch {
		case err != nil:
			return "", err
		case !strings.HasSuffix(string(status), "_IN_PROGRESS") || status == types.StackStatusReviewInProgress:
			return status, nil
		case time.Since(began) > stuck:
			return "", fmt.Errorf("the stack is in %s for %s; the last events are\n%s", status, stuck, d.latest(ctx))
		}
	}
}

// latest are the last events of the stack, with their times.
func (d *driver) latest(ctx context.Context) string {
	var out strings.Builder
	err := d.try(ctx, "DescribeStackEvents", func(ctx context.Context, c clients) error {
		events, err := d.events(ctx, c, d.ref())
		for _, e := range events[max(0, len(events)-15):] {
			fmt.Fprintln(&out, e.Timestamp.Format(time.TimeOnly), *e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.ResourceStatusReason))
		}
		return err
	})
	if err != nil {
		fmt.Fprintln(&out, err)
	}
	return out.String()
}

// An aftermath is what an operation leaves behind.
type aftermath struct {
	Status    string
	Outputs   map[string]string
	Resources map[string]string   // type, status and physical id by logical id, of nested stacks behind a slash
	World     map[string]string   // things that exist, with their notes
	Others    map[string]string   // parameters and buckets that exist
	Events    map[string][]string // by logical id
	Calls     map[string]int      // of the handler: tokens by logical id and action

	things map[string]string // logical ids of the things of the stacks, by physical id
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	thingIDs = regexp.MustCompile(`\b([a-z0-9]+)-[0-9a-f]{12}\b`)
	suffixes = regexp.MustCompile(`-[A-Za-z0-9]{12}\b`)
)

// plain is a text without what is random.
func (d *driver) plain(text string) string {
	text = uuids.ReplaceAllString(text, "UUID")
	text = thingIDs.ReplaceAllString(text, "$1-ID")
	text = suffixes.ReplaceAllString(text, "-SUFFIX")
	return strings.ReplaceAll(text, d.stack, "STACK")
}

func (d *driver) look(ctx context.Context, c clients) (*aftermath, error) {
	a := &aftermath{
		Outputs: map[string]string{}, Resources: map[string]string{}, World: map[string]string{}, Others: map[string]string{},
		Events: map[string][]string{}, Calls: map[string]int{}, things: map[string]string{},
	}
	if err := d.lookAt(ctx, c, a, d.id, ""); err != nil {
		return nil, err
	}
	if err := d.lookAt(ctx, c, a, d.second(), "second/"); err != nil && codeOf(err) != "ValidationError" {
		return nil, err
	}
	for _, thing := range d.ledger.things(d.t, d.stack) {
		key := thing.Logical
		for a.World[key] != "" {
			key += "+"
		}
		a.World[key] = d.plain(fmt.Sprintf("%s %q %q", thing.ID, thing.Name, thing.Note))
		if _, known := a.things[thing.ID]; !known {
			a.things[thing.ID] = "" // nobody's
		}
	}
	tokens := map[string]bool{}
	for _, line := range d.ledger.journal(d.t) {
		if belongs(line.Stack, d.stack) && line.Action != "READ" && !tokens[line.Token] {
			tokens[line.Token] = true
			a.Calls[line.Logical+" "+line.Action]++
		}
	}
	if parameter, err := c.ssm.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/" + d.stack + "/p")}); err == nil {
		a.Others["parameter"] = d.plain(*parameter.Parameter.Value)
	} else if codeOf(err) != "ParameterNotFound" {
		return nil, err
	}
	buckets, err := c.s3.ListBuckets(ctx, &s3.ListBucketsInput{Prefix: aws.String(d.stack)})
	if err != nil {
		return nil, err
	}
	for i, bucket := range buckets.Buckets {
		a.Others[fmt.Sprintf("bucket %d", i)] = d.plain(*bucket.Name)
	}
	return a, nil
}

// lookAt notes what is of a stack and of those nested in it.
func (d *driver) lookAt(ctx context.Context, c clients, a *aftermath, stack, prefix string) error {
	out, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil {
		return err
	}
	described := out.Stacks[0]
	if prefix == "" {
		a.Status = string(described.StackStatus)
	}
	for _, o := range described.Outputs {
		a.Outputs[prefix+*o.OutputKey] = d.plain(*o.OutputValue)
	}
	events, err := d.events(ctx, c, stack)
	if err != nil {
		return err
	}
	for _, e := range events {
		logical := prefix + *e.LogicalResourceId
		if *e.LogicalResourceId == *described.StackName {
			logical = prefix + "the stack"
		}
		a.Events[logical] = append(a.Events[logical], d.plain(fmt.Sprintf("%s %s %s", e.ResourceStatus, aws.ToString(e.PhysicalResourceId), aws.ToString(e.ResourceStatusReason))))
	}
	resources, err := c.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		return err
	}
	for _, r := range resources.StackResources {
		logical, physical := prefix+*r.LogicalResourceId, aws.ToString(r.PhysicalResourceId)
		a.Resources[logical] = d.plain(fmt.Sprintf("%s %s %s", *r.ResourceType, r.ResourceStatus, physical))
		gone := r.ResourceStatus == types.ResourceStatusDeleteComplete || r.ResourceStatus == types.ResourceStatusDeleteSkipped
		if *r.ResourceType == thingType && !gone {
			a.things[physical] = logical
		}
		if *r.ResourceType == "AWS::CloudFormation::Stack" && physical != "" {
			if err := d.lookAt(ctx, c, a, physical, logical+"/"); err != nil {
				return err
			}
		}
	}
	return nil
}

// inconsistent says what is wrong whatever the operation was: a thing of a stack that does not
// exist, or one that is nobody's.
func (a *aftermath) inconsistent(status types.StackStatus) string {
	exist := map[string]bool{}
	for id, logical := range a.things {
		exist[id] = true
		if logical == "" && !strings.HasPrefix(id, "keep-") {
			return fmt.Sprintf("nobody's thing %s", id)
		}
	}
	n := len(a.things) // with those that were kept on purpose
	kept := 0
	for key := range a.World {
		if strings.HasPrefix(key, "Keep") {
			kept++
		}
	}
	if status == types.StackStatusDeleteComplete || status == types.StackStatusRollbackComplete {
		if len(a.World) > kept {
			return "things are left"
		}
		return ""
	}
	if n != len(a.World) {
		return fmt.Sprintf("%d things of the stack, of which %d exist", n, len(a.World))
	}
	return ""
}

// text is everything that is compared.
func (a *aftermath) text(loose bool) string {
	shown := *a
	if loose {
		shown.Events, shown.Calls, shown.Resources = nil, nil, nil
		if a.Status == string(types.StackStatusDeleteComplete) { // those of the turn before
			shown.Outputs = nil
		}
	}
	text, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// state is what a rollback must bring back.
func (a *aftermath) state() string {
	text, err := json.MarshalIndent([]any{a.Outputs, a.World, a.Others}, "", " ")
	return string(text) + fmt.Sprint(errors.Join(err))
}
