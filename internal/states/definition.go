package states

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/lambda"
)

// The bounds of a definition.
const (
	maxDefinition = 1 << 20 // bytes, as at AWS
	maxStates     = 10_000
	maxRules      = 100      // retriers or catchers of one state
	maxSeconds    = 99999999 // of a wait
	maxAttempts   = 99999999 // of a retrier
	allErrors     = "States.ALL"
	taskFailed    = "States.TaskFailed"
	timedOut      = "States.Timeout"
	badRuntime    = "States.Runtime"
	tooMuchData   = "States.DataLimitExceeded"
)

// A definition is a state machine in the Amazon States Language, as far as this package runs it.
type definition struct {
	Comment string
	Version string
	StartAt string
	States  map[string]*state
}

// A state is one of the kinds Task, Wait, Pass, Succeed and Fail.
type state struct {
	Type    string
	Comment string
	Next    string
	End     bool

	Resource string    // Task: the ARN of a function
	Retry    []retrier // Task
	Catch    []catcher // Task

	Seconds *int64 // Wait
	Error   string // Fail
	Cause   string // Fail
}

// A retrier repeats a task after some of its errors.
type retrier struct {
	Comment         string
	ErrorEquals     []string
	IntervalSeconds *int64
	MaxAttempts     *int64
	BackoffRate     *float64
	MaxDelaySeconds *int64
}

// A catcher continues with another state after some errors of a task.
type catcher struct {
	Comment     string
	ErrorEquals []string
	Next        string
}

// parse reads a definition. The error is an *awswire.Error that lists what is wrong with it, and
// what in it this package does not run.
func parse(text string) (*definition, error) {
	if len(text) > maxDefinition {
		return nil, invalidDefinition([]string{fmt.Sprintf("The definition has %d bytes; the limit is %d", len(text), maxDefinition)})
	}
	d := &definition{}
	var raw struct {
		States map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, invalidDefinition([]string{"INVALID_JSON_DESCRIPTION: " + err.Error()})
	}
	var faults []string
	if len(raw.States) > maxStates {
		return nil, invalidDefinition([]string{fmt.Sprintf("The definition has %d states; the limit is %d", len(raw.States), maxStates)})
	}
	for _, name := range slices.Sorted(maps.Keys(raw.States)) {
		if err := strict(raw.States[name], &state{}); err != nil {
			faults = append(faults, fmt.Sprintf("%s at /States/%s", err, name))
		}
	}
	if len(faults) == 0 {
		if err := strict([]byte(text), d); err != nil {
			faults = append(faults, err.Error()+" at /")
		}
	}
	if len(faults) == 0 {
		faults = d.faults()
	}
	if len(faults) > 0 {
		return nil, invalidDefinition(faults)
	}
	return d, nil
}

// strict decodes JSON whose fields are all known: what is not known here is not ignored.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if err == nil {
		if _, more := decoder.Token(); more != io.EOF {
			err = fmt.Errorf("text follows the JSON object")
		}
		return err
	}
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return fmt.Errorf("the field %s is not supported by this server", name)
	}
	return err
}

func invalidDefinition(faults []string) error {
	const shown = 10
	if len(faults) > shown {
		faults = append(faults[:shown:shown], fmt.Sprintf("and %d more", len(faults)-shown))
	}
	return awswire.Errorf("InvalidDefinition", 0, "Invalid State Machine Definition: '%s'", strings.Join(faults, "; "))
}

func (d *definition) faults() (faults []string) {
	if d.States[d.StartAt] == nil {
		faults = append(faults, "MISSING_TRANSITION_TARGET: Missing 'StartAt' target: "+d.StartAt+" at /StartAt")
	}
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		s := d.States[name]
		if s == nil {
			faults = append(faults, "SCHEMA_VALIDATION_FAILED: expected an object at /States/"+name)
			continue
		}
		for _, fault := range s.faults(d) {
			faults = append(faults, fault+" at /States/"+name)
		}
	}
	return faults
}

// faults are the rules that a state violates.
func (s *state) faults(d *definition) (faults []string) {
	add := func(when bool, format string, args ...any) {
		if when {
			faults = append(faults, "SCHEMA_VALIDATION_FAILED: "+fmt.Sprintf(format, args...))
		}
	}
	target := func(name string) {
		if d.States[name] == nil {
			faults = append(faults, "MISSING_TRANSITION_TARGET: Missing 'Next' target: "+name)
		}
	}
	switch s.Type {
	case "Task", "Wait", "Pass":
		add(s.End == (s.Next != ""), "a state of type %s needs either Next or End", s.Type)
		if s.Next != "" {
			target(s.Next)
		}
	case "Succeed", "Fail":
		add(s.End || s.Next != "", "a state of type %s must not have Next or End", s.Type)
	case "Choice", "Parallel", "Map":
		return []string{fmt.Sprintf("a state of type %s is not supported by this server", s.Type)}
	default:
		return []string{fmt.Sprintf("SCHEMA_VALIDATION_FAILED: unknown type of a state %q", s.Type)}
	}
	add(s.Type != "Task" && (s.Resource != "" || len(s.Retry)+len(s.Catch) > 0), "Resource, Retry and Catch belong to states of type Task")
	add(s.Type != "Fail" && (s.Error != "" || s.Cause != ""), "Error and Cause belong to states of type Fail")
	add((s.Type == "Wait") != (s.Seconds != nil), "Seconds belongs to states of type Wait, which need it here")
	add(s.Seconds != nil && (*s.Seconds < 0 || *s.Seconds > maxSeconds), "Seconds must be between 0 and %d", maxSeconds)
	if s.Type != "Task" {
		return faults
	}
	if _, _, ok := lambda.ParseReference(s.Resource); !ok || !strings.Contains(s.Resource, ":lambda:") {
		faults = append(faults, fmt.Sprintf("the resource %q is not supported by this server, which runs tasks of Lambda functions named by their ARN", s.Resource))
	}
	add(len(s.Retry) > maxRules || len(s.Catch) > maxRules, "more than %d elements of Retry or Catch", maxRules)
	for i, r := range s.Retry {
		for _, fault := range r.faults(i == len(s.Retry)-1) {
			add(true, "%s at Retry[%d]", fault, i)
		}
	}
	for i, c := range s.Catch {
		for _, fault := range errorFaults(c.ErrorEquals, i == len(s.Catch)-1) {
			add(true, "%s at Catch[%d]", fault, i)
		}
		target(c.Next)
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
