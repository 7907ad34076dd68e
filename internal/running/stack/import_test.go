package stack

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// importing asks to import things: "A=a-1".
func importing(things ...string) func(*cloudformation.CreateChangeSetInput) {
	return func(in *cloudformation.CreateChangeSetInput) {
		for _, text := range things {
			id, identifier, _ := strings.Cut(text, "=")
			in.ResourcesToImport = append(in.ResourcesToImport, types.ResourceToImport{
				LogicalResourceId: aws.String(id), ResourceType: aws.String("Acme::Test::Thing"), ResourceIdentifier: map[string]string{"Id": identifier},
			})
		}
	}
}

// has makes a thing outside of every stack.
func (w *world) has(identifier string, model map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.things[identifier] = model
}

func TestImport(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.world.has("old-1", map[string]any{"Name": "old", "Note": "as it is"})
		g.world.has("old-2", map[string]any{"Note": "other"})

		// Into a new stack.
		body := things("A: {DeletionPolicy: Retain, Properties: {Name: old, Note: as wanted, Secret: s}}")
		set := g.create("one", types.ChangeSetTypeImport, body, importing("A=old-1"))
		if set.Status != types.ChangeSetStatusCreateComplete || len(set.Changes) != 1 {
			t.Fatalf("the change set: %s", encode(set))
		}
		if c := set.Changes[0].ResourceChange; c.Action != types.ChangeActionImport || aws.ToString(c.PhysicalResourceId) != "old-1" || c.Replacement != "" || len(c.Scope)+len(c.Details) > 0 {
			t.Errorf("the change: %s", encode(c))
		}
		if review := g.settled("app"); review.StackStatus != types.StackStatusReviewInProgress {
			t.Errorf("before the execution: %s", review.StackStatus)
		}
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportComplete, "")
		g.expect("app", 1,
			"app IMPORT_IN_PROGRESS (User Initiated)",
			"A IMPORT_IN_PROGRESS old-1 (Resource import started.)",
			"A IMPORT_COMPLETE old-1",
			"A UPDATE_IN_PROGRESS old-1 (Apply stack-level tags to imported resource if applicable.)",
			"A UPDATE_COMPLETE old-1",
			"app IMPORT_COMPLETE",
		)
		if calls := g.done(); calls != "UPDATE A" {
			t.Errorf("calls: %s", calls)
		}
		request := g.world.seen[len(g.world.seen)-1]
		if request.Desired["Note"] != "as it is" || request.Desired["Secret"] != "s" || request.SystemTags["aws:cloudformation:logical-id"] != "A" {
			t.Errorf("the tags are put on with %s", encode(request))
		}

		// Into the stack that is there: what it has is not visited.
		body += "  B: {Type: Acme::Test::Thing, DeletionPolicy: Delete, Properties: {Note: !Ref A}}\n"
		set = g.create("two", types.ChangeSetTypeImport, body, importing("B=old-2"))
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportComplete, "")
		if calls := g.done(); calls != "UPDATE B" {
			t.Errorf("calls of the second import: %s", calls)
		}
		g.expectStatus(g.delete(*g.settled("app").StackId, &cloudformation.DeleteStackInput{}), types.StackStatusDeleteComplete, "")
		if left := strings.Join(g.world.ids(), " "); left != "old-1" {
			t.Errorf("after the deletion: %s", left)
		}
	})
}

func TestImportRollback(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.world.has("old-1", map[string]any{})
		g.world.has("old-2", map[string]any{})
		set := g.create("one", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Delete}", "B: {DeletionPolicy: Delete, DependsOn: A}"), importing("A=old-1", "B=old-2"))
		g.world.script("READ B", behavior{code: "InternalFailure", message: "broken"})
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportRollbackComplete, "")
		g.expect("app", 1,
			"app IMPORT_IN_PROGRESS (User Initiated)",
			"A IMPORT_IN_PROGRESS old-1 (Resource import started.)",
			"A IMPORT_COMPLETE old-1",
			"A UPDATE_IN_PROGRESS old-1 (Apply stack-level tags to imported resource if applicable.)",
			"A UPDATE_COMPLETE old-1",
			"B IMPORT_IN_PROGRESS old-2 (Resource import started.)",
			`B IMPORT_FAILED old-2 (Resource handler returned message: "broken" (RequestToken: U, HandlerErrorCode: InternalFailure))`,
			"app IMPORT_ROLLBACK_IN_PROGRESS (The following resource(s) failed to import: [B]. )",
			"A IMPORT_ROLLBACK_IN_PROGRESS old-1",
			"A IMPORT_ROLLBACK_COMPLETE old-1",
			"B IMPORT_ROLLBACK_IN_PROGRESS",
			"B IMPORT_ROLLBACK_COMPLETE",
			"app IMPORT_ROLLBACK_COMPLETE",
		)
		if left := strings.Join(g.world.ids(), " "); left != "old-1 old-2" {
			t.Errorf("after the rollback: %s", left)
		}
		resources, err := g.DescribeStackResources(t.Context(), owner, &cloudformation.DescribeStackResourcesInput{StackName: aws.String("app")})
		if err != nil || len(resources.StackResources) != 0 {
			t.Errorf("resources after the rollback: %s, %v", encode(resources), err)
		}
		// The stack can be used: the same import again, then an update.
		set = g.create("two", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Delete}"), importing("A=old-1"))
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportComplete, "")
		g.expectStatus(g.update(&cloudformation.UpdateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(things("A: {Properties: {Note: n}}"))}),
			types.StackStatusUpdateComplete, "")
	})
}

