package invoke

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// An Action is a handler action, as written in the request.
type Action string

// The actions of a resource type, and the invocation points of a hook.
const (
	Create Action = "CREATE"
	Read   Action = "READ"
	Update Action = "UPDATE"
	Delete Action = "DELETE"
	List   Action = "LIST"

	CreatePreProvision Action = "CREATE_PRE_PROVISION"
	UpdatePreProvision Action = "UPDATE_PRE_PROVISION"
	DeletePreProvision Action = "DELETE_PRE_PROVISION"
)

// ResourceActions and HookActions are the actions in the order of the specification.
var (
	ResourceActions = []Action{Create, Read, Update, Delete, List}
	HookActions     = []Action{CreatePreProvision, UpdatePreProvision, DeletePreProvision}
)

// handlerNames are the keys of the actions under "handlers" of a schema.
var handlerNames = map[Action]string{
	Create: "create", Read: "read", Update: "update", Delete: "delete", List: "list",
	CreatePreProvision: "preCreate", UpdatePreProvision: "preUpdate", DeletePreProvision: "preDelete",
}

// Handler is the key of the action under "handlers" of a schema: "create", "preCreate".
// It is empty for an action that does not exist.
func (a Action) Handler() string { return handlerNames[a] }

// Hook reports whether the action is an invocation point of a hook.
func (a Action) Hook() bool { return strings.HasSuffix(string(a), "_PRE_PROVISION") }

// Synchronous reports whether the handler of the action has to finish in one call: READ
// and LIST must not answer IN_PROGRESS.
func (a Action) Synchronous() bool { return a == Read || a == List }

// A Request is an operation to carry out. Models are shapes of encoding/json
// (map[string]any, []any, string, bool, json.Number or float64). Only Action must be
// set; what is empty is left out of the request, or sent as null where the official
// tool sends null.
type Request struct {
	Action Action

	// TypeName and TypeVersion ("00000001") of the resource type or hook.
	TypeName    string
	TypeVersion string

	// Token is the client request token, the same in every call of the operation.
	// Empty means a fresh one.
	Token string

	// LogicalID is the logical resource id. Empty means Token, as in the official tool.
	LogicalID string

	// StackID is the ARN of the stack. Hooks are sent Token when it is empty, unless NoStack is
	// set.
	StackID string
	NoStack bool

	ChangeSetID string // of a hook: the ARN of the change set that is created or executed
	Invocation  int    // of a hook: the number of the call, from 1; 0 sends none

	// Model is the desired state and Previous the state before an update. Members that
	// are null or that the schema does not declare are not sent.
	Model, Previous map[string]any

	TypeConfiguration any    // of a hook its hookModel
	CallbackContext   any    // of the first call; nil to start an operation
	NextToken         string // of a LIST: the page to read
	MaxResults        int    // of a LIST: the length of a page; 0 leaves it to the handler

	StackTags, PreviousStackTags   map[string]string
	SystemTags, PreviousSystemTags map[string]string

	// Rollback marks an operation that undoes an earlier one; Driftable and SnapshotRequested
	// are passed to the handler unchanged.
	Rollback, Driftable, SnapshotRequested bool

	// Target is what a hook looks at. Only for hook actions.
	Target Target

	// Base is a whole request to start from, as an event file contains it. Members that this
	// Request and the Runner set replace its members; the others are sent unchanged.
	Base map[string]any
}

// A Target is what a hook evaluates.
type Target struct {
	Name      string // type name of the target
	Type      string // RESOURCE, STACK or CHANGE_SET; empty means RESOURCE
	LogicalID string // empty means the token of the request
	Model     any    // {"resourceProperties", "previousResourceProperties"}
	Payload   string // URL of a document that the hook fetches, "" for none
}

// A Wire is the encoding of scalars in models.
type Wire string

const (
	WireTyped   Wire = "typed"   // as JSON types; the zero Wire means the same
	WireStrings Wire = "strings" // every number and boolean as a string, as the service used to
)

type resourceRequest struct {
	RequestData         resourceData `json:"requestData"`
	Region              string       `json:"region"`
	AWSAccountID        string       `json:"awsAccountId"`
	Action              Action       `json:"action"`
	CallbackContext     any          `json:"callbackContext"`
	BearerToken         string       `json:"bearerToken"`
	ResourceType        *string      `json:"resourceType"`
	ResourceTypeVersion string       `json:"resourceTypeVersion,omitempty"`
	StackID             string       `json:"stackId,omitempty"`
	NextToken           string       `json:"nextToken,omitempty"`
	MaxResults          int          `json:"maxResults,omitempty"`
	Rollback            bool         `json:"rollback,omitempty"`
	Driftable           bool         `json:"driftable,omitempty"`
	SnapshotRequested   bool         `json:"snapshotRequested,omitempty"`
}

