package customtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// A testCase is one test.
type testCase struct {
	contract.Case
	needs bool // a resource that was created, before what the test is about
	run   func(context.Context, *test) error
}

func newCase(id, text string, needs bool, run func(context.Context, *test) error) testCase {
	return testCase{contract.Case{ID: id, Suite: contract.SuiteCustom, Clause: text}, needs, run}
}

// cases are all tests, in the order in which they run.
var cases = []testCase{
	newCase("create::create_and_delete", "A Create with the given properties succeeds, and so does the Delete of the resource.", false, createOnce),
	newCase("create::same_create_twice", "A Create that is delivered twice has one result.", true, createTwice),
	newCase("create::create_without_properties", "A Create without properties is answered: ResourceProperties is not required. If it fails, the Delete of the rollback succeeds.", false, createWithoutProperties),
	newCase("create::create_with_large_properties", "The response to a Create with a large property does not exceed 4096 bytes, whether it succeeds or fails.", false, createWithLargeProperties),
	newCase("update::update", "An Update to the other properties succeeds.", true, updateOnce),
	newCase("update::same_update_twice", "An Update that is delivered twice has one result.", true, updateTwice),
	newCase("update::update_of_the_timeout", "An Update of only ServiceTimeout keeps the resource and its PhysicalResourceId.", true, updateTimeout),
	newCase("replace::replacement", "After an Update that returns another PhysicalResourceId, a Delete of the old resource with the old properties succeeds.", true, replace),
	newCase("replace::replacement_rolled_back", "If a replacement is rolled back, the new resource is deleted and the old one remains.", true, replaceRolledBack),
	newCase("delete::same_delete_twice", "A Delete that is delivered twice succeeds twice.", true, deleteTwice),
	newCase("delete::delete_of_what_never_was", "A Delete for a resource that was never created succeeds.", false, deleteUnknown),
	newCase("rollback::update_rolled_back", "An Update back to the old properties succeeds and keeps the resource.", true, updateRolledBack),
	newCase("timeout::function_timed_out", "A Create that is delivered again after the function was stopped at its time limit has one result.", false, functionTimedOut),
	newCase("timeout::response_after_the_deadline", "After a response that came too late and was refused, the Delete of the rollback succeeds.", false, lateResponse),
}

// must fails the test unless a response is SUCCESS.
func must(x *Exchange, err error) error {
	if err == nil && !x.Response.Succeeded() {
		return &failure{fmt.Sprintf("%s failed: %s", x.Request.RequestType, x.Response.Reason)}
	}
	return err
}

// create makes the resource of the test.
func (t *test) create(ctx context.Context) (resource, error) {
	x, err := t.send(ctx, t.request(customresource.Create, "", t.Create, nil))
	if err := must(x, err); err != nil {
		return resource{}, err
	}
	t.made = true
	return resource{id: x.Response.PhysicalResourceID, properties: t.Create}, nil
}

// update changes a resource. The result has another id if it was replaced.
func (t *test) update(ctx context.Context, old resource, properties map[string]any) (resource, error) {
	x, err := t.send(ctx, t.request(customresource.Update, old.id, properties, old.properties))
	if err := must(x, err); err != nil {
		return resource{}, err
	}
	return resource{id: x.Response.PhysicalResourceID, properties: properties}, nil
}

// remove deletes a resource.
func (t *test) remove(ctx context.Context, l resource) error {
	return must(t.send(ctx, t.request(customresource.Delete, l.id, l.properties, nil)))
}

// removeUnknown deletes a resource that does not exist as far as CloudFormation knows.
func (t *test) removeUnknown(ctx context.Context, id string, properties map[string]any) error {
	x, err := t.send(ctx, t.request(customresource.Delete, id, properties, nil))
	if err == nil && !x.Response.Succeeded() {
		return t.violated(ruleDelete, "Delete failed: %s", x.Response.Reason)
	}
	return err
}

func createOnce(ctx context.Context, t *test) error {
	l, err := t.create(ctx)
	if err != nil {
		return err
	}
	return t.remove(ctx, l)
}

