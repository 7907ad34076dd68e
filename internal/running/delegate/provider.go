package delegate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

// pendingDelay is how long a stack that takes longer than a call waits is left alone.
const pendingDelay = time.Second

// Call implements operation.Provider. It returns operation.ErrElsewhere for a resource that was not delegated, and for a
// create that another provider began.
func (d *Delegates) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	rule := d.rule(request.Type)
	if rule == nil && !d.uses(request.Type) {
		return operation.Progress{}, operation.ErrElsewhere
	}
	typ, err := d.config.Schema(ctx, request.Type)
	if err != nil {
		return operation.Progress{}, err
	}
	var row *resourceRow
	if request.Action == invoke.Create {
		row, err = d.byToken(ctx, request.Token)
	} else {
		row, err = d.locate(ctx, typ, request)
	}
	own := request.Callback == nil || callbackOf(request).Delegated
	switch {
	case err != nil:
		return operation.Progress{}, err
	case row == nil && (request.Action != invoke.Create || rule == nil || !own):
		return operation.Progress{}, operation.ErrElsewhere
	case row == nil:
		request.Callback = nil // nothing was created that it could be about
	}
	progress, err := d.call(ctx, typ, row, request)
	var f *fault
	switch {
	case errors.Is(err, errPending):
		next := pending
		switch sent := callbackOf(request); {
		case errors.Is(err, errAttributes), sent.Attributes:
			next = pendingAttributes
		case errors.Is(err, errUpdating), sent.Updating:
			next = pendingUpdate
		}
		return operation.Progress{Status: cfn.OperationStatusInProgress, Delay: pendingDelay, Callback: json.RawMessage(next)}, nil
	case errors.As(err, &f):
		return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: string(f.code), Message: hide(request, f.message)}, nil
	}
	return progress, err
}

// The callbacks of calls that wait for a stack. With pendingUpdate, the update of the resource was sent, with
// pendingAttributes one for its attributes, too: the next call reads how it ended and does not send it again.
const (
	pending           = `{"delegated":true}`
	pendingUpdate     = `{"delegated":true,"updating":true}`
	pendingAttributes = `{"delegated":true,"updating":true,"attributes":true}`
)

// A callback is what a call that waits leaves for the next one.
type callback struct {
	Delegated  bool `json:"delegated"`
	Updating   bool `json:"updating"`
	Attributes bool `json:"attributes"`
}

// callbackOf returns the callback of an earlier call, the zero value if that was made by another provider.
func callbackOf(request operation.Request) (c callback) {
	if json.Unmarshal(request.Callback, &c) != nil {
		return callback{}
	}
	return c
}

// hide removes the secrets of a request from what an emulator says.
func hide(request operation.Request, text string) string {
	hidden := secret.Set{}
	for why, values := range request.Secrets {
		hidden.AddFor(why, values...)
	}
	return hidden.Hide(text)
}

// A call is one call on one resource in an emulator.
type call struct {
	*Delegates
	request  operation.Request
	typ      *schema.Schema
	emulator *emulator
	client   *cloudformation.Client
	kind     kind
	row      *resourceRow // nil for a create that has none
}

func (d *Delegates) call(ctx context.Context, typ *schema.Schema, row *resourceRow, request operation.Request) (operation.Progress, error) {
	if typ == nil {
		return operation.Progress{}, faultf(invoke.NotFound, "The schema of the type %s is no longer imported.", request.Type)
	}
	at := ""
	if row != nil {
		at = row.Endpoint
	} else if rule := d.rule(request.Type); rule != nil {
		at = rule.URL
	}
	e := d.emulators[at]
	if e == nil {
		return operation.Progress{}, faultf(invoke.InvalidRequest, "The resource is in the emulator at %s: start cfn serve with --delegate '%s=%s'.", at, request.Type, at)
	}
	leave, err := e.enter(ctx)
	if err != nil {
		return operation.Progress{}, err
	}
	defer leave()
	c := &call{Delegates: d, request: request, typ: typ, emulator: e, client: e.cloudFormation(request.Caller), row: row}
	if c.kind, err = e.identify(ctx); err != nil {
		return operation.Progress{}, err
	}
	switch request.Action {
	case invoke.Create:
		return c.create(ctx)
	case invoke.Read:
		return c.read(ctx)
	case invoke.Update:
		return c.update(ctx)
	case invoke.Delete:
		return c.remove(ctx)
	}
	return operation.Progress{}, faultf(invoke.InvalidRequest, "%s is not an action of a resource.", request.Action)
}

