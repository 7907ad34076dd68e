package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/words"
)

// exitBreaking is the exit code of diff where a change is breaking.
const exitBreaking = 3

func newDiff(c *app) *cobra.Command {
	var compatible bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Show what changed between two versions of a schema and what breaks",
		Long: `Show the changes between two versions of a schema. Each one is breaking, a warning or compatible, and
is listed with its effect on existing stacks: they fail, replace resources, or drift. For more on a
change, run "cfn explain ID".

OLD and NEW can each be
  a schema file            initech-tps-report.json
  the folder of a project  .
  a package                v1.zip, as "cfn package" makes it
  a folder of schemas      schemas/; types are matched by their names
  a file or folder in git  v1.2.0:initech-tps-report.json, HEAD~1:schemas; paths are relative
                           to the top of the repository, or to the working folder with "./"
  a revision in git        v1.2.0; the schema of the project in the working folder
An existing file or folder takes precedence over git. In git, references to neighboring files are not
followed. References to the network need --registry-schemas or --allow-remote, as in "cfn validate".
The target of a reference that is not followed is not compared.

The order matters: a schema does not record which version is older, so if OLD and NEW are swapped,
every addition is reported as a removal.

After "cfn test --upgrade-from OLD" in the folder of NEW, each change is listed with the tests that saw its
effect, and so is what these tests found that no change announces.

To accept a change, suppress it in the .formwork.json that applies to NEW, with a reason. It is then
listed as compatible:

  {"suppress": [{"id": "breaking/PR001", "pointer": "/properties/Size", "reason": "…"}]}

Exit code: 0, 3 with a breaking change, 1 if a schema cannot be read.`,
		Example: `  cfn diff HEAD .
  cfn diff v1.2.0 initech-tps-report.json
  cfn diff --format json published/ schemas/`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return fmt.Errorf("missing arguments: OLD and NEW")
			case 1:
				return fmt.Errorf("missing argument: NEW")
			case 2:
				return nil
			}
			return fmt.Errorf("unexpected argument: %s", strings.Join(args[2:], " "))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.diff(cmd.Context(), args[0], args[1], compatible)
		},
	}
	c.formatFlag(cmd, diag.Formats...)
	cmd.Flags().BoolVar(&compatible, "documentation", false, "show changed descriptions in the text format too")
	annotate(cmd.Flags(), addition, "documentation")
	c.referenceFlags(cmd)
	return cmd
}

func (c *app) diff(ctx context.Context, oldName, newName string, documentation bool) error {
	cfg, err := c.schemaConfig(ctx)
	if err != nil {
		return err
	}
	cfg.Remote = fetchOnce(cfg.Remote)
	old, err := c.versions(ctx, oldName, cfg)
	if err != nil {
		return err
	}
	new, err := c.versions(ctx, newName, cfg)
	if err != nil {
		return err
	}
	changes, problems, err := c.compare(old, new)
	if err != nil {
		return err
	}
	if err := problems.Err(); err != nil {
		return err
	}
	var proved *proof
	if !old.folder && !new.folder {
		if proved, err = c.readProof(new.dir, old.schemas[0], new.schemas[0]); err != nil {
			return err
		}
	}
	if err := c.printChanges(ctx, changes, documentation, proved); err != nil {
		return err
	}
	if slices.ContainsFunc(changes, func(ch lint.Change) bool { return ch.Severity == lint.Breaking }) {
		return &exitError{code: exitBreaking}
	}
	return nil
}

// compare pairs the schemas of two sides: a single one with a single one, else those of
// the same type.
func (c *app) compare(old, new side) ([]lint.Change, diag.List, error) {
	l := &linting{app: c}
	var out []lint.Change
	add := func(o, n *schema.Schema) error {
		s, err := l.settingsOf(new.dir)
		if err == nil {
			out = append(out, s.ApplyChanges(lint.Diff(o, n), n.TypeName.Value)...)
		}
		return err
	}
	if !old.folder && !new.folder {
		err := add(old.schemas[0], new.schemas[0])
		return out, l.finish(), err
	}
	before, after := old.byType(), new.byType()
	if !new.folder { // one schema against those of a folder: only its type is meant
		before = map[string]*schema.Schema{new.schemas[0].TypeName.Value: before[new.schemas[0].TypeName.Value]}
	}
	if !old.folder {
		after = map[string]*schema.Schema{old.schemas[0].TypeName.Value: after[old.schemas[0].TypeName.Value]}
	}
	names := map[string]bool{}
	for name, s := range before {
		names[name] = s != nil
	}
	for name, s := range after {
		names[name] = names[name] || s != nil
	}
	for _, name := range sortedNames(names) {
		o, n := before[name], after[name]
		switch {
		case o == nil:
			out = append(out, typeChange("compatible/type-added", fmt.Sprintf("the type %s is new", name), n))
		case n == nil:
			out = append(out, typeChange("breaking/type-removed", fmt.Sprintf("the type %s was removed", name), o))
		default:
			if err := add(o, n); err != nil {
				return nil, nil, err
			}
		}
	}
	slices.SortStableFunc(out, func(a, b lint.Change) int { return cmp.Compare(a.Severity, b.Severity) })
	return out, l.finish(), nil
}

