package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// upgradeCases are the upgrade tests in the order in which they run.
var upgradeCases = []upgradeCase{
	{
		Case:    upgradeTest("upgrade_input", "A template of the old version creates a resource with the new one.", []string{"create", "delete"}, "create.applied"),
		why:     "Stacks are created again from templates that exist. A property that was removed or is narrower makes them fail.",
		example: "wrong: \"maximum\": 5 where it was 9, and an input has 7\nright: bounds that contain the old ones", run: upgradeInput,
	},
	{
		Case:    upgradeTest("upgrade_least_input", "A template with nothing but what the old version requires creates a resource with the new one.", []string{"create", "delete"}, "create.applied"),
		why:     "Most templates leave out what is not required. A value that is required now is missing in all of them.",
		example: "wrong: \"required\": [\"Name\", \"Color\"] where it was [\"Name\"]\nright: \"required\" stays as it is", run: upgradeLeastInput,
	},
	{
		Case:    upgradeTest("upgrade_read", "READ of the new version returns what READ of the old one returned.", []string{"create", "read"}, "read.input", "read.complete"),
		why:     "CloudFormation reads what the old version made with the new handlers: for Fn::GetAtt, drift detection and imports.",
		example: "wrong: the old READ returned Color, the new one returns Colour\nright: both return Color", run: upgradeRead,
	},
	{
		Case:    upgradeTest("upgrade_same_template", "An update with the same template changes nothing, and Ref and Fn::GetAtt return what they returned.", []string{"create"}, "update.applied"),
		why:     "Stacks are updated for reasons of their other resources. The upgrade itself must not touch the resource or what refers to it.",
		example: "wrong: Arn is no longer in readOnlyProperties, so that !GetAtt Report.Arn fails\nright: read-only properties stay", run: upgradeSameTemplate,
	},
	{
		Case:    upgradeTest("upgrade_drift", "A resource of the old version has not drifted with the new one.", []string{"create", "read"}, "drift.none"),
		why:     "Drift detection compares the template with READ of the new version, by the new schema.",
		example: "wrong: READ returns the list in another order, and \"insertionOrder\" is true now\nright: a propertyTransform, or the old order", run: upgradeDrift,
	},
	{
		Case:    upgradeTest("upgrade_update", "The new version updates a resource of the old one in place; the same update again changes nothing.", []string{"create", "update"}, "update.match", "update.identifier-stays"),
		why:     "A replacement deletes what the old version made, with its data. A failed update leaves the stack without a way forward.",
		example: "wrong: Color joins createOnlyProperties\nright: Color is updated in place, as before", run: upgradeUpdate,
	},
	{
		Case:    upgradeTest("upgrade_each_property", "Every property that the old version updates in place, the new one updates in place, too.", []string{"create", "update"}, "update.applied"),
		why:     "The inputs of a project change few properties. Generated ones change the others, one at a time, if the old version accepts the change.",
		example: "wrong: Size joins createOnlyProperties, but no input changes it\nright: Size is updated in place, as before", run: upgradeEachProperty,
	},
	{
		Case:    upgradeTest("upgrade_write_only", "Write-only values of the template reach the update of the new version, and no READ returns them.", []string{"create", "read", "update"}, "update.applied"),
		why:     "A write-only value cannot be read back: an update without it loses it.",
		example: "wrong: Password is removed from writeOnlyProperties, and READ returns it\nright: Password stays write-only", run: upgradeWriteOnly,
	},
	{
		Case:    upgradeTest("upgrade_tags", "When only the tags of the stack change, the new version updates the resource in place.", []string{"create", "read", "update"}, "tags.update"),
		why:     "Tags of a stack change every resource of it. One type that cannot change its tags any more fails the update of the stack.",
		example: "wrong: \"tagUpdatable\": false where it was true\nright: tags stay updatable", run: upgradeTags,
	},
	{
		Case:    upgradeTest("upgrade_drift_detect", "The new version finds that a resource of the old one was changed outside of its stack.", []string{"create", "read", "update"}, "read.complete"),
		why:     "READ must return every property that can change, also of resources that exist.",
		example: "wrong: READ returns the properties of the last request\nright: READ returns those of the service", run: upgradeDriftDetect,
	},
	{
		Case:    upgradeTest("upgrade_rollback", "When another resource fails after the update, the new version restores what the old one made.", []string{"create", "update"}, "update.applied"),
		why:     "A rollback passes values of the old version to the new handlers.",
		example: "wrong: the new UPDATE rejects a value that the old version accepted\nright: it accepts the values of existing resources", run: upgradeRollback,
	},
	{
		Case:    upgradeTest("upgrade_replace", "The new version replaces a resource of the old one: a new one is created, the old one is deleted.", []string{"create", "delete"}, "delete.stable"),
		why:     "The old resource is deleted by the new handlers. NotFound counts as deleted, so that a resource can remain without a stack.",
		example: "wrong: the new DELETE looks for another identifier\nright: it deletes by the identifier that the old version gave", run: upgradeReplace,
	},
	{
		Case:    upgradeTest("upgrade_import", "The new version imports a resource that the old one made.", []string{"create", "read", "delete"}, "read.input"),
		why:     "Resources that a stack retained are imported by their identifiers, often long after they were made.",
		example: "wrong: Name joins the primaryIdentifier\nright: the primaryIdentifier stays", run: upgradeImport,
	},
	{
		Case:    upgradeTest("upgrade_refactor", "With the new version, a resource of the old one moves to another logical ID and to another stack: it stays the same resource and has not drifted.", []string{"create", "read", "update", "delete"}, "read.input", "drift.none", "tags.update"),
		why:     "A stack refactor moves only resources that the new version reads, and whose type it can move. Otherwise stacks can no longer be split.",
		example: "wrong: \"tagUpdatable\": false where it was true\nright: tags stay updatable, and the type keeps its read and update handlers", run: upgradeRefactor,
	},
	{
		Case:    upgradeTest("upgrade_delete", "The new version deletes a resource of the old one: neither version reads or lists it afterwards.", []string{"create", "delete"}, "delete.success", "delete.stable"),
		why:     "After an upgrade, stacks must still be deletable, and nothing may remain. NotFound counts as deleted.",
		example: "wrong: DELETE needs a property that old models do not have\nright: the identifier is enough", run: upgradeDelete,
	},
	{
		Case:    upgradeTest("downgrade_update", "After the way back, the old version reads and updates what the new one updated.", []string{"create", "read", "update"}, "update.match"),
		why:     "A version that causes trouble is taken back by making the old one the default version again.",
		example: "wrong: the new UPDATE stores a form that the old READ cannot parse\nright: a release that reads both forms first", back: true, run: downgradeUpdate,
	},
	{
		Case:    upgradeTest("downgrade_delete", "After the way back, the old version deletes what the new one created.", []string{"create", "delete"}, "delete.success"),
		why:     "Stacks that were created meanwhile remain.",
		example: "wrong: the new identifier has a form that the old DELETE does not know\nright: both versions know both forms", back: true, run: downgradeDelete,
	},
	lastUpgradeTest(upgradeCase{
		Case:    upgradeTest("upgrade_nothing_left", "At the end neither version reads or lists anything that the tests created.", []string{"create", "delete"}, "leak.delete"),
		why:     "What no version deletes costs money until somebody finds it.",
		example: "wrong: an update of the new version creates a second resource\nright: an update changes the resource", run: upgradeNothingLeft,
	}),
}

