package builtin

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/hook"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/macro"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/functions"
	"github.com/formwork-dev/formwork/internal/services/states"
)

// Config sets up the types. All members must be set, except those that say what nil means.
type Config struct {
	Store *store.Store // for the properties that the services do not have

	// Imported returns the imported schema of a type, nil if there is none. What it refuses is refused,
	// and its properties are accepted. With nil no schema is imported.
	Imported func(ctx context.Context, typeName string) (*schema.Schema, error)

	// Tables are the services: SSM, Secrets Manager, CloudWatch Logs, and of CloudFormation
	// the operations of the registry.
	Tables []*awswire.Table

	// S3 answers requests of S3 for a caller that is known already.
	S3 func(w http.ResponseWriter, r *http.Request, target awswire.Target, caller awswire.Caller) (operation, code string)

	Macros *macro.Macros

	// ManagedHooks keeps the hooks of templates. With nil their types do not exist.
	ManagedHooks *hook.ManagedHooks

	// Published and PublisherOf are what the operations of the registry leave out. With nil the types that
	// are registered with it do not exist.
	//
	// Published returns a public version: the one that a private version of the caller is published as, or
	// the latest of a public type of the caller. private is the version in the account. number is "" if it
	// is not published.
	Published func(ctx context.Context, caller awswire.Caller, arn schema.TypeARN) (public, private schema.TypeARN, number string, err error)

	// PublisherOf returns the caller as a publisher: the id, "" for an account that is not one, and the
	// connection that identifies it, "" without one.
	PublisherOf func(ctx context.Context, caller awswire.Caller) (id, connection string, err error)

	// Functions are the functions that stacks deploy, and Objects opens the code of them. With
	// nil their types do not exist.
	Functions *functions.Functions
	Objects   Objects

	// RunLambda makes functions. Without it, those that exist can only be changed and deleted.
	RunLambda bool

	// StateMachines are those of templates. With nil their type does not exist.
	StateMachines *states.Service

	// StackSets are the operations on stack sets. With nil their type does not exist.
	StackSets *awswire.Table
}

// Types are the types of this server itself.
type Types struct {
	config Config
	tables map[string]*awswire.Table
	types  map[string]*operation.Type
	kinds  map[string]reader
}

//go:embed schemas
var schemas embed.FS

// kinds are the types by name.
var kinds = map[string]reader{
	"AWS::CloudFormation::GuardHook":              managedHook{hook.GuardHook},
	"AWS::CloudFormation::HookDefaultVersion":     defaultVersions{cfn.RegistryTypeHook},
	"AWS::CloudFormation::HookTypeConfig":         hookConfigurations{},
	"AWS::CloudFormation::HookVersion":            versions{cfn.RegistryTypeHook, "TypeName", "SchemaHandlerPackage"},
	"AWS::CloudFormation::LambdaHook":             managedHook{hook.LambdaHook},
	"AWS::CloudFormation::Macro":                  macros{},
	"AWS::CloudFormation::ModuleDefaultVersion":   moduleDefaultVersions{},
	"AWS::CloudFormation::ModuleVersion":          versions{cfn.RegistryTypeModule, "ModuleName", "ModulePackage"},
	"AWS::CloudFormation::PublicTypeVersion":      publicVersions{},
	"AWS::CloudFormation::Publisher":              publishers{},
	"AWS::CloudFormation::ResourceDefaultVersion": defaultVersions{cfn.RegistryTypeResource},
	"AWS::CloudFormation::ResourceVersion":        versions{cfn.RegistryTypeResource, "TypeName", "SchemaHandlerPackage"},
	"AWS::CloudFormation::StackSet":               stackSets{},
	"AWS::CloudFormation::TypeActivation":         activations{},

	"AWS::Logs::LogGroup":         logGroups{},
	"AWS::Logs::LogStream":        logStreams{},
	"AWS::S3::Bucket":             buckets{},
	"AWS::S3::BucketPolicy":       bucketPolicies{},
	"AWS::SSM::Parameter":         parameters{},
	"AWS::SecretsManager::Secret": secrets{},

	"AWS::StepFunctions::StateMachine": stateMachines{},
}

