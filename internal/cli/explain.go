package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/api"
	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/lsp"
	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/smithy"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/proving/stacktest"
	"github.com/formwork-dev/formwork/internal/running/bundle"
	"github.com/formwork-dev/formwork/internal/running/drift"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

//go:generate go test -count=1 -run ^TestRulesDocument$ -update .

func newExplain(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [ID…]",
		Short: "Explain what a rule means and why it exists, with an example",
		Long: `Explain what a rule means and why it exists, with an example. It knows every ID that cfn validate and
cfn diff report, and the IDs that other commands report for files. Without an ID it lists all rules
with their severity.

The part of an ID before the slash can be left out: PR001 explains both lint/PR001, about one schema,
and breaking/PR001, about a change between two versions.

Exit code: 0, or 1 if the rule does not exist.`,
		Example: `  cfn explain lint/PR006
  cfn explain ML002
  cfn explain --format json > rules.json`,
		Annotations: map[string]string{"log": "none"},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return allExplanations().ids(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, ids []string) error { return c.explain(ids) },
	}
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// An explanation is one rule as users read it.
type explanation struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Purpose  string `json:"purpose"`
	Why      string `json:"why"`
	Effect   string `json:"effect,omitempty"`   // of a change, on existing stacks
	Example  string `json:"example"`            // lines "wrong: …" and "right: …", or "old: …" and "new: …"
	Upstream string `json:"upstream,omitempty"` // the check of another tool that it matches
	SameAs   string `json:"sameAs,omitempty"`   // the rule that reports the same fault
}

type explanations []explanation

func (all explanations) ids() []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.ID
	}
	return out
}

// allExplanations gathers the tables, in the order of the documentation.
func allExplanations() explanations {
	var out explanations
	add := func(tables ...[]diag.Rule) {
		for _, r := range slices.Concat(tables...) {
			out = append(out, explanation{ID: r.ID, Severity: r.Severity.String(), Purpose: r.Purpose, Why: r.Why, Example: r.Example})
		}
	}
	add(document.Rules(), project.Rules(), module.Rules(), template.Rules(), typecheck.Rules(), bundle.Rules())
	for _, r := range schema.Rules() {
		out = append(out, explanation{ID: r.ID, Severity: r.Severity.String(), Purpose: r.Purpose, Why: r.Why, Example: r.Example, Upstream: r.Upstream})
	}
	for _, r := range lint.Rules() {
		out = append(out, explanation{
			ID: r.ID, Severity: r.Severity.String(), Purpose: r.Purpose, Why: r.Why,
			Example: pair("wrong", r.Bad, "right", r.Good), Upstream: r.Upstream, SameAs: r.Twin,
		})
	}
	for _, r := range lint.ChangeRules() {
		out = append(out, explanation{
			ID: r.ID, Severity: r.Severity.String(), Purpose: r.Purpose, Why: r.Why, Effect: r.Effect,
			Example: pair("old", r.Old, "new", r.New), Upstream: r.Upstream,
		})
	}
	add(contract.Rules(), stacktest.Rules(), lsp.Rules(), invoke.Rules(), drift.Rules(), api.Rules(), smithy.Rules())
	first := map[string]int{} // of each namespace, whose rules stay together
	for i, e := range out {
		space, _, _ := strings.Cut(e.ID, "/")
		if _, known := first[space]; !known {
			first[space] = i
		}
	}
	slices.SortStableFunc(out, func(a, b explanation) int {
		one, _, _ := strings.Cut(a.ID, "/")
		other, _, _ := strings.Cut(b.ID, "/")
		return first[one] - first[other]
	})
	return out
}

// printer knows the rules. The source is where it finds the texts of files.
func (c *app) printer(source func(file string) []byte) diag.Printer {
	all := map[string]string{}
	if c.format == "sarif" {
		for _, e := range allExplanations() {
			all[e.ID] = e.Purpose
		}
	}
	return diag.Printer{Source: source, Describe: func(id string) string { return all[id] }}
}

