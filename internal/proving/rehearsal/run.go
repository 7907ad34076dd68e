package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/running/inprocess"
	"github.com/formwork-dev/formwork/internal/running/stackview"
	"github.com/formwork-dev/formwork/local"
)

// settleLimit bounds one operation on a stack, in real time; handledLimit one that calls handlers.
const (
	settleLimit  = time.Minute
	handledLimit = 10 * time.Minute
)

// A run is one update in a local CloudFormation of its own.
type run struct {
	config *Config
	world  *world
	remote *submit.Remote
	name   string
	dir    string
	proxy  *httptape.Proxy // nil without a recording
	stop   func()
}

// An outcome is what an update did.
type outcome struct {
	status    types.StackStatus
	reason    string
	changes   []types.Change
	calls     []Call
	verdicts  []Verdict
	events    []types.StackEvent
	resources map[string]types.StackResourceSummary // by path
	left      []*thing                              // exist, and are not part of the stack
	gone      []*thing                              // existed before, and are deleted
	refused   error                                 // the update did not begin
	unchanged bool
}

// rehearse makes one run. With plan, the changes are read before.
func rehearse(ctx context.Context, config *Config, d *deployed, exists map[string]bool, forward, backward *fault, plan bool) (_ *outcome, err error) {
	r := &run{config: config, name: aws.ToString(d.stack.StackName)}
	r.world = &world{
		deployed: d, next: config.next, exists: exists, things: map[string]*thing{}, seen: map[string]int{}, forward: forward, backward: backward,
		uses: map[string][]string{}, handled: map[string]bool{}, paths: map[string]string{r.name: ""}, children: map[string]string{},
	}
	for _, root := range []*source{d.template, config.next} {
		for of, path := range root.all() {
			for id, names := range of.uses {
				r.world.uses[join(path, id)] = append(r.world.uses[join(path, id)], names...)
			}
		}
	}
	if r.dir, err = os.MkdirTemp("", folderPrefix); err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	err = r.rebuild(ctx)
	if err == nil && plan {
		err = r.probe(ctx)
	}
	if err == nil {
		err = r.hook(ctx)
	}
	var out *outcome
	if err == nil {
		out, err = r.update(ctx, plan)
	}
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	if r.world.broken != nil && ctx.Err() == nil {
		return nil, r.world.broken
	}
	return out, err
}

// folderPrefix is that of the folders of runs. staleAfter is the age of folders of which the process must have crashed.
const (
	folderPrefix = "formwork-rehearsal-"
	staleAfter   = 24 * time.Hour
)

// removeStale removes folders in a folder for temporary files that crashed processes have left.
func removeStale(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // then a run cannot make a folder, and says so
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), folderPrefix) && now.Sub(info.ModTime()) > staleAfter {
			_ = files.RemoveTemp(filepath.Join(dir, entry.Name())) // of another user, perhaps
		}
	}
}

// open starts the CloudFormation of the run.
func (r *run) open(ctx context.Context) error {
	d := r.world.deployed
	server := local.ServerConfig{Config: r.config.Base, Address: "127.0.0.1:0", GracePeriod: time.Millisecond}
	server.Dir, server.Account, server.Region, server.TimeScale, server.Around = r.dir, d.account, d.region, 1000, r.world.around
	if err := r.confine(&server); err != nil {
		return err
	}
	server.Simulate = append(slices.Sorted(maps.Keys(d.schemas)), nestedType) // in full, before the services of the server
	own, err := inprocess.Start(ctx, server, submit.Config{
		Getenv: r.config.Getenv, Now: r.config.Base.Now, Logger: slog.New(slog.DiscardHandler), Pause: 5 * time.Millisecond,
	}, r.config.Logger)
	if err != nil {
		return err
	}
	r.remote, r.stop = own.Remote, own.Stop
	return nil
}

func (r *run) close() {
	if r.stop != nil {
		r.stop()
	}
	if r.proxy != nil {
		if err := r.proxy.Close(); err != nil {
			r.config.Logger.Debug("the proxy of a rehearsal did not end cleanly", "error", err)
		}
	}
	if err := files.RemoveTemp(r.dir); err != nil {
		r.config.Logger.Warn("the folder of a rehearsal is left", "folder", r.dir, "error", err)
	}
}

