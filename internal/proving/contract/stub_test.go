package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A flavour is one way to be a correct resource type.
type flavour struct {
	name        string
	identifier  []string // of "Id", which the handler makes, and "Name", which the user chooses
	callbacks   int      // IN_PROGRESS events before create, update and delete succeed
	page        int      // length of a page of LIST; 0 means everything at once
	stringified bool     // every scalar is returned as a string, as the Go library used to
	nulls       bool     // members that may be null without a value are
	untagged    bool
	shuffled    bool // collections without an order come back in another one
}

var flavours = []flavour{
	{name: "generated identifier", identifier: []string{"Id"}},
	{name: "chosen identifier", identifier: []string{"Name"}},
	{name: "composite identifier", identifier: []string{"Name", "Id"}},
	{name: "asynchronous", identifier: []string{"Id"}, callbacks: 3},
	{name: "asynchronous and chosen", identifier: []string{"Name"}, callbacks: 2, page: 1},
	{name: "paged", identifier: []string{"Id"}, page: 1},
	{name: "stringified", identifier: []string{"Id"}, stringified: true, callbacks: 1},
	{name: "explicit nulls", identifier: []string{"Id"}, nulls: true, callbacks: 1},
	{name: "untagged", identifier: []string{"Name"}, untagged: true},
	{name: "unordered", identifier: []string{"Id"}, shuffled: true},
}

// schema writes the schema of the flavour.
func (f flavour) schema(t testing.TB) *schema.Schema {
	t.Helper()
	var paths []string
	for _, name := range f.identifier {
		paths = append(paths, "/properties/"+name)
	}
	tagging := map[string]any{"taggable": true, "tagOnCreate": true, "tagUpdatable": true, "tagProperty": "/properties/Labels"}
	if f.untagged {
		tagging = map[string]any{"taggable": false}
	}
	handler := map[string]any{"permissions": []string{"x:Y"}}
	document := map[string]any{
		"typeName": "Initech::TPS::Report", "description": "A report.", "additionalProperties": false,
		"definitions": map[string]any{"Label": map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"Key", "Value"},
			"properties": map[string]any{"Key": map[string]any{"type": "string", "pattern": "^[a-z]{3,9}$"}, "Value": map[string]any{"type": "string"}},
		}},
		"properties": map[string]any{
			"Id": map[string]any{"type": "string"}, "Name": map[string]any{"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9-]{2,20}$"},
			"Title": map[string]any{"type": "string", "minLength": 3, "maxLength": 40}, "Pages": map[string]any{"type": "integer", "minimum": 1, "maximum": 90},
			"Draft": map[string]any{"type": "boolean"}, "Ratio": map[string]any{"type": "number", "minimum": 0},
			"Kind": map[string]any{"type": "string", "enum": []string{"COVER", "BODY"}}, "Password": map[string]any{"type": "string"},
			"Labels":  map[string]any{"type": "array", "insertionOrder": false, "uniqueItems": true, "items": map[string]any{"$ref": "#/definitions/Label"}},
			"Authors": map[string]any{"type": "array", "insertionOrder": true, "minItems": 1, "items": map[string]any{"type": "string"}},
			"Layout": map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
				"Margin": map[string]any{"type": "integer"}, "Paper": map[string]any{"type": "string"},
			}},
		},
		"required": []string{"Title"}, "primaryIdentifier": paths, "readOnlyProperties": []string{"/properties/Id"},
		"createOnlyProperties": []string{"/properties/Name"}, "writeOnlyProperties": []string{"/properties/Password"}, "tagging": tagging,
		"handlers": map[string]any{"create": handler, "read": handler, "update": handler, "delete": handler, "list": handler},
	}
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	s, problems := schema.Load("report.json", data, schema.Config{})
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	return s
}

