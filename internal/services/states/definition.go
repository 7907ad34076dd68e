package states

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// MaxDefinition is the largest size of a definition in bytes, as on AWS.
const MaxDefinition = 1 << 20

// The bounds of a definition.
const (
	maxStates   = 10_000
	maxRules    = 100      // retriers or catchers of one state
	maxSeconds  = 99999999 // of a wait
	maxAttempts = 99999999 // of a retrier
	allErrors   = "States.ALL"
	taskFailed  = "States.TaskFailed"
	timedOut    = "States.Timeout"
	badRuntime  = "States.Runtime"
	tooMuchData = "States.DataLimitExceeded"
)

// A definition is a state machine in the Amazon States Language.
type definition struct {
	StartAt string
	States  map[string]*state
	Timeout time.Duration // 0 for none
}

// A state has the fields that this package runs, of the kinds Task, Wait, Pass, Succeed and Fail.
type state struct {
	Type string
	Next string
	End  bool

	Resource string    // Task: the ARN of a function
	Retry    []retrier // Task
	Catch    []catcher // Task

	Seconds *int64 // Wait
	Error   string // Fail
	Cause   string // Fail

	// Unrun is what the state has that this package does not run, "" for nothing. An execution that
	// comes to the state fails.
	Unrun string
}

// A retrier repeats a task after some of its errors.
type retrier struct {
	ErrorEquals     []string
	IntervalSeconds *int64
	MaxAttempts     *int64
	BackoffRate     *float64
	MaxDelaySeconds *int64
}

// A catcher continues with another state after some errors of a task.
type catcher struct {
	ErrorEquals                []string
	Next                       string
	ResultPath, Output, Assign json.RawMessage // not run
}

// machineFields are the fields of a state machine, and of the parts of states that are ones.
var machineFields = []string{"Comment", "Version", "StartAt", "States", "TimeoutSeconds", "QueryLanguage", "ProcessorConfig"}

// otherFields are the fields of states that this package does not run.
var otherFields = strings.Fields(`InputPath OutputPath ResultPath Parameters ResultSelector Result TimeoutSeconds TimeoutSecondsPath
	HeartbeatSeconds HeartbeatSecondsPath Credentials Choices Default SecondsPath Timestamp TimestampPath ErrorPath CausePath Branches Iterator
	ItemProcessor ItemReader ItemBatcher ItemSelector ItemsPath Items MaxConcurrency MaxConcurrencyPath ToleratedFailureCount
	ToleratedFailureCountPath ToleratedFailurePercentage ToleratedFailurePercentagePath ResultWriter Label Arguments Output Assign`)

const jsonata = "JSONata"

// maxNesting bounds state machines in state machines.
const maxNesting = 20

// parse reads a definition. The error is an *awswire.Error that lists what is wrong with it.
func parse(text string) (*definition, error) {
	if len(text) > MaxDefinition {
		return nil, invalidDefinition([]string{fmt.Sprintf("The definition has %d bytes; the limit is %d", len(text), MaxDefinition)})
	}
	var raw json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, invalidDefinition([]string{"INVALID_JSON_DESCRIPTION: " + err.Error()})
	}
	p := &parser{}
	d := p.machine(raw, "", "", 0)
	if len(p.faults) > 0 {
		return nil, invalidDefinition(p.faults)
	}
	return d, nil
}

// A parser collects the faults of a definition.
type parser struct {
	faults []string
	states int
}

func (p *parser) fault(at, format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...)+" at "+cmp.Or(at, "/"))
}

// object reads an object and reports whether it is one.
func (p *parser) object(raw json.RawMessage, at string) (fields map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		p.fault(at, "SCHEMA_VALIDATION_FAILED: expected an object")
		return nil, false
	}
	return fields, true
}

// machine reads a state machine. language is the query language of what it is in.
func (p *parser) machine(raw json.RawMessage, at, language string, depth int) *definition {
	d := &definition{States: map[string]*state{}}
	fields, ok := p.object(raw, at)
	if !ok {
		return d
	}
	if depth > maxNesting {
		p.fault(at, "more than %d state machines in one another", maxNesting)
		return d
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(machineFields, name) {
			p.fault(at, "SCHEMA_VALIDATION_FAILED: the field %q is not supported by Step Functions", name)
		}
	}
	var seconds int64
	var states map[string]json.RawMessage
	for name, into := range map[string]any{"StartAt": &d.StartAt, "States": &states, "QueryLanguage": &language, "TimeoutSeconds": &seconds} {
		if fields[name] != nil && json.Unmarshal(fields[name], into) != nil {
			p.fault(at, "SCHEMA_VALIDATION_FAILED: the field %q has a wrong type", name)
		}
	}
	if seconds < 0 || seconds > maxSeconds {
		p.fault(at, "SCHEMA_VALIDATION_FAILED: TimeoutSeconds must be between 0 and %d", maxSeconds)
	}
	d.Timeout = time.Duration(seconds) * time.Second
	if p.states += len(states); p.states > maxStates {
		p.fault(at, "The definition has more than %d states", maxStates)
		return d
	}
	for name, raw := range states {
		d.States[name] = nil
		if fields, ok := p.object(raw, at+"/States/"+name); ok {
			d.States[name] = p.state(fields, at+"/States/"+name, language, depth)
		}
	}
	if _, ok := d.States[d.StartAt]; !ok {
		p.fault(at+"/StartAt", "MISSING_TRANSITION_TARGET: Missing 'StartAt' target: %s", d.StartAt)
	}
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		if s := d.States[name]; s != nil {
			p.targets(s, states[name], d, at+"/States/"+name)
		}
	}
	return d
}