// source is the text of a file as problems name it, nil if it cannot be had.
func (c *app) source(file string) []byte {
	data, err := readSchemaFile(c.path(file))
	if err != nil {
		return nil
	}
	return data
}

// pair is two examples, one below the other.
func pair(firstName, first, secondName, second string) string {
	if first == "" && second == "" {
		return ""
	}
	return firstName + ": " + first + "\n" + secondName + ": " + second
}

func (c *app) explain(ids []string) error {
	all := allExplanations()
	chosen := all
	if len(ids) > 0 {
		chosen = nil
		for _, id := range ids {
			found := all.find(id)
			if len(found) == 0 {
				return withHint(fmt.Errorf("unknown rule %q", id), "%s", all.near(id))
			}
			chosen = append(chosen, found...)
		}
	}
	if c.format == "json" {
		e := json.NewEncoder(c.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Rules explanations `json:"rules"`
		}{chosen})
	}
	if len(ids) == 0 {
		c.listRules(all)
		return nil
	}
	for i, e := range chosen {
		if i > 0 {
			c.printf("\n")
		}
		c.printf("%s", e.text())
	}
	return nil
}

// find returns the rules that an ID names: with its namespace one, without it several.
func (all explanations) find(id string) explanations {
	var out explanations
	for _, e := range all {
		_, name, _ := strings.Cut(e.ID, "/")
		if strings.EqualFold(e.ID, id) || strings.EqualFold(name, id) {
			out = append(out, e)
		}
	}
	return out
}

// near lists the rules that an ID may have meant.
func (all explanations) near(id string) string {
	known := []string{}
	for _, e := range all {
		known = append(known, strings.ToLower(e.ID))
		if _, name, _ := strings.Cut(e.ID, "/"); !strings.Contains(id, "/") {
			known = append(known, strings.ToLower(name))
		}
	}
	if near := words.Nearest(id, known); near != "" {
		var ids []string
		for _, e := range all.find(near) {
			ids = append(ids, e.ID)
		}
		return "did you mean " + strings.Join(ids, " or ") + "?"
	}
	return "run cfn explain to list the rules"
}

func (c *app) listRules(all explanations) {
	width := 0
	for _, e := range all {
		width = max(width, len(e.ID))
	}
	namespace := ""
	for _, e := range all {
		if space, _, _ := strings.Cut(e.ID, "/"); space != namespace {
			if namespace != "" {
				c.printf("\n")
			}
			namespace = space
		}
		c.printf("%-*s  %-10s  %s\n", width, e.ID, e.Severity, e.Purpose)
	}
}

// text is the explanation for a terminal.
func (e explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s\n", e.ID, e.Severity, fold(e.Purpose))
	fmt.Fprintf(&b, "\nWhy: %s\n", fold(e.Why))
	if e.Effect != "" {
		fmt.Fprintf(&b, "\nEffect on existing stacks: %s\n", fold(e.Effect))
	}
	if e.Example != "" {
		fmt.Fprintf(&b, "\n  %s\n", strings.ReplaceAll(e.Example, "\n", "\n  "))
	}
	if e.Upstream != "" {
		fmt.Fprintf(&b, "\nMatches %s.\n", e.Upstream)
	}
	if e.SameAs != "" {
		fmt.Fprintf(&b, "\nThe same fault is reported as %s, in every run of cfn validate.\n", e.SameAs)
	}
	if strings.HasPrefix(e.ID, "lint/") || strings.HasPrefix(e.ID, "breaking/") || e.Severity == diag.Warning.String() && strings.HasPrefix(e.ID, "schema/") {
		fmt.Fprintf(&b, "\n%s sets its severity: {\"rules\": {%q: \"off\"}}\n", lint.SettingsFile, e.ID)
	}
	return b.String()
}

// fold breaks a text into lines of about 90 characters.
func fold(text string) string {
	const width = 90
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