// TestImportedThenUpdated is a stack whose import was rolled back, which has no template.
func TestImportedThenUpdated(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.has("old-1", map[string]any{})
	set := g.create("one", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Delete}"), importing("A=old-1"))
	g.world.script("READ A", behavior{code: "InternalFailure", message: "broken"})
	g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportRollbackComplete, "")
	g.expectStatus(g.update(&cloudformation.UpdateStackInput{StackName: aws.String("app"), TemplateBody: aws.String(things("N: {}"))}), types.StackStatusUpdateComplete, "")
}

// TestImportMoves takes a resource out of one stack and into another.
func TestImportMoves(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.create2("from", things("A: {DeletionPolicy: Retain, Properties: {Note: n}}", "K: {}"))
	id := g.physicalID("from", "A")
	set := g.create("early", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Retain}"), importing("A="+id))
	if want := id + " already exists in stack " + *g.settled("from").StackId; set.Status != types.ChangeSetStatusFailed || aws.ToString(set.StatusReason) != want {
		t.Errorf("while another stack has it: %s %s", set.Status, aws.ToString(set.StatusReason))
	}
	g.update(&cloudformation.UpdateStackInput{StackName: aws.String("from"), TemplateBody: aws.String(things("K: {}"))})
	set = g.create("late", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Retain, Properties: {Note: n}}"), importing("A="+id))
	g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusImportComplete, "")
	if calls := g.done(); strings.Contains(calls, "DELETE") {
		t.Errorf("calls: %s", calls)
	}
}

func (g *setRig) create2(name, body string) {
	g.t.Helper()
	g.rig.create(&cloudformation.CreateStackInput{StackName: aws.String(name), TemplateBody: aws.String(body)})
}