// A reader reads the resources of one type. Each is a kind or a stepped kind.
type reader interface {
	// read returns the model of the resource c.request.Identifier.
	read(c *call) (map[string]any, error)
}

// A kind provisions the resources of one type. Errors of the services are refusals: what
// they say becomes the failure of the operation.
type kind interface {
	reader

	// identifier is the primary identifier that a new resource will have; what the template
	// leaves unnamed is named in desired.
	identifier(c *call) (string, error)
	// create makes the resource and returns its identifier, which may be longer than the
	// one that was announced.
	create(c *call) (string, error)
	update(c *call) error
	remove(c *call) error
}

// A stepped kind makes the calls of creates, updates and deletes itself: it may use any number
// of calls, and a create may adopt what exists.
type stepped interface {
	reader

	// step makes one call. It returns a Progress without a model: what was created or updated
	// is read afterwards. It may be repeated after a crash.
	step(c *call) (operation.Progress, error)
}

// kindsWith are the types by name, with or without those of functions.
func kindsWith(functions bool) map[string]reader {
	all := maps.Clone(kinds)
	if functions {
		maps.Copy(all, functionKinds)
	}
	return all
}

// Schemas returns the schemas of the types by name, with or without those of functions.
func Schemas(functions bool) (map[string]string, error) {
	texts := map[string]string{}
	for name := range kindsWith(functions) {
		text, err := schemas.ReadFile("schemas/" + schema.Hyphenated(name) + ".json")
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	return texts, nil
}

// New returns the types over the services.
func New(config Config) (*Types, error) {
	t := &Types{config: config, tables: map[string]*awswire.Table{}, types: map[string]*operation.Type{}, kinds: kindsWith(config.Functions != nil)}
	for _, table := range config.Tables {
		t.tables[table.Service] = table
	}
	if config.StackSets != nil {
		t.tables[stackSetService] = config.StackSets
	}
	texts, err := Schemas(config.Functions != nil)
	if err != nil {
		return nil, err
	}
	for name, k := range t.kinds {
		switch k.(type) {
		case stackSets:
			if config.StackSets == nil {
				continue
			}
		case stepped:
			if config.Published == nil {
				continue
			}
		case managedHook:
			if config.ManagedHooks == nil {
				continue
			}
		case stateMachines:
			if config.StateMachines == nil {
				continue
			}
		}
		parsed, problems := schema.Load(schema.Hyphenated(name)+".json", []byte(texts[name]), schema.Config{Kind: schema.Resource})
		if problems.HasErrors() {
			return nil, problems.Err()
		}
		t.types[name] = &operation.Type{Name: name, Schema: parsed, Provider: t, LateValidation: true}
	}
	return t, nil
}

// Names lists the types, sorted.
func (t *Types) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t.types)), func(name string) bool { return !t.makes(name) })
}

// Type implements operation.Types.
func (t *Types) Type(_ context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	if typ, ok := t.types[name]; ok && t.makes(name) {
		return typ, nil
	}
	unknown := &operation.UnknownTypeError{Name: name}
	if functionKinds[name] != nil {
		unknown.Hint = "start cfn serve with --run-lambda, which runs the functions of templates"
	}
	return nil, unknown
}

// Has reports whether there is a service for a type here, even if no new resources of it are made.
func (t *Types) Has(name string) bool { return t.types[name] != nil }

// makes reports whether resources of a type are made.
func (t *Types) makes(name string) bool { return functionKinds[name] == nil || t.config.RunLambda }

// Left are the types of functions, without Config.RunLambda, for accounts that have resources of them.
func (t *Types) Left() operation.Types { return left{t} }

type left struct{ *Types }

// Type implements [operation.Types].
func (l left) Type(ctx context.Context, caller awswire.Caller, name, _ string) (*operation.Type, error) {
	typ, k := l.types[name], functionKinds[name]
	if typ == nil || k == nil {
		return nil, &operation.UnknownTypeError{Name: name}
	}
	d, _ := k.(deployed)
	has, err := l.config.Functions.Has(ctx, d.placeOf(caller.Place), name)
	if err == nil && !has {
		err = &operation.UnknownTypeError{Name: name}
	}
	return typ, err
}