func upgradeTest(name, clause string, needs []string, clauses ...string) Case {
	c := Case{ID: upgradeFile + "::" + name, Needs: needs, Clause: clause, Clauses: clauses}
	if name == "upgrade_tags" {
		c.Skip = skipUnlessTagsCanChange
	}
	return c
}

func lastUpgradeTest(c upgradeCase) upgradeCase {
	c.last = true
	return c
}

// existing makes a stack with the old version, then makes the version of the test the default one. The model is that of a READ of the
// old version, nil if it cannot read.
func (u *upgradeRun) existing(ctx context.Context, t stackTemplate) (model map[string]any, err error) {
	if model, err = u.made(ctx, t); err != nil {
		return nil, err
	}
	return model, u.upgrade(ctx)
}

// upgrade makes the version of the test the default one. What fails from now on fails the test.
func (u *upgradeRun) upgrade(ctx context.Context) error {
	err := u.use(ctx, u.to)
	u.making = err != nil
	return err
}

// made makes a stack with the old version.
func (u *upgradeRun) made(ctx context.Context, t stackTemplate) (model map[string]any, err error) {
	if err := u.use(ctx, OldVersion); err != nil {
		return nil, err
	}
	live, out, err := u.create(ctx, t)
	if err != nil {
		return nil, err
	}
	u.live = live
	if v := judge(out, expectation{what: "the creation of the stack with the old version", status: "CREATE_COMPLETE", history: createdHistory, clause: clauseText("create.applied")}); v != nil {
		return nil, v
	}
	if live.identifier, err = identifierOf(out); err != nil {
		return nil, err
	}
	if u.canRead() {
		if model, err = u.readAfter(ctx, live.identifier, "the creation of the stack with the old version"); err != nil {
			return nil, err
		}
	}
	return model, nil
}