func (c *call) succeed(model map[string]any) (operation.Progress, error) {
	readable, _ := schema.Without(model, c.typ.WriteOnly).(map[string]any)
	return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: c.identifier(), Model: readable}, nil
}

// identifier is the identifier that is returned: in stacks what Ref returns, else the primary identifier.
func (c *call) identifier() string {
	if c.request.StackID != "" {
		return c.row.Physical
	}
	return c.row.Primary
}

// desired are the properties that are sent, with the tags of the stack and the name that the template leaves out, as far
// as services have it as an attribute.
func (c *call) desired() map[string]any {
	model, _ := schema.Without(c.request.Desired, c.typ.ReadOnly).(map[string]any)
	if model == nil {
		model = map[string]any{}
	}
	request := c.request
	request.StackTags = maps.Clone(c.request.SystemTags)
	if request.StackTags == nil {
		request.StackTags = map[string]string{}
	}
	maps.Copy(request.StackTags, c.request.StackTags)
	if c.request.Action != invoke.Create {
		return simulate.Tagged(c.typ, request, model)
	}
	named := simulate.Named(c.typ, request, model)
	for name := range named {
		_, given := model[name]
		switch text, isText := named[name].(string); {
		case given || isTags(c.typ, name):
		case name != lookups[c.request.Type].property:
			delete(named, name)
		case isText:
			named[name] = fitting(c.request.Type, text, model)
		}
	}
	return named
}

const suffixLength = 13 // of names that are generated

// fitting is a generated name as the service takes it, as far as schemas do not say so.
func fitting(typeName, name string, model map[string]any) string {
	limit, end := len(name), ""
	if strings.HasPrefix(typeName, "AWS::IAM::") {
		limit = 64
	}
	if typeName == "AWS::SQS::Queue" {
		limit = 80
	}
	if isTrue(model["FifoQueue"]) || isTrue(model["FifoTopic"]) {
		end = ".fifo"
		limit = min(limit, 80-len(end))
	}
	if len(name) > limit {
		name = name[:limit-suffixLength] + name[len(name)-suffixLength:]
	}
	return name + end
}

func isTrue(v any) bool { return v == true || v == "true" }

func isTags(typ *schema.Schema, name string) bool {
	return len(typ.Tagging.Property.Tokens) == 1 && typ.Tagging.Property.Tokens[0] == name
}

// create creates the stack of the resource, or continues where an earlier call was interrupted.
func (c *call) create(ctx context.Context) (operation.Progress, error) {
	properties := c.desired()
	if c.row == nil {
		if err := c.begin(ctx, properties); err != nil {
			return operation.Progress{}, err
		}
	}
	switch c.row.Stage {
	case ready:
		return c.succeed(c.row.model())
	case failing, deleting:
		return operation.Progress{}, c.fail(ctx)
	}
	sent, done, err := c.staged(ctx, properties)
	if err == nil {
		var stack *remote
		if stack, err = c.created(ctx, sent); err == nil {
			err = c.finish(ctx, properties, sent, stack)
		}
	}
	done(err)
	if err != nil {
		return operation.Progress{}, err
	}
	return c.succeed(c.row.model())
}

// finish ends a create whose stack exists.
func (c *call) finish(ctx context.Context, properties, sent map[string]any, stack *remote) error {
	if stack.status == string(cfn.StackStatusCreateComplete) || strings.HasPrefix(stack.status, "UPDATE_") {
		return c.complete(ctx, properties, sent, stack)
	}
	c.row.Stage, c.row.Reason = failing, hide(c.request, c.emulator.why(ctx, c.client, stack))
	if err := c.save(ctx, c.row, "stage", "reason"); err != nil {
		return err
	}
	return c.fail(ctx)
}