// state reads a state.
func (p *parser) state(fields map[string]json.RawMessage, at, language string, depth int) *state {
	s := &state{}
	run := map[string]any{
		"Type": &s.Type, "Next": &s.Next, "End": &s.End, "Resource": &s.Resource, "Retry": &s.Retry, "Catch": &s.Catch, "Seconds": &s.Seconds,
		"Error": &s.Error, "Cause": &s.Cause, "QueryLanguage": &language, "Comment": new(string),
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		switch into, ok := run[name]; {
		case ok && language == jsonata && bytes.HasPrefix(value, []byte(`"{%`)):
			s.cannot("a JSONata expression in " + name)
		case ok:
			if json.Unmarshal(value, into) != nil {
				p.fault(at, "SCHEMA_VALIDATION_FAILED: the field %q has a wrong type", name)
			}
		case slices.Contains(otherFields, name):
			s.cannot("the field " + name)
		default:
			p.fault(at, "SCHEMA_VALIDATION_FAILED: the field %q is not supported by Step Functions", name)
		}
	}
	for _, fault := range s.faults(fields) {
		p.fault(at, "%s", fault)
	}
	p.parts(fields, at, language, depth)
	return s
}

// cannot sets what a state has that is not run. The type, which comes first, says most.
func (s *state) cannot(what string) { s.Unrun = cmp.Or(s.Unrun, what) }

// parts reads the state machines in a state.
func (p *parser) parts(fields map[string]json.RawMessage, at, language string, depth int) {
	for _, name := range []string{"ItemProcessor", "Iterator"} {
		if fields[name] != nil {
			p.machine(fields[name], at+"/"+name, language, depth+1)
		}
	}
	var branches []json.RawMessage
	if fields["Branches"] != nil && json.Unmarshal(fields["Branches"], &branches) != nil {
		p.fault(at, "SCHEMA_VALIDATION_FAILED: Branches must be a list")
	}
	for i, branch := range branches {
		p.machine(branch, fmt.Sprintf("%s/Branches[%d]", at, i), language, depth+1)
	}
}

// targets checks that the states that follow a state exist.
func (p *parser) targets(s *state, raw json.RawMessage, d *definition, at string) {
	var choice struct {
		Choices []struct{ Next string }
		Default string
	}
	if s.Type == "Choice" && json.Unmarshal(raw, &choice) != nil {
		p.fault(at, "SCHEMA_VALIDATION_FAILED: Choices must be a list of rules with Next")
	}
	next := []string{s.Next, choice.Default}
	for _, c := range s.Catch {
		next = append(next, c.Next)
	}
	for _, rule := range choice.Choices {
		next = append(next, rule.Next)
	}
	for _, name := range next {
		if _, ok := d.States[name]; !ok && name != "" {
			p.fault(at, "MISSING_TRANSITION_TARGET: Missing 'Next' target: %s", name)
		}
	}
}

func invalidDefinition(faults []string) error {
	const shown = 10
	if len(faults) > shown {
		faults = append(faults[:shown:shown], fmt.Sprintf("and %d more", len(faults)-shown))
	}
	return awswire.Errorf("InvalidDefinition", 0, "Invalid State Machine Definition: '%s'", strings.Join(faults, "; "))
}