// A call is one call for one resource.
type call struct {
	ctx     context.Context
	types   *Types
	request operation.Request
	desired map[string]any // with the name of the resource and the tags of the stack
}

// An invalid error is a request that the type refuses.
type invalid string

func (e invalid) Error() string { return string(e) }

// An unserved error is a create that needs a service which does not exist here. Nothing was made.
type unserved struct{ invalid }

// Call implements operation.Provider.
func (t *Types) Call(ctx context.Context, request operation.Request) (operation.Progress, error) {
	typ := t.types[request.Type]
	switch {
	case typ == nil:
		return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: string(invoke.NotFound), Message: "The type " + request.Type + " does not exist."}, nil
	case request.Action == invoke.Create && !t.makes(request.Type):
		return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: string(invoke.InvalidRequest), Message: "Start cfn serve with --run-lambda to create resources of the type " + request.Type + "."}, nil
	}
	c := &call{ctx: ctx, types: t, request: request, desired: maps.Clone(request.Desired)}
	if c.desired == nil {
		c.desired = map[string]any{}
	}
	if request.Action == invoke.Create || request.Action == invoke.Update {
		c.desired, _ = typ.Schema.Recast(c.desired).(map[string]any)
		imported, err := t.imported(ctx, request.Type)
		if err != nil {
			return operation.Progress{}, err
		}
		if faults := propertyFaults(typ.Schema, imported, c.desired, ageing[request.Type]); faults != "" {
			return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: "InvalidRequest", Message: faults, Own: true}, nil
		}
	}
	switch k := t.kinds[request.Type].(type) {
	case stepped:
		return t.step(c, k)
	case kind:
		return t.provision(c, k)
	}
	return operation.Progress{}, fmt.Errorf("unknown type %s", request.Type)
}

func (t *Types) imported(ctx context.Context, typeName string) (*schema.Schema, error) {
	if t.config.Imported == nil {
		return nil, nil
	}
	return t.config.Imported(ctx, typeName)
}

// provision makes a call for a kind.
func (t *Types) provision(c *call, k kind) (operation.Progress, error) {
	var err error
	identifier := c.request.Identifier
	switch c.request.Action {
	case invoke.Create:
		identifier, err = k.identifier(c)
		if err == nil && c.request.Callback == nil {
			return t.announce(c, k, identifier)
		}
		if err == nil {
			identifier, err = t.create(c, k, identifier)
		}
	case invoke.Read:
	case invoke.Update:
		err = k.update(c)
	case invoke.Delete:
		if err = k.remove(c); err == nil {
			err = t.forget(c)
		}
		if err == nil {
			return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: identifier}, nil
		}
	default:
		err = notAnAction(c)
	}
	if err != nil {
		return failure(c, err)
	}
	return t.read(c.at(identifier), k)
}

func notAnAction(c *call) error {
	return invalid(fmt.Sprintf("%s is not an action of a resource.", c.request.Action))
}

// read ends an operation with the model of the resource.
func (t *Types) read(c *call, k reader) (operation.Progress, error) {
	model, err := k.read(c)
	if err != nil {
		return failure(c, err)
	}
	if _, registered := k.(stepped); !registered {
		if err := t.withStored(c, model); err != nil {
			return operation.Progress{}, err
		}
	}
	model, _ = schema.Without(model, t.types[c.request.Type].Schema.WriteOnly).(map[string]any)
	return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: c.request.Identifier, Model: model}, nil
}

// step makes a call for a stepped kind.
func (t *Types) step(c *call, k stepped) (operation.Progress, error) {
	var progress operation.Progress
	var err error
	switch c.request.Action {
	case invoke.Read:
		return t.read(c, k)
	case invoke.Create, invoke.Update, invoke.Delete:
		progress, err = k.step(c)
	default:
		err = notAnAction(c)
	}
	switch {
	case err != nil:
		failed, unknown := failure(c, err)
		if text, ok := words(err); ok && unknown == nil && c.request.Action != invoke.Delete {
			failed.Message = text // what is missing is not the resource
		}
		return failed, unknown
	case progress.Status != cfn.OperationStatusSuccess || c.request.Action == invoke.Delete:
		return progress, nil
	}
	return t.read(c.at(progress.Identifier), k)
}

