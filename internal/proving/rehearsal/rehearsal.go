package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/local"
)

// Config is an update to rehearse.
type Config struct {
	Remote *submit.Remote // the place of the stack, which is only read
	Stack  string         // its name or ARN

	// Template is the next one, File its name. Nil is the deployed template.
	Template []byte
	File     string

	Parameters []types.Parameter // those without a value, and those that are not here, keep theirs
	Tags       []types.Tag       // nil keeps those of the stack

	Extensions []*submit.Request // hooks and resource types whose handlers run
	Recordings []*httptape.Tape  // of the network calls of handlers

	Base     local.Config // of the local CloudFormations
	Getenv   func(string) string
	Logger   *slog.Logger
	Parallel int           // runs at the same time
	MaxRuns  int           // of failures
	Limit    time.Duration // of all runs; failures that are left then are not rehearsed

	Progress func(done, total int) // may be nil

	next   *source
	aside  map[string]string // why extensions and hooks do not run, by name
	stacks int               // nested ones of the next template
}

// A Report is the result of a rehearsal.
type Report struct {
	StackName string   `json:"stackName"`
	Region    string   `json:"region"`
	Status    string   `json:"status"`  // in which the update ends; "" if it is refused or there is nothing to change
	Reason    string   `json:"reason"`  // why it fails or is refused
	Pending   bool     `json:"pending"` // whether there is something to change
	Changes   []Change `json:"changes"`
	Steps     []Step   `json:"steps"`       // in their order
	Path      []string `json:"longestPath"` // logical IDs of steps that wait for each other
	Rollback  []Step   `json:"rollback"`    // the steps of the rollback if the update fails

	Extensions []Extension `json:"extensions"`
	Verdicts   []Verdict   `json:"hooks"` // what hooks refuse or warn of

	Failures  []Failure  `json:"failures"`
	Lost      []Lost     `json:"lost"`      // by the update
	Left      []Lost     `json:"left"`      // by the update, if it fails
	Conflicts []Conflict `json:"conflicts"` // names that are in use
	Quotas    []Quota    `json:"quotas"`
	Exports   []string   `json:"exports"` // of the stack, which other stacks import
	Unknown   []string   `json:"unknown"` // what the rehearsal does not know

	Runs    int `json:"runs"`
	Skipped int `json:"skipped"` // failures that were not run
}

// A Change is one of a resource.
type Change struct {
	LogicalID   string   `json:"logicalId"`
	Type        string   `json:"resourceType"`
	Action      string   `json:"action"` // Add, Modify, Remove
	Replacement string   `json:"replacement"`
	Properties  []string `json:"properties"` // that change; their values are in no report
}

// A Step is a call of a handler.
type Step struct {
	LogicalID string `json:"logicalId"` // NESTED.LOGICALID in a nested stack, here and everywhere
	Type      string `json:"resourceType"`
	Action    string `json:"action"`   // CREATE, UPDATE, DELETE
	Replaces  bool   `json:"replaces"` // a resource that exists
	Failed    bool   `json:"failed"`
	Hook      string `json:"hook"` // that refuses it, "" for none
}

// A Failure is what happens if a step fails.
type Failure struct {
	LogicalID string `json:"logicalId"`
	Type      string `json:"resourceType"`
	Action    string `json:"action"`
	When      string `json:"when"`     // before, after: its work was done
	Rollback  string `json:"rollback"` // "DELETE Queue" if that fails on the way back, too

	Status  string   `json:"status"`
	Stuck   []string `json:"stuck"`   // logical IDs of the resources that keep the rollback from its end
	Command string   `json:"command"` // that continues the rollback without them
	Left    []Lost   `json:"left"`    // exist afterwards, and are not part of the stack
	Lost    []Lost   `json:"lost"`    // existed before, and are deleted
}

// Lost is a resource that is gone, or left.
type Lost struct {
	LogicalID  string `json:"logicalId"`
	Type       string `json:"resourceType"`
	PhysicalID string `json:"physicalId"`
}

// A Conflict is a resource whose name is in use.
type Conflict struct {
	LogicalID  string `json:"logicalId"`
	Type       string `json:"resourceType"`
	Identifier string `json:"identifier"`
}

