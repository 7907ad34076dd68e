package local_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// vaultSchema is a type with properties that can only be written.
const vaultSchema = `{"typeName": "Acme::Vault::Box", "description": "A box", "additionalProperties": false,
	"properties": {"Id": {"type": "string"}, "Size": {"type": "integer"}, "Password": {"type": "string"}, "Recovery": {"type": "string"}},
	"primaryIdentifier": ["/properties/Id"], "readOnlyProperties": ["/properties/Id"],
	"writeOnlyProperties": ["/properties/Password", "/properties/Recovery"],
	"handlers": {"create": {"permissions": []}, "read": {"permissions": []}, "update": {"permissions": []}, "delete": {"permissions": []}, "list": {"permissions": []}}}`

// vaultTemplate gives a NoEcho parameter to a simulated resource, to one with a handler,
// to an output and to an export. It has a value that can only be written, too.
const vaultTemplate = `{"Parameters": {"Secret": {"Type": "String", "NoEcho": true}, "Size": {"Type": "Number", "Default": 1}, "Do": {"Type": "String", "Default": "nothing"}},
	"Resources": {
		"Box": {"Type": "Acme::Vault::Box", "Metadata": {"Hint": "canary-of-the-metadata"}, "Properties": {"Size": {"Ref": "Size"}, "Password": {"Ref": "Secret"}, "Recovery": "canary-of-the-template"}},
		"Thing": {"Type": "Acme::Spy::Thing", "DependsOn": "Box", "Properties": {"Name": "abcd", "Do": {"Ref": "Do"}, "Password": {"Ref": "Secret"}}}
	},
	"Outputs": {"Password": {"Value": {"Ref": "Secret"}, "Export": {"Name": {"Fn::Sub": "${AWS::StackName}-password"}}}}}`

// TestNothingSecretInTheDatabase deploys stacks with secrets and looks for these in all
// that the database holds: during an operation, afterwards, with a change set, and after an
// update and its rollback. What the answers show stays the same.
func TestNothingSecretInTheDatabase(t *testing.T) {
	for _, where := range fixtures.Stores(t) {
		t.Run(where.Name, func(t *testing.T) {
			if where.Dir == "" {
				where.Dir = t.TempDir()
			}
			schema, file := filepath.Join(t.TempDir(), "acme-vault-box.json"), filepath.Join(t.TempDir(), "notes")
			if err := os.WriteFile(schema, []byte(vaultSchema), 0o600); err != nil {
				t.Fatal(err)
			}
			server := serving(t, local.ServerConfig{Config: local.Config{Dir: where.Dir, Database: where.DSN, Simulate: []string{"Acme::Vault::*"}}})
			place{url: server.URL(), account: account}.importTypes(t, schema)
			c, ctx := newClients(t, server.URL()), t.Context()
			registered(t, c, registerSpy(t, c, spyPackage(t, file, `"Do": {"type": "string"}, "Password": {"type": "string"}`, 0)), time.Minute)
			parameters := func(secret, size, do string) []cfntypes.Parameter {
				return []cfntypes.Parameter{
					{ParameterKey: aws.String("Secret"), ParameterValue: &secret}, {ParameterKey: aws.String("Size"), ParameterValue: &size}, {ParameterKey: aws.String("Do"), ParameterValue: &do},
				}
			}
			ended := func(name string) cfntypes.Stack {
				t.Helper()
				var stack cfntypes.Stack
				eventually(t, time.Minute, "the end of "+name, func() bool {
					out, err := c.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
					if err != nil {
						t.Fatal(err)
					}
					stack = out.Stacks[0]
					return !strings.HasSuffix(string(stack.StackStatus), "_IN_PROGRESS")
				})
				return stack
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			body := aws.String(vaultTemplate)

			_, err := c.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: aws.String("running"), TemplateBody: body, Parameters: parameters("canary-of-one-that-runs", "1", "wait")})
			must(err)
			eventually(t, time.Minute, "the handler is at work", func() bool { return len(notes(t, file)) >= 3 })
			lookForCanaries(t, where, "while a stack is created", "running")

			name := aws.String("done")
			_, err = c.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: name, TemplateBody: body, Parameters: parameters("canary-of-the-create", "1", "nothing")})
			must(err)
			stack := ended("done")
			if stack.StackStatus != cfntypes.StackStatusCreateComplete || *stack.Outputs[0].OutputValue != "canary-of-the-create" || *stack.Parameters[0].ParameterValue == "canary-of-the-create" {
				t.Errorf("the stack is %s (%s) with the outputs %v and the parameters %v", stack.StackStatus, aws.ToString(stack.StackStatusReason), stack.Outputs, stack.Parameters)
			}
			template, err := c.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: name})
			if err != nil || *template.TemplateBody != vaultTemplate {
				t.Errorf("the template is %s, %v", aws.ToString(template.TemplateBody), err)
			}
			_, err = c.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{StackName: name, ChangeSetName: aws.String("set"), UsePreviousTemplate: aws.Bool(true), Parameters: parameters("canary-of-the-change-set", "2", "nothing")})
			must(err)
			eventually(t, time.Minute, "the plan", func() bool {
				out, err := c.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{StackName: name, ChangeSetName: aws.String("set"), IncludePropertyValues: aws.Bool(true)})
				must(err)
				return out.Status == cfntypes.ChangeSetStatusCreateComplete
			})
			lookForCanaries(t, where, "with a change set", "done")
			_, err = c.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: name, UsePreviousTemplate: aws.Bool(true), Parameters: parameters("canary-of-the-update", "1.5", "else")})
			must(err)
			if stack := ended("done"); stack.StackStatus != cfntypes.StackStatusUpdateRollbackComplete || *stack.Outputs[0].OutputValue != "canary-of-the-create" {
				t.Errorf("after the update the stack is %s with the outputs %v", stack.StackStatus, stack.Outputs)
			}
			lookForCanaries(t, where, "after an update and its rollback", "done")
		})
	}
}

// lookForCanaries fails the test if a database holds a secret value, and if it does not
// hold known, which shows that it was the right place to look.
func lookForCanaries(t *testing.T, where fixtures.Place, when, known string) {
	t.Helper()
	found := false
	look := func(name string, text []byte) {
		found = found || bytes.Contains(text, []byte(known))
		if i := bytes.Index(text, []byte("canary-of-")); i >= 0 {
			t.Errorf("%s: %s has a secret in the clear: %q", when, name, text[max(0, i-80):min(len(text), i+40)])
		}
	}
	if where.DSN == "" {
		for _, name := range []string{"formwork.db", "formwork.db-wal"} {
			text, err := os.ReadFile(filepath.Join(where.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			look(name, text)
		}
	} else {
		db, err := sql.Open("pgx", where.DSN)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, table := range column(t, db, "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()") {
			look(table, []byte(strings.Join(column(t, db, "SELECT t::text FROM "+table+" AS t"), "\n")))
		}
	}
	if !found {
		t.Errorf("%s: %q is not in the database: it is the wrong one", when, known)
	}
}

// column is what a query of one column returns.
func column(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
