package hook

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Guard evaluates rules of CloudFormation Guard with the public program cfn-guard.
type Guard struct {
	// Program returns the path of cfn-guard. The error says how to get it.
	Program func() (string, error)

	// Object reads what a URI of S3 names, at most limit bytes of it. The error is an
	// *awswire.Error if the caller has no such object.
	Object func(ctx context.Context, caller awswire.Caller, uri, version string, limit int64) ([]byte, error)

	// Environ is the environment of the program.
	Environ []string
}

// GuardRules are where the rules of a Guard Hook are, and the parameters for them.
type GuardRules struct {
	RuleLocation Location
	Options      struct {
		InputParams *Location `json:",omitempty"`
	}
}

// A Location is an object in S3: s3://BUCKET/KEY.
type Location struct {
	URI       string `json:"Uri"`
	VersionID string `json:"VersionId,omitempty"`
}

// The bounds of what cfn-guard gets and prints.
const (
	maxRules     = 10 << 20 // bytes of an object, and of the rules in it
	maxRuleFiles = 200
	maxReport    = 16 << 20
	guardTime    = 25 * time.Second // of one run: a call of a hook has 30
	guardAtOnce  = 4
)

// The exit codes of cfn-guard.
const (
	guardPassed = 0
	guardFailed = 19
)

// guarding bounds the processes at once.
var guarding = make(chan struct{}, guardAtOnce)

// function is the function of a Guard Hook for a caller.
func (g Guard) function(caller awswire.Caller, text string) (invoke.Function, error) {
	f := &guardFunction{guard: g, caller: caller}
	if err := json.Unmarshal([]byte(text), &f.rules); err != nil {
		return nil, fmt.Errorf("read the rules of a Guard Hook: %w", err)
	}
	return f, nil
}

type guardFunction struct {
	guard  Guard
	caller awswire.Caller
	rules  GuardRules
}

// guardRequest is the request of a hook, as far as Guard needs it.
type guardRequest struct {
	RequestData struct {
		TargetName, TargetType, TargetLogicalID string
		TargetModel                             struct {
			ResourceProperties, PreviousResourceProperties map[string]any
		}
		Payload string
	}
	HookTypeName, HookTypeVersion, StackID, ChangeSetID, AWSAccountID string
	ActionInvocationPoint                                             invoke.Action
}

// guardEvent is the response of a hook.
type guardEvent struct {
	HookStatus  invoke.Status     `json:"hookStatus"`
	ErrorCode   invoke.Code       `json:"errorCode,omitempty"`
	Message     string            `json:"message"`
	Annotations []guardAnnotation `json:"annotations,omitempty"`
}

type guardAnnotation struct {
	AnnotationName string `json:"annotationName"`
	Status         string `json:"status"`
	StatusMessage  string `json:"statusMessage,omitempty"`
}

// Call implements invoke.Function: it evaluates the rules for a target.
func (f *guardFunction) Call(ctx context.Context, payload []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var request guardRequest
	if err := decoder.Decode(&request); err != nil {
		return nil, fmt.Errorf("read the request of a hook: %w", err)
	}
	event, err := f.evaluate(ctx, &request)
	var refused *awswire.Error
	var broken guardError
	switch {
	case errors.As(err, &refused):
		event = &guardEvent{HookStatus: invoke.Failed, ErrorCode: invoke.InternalFailure, Message: "The rules cannot be read: " + refused.Message}
	case errors.As(err, &broken):
		event = &guardEvent{HookStatus: invoke.Failed, ErrorCode: invoke.InternalFailure, Message: string(broken)}
	case err != nil:
		return nil, err
	}
	return json.Marshal(event)
}

// A guardError is a fault of the rules or of cfn-guard.
type guardError string

func (e guardError) Error() string { return string(e) }

func (f *guardFunction) evaluate(ctx context.Context, request *guardRequest) (*guardEvent, error) {
	program, err := f.guard.Program()
	if err != nil {
		return nil, guardError(err.Error())
	}
	input, err := request.input()
	if err != nil {
		return nil, err
	}
	rules, err := f.read(ctx, input)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	given, err := json.Marshal(map[string][]string{"rules": rules, "data": {string(data)}})
	if err != nil {
		return nil, err
	}
	report, err := f.guard.run(ctx, program, given)
	if err != nil {
		return nil, err
	}
	return report.event(), nil
}