// rebuild makes the deployed stack, and what it uses of others.
func (r *run) rebuild(ctx context.Context) error {
	d := r.world.deployed
	schemas := append(slices.Clone(d.texts), submit.TypeSchema{Name: nestedType, Schema: looseNested(d.template, r.config.next)})
	if _, err := r.remote.ImportTypes(ctx, schemas, nil); err != nil {
		return fmt.Errorf("import the schemas of the types: %w", err)
	}
	if err := r.register(ctx); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(d.exports))
	for i := 0; len(names) > 0; i++ {
		n := min(len(names), template.MaxOutputs)
		outputs := map[string]any{}
		for j, name := range names[:n] {
			outputs[fmt.Sprintf("O%d", j)] = map[string]any{"Value": d.exports[name], "Export": map[string]any{"Name": name}}
		}
		if err := r.support(ctx, fmt.Sprintf("rehearsal-exports-%d", i), outputs); err != nil {
			return err
		}
		names = names[n:]
	}
	body, url, err := r.offer(ctx, d.template)
	if err != nil {
		return err
	}
	in := &cloudformation.CreateStackInput{
		StackName: &r.name, TemplateBody: body, TemplateURL: url, Tags: d.stack.Tags, Capabilities: capabilities, DisableValidation: aws.Bool(true),
		Parameters: r.before(), DisableRollback: aws.Bool(true),
	}
	if d.policy != "" {
		in.StackPolicyBody = &d.policy
	}
	if _, err := r.remote.CloudFormation().CreateStack(ctx, in); err != nil {
		return fmt.Errorf("rebuild the deployed stack: %w", err)
	}
	stack, events, err := r.follow(ctx, r.name, "")
	if err != nil {
		return fmt.Errorf("rebuild the deployed stack: %w", err)
	}
	if stack.StackStatus != types.StackStatusCreateComplete {
		return fmt.Errorf("rebuild the deployed stack: %s", firstFailure(events, aws.ToString(stack.StackStatusReason)))
	}
	for _, importer := range slices.Sorted(maps.Keys(d.importers)) {
		outputs := map[string]any{}
		for j, name := range d.importers[importer] {
			outputs[fmt.Sprintf("O%d", j)] = map[string]any{"Value": map[string]any{"Fn::ImportValue": name}}
		}
		if err := r.support(ctx, importer, outputs); err != nil {
			return err
		}
	}
	r.world.mu.Lock()
	r.world.seeded = true
	r.world.mu.Unlock()
	return nil
}

// capabilities are all: which ones the update needs is not what a rehearsal is about.
var capabilities = []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityAutoExpand}

// firstFailure is why an operation failed, according to its events; reason is what the stack says.
func firstFailure(events []types.StackEvent, reason string) string {
	switch cause := stackview.FindRootCause(events); {
	case cause == nil:
		return reason
	case cause.ResourceType == "AWS::CloudFormation::Stack" && cause.Nested == "":
		return cause.Message
	default:
		return cause.LogicalID + ": " + cause.Message
	}
}

// support makes another stack, with outputs.
func (r *run) support(ctx context.Context, name string, outputs map[string]any) error {
	body := encoded(map[string]any{"Resources": map[string]any{"Nothing": map[string]any{"Type": "AWS::CloudFormation::WaitConditionHandle"}}, "Outputs": outputs})
	if _, err := r.remote.CloudFormation().CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body}); err != nil {
		return fmt.Errorf("rebuild the exports of other stacks: %w", err)
	}
	stack, events, err := r.follow(ctx, name, "")
	if err == nil && stack.StackStatus != types.StackStatusCreateComplete {
		err = errors.New(firstFailure(events, aws.ToString(stack.StackStatusReason)))
	}
	if err != nil {
		return fmt.Errorf("rebuild the exports of other stacks: %w", err)
	}
	return nil
}

// offer puts a template into a request, or into a bucket if it is too large for that; those of nested stacks are in a bucket.
func (r *run) offer(ctx context.Context, s *source) (body, url *string, err error) {
	upload := func(ctx context.Context, text string) (string, error) {
		return r.remote.UploadTemplate(ctx, "", []byte(text))
	}
	text, err := s.text(ctx, upload)
	if err != nil || len(text) <= template.MaxBody {
		return &text, nil, err
	}
	at, err := upload(ctx, text)
	return nil, &at, err
}

