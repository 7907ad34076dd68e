package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/module"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/bundle"
)

// An oldVersion is what an upgrade starts from.
type oldVersion struct {
	name     string // as the user gave it
	typeName string
	schema   *schema.Schema   // nil for a module
	fragment *module.Fragment // of a module
	tree     *checkout        // of a revision in git
	request  *submit.Request  // nil if no handlers run
	files    fs.FS            // with inputs/ and overrides.json; nil for none
	close    func()
}

// registryVersion matches the number of a version in the registry, and the ARN of a version.
var registryVersion = lazyregexp.New(`^([0-9]{8}|arn:[^ ]+/[0-9]{8})$`)

// oldVersion finds the version of --upgrade-from: an existing file, else a version in the registry, else a revision in git.
func (c *app) oldVersion(ctx context.Context, opts *testOptions, p *project.Project) (*oldVersion, error) {
	name := opts.upgradeFrom
	if name == "" || name[0] == '-' {
		return nil, usagef("option --upgrade-from: expected a package, a revision in git or the number of a version")
	}
	old := &oldVersion{name: name, close: func() {}}
	switch info, err := os.Stat(c.path(name)); {
	case err == nil && info.IsDir():
		return nil, withHint(fmt.Errorf("%s is a folder", name), "pass a package, as cfn package makes it: (cd %s && cfn package)", shellQuote(name))
	case err == nil && isDocument(name) && p.Kind == schema.Module:
		return nil, withHint(fmt.Errorf("%s is not a package", name), "pass a package of the old version of the module, as cfn package makes it, or a revision in git")
	case err == nil && isDocument(name):
		return old, c.oldSchema(ctx, opts, old)
	case err == nil:
		b, data, err := c.readPackage(ctx, name)
		if err != nil {
			return nil, err
		}
		old.packaged(b, data)
		return old, nil
	case registryVersion.MatchString(name):
		return old, c.registeredVersion(ctx, opts, p, old)
	}
	return old, c.revisionOf(ctx, opts, old)
}

// oldSchema reads a schema file, which has no handlers.
func (c *app) oldSchema(ctx context.Context, opts *testOptions, old *oldVersion) error {
	if !opts.simulated {
		return withHint(fmt.Errorf("%s is a schema, without handlers", old.name), "pass --simulated to run no handlers, or a package, a revision in git or the number of a version")
	}
	if err := c.loadOld(ctx, old, c.path(old.name), old.name); err != nil {
		return err
	}
	old.typeName = old.schema.TypeName.Value
	return nil
}

// loadOld loads the schema of an old version from a file, which messages call name.
func (c *app) loadOld(ctx context.Context, old *oldVersion, path, name string) error {
	cfg, err := c.schemaConfig(ctx)
	if err != nil {
		return err
	}
	data, err := readSchemaFile(path)
	if err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	old.schema, err = loadVersion(name, data, cfg)
	return err
}

// packaged takes everything from a package.
func (old *oldVersion) packaged(b *bundle.Bundle, data []byte) {
	old.typeName, old.schema, old.fragment, old.files = b.TypeName, b.Schema, b.Fragment, b.Files
	old.request = &submit.Request{Kind: b.Kind, TypeName: b.TypeName, Schema: b.Schema, Archive: data}
}

// registeredVersion reads the package of a version in the registry of a running cfn serve.
func (c *app) registeredVersion(ctx context.Context, opts *testOptions, p *project.Project, old *oldVersion) error {
	at := remoteOptions{endpoint: opts.endpointURL, profile: opts.profile}
	if opts.changed("region") {
		at.region = opts.region
	}
	remote, err := c.openRemote(ctx, &at)
	if err != nil {
		return err
	}
	ref := submit.Reference{Name: p.TypeName, Kind: types.RegistryType(p.Kind)}
	number := old.name
	if arn, ok := schema.ParseTypeARN(old.name); ok {
		ref.Name, ref.Kind, number = arn.TypeName, types.RegistryType(arn.Kind), arn.Version
	}
	data, err := remote.Package(ctx, &ref, number, maxPackage)
	var foreign *submit.ForeignError
	switch {
	case errors.As(err, &foreign):
		return withHint(fmt.Errorf("%s does not return packages; only cfn serve does", remote.Endpoint), "pass the package of the old version, or a revision in git")
	case err != nil:
		return withHint(&downstreamError{fmt.Errorf("read version %s of %s: %w", number, ref.Name, err)}, "cfn types versions %s lists the versions", ref.Name)
	}
	b, err := c.checkPackage(ctx, old.name, data)
	if err != nil {
		return err
	}
	old.packaged(b, data)
	return nil
}

// revisionOf packages the project as it was in a revision of git.
func (c *app) revisionOf(ctx context.Context, opts *testOptions, old *oldVersion) (err error) {
	tree, err := c.checkout(ctx, old.name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tree.close()
		}
	}()
	if len(tree.left) > 0 {
		c.logger.Debug("Links and submodules of the old version are left out", "files", tree.left)
	}
	old.tree, old.close, old.files = tree, tree.close, os.DirFS(tree.project)
	of := *c
	of.project, of.absolute = tree.project, true
	p, problems, err := project.Open(tree.project, old.name)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return err
	}
	old.typeName = p.TypeName
	if p.Kind == schema.Module {
		old.fragment, problems, err = p.Fragment()
		return errors.Join(err, problems.Err())
	}
	if opts.simulated {
		return c.loadOld(ctx, old, p.Path(p.SchemaFile()), old.name+":"+p.SchemaFile())
	}
	what := packageOptions{noRole: true, build: build.PackageOptions{Arch: build.X86}, timeout: opts.timeout}
	if old.request, _, err = what.extension(ctx, &of); err != nil {
		return withHint(fmt.Errorf("package the old version, %s: %w", old.name, err), "pass a package of the old version, or --simulated to compare the schemas without handlers")
	}
	old.schema = old.request.Schema
	return nil
}