// A Quota is a limit of CloudFormation.
type Quota struct {
	Name  string `json:"name"`
	Used  int    `json:"used"`
	Limit int    `json:"limit"`
}

// Run rehearses an update. The error is that of the place of the stack, of the template, or of the context.
func Run(ctx context.Context, config Config) (*Report, error) {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, config.Limit, &limitError{config.Limit})
		defer cancel()
	}
	removeStale(os.TempDir(), time.Now())
	report, err := config.run(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return report, err
}

// A limitError reports that Config.Limit is over.
type limitError struct{ limit time.Duration }

func (e *limitError) Error() string {
	return fmt.Sprintf("the rehearsal was not done within %s", e.limit)
}

func (c *Config) run(ctx context.Context) (*Report, error) {
	var err error
	if c.Template == nil {
		if c.Template, err = deployedTemplate(ctx, c); err != nil {
			return nil, err
		}
	}
	c.aside = map[string]string{}
	c.checkExtensions()
	for {
		report, err := c.attempt(ctx)
		var broken *brokenError
		if !errors.As(err, &broken) || !c.setAside(broken.name, broken.why) {
			return report, err
		}
	}
}

// attempt makes a rehearsal with the extensions that are not set aside. A *brokenError is that of another one.
func (c *Config) attempt(ctx context.Context) (_ *Report, err error) {
	if c.next, err = parseSource(c.File, c.Template); err != nil {
		return nil, err
	}
	c.stacks = 0
	d, err := read(ctx, c)
	if err != nil {
		return nil, err
	}
	report := &Report{
		StackName: aws.ToString(d.stack.StackName), Region: c.Remote.Region, Changes: []Change{}, Steps: []Step{}, Path: []string{}, Rollback: []Step{}, Verdicts: []Verdict{}, Failures: []Failure{}, Lost: []Lost{}, Left: []Lost{}, Conflicts: []Conflict{},
		Quotas: c.next.quotas(), Exports: append([]string{}, d.imported...),
	}
	base, err := rehearse(ctx, c, d, nil, nil, nil, true)
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	if base.refused == nil && !base.unchanged {
		if report.Conflicts = c.conflicts(ctx, d, base); len(report.Conflicts) > 0 {
			for _, conflict := range report.Conflicts {
				exists[conflict.LogicalID] = true
			}
			if base, err = rehearse(ctx, c, d, exists, nil, nil, true); err != nil {
				return nil, err
			}
		}
	}
	report.base(c, d, base)
	if report.Pending && base.refused == nil {
		if err := c.sweep(ctx, d, exists, base, report); err != nil {
			return nil, err
		}
	}
	report.Extensions = c.extensions(d)
	report.Unknown = c.unknown(d, report.Extensions)
	return report, nil
}

// unknown is what the rehearsal does not know.
func (c *Config) unknown(d *deployed, extensions []Extension) []string {
	if len(c.next.stored) > 0 {
		d.remark("parameters of Systems Manager are taken to have the values that they had at the last update")
	}
	if slices.ContainsFunc(extensions, func(e Extension) bool { return e.Runs }) {
		d.remark("hooks and handlers get made-up values for secrets")
	}
	out := slices.Concat(d.remarks, d.template.notes, c.next.notes, always)
	slices.Sort(out)
	return slices.Compact(out)
}

// always is not known in any rehearsal.
var always = []string{
	"macros and the functions of custom resources are not run",
	"quotas and capacity of other services, eventual consistency, and values that services make up are not known",
}