// begin writes the row of a new resource, unless its name is taken.
func (c *call) begin(ctx context.Context, properties map[string]any) error {
	if _, err := stackOf(c.request, "", properties, nil); err != nil {
		return err // before anything is written
	}
	taken := func(name string) error {
		return faultf(invoke.AlreadyExists, "Resource of type '%s' with identifier '%s' already exists.", c.request.Type, name)
	}
	claim := operation.IdentifierOf(c.typ, properties)
	name, named := nameOf(c.request.Type, properties)
	if claim == "" {
		claim = name
	}
	if named && c.request.Desired[lookups[c.request.Type].property] != nil {
		exists, err := c.emulator.exists(ctx, c.request.Caller, c.request.Type, name)
		if err != nil {
			return err
		}
		if exists {
			return taken(name)
		}
	}
	for range 5 { // the marker may be deleted with the last resource of others
		m, err := c.marker(ctx, c.emulator, c.request.Caller)
		if err != nil {
			return err
		}
		row := &resourceRow{
			Token: c.request.Token, Account: c.request.Caller.Account, Region: c.request.Caller.Region, TypeName: c.request.Type,
			Endpoint: c.emulator.url, Emulator: c.kind.String(), StackName: stackName(c.request), Stack: c.request.StackID, LogicalID: c.request.LogicalID,
			Claim: claim, Marker: m.ID, Stage: creating, Model: "{}", CreatedAt: c.config.Store.Now(),
		}
		counted, err := c.insert(ctx, row)
		var conflict *takenError
		switch {
		case errors.As(err, &conflict):
			return taken(conflict.claim)
		case err != nil:
			return err
		case counted:
			c.row = row
			c.noteType(c.request.Type)
			return nil
		}
	}
	return faultf(serviceInternalError, "The emulator at %s does not keep stacks.", c.emulator.url)
}

// created returns the stack of a new resource, which it creates if it does not exist.
func (c *call) created(ctx context.Context, properties map[string]any) (*remote, error) {
	stack, err := c.emulator.settle(ctx, c.client, c.row.stackRef())
	if err != nil {
		return nil, err
	}
	if stack == nil {
		resources, lost, err := c.lost(ctx, c.emulator, c.row)
		if err != nil {
			return nil, err
		}
		if lost {
			return nil, errors.Join(lostFault(c.emulator, resources), c.forget(ctx, c.emulator, c.row))
		}
		text, err := stackOf(c.request, c.row.owner(), properties, nil)
		if err != nil {
			return nil, err
		}
		err = c.emulator.createStack(ctx, c.client, c.row.StackName, hashed(c.request.Token), text)
		var refused *fault
		if err != nil && (!errors.As(err, &refused) || refused.code.Retriable()) {
			return nil, err
		}
		failed := err // an answer that cannot be read says nothing of what was made
		if stack, err = c.emulator.settle(ctx, c.client, c.row.StackName); err != nil {
			return nil, err
		}
		if stack == nil && failed != nil {
			return nil, errors.Join(failed, c.forget(ctx, c.emulator, c.row))
		}
	}
	switch {
	case stack == nil:
		return nil, faultf(serviceInternalError, "The emulator at %s does not have the stack %s that was created.", c.emulator.url, c.row.StackName)
	case stack.description != c.row.owner():
		taken := faultf(invoke.AlreadyExists, "The emulator at %s has a stack %s that this server did not create.", c.emulator.url, c.row.StackName)
		return nil, errors.Join(taken, c.forget(ctx, c.emulator, c.row))
	}
	c.row.StackID = stack.id
	return stack, c.save(ctx, c.row, "stack_id")
}

// complete adds the attributes of a resource that was created, and ends its create.
func (c *call) complete(ctx context.Context, properties, sent map[string]any, stack *remote) error {
	stack, found, err := c.withAttributes(ctx, properties, sent, stack)
	if err != nil {
		return err
	}
	model := readOutputs(c.typ, maps.Clone(properties), stack.outputs, found)
	c.row.Physical = c.refOf(model, stack.outputs[refOutput])
	c.row.Primary = cmp.Or(operation.IdentifierOf(c.typ, model), c.row.Physical)
	if c.row.Physical == "" {
		return faultf(generalServiceException, "The emulator at %s created the resource without an identifier.", c.emulator.url)
	}
	c.row.Stage, c.row.Model = ready, encode(model)
	return c.save(ctx, c.row, "physical_id", "identifier", "stage", "model")
}

// refOf is what Ref returns: what the emulator says, unless it is known to have another form.
func (c *call) refOf(model map[string]any, ref string) string {
	if property := verified(c.kind)[c.request.Type].ref; property != "" {
		if text, ok := model[property].(string); ok && text != "" {
			return text
		}
	}
	return ref
}

