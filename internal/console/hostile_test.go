package console

import (
	"context"
	"html"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/refactor"
	"github.com/formwork-dev/formwork/internal/registry"
	"github.com/formwork-dev/formwork/internal/schema"
	"github.com/formwork-dev/formwork/internal/stack"
)

// poison is what somebody appends to every text that the console reads.
const poison = `"'><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202e\x1b[2J` javascript:alert(1)" // the store refuses U+0000

// clean takes the poison out of what a page asks for again.
func clean(text string) string { return strings.ReplaceAll(text, poison, "") }

// poisoned is a copy of a result in which every text ends with the poison, except for places and what has a type of its
// own, such as a status.
func poisoned[T any](v T, err error) (T, error) {
	return poisonedValue(reflect.ValueOf(&v).Elem()).Interface().(T), err
}

func poisonedValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() && v.Len() > 0 {
			out.SetString(v.String() + poison)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(poisonedValue(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type().Field(i).IsExported() && v.Field(i).Type() != reflect.TypeFor[awswire.Place]() && name != "Schema" && name != "Configuration" && name != "Annotations" { // JSON
				out.Field(i).Set(poisonedValue(v.Field(i)))
			}
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(poisonedValue(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMap(v.Type()))
		for _, key := range v.MapKeys() {
			out.SetMapIndex(poisonedValue(key), poisonedValue(v.MapIndex(key)))
		}
	}
	return out
}

// The poisoned services answer as others do, with poison. One has a method of its own name.
type (
	otherStacks    = Stacks
	otherRefactors = Refactors

	poisonedRegistry  struct{ Registry }
	poisonedStacks    struct{ otherStacks }
	poisonedRefactors struct{ otherRefactors }
)

func (p poisonedRegistry) Types(ctx context.Context, caller awswire.Caller, q registry.TypeQuery) ([]registry.TypeState, error) {
	return poisoned(p.Registry.Types(ctx, caller, q))
}

func (p poisonedRegistry) TypeVersions(ctx context.Context, caller awswire.Caller, kind schema.Kind, name string) ([]registry.VersionState, error) {
	return poisoned(p.Registry.TypeVersions(ctx, caller, kind, clean(name)))
}

func (p poisonedRegistry) DescribeType(ctx context.Context, caller awswire.Caller, in *cloudformation.DescribeTypeInput) (*cloudformation.DescribeTypeOutput, error) {
	asked := *in
	for _, text := range []**string{&asked.TypeName, &asked.VersionId, &asked.PublisherId, &asked.PublicVersionNumber} {
		if *text != nil {
			plain := clean(**text)
			*text = &plain
		}
	}
	return poisoned(p.Registry.DescribeType(ctx, caller, &asked))
}

func (p poisonedRegistry) Registrations(ctx context.Context, caller awswire.Caller, q registry.RegistrationQuery) ([]registry.Registration, error) {
	q.TypeName = clean(q.TypeName)
	return poisoned(p.Registry.Registrations(ctx, caller, q))
}

func (p poisonedRegistry) TestRuns(ctx context.Context, caller awswire.Caller, q registry.TestQuery) ([]registry.TestRun, error) {
	q.ID, q.TypeName = clean(q.ID), clean(q.TypeName)
	return poisoned(p.Registry.TestRuns(ctx, caller, q))
}

func (p poisonedRegistry) TestReport(ctx context.Context, caller awswire.Caller, id string) ([]byte, error) {
	return p.Registry.TestReport(ctx, caller, clean(id))
}

func (p poisonedStacks) Stacks(ctx context.Context, q stack.Query) ([]stack.Summary, error) {
	return poisoned(p.otherStacks.Stacks(ctx, q))
}

func (p poisonedStacks) Stack(ctx context.Context, place awswire.Place, name string) (*stack.StackState, error) {
	return poisoned(p.otherStacks.Stack(ctx, place, clean(name)))
}

func (p poisonedStacks) Events(ctx context.Context, q stack.EventQuery) ([]stack.EventState, error) {
	q.Stack = clean(q.Stack)
	return poisoned(p.otherStacks.Events(ctx, q))
}

func (p poisonedStacks) Timeline(ctx context.Context, place awswire.Place, name, id string) (*stack.Timeline, error) {
	return poisoned(p.otherStacks.Timeline(ctx, place, clean(name), clean(id)))
}

func (p poisonedStacks) Failures(ctx context.Context, place awswire.Place, name string) ([]stack.Failure, error) {
	return poisoned(p.otherStacks.Failures(ctx, place, clean(name)))
}

func (p poisonedStacks) LatestOperations(ctx context.Context, place awswire.Place, limit int) ([]stack.StackOperation, error) {
	return poisoned(p.otherStacks.LatestOperations(ctx, place, limit))
}

func (p poisonedStacks) Source(ctx context.Context, place awswire.Place, name, operation string, processed bool) (*stack.Source, error) {
	return poisoned(p.otherStacks.Source(ctx, place, clean(name), clean(operation), processed))
}

func (p poisonedStacks) ChangeSets(ctx context.Context, place awswire.Place, name string, limit int) ([]stack.ChangeSetState, error) {
	return poisoned(p.otherStacks.ChangeSets(ctx, place, clean(name), limit))
}

func (p poisonedStacks) ChangeSet(ctx context.Context, place awswire.Place, name, set string) (*stack.ChangeSetState, error) {
	return poisoned(p.otherStacks.ChangeSet(ctx, place, clean(name), clean(set)))
}

func (p poisonedRefactors) Refactors(ctx context.Context, place awswire.Place, name string, limit int) ([]refactor.State, error) {
	return poisoned(p.otherRefactors.Refactors(ctx, place, clean(name), limit))
}

func (p poisonedRefactors) Mark(ctx context.Context, place awswire.Place, name string) (int64, error) {
	return p.otherRefactors.Mark(ctx, place, clean(name))
}

func (p poisonedStacks) Drift(ctx context.Context, place awswire.Place, name string) (*stack.DriftState, error) {
	return poisoned(p.otherStacks.Drift(ctx, place, clean(name)))
}

func (p poisonedStacks) StackMark(ctx context.Context, place awswire.Place, name string) (stack.Mark, error) {
	return p.otherStacks.StackMark(ctx, place, clean(name))
}

// poison appends the poison to the texts of the rows that the engines have, also to the names by which the poisoned
// services ask for them.
func (e *engines) poison() {
	e.t.Helper()
	for table, columns := range map[string][]string{
		"hook_results":        {"reason", "target_name", "logical_id", "stack_id", "change_set_id", "type_arn"},
		"resource_requests":   {"type_name", "identifier", "error_code", "message"},
		"stack_sets":          {"description"},
		"stack_set_instances": {"reason", "stack_arn"},
		"stack_set_results":   {"reason"},
		"invocations":         {"error", "request", "identifier", "stack_id", "logical_id"},
		"logs_events":         {"message"},
	} {
		for _, column := range columns {
			e.exec("UPDATE "+table+" SET "+column+" = "+column+" || ? WHERE "+column+" <> ''", poison)
		}
	}
	quoted := strings.NewReplacer(`"`, `\"`, "\x1b", `\u001b`).Replace(poison)
	e.exec("UPDATE invocations SET reply = REPLACE(reply, 'the cluster billing', 'the cluster billing' || ?)", quoted)
}

// withoutTexts are pages that show no text of anybody: they have no rows, or are the same for all.
var withoutTexts = []string{
	"/contract", "/deploy", "/?in=123456789012/us-east-1", "/types?in=123456789012/us-east-1", "/logs", "/logs?group=/aws/lambda/other", "/stacks?deleted=1", "/stacks?q=none", "/requests?in=123456789012/us-east-1", "/stack-sets?deleted=1",
}

// TestPoisonedPages visits every page when all texts that the console reads have poison: it shows it as text.
// TestEveryRouteHasARow has all pages in the list.
func TestPoisonedPages(t *testing.T) {
	f, logs := world(t)
	config := newConsole(t, f, logs).config
	config.Registry, config.Stacks, config.Refactors = poisonedRegistry{config.Registry}, poisonedStacks{config.Stacks}, poisonedRefactors{config.Refactors}
	logs.poison()
	c := New(config)
	t.Cleanup(c.Close)
	for _, path := range allPages {
		w := get(t, c, path)
		page := w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
		for _, bad := range []string{"<script>", "<img", "\u202e", "\x00", "\x1b", `href="javascript`, "about:invalid"} {
			if i := strings.Index(page, bad); i >= 0 {
				t.Errorf("%s: %q is in the page: …%s…", path, bad, page[max(0, i-80):min(len(page), i+80)])
			}
		}
		if found := inside.FindString(strings.ReplaceAll(page, "javascript:", "")); found != "" {
			t.Errorf("%s: %q", path, found)
		}
		if !strings.Contains(html.UnescapeString(page), "<script>alert(1)</script>") && !slices.Contains(withoutTexts, path) {
			t.Errorf("%s does not show the poison", path)
		}
	}
}
