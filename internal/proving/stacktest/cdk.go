package stacktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
)

// maxManifest bounds the manifest of a cloud assembly, in bytes.
const maxManifest = 16 << 20

// synthesized runs a CDK app and returns the template of one of its stacks.
func synthesized(ctx context.Context, config *Config, dir, stack string) ([]byte, error) {
	if config.Synthesize == nil {
		return nil, errors.New("CDK apps are not run here")
	}
	out, err := os.MkdirTemp("", "formwork-cdk-")
	if err != nil {
		return nil, err
	}
	defer files.RemoveTemp(out) //nolint:errcheck // a temporary folder
	if err := config.Synthesize(ctx, dir, out); err != nil {
		return nil, err
	}
	file, err := templateOf(out, stack)
	if err != nil {
		return nil, err
	}
	return document.ReadFile(file, template.MaxBytes)
}

// templateOf is the file with the template of a stack in the output of an app.
func templateOf(out, stack string) (string, error) {
	data, err := document.ReadFile(filepath.Join(out, "manifest.json"), maxManifest)
	if err != nil {
		return "", fmt.Errorf("read the output of the CDK app: %w", err)
	}
	var manifest struct {
		Missing []struct {
			Key string `json:"key"`
		} `json:"missing"`
		Artifacts map[string]struct {
			Type       string `json:"type"`
			Properties struct {
				TemplateFile string `json:"templateFile"`
				StackName    string `json:"stackName"`
			} `json:"properties"`
		} `json:"artifacts"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		return "", fmt.Errorf("read the output of the CDK app: %w", err)
	}
	if len(manifest.Missing) > 0 {
		return "", fmt.Errorf("the app looks up %s in an account; a test must not: put the value into cdk.context.json", manifest.Missing[0].Key)
	}
	found := map[string]string{}
	for name, a := range manifest.Artifacts {
		if a.Type == "aws:cloudformation:stack" {
			found[name] = a.Properties.TemplateFile
			if a.Properties.StackName != "" && a.Properties.StackName == stack {
				return inside(out, a.Properties.TemplateFile)
			}
		}
	}
	names := sortedKeys(found)
	switch {
	case stack == "" && len(names) == 1:
		stack = names[0]
	case stack == "":
		return "", fmt.Errorf("the app has %d stacks: name one with \"stack\": %s", len(names), strings.Join(names, ", "))
	case !slices.Contains(names, stack):
		return "", fmt.Errorf("the app has no stack %s, but %s", stack, strings.Join(names, ", "))
	}
	return inside(out, found[stack])
}

// inside is a file of a folder; the name comes from the app.
func inside(dir, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("the app names a template outside of its output: %s", name)
	}
	return filepath.Join(dir, name), nil
}

// bootstrapVersion is the version of the bootstrap stack of the CDK that tests find. Templates of the CDK refuse accounts
// with one that is too old.
const bootstrapVersion = "30"

// bootstrap are the names of the parameters with the version of the bootstrap stack that the apps of a suite read: a test
// runs in an account that is ready for the CDK, unless the file gives the parameter itself.
func (p *prepared) bootstrap() (names []string) {
	for _, t := range p.templates {
		if t.CDK == "" {
			continue
		}
		for _, of := range t.template.Parameters {
			if of.IsStored() && of.Default != nil && strings.HasPrefix(*of.Default, "/cdk-bootstrap/") && !slices.Contains(names, *of.Default) && !p.gives(*of.Default) {
				names = append(names, *of.Default)
			}
		}
	}
	return names
}

// gives reports whether the file gives a parameter.
func (p *prepared) gives(name string) bool {
	return slices.ContainsFunc(p.suite.Given, func(m document.Member) bool { return m.Key == "ssm" && m.Value.Get(name) != nil })
}