// base fills in what the update does if nothing fails.
func (r *Report) base(c *Config, d *deployed, base *outcome) {
	r.Runs++
	r.Verdicts = append(r.Verdicts, base.verdicts...)
	if base.refused != nil {
		r.Pending, r.Reason = true, refusal(base.refused)
		return
	}
	if base.unchanged {
		return
	}
	r.Pending, r.Status, r.Reason = true, string(base.status), ""
	if !succeeded(base.status) {
		r.Reason = failureReason(base)
		r.Left = lost(base.left)
	}
	for _, change := range base.changes {
		if of := change.ResourceChange; of != nil {
			r.Changes = append(r.Changes, changeOf(of))
		}
	}
	failed := false
	for _, call := range base.calls {
		step := Step{call.LogicalID, shownType(call.Type), call.Action, call.Action == "CREATE" && d.resources[call.LogicalID] != nil, call.Failed, call.Hook}
		if call.Rollback || failed && call.Action == "DELETE" { // what is new is deleted in the cleanup, which undoes nothing
			r.Rollback = append(r.Rollback, step)
		} else {
			r.Steps = append(r.Steps, step)
		}
		failed = failed || call.Failed && call.Action != "DELETE"
	}
	r.Lost = lost(base.gone)
	var apart []string
	if r.Path, apart = c.waits(d, base); len(apart) > 1 {
		d.remark("these resources do not all wait for one another, so if one fails, the progress of the others and what is left of them depend on timing: %s", words.Cut(strings.Join(apart, ", "), 300))
	}
}

// failureReason is why an update fails: within a nested stack, the first failure there.
func failureReason(out *outcome) string {
	for _, call := range out.calls {
		switch {
		case !call.Failed || call.Rollback || call.Type == stackType:
		case call.Hook != "":
			return fmt.Sprintf("%s: the hook %s refuses it", call.LogicalID, call.Hook)
		case strings.Contains(call.LogicalID, "."):
			return call.LogicalID + ": " + call.message
		}
	}
	return masked(firstFailure(out.events, out.reason))
}

// refusal is the message of the CloudFormation of a rehearsal, without the names of its requests.
func refusal(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "" {
		return masked(api.ErrorMessage())
	}
	return masked(submit.Explain(err).Text)
}

// shownType is the type of a resource in the template.
func shownType(name string) string {
	if name == nestedType {
		return stackType
	}
	return name
}

func succeeded(status types.StackStatus) bool { return status == types.StackStatusUpdateComplete }

func changeOf(of *types.ResourceChange) Change {
	out := Change{LogicalID: aws.ToString(of.LogicalResourceId), Type: shownType(aws.ToString(of.ResourceType)), Action: string(of.Action), Replacement: string(of.Replacement), Properties: []string{}}
	for _, detail := range of.Details {
		if detail.Target == nil {
			continue
		}
		name := string(detail.Target.Attribute)
		if detail.Target.Name != nil {
			name = *detail.Target.Name
		}
		if !slices.Contains(out.Properties, name) {
			out.Properties = append(out.Properties, name)
		}
	}
	slices.Sort(out.Properties)
	return out
}

func lost(things []*thing) []Lost {
	out := []Lost{}
	for _, t := range things {
		out = append(out, Lost{t.LogicalID, shownType(t.Type), cmp.Or(t.deployed, t.Identifier)})
	}
	slices.SortFunc(out, func(a, b Lost) int { return strings.Compare(a.LogicalID+a.PhysicalID, b.LogicalID+b.PhysicalID) })
	return out
}

// conflicts looks for new resources whose identifiers the template sets and which exist already.
func (c *Config) conflicts(ctx context.Context, d *deployed, base *outcome) []Conflict {
	out := []Conflict{}
	for _, id := range slices.Sorted(maps.Keys(base.resources)) {
		s := base.resources[id]
		typeName := aws.ToString(s.ResourceType)
		if d.resources[id] != nil || ownType(typeName) || s.ResourceStatus == types.ResourceStatusDeleteComplete {
			continue
		}
		of := d.schemas[typeName]
		if of == nil || of.Handler("read") == nil || !setByUser(of, c.next.resource(id)) {
			continue
		}
		if physical := aws.ToString(s.PhysicalResourceId); physical != "" && d.conflict(ctx, c.Remote, typeName, physical) {
			out = append(out, Conflict{id, typeName, physical})
		}
	}
	return out
}

// setByUser reports whether the template sets the identifier of a resource.
func setByUser(s *schema.Schema, r *template.Resource) bool {
	if r == nil {
		return false
	}
	for _, path := range s.PrimaryIdentifier {
		if len(path.Tokens) != 1 || r.Properties.Get(path.Tokens[0]) == nil {
			return false
		}
	}
	return true
}