// inputs are files for the flavour.
func (f flavour) inputs() Inputs {
	label := func(key, value string) any { return map[string]any{"Key": key, "Value": value} }
	number := func(text string) any { return json.Number(text) }
	create := map[string]any{
		"Name": "report", "Title": "first", "Pages": number("7"), "Draft": true, "Ratio": number("0.5"), "Password": "correct horse battery",
		"Labels": []any{label("one", "1"), label("two", "2")}, "Authors": []any{"Bill", "Peter"}, "Layout": map[string]any{"Margin": number("3")},
	}
	update := maps.Clone(create)
	delete(update, "Draft")
	update["Title"], update["Pages"], update["Labels"] = "second", number("8"), []any{label("two", "22")}
	return Inputs{Sets: []InputSet{{Number: 1, Create: create, Update: update}}}
}

// A stub is a handler within the test. Without a mutant it keeps the contract.
type stub struct {
	flavour
	mutant  string
	reports map[string]map[string]any
	made    int
	tokens  map[string]string // client request token → key of what it made
	deleted []map[string]any
	calls   []string
}

func newStub(f flavour, mutant string) *stub {
	return &stub{flavour: f, mutant: mutant, reports: map[string]map[string]any{}, tokens: map[string]string{}}
}

// refusal is a FAILED event.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