// withAttributes updates a stack so that it has outputs for the attributes of its resource. One that does not exist fails
// the update, is noted and left out; then the others are tried again. For any other failure there are none. Sent are
// the properties as they were sent.
func (c *call) withAttributes(ctx context.Context, properties, sent map[string]any, stack *remote) (*remote, []attribute, error) {
	shape := shapeOf(c.typ, properties)
	lacking := c.emulator.lacking(shape)
	wanted := slices.DeleteFunc(attributesOf(c.typ), func(a attribute) bool { return lacking[a.name] })
	if callbackOf(c.request).Attributes && stack.status != string(cfn.StackStatusUpdateComplete) {
		reason := c.emulator.why(ctx, c.client, stack)
		if !missingAttribute.MatchString(reason) {
			c.warnOfAttributes(ctx, reason)
			return stack, nil, nil
		}
		wanted = c.without(shape, wanted, reason)
	}
	for len(wanted) > 0 {
		text, err := stackOf(c.request, c.row.owner(), sent, wanted)
		if err != nil {
			return nil, nil, err
		}
		changed, err := c.emulator.updateStack(ctx, c.client, stack.id, text)
		var reason string
		if err != nil {
			var refused *fault
			if !errors.As(err, &refused) || refused.code.Retriable() {
				return nil, nil, err
			}
			reason = refused.message
		} else {
			after, err := c.emulator.settle(ctx, c.client, stack.id)
			switch {
			case errors.Is(err, errPending):
				return nil, nil, errAttributes
			case err != nil:
				return nil, nil, err
			case after == nil:
				return nil, nil, c.gone(ctx)
			}
			if !changed || after.status == string(cfn.StackStatusUpdateComplete) {
				return after, wanted, nil
			}
			reason = c.emulator.why(ctx, c.client, after)
		}
		before := len(wanted)
		if wanted = c.without(shape, wanted, reason); len(wanted) == before {
			c.warnOfAttributes(ctx, reason)
			break
		}
	}
	return stack, nil, nil
}

// without notes and leaves out the attribute that an update failed for, if that is the reason.
func (c *call) without(shape string, wanted []attribute, reason string) []attribute {
	match := missingAttribute.FindStringSubmatch(reason)
	if match == nil {
		return wanted
	}
	c.emulator.lack(shape, match[1])
	return slices.DeleteFunc(wanted, func(a attribute) bool { return a.name == match[1] })
}

func (c *call) warnOfAttributes(ctx context.Context, reason string) {
	c.config.Logger.WarnContext(ctx, "the emulator does not return the attributes of a resource", "type", c.request.Type, "url", c.emulator.url, "reason", hide(c.request, reason))
}

// fail deletes what a create made that failed, and returns why it did.
func (c *call) fail(ctx context.Context) error {
	if err := c.emulator.deleteStack(ctx, c.client, c.row.stackRef()); err != nil {
		return err
	}
	if err := c.forget(ctx, c.emulator, c.row); err != nil {
		return err
	}
	code := generalServiceException
	if lower := strings.ToLower(c.row.Reason); strings.Contains(lower, "already exists") || strings.Contains(lower, "alreadyexists") {
		code = invoke.AlreadyExists
	}
	return faultf(code, "%s", c.row.Reason)
}

// gone is the fault for a resource whose stack does not exist.
func (c *call) gone(ctx context.Context) error {
	resources, lost, err := c.lost(ctx, c.emulator, c.row)
	switch {
	case err != nil:
		return err
	case lost && c.request.Action == invoke.Read:
		return lostFault(c.emulator, resources)
	case lost:
		return &fault{generalServiceException, lostFault(c.emulator, resources).message}
	}
	return faultf(invoke.NotFound, "Resource of type '%s' with identifier '%s' was not found.", c.request.Type, c.request.Identifier)
}

// own returns the stack of the resource.
func (c *call) own(ctx context.Context) (*remote, error) {
	stack, err := c.emulator.settle(ctx, c.client, c.row.stackRef())
	switch {
	case err != nil:
		return nil, err
	case stack == nil:
		return nil, c.gone(ctx)
	}
	return stack, c.check(stack)
}

// check fails for a stack that is not that of the resource.
func (c *call) check(stack *remote) error {
	if stack.description != c.row.owner() {
		return faultf(invoke.InvalidRequest, "The stack %s in the emulator at %s was not created by this server, or was changed by others.", c.row.StackName, c.emulator.url)
	}
	return nil
}