// quotas are the limits of CloudFormation for a template.
func (s *source) quotas() []Quota {
	var out []Quota
	for of, path := range s.all() {
		in := ""
		if path != "" {
			in = " of " + path
		}
		out = append(
			out, Quota{"bytes of the template" + in, of.bytes, template.MaxBytes}, Quota{"resources" + in, len(of.parsed.Resources), template.MaxResources},
			Quota{"parameters" + in, len(of.parsed.Parameters), template.MaxParameters}, Quota{"outputs" + in, len(of.parsed.Outputs), template.MaxOutputs},
			Quota{"mappings" + in, len(of.parsed.Mappings), template.MaxMappings},
		)
	}
	return out
}

// waits finds the longest chain of resources that change, of which each waits for the one before, and those of them that do not wait for
// another one, nor that one for them, sorted.
func (c *Config) waits(d *deployed, base *outcome) (longest, apart []string) {
	changed := map[string]bool{}
	for _, call := range base.calls {
		if !call.Rollback && call.Action != "DELETE" {
			id, _, _ := strings.Cut(call.LogicalID, ".")
			changed[id] = true
		}
	}
	longest = []string{}
	scope, err := c.scope(d, c.next, "")
	if err != nil {
		return longest, nil
	}
	order, err := scope.Order()
	if err != nil {
		return longest, nil
	}
	paths, above := map[string][]string{}, map[string]map[string]bool{}
	for _, r := range order {
		var before []string
		above[r.LogicalID] = map[string]bool{}
		for _, need := range scope.Needs(r) {
			if len(paths[need]) > len(before) {
				before = paths[need]
			}
			above[r.LogicalID][need] = true
			maps.Copy(above[r.LogicalID], above[need])
		}
		paths[r.LogicalID] = before
		if changed[r.LogicalID] {
			paths[r.LogicalID] = append(slices.Clone(before), r.LogicalID)
		}
		if len(paths[r.LogicalID]) > len(longest) {
			longest = paths[r.LogicalID]
		}
	}
	for one := range changed {
		for other := range changed {
			if one != other && !above[one][other] && !above[other][one] {
				apart = append(apart, one)
				break
			}
		}
	}
	slices.Sort(apart)
	return longest, apart
}

// scope evaluates a next template, at a path, with the parameters that are known.
func (c *Config) scope(d *deployed, of *source, path string) (*template.Scope, error) {
	stack, given := d.stack, c.Parameters
	if path != "" {
		stack, given = d.stacks[path], nil
	}
	if stack == nil {
		stack = &types.Stack{}
	}
	parameters := &template.Parameters{}
	for _, p := range of.parsed.Parameters {
		b := template.Bound{Key: p.Name, List: p.IsList()}
		if p.Default != nil {
			b.Value = *p.Default
		}
		for _, has := range slices.Concat(stack.Parameters, given) {
			if aws.ToString(has.ParameterKey) == p.Name && has.ParameterValue != nil {
				b.Value = *has.ParameterValue
			}
		}
		parameters.Bound = append(parameters.Bound, b)
	}
	return of.parsed.NewScope(template.ScopeInput{Parameters: parameters, Pseudo: template.Pseudo{
		AccountID: d.account, Region: c.Remote.Region, StackName: aws.ToString(stack.StackName), StackID: aws.ToString(stack.StackId),
	}})
}

// A trial is a run with failures.
type trial struct {
	forward, backward *fault
	failure           Failure
	done              bool
}

// A sweep are the runs with failures.
type sweep struct {
	*Config
	deployed *deployed
	exists   map[string]bool
	trials   []*trial
	last     int      // the trial after which most is undone
	undone   *outcome // of that trial
	all      int      // also those for which there are too many runs
	done     int
}