type resourceData struct {
	CallerCredentials          *Credentials      `json:"callerCredentials"`
	ResourceProperties         map[string]any    `json:"resourceProperties"`
	PreviousResourceProperties map[string]any    `json:"previousResourceProperties"`
	LogicalResourceID          string            `json:"logicalResourceId"`
	TypeConfiguration          any               `json:"typeConfiguration"`
	ProviderCredentials        *Credentials      `json:"providerCredentials,omitempty"`
	ProviderLogGroupName       string            `json:"providerLogGroupName,omitempty"`
	StackTags                  map[string]string `json:"stackTags,omitempty"`
	PreviousStackTags          map[string]string `json:"previousStackTags,omitempty"`
	SystemTags                 map[string]string `json:"systemTags,omitempty"`
	PreviousSystemTags         map[string]string `json:"previousSystemTags,omitempty"`
}

type hookRequest struct {
	RequestData           hookData    `json:"requestData"`
	RequestContext        hookContext `json:"requestContext"`
	HookTypeName          string      `json:"hookTypeName"`
	HookTypeVersion       string      `json:"hookTypeVersion"`
	ClientRequestToken    string      `json:"clientRequestToken"`
	StackID               string      `json:"stackId"`
	ChangeSetID           string      `json:"changeSetId,omitempty"`
	AWSAccountID          string      `json:"awsAccountId"`
	ActionInvocationPoint Action      `json:"actionInvocationPoint"`
	HookModel             any         `json:"hookModel"`
}

// Credentials of a hook are JSON inside a string: the service sends them encrypted, and
// the libraries read the plain form from the same member.
type hookData struct {
	CallerCredentials    string `json:"callerCredentials"`
	TargetName           string `json:"targetName"`
	TargetType           string `json:"targetType"`
	TargetLogicalID      string `json:"targetLogicalId"`
	TargetModel          any    `json:"targetModel"`
	Payload              string `json:"payload,omitempty"`
	ProviderLogGroupName string `json:"providerLogGroupName,omitempty"`
	ProviderCredentials  string `json:"providerCredentials,omitempty"`
}

type hookContext struct {
	Invocation      int `json:"invocation,omitempty"`
	CallbackContext any `json:"callbackContext"`
}

// testRequest is the request of the TestEntrypoint function, which the libraries for
// Java, Python and TypeScript offer besides the real one. Python takes no other members.
type testRequest struct {
	Credentials     *Credentials `json:"credentials"`
	Action          Action       `json:"action"`
	Request         testData     `json:"request"`
	CallbackContext any          `json:"callbackContext"`
	Region          string       `json:"region,omitempty"`
}

type testData struct {
	ClientRequestToken        string            `json:"clientRequestToken"`
	DesiredResourceState      map[string]any    `json:"desiredResourceState"`
	PreviousResourceState     map[string]any    `json:"previousResourceState,omitempty"`
	DesiredResourceTags       map[string]string `json:"desiredResourceTags,omitempty"`
	PreviousResourceTags      map[string]string `json:"previousResourceTags,omitempty"`
	SystemTags                map[string]string `json:"systemTags,omitempty"`
	PreviousSystemTags        map[string]string `json:"previousSystemTags,omitempty"`
	AWSAccountID              string            `json:"awsAccountId,omitempty"`
	LogicalResourceIdentifier string            `json:"logicalResourceIdentifier"`
	NextToken                 string            `json:"nextToken,omitempty"`
	Region                    string            `json:"region,omitempty"`
	StackID                   string            `json:"stackId,omitempty"`
	TypeConfiguration         any               `json:"typeConfiguration,omitempty"`
}

// state is what changes from call to call of one operation.
type state struct {
	model       map[string]any
	context     any
	credentials *Credentials // nil: none
	log         *Credentials
}

// payload writes the request for a call.
func (r *Runner) payload(req *Request, now state) ([]byte, error) {
	var body any
	switch {
	case req.Action.Hook():
		hook, err := r.hookPayload(req, now)
		if err != nil {
			return nil, err
		}
		body = hook
	case r.cfg.TestEntrypoint:
		body = r.testPayload(req, now)
	default:
		body = r.resourcePayload(req, now)
	}
	data, err := encode(body)
	if err != nil || req.Base == nil {
		return data, err
	}
	return overlay(req.Base, data)
}