// again delivers a request once more, and compares the responses. first is nil if the first
// delivery had no response that counts.
func (t *test) again(ctx context.Context, request *customresource.Request, slot *customresource.Slot, first *customresource.Response) (*Exchange, error) {
	x, err := t.deliver(ctx, request, slot, answered)
	switch {
	case err != nil:
		return x, err
	case first == nil:
		return x, nil
	case x.Response.Status != first.Status:
		return x, t.violated(ruleRequest, "%s was delivered twice: the first response is %s, and the second one %s%s", request.RequestType, first.Status, x.Response.Status, because(x.Response))
	case x.Response.PhysicalResourceID != first.PhysicalResourceID:
		return x, t.violated(ruleRequest, "%s was delivered twice: the first response has the PhysicalResourceId %q, and the second one %q",
			request.RequestType, first.PhysicalResourceID, x.Response.PhysicalResourceID)
	}
	return x, nil
}

func because(r *customresource.Response) string {
	if r.Reason == "" {
		return ""
	}
	return ": " + r.Reason
}

func createTwice(ctx context.Context, t *test) error {
	request := t.request(customresource.Create, "", t.Create, nil)
	slot, err := t.open(request, t.Timeout)
	if err != nil {
		return err
	}
	defer slot.Close()
	x, err := t.deliver(ctx, request, slot, answered)
	if err := must(x, err); err != nil {
		return err
	}
	t.made = true
	if _, err := t.again(ctx, request, slot, x.Response); err != nil {
		return err
	}
	return t.remove(ctx, resource{id: x.Response.PhysicalResourceID, properties: t.Create})
}

func createWithoutProperties(ctx context.Context, t *test) error {
	return t.createAnyway(ctx, nil)
}

// largeProperty is longer than a response may be.
const largeProperty = 6000

func createWithLargeProperties(ctx context.Context, t *test) error {
	properties := withToken(t.Create, "")
	properties["CfnTestPadding"] = strings.Repeat("x", largeProperty)
	return t.createAnyway(ctx, properties)
}

// createAnyway creates a resource with properties that the handler may refuse, and deletes it
// as a rollback does.
func (t *test) createAnyway(ctx context.Context, properties map[string]any) error {
	x, err := t.send(ctx, t.request(customresource.Create, "", properties, nil))
	if err != nil {
		return err
	}
	if x.Response.Succeeded() {
		return t.remove(ctx, resource{id: x.Response.PhysicalResourceID, properties: properties})
	}
	return t.removeUnknown(ctx, x.Response.PhysicalResourceID, properties)
}

// noUpdate is why tests of updates are skipped.
const noUpdate = skipped("there are no properties for an update: pass --update FILE")

func updateOnce(ctx context.Context, t *test) error {
	if t.Update == nil {
		return noUpdate
	}
	old, err := t.create(ctx)
	if err != nil {
		return err
	}
	l, err := t.update(ctx, old, t.Update)
	if err != nil {
		return err
	}
	return t.removeBoth(ctx, l, old)
}

// removeBoth deletes a resource, and before it the one that it has replaced, if any.
func (t *test) removeBoth(ctx context.Context, l, old resource) error {
	if l.id != old.id {
		if err := t.remove(ctx, old); err != nil {
			return err
		}
	}
	return t.remove(ctx, l)
}

func updateTwice(ctx context.Context, t *test) error {
	if t.Update == nil {
		return noUpdate
	}
	old, err := t.create(ctx)
	if err != nil {
		return err
	}
	request := t.request(customresource.Update, old.id, t.Update, old.properties)
	slot, err := t.open(request, t.Timeout)
	if err != nil {
		return err
	}
	defer slot.Close()
	x, err := t.deliver(ctx, request, slot, answered)
	if err := must(x, err); err != nil {
		return err
	}
	if _, err := t.again(ctx, request, slot, x.Response); err != nil {
		return err
	}
	return t.removeBoth(ctx, resource{id: x.Response.PhysicalResourceID, properties: t.Update}, old)
}

