package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/permissions"
	"github.com/formwork-dev/formwork/internal/running/plan"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// permissionOptions are the options of cfn stack permissions.
type permissionOptions struct {
	check                             checkOptions // parameters, schemas, registry, the deployed stack as against
	action, stackName, role, identity string
	policyOut, account                string
	compare, recordings               []string
}

func newStackPermissions(c *app, remote *remoteOptions) *cobra.Command {
	o := &permissionOptions{}
	cmd := &cobra.Command{
		Use:   "permissions TEMPLATE",
		Short: "List the IAM permissions that a stack needs, and compare them with a policy",
		Long: `List the IAM permissions that creating, updating and deleting a stack from a template needs: each
action with the resources that it is on and the reason. The actions are those that the schemas of the
resource types declare for their handlers. cfn adds what schemas leave out: tags, keys, roles that are
passed, functions of custom resources, dynamic references and the requests of cfn deploy.

The schemas are found as for "cfn template check": --schemas, --registry, the schemas that "cfn types
import" stored, and those in cfn. A part of an ARN that is not known is "*". What cfn does not know, such as
the permissions of types without a schema, is listed at the end.

--stack NAME lists only what the update of that stack to the template needs. --role-arn separates the
permissions of the role from those of the caller. A type with an execution role is listed by itself;
--for TYPE selects it.

--recording FILE adds the actions that the handlers of a type called while "cfn test --record FILE" recorded
them, and lists what the schema does not declare.

--policy-out FILE writes a policy document, or several if one would be longer than a managed policy:
policy.json, policy-2.json. --against FILE compares the permissions with a policy, a role of a template or
the output of "aws iam get-role-policy"; pass it once for each file.

Exit code: 0; 3 if --against finds that an action is missing; 1 if a file cannot be read or the template
has errors; 2 for a usage error or if the service returned an error.`,
		Example: `  cfn stack permissions app.yaml --schemas CloudformationSchema.zip
  cfn stack permissions app.yaml --action create --policy-out policy.json
  cfn stack permissions app.yaml --stack shop --registry --against deploy-role.yaml
  cfn stack permissions app.yaml --for Acme::Shop::Order --format policy
  cfn stack permissions app.yaml --for Acme::Shop::Order --recording tape.jsonl --against resource-role.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{command: cmd, message: "expected one TEMPLATE", hint: "pass the path of the template"}
			}
			return nil
		},
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.check.remote = *remote
			o.check.region = cmp.Or(remote.region, c.Getenv("AWS_REGION"), c.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
			if err := o.valid(); err != nil {
				return err
			}
			supplied, err := suppliedParameters(cmd, o.check.parameters)
			if err != nil {
				return err
			}
			return c.stackPermissions(cmd.Context(), o, args[0], supplied)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&o.check.parameters, "parameter", nil, "use `KEY=VALUE` as the value of a parameter (may be repeated)")
	flags.StringArrayVar(&o.check.schemas, "schemas", nil, "find the schemas of types in the folder or zip `PATH` (may be repeated)")
	flags.BoolVar(&o.check.registry, "registry", false, "read the schemas of types from the registry of cfn serve or AWS")
	annotate(flags, addition, "registry")
	c.choice(flags, &o.action, "action", "what is done with the stack", "all", "create", "update", "delete")
	flags.StringVar(&o.check.against, "stack", "", "only what the update of the stack `NAME` needs")
	flags.StringVar(&o.stackName, "stack-name", "", "the `NAME` of the stack (default: the name of the template file)")
	flags.StringVar(&o.account, "account", "*", "the `NUMBER` of the account, in ARNs")
	flags.StringVar(&o.role, "role-arn", "", "the `ARN` of the role that CloudFormation assumes")
	flags.StringVar(&o.identity, "for", "", "only what `caller, role or TYPE` needs")
	flags.StringVar(&o.policyOut, "policy-out", "", "write the policy to the JSON `FILE`")
	flags.StringArrayVar(&o.recordings, "recording", nil, "add the actions that handlers called in the recording `FILE` of cfn test (may be repeated)")
	flags.StringArrayVar(&o.compare, "against", nil, "compare with the policies in the JSON or YAML `FILE` (may be repeated)")
	cmd.MarkFlagsMutuallyExclusive("stack", "action")
	cmd.MarkFlagsMutuallyExclusive("stack", "stack-name")
	c.moduleFlags(cmd, &o.check.modules)
	c.formatFlag(cmd, "text", "json", "policy")
	return cmd
}

// valid is a usage error for an option that has no meaning.
func (o *permissionOptions) valid() error {
	switch {
	case o.account != "*" && !accountNumber.MatchString(o.account):
		return usagef("option --account: expected the 12 digits of an account but got %q", o.account)
	case o.role != "" && !(strings.HasPrefix(o.role, "arn:") && strings.Contains(o.role, ":role/")):
		return usagef("option --role-arn: expected the ARN of a role but got %q", o.role)
	}
	return nil
}

func (c *app) stackPermissions(ctx context.Context, o *permissionOptions, file string, supplied []template.Supplied) error {
	data, err := document.ReadHead(c.path(file), template.MaxBytes+1)
	if err != nil {
		return missingFile(err, file, hintTemplate)
	}
	schemas, err := c.openSchemas(ctx, &o.check)
	if err != nil {
		return err
	}
	defer schemas.close()
	place := permissions.Place{Region: o.check.region, Account: o.account, Stack: cmp.Or(o.stackName, stackNameOf(file)), Partition: awswire.PartitionOf(o.check.region)}
	var stack *deployedStack
	if o.check.against != "" {
		if stack, err = c.openAgainst(ctx, &o.check); err != nil {
			return err
		}
		place.Account, place.Region, place.Stack, place.Partition = stack.pseudo.AccountID, stack.pseudo.Region, stack.name, awswire.PartitionOf(stack.pseudo.Region)
		supplied = stack.supplied(file, data, supplied)
	}
	pseudo := pseudoAt(place)
	found, err := template.Examine(ctx, file, data, template.InspectInput{Supplied: supplied, Pseudo: pseudo, Modules: &foundModules{app: c, file: file, options: o.check.modules}})
	if err != nil {
		return err
	}
	if found.Problems.HasErrors() || found.Template == nil {
		_ = c.printer(c.source).Print(c.Stderr, found.Problems, "text") // see notef
		if found.Problems.HasErrors() {
			return fmt.Errorf("%s has errors, so its permissions are not known", file)
		}
		return withHint(fmt.Errorf("%s has transforms that are not run here, so its permissions are not known", file), "cfn deploy --policy-out FILE runs them on the server")
	}
	scope, err := wildScope(found.Template, found.Parameters, pseudo)
	if err != nil {
		return template.Refused(err).Problems().Err()
	}
	in := permissions.Input{Place: place, Root: scope, RoleARN: o.role, Types: typesOf(schemas.schema)}
	if in.Seen, err = c.readSeen(o.recordings); err != nil {
		return err
	}
	if stack != nil {
		in.Changes, err = stack.permissionChanges(scope, found.Parameters, supplied, schemas)
		in.Calls = deployCalls[permissions.Update]
	} else {
		in.Changes, in.Calls = wholeStack(scope, o.action)
	}
	if err != nil {
		return err
	}
	needs, err := permissions.Compute(in)
	if err != nil {
		return err
	}
	if len(data) > template.MaxBody {
		needs.Remarks = append(needs.Remarks, permissions.Remark{Text: "cfn deploy uploads a template of this size: s3:PutObject and s3:GetObject on the objects of that bucket are needed, too"})
	}
	return c.showNeeds(needs, o, place)
}

// readSeen reads what handlers called in recordings.
func (c *app) readSeen(names []string) (permissions.Seen, error) {
	seen := permissions.Seen{}
	for _, name := range names {
		tape, err := c.readRecording(name)
		if err != nil {
			return nil, err
		}
		seen.Add(tape)
	}
	return seen, nil
}

// pseudoAt are the pseudo parameters of a stack, of which the number is not known.
func pseudoAt(p permissions.Place) template.Pseudo {
	return template.Pseudo{
		AccountID: p.Account, Region: p.Region, StackName: p.Stack,
		StackID: "arn:" + p.Partition + ":cloudformation:" + p.Region + ":" + p.Account + ":stack/" + p.Stack + "/*",
	}
}

// wildScope evaluates a template with "*" for each value that is not known or secret.
func wildScope(t *template.Template, given *template.Parameters, pseudo template.Pseudo) (*template.Scope, error) {
	parameters := &template.Parameters{}
	for _, b := range given.Bound {
		switch declared := t.Parameter(b.Key); {
		case declared != nil && declared.IsStored():
			b.Stored, b.Resolved, b.Unknown = true, "*", false
		case b.Unknown || b.NoEcho:
			b.Value, b.Unknown = "*", false
		}
		parameters.Bound = append(parameters.Bound, b)
	}
	return t.NewScope(template.ScopeInput{Parameters: parameters, Pseudo: pseudo})
}

// typesOf finds types: those that are not of AWS have execution roles.
func typesOf(find func(typeName string) (*schema.Schema, error)) func(string) (permissions.Type, error) {
	return func(typeName string) (permissions.Type, error) {
		s, err := find(typeName)
		return permissions.Type{Schema: s, Role: !strings.HasPrefix(typeName, "AWS::")}, err
	}
}

// deployCalls are the requests of cfn deploy, cfn destroy and cfn stack events.
var deployCalls = map[permissions.Kind][]string{
	permissions.Create: {"CreateStack", "DescribeStacks", "DescribeStackEvents", "ListStackResources", "CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "DeleteChangeSet", "DescribeEvents", "DescribeType", "GetTemplate", "DeleteStack"},
	permissions.Update: {"UpdateStack", "DescribeStacks", "DescribeStackEvents", "ListStackResources", "CreateChangeSet", "DescribeChangeSet", "ExecuteChangeSet", "DeleteChangeSet", "DescribeEvents", "DescribeType", "GetTemplate", "GetStackPolicy"},
	permissions.Delete: {"DeleteStack", "DescribeStacks", "DescribeStackEvents", "GetTemplate", "ListStackResources"},
}

// wholeStack are the changes of all resources. A condition may depend on values that are not known, so all resources count.
func wholeStack(scope *template.Scope, action string) (changes []permissions.Change, calls []string) {
	kinds := []permissions.Kind{permissions.Kind(action)}
	if action == "all" {
		kinds = []permissions.Kind{permissions.Create, permissions.Update, permissions.Delete}
	}
	for _, kind := range kinds {
		for _, r := range scope.Template().Resources {
			change := permissions.Change{LogicalID: r.LogicalID, Type: r.Type, Kind: kind, Scope: scope}
			if kind == permissions.Delete && r.DeletionPolicy == "Retain" {
				change.Kind = permissions.Keep
			}
			changes = append(changes, change)
		}
		calls = append(calls, deployCalls[kind]...)
	}
	slices.Sort(calls)
	return changes, slices.Compact(calls)
}

// permissionChanges are the changes of an update of the stack.
func (d *deployedStack) permissionChanges(scope *template.Scope, given *template.Parameters, supplied []template.Supplied, source *schemaSource) ([]permissions.Change, error) {
	next := &plan.Deployment{Template: scope.Template(), Parameters: d.parameters(given, supplied)}
	var err error
	if next.Scope, err = scope.Template().NewScope(template.ScopeInput{Parameters: next.Parameters, Pseudo: d.pseudo}); err != nil {
		return nil, template.Refused(err).Problems().Err()
	}
	schemas := map[string]*schema.Schema{}
	for _, r := range next.Scope.ActiveResources() {
		if schemas[r.Type], err = source.schema(r.Type); err != nil {
			return nil, err
		}
	}
	all, err := plan.Alterations(d.previous, next, schemas)
	if err != nil {
		return nil, template.Refused(err).Problems().Err()
	}
	kinds, typeNames := map[string]permissions.Kind{}, map[string]string{}
	set := func(id, typeName string, kind permissions.Kind) {
		if kinds[id] != permissions.Replace {
			kinds[id], typeNames[id] = kind, typeName
		}
	}
	for _, r := range next.Scope.ActiveResources() {
		switch was := d.previous.Resource(r.LogicalID); {
		case was == nil:
			set(r.LogicalID, r.Type, permissions.Create)
		case r.Type == plan.NestedStack:
			set(r.LogicalID, r.Type, permissions.Update)
		}
	}
	out := []permissions.Change{}
	for _, a := range all {
		switch {
		case a.Removed && a.Resource.DeletionPolicy == "Retain":
		case a.Removed:
			out = append(out, permissions.Change{LogicalID: a.Resource.LogicalID, Type: a.Resource.Type, Kind: permissions.Delete, Scope: d.previous.Scope})
		case a.Recreation != types.RequiresRecreationNever:
			set(a.Resource.LogicalID, a.Resource.Type, permissions.Replace)
		default:
			set(a.Resource.LogicalID, a.Resource.Type, permissions.Update)
		}
	}
	for id, kind := range kinds {
		out = append(out, permissions.Change{LogicalID: id, Type: typeNames[id], Kind: kind, Scope: scope})
	}
	slices.SortFunc(out, func(a, b permissions.Change) int { return strings.Compare(a.LogicalID, b.LogicalID) })
	return out, nil
}

// A listedNeeds is the result with --format json.
type listedNeeds struct {
	StackName string `json:"stackName"`
	Region    string `json:"region"`
	*permissions.Needs
	Difference *permissions.Difference `json:"difference"` // null without --against
}

// showNeeds prints permissions, writes their policy and compares them with another one.
func (c *app) showNeeds(needs *permissions.Needs, o *permissionOptions, place permissions.Place) error {
	if o.identity != "" {
		if known := needs.Identities(); !slices.Contains(known, o.identity) {
			return withHint(fmt.Errorf("%q needs no permissions", o.identity), "pass --for with one of: %s", strings.Join(known, ", "))
		}
		needs.Entries = needs.Of(o.identity)
	}
	listed := listedNeeds{StackName: place.Stack, Region: place.Region, Needs: needs}
	// A policy is for one identity: without --for, for the one that provisions.
	granted := needs.Entries
	if o.identity == "" {
		granted = needs.Of(provisioner(o.role))
	}
	if len(o.compare) > 0 {
		difference, err := c.compareWithPolicies(o.compare, granted)
		if err != nil {
			return err
		}
		listed.Difference = difference
	}
	if o.policyOut != "" {
		if err := c.writePolicy(o.policyOut, granted); err != nil {
			return err
		}
	}
	var err error
	switch c.format {
	case "json":
		err = c.printJSON(listed)
	case "policy":
		err = c.printJSON(permissions.Policy{Version: "2012-10-17", Statement: permissions.Statements(granted)})
	default:
		err = c.needsAsText(&listed)
	}
	if err != nil {
		return err
	}
	if d := listed.Difference; d != nil && len(d.Missing) > 0 {
		return &exitError{exitPending, ""}
	}
	return nil
}

func provisioner(role string) string {
	if role != "" {
		return permissions.Stack
	}
	return permissions.Caller
}

func (c *app) needsAsText(l *listedNeeds) error {
	defer c.noteRemarks(l.Remarks)
	if d := l.Difference; d != nil {
		return c.differenceAsText(d)
	}
	c.printf("Permissions for the stack %s in %s: %s\n", l.StackName, l.Region, words.Count(len(l.Entries), "action"))
	return c.table("IDENTITY\tRESOURCE\tACTION\tON\tWHY", func(w *tabwriter.Writer) {
		for _, e := range l.Entries {
			why := e.Why
			if e.Confidence == "inferred" {
				why += " (not declared)"
			}
			if e.Unknown {
				why += " (unknown to IAM)"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", words.Flat(e.Identity), cmp.Or(words.Flat(e.Resource), "-"), e.Action, short(words.Flat(strings.Join(e.On, " "))), why)
		}
	})
}

// noteRemarks prints remarks, the same of several resources of a type as one.
func (c *app) noteRemarks(remarks []permissions.Remark) {
	same := map[permissions.Remark][]string{}
	for _, r := range remarks {
		key := permissions.Remark{Type: r.Type, Text: r.Text}
		same[key] = append(same[key], r.Resource)
	}
	for _, r := range remarks {
		key := permissions.Remark{Type: r.Type, Text: r.Text}
		resources := same[key]
		delete(same, key)
		switch {
		case resources == nil: // printed with the first of them
		case r.Resource == "":
			c.notef("note: %s\n", words.Flat(r.Text))
		default:
			more := ""
			if n := len(resources) - maxNoted; n > 0 {
				resources, more = resources[:maxNoted], fmt.Sprintf(" and %d more", n)
			}
			c.notef("note: %s\n", words.Flat(strings.Join(resources, ", ")+more+" ("+r.Type+"): "+r.Text))
		}
	}
}

// maxNoted is the number of resources that a note names.
const maxNoted = 5

func (c *app) differenceAsText(d *permissions.Difference) error {
	c.printf("%s missing, %s only under a condition, %s not needed\n", words.Count(len(d.Missing), "action"), words.Count(len(d.Conditional), "action"), words.Count(len(d.Unused), "action"))
	list := func(sign string, entries []permissions.Entry) {
		for _, e := range entries {
			c.printf("%s %s on %s (%s: %s)\n", sign, e.Action, words.Flat(strings.Join(e.On, " ")), cmp.Or(words.Flat(e.Resource), "the stack"), e.Why)
		}
	}
	list("-", d.Missing)
	list("?", d.Conditional)
	for _, a := range d.Unused {
		c.printf("+ %s\n", words.Flat(a))
	}
	for _, r := range d.Remarks {
		c.notef("note: %s\n", words.Flat(r))
	}
	return nil
}

// maxPolicyFile bounds a file with policies, in bytes.
const maxPolicyFile = 4 << 20

// compareWithPolicies compares permissions with the policies of files.
func (c *app) compareWithPolicies(files []string, needed []permissions.Entry) (*permissions.Difference, error) {
	given := &permissions.Given{}
	for _, file := range files {
		data, err := document.ReadFile(c.path(file), maxPolicyFile)
		if err != nil {
			return nil, missingFile(err, file, "pass the path of a policy in JSON or YAML, or of a template with a role")
		}
		root, problems := template.ReadDocument(file, data)
		if err := problems.Err(); err != nil {
			return nil, err
		}
		if err := given.Read(root); err != nil {
			return nil, withHint(fmt.Errorf("%s: %w", file, err), "pass a policy, or a template or an answer of IAM that has one")
		}
	}
	difference := given.Against(needed)
	return &difference, nil
}

// writePolicy writes a policy, or several if one would be too long.
func (c *app) writePolicy(file string, granted []permissions.Entry) error {
	if len(granted) == 0 {
		return errors.New("no policy was written: no permissions are needed")
	}
	for i, policy := range permissions.Policies(granted, permissions.MaxPolicy) {
		name := file
		if i > 0 {
			extension := filepath.Ext(file)
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, extension), i+1, extension)
		}
		text, err := json.MarshalIndent(policy, "", "  ")
		if err != nil {
			return err
		}
		if err := c.writeFile(name, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("write the policy: %w", err)
		}
		c.notef("%s written: %s\n", name, words.Count(len(policy.Statement), "statement"))
	}
	return nil
}