func (r *Runner) resourcePayload(req *Request, now state) resourceRequest {
	body := resourceRequest{
		RequestData: resourceData{
			CallerCredentials:          now.credentials,
			ResourceProperties:         r.outgoing(now.model),
			PreviousResourceProperties: r.outgoing(req.Previous),
			LogicalResourceID:          req.LogicalID,
			TypeConfiguration:          req.TypeConfiguration,
			StackTags:                  req.StackTags,
			PreviousStackTags:          req.PreviousStackTags,
			SystemTags:                 req.SystemTags,
			PreviousSystemTags:         req.PreviousSystemTags,
		},
		Region:              r.cfg.Region,
		AWSAccountID:        r.cfg.AccountID,
		Action:              req.Action,
		CallbackContext:     now.context,
		BearerToken:         req.Token,
		ResourceTypeVersion: req.TypeVersion,
		StackID:             req.StackID,
		NextToken:           req.NextToken,
		MaxResults:          req.MaxResults,
		Rollback:            req.Rollback,
		Driftable:           req.Driftable,
		SnapshotRequested:   req.SnapshotRequested,
	}
	if body.RequestData.ResourceProperties == nil {
		// Python's library refuses a request without the member, Go's one with null in it.
		body.RequestData.ResourceProperties = map[string]any{}
	}
	if req.TypeName != "" {
		body.ResourceType = &req.TypeName
	}
	if r.cfg.LogGroup != "" && now.log != nil {
		body.RequestData.ProviderCredentials = now.log
		body.RequestData.ProviderLogGroupName = r.cfg.LogGroup
	}
	return body
}

func (r *Runner) hookPayload(req *Request, now state) (hookRequest, error) {
	caller, err := encode(now.credentials)
	if err != nil {
		return hookRequest{}, err
	}
	body := hookRequest{
		RequestData: hookData{
			CallerCredentials: string(caller),
			TargetName:        req.Target.Name,
			TargetType:        req.Target.Type,
			TargetLogicalID:   req.Target.LogicalID,
			TargetModel:       req.Target.Model,
			Payload:           req.Target.Payload,
		},
		RequestContext:        hookContext{Invocation: req.Invocation, CallbackContext: now.context},
		HookTypeName:          req.TypeName,
		HookTypeVersion:       req.TypeVersion,
		ClientRequestToken:    req.Token,
		StackID:               req.StackID,
		ChangeSetID:           req.ChangeSetID,
		AWSAccountID:          r.cfg.AccountID,
		ActionInvocationPoint: req.Action,
		HookModel:             req.TypeConfiguration,
	}
	if r.cfg.LogGroup != "" && now.log != nil {
		provider, err := encode(now.log)
		if err != nil {
			return hookRequest{}, err
		}
		body.RequestData.ProviderCredentials = string(provider)
		body.RequestData.ProviderLogGroupName = r.cfg.LogGroup
	}
	return body, nil
}

func (r *Runner) testPayload(req *Request, now state) testRequest {
	body := testRequest{
		Credentials: now.credentials,
		Action:      req.Action,
		Request: testData{
			ClientRequestToken:        req.Token,
			DesiredResourceState:      r.outgoing(now.model),
			PreviousResourceState:     r.outgoing(req.Previous),
			DesiredResourceTags:       req.StackTags,
			PreviousResourceTags:      req.PreviousStackTags,
			SystemTags:                req.SystemTags,
			PreviousSystemTags:        req.PreviousSystemTags,
			AWSAccountID:              r.cfg.AccountID,
			LogicalResourceIdentifier: req.LogicalID,
			NextToken:                 req.NextToken,
			Region:                    r.cfg.Region,
			StackID:                   req.StackID,
			TypeConfiguration:         req.TypeConfiguration,
		},
		CallbackContext: now.context,
		Region:          r.cfg.Region,
	}
	if body.Request.DesiredResourceState == nil {
		body.Request.DesiredResourceState = map[string]any{}
	}
	return body
}

// complete fills in what follows from other members.
func (r *Runner) complete(req Request) (Request, error) {
	if req.Action.Handler() == "" {
		return req, fmt.Errorf("unknown action %q", req.Action)
	}
	if req.Token == "" {
		req.Token = r.cfg.NewToken()
	}
	if req.LogicalID == "" {
		req.LogicalID = req.Token
	}
	if req.Action.Hook() {
		if !req.NoStack && req.StackID == "" {
			req.StackID = req.Token
		}
		for field, value := range map[*string]string{
			&req.TypeVersion: "00000001",
			&req.Target.Type: "RESOURCE", &req.Target.LogicalID: req.LogicalID,
		} {
			if *field == "" {
				*field = value
			}
		}
	}
	return req, nil
}

// encode is json.Marshal without the escapes for HTML, which no handler needs and which
// make requests hard to read.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// overlay puts the members of a request over those of base. Members that are null or empty in
// the request do not change the base; requestData, request and requestContext are merged
// member by member, models are replaced as a whole.
func overlay(base map[string]any, request []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(request))
	decoder.UseNumber()
	var over map[string]any
	if err := decoder.Decode(&over); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	out := maps.Clone(base)
	for key, value := range over {
		part, isPart := value.(map[string]any)
		below, hasBase := out[key].(map[string]any)
		if isPart && hasBase && (key == "requestData" || key == "request" || key == "requestContext") {
			merged := maps.Clone(below)
			for k, v := range part {
				if v != nil && v != "" {
					merged[k] = v
				}
			}
			out[key] = merged
			continue
		}
		if value != nil && value != "" {
			out[key] = value
		}
	}
	return encode(out)
}
