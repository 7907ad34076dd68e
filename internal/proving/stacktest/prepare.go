package stacktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// A prepared suite has what its cases share: templates, schemas and packages are read and built once.
type prepared struct {
	suite      *Suite
	templates  []*loaded
	schemas    []submit.TypeSchema       // of simulated types
	known      map[string]*schema.Schema // by type
	extensions []*submit.Request
	constructs constructs
	rules      map[string][]byte // of hooks, by file
}

// A loaded template.
type loaded struct {
	source
	root     *document.Value
	template *template.Template
}

// path is a path of the file, from the folder of the file.
func (p *prepared) path(name string) string {
	if filepath.IsAbs(name) || strings.Contains(name, "://") {
		return name
	}
	return filepath.Join(p.suite.Dir, name)
}

// prepare reads and builds what a file names. The problems are those of the file and of its templates.
func prepare(ctx context.Context, config *Config, s *Suite) (*prepared, diag.List, error) {
	p := &prepared{suite: s, known: map[string]*schema.Schema{}, rules: map[string][]byte{}}
	r := &reader{}
	for _, of := range s.Templates {
		if err := p.load(ctx, config, r, of); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range s.Cases {
		for _, step := range c.Steps {
			named := []source{{Name: step.Template, At: step.At}}
			for _, m := range step.Moves {
				named = append(named, source{Name: m.Template, At: m.At})
			}
			for _, of := range named {
				if of.File = of.Name; of.Name != "" && p.find(of.Name) == nil {
					if err := p.load(ctx, config, r, of); err != nil {
						return nil, nil, err
					}
				}
			}
		}
	}
	if r.problems.HasErrors() {
		return nil, r.problems, nil
	}
	if err := p.loadTypes(config); err != nil {
		return nil, nil, err
	}
	for _, rule := range s.Types {
		if rule.Project == "" && rule.Package == "" {
			continue
		}
		if err := p.build(ctx, config, r, rule.Pattern, rule.At, rule.Project, rule.Package); err != nil {
			return nil, nil, err
		}
	}
	p.constructs = constructsOf(p.templates)
	for _, h := range s.Hooks {
		if h.Project == "" {
			if err := p.loadRules(r, h); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err := p.build(ctx, config, r, h.Type, h.At, h.Project, ""); err != nil {
			return nil, nil, err
		}
	}
	return p, r.problems, nil
}

// A placed error is about one place of a file.
type placed struct {
	at  diag.Range
	err error
}

func (p *placed) Error() string { return fmt.Sprintf("%s: %v", p.at, p.err) }
func (p *placed) Unwrap() error { return p.err }

func placedf(at diag.Range, format string, args ...any) error {
	return &placed{at, fmt.Errorf(format, args...)}
}

// problemOf is an error as a problem: at its place, or in the file.
func problemOf(err error, otherwise diag.Range) diag.Problem {
	p := diag.Problem{ID: "stacktest/setup", At: otherwise, Message: err.Error()}
	if of := (*placed)(nil); errors.As(err, &of) {
		p.At, p.Message = of.at, of.err.Error()
	}
	return p
}

// maxRules bounds the rules of a hook, in bytes.
const maxRules = 1 << 20

// loadRules reads the rules of a hook.
func (p *prepared) loadRules(r *reader, h hookRule) error {
	if h.Guard == "" {
		return nil
	}
	data, err := document.ReadFile(p.path(h.Guard), maxRules)
	if errors.Is(err, fs.ErrNotExist) {
		r.add("file", h.At, "paths are relative to the folder of "+p.suite.File, "there is no file %s", h.Guard)
		return nil
	}
	p.rules[h.Guard] = data
	return err
}

// build packages a project, or reads a package.
func (p *prepared) build(ctx context.Context, config *Config, r *reader, typeName string, at diag.Range, project, archive string) error {
	if project != "" {
		project = p.path(project)
	} else {
		archive = p.path(archive)
	}
	request, err := config.Extension(ctx, project, archive)
	if err != nil {
		return &placed{at, err}
	}
	if request.TypeName != typeName {
		r.add("value", at, "write "+request.TypeName, "the type there is %s, not %s", request.TypeName, typeName)
		return nil
	}
	p.extensions = append(p.extensions, request)
	return nil
}

// load reads a template.
func (p *prepared) load(ctx context.Context, config *Config, r *reader, of source) error {
	shown := config.Shown(p.path(of.File))
	var body []byte
	var err error
	if of.CDK != "" {
		shown = config.Shown(p.path(of.CDK)) + ": template of the app"
		body, err = synthesized(ctx, config, p.path(of.CDK), of.Stack)
	} else {
		body, err = document.ReadFile(p.path(of.File), template.MaxBytes)
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.add("file", of.At, "paths are relative to the folder of "+p.suite.File, "there is no file %s", cmp.Or(of.File, of.CDK))
		return nil
	}
	if err != nil {
		return &placed{of.At, err}
	}
	root, problems := template.ReadDocument(shown, body)
	if problems.HasErrors() {
		r.problems.Add(problems...)
		return nil
	}
	t, err := template.Parse(shown, body, template.ParseOptions{})
	if t == nil {
		r.problems.Add(template.Refused(err).Problems()...)
		return nil
	}
	p.templates = append(p.templates, &loaded{of, root, t})
	return nil
}

// find returns the template with a name, or file name; "" is the first one.
func (p *prepared) find(name string) *loaded {
	for _, t := range p.templates {
		if name == "" || t.Name == name || t.File == name {
			return t
		}
	}
	return nil
}

// stackName is the stack of a step: the one that it names, or one that is named after its template.
func (p *prepared) stackName(step *Step) string {
	if step.Stack != "" {
		return step.Stack
	}
	t := p.templates[0]
	if t.Name != "" {
		return t.Name
	}
	if t.CDK != "" {
		return cmp.Or(t.Stack, "app")
	}
	name := strings.Map(func(r rune) rune {
		if r < 128 && (r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '-'
	}, strings.TrimSuffix(filepath.Base(t.File), filepath.Ext(t.File)))
	return "t-" + strings.Trim(name, "-")
}

// serverless are the types that the transform for serverless applications writes, whose names are not in the template.
var serverless = []string{
	"AWS::ApiGateway::Deployment", "AWS::ApiGateway::RestApi", "AWS::ApiGateway::Stage", "AWS::ApiGatewayV2::Api", "AWS::ApiGatewayV2::Stage",
	"AWS::DynamoDB::Table", "AWS::Events::Rule", "AWS::IAM::Role", "AWS::Lambda::EventSourceMapping", "AWS::Lambda::Function",
	"AWS::Lambda::LayerVersion", "AWS::Lambda::Permission", "AWS::Lambda::Url", "AWS::Lambda::Version", "AWS::Lambda::Alias", "AWS::StepFunctions::StateMachine",
	"AWS::SNS::Subscription", "AWS::SQS::Queue", "AWS::SQS::QueuePolicy",
}

// loadTypes finds the schemas of the types in the templates.
func (p *prepared) loadTypes(config *Config) error {
	var names []string
	for _, t := range p.templates {
		for _, r := range t.template.Resources {
			names = append(names, r.Type)
		}
		if slices.Contains(t.template.UsedTransforms(), template.Serverless) {
			names = append(names, serverless...)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		text, err := config.Schema(name)
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		if parsed, _ := schema.Load(name, []byte(text), schema.Config{Kind: schema.Resource}); parsed != nil {
			p.known[name] = parsed
		}
		if strings.HasPrefix(name, "AWS::") {
			p.schemas = append(p.schemas, submit.TypeSchema{Name: name, Schema: text})
		}
	}
	return nil
}

// variant is the value of each parameter of one run of a case.
type variant []document.Member

func (v variant) String() string {
	var parts []string
	for _, m := range v {
		text, _ := scalar(m.Value)
		parts = append(parts, m.Key+"="+text)
	}
	return strings.Join(parts, ", ")
}
