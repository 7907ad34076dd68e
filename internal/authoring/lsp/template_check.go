package lsp

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/authoring/typecheck"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// fromOptions are the remarks that options of cfn template check answer, which an editor does not have.
var fromOptions = []string{"template/parameter-missing", "template/parameter-ssm-value"}

// checkTemplate finds the problems of a template, as cfn template check does. A check ends when the document changes.
func (s *server) checkTemplate(d *snapshot) diag.List {
	in := template.InspectInput{Pseudo: s.pseudo()}
	if modules := s.workspace.moduleExpander(d.file); modules != nil {
		in.Modules = modules
	}
	found, err := template.Examine(d.ctx, d.name(), []byte(d.text()), in)
	if err != nil {
		return s.unchecked(d, err)
	}
	problems := found.Problems
	if found.Template != nil {
		more, err := typecheck.Check(d.ctx, found.Template, typecheck.Input{Parameters: found.Parameters, Pseudo: in.Pseudo, Source: s.workspace.source()})
		if err != nil {
			problems = append(problems, s.unchecked(d, err)...)
		}
		problems = append(problems, more...)
	}
	problems = slices.DeleteFunc(problems, func(p diag.Problem) bool { return p.Severity == diag.Info && slices.Contains(fromOptions, p.ID) })
	problems.Sort()
	return problems
}

// unchecked reports why a template is not checked, unless the document has changed.
func (s *server) unchecked(d *snapshot, err error) diag.List {
	if d.ctx.Err() != nil {
		return nil
	}
	s.cfg.Logger.Warn("Template not checked", "uri", d.uri, "error", err)
	return diag.List{{ID: "template/unchecked", Severity: diag.Info, Message: "the template is not checked further: " + err.Error()}}
}

// pseudo are the values of the pseudo parameters, as in cfn template check.
func (s *server) pseudo() template.Pseudo {
	return template.Pseudo{
		AccountID: "123456789012", Region: s.cfg.Region, StackName: "stack",
		StackID: "arn:aws:cloudformation:" + s.cfg.Region + ":123456789012:stack/stack/00000000-0000-0000-0000-000000000000",
	}
}