func updateTimeout(ctx context.Context, t *test) error {
	old, err := t.create(ctx)
	if err != nil {
		return err
	}
	properties := withToken(t.Create, "")
	properties[customresource.PropertyTimeout] = "600"
	if t.Create[customresource.PropertyTimeout] == "600" {
		properties[customresource.PropertyTimeout] = "601"
	}
	l, err := t.update(ctx, old, properties)
	if err != nil {
		return err
	}
	if l.id != old.id {
		return t.violated(ruleUnstable, "Update of only ServiceTimeout: the PhysicalResourceId was %q, and is %q now", old.id, l.id)
	}
	return t.remove(ctx, l)
}

// replacement creates a resource and replaces it.
func (t *test) replacement(ctx context.Context) (l, old resource, err error) {
	properties := t.Replace
	if properties == nil {
		properties = t.Update
	}
	if properties == nil {
		return l, old, skipped("there are no properties that replace the resource: pass --replace FILE")
	}
	if old, err = t.create(ctx); err != nil {
		return l, old, err
	}
	if l, err = t.update(ctx, old, properties); err != nil {
		return l, old, err
	}
	switch {
	case l.id != old.id:
	case t.Replace == nil:
		err = skipped("the properties of --update do not replace the resource: pass --replace FILE with others that do")
	default:
		err = &failure{fmt.Sprintf("Update to the properties of --replace kept the PhysicalResourceId %q; expected another one", l.id)}
	}
	return l, old, err
}

func replace(ctx context.Context, t *test) error {
	l, old, err := t.replacement(ctx)
	if err != nil {
		return err
	}
	return t.removeBoth(ctx, l, old)
}

func replaceRolledBack(ctx context.Context, t *test) error {
	l, old, err := t.replacement(ctx)
	if err != nil {
		return err
	}
	if err := t.remove(ctx, l); err != nil {
		return err
	}
	return t.remove(ctx, old)
}

func deleteTwice(ctx context.Context, t *test) error {
	l, err := t.create(ctx)
	if err != nil {
		return err
	}
	request := t.request(customresource.Delete, l.id, l.properties, nil)
	slot, err := t.open(request, t.Timeout)
	if err != nil {
		return err
	}
	defer slot.Close()
	if err := must(t.deliver(ctx, request, slot, answered)); err != nil {
		return err
	}
	x, err := t.deliver(ctx, request, slot, answered)
	if err == nil && !x.Response.Succeeded() {
		return t.violated(ruleDelete, "Delete was delivered twice: the second one failed: %s", x.Response.Reason)
	}
	return err
}

func deleteUnknown(ctx context.Context, t *test) error {
	return t.removeUnknown(ctx, t.placeholder(), t.Create)
}

func updateRolledBack(ctx context.Context, t *test) error {
	if t.Update == nil {
		return noUpdate
	}
	old, err := t.create(ctx)
	if err != nil {
		return err
	}
	l, err := t.update(ctx, old, t.Update)
	if err != nil {
		return err
	}
	if l.id != old.id {
		return skipped("the properties of --update replace the resource")
	}
	back, err := t.update(ctx, l, t.Create)
	if err != nil {
		return err
	}
	if back.id != old.id {
		return t.violated(ruleUnstable, "Update back to the old properties: the PhysicalResourceId was %q, and is %q now", old.id, back.id)
	}
	return t.remove(ctx, back)
}

func functionTimedOut(ctx context.Context, t *test) error {
	if t.Renew == nil {
		return skipped("only handlers that cfn runs can be stopped")
	}
	request := t.request(customresource.Create, "", t.Create, nil)
	slot, err := t.open(request, t.Timeout)
	if err != nil {
		return err
	}
	defer slot.Close()
	x, err := t.deliver(ctx, request, slot, held)
	if err := must(x, err); err != nil {
		return err
	}
	t.Renew()
	if _, err := t.again(ctx, request, slot, x.Response); err != nil {
		return err
	}
	return t.remove(ctx, resource{id: x.Response.PhysicalResourceID, properties: t.Create})
}

func lateResponse(ctx context.Context, t *test) error {
	request := t.request(customresource.Create, "", t.Create, nil)
	slot, err := t.open(request, 0)
	if err != nil {
		return err
	}
	defer slot.Close()
	if _, err := t.deliver(ctx, request, slot, refused); err != nil {
		return err
	}
	return t.removeUnknown(ctx, t.placeholder(), t.Create)
}