// read returns the resource. What the emulator cannot read is as it was written last.
func (c *call) read(ctx context.Context) (operation.Progress, error) {
	if c.row.Stage == creating || c.row.Stage == failing {
		return operation.Progress{}, faultf(invoke.NotFound, "Resource of type '%s' with identifier '%s' was not found.", c.request.Type, c.request.Identifier)
	}
	stack, err := c.own(ctx)
	if err != nil {
		return operation.Progress{}, err
	}
	model := c.row.model()
	actual, err := c.actual(ctx, stack)
	if err != nil {
		return operation.Progress{}, err
	}
	maps.Copy(model, actual)
	model, _ = c.typ.Recast(model).(map[string]any)
	progress, err := c.succeed(model)
	progress.Stored = actual == nil
	return progress, err
}

// update changes the stack of the resource.
func (c *call) update(ctx context.Context) (_ operation.Progress, err error) {
	stack, err := c.own(ctx)
	if err != nil {
		return operation.Progress{}, err
	}
	before := c.row.model()
	if changed := simulate.CreateOnlyChange(c.typ, before, c.request.Desired); changed != "" {
		return operation.Progress{}, faultf(notUpdatable, "The property %s of '%s' can only be set when the resource is created.", changed, c.request.Type)
	}
	properties := c.desired()
	for _, path := range slices.Concat(c.typ.PrimaryIdentifier, c.typ.CreateOnly) { // a name that was generated
		if len(path.Tokens) == 1 && !c.typ.IsReadOnly(path.Tokens) && properties[path.Tokens[0]] == nil && before[path.Tokens[0]] != nil {
			properties[path.Tokens[0]] = before[path.Tokens[0]]
		}
	}
	kept := c.reset(properties, before)
	sent, done, err := c.staged(ctx, properties)
	defer func() { done(err) }()
	if err != nil {
		return operation.Progress{}, err
	}
	after, model, changed, err := c.changed(ctx, stack, before, properties, sent)
	if err != nil {
		return operation.Progress{}, err
	}
	if ref := c.refOf(model, after.outputs[refOutput]); ref != c.row.Physical {
		return operation.Progress{}, faultf(generalServiceException, "The emulator at %s replaced the resource %s by %s instead of updating it.", c.emulator.url, c.row.Physical, ref)
	}
	ignored, err := c.ignored(ctx, after, before, properties)
	switch {
	case errors.Is(err, errPending) && changed:
		return operation.Progress{}, errUpdating
	case err != nil:
		return operation.Progress{}, err
	}
	if len(ignored) > 0 && !c.request.Rollback {
		return operation.Progress{}, faultf(generalServiceException, "The emulator at %s accepted the update, but did not change %s.", c.emulator.url, strings.Join(ignored, ", "))
	}
	if kept = slices.Compact(slices.Sorted(slices.Values(append(kept, ignored...)))); len(kept) > 0 {
		c.config.Logger.WarnContext(ctx, "the emulator may have kept the values of properties", "type", c.request.Type, "identifier", c.row.Physical, "properties", strings.Join(kept, ", "), "rollback", c.request.Rollback)
	}
	c.row.Model, c.row.Kept = encode(model), strings.Join(kept, ", ")
	if err := c.save(ctx, c.row, "model", "kept"); err != nil {
		return operation.Progress{}, err
	}
	return c.succeed(model)
}

// changed updates the stack of a resource, and returns it with the new model. It reports false if nothing differed.
// Properties that come or go may change which attributes exist: these are then read by an update of their own.
func (c *call) changed(ctx context.Context, stack *remote, before, properties, sent map[string]any) (after *remote, model map[string]any, changed bool, err error) {
	wanted := slices.DeleteFunc(attributesOf(c.typ), func(a attribute) bool { _, found := a.at.Find(before); return !found })
	differs := shapeOf(c.typ, properties) != shapeOf(c.typ, before)
	if differs {
		wanted = nil
	}
	after, changed = stack, true
	progress := callbackOf(c.request)
	if !progress.Updating {
		text, err := stackOf(c.request, c.row.owner(), sent, wanted)
		if err != nil {
			return nil, nil, false, err
		}
		if changed, err = c.emulator.updateStack(ctx, c.client, stack.id, text); err != nil {
			return nil, nil, false, err
		}
		if after, err = c.emulator.updated(ctx, c.client, stack.id); err != nil {
			return nil, nil, false, err
		}
	}
	switch {
	case after == nil:
		return nil, nil, false, c.gone(ctx)
	case changed && after.status != string(cfn.StackStatusUpdateComplete) && !progress.Attributes:
		return nil, nil, false, faultf(generalServiceException, "%s", c.emulator.why(ctx, c.client, after))
	}
	model = maps.Clone(properties)
	if differs {
		if after, wanted, err = c.withAttributes(ctx, properties, sent, after); err != nil {
			return nil, nil, false, err
		}
		lacking := c.emulator.lacking(shapeOf(c.typ, properties))
		for _, a := range attributesOf(c.typ) {
			if value, found := a.at.Find(before); found && !lacking[a.name] { // in case that they could not be read
				model, _ = invoke.Put(model, a.at, value).(map[string]any)
			}
		}
	}
	return after, readOutputs(c.typ, model, after.outputs, wanted), changed, nil
}