// ageing are properties whose values AWS adds and retires faster than schemas are imported. Any value is accepted: what does
// not run here is refused when it is called.
var ageing = map[string]string{functions.TypeFunction: "Runtime"}

// propertyFaults lists the properties that violate the schema of a type or the imported one, which
// may be nil and may have further properties. It returns "" if none does. The values of an ageing property are not compared
// with those that the imported schema knows.
func propertyFaults(typ, imported *schema.Schema, desired map[string]any, ageing string) string {
	violations := typ.Check(desired, schema.CheckConfig{})
	if imported != nil {
		violations = slices.DeleteFunc(violations, func(v schema.Violation) bool {
			return v.Keyword == "additionalProperties" && len(v.Pointer) == 1 && imported.Property(v.Pointer) != nil
		})
		for _, v := range imported.Check(desired, schema.CheckConfig{}) {
			known := slices.ContainsFunc(violations, func(o schema.Violation) bool {
				return o.Keyword == v.Keyword && slices.Equal(o.Pointer, v.Pointer) && o.Want == v.Want
			})
			if outdated := v.Keyword == "enum" && slices.Equal(v.Pointer, document.Pointer{ageing}); !known && !outdated {
				violations = append(violations, v)
			}
		}
	}
	var faults []string
	for _, v := range violations {
		switch v.Keyword {
		case "required":
			faults = append(faults, fmt.Sprintf("The property {%s} is required", v.Pointer.Append(v.Want)))
		case "additionalProperties":
			faults = append(faults, fmt.Sprintf("Encountered unsupported properties in {%s}: [%s]", v.Pointer[:len(v.Pointer)-1], v.Pointer[len(v.Pointer)-1]))
		default:
			faults = append(faults, fmt.Sprintf("The property {%s} %s", v.Pointer, v.Message))
		}
	}
	if len(faults) == 0 {
		return ""
	}
	return "Property validation failure: [" + strings.Join(faults, ", ") + "]"
}

// announce is the first call of a create: it returns the name of the resource, unless that is
// taken.
func (t *Types) announce(c *call, k kind, identifier string) (operation.Progress, error) {
	c.request.Identifier = identifier
	_, err := k.read(c)
	if err == nil {
		return operation.Progress{
			Status: cfn.OperationStatusFailed, ErrorCode: "AlreadyExists",
			Message: fmt.Sprintf("Resource of type '%s' with identifier '%s' already exists.", c.request.Type, identifier),
		}, nil
	}
	if code(err) != "NotFound" {
		return failure(c, err)
	}
	return operation.Progress{Status: cfn.OperationStatusInProgress, Identifier: identifier, Callback: json.RawMessage(`{"announced":true}`)}, nil
}

// create is a later call: what exists now under the name was created by an earlier one.
func (t *Types) create(c *call, k kind, identifier string) (string, error) {
	created, err := k.create(c)
	if err != nil && code(err) == "AlreadyExists" {
		return identifier, k.update(c.at(identifier))
	}
	return created, err
}

func (c *call) at(identifier string) *call {
	out := *c
	out.request.Identifier = identifier
	return &out
}

// do makes a call of a service.
func do[O any](c *call, service, name string, in any) (*O, error) {
	table := c.types.tables[service]
	if table == nil {
		return nil, fmt.Errorf("unknown service %s", service)
	}
	out, err := table.Call(c.ctx, c.request.Caller, name, in)
	if err != nil {
		return nil, err
	}
	result, ok := out.(*O)
	if !ok {
		return nil, fmt.Errorf("%s of %s returned %T", name, service, out)
	}
	return result, nil
}