// fails and drifts give a violation its effect. Another error stays as it is.
func fails(err error) error  { return withEffect(err, "fails") }
func drifts(err error) error { return withEffect(err, "drifts") }

func withEffect(err error, effect string) error {
	var broken *Violation
	if errors.As(err, &broken) {
		return &upgradeFault{broken, effect}
	}
	return err
}

func upgradeInput(ctx context.Context, u *upgradeRun) error {
	return u.accepts(ctx, u.created, "a template of the old version")
}

func upgradeLeastInput(ctx context.Context, u *upgradeRun) error {
	least := u.least(u.created)
	if reflect.DeepEqual(least, u.created) {
		return skipped("The input has only what the old version requires. Skipping test.")
	}
	return u.accepts(ctx, least, "a template with what the old version requires, and nothing else")
}

// accepts wants the version of the test to create a resource.
func (u *upgradeRun) accepts(ctx context.Context, properties map[string]any, what string) error {
	if err := u.upgrade(ctx); err != nil {
		return err
	}
	_, out, err := u.create(ctx, stackTemplate{properties: properties})
	var broken *Violation
	switch {
	case errors.As(err, &broken):
		return fails(violated(clauseUpgradeInput, "with %s, %s", what, broken.Message))
	case err != nil:
		return err
	}
	if v := judge(out, expectation{what: "the creation of a stack with " + what, status: "CREATE_COMPLETE", history: createdHistory, clause: clauseUpgradeInput}); v != nil {
		return fails(v)
	}
	return nil
}

// maxLeft bounds the values that are tried to be left out of an input.
const maxLeft = 200

// least is a model without everything that the old schema does not require.
func (u *upgradeRun) least(model map[string]any) map[string]any {
	out := schema.Clone(model)
	s, tries := u.up.Old, 0
	faults := len(s.Check(out, schema.CheckConfig{}))
	var reduce func(value any)
	reduce = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				if tries++; tries > maxLeft {
					return
				}
				was := value[key]
				delete(value, key)
				if len(s.Check(out, schema.CheckConfig{})) > faults {
					value[key] = was
					reduce(was)
				}
			}
		case []any:
			for _, item := range value {
				reduce(item)
			}
		}
	}
	reduce(out)
	return out
}

const (
	clauseUpgradeInput   = "A new version accepts the templates of the old one: no new required value, nothing narrower."
	clauseUpgradeReplace = "A new version does not replace what the old one updates in place."
	clauseUpgradeRead    = "A new version reads what the old one made, by the same identifier, with the same values."
	clauseUpgradeOrphan  = "A new version deletes what the old one made; NotFound for a resource that exists leaves it behind."
	clauseUpgradeSecret  = "Write-only values are passed to every update, and are never returned."
)

func upgradeRead(ctx context.Context, u *upgradeRun) error {
	was, err := u.existing(ctx, stackTemplate{properties: u.created})
	if err != nil {
		return err
	}
	return u.readsAs(ctx, was, u.live.properties, "the upgrade")
}

