package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"charm.land/huh/v2"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A wizard asks for the missing options of init. Every answer is valid. An error means that
// there is no answer: the user canceled or the input ended.
type wizard interface {
	overwrite(ctx context.Context, p *project.Project) (bool, error)
	kind(ctx context.Context) (schema.Kind, error)
	typeName(ctx context.Context, kind schema.Kind) (string, error)
	language(ctx context.Context) (string, error)
	importPath(ctx context.Context, suggestion string) (string, error)
	namespace(ctx context.Context, suggestion string) (string, error)
}

// newWizard returns a form for a terminal that can show one, else plain questions.
func (c *app) newWizard() wizard {
	fancy := c.Terminal.Stdin && c.Terminal.Stdout && c.Getenv("TERM") != "dumb" && c.Getenv("ACCESSIBLE") == ""
	if fancy && c.format == "text" {
		return &form{in: c.Stdin, out: c.screen}
	}
	say := c.printf
	if c.format == "json" {
		say = c.notef
	}
	return &questions{in: bufio.NewScanner(c.Stdin), say: say, note: c.notef}
}

// errAborted is how init ends when the user gives up.
func errAborted() error { return &exitError{exitFailure, "\naborted"} }

// The official tool's words for a wrong answer.
const (
	kindError       = "Please enter a value matching resource(r) or a module(m) or a hook(h)"
	importPathError = "Please enter the path of a Go module, such as example.com/reports"
)

func typeNameError(kind schema.Kind) string {
	return fmt.Sprintf("Please enter a value matching '%s'", project.TypeNamePattern(kind))
}

// wrongAnswer is a complaint that a form shows under its field.
type wrongAnswer string

func (w wrongAnswer) Error() string { return string(w) }

// parseKind reads a kind as the official tool does: r, resource, resources and so on.
func parseKind(word string) (schema.Kind, bool) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "r", "resource", "resources":
		return schema.Resource, true
	case "m", "module", "modules":
		return schema.Module, true
	case "h", "hook", "hooks":
		return schema.Hook, true
	}
	return "", false
}

// importPath is the form of a Go module path, without the rules that only matter to
// module proxies.
var importPath = lazyregexp.New(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

func validImportPath(path string) bool {
	return importPath.MatchString(path) && !strings.Contains(path, "..") && len(path) <= 200
}

// A noAnswerError reports that the input ended before an answer.
type noAnswerError struct{}

func (*noAnswerError) Error() string { return "the input ended before all questions were answered" }

// questions asks as the official tool does: a question, ">> ", an answer on one line, and
// again after a wrong one.
type questions struct {
	in   *bufio.Scanner
	say  func(format string, args ...any)
	note func(format string, args ...any) // what is not a question
}

// ask repeats the question until the answer is accepted.
func (q *questions) ask(ctx context.Context, question, flag string, accept func(answer string) string) error {
	for {
		q.say("%s\n>> ", question)
		answer, err := q.read(ctx, flag)
		if err != nil {
			return err
		}
		complaint := accept(strings.TrimSpace(answer))
		if complaint == "" {
			return nil
		}
		q.say("%s\n", complaint)
	}
}

// read waits for a line or for the end of ctx.
func (q *questions) read(ctx context.Context, flag string) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		if q.in.Scan() {
			lines <- line{text: q.in.Text()}
			return
		}
		err := q.in.Err()
		if err == nil {
			err = io.EOF
		}
		lines <- line{err: err}
	}()
	select {
	case <-ctx.Done():
		return "", errAborted()
	case l := <-lines:
		if errors.Is(l.err, io.EOF) {
			q.say("\n")
			return "", withHint(&noAnswerError{}, "pass the option %s", flag)
		}
		if l.err != nil {
			return "", fmt.Errorf("read the answer: %w", l.err)
		}
		return l.text, nil
	}
}

func (q *questions) overwrite(ctx context.Context, p *project.Project) (yes bool, err error) {
	if lost := p.Authored(); len(lost) > 0 {
		q.note("If you answer y, these files are replaced: %s\n", strings.Join(lost, ", "))
	}
	err = q.ask(ctx, "Found existing settings - overwrite (y/N)?\n"+p.TypeName, "--force", func(answer string) string {
		answer = strings.ToLower(answer)
		yes = answer == "y" || answer == "yes"
		return ""
	})
	return yes, err
}

func (q *questions) kind(ctx context.Context) (kind schema.Kind, err error) {
	err = q.ask(ctx, "Do you want to develop a new resource(r) or a module(m) or a hook(h)?.", "--artifact-type KIND", func(answer string) string {
		var ok bool
		if kind, ok = parseKind(answer); !ok {
			return kindError
		}
		return ""
	})
	return kind, err
}

// typeNameQuestion is the official tool's question, in two lines.
func typeNameQuestion(kind schema.Kind) (question, form string) {
	switch kind {
	case schema.Module:
		return "What's the name of your module type?", "(<Organization>::<Service>::<Name>::MODULE)"
	case schema.Hook:
		return "What's the name of your hook type?", "(Organization::Service::Hook)"
	}
	return "What's the name of your resource type?", "(Organization::Service::Resource)"
}