// read reads the rules, and adds the parameters for them to the input.
func (f *guardFunction) read(ctx context.Context, input map[string]any) ([]string, error) {
	at := f.rules.RuleLocation
	data, err := f.guard.Object(ctx, f.caller, at.URI, at.VersionID, maxRules)
	if err != nil {
		return nil, err
	}
	rules, err := ruleFiles(at.URI, data)
	if err != nil {
		return nil, err
	}
	if at := f.rules.Options.InputParams; at != nil {
		data, err := f.guard.Object(ctx, f.caller, at.URI, at.VersionID, maxRules)
		if err != nil {
			return nil, err
		}
		value, problems := document.Parse(path.Base(at.URI), data, document.Limits{})
		if problems.HasErrors() || value == nil || value.Kind != document.Object {
			return nil, guardError("The input parameters in " + at.URI + " are not an object in JSON or YAML")
		}
		parameters, _ := value.Any().(map[string]any)
		for name := range parameters {
			if _, taken := input[name]; taken {
				return nil, guardError("The input parameters in " + at.URI + " contain " + name + ", which the input of the rules has already")
			}
		}
		maps.Copy(input, parameters)
	}
	return rules, nil
}

// ruleFiles are the files of rules in an object: one, or those of an archive.
func ruleFiles(uri string, data []byte) ([]string, error) {
	switch {
	case strings.HasSuffix(uri, ".zip"):
		return zippedRules(uri, data)
	case strings.HasSuffix(uri, ".tar.gz"), strings.HasSuffix(uri, ".tgz"):
		return tarredRules(uri, data)
	}
	return []string{string(data)}, nil
}

// A ruleSet collects rules within bounds.
type ruleSet struct {
	uri   string
	files []string
	left  int64
}

// add reads a file of an archive if it has rules.
func (s *ruleSet) add(name string, open func() (io.ReadCloser, error)) error {
	if ext := path.Ext(name); ext != ".guard" && ext != ".ruleset" {
		return nil
	}
	file, err := open()
	if err != nil {
		return guardError("The archive " + s.uri + " cannot be read")
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, s.left+1))
	if s.left -= int64(len(text)); err != nil || s.left < 0 || len(s.files) == maxRuleFiles {
		return guardError(fmt.Sprintf("The archive %s cannot be read, or has more than %d files or %d bytes of rules", s.uri, maxRuleFiles, maxRules))
	}
	s.files = append(s.files, string(text))
	return nil
}

func (s *ruleSet) all() ([]string, error) {
	if len(s.files) == 0 {
		return nil, guardError("The archive " + s.uri + " has no rules: no file ends with .guard or .ruleset")
	}
	return s.files, nil
}

func zippedRules(uri string, data []byte) ([]string, error) {
	s := &ruleSet{uri: uri, left: maxRules}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, guardError("The archive " + uri + " cannot be read")
	}
	for _, entry := range archive.File {
		if entry.FileInfo().Mode().IsRegular() {
			if err := s.add(entry.Name, entry.Open); err != nil {
				return nil, err
			}
		}
	}
	return s.all()
}

func tarredRules(uri string, data []byte) ([]string, error) {
	s := &ruleSet{uri: uri, left: maxRules}
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, guardError("The archive " + uri + " cannot be read")
	}
	// What is skipped counts, too: otherwise a small archive could keep this busy for long.
	archive := tar.NewReader(io.LimitReader(unzipped, 10*maxRules))
	for {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return s.all()
		case err != nil:
			return nil, guardError("The archive " + uri + " cannot be read")
		case header.Typeflag == tar.TypeReg:
			if err := s.add(header.Name, func() (io.ReadCloser, error) { return io.NopCloser(archive), nil }); err != nil {
				return nil, err
			}
		}
	}
}

// input is what rules evaluate, in the form of the Hooks user guide, "Write Guard rules to evaluate
// resources for Guard Hooks".
func (r *guardRequest) input() (map[string]any, error) {
	data := r.RequestData
	target := map[string]any{
		"AWSAccountID": r.AWSAccountID, "AwsAccountId": r.AWSAccountID, "StackId": r.StackID, "HookTypeName": r.HookTypeName, "HookTypeVersion": r.HookTypeVersion,
		"InvocationPoint": r.ActionInvocationPoint, "TargetName": data.TargetName, "TargetType": data.TargetType, "TargetLogicalId": data.TargetLogicalID,
		"ChangeSetId": r.ChangeSetID,
	}
	if data.TargetType == "RESOURCE" {
		resource := func(properties map[string]any) map[string]any {
			return map[string]any{data.TargetLogicalID: map[string]any{
				"Type": data.TargetName, "ResourceType": data.TargetName, "Properties": object(properties), "ResourceProperties": object(properties),
			}}
		}
		desired, previous := data.TargetModel.ResourceProperties, data.TargetModel.PreviousResourceProperties
		if r.ActionInvocationPoint == invoke.DeletePreProvision {
			desired, previous = nil, nil // as documented: a deletion has no properties
		}
		input := map[string]any{"HookContext": target, "Resources": resource(desired)}
		if r.ActionInvocationPoint != invoke.CreatePreProvision {
			input["Previous"] = resource(previous)
		}
		return input, nil
	}
	var about struct {
		Template, PreviousTemplate string
		ChangedResources           []any
	}
	if err := json.Unmarshal([]byte(data.Payload), &about); err != nil {
		return nil, fmt.Errorf("read the payload of a hook: %T", err) // the error would show a piece of it
	}
	input := guardTemplate(about.Template)
	input["HookContext"] = target
	if previous := guardTemplate(about.PreviousTemplate); len(previous) > 0 {
		input["Previous"] = previous
	}
	if about.ChangedResources != nil {
		input["Changes"] = about.ChangedResources
	}
	return input, nil
}