func (s *stub) Call(ctx context.Context, payload []byte) ([]byte, error) {
	var request struct {
		Action          string         `json:"action"`
		BearerToken     string         `json:"bearerToken"`
		NextToken       string         `json:"nextToken"`
		CallbackContext map[string]any `json:"callbackContext"`
		RequestData     struct {
			ResourceProperties map[string]any `json:"resourceProperties"`
		} `json:"requestData"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(payload)))
	decoder.UseNumber()
	if err := decoder.Decode(&request); err != nil {
		return nil, err
	}
	s.calls = append(s.calls, request.Action)
	model := request.RequestData.ResourceProperties
	round := 0
	if n, ok := request.CallbackContext["round"].(json.Number); ok {
		round, _ = strconv.Atoi(n.String())
	}
	switch s.mutant {
	case "crash":
		return nil, errors.New("process 7 ended (exit status 2) during the invocation")
	case "garbage":
		return []byte("panic: correct horse battery"), nil
	case "hang":
		if request.Action == "CREATE" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	case "slow":
		if request.Action == "READ" {
			time.Sleep(5 * time.Minute)
		}
	}
	event, err := s.handle(request.Action, request.BearerToken, model, request.NextToken, round)
	var refused *refusal
	if errors.As(err, &refused) {
		event = map[string]any{"status": "FAILED", "errorCode": refused.code, "message": refused.message}
		s.spoilRefusal(event)
	}
	s.spoil(request.Action, event)
	return s.encode(event)
}

// spoilRefusal breaks the rules for FAILED events.
func (s *stub) spoilRefusal(event map[string]any) {
	switch s.mutant {
	case "failed without code":
		delete(event, "errorCode")
	case "failed with unknown code":
		event["errorCode"] = "Oops"
	case "failed with delay":
		event["callbackDelaySeconds"] = 5
	case "failed with models":
		event["resourceModels"] = []any{}
	case "not found without message":
		delete(event, "message")
	}
}

func (s *stub) encode(event map[string]any) ([]byte, error) {
	if s.nulls {
		for _, name := range []string{"message", "callbackContext", "resourceModels", "nextToken"} {
			if _, set := event[name]; !set {
				event[name] = nil
			}
		}
	}
	if s.stringified {
		for _, name := range []string{"resourceModel", "resourceModels"} {
			if event[name] != nil {
				event[name] = stringified(event[name])
			}
		}
		if event["resourceModels"] == nil {
			event["resourceModels"] = nil
		}
	}
	return json.Marshal(event)
}

func stringified(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = stringified(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = stringified(v[i])
		}
		return out
	}
	return fmt.Sprint(v)
}

func (s *stub) handle(action, token string, model map[string]any, page string, round int) (map[string]any, error) {
	key := s.key(model)
	switch action {
	case "CREATE":
		return s.create(token, model, round)
	case "READ":
		return s.read(key)
	case "UPDATE":
		return s.update(key, model, round)
	case "DELETE":
		return s.delete(key, model, round)
	}
	return s.list(page)
}

// key is where the report of a model is kept.
func (s *stub) key(model map[string]any) string {
	var parts []string
	for _, name := range s.identifier {
		parts = append(parts, fmt.Sprint(model[name]))
	}
	return strings.Join(parts, "|")
}

func (s *stub) create(token string, model map[string]any, round int) (map[string]any, error) {
	if round == 0 {
		if _, exists := s.reports[s.key(model)]; exists && s.mutant != "create twice" {
			return nil, &refusal{"AlreadyExists", "the report exists"}
		}
		if s.mutant == "name stays taken" && slices.ContainsFunc(s.deleted, func(d map[string]any) bool { return s.key(d) == s.key(model) }) {
			return nil, &refusal{"AlreadyExists", "the name was used before"}
		}
		model = maps.Clone(model)
		s.made++
		model["Id"] = fmt.Sprintf("id-%d", s.made)
		if s.mutant == "create drops" {
			delete(model, "Title")
		}
		s.reports[s.key(model)] = model
		s.tokens[token] = s.key(model)
	}
	stored := s.reports[s.tokens[token]]
	return s.finish("CREATE", stored, round, false)
}

// finish answers IN_PROGRESS as often as the flavour says, and then SUCCESS.
func (s *stub) finish(action string, model map[string]any, round int, gone bool) (map[string]any, error) {
	callbacks := s.callbacks
	if strings.HasPrefix(s.mutant, "progress") {
		callbacks = max(callbacks, 1)
	}
	if round < callbacks || s.mutant == "never ends" && action == "CREATE" {
		event := map[string]any{
			"status": "IN_PROGRESS", "callbackDelaySeconds": 30, "callbackContext": map[string]any{"round": round + 1}, "resourceModel": s.shown(model),
		}
		switch s.mutant {
		case "progress without identifier":
			event["resourceModel"] = map[string]any{"Title": "x"}
		case "progress without model":
			delete(event, "resourceModel")
		case "progress with code":
			event["errorCode"] = "NotStabilized"
		case "progress with models":
			event["resourceModels"] = []any{}
		case "progress without callback":
			event["callbackDelaySeconds"] = -1
		}
		return event, nil
	}
	event := map[string]any{"status": "SUCCESS"}
	if !gone || s.mutant == "delete returns model" {
		event["resourceModel"] = s.shown(model)
	}
	switch s.mutant {
	case "success with code":
		event["errorCode"] = "InternalFailure"
	case "success with delay":
		event["callbackDelaySeconds"] = 1
	case "success without model":
		delete(event, "resourceModel")
	case "success without identifier":
		if model, ok := event["resourceModel"].(map[string]any); ok {
			for _, name := range s.identifier {
				delete(model, name)
			}
		}
	}
	return event, nil
}

// shown is what of a report is returned.
func (s *stub) shown(model map[string]any) map[string]any {
	model = maps.Clone(model)
	if s.mutant != "write-only returned" {
		delete(model, "Password")
	}
	if labels, ok := model["Labels"].([]any); ok && s.shuffled {
		labels = slices.Clone(labels)
		slices.Reverse(labels)
		model["Labels"] = labels
	}
	return model
}

func (s *stub) read(key string) (map[string]any, error) {
	model, exists := s.reports[key]
	if !exists && s.mutant == "read after delete" {
		for _, d := range s.deleted {
			if s.key(d) == key {
				model, exists = d, true
			}
		}
	}
	if !exists {
		return nil, &refusal{"NotFound", "there is no such report"}
	}
	model = s.shown(model)
	switch s.mutant {
	case "read forgets":
		delete(model, "Title")
	case "read changes a label":
		if labels, ok := model["Labels"].([]any); ok && len(labels) > 0 {
			model["Labels"] = append(slices.Clone(labels[:len(labels)-1]), map[string]any{"Key": "nope", "Value": "x"})
		}
	case "read in progress":
		return map[string]any{"status": "IN_PROGRESS", "resourceModel": model}, nil
	}
	return map[string]any{"status": "SUCCESS", "resourceModel": model}, nil
}

func (s *stub) update(key string, model map[string]any, round int) (map[string]any, error) {
	if s.mutant == "update demands an id" && model["Id"] == nil {
		return nil, &refusal{"InvalidRequest", "Id is required"}
	}
	if _, exists := s.reports[key]; !exists && s.mutant != "update creates" {
		return nil, &refusal{"NotFound", "there is no such report"}
	}
	if round > 0 {
		return s.finish("UPDATE", s.reports[key], round, false)
	}
	model = maps.Clone(model)
	if model["Id"] == nil {
		s.made++
		model["Id"] = fmt.Sprintf("id-%d", s.made)
	}
	switch s.mutant {
	case "update forgets":
	case "update keeps":
		old := maps.Clone(s.reports[key])
		maps.Copy(old, model)
		model = old
		s.reports[s.key(model)] = model
	case "update replaces":
		s.made++
		old := s.reports[key]
		model["Id"] = fmt.Sprintf("id-%d", s.made)
		if slices.Contains(s.identifier, "Name") {
			model["Name"] = "another"
		}
		s.reports[s.key(model)] = model
		s.deleted = append(s.deleted, old)
	case "update loses":
		s.deleted = append(s.deleted, model)
	default:
		s.reports[s.key(model)] = model
	}
	return s.finish("UPDATE", model, round, false)
}

func (s *stub) delete(key string, model map[string]any, round int) (map[string]any, error) {
	if s.mutant == "delete refuses" {
		return nil, &refusal{"GeneralServiceException", "no"}
	}
	if round > 0 {
		return s.finish("DELETE", model, round, true)
	}
	stored, exists := s.reports[key]
	if !exists {
		if s.mutant != "delete again" {
			return nil, &refusal{"NotFound", "there is no such report"}
		}
		return map[string]any{"status": "SUCCESS"}, nil
	}
	delete(s.reports, key)
	s.deleted = append(s.deleted, stored)
	return s.finish("DELETE", stored, round, true)
}

func (s *stub) list(page string) (map[string]any, error) {
	var all []any
	for _, key := range slices.Sorted(maps.Keys(s.reports)) {
		all = append(all, s.identity(s.reports[key]))
	}
	switch s.mutant {
	case "list empty":
		all = nil
	case "list keeps deleted":
		for _, d := range s.deleted {
			all = append(all, s.identity(d))
		}
	case "list without models":
		return map[string]any{"status": "SUCCESS"}, nil
	case "list never ends":
		return map[string]any{"status": "SUCCESS", "resourceModels": []any{}, "nextToken": "again"}, nil
	case "list without identifiers":
		all = []any{map[string]any{"Title": "x"}}
	case "list loses updated":
		all = slices.DeleteFunc(all, func(item any) bool {
			for _, r := range s.reports {
				if r["Title"] == "second" {
					return true
				}
			}
			return false
		})
	}
	event := map[string]any{"status": "SUCCESS", "resourceModels": append([]any{}, all...)}
	if s.page > 0 {
		first, _ := strconv.Atoi(page)
		last := min(first+s.page, len(all))
		event["resourceModels"] = append([]any{}, all[first:last]...)
		if last < len(all) {
			event["nextToken"] = strconv.Itoa(last)
		}
	}
	return event, nil
}

func (s *stub) identity(model map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range s.identifier {
		out[name] = model[name]
	}
	return out
}