func sortedNames(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// typeChange is a change of a folder: an added or removed type.
func typeChange(id, message string, s *schema.Schema) lint.Change {
	ch := lint.Change{ID: id, Message: message, At: s.TypeName.At}
	for _, rule := range lint.ChangeRules() {
		if rule.ID == id {
			ch.Severity, ch.Effect = rule.Severity, rule.Effect
		}
	}
	return ch
}

// jsonChange fixes the names and the order of the members that scripts read.
type jsonChange struct {
	ID       string   `json:"id"`
	Severity string   `json:"severity"`
	Pointer  string   `json:"pointer"`
	Message  string   `json:"message"`
	Effect   string   `json:"effect"`
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Also     []string `json:"also,omitempty"`
	Accepted string   `json:"accepted,omitempty"`

	Seen []upgradeFinding `json:"seen,omitempty"` // in the last upgrade test
}

func (c *app) printChanges(ctx context.Context, changes []lint.Change, documentation bool, proved *proof) error {
	switch c.format {
	case "text":
		return c.printChangesText(changes, documentation, proved)
	case "json":
		out := struct {
			Changes     []jsonChange `json:"changes"`
			UpgradeTest *proof       `json:"upgradeTest,omitempty"` // the last one between these schemas
		}{Changes: []jsonChange{}, UpgradeTest: proved}
		for _, ch := range changes {
			out.Changes = append(out.Changes, jsonChange{
				ID: ch.ID, Severity: ch.Severity.String(), Pointer: ch.Pointer, Message: ch.Message, Effect: ch.Effect,
				File: ch.At.File, Line: ch.At.Start.Line, Column: ch.At.Start.Column, Also: ch.Also, Accepted: ch.Accepted, Seen: proved.of(ch),
			})
		}
		e := json.NewEncoder(c.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	var problems diag.List
	for _, ch := range changes {
		problems.Add(ch.Problem())
	}
	return c.printer(func(file string) []byte {
		if text := c.source(file); text != nil {
			return text
		}
		return c.sourceInGit(ctx, file)
	}).Print(c.Stdout, problems, c.format)
}

// printChangesText writes one line for each change, one for its effect and those of the upgrade tests that saw it, and the sums.
func (c *app) printChangesText(changes []lint.Change, documentation bool, proved *proof) error {
	var b strings.Builder
	var counts [3]int
	left := 0
	for _, ch := range changes {
		counts[ch.Severity]++
		if ch.ID == "compatible/documentation" && !documentation {
			left++
			continue
		}
		if at := ch.At.String(); at != "" {
			b.WriteString(at + ": ")
		}
		fmt.Fprintf(&b, "%s: ", ch.Severity)
		if ch.Pointer != "" {
			b.WriteString(ch.Pointer + ": ")
		}
		fmt.Fprintf(&b, "%s [%s]\n", ch.Message, ch.ID)
		if len(ch.Also) > 0 {
			fmt.Fprintf(&b, "    also: %s\n", strings.Join(ch.Also, ", "))
		}
		if ch.Accepted != "" {
			fmt.Fprintf(&b, "    accepted: %s\n", ch.Accepted)
		} else if ch.Effect != "" {
			fmt.Fprintf(&b, "    %s\n", ch.Effect)
		}
		for _, f := range proved.of(ch) {
			fmt.Fprintf(&b, "    seen: %s: %s\n", f.Test, f.Message)
		}
	}
	switch {
	case len(changes) == 0:
		b.WriteString("No changes.\n")
	default:
		fmt.Fprintf(&b, "%d breaking, %s, %d compatible.\n", counts[lint.Breaking], words.Count(counts[lint.Risky], "warning"), counts[lint.Compatible])
	}
	if left > 0 {
		fmt.Fprintf(&b, "Of these, %d of descriptions and links only are not shown: --documentation shows them.\n", left)
	}
	b.WriteString(proved.text())
	c.printf("%s", b.String())
	return nil
}
