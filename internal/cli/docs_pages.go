package cli

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork"
	"github.com/formwork-dev/formwork/internal/foundation/docsite"
)

// docSections is the navigation of the documentation. The pages of the commands are added to
// commandSection, documents that are not listed to the last section.
var docSections = []struct {
	name      string
	documents []string
}{
	{"Start", []string{"README.md", "docs/README.md", "docs/install.md", "docs/tour.md", "docs/tutorial-python.md", "docs/tutorial-typescript.md", "docs/tutorial.md", "docs/tutorial-api.md", "docs/cdk.md", "docs/languages.md", "docs/from.md", "docs/editors.md", "docs/ci.md"}},
	{"Extensions", []string{"docs/testing.md", "docs/upgrade-tests.md", "docs/drift.md", "docs/registering.md", "docs/hooks.md", "docs/modules.md", "docs/custom-resources.md", "docs/from-api.md", "docs/stub.md", "docs/smithy.md"}},
	{"Local CloudFormation", []string{"docs/serve.md", "docs/console.md", "docs/security.md", "docs/stacks.md", "docs/stack-sets.md", "docs/resources.md", "docs/templates.md", "docs/stack-tests.md", "docs/permissions.md", "docs/rehearsal.md", "docs/emulators.md", "docs/conformance.md"}},
	{"Reference", []string{"docs/rules.md", "docs/contract.md", "docs/compatibility.md", "docs/glossary.md", "docs/performance.md", "CHANGELOG.md"}},
	{commandSection, nil},
	{"Contributing", []string{"CONTRIBUTING.md", "docs/architecture.md", "docs/style.md"}},
}

const (
	commandSection   = "Commands"
	rulesDocument    = "docs/rules.md"
	contractDocument = "docs/contract.md"
	repository       = "https://github.com/formwork-dev/formwork/blob/main/"
)

// newDocSite is the documentation: the documents of the repository and a page for each command.
func newDocSite(root *cobra.Command, version string) (*docsite.Site, error) {
	documents, files, err := repositoryDocuments()
	if err != nil {
		return nil, err
	}
	var pages []docsite.Document
	commands := map[string]string{} // a command to the path of its page
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.HasParent() && cmd.Parent().Hidden {
			return
		}
		d := docsite.Document{Path: commandDocument(cmd), Section: commandSection, Label: cmd.CommandPath(), Text: []byte(commandMarkdown(cmd))}
		if !cmd.HasParent() {
			d.Label = "All commands"
		}
		commands[cmd.CommandPath()] = d.Path
		pages = append(pages, d)
	})
	at := slices.IndexFunc(documents, func(d docsite.Document) bool { return d.Section == "Contributing" })
	documents = slices.Insert(documents, at, pages...)
	rules := map[string]bool{}
	for _, e := range allExplanations() {
		rules[e.ID] = true
	}
	return docsite.New(documents, docsite.Config{
		Index: "README.md", Files: files, Source: repository, Version: version,
		Target: func(code string) string {
			if rules[code] {
				return rulesDocument + "#" + ruleAnchor(code)
			}
			return commands[commandIn(code, commands)]
		},
	})
}

// repositoryDocuments reads the documents and the images that the program has.
func repositoryDocuments() ([]docsite.Document, map[string][]byte, error) {
	var documents []docsite.Document
	files, texts := map[string][]byte{}, map[string][]byte{}
	texts[rulesDocument] = []byte(rulesDocumentText())
	names := []string{rulesDocument}
	err := fs.WalkDir(formwork.Documents, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := formwork.Documents.ReadFile(name)
		if path.Ext(name) == ".md" {
			texts[name] = data
			names = append(names, name)
		} else {
			files[name] = data
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	last := docSections[len(docSections)-1].name
	for _, section := range docSections {
		for _, name := range section.documents {
			if text := texts[name]; text != nil {
				documents = append(documents, docsite.Document{Path: name, Section: section.name, Text: text})
				names = slices.DeleteFunc(names, func(n string) bool { return n == name })
			}
		}
	}
	for _, name := range names {
		documents = append(documents, docsite.Document{Path: name, Section: last, Text: texts[name]})
	}
	return documents, files, nil
}

// ruleAnchor is the anchor of a rule in docs/rules.md, whose headings are the IDs.
func ruleAnchor(id string) string { return strings.ToLower(strings.ReplaceAll(id, "/", "")) }

// commandIn is the longest command that a line of code begins with: "cfn stack drift" for
// "cfn stack drift shop --diff".
func commandIn(code string, commands map[string]string) string {
	words := strings.Fields(code)
	if len(words) < 2 || words[0] != "cfn" {
		return ""
	}
	for n := min(len(words), 4); n > 1; n-- {
		if name := strings.Join(words[:n], " "); commands[name] != "" {
			return name
		}
	}
	return ""
}

func commandDocument(cmd *cobra.Command) string {
	return docsite.Generated + strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".md"
}

// commandMarkdown is the help of a command as a document.
func commandMarkdown(cmd *cobra.Command) string {
	var w strings.Builder
	fmt.Fprintf(&w, "# %s\n\n", cmd.CommandPath())
	fmt.Fprintf(&w, "```text\n%s\n```\n\n", usageLine(cmd))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	w.WriteString(helpMarkdown(text))
	if cmd.HasAvailableSubCommands() {
		w.WriteString("\n## Commands\n\n| command | purpose |\n|---|---|\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&w, "| [%s](%s) | %s |\n", sub.CommandPath(), path.Base(commandDocument(sub)), cell(sub.Short))
			}
		}
	}
	optionTable(&w, "Options", cmd.LocalFlags())
	optionTable(&w, "Global options", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&w, "\n## Examples\n\n```sh\n%s\n```\n", unindent(strings.Trim(cmd.Example, "\n")))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&w, "\nSee also [%s](%s).\n", cmd.Parent().CommandPath(), path.Base(commandDocument(cmd.Parent())))
	}
	return w.String()
}

func optionTable(w *strings.Builder, heading string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n| option | meaning |\n|---|---|\n", heading)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		value, usage := pflag.UnquoteUsage(flag)
		if value != "" && flag.NoOptDefVal == "" {
			name += " " + value
		}
		if d := flag.DefValue; d != "" && d != "false" && d != "0" && d != "[]" && d != "0s" {
			usage += fmt.Sprintf(" (default %s)", d)
		}
		fmt.Fprintf(w, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), cell(usage))
	})
}

// unindent removes the two spaces that examples of a help begin with.
func unindent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n  ", "\n"), "  ")
}

// plainMarkdown escapes what Markdown would take for markup in the texts of helps. A test compares
// the texts of the pages with them.
var plainMarkdown = strings.NewReplacer(`\`, `\\`, "*", `\*`, "`", "\\`", "<", `\<`, "|", `\|`)

func cell(text string) string {
	return plainMarkdown.Replace(strings.Join(strings.Fields(text), " "))
}

// helpMarkdown turns the text of a help into Markdown: indented lines are code, the lines of
// a list stay lines.
func helpMarkdown(text string) string {
	var w strings.Builder
	code := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !code:
			w.WriteString("\n```text\n")
		case !indented && code:
			w.WriteString("```\n")
			if line != "" {
				w.WriteString("\n")
			}
		}
		code = indented
		if indented {
			w.WriteString(strings.TrimPrefix(line, "  ") + "\n")
			continue
		}
		w.WriteString(plainMarkdown.Replace(line) + "\n")
	}
	if code {
		w.WriteString("```\n")
	}
	return strings.ReplaceAll(w.String(), "\n\n\n", "\n\n")
}