// reset sets the defaults of properties that the update leaves out: an emulator would keep their values. It
// returns those without a default that may keep them: the measured ones of a verified type, all of any other.
func (c *call) reset(properties, before map[string]any) (kept []string) {
	known, measured := verified(c.kind)[c.request.Type]
	for name := range before {
		at := schema.Path{Tokens: []string{name}}
		if _, set := properties[name]; set || c.typ.IsReadOnly(at.Tokens) || c.typ.IsCreateOnly(at.Tokens) || isTags(c.typ, name) {
			continue
		}
		if node := c.typ.Property(at.Tokens); node != nil && node.Get("default") != nil {
			properties[name] = node.Get("default").Any()
			continue
		}
		if !measured || known.keeps[name] {
			kept = append(kept, name)
		}
	}
	return kept
}

// ignored returns the properties that an update changed and that the emulator still has with their old values, as
// far as it can be asked.
func (c *call) ignored(ctx context.Context, stack *remote, before, after map[string]any) ([]string, error) {
	actual, err := c.actual(ctx, stack)
	if err != nil {
		return nil, err
	}
	same := func(a, b any) bool {
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return string(x) == string(y)
	}
	var out []string
	for name, value := range after {
		if is, found := actual[name]; found && !same(value, before[name]) && same(is, before[name]) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// actual are the properties that the emulator reads, nil if it cannot read resources of the type.
func (c *call) actual(ctx context.Context, stack *remote) (map[string]any, error) {
	if !verified(c.kind)[c.request.Type].readable {
		return nil, nil
	}
	actual, deleted, err := c.emulator.drift(ctx, c.client, stack.id)
	if err != nil {
		return nil, err
	}
	if deleted {
		return nil, faultf(invoke.NotFound, "Resource of type '%s' with identifier '%s' was not found.", c.request.Type, c.request.Identifier)
	}
	recast, _ := c.typ.Recast(actual).(map[string]any)
	return recast, nil
}

// remove deletes the stack of the resource.
func (c *call) remove(ctx context.Context) (operation.Progress, error) {
	began := c.row.Stage == deleting
	stack, err := c.emulator.settle(ctx, c.client, c.row.stackRef())
	if err != nil {
		return operation.Progress{}, err
	}
	if stack == nil {
		resources, lost, err := c.lost(ctx, c.emulator, c.row)
		if err == nil {
			err = c.forget(ctx, c.emulator, c.row)
		}
		switch {
		case err != nil:
			return operation.Progress{}, err
		case lost:
			c.config.Logger.WarnContext(ctx, "nothing was deleted: "+lostFault(c.emulator, resources).message, "type", c.request.Type, "identifier", c.request.Identifier)
		case !began:
			return operation.Progress{}, faultf(invoke.NotFound, "Resource of type '%s' with identifier '%s' was not found.", c.request.Type, c.request.Identifier)
		}
		return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: c.identifier()}, nil
	}
	if err := c.check(stack); err != nil {
		return operation.Progress{}, err
	}
	if !began {
		c.row.Stage = deleting
		if err := c.save(ctx, c.row, "stage"); err != nil {
			return operation.Progress{}, err
		}
	}
	if err := c.emulator.deleteStack(ctx, c.client, stack.id); err != nil {
		return operation.Progress{}, err
	}
	if err := c.forget(ctx, c.emulator, c.row); err != nil {
		return operation.Progress{}, err
	}
	return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: c.identifier()}, nil
}