func (q *questions) typeName(ctx context.Context, kind schema.Kind) (name string, err error) {
	question, form := typeNameQuestion(kind)
	err = q.ask(ctx, question+"\n"+form, "--type-name NAME", func(answer string) string {
		if name = answer; !project.ValidTypeName(kind, name) {
			return typeNameError(kind)
		}
		return ""
	})
	return name, err
}

// language has the numbers of the official tool with all of its plug-ins. A name is an answer, too.
func (q *questions) language(ctx context.Context) (language string, err error) {
	choices := project.Choices()
	var question strings.Builder
	question.WriteString("Select a language for code generation:\n")
	for i, choice := range choices {
		fmt.Fprintf(&question, "[%d] %s\n", i+1, choice)
	}
	question.WriteString("(enter an integer): ")
	err = q.ask(ctx, question.String(), "--language LANGUAGE", func(answer string) string {
		language = project.Newest(strings.ToLower(answer))
		if !slices.Contains(choices, language) {
			number, err := strconv.Atoi(answer)
			if err != nil {
				return "Please enter an integer"
			}
			if number < 1 || number > len(choices) {
				return "Please select a choice"
			}
			language = choices[number-1]
		}
		if err := project.Retired(language); err != nil {
			return fmt.Sprintf("Please select another choice: %v", err)
		}
		return ""
	})
	return language, err
}

func (q *questions) importPath(ctx context.Context, _ string) (path string, err error) {
	err = q.ask(ctx, "Enter the GO Import path", "--import-path PATH", func(answer string) string {
		if path = strings.ReplaceAll(answer, `\`, "/"); !validImportPath(path) {
			return importPathError
		}
		return ""
	})
	return path, err
}

// namespace has the words of the official plug-in for Java.
func (q *questions) namespace(ctx context.Context, suggestion string) (name string, err error) {
	err = q.ask(ctx, fmt.Sprintf("Enter a package name (empty for default '%s'): ", suggestion), "--namespace PACKAGE", func(answer string) string {
		if name = answer; name == "" {
			return ""
		}
		return codegen.JavaNamespaceFault(name)
	})
	return name, err
}

// form asks with fields that can be edited.
type form struct {
	in  io.Reader
	out io.Writer
}

func (f *form) run(ctx context.Context, field huh.Field) error {
	err := huh.NewForm(huh.NewGroup(field)).WithInput(f.in).WithOutput(f.out).RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) || ctx.Err() != nil {
		return errAborted()
	}
	if err != nil {
		return fmt.Errorf("show the form: %w", err)
	}
	return nil
}

func (f *form) overwrite(ctx context.Context, p *project.Project) (yes bool, err error) {
	description := "Overwrite all its files?"
	if lost := p.Authored(); len(lost) > 0 {
		description += "\nThis replaces your files " + strings.Join(lost, ", ")
	}
	err = f.run(ctx, huh.NewConfirm().
		Title("This folder already contains the project "+p.TypeName).
		Description(description).
		Affirmative("Overwrite").Negative("Keep it").Value(&yes))
	return yes, err
}

func (f *form) kind(ctx context.Context) (schema.Kind, error) {
	kind := schema.Resource
	err := f.run(ctx, huh.NewSelect[schema.Kind]().
		Title("What do you want to develop?").
		Options(
			huh.NewOption("a resource type", schema.Resource),
			huh.NewOption("a module", schema.Module),
			huh.NewOption("a hook", schema.Hook),
		).Value(&kind))
	return kind, err
}

func (f *form) typeName(ctx context.Context, kind schema.Kind) (name string, err error) {
	question, form := typeNameQuestion(kind)
	err = f.run(ctx, huh.NewInput().Title(question).Description(form).Value(&name).Validate(func(text string) error {
		if !project.ValidTypeName(kind, text) {
			return wrongAnswer(typeNameError(kind))
		}
		return nil
	}))
	return name, err
}

func (f *form) language(ctx context.Context) (string, error) {
	var choices []string
	for _, language := range []string{"go", "python", "typescript", "java"} {
		choices = append(choices, project.Newest(language))
	}
	for _, language := range slices.Backward(project.Languages()) {
		if !slices.Contains(choices, language) && project.Retired(language) == nil {
			choices = append(choices, language)
		}
	}
	language := "go"
	err := f.run(ctx, huh.NewSelect[string]().Title("Which language do you write the handlers in?").
		Options(huh.NewOptions(choices...)...).Value(&language))
	return language, err
}

func (f *form) namespace(ctx context.Context, suggestion string) (string, error) {
	name := suggestion
	err := f.run(ctx, huh.NewInput().Title("What's the Java package of the handlers?").Value(&name).Validate(func(text string) error {
		if fault := codegen.JavaNamespaceFault(text); fault != "" {
			return wrongAnswer(fault)
		}
		return nil
	}))
	return name, err
}

func (f *form) importPath(ctx context.Context, suggestion string) (string, error) {
	path := suggestion
	err := f.run(ctx, huh.NewInput().Title("What's the import path of the Go module?").Value(&path).Validate(func(text string) error {
		if !validImportPath(text) {
			return wrongAnswer(importPathError)
		}
		return nil
	}))
	return path, err
}