// readsAs wants a READ of the present version to return what the old one returned, and the properties of the template.
func (u *upgradeRun) readsAs(ctx context.Context, was, properties map[string]any, after string) error {
	if !u.canRead() {
		return fails(violated(clauseUpgradeRead, "the %s has no read handler; the old one has", u.now))
	}
	is, err := u.read(ctx, u.live.identifier)
	var refusal *Refusal
	switch {
	case errors.Is(err, ErrNoResource):
		return fails(violated(clauseUpgradeRead, "READ of %q, which the old version made, ended with NotFound after %s", u.live.identifier, after))
	case errors.As(err, &refusal):
		return fails(violated(clauseUpgradeRead, "READ of %q, which the old version made, failed after %s: %s", u.live.identifier, after, refusal))
	case err != nil:
		return err
	}
	if text, ok := identifierText(u.cfg.Schema, is); !ok || text != u.live.identifier {
		return fails(violated(clauseUpgradeRead, "READ after %s returned the primary identifier %q; the stack has %q", after, text, u.live.identifier))
	}
	found := u.cfg.Schema.Compare(schema.Without(schema.Without(was, u.cfg.Schema.WriteOnly), u.up.Old.WriteOnly), is, schema.CompareConfig{AllowExtra: true})
	if len(found) == 0 {
		found = differences(ctx, u.cfg.Schema, u.drift, properties, u.withoutStackTags(is))
	}
	if len(found) == 0 {
		return nil
	}
	v := mismatch(u.cfg.Schema, u.cfg.Redactor, found)
	v.Clause, v.Message = clauseUpgradeRead, fmt.Sprintf("READ after %s differs from READ of the old version: %s", after, v.Message)
	return drifts(v)
}

func upgradeSameTemplate(ctx context.Context, u *upgradeRun) error {
	was, err := u.made(ctx, stackTemplate{properties: u.created})
	if err != nil {
		return err
	}
	live := u.live
	attributes := map[string]string{"Ref": ""}
	for _, path := range u.up.Old.ReadOnly {
		if scalar(valueAt(was, path.Tokens)) && !slices.Contains(path.Tokens, "*") && len(attributes) <= maxAttributes {
			attributes[fmt.Sprintf("Attribute%d", len(attributes))] = strings.Join(path.Tokens, ".")
		}
	}
	before, err := u.update(ctx, live, stackTemplate{properties: live.properties, attributes: attributes})
	if err != nil {
		return err
	}
	if err := u.upgrade(ctx); err != nil {
		return err
	}
	const clause = "CloudFormation calls no handler for a resource whose properties have not changed, whatever its version."
	again := maps.Clone(attributes)
	again["Again"] = ""
	out, err := u.update(ctx, live, stackTemplate{properties: live.properties, attributes: again})
	if err != nil {
		return fails(err)
	}
	if v := judge(out, expectation{what: "an update with the same resource", status: "UPDATE_COMPLETE", clause: clause}); v != nil {
		return fails(v)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if got, want := out.Outputs[name], before.Outputs[name]; got != want {
			return fails(violated(clauseUpgradeRead, "%s returned %q; it was %q with the old version", expression(attributes[name]), u.cfg.Redactor.Text(got), u.cfg.Redactor.Text(want)))
		}
	}
	return u.unchanged(ctx, stackTemplate{properties: live.properties, attributes: again}, "the same template")
}

// unchanged wants an update with the template that the stack has to be refused.
func (u *upgradeRun) unchanged(ctx context.Context, t stackTemplate, what string) error {
	out, err := u.operate(ctx, &StackOperation{Action: StackUpdate, Stack: u.live.name, Template: u.text(t), Tags: u.live.tags}, t.properties)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal) && strings.Contains(refusal.Message, "No updates are to be performed"):
		return nil
	case err != nil:
		return fails(refused(err, "update the stack"))
	}
	return violated(clauseUpgradeReplace, "an update with %s was carried out and ended in %s; expected it to be rejected: No updates are to be performed", what, out.Status)
}