// follow waits until an operation on a stack has ended.
func (r *run) follow(ctx context.Context, name, after string) (*types.Stack, []types.StackEvent, error) {
	limit := settleLimit
	if len(r.config.Extensions) > 0 {
		limit = handledLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var events []types.StackEvent
	stack, err := r.remote.FollowStack(ctx, name, after, func(_ *types.Stack, more []types.StackEvent) error {
		events = append(events, more...)
		return nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the operation has not ended after %s", limit)
	}
	return stack, events, err
}

// madeUp is the value of a secret parameter: one for what the stack has, another one for a new value.
func madeUp(p *template.Parameter, changed bool) string {
	switch {
	case p.Type == "Number" && changed:
		return "1000002"
	case p.Type == "Number":
		return "1000001"
	case changed:
		return "rehearsed-secret-2"
	}
	return "rehearsed-secret-1"
}

// before are the parameters that the stack has.
func (r *run) before() (out []types.Parameter) {
	d := r.world.deployed
	for _, p := range d.stack.Parameters {
		declared := d.template.parsed.Parameter(aws.ToString(p.ParameterKey))
		if declared == nil {
			continue
		}
		value := aws.ToString(p.ParameterValue)
		if p.ResolvedValue != nil {
			value = *p.ResolvedValue
		}
		if declared.NoEcho {
			value = madeUp(declared, false)
		}
		out = append(out, types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: &value})
	}
	return out
}

// after are the parameters of the update.
func (r *run) after() (out []types.Parameter) {
	d := r.world.deployed
	for _, declared := range r.config.next.parsed.Parameters {
		has := slices.IndexFunc(d.stack.Parameters, func(p types.Parameter) bool { return aws.ToString(p.ParameterKey) == declared.Name })
		given := slices.IndexFunc(r.config.Parameters, func(p types.Parameter) bool {
			return aws.ToString(p.ParameterKey) == declared.Name && !aws.ToBool(p.UsePreviousValue)
		})
		p := types.Parameter{ParameterKey: aws.String(declared.Name)}
		switch {
		case given >= 0 && declared.NoEcho:
			p.ParameterValue = aws.String(madeUp(declared, true))
		case given >= 0 && r.config.next.stored[declared.Name]:
			p.ParameterValue = aws.String("rehearsed-" + declared.Name) // what is behind the name is not known
			if has >= 0 && aws.ToString(d.stack.Parameters[has].ParameterValue) == aws.ToString(r.config.Parameters[given].ParameterValue) {
				p.ParameterValue, p.UsePreviousValue = nil, aws.Bool(true)
			}
		case given >= 0:
			p.ParameterValue = r.config.Parameters[given].ParameterValue
		case has >= 0:
			p.UsePreviousValue = aws.Bool(true)
		default:
			continue // its default counts
		}
		out = append(out, p)
	}
	for _, p := range r.config.Parameters {
		if r.config.next.parsed.Parameter(aws.ToString(p.ParameterKey)) == nil {
			out = append(out, types.Parameter{ParameterKey: p.ParameterKey, ParameterValue: aws.String("")}) // which the service refuses
		}
	}
	return out
}

// update runs the update.
func (r *run) update(ctx context.Context, plan bool) (*outcome, error) {
	out := &outcome{}
	body, url, err := r.offer(ctx, r.config.next)
	if err != nil {
		return nil, err
	}
	tags := r.config.Tags
	if tags == nil {
		tags = r.world.deployed.stack.Tags
	}
	if plan {
		set, err := r.remote.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{
			StackName: &r.name, ChangeSetName: aws.String("rehearsal"), ChangeSetType: types.ChangeSetTypeUpdate, TemplateBody: body, TemplateURL: url,
			Parameters: r.after(), Tags: tags, Capabilities: capabilities, DisableValidation: aws.Bool(true),
		})
		switch {
		case err != nil:
			return &outcome{refused: err}, ctx.Err()
		case set.Empty():
			return &outcome{unchanged: true}, nil
		case set.Status == types.ChangeSetStatusFailed:
			return &outcome{refused: errors.New(set.Reason), verdicts: r.world.judged()}, nil
		}
		out.changes = set.Changes
	}
	after, err := r.remote.LastStackEvent(ctx, r.name)
	if err != nil {
		return nil, err
	}
	_, err = r.remote.CloudFormation().UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &r.name, TemplateBody: body, TemplateURL: url, Parameters: r.after(), Tags: tags, Capabilities: capabilities, DisableValidation: aws.Bool(true),
	})
	switch {
	case err != nil && strings.Contains(err.Error(), "No updates are to be performed"):
		return &outcome{unchanged: true}, nil
	case err != nil:
		return &outcome{refused: err}, ctx.Err()
	}
	stack, events, err := r.follow(ctx, r.name, after)
	if err != nil {
		return nil, err
	}
	out.status, out.reason, out.events = stack.StackStatus, aws.ToString(stack.StackStatusReason), events
	has := map[string]bool{}
	out.resources = map[string]types.StackResourceSummary{}
	if err := r.list(ctx, r.name, "", out.resources, has); err != nil {
		return nil, err
	}
	out.left = r.world.left(has)
	r.world.mu.Lock()
	defer r.world.mu.Unlock()
	out.calls, out.gone, out.verdicts = slices.Clone(r.world.calls), slices.Clone(r.world.gone), slices.Clone(r.world.verdicts)
	return out, nil
}

// list reads the resources of a stack and of its nested stacks, by path. Those that it has are also in has, by type and identifier.
func (r *run) list(ctx context.Context, name, path string, resources map[string]types.StackResourceSummary, has map[string]bool) error {
	for s, err := range r.remote.StackResources(ctx, name) {
		if err != nil {
			return err
		}
		at := join(path, aws.ToString(s.LogicalResourceId))
		resources[at] = s
		if s.ResourceStatus == types.ResourceStatusDeleteComplete || s.ResourceStatus == types.ResourceStatusDeleteFailed {
			continue
		}
		physical := aws.ToString(s.PhysicalResourceId)
		has[aws.ToString(s.ResourceType)+"|"+physical] = true
		if aws.ToString(s.ResourceType) == stackType && physical != "" {
			if err := r.list(ctx, physical, at, resources, has); err != nil {
				return err
			}
		}
	}
	return nil
}