func (g *setRig) physicalID(stack, logicalID string) string {
	g.t.Helper()
	out, err := g.DescribeStackResource(g.t.Context(), owner, &cloudformation.DescribeStackResourceInput{StackName: aws.String(stack), LogicalResourceId: aws.String(logicalID)})
	if err != nil {
		g.t.Fatal(err)
	}
	return *out.StackResourceDetail.PhysicalResourceId
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.create2("app", things("K: {}", "L: {Properties: {Note: n}}")+"Outputs: {O: {Value: !Ref K}}\n")
	const outputs = "Outputs: {O: {Value: !Ref K}}\n"
	kept := []string{"K: {}", "L: {Properties: {Note: n}}"}
	with := func(more ...string) string { return things(append(kept, more...)...) + outputs }
	imported := with("A: {DeletionPolicy: Retain}")
	twice := func(in *cloudformation.CreateChangeSetInput) { importing("A=x", "A=y")(in) }
	identified := func(identifier map[string]string) func(*cloudformation.CreateChangeSetInput) {
		return func(in *cloudformation.CreateChangeSetInput) {
			importing("A=x")(in)
			in.ResourcesToImport[0].ResourceIdentifier = identifier
		}
	}
	for _, tc := range []struct {
		body    string
		change  func(*cloudformation.CreateChangeSetInput)
		message string
	}{
		{imported, importing("M=x"), "The logical resource ids [M] provided in ResourceToImport do not exist in the template."},
		{imported, identified(map[string]string{"Name": "x"}), "Invalid resource identifier for resource type Acme::Test::Thing. Expected [Id]"},
		{imported, identified(map[string]string{"Id": "x", "Name": "x"}), "Invalid resource identifier for resource type Acme::Test::Thing. Expected [Id]"},
		{imported, identified(map[string]string{"Id": ""}), "Invalid resource identifier for resource type Acme::Test::Thing. Expected [Id]"},
		{with("A: {Type: Acme::Test::Fixed, DeletionPolicy: Retain}"), importing("A=x"),
			"Resource type of [A] passed in ResourceToImport does not match with resource type defined in the template. Resource type in ResourceToImport: Acme::Test::Thing; Resource type in Template: Acme::Test::Fixed."},
		{imported, twice, "Every resource to import must have unique LogicalResourceId"},
		{with(), importing("K=x"), "The template should contain at least one new resource to import."},
		{imported, importing("A=x", "K=y"), "Resources [K] passed in ResourceToImport are already in a stack and cannot be imported."},
		{with("A: {}", "B: {}"), importing("A=x"), "The following resources to import [A] must have DeletionPolicy attribute specified in the template."},
		{with("A: {DeletionPolicy: Retain}", "B: {DeletionPolicy: Retain}"), importing("A=x"), "Resources [B] is missing from ResourceToImport list"},
		{things("K: {}", "L: {Properties: {Note: other}}", "A: {DeletionPolicy: Retain}") + outputs, importing("A=x"),
			"You have modified resources [L] in your template that are not being imported. Update, create or delete operations cannot be executed during import operations."},
		{things("K: {}", "A: {DeletionPolicy: Retain}") + outputs, importing("A=x"),
			"You have modified resources [L] in your template that are not being imported. Update, create or delete operations cannot be executed during import operations."},
		{strings.Replace(imported, "!Ref K", "!Ref L", 1), importing("A=x"), "As part of the import operation, you cannot modify or add [Outputs]"},
		{imported, func(in *cloudformation.CreateChangeSetInput) {
			importing("A=x")(in)
			in.Tags, in.RoleARN = []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}, aws.String("arn:aws:iam::123456789012:role/r")
		}, "As part of the import operation, you cannot modify or add [RoleArn, Tags]"},
		{imported, func(in *cloudformation.CreateChangeSetInput) {
			importing("A=x")(in)
			in.ResourcesToImport[0].ResourceType = aws.String("AWS::CloudFormation::WaitConditionHandle")
		}, "ResourceTypes [AWS::CloudFormation::WaitConditionHandle] are not supported for Import"},
		{imported, func(in *cloudformation.CreateChangeSetInput) {
			importing("A=x")(in)
			in.ChangeSetType = types.ChangeSetTypeUpdate
		},
			"ResourcesToImport can be specified only for a change set of the type IMPORT."},
	} {
		in := &cloudformation.CreateChangeSetInput{StackName: aws.String("app"), ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(tc.body)}
		tc.change(in)
		_, err := g.CreateChangeSet(t.Context(), owner, in)
		refusedWith(t, err, "ValidationError", tc.message)
	}
	if names := g.names(); names != "" {
		t.Errorf("change sets that were refused: %s", names)
	}
	// A refused import makes no stack.
	_, err := g.CreateChangeSet(t.Context(), owner, &cloudformation.CreateChangeSetInput{
		StackName: aws.String("new"), ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(things("A: {}")),
		ResourcesToImport: []types.ResourceToImport{{LogicalResourceId: aws.String("A"), ResourceType: aws.String("Acme::Test::Thing"), ResourceIdentifier: map[string]string{"Id": "x"}}},
	})
	refusedWith(t, err, "ValidationError", "The following resources to import [A] must have DeletionPolicy attribute specified in the template.")
	if _, err := g.DescribeStacks(t.Context(), owner, &cloudformation.DescribeStacksInput{StackName: aws.String("new")}); err == nil {
		t.Error("a refused import made a stack")
	}
}