// faults are the rules that a state violates.
func (s *state) faults(fields map[string]json.RawMessage) (faults []string) {
	add := func(when bool, format string, args ...any) {
		if when {
			faults = append(faults, "SCHEMA_VALIDATION_FAILED: "+fmt.Sprintf(format, args...))
		}
	}
	has := func(names ...string) (n int) {
		for _, name := range names {
			if fields[name] != nil {
				n++
			}
		}
		return n
	}
	catches := slices.Contains([]string{"Task", "Parallel", "Map"}, s.Type)
	switch s.Type {
	case "Task", "Wait", "Pass", "Parallel", "Map":
		add(s.End == (s.Next != ""), "a state of type %s needs either Next or End", s.Type)
	case "Succeed", "Fail", "Choice":
		add(s.End || s.Next != "", "a state of type %s must not have Next or End", s.Type)
	default:
		return []string{fmt.Sprintf("SCHEMA_VALIDATION_FAILED: unknown type of a state %q", s.Type)}
	}
	if slices.Contains([]string{"Choice", "Parallel", "Map"}, s.Type) {
		s.Unrun = "the type " + s.Type
	}
	add(s.Type == "Choice" && has("Choices") == 0, "a state of type Choice needs Choices")
	add(s.Type == "Parallel" && has("Branches") == 0, "a state of type Parallel needs Branches")
	add(s.Type == "Map" && has("ItemProcessor", "Iterator") != 1, "a state of type Map needs ItemProcessor")
	add(s.Type != "Task" && s.Resource != "", "Resource belongs to states of type Task")
	add(!catches && len(s.Retry)+len(s.Catch) > 0, "Retry and Catch belong to states of type Task, Parallel and Map")
	add(s.Type != "Fail" && (s.Error != "" || s.Cause != ""), "Error and Cause belong to states of type Fail")
	waits := has("Seconds", "SecondsPath", "Timestamp", "TimestampPath")
	add(s.Type == "Wait" && waits != 1, "a state of type Wait needs one of Seconds, SecondsPath, Timestamp and TimestampPath")
	add(s.Type != "Wait" && waits > 0, "Seconds belongs to states of type Wait")
	add(s.Seconds != nil && (*s.Seconds < 0 || *s.Seconds > maxSeconds), "Seconds must be between 0 and %d", maxSeconds)
	if s.Type == "Task" {
		add(strings.Count(s.Resource, ":") < 5 || !strings.HasPrefix(s.Resource, "arn:"), "Value is not a valid resource ARN: %q", words.Cut(s.Resource, 200))
		if _, _, ok := lambda.ParseReference(s.Resource); !ok || !strings.Contains(s.Resource, ":lambda:") {
			s.cannot(fmt.Sprintf("the resource %q, which is not a function", words.Cut(s.Resource, 200)))
		}
	}
	return append(faults, s.errorRules()...)
}

// errorRules are the rules that the retriers and catchers of a state violate.
func (s *state) errorRules() (faults []string) {
	add := func(list string, i int, fault string) {
		faults = append(faults, fmt.Sprintf("SCHEMA_VALIDATION_FAILED: %s at %s[%d]", fault, list, i))
	}
	if len(s.Retry) > maxRules || len(s.Catch) > maxRules {
		return []string{fmt.Sprintf("SCHEMA_VALIDATION_FAILED: more than %d elements of Retry or Catch", maxRules)}
	}
	for i, r := range s.Retry {
		for _, fault := range r.faults(i == len(s.Retry)-1) {
			add("Retry", i, fault)
		}
	}
	for i, c := range s.Catch {
		for _, fault := range errorFaults(c.ErrorEquals, i == len(s.Catch)-1) {
			add("Catch", i, fault)
		}
		if c.Next == "" {
			add("Catch", i, "a catcher needs Next")
		}
		for name, value := range map[string]json.RawMessage{"ResultPath": c.ResultPath, "Output": c.Output, "Assign": c.Assign} {
			if value != nil {
				s.cannot("the field " + name + " in Catch")
			}
		}
	}
	return faults
}

func errorFaults(names []string, last bool) (faults []string) {
	if len(names) == 0 {
		faults = append(faults, "ErrorEquals must not be empty")
	}
	if slices.Contains(names, allErrors) && (len(names) > 1 || !last) {
		faults = append(faults, "States.ALL must appear alone and in the last element")
	}
	return faults
}

func (r retrier) faults(last bool) []string {
	faults := errorFaults(r.ErrorEquals, last)
	number := func(name string, value *int64, least, most int64) {
		if value != nil && (*value < least || *value > most) {
			faults = append(faults, fmt.Sprintf("%s must be between %d and %d", name, least, most))
		}
	}
	number("IntervalSeconds", r.IntervalSeconds, 1, maxSeconds)
	number("MaxAttempts", r.MaxAttempts, 0, maxAttempts)
	number("MaxDelaySeconds", r.MaxDelaySeconds, 1, 31622400)
	if r.BackoffRate != nil && !(*r.BackoffRate >= 1) {
		faults = append(faults, "BackoffRate must be 1 or more")
	}
	return faults
}

// attempts is how often the retrier repeats the task.
func (r retrier) attempts() int64 {
	if r.MaxAttempts == nil {
		return 3
	}
	return *r.MaxAttempts
}

// delay is the wait before a repetition, which is counted from 0.
func (r retrier) delay(repetition int64) time.Duration {
	interval, rate := 1.0, 2.0
	if r.IntervalSeconds != nil {
		interval = float64(*r.IntervalSeconds)
	}
	if r.BackoffRate != nil {
		rate = *r.BackoffRate
	}
	seconds := interval * math.Pow(rate, float64(repetition))
	most := float64(maxSeconds)
	if r.MaxDelaySeconds != nil {
		most = float64(*r.MaxDelaySeconds)
	}
	return time.Duration(min(seconds, most) * float64(time.Second))
}

// matches reports whether a list of ErrorEquals includes an error.
func matches(names []string, name string) bool {
	if name == badRuntime || name == tooMuchData {
		return slices.Contains(names, name) // not even States.ALL includes them
	}
	return slices.Contains(names, name) || slices.Contains(names, allErrors) ||
		slices.Contains(names, taskFailed) && name != timedOut
}
