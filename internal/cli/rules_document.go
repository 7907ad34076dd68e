package cli

import (
	"fmt"
	"strings"
)

// rulesDocumentText is docs/rules.md, made from the tables that the rules are checked by. The program makes it when it is
// read: embedded, it would be there twice.
func rulesDocumentText() string {
	var b strings.Builder
	b.WriteString(`<!-- Made from the tables of the rules by "go generate ./internal/cli". DO NOT EDIT. -->

# Rules

This page lists all rules: the problems that ` + "`cfn validate`" + ` reports, the changes that ` + "`cfn diff`" + ` reports, and the
errors in files that other commands report. ` + "`cfn explain ID`" + ` prints an entry. IDs are stable: the ID of a removed rule is
never reused.

| namespace | subject | reported by |
|---|---|---|
| ` + "`document/…`" + ` | files that cannot be read | every command that reads files |
| ` + "`project/…`" + ` | the settings of a project and the files around them | every command that works on a project |
| ` + "`module/…`" + ` | rules of the registry for the template fragment of a module | ` + "`cfn validate`" + ` and ` + "`cfn package`" + ` |
| ` + "`template/…`" + ` | errors that CloudFormation reports for a template, with its messages | ` + "`cfn template check`" + ` and ` + "`cfn serve`" + ` |
| ` + "`resource/…`" + ` | the resources of a template against the schemas of their types | ` + "`cfn template check`" + ` |
| ` + "`package/…`" + ` | rules of the registry for a package as a whole | ` + "`cfn submit`" + ` and ` + "`cfn serve`" + ` |
| ` + "`schema/…`" + ` | rules of the registry and the official tool for a schema | ` + "`cfn validate`" + `, and every command that needs a valid schema |
| ` + "`lint/…`" + ` | additional checks of a schema; upper-case names are those of AWS's resource-schema-guard-rail | ` + "`cfn validate`" + ` |
| ` + "`breaking/…`" + ` | changes between two versions that can break users; upper-case names as above | ` + "`cfn diff`" + ` |
| ` + "`compatible/…`" + ` | compatible changes | ` + "`cfn diff`" + ` |
| ` + "`inputs/…`" + `, ` + "`overrides/…`" + `, ` + "`invoke/…`" + `, ` + "`contract/…`" + ` | the input files of tests, and the files that a run writes | ` + "`cfn test`" + `, ` + "`cfn invoke`" + ` and editors |
| ` + "`drift/…`" + ` | models and transforms in a comparison | ` + "`cfn drift compare`" + ` |
| ` + "`api/…`" + ` | descriptions of APIs, and the settings in api.yaml | ` + "`cfn init --from-openapi`" + `, ` + "`cfn init --from-smithy`" + ` |
| ` + "`smithy/…`" + ` | the conversion of models; problems found by validators have the Smithy ID after the slash | ` + "`cfn smithy`" + ` |

If there are errors, ` + "`cfn validate`" + ` fails; if there are breaking changes, ` + "`cfn diff`" + ` exits with 3. To change severities
and suppress findings, add the file ` + "`.formwork.json`" + ` to the folder of the schema or to a parent folder in the repository:

` + "```json" + `
{
  "rules": {"lint/TAG*": "off", "lint/PR006": "error", "breaking/PAT003": "error"},
  "suppress": [
    {"id": "lint/ARN002", "pointer": "/properties/*", "type": "Initech::TPS::*", "reason": "the service takes names, too"}
  ]
}
` + "```" + `

Severities are off, info, warning and error; for changes, info, warning and error mean compatible, warning and breaking. A
` + "`*`" + ` at the end of an ID or a type matches any ending; in a pointer it matches one token. A pointer includes everything below
it. Each suppression needs a reason. Errors of ` + "`document/…`" + ` and ` + "`schema/…`" + ` cannot be lowered or suppressed.
`)
	namespace := ""
	for _, e := range allExplanations() {
		if space, _, _ := strings.Cut(e.ID, "/"); space != namespace {
			namespace = space
			fmt.Fprintf(&b, "\n## %s/…\n", namespace)
		}
		fmt.Fprintf(&b, "\n### %s\n\n**%s.** %s\n%s\n", e.ID, e.Severity, e.Purpose, e.Why)
		if e.Effect != "" {
			fmt.Fprintf(&b, "\nEffect on existing stacks: %s.\n", e.Effect)
		}
		if e.Example != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", e.Example)
		}
		if e.Upstream != "" {
			fmt.Fprintf(&b, "\nMatches %s.", e.Upstream)
			if e.SameAs == "" {
				b.WriteString("\n")
			}
		}
		if e.SameAs != "" {
			fmt.Fprintf(&b, " The same fault is `%s`, which needs no `--lint`.\n", e.SameAs)
		}
	}
	return b.String()
}
