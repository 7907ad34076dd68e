package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// TestDeployAsks: on a terminal the changes are shown, replacements in bold, and what is not
// confirmed leaves nothing behind.
func TestDeployAsks(t *testing.T) {
	dir := t.TempDir()
	cloud, err := local.Open(t.Context(), local.Config{Environ: append(os.Environ(), "HOME="+dir)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(func() {
		server.Close()
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	environ := []string{"TERM=xterm"}
	for _, v := range localVariables(nil, server.URL, "us-east-1", lambda.DefaultAccountID) {
		environ = append(environ, v.name+"="+v.value)
		t.Setenv(v.name, v.value) // the SDK reads the process's own
	}
	write := func(name string) {
		template := `{"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "` + name + `", "Type": "String", "Value": "v"}}}}`
		if err := os.WriteFile(filepath.Join(dir, "shop.json"), []byte(template), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(answer string, args ...string) (int, string) {
		var out, errs strings.Builder
		env := Env{
			Stdin: strings.NewReader(answer), Stdout: &out, Stderr: &errs, Environ: environ, Dir: dir, Version: "1.2.3",
			Terminal: Terminal{Stdin: true, Stdout: true, Stderr: true},
		}
		code := Main(t.Context(), env, args)
		return code, out.String() + errs.String()
	}
	expect := func(answer string, want int, parts ...string) {
		t.Helper()
		code, text := run(answer, "deploy", "shop.json")
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%q lacks %q:\n%q", answer, part, text)
			}
		}
		if code != want {
			t.Errorf("%q: code %d, want %d:\n%s", answer, code, want, text)
		}
	}
	write("first")
	expect("n\n", exitFailure, "shop in us-east-1: 1 to create", "+ P  AWS::SSM::Parameter  create", "Make these changes? (y/N)", "nothing was changed")
	if _, text := run("", "stacks", "--all"); strings.Contains(text, "shop") && !strings.Contains(text, "DELETE_COMPLETE") {
		t.Errorf("a change set that was not confirmed left a stack:\n%s", text)
	}
	expect("y\n", exitOK, "CREATE_COMPLETE")
	expect("", exitOK, "Stack shop is up to date: no changes.")
	write("second")
	expect("y\n", exitOK, "\x1b[1;31m± P  AWS::SSM::Parameter  replace\x1b[0m", "\x1b[1mName: \"first\" → \"second\" (replaces the resource)\x1b[0m", "UPDATE_COMPLETE")
}

func TestPlannedProperties(t *testing.T) {
	target := func(name, before, after string, recreation types.RequiresRecreation) *types.ResourceTargetDefinition {
		return &types.ResourceTargetDefinition{Attribute: types.ResourceAttributeProperties, Name: &name, BeforeValue: aws.String(before), AfterValue: &after, RequiresRecreation: recreation}
	}
	// What a parameter changes has two details, which are one line.
	got := plannedProperties([]types.ResourceChangeDetail{
		{ChangeSource: types.ChangeSourceParameterReference, CausingEntity: aws.String("P"), Target: target("A", "1", "2", types.RequiresRecreationConditionally)},
		{ChangeSource: types.ChangeSourceDirectModification, Target: target("A", "1", "2", types.RequiresRecreationConditionally)},
		{ChangeSource: types.ChangeSourceAutomatic, Target: &types.ResourceTargetDefinition{Attribute: types.ResourceAttributeProperties}},
		{ChangeSource: types.ChangeSourceDirectModification, Target: &types.ResourceTargetDefinition{Attribute: types.ResourceAttributeTags}},
	})
	if len(got) != 2 || got[0].Path != "A" || *got[0].Before != "1" || *got[0].After != "2" || got[0].Replaces != "maybe" || len(got[0].CausedBy) != 1 || got[1].Path != "Tags" {
		t.Errorf("got %+v", got)
	}
}

func TestActionOfChange(t *testing.T) {
	for want, c := range map[string]types.ResourceChange{
		"create":     {Action: types.ChangeActionAdd},
		"import":     {Action: types.ChangeActionImport},
		"delete":     {Action: types.ChangeActionRemove, PolicyAction: types.PolicyActionDelete},
		"remove":     {Action: types.ChangeActionRemove, PolicyAction: types.PolicyActionRetain},
		"sync":       {Action: types.ChangeActionSyncWithActual},
		"update":     {Action: types.ChangeActionModify, Replacement: types.ReplacementFalse},
		"replace":    {Action: types.ChangeActionModify, Replacement: types.ReplacementTrue},
		"mayReplace": {Action: types.ChangeActionModify, Replacement: types.ReplacementConditional},
	} {
		if got := actionOfChange(&c); got != want {
			t.Errorf("%s %s %s is %s, want %s", c.Action, c.Replacement, c.PolicyAction, got, want)
		}
	}
}
