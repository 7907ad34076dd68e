package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// foreignOption says what to type instead of an option of "aws cloudformation", "sam deploy"
// or "cdk deploy" that has another name here. The hint is for commands that have the option
// or, where the field is in capitals, the argument.
type foreignOption struct{ instead, hint string }

var foreignOptions = map[string][]foreignOption{
	"administration-role-arn":          {{"administration-role", "use --administration-role ARN"}},
	"app":                              {{"TEMPLATE", "use cdk synth, and pass the template that it writes"}},
	"confirm-changeset":                {{"yes", "leave it out: on a terminal, cfn asks unless --yes is passed"}},
	"deployment-config":                {{"express", "use --express for the mode EXPRESS, and --disable-rollback"}},
	"deployment-mode":                  {{"revert-drift", "use --revert-drift"}},
	"deployment-targets":               {{"accounts", "use --accounts A,B"}},
	"disable-validation":               {{"no-validation", "use --no-validation"}},
	"enable-termination-protection":    {{"protect", "use --protect"}},
	"force":                            {{"yes", "use --yes"}},
	"guided":                           {{"params-file", "use --stack-name, --parameter and --params-file: cfn does not ask for values"}},
	"no-confirm-changeset":             {{"yes", "use --yes"}},
	"no-enable-termination-protection": {{"protect", "use --protect=false"}},
	"no-execute":                       {{"plan", "use --plan"}},
	"no-execute-changeset":             {{"plan", "use --plan"}},
	"no-fail-on-empty-changeset":       {{"plan", "leave it out: without changes, cfn succeeds"}},
	"no-prompts":                       {{"yes", "use --yes"}},
	"no-rollback":                      {{"disable-rollback", "use --disable-rollback"}},
	"on-stack-failure":                 {{"on-failure", "use --on-failure"}},
	"operation-preferences":            {{"max-concurrent", "use --max-concurrent, --failure-tolerance and --parallel-regions"}},
	"orphan":                           {{"resources-to-skip", "use --resources-to-skip A,B"}},
	"parameter-overrides":              {{"parameter", "use --parameter KEY=VALUE, once for each parameter"}},
	"parameters":                       {{"parameter", "use --parameter KEY=VALUE, once for each parameter"}},
	"port":                             {{"address", "use --address 127.0.0.1:PORT"}},
	"require-approval":                 {{"yes", "use --yes to skip the confirmation"}},
	"resolve-s3":                       {{"s3-bucket", "use --s3-bucket NAME with an existing bucket"}},
	"resources-to-import":              {{"resource", "use --resource LOGICALID=IDENTIFIER, once for each resource"}},
	"retain-resources":                 {{"retain", "use --retain A,B"}},
	"stack-name":                       {{"STACK", "pass the stack without the option"}, {"name", "use --name NAME"}},
	"stack-policy-body":                {{"policy", "use --policy FILE"}},
	"stack-policy-url":                 {{"policy", "use --policy FILE"}},
	"stack-set-name":                   {{"STACKSET", "pass the stack set without the option"}, {"name", "use --name NAME"}},
	"tags":                             {{"tag", "use --tag KEY=VALUE, once for each tag"}},
	"template":                         {{"TEMPLATE", "pass the template without the option"}},
	"template-body":                    {{"TEMPLATE", "pass the template without the option, as a file"}},
	"template-file":                    {{"TEMPLATE", "pass the template without the option"}},
	"template-url":                     {{"TEMPLATE", "pass the template without the option, as a file"}},
	"termination-protection":           {{"protect", "use --protect"}},
}

// foreignHint is what to type instead of an option that users know from another tool, or "".
func (n *normalizer) foreignHint(name string) string {
	arguments := strings.Fields(n.command.Use)
	for _, foreign := range foreignOptions[name] {
		has := func(f *pflag.FlagSet) *pflag.Flag { return f.Lookup(foreign.instead) }
		if slices.Contains(arguments, foreign.instead) || n.lookup(has) != nil {
			return foreign.hint
		}
	}
	return ""
}
