package cli

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/formwork-dev/formwork/internal/authoring/lsp"
	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// An editorTemplates is what the templates in the folders of an editor refer to.
type editorTemplates struct {
	app     *app
	options *checkOptions
	source  *schemaSource
}

// templatesForEditor opens the types and modules of templates. Without the registry, if it cannot be opened.
func (c *app) templatesForEditor(o *checkOptions) func(context.Context, []string) (*lsp.Templates, error) {
	absolute := *c
	absolute.absolute = true // the editor opens the files that problems and declarations are in
	return func(ctx context.Context, folders []string) (*lsp.Templates, error) {
		e := &editorTemplates{app: &absolute, options: o}
		var err error
		if e.source, err = absolute.openSchemas(ctx, o); err != nil && o.registry {
			c.notef("warning: the registry is not used: %v\n", err)
			local := *o
			local.registry = false
			e.source, err = absolute.openSchemas(ctx, &local)
		}
		if err != nil {
			return nil, err
		}
		if len(folders) > 0 {
			e.source.roots = folders
		}
		return &lsp.Templates{
			Types: e.source.source(), Modules: e.modules, Fragments: e.fragments, Compare: e.compare, Close: e.source.close,
		}, nil
	}
}

func (e *editorTemplates) modules(file string) template.Modules {
	return &foundModules{e.app, file, e.options.modules, e.source}
}

// fragments are the modules that a template can use.
func (e *editorTemplates) fragments(ctx context.Context, file string) map[string]*module.Fragment {
	found, err := e.app.findModules(ctx, file, e.options.modules)
	if err != nil {
		e.app.logger.Warn("Modules not read", "template", file, "error", err)
		return nil
	}
	others, err := e.source.fragments(ctx)
	if err != nil {
		e.app.logger.Warn("Modules not read", "template", file, "error", err)
	}
	out := maps.Clone(others)
	if out == nil {
		out = map[string]*module.Fragment{}
	}
	for name := range found.found {
		if chosen, err := found.choose(name); err == nil && chosen != nil {
			out[name] = chosen.fragment
		}
	}
	return out
}

// compareTime bounds the requests to cfn serve for one comparison.
const compareTime = 2 * time.Second

// compare reports what an update of a stack with a template would replace, if cfn serve runs and has it. Without a name, it
// is the stack that is named after the file.
func (e *editorTemplates) compare(ctx context.Context, file, stack string, text []byte) (diag.List, error) {
	ctx, cancel := context.WithTimeout(ctx, compareTime)
	defer cancel()
	o := *e.options
	o.against = cmp.Or(stack, stackOf(file))
	o.remote.endpoint = cmp.Or(o.remote.endpoint, e.app.Getenv("AWS_ENDPOINT_URL_CLOUDFORMATION"), e.app.Getenv("AWS_ENDPOINT_URL"), "http://"+defaultServeAddress)
	r, err := e.app.openRemote(ctx, &o.remote)
	if err != nil || !r.Local || o.against == "" {
		return nil, nil //nolint:nilerr // nothing is running
	}
	if stack, err := r.Stack(ctx, o.against); err != nil || stack == nil || aws.ToString(stack.StackId) == "" {
		return nil, err
	}
	deployed, err := e.app.openAgainst(ctx, &o)
	if err != nil {
		return nil, err
	}
	given := deployed.supplied(file, text, nil)
	found, err := template.Examine(ctx, file, text, template.InspectInput{Supplied: given, Pseudo: deployed.pseudo, Modules: e.modules(file)})
	if err != nil || found.Template == nil || found.Problems.HasErrors() {
		return nil, err
	}
	return deployed.compare(file, found, nil, e.source)
}

// stackOf is the name of the stack that a template is compared with: that of the file without its extensions, or of
// the folder if the file is named template.
func stackOf(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	if strings.EqualFold(name, "template") {
		name = filepath.Base(filepath.Dir(file))
	}
	if !stackNamePattern.MatchString(name) {
		return ""
	}
	return name
}