// guardTemplate is a template as it is written, with the short forms of functions written out.
func guardTemplate(text string) map[string]any {
	parsed, _ := template.Parse("", []byte(text), template.ParseOptions{}) // what is wrong with it, the stack says
	if parsed == nil || parsed.Root() == nil {
		return map[string]any{}
	}
	root, ok := parsed.Root().Any().(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return root
}

// A guardReport is what cfn-guard prints for one input.
type guardReport struct {
	Status       string
	Compliant    []string
	NotCompliant []struct {
		Rule struct {
			Name   string
			Checks []json.RawMessage
		}
	} `json:"not_compliant"`
}

// run runs cfn-guard.
func (g Guard) run(ctx context.Context, program string, input []byte) (*guardReport, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, guardTime, guardError(fmt.Sprintf("cfn-guard did not finish within %s", guardTime)))
	defer cancel()
	select {
	case guarding <- struct{}{}:
		defer func() { <-guarding }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	out, complaint := words.Bounded{Limit: maxReport}, words.Bounded{Limit: maxMessage}
	cmd := exec.CommandContext(ctx, program, "validate", "--payload", "--structured", "--output-format", "json", "--show-summary", "none")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &complaint
	cmd.Env, cmd.WaitDelay = g.Environ, time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case out.Full():
		return nil, guardError(fmt.Sprintf("the report of cfn-guard is larger than %d bytes", maxReport))
	case err != nil && !errors.As(err, &exit):
		return nil, guardError("cfn-guard cannot be run: " + err.Error())
	case cmd.ProcessState.ExitCode() != guardPassed && cmd.ProcessState.ExitCode() != guardFailed || strings.Contains(complaint.String(), "arsing error"):
		return nil, guardError("cfn-guard cannot evaluate the rules: " + line(strings.TrimSpace(complaint.String())))
	}
	var reports []guardReport
	if err := json.Unmarshal(out.Bytes(), &reports); err != nil || len(reports) != 1 {
		return nil, guardError("the report of cfn-guard cannot be read; Guard Hooks need version 3")
	}
	return &reports[0], nil
}

// event is the verdict of a report.
func (r *guardReport) event() *guardEvent {
	event := &guardEvent{HookStatus: invoke.Success, Message: "Template passed validation."}
	slices.Sort(r.Compliant)
	for _, name := range r.Compliant {
		event.Annotations = append(event.Annotations, guardAnnotation{AnnotationName: name, Status: "PASSED"})
	}
	var failed []string
	for _, found := range r.NotCompliant {
		failed = append(failed, found.Rule.Name)
		event.Annotations = append(event.Annotations, guardAnnotation{found.Rule.Name, "FAILED", explained(found.Rule.Checks)})
	}
	if len(failed) > 0 {
		event.HookStatus, event.ErrorCode = invoke.Failed, "NonCompliant"
		event.Message = "Template failed validation, the following rule(s) failed: " + strings.Join(failed, ", ") + "."
	}
	return event
}

// explained are the messages that the author of a rule gave, or the conditions that do not hold.
// What cfn-guard itself says of a check has the values of properties in it.
func explained(checks []json.RawMessage) string {
	var messages, conditions []string
	for _, check := range checks {
		collect(check, 0, &messages, &conditions)
	}
	if len(messages) == 0 {
		messages = conditions
	}
	return strings.Join(slices.Compact(messages), "; ")
}

// maxChecks bounds how deep the checks of a rule nest.
const maxChecks = 50

func collect(check json.RawMessage, depth int, messages, conditions *[]string) {
	var node map[string]json.RawMessage
	if depth > maxChecks || json.Unmarshal(check, &node) != nil {
		return
	}
	var own struct {
		Context  string
		Messages struct {
			CustomMessage string `json:"custom_message"`
		}
	}
	if json.Unmarshal(check, &own) == nil {
		if text := strings.Join(strings.Fields(own.Messages.CustomMessage), " "); text != "" {
			*messages = append(*messages, text)
		}
		if text := strings.Join(strings.Fields(own.Context), " "); text != "" {
			*conditions = append(*conditions, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(node)) {
		switch name {
		case "Clause", "Unary", "Binary", "Block", "Disjunctions", "Rule", "Parameterized":
			collect(node[name], depth+1, messages, conditions)
		case "checks":
			var inner []json.RawMessage
			if json.Unmarshal(node[name], &inner) == nil {
				for _, c := range inner {
					collect(c, depth+1, messages, conditions)
				}
			}
		}
	}
}