func TestImportFailures(t *testing.T) {
	t.Parallel()
	g := &setRig{onSQLite(t), t, owner}
	g.world.has("old-1", map[string]any{})
	set := g.create("absent", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Retain}"), importing("A=none"))
	if set.Status != types.ChangeSetStatusFailed || set.ExecutionStatus != types.ExecutionStatusUnavailable || aws.ToString(set.StatusReason) != "none was not found" || len(set.Changes) != 0 {
		t.Errorf("what is not there: %s", encode(set))
	}
	set = g.create("other", types.ChangeSetTypeImport, strings.ReplaceAll(things("A: {DeletionPolicy: Retain, Properties: {Name: other}}"), "Thing", "Named"),
		func(in *cloudformation.CreateChangeSetInput) {
			importing("A=x")(in)
			in.ResourcesToImport[0].ResourceType, in.ResourcesToImport[0].ResourceIdentifier = aws.String("Acme::Test::Named"), map[string]string{"Name": "old-1"}
		})
	if want := "The Identifier [Name] for resource A does not match the identifier value defined in the template."; aws.ToString(set.StatusReason) != want {
		t.Errorf("another name: %s", encode(set))
	}
	// What somebody else imports in between is not taken twice.
	first := g.create("first", types.ChangeSetTypeImport, things("A: {DeletionPolicy: Retain}"), importing("A=old-1"))
	second := &cloudformation.CreateChangeSetInput{StackName: aws.String("two"), ChangeSetName: aws.String("c"), ChangeSetType: types.ChangeSetTypeImport, TemplateBody: aws.String(things("B: {DeletionPolicy: Retain}"))}
	importing("B=old-1")(second)
	out, err := g.CreateChangeSet(t.Context(), owner, second)
	if err != nil {
		t.Fatal(err)
	}
	g.planned(*out.Id)
	g.expectStatus(g.execute(*first.ChangeSetId), types.StackStatusImportComplete, "")
	if _, err := g.ExecuteChangeSet(t.Context(), owner, &cloudformation.ExecuteChangeSetInput{ChangeSetName: out.Id}); err != nil {
		t.Fatal(err)
	}
	g.expectStatus(g.settled("two"), types.StackStatusImportRollbackComplete, "")
	if story := strings.Join(g.story("two"), "\n"); !strings.Contains(story, "B IMPORT_FAILED old-1 (old-1 already exists in stack "+*g.settled("app").StackId+")") {
		t.Error(story)
	}
}

func TestImportExisting(t *testing.T) {
	t.Parallel()
	eachSetRig(t, func(t *testing.T, g *setRig) {
		g.world.has("here", map[string]any{"Name": "here", "Note": "old"})
		existing := func(in *cloudformation.CreateChangeSetInput) { in.ImportExistingResources = aws.Bool(true) }
		named := func(lines ...string) string { return strings.ReplaceAll(things(lines...), "Thing", "Named") }
		set := g.create("bare", types.ChangeSetTypeCreate, named("A: {Properties: {Name: here}}", "N: {Properties: {Name: new}}"), existing)
		if want := "CloudFormation is attempting to import some resources because they already exist in your account. The resources must have the DeletionPolicy attribute set to 'Retain' or 'RetainExceptOnCreate' in the template for successful import. The affected resources are A ({Name=here})"; aws.ToString(set.StatusReason) != want {
			t.Errorf("without a policy: %s", encode(set))
		}
		set = g.create("kept", types.ChangeSetTypeCreate, named("A: {DeletionPolicy: RetainExceptOnCreate, Properties: {Name: here}}", "N: {DependsOn: A, Properties: {Name: new}}"), existing)
		var actions []string
		for _, c := range set.Changes {
			actions = append(actions, string(c.ResourceChange.Action)+" "+*c.ResourceChange.LogicalResourceId)
		}
		if got := strings.Join(actions, ", "); got != "Import A, Add N" {
			t.Fatalf("the change set: %s (%s)", got, aws.ToString(set.StatusReason))
		}
		g.world.script("CREATE N", behavior{code: "InternalFailure", message: "broken"})
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusRollbackComplete, "")
		if left := strings.Join(g.world.ids(), " "); left != "here" {
			t.Errorf("the rollback left %s", left)
		}
		g.delete(*g.settled("app").StackId, &cloudformation.DeleteStackInput{})
		set = g.create("again", types.ChangeSetTypeCreate, named("A: {DeletionPolicy: RetainExceptOnCreate, Properties: {Name: here}}", "N: {Properties: {Name: new}}"), existing)
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusCreateComplete, "")
		if id := g.physicalID("app", "A"); id != "here" {
			t.Errorf("imported as %s", id)
		}
		g.world.has("late", map[string]any{"Name": "late"})
		set = g.create("more", types.ChangeSetTypeUpdate, named("A: {DeletionPolicy: RetainExceptOnCreate, Properties: {Name: here}}",
			"N: {Properties: {Name: new}}", "M: {DeletionPolicy: Retain, Properties: {Name: late}}"), existing)
		g.expectStatus(g.execute(*set.ChangeSetId), types.StackStatusUpdateComplete, "")
		if story := strings.Join(g.story("app"), "\n"); !strings.Contains(story, "M IMPORT_COMPLETE late") {
			t.Error(story)
		}
	})
}