func upgradeDrift(ctx context.Context, u *upgradeRun) error {
	if err := u.readForBoth(); err != nil {
		return err
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	return u.inSync(ctx, u.live, "the upgrade")
}

func upgradeUpdate(ctx context.Context, u *upgradeRun) error {
	if u.noUpdate != nil {
		return u.noUpdate
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	return u.changes(ctx, u.updated, "the update of the stack")
}

// changes wants an update to change the resource in place, and the same update again to change nothing.
func (u *upgradeRun) changes(ctx context.Context, next map[string]any, what string) error {
	live := u.live
	u.touched = changed(live.properties, next)
	out, err := u.update(ctx, live, stackTemplate{properties: next})
	if err != nil {
		return fails(err)
	}
	if err := u.replaces(out, live); err != nil {
		return err
	}
	if v := judge(out, expectation{what: what + " with the " + u.now.String(), status: "UPDATE_COMPLETE", history: updatedHistory, clause: clauseText("update.applied")}); v != nil {
		return fails(v)
	}
	if v := stays(out, live.identifier, what); v != nil {
		return fails(v)
	}
	if _, err := u.settled(ctx, live.identifier, next, what); err != nil {
		return err
	}
	return u.unchanged(ctx, stackTemplate{properties: next}, "the same template again")
}

// replaces finds a replacement in the events of an update.
func (u *upgradeRun) replaces(out *StackOutcome, live *liveStack) error {
	replaced := slices.ContainsFunc(out.Events, func(e StackEvent) bool {
		return e.LogicalID == subject && strings.HasPrefix(e.Reason, "Requested update requires the creation of a new physical resource")
	})
	if !replaced {
		return nil
	}
	names := u.touched
	if fixed := u.nowFixed(names); len(fixed) > 0 {
		names = fixed
	}
	return withEffect(violated(clauseUpgradeReplace, "the update of %s replaces the resource %q, which the old version updates in place", strings.Join(names, ", "), live.identifier), "replaces")
}

// maxChanged bounds the properties that are changed one at a time.
const maxChanged = 16

func upgradeEachProperty(ctx context.Context, u *upgradeRun) error {
	steps, err := u.singleChanges(ctx)
	if err != nil {
		return err
	}
	if len(steps) == 0 {
		return skipped("The old version updates no property with a generated value. Skipping test.")
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	for _, next := range steps {
		if err := u.changes(ctx, next, "the update of "+strings.Join(changed(u.live.properties, next), ", ")); err != nil {
			return err
		}
	}
	return nil
}

// singleChanges are the properties of templates, each of which differs from the one before in one property that the old version
// updates in place.
func (u *upgradeRun) singleChanges(ctx context.Context) (steps []map[string]any, err error) {
	if _, err := u.made(ctx, stackTemplate{properties: u.created}); err != nil {
		return nil, err
	}
	for _, property := range u.up.Old.Properties() {
		key := property.Key
		next := schema.Clone(u.live.properties)
		if u.fixed(key) || len(steps) == maxChanged || !u.putDisputed(next, []string{key}) && !u.putOther(next, []string{key}) {
			continue
		}
		out, err := u.update(ctx, u.live, stackTemplate{properties: next})
		var broken *Violation
		switch {
		case errors.As(err, &broken): // not what the service takes
			continue
		case err != nil:
			return nil, err
		case judge(out, expectation{status: "UPDATE_COMPLETE", history: updatedHistory}) == nil:
			steps = append(steps, next)
		}
	}
	err = u.without(ctx)
	u.making = true
	return steps, err
}

// putDisputed puts a value at a place of a model that the old schema accepts and the new one does not. It reports whether one was found.
func (u *upgradeRun) putDisputed(model map[string]any, at document.Pointer) bool {
	old, new := len(u.up.Old.Check(model, schema.CheckConfig{})), len(u.up.Schema.Check(model, schema.CheckConfig{}))
	for n := range maxDrawn {
		drawn, err := newSource(u.up.Old, u.cfg.Seed, upgradeFile, n).Create()
		if err != nil {
			return false
		}
		other := valueAt(drawn, at)
		if other == nil {
			continue
		}
		trial := schema.Clone(model)
		invoke.Put(trial, at, other)
		if len(u.up.Old.Check(trial, schema.CheckConfig{})) <= old && len(u.up.Schema.Check(trial, schema.CheckConfig{})) > new {
			invoke.Put(model, at, other)
			return true
		}
	}
	return false
}

// maxDrawn bounds the models that are generated to find such a value.
const maxDrawn = 10

// fixed reports whether the old version does not update a property in place, or only with other values of its.
func (u *upgradeRun) fixed(key string) bool {
	s := u.up.Old
	for _, paths := range append([][]schema.Path{s.ReadOnly, s.CreateOnly, s.ConditionalCreateOnly, s.PrimaryIdentifier, s.Deprecated}, s.AdditionalIdentifiers...) {
		if slices.ContainsFunc(paths, func(p schema.Path) bool { return len(p.Tokens) > 0 && p.Tokens[0] == key }) {
			return true
		}
	}
	return key == u.tagKey()
}

func upgradeWriteOnly(ctx context.Context, u *upgradeRun) error {
	if u.noUpdate != nil {
		return u.noUpdate
	}
	var secrets []schema.Path
	for _, path := range u.up.Old.WriteOnly {
		if !slices.Contains(path.Tokens, "*") && valueAt(u.created, path.Tokens) != nil && valueAt(u.updated, path.Tokens) != nil {
			secrets = append(secrets, path)
		}
	}
	if len(secrets) == 0 {
		return skipped("The inputs of create and update have no write-only values. Skipping test.")
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	live, was := u.live, u.live.properties
	u.touched = changed(was, u.updated)
	out, err := u.update(ctx, live, stackTemplate{properties: u.updated})
	if err != nil {
		return fails(err)
	}
	if err := u.replaces(out, live); err != nil {
		return err
	}
	if v := judge(out, expectation{what: "the update with write-only values", status: "UPDATE_COMPLETE", history: updatedHistory, clause: clauseUpgradeSecret}); v != nil {
		return fails(v)
	}
	if u.up.LastUpdate != nil {
		desired, previous := u.up.LastUpdate()
		for _, path := range secrets {
			for _, model := range []struct {
				name      string
				want, got map[string]any
			}{{"previous", was, previous}, {"requested", u.updated, desired}} {
				if fmt.Sprint(valueAt(model.want, path.Tokens)) != fmt.Sprint(valueAt(model.got, path.Tokens)) {
					return fails(violated(clauseUpgradeSecret, "the %s model of the update did not have the write-only value of %s", model.name, path.Tokens))
				}
			}
		}
	}
	if !u.canRead() {
		return nil
	}
	model, err := u.readAfter(ctx, live.identifier, "the update")
	if err != nil {
		return fails(err)
	}
	for _, path := range secrets {
		if valueAt(model, path.Tokens) != nil {
			return drifts(violated(clauseUpgradeSecret, "READ of the new version returns %s, which is write-only in the old one", path.Tokens))
		}
	}
	return nil
}

func upgradeTags(ctx context.Context, u *upgradeRun) error {
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	return stackTagsCase(ctx, u.stackRun)
}

func upgradeDriftDetect(ctx context.Context, u *upgradeRun) error {
	if u.noUpdate != nil {
		return u.noUpdate
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	return stackDriftDetect(ctx, u.stackRun)
}

// inPlaceForBoth reports whether both versions update the resource in place. If not, the error says why.
func (u *upgradeRun) inPlaceForBoth() error {
	if u.noUpdate != nil {
		return u.noUpdate
	}
	if u.up.Schema.Handler("update") == nil || len(u.nowFixed(changed(u.created, u.updated))) > 0 {
		return skipped("The new version replaces the resource for this update. Skipping test.")
	}
	return nil
}

// nowFixed are those of some properties that are create-only in the new version.
func (u *upgradeRun) nowFixed(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !u.up.Schema.IsCreateOnly([]string{name}) })
}

func upgradeRollback(ctx context.Context, u *upgradeRun) error {
	if err := u.inPlaceForBoth(); err != nil {
		return err
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	u.touched = changed(u.created, u.updated)
	return stackRollbackUpdate(ctx, u.stackRun)
}

func upgradeReplace(ctx context.Context, u *upgradeRun) error {
	if u.noReplacement != nil {
		return u.noReplacement
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	live, was := u.live, u.live.identifier
	u.touched = changed(u.created, u.replaced)
	out, err := u.update(ctx, live, stackTemplate{properties: u.replaced})
	if err != nil {
		return fails(err)
	}
	if v := judge(out, expectation{what: "the replacement", status: "UPDATE_COMPLETE", history: replacedHistory, anyWay: u.deletesFirst(), clause: clauseReplaced}); v != nil {
		return fails(v)
	}
	now, v := successor(out, was)
	if v == nil {
		v = deletedInstead(out, was)
	}
	if v != nil {
		return fails(v)
	}
	live.identifier = now
	if _, err := u.settled(ctx, now, u.replaced, "the replacement"); err != nil {
		return err
	}
	return u.goneForBoth(ctx, was, "the replacement")
}

// goneForBoth wants neither version to find a resource that the present version has deleted. NotFound counts as deleted: only the old
// version knows for certain.
func (u *upgradeRun) goneForBoth(ctx context.Context, identifier, after string) error {
	now := u.now
	if u.sameIdentifier() {
		if err := u.gone(ctx, identifier, after); err != nil {
			return fails(err)
		}
	}
	if err := u.use(ctx, OldVersion); err != nil {
		return err
	}
	err := u.gone(ctx, identifier, after)
	var broken *Violation
	if errors.As(err, &broken) {
		return fails(violated(clauseUpgradeOrphan, "the %s left the resource behind: with the old version, %s", now, broken.Message))
	}
	return err
}

// sameIdentifier reports whether both versions have the same primary identifier, so that each can look for what the other one made.
func (u *upgradeRun) sameIdentifier() bool {
	return slices.EqualFunc(u.up.Old.PrimaryIdentifier, u.up.Schema.PrimaryIdentifier, func(a, b schema.Path) bool { return a.Text == b.Text })
}

// readForBoth reports whether both versions can read. If not, the error says which test reports that.
func (u *upgradeRun) readForBoth() error {
	if u.up.Schema.Handler("read") == nil {
		return skipped("The new version has no read handler, which upgrade_read reports. Skipping test.")
	}
	return nil
}

func upgradeImport(ctx context.Context, u *upgradeRun) error {
	if err := u.readForBoth(); err != nil {
		return err
	}
	was, err := u.made(ctx, stackTemplate{properties: u.created, retain: true})
	if err != nil {
		return err
	}
	live := u.live
	u.loose[live.identifier] = true
	const clause = "A resource with the DeletionPolicy Retain stays as it is when its stack is deleted."
	if err := u.end(ctx, live, retainedHistory, clause); err != nil {
		return err
	}
	if err := u.upgrade(ctx); err != nil {
		return err
	}
	u.live = &liveStack{name: u.newStack(), identifier: live.identifier, properties: live.properties}
	if err := u.importInto(ctx, u.live); err != nil {
		return fails(err)
	}
	if err := u.readsAs(ctx, u.withoutStackTags(was), live.properties, "the import"); err != nil {
		return err
	}
	return u.inSync(ctx, u.live, "the import")
}

func upgradeDelete(ctx context.Context, u *upgradeRun) error {
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	was := u.live.identifier
	if err := u.end(ctx, u.live, deletedHistory, clauseText("delete.success")); err != nil {
		return fails(err)
	}
	return u.goneForBoth(ctx, was, "the deletion of the stack")
}

func downgradeUpdate(ctx context.Context, u *upgradeRun) error {
	if err := u.inPlaceForBoth(); err != nil {
		return err
	}
	if _, err := u.existing(ctx, stackTemplate{properties: u.created}); err != nil {
		return err
	}
	u.making = true
	if err := u.changes(ctx, u.updated, "the update of the stack"); err != nil {
		return err
	}
	if err := u.use(ctx, OldVersion); err != nil {
		return err
	}
	u.making = false
	if _, err := u.settled(ctx, u.live.identifier, u.live.properties, "the way back"); err != nil {
		return err
	}
	return u.changes(ctx, u.created, "the update after the way back")
}

func downgradeDelete(ctx context.Context, u *upgradeRun) error {
	if err := u.use(ctx, u.to); err != nil {
		return err
	}
	if _, err := u.fresh(ctx); err != nil {
		return err
	}
	was := u.live.identifier
	if err := u.use(ctx, OldVersion); err != nil {
		return err
	}
	u.making = false
	if err := u.end(ctx, u.live, deletedHistory, clauseText("delete.success")); err != nil {
		return fails(err)
	}
	if err := u.use(ctx, u.to); err != nil {
		return err
	}
	if err := u.gone(ctx, was, "the deletion of the stack with the old version"); err != nil {
		return fails(err)
	}
	return nil
}

func upgradeNothingLeft(ctx context.Context, u *upgradeRun) error {
	for _, v := range []Version{NewVersion, OldVersion} {
		if err := u.use(ctx, v); err != nil {
			return err
		}
		before := u.before
		if v == NewVersion {
			u.before = nil // it lists what the new version calls the resources that existed before
		}
		err := stackNothingLeft(ctx, u.stackRun)
		u.before = before
		if err != nil {
			return err
		}
	}
	return nil
}

// expression is how a template reads an attribute, "" for the identifier.
func expression(attribute string) string {
	if attribute == "" {
		return "Ref"
	}
	return "Fn::GetAtt " + attribute
}