// failure makes the outcome of an error: a refusal ends the operation, anything else is
// tried again.
func failure(c *call, err error) (operation.Progress, error) {
	message, ok := words(err)
	if !ok {
		return operation.Progress{}, err // it says nothing about the resource: the database may be away
	}
	if code(err) == "NotFound" {
		message = fmt.Sprintf("Resource of type '%s' with identifier '%s' was not found.", c.request.Type, c.request.Identifier)
	}
	var simulable unserved
	return operation.Progress{Status: cfn.OperationStatusFailed, ErrorCode: code(err), Message: message, Simulable: errors.As(err, &simulable)}, nil
}

// words is what a refusal says. It reports false for any other error.
func words(err error) (string, bool) {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) && response.HTTPStatusCode() >= http.StatusInternalServerError {
		return "", false
	}
	var refusal *awswire.Error
	var own invalid
	var remote interface{ ErrorMessage() string }
	switch {
	case errors.As(err, &refusal):
		return refusal.Message, true
	case errors.As(err, &own), errors.As(err, new(unserved)):
		return err.Error(), true
	case errors.As(err, &remote):
		return remote.ErrorMessage(), true
	}
	return "", false
}

// code is the handler error code for an error of a service.
func code(err error) string {
	var refusal *awswire.Error
	var remote interface{ ErrorCode() string }
	name := ""
	switch {
	case errors.As(err, &refusal):
		name = refusal.Code
	case errors.As(err, &remote):
		name = remote.ErrorCode()
	}
	switch {
	case strings.Contains(name, "NotFound"), strings.HasPrefix(name, "NoSuch"), strings.HasSuffix(name, "DoesNotExist"):
		return "NotFound"
	case strings.Contains(name, "AlreadyExists"), strings.Contains(name, "ResourceExists"), name == "BucketAlreadyOwnedByYou":
		return "AlreadyExists"
	case strings.Contains(name, "AccessDenied"):
		return "AccessDenied"
	case strings.Contains(name, "LimitExceeded"):
		return "ServiceLimitExceeded"
	case strings.Contains(name, "Throttl"):
		return "Throttling"
	case name == "CFNRegistryException":
		return "GeneralServiceException"
	}
	return "InvalidRequest"
}

// text is a string property, "" for one that is absent.
func (c *call) text(name string) string {
	s, _ := c.desired[name].(string)
	return s
}

// optional is a string property, nil for one that is absent.
func (c *call) optional(name string) *string {
	if s, ok := c.desired[name].(string); ok {
		return &s
	}
	return nil
}

// generated is the name of a resource that the template does not name. The same request
// has the same name.
func (c *call) generated(prefix, alphabet string) string {
	sum := sha256.Sum256([]byte(c.request.Token + "\x00name"))
	source := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))) // not a secret
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = alphabet[source.IntN(len(alphabet))]
	}
	return strings.TrimLeft(prefix+"-"+string(suffix), "-")
}

const (
	upperDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	mixedCase   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// stackName is "Stack-LogicalID", the prefix of generated names of at most limit bytes.
func (c *call) stackName(limit int) string {
	return operation.NamePrefix(c.request.StackName, c.request.LogicalID, limit-1-suffixLength)
}

const (
	suffixLength = 12
	maxGenerated = 512 // of generated names whose service has no shorter limit
)

// tags are those of the property Tags, a list or a map, and those of the stack.
func (c *call) tags() map[string]string {
	out := map[string]string{}
	maps.Copy(out, c.request.StackTags)
	switch own := c.desired["Tags"].(type) {
	case map[string]any:
		for key, value := range own {
			out[key] = fmt.Sprint(value)
		}
	case []any:
		for _, item := range own {
			if tag, ok := item.(map[string]any); ok {
				out[fmt.Sprint(tag["Key"])] = fmt.Sprint(tag["Value"])
			}
		}
	}
	return out
}

// tagList converts a map of tags to a property that is a list of Key and Value.
func tagList(tags map[string]string) []any {
	out := []any{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, map[string]any{"Key": key, "Value": tags[key]})
	}
	return out
}

// set puts a value into a model unless it is nil or points to nothing.
func set[T any](model map[string]any, name string, value *T) {
	if value != nil {
		model[name] = *value
	}
}