// sweep runs the update with a failure at each step, and with a second one at each step of the way back from the last of them.
// When the time of the rehearsal is over, the others are left out.
func (c *Config) sweep(ctx context.Context, d *deployed, exists map[string]bool, base *outcome, report *Report) error {
	s := &sweep{Config: c, deployed: d, exists: exists, last: -1}
	for _, call := range base.calls {
		if call.Rollback || call.Failed {
			continue
		}
		if call.Action != "DELETE" {
			s.last = s.all
		}
		of := Failure{LogicalID: call.LogicalID, Type: shownType(call.Type), Action: call.Action, When: "before"}
		s.add(&trial{forward: &fault{call.LogicalID, call.Action, false, "InvalidRequest"}, failure: of})
		if of.When = "after"; call.Action == "CREATE" && call.Type != stackType {
			s.add(&trial{forward: &fault{call.LogicalID, call.Action, true, "InvalidRequest"}, failure: of})
		}
	}
	err := s.run(ctx, 0)
	if first := len(s.trials); s.undone != nil {
		for _, call := range s.undone.calls {
			if call.Rollback && call.Type != stackType { // whose rollback fails if one in it does
				of := s.trials[s.last].failure
				of.Rollback = call.Action + " " + call.LogicalID
				s.add(&trial{forward: s.trials[s.last].forward, backward: &fault{call.LogicalID, call.Action, false, "InvalidRequest"}, failure: of})
			}
		}
		if err == nil {
			err = s.run(ctx, first)
		}
	}
	var limit *limitError
	if err != nil && !errors.As(err, &limit) {
		return err
	}
	for _, t := range s.trials {
		if t.done {
			report.Failures = append(report.Failures, t.failure)
		}
	}
	report.Runs += len(report.Failures)
	report.Skipped = s.all - len(report.Failures)
	return nil
}

// add adds a trial, if it is not one too many.
func (s *sweep) add(t *trial) {
	if s.all++; len(s.trials) < s.MaxRuns {
		s.trials = append(s.trials, t)
	}
}

// run runs the trials from one on. The first error ends it.
func (s *sweep) run(ctx context.Context, from int) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(max(1, s.Parallel))
	var mu sync.Mutex
	for i := from; i < len(s.trials) && within.Err() == nil; i++ {
		group.Go(func() error {
			t := s.trials[i]
			out, err := rehearse(within, s.Config, s.deployed, s.exists, t.forward, t.backward, false)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			t.fill(out, s.deployed)
			if i == s.last {
				s.undone = out
			}
			if s.done++; s.Progress != nil {
				s.Progress(s.done, len(s.trials))
			}
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fill notes what a run did.
func (t *trial) fill(out *outcome, d *deployed) {
	t.done = true
	f := &t.failure
	f.Status, f.Stuck, f.Left, f.Lost = string(out.status), []string{}, lost(out.left), []Lost{}
	if out.refused != nil {
		f.Status = "refused: " + refusal(out.refused)
		return
	}
	if !succeeded(out.status) {
		f.Lost = lost(out.gone)
	}
	if out.status != types.StackStatusUpdateRollbackFailed {
		return
	}
	for _, call := range out.calls {
		if call.Rollback && call.Failed && call.Type != stackType && !slices.Contains(f.Stuck, call.LogicalID) {
			f.Stuck = append(f.Stuck, call.LogicalID)
		}
	}
	slices.Sort(f.Stuck)
	if len(f.Stuck) > 0 {
		skip := make([]string, len(f.Stuck))
		for i, at := range f.Stuck {
			skip[i] = d.skipName(at)
		}
		f.Command = "cfn stack continue " + aws.ToString(d.stack.StackName) + " --region " + d.region + " --resources-to-skip " + strings.Join(skip, ",")
	}
}

// skipName is how ContinueUpdateRollback names a resource: in a nested stack, with the name of that stack.
func (d *deployed) skipName(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 || d.stacks[path[:i]] == nil {
		return path
	}
	return aws.ToString(d.stacks[path[:i]].StackName) + path[i:]
}

// Summary is one sentence about the report.
func (r *Report) Summary() string {
	switch {
	case !r.Pending:
		return "there is nothing to change"
	case r.Status == "":
		return "the update is refused: " + r.Reason
	case r.Status == string(types.StackStatusUpdateComplete):
		return "the update succeeds, in " + words.Count(len(r.Steps), "step")
	}
	return "the update fails: it ends in " + r.Status
}

// Succeeds reports whether the update succeeds, or has nothing to do.
func (r *Report) Succeeds() bool {
	return !r.Pending || r.Status == string(types.StackStatusUpdateComplete)
}
