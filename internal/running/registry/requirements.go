package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// maxModuleDepth is how deep public modules nest: levels of child modules below a module.
const maxModuleDepth = 3

// An extensionKey names a public extension in a region.
type extensionKey struct {
	Kind      schema.Kind
	Publisher string
	TypeName  string // the publisher's, not an alias
}

func (k extensionKey) String() string {
	return fmt.Sprintf("%s of publisher %s", k.TypeName, k.Publisher)
}

// A moduleCheck checks a module against the chapter "Model requirements for publishing a
// public module" of the user guide.
type moduleCheck struct {
	region string

	// majors returns, for each major version of an extension that is published in the region, the
	// requirements of the latest version with it. It is empty for extensions that are not public.
	majors func(ctx context.Context, key extensionKey) (map[int64][]types.RequiredActivatedType, error)

	// self is the module as it is or will be published, to find cycles. Its Publisher is ""
	// while the account is not a publisher: no public module can contain it then.
	self extensionKey

	required []types.RequiredActivatedType
	problems []string
}

// run checks a fragment. Afterwards problems has a sentence for every violated rule, and
// required has the extensions that must be activated for the module, by their aliases. The
// error is that of majors.
func (c *moduleCheck) run(ctx context.Context, fragment *document.Value) error {
	resources := fragment.Get("Resources")
	if resources == nil || resources.Kind != document.Object {
		c.problem("The fragment has no section Resources.")
		return nil
	}
	for _, m := range resources.Distinct() {
		c.resource(m)
	}
	slices.SortFunc(c.required, func(a, b types.RequiredActivatedType) int {
		return strings.Compare(*a.TypeNameAlias, *b.TypeNameAlias)
	})
	return c.shelved(ctx)
}

// shelved checks the requirements against the public extensions.
func (c *moduleCheck) shelved(ctx context.Context) error {
	for _, required := range c.required {
		if err := c.published(ctx, required); err != nil {
			return err
		}
	}
	return nil
}

func (c *moduleCheck) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// resource checks one resource of the fragment.
func (c *moduleCheck) resource(m document.Member) {
	typ := m.Value.Get("Type")
	if typ == nil || typ.Kind != document.String {
		c.problem("Resource %s has no Type.", m.Key)
		return
	}
	switch name := typ.Text; {
	case name == "AWS::CloudFormation::CustomResource", strings.HasPrefix(name, "Custom::"):
		c.problem("Resource %s (%s) is a custom resource, which public modules do not support.", m.Key, name)
	case ofAmazon(name):
	default:
		c.thirdParty(m, name)
	}
}

// thirdParty reads the publisher metadata of a resource that Amazon did not publish.
func (c *moduleCheck) thirdParty(m document.Member, alias string) {
	metadata := m.Value.Get("Metadata")
	required := types.RequiredActivatedType{TypeNameAlias: &alias}
	var missing []string
	if publisher := publisherIn(metadata, c.region); publisher != "" {
		required.PublisherId = &publisher
	} else {
		missing = append(missing, "PublisherId")
	}
	if original := metadata.Get("OriginalTypeName").Str(); original != "" {
		required.OriginalTypeName = &original
	} else {
		missing = append(missing, "OriginalTypeName")
	}
	if required.SupportedMajorVersions = majorsIn(metadata.Get("SupportMajorVersions")); len(required.SupportedMajorVersions) == 0 {
		missing = append(missing, "SupportMajorVersions")
	}
	switch {
	case len(missing) > 0:
		c.problem("Resource %s (%s) is not a public resource of Amazon, and its Metadata has no %s.", m.Key, alias, strings.Join(missing, ", "))
	case isModuleName(alias) != isModuleName(*required.OriginalTypeName):
		c.problem("Resource %s: %s and its OriginalTypeName %s are not both modules.", m.Key, alias, *required.OriginalTypeName)
	default:
		c.require(m.Key, required)
	}
}

// require adds an extension to those that are required. Two resources under one alias must
// mean the same, and support a version in common.
func (c *moduleCheck) require(logicalID string, required types.RequiredActivatedType) {
	i := slices.IndexFunc(c.required, func(other types.RequiredActivatedType) bool { return *other.TypeNameAlias == *required.TypeNameAlias })
	if i < 0 {
		c.required = append(c.required, required)
		return
	}
	other := &c.required[i]
	if keyOf(*other) != keyOf(required) {
		c.problem("Resource %s: the alias %s stands for %s elsewhere in the module.", logicalID, *required.TypeNameAlias, keyOf(*other))
		return
	}
	common := slices.DeleteFunc(slices.Clone(other.SupportedMajorVersions), func(major int32) bool { return !slices.Contains(required.SupportedMajorVersions, major) })
	if len(common) == 0 {
		c.problem("Resource %s: SupportMajorVersions of %s has no version in common with the rest of the module.", logicalID, *required.TypeNameAlias)
		return
	}
	other.SupportedMajorVersions = common
}

// published looks up a required extension and its requirements.
func (c *moduleCheck) published(ctx context.Context, required types.RequiredActivatedType) error {
	key := keyOf(required)
	if key == c.self {
		c.problem("The module contains itself as %s.", *required.TypeNameAlias)
		return nil
	}
	below, found, err := c.requirements(ctx, required)
	switch {
	case err != nil:
		return err
	case !found:
		c.problem("%s is not public in %s in any of the major versions %s.", key, c.region, listOf(required.SupportedMajorVersions))
		return nil
	case key.Kind != schema.Module:
		return nil
	}
	return c.child(ctx, *required.TypeNameAlias, below)
}

// child walks the modules below a child module, level by level.
func (c *moduleCheck) child(ctx context.Context, alias string, level []types.RequiredActivatedType) error {
	seen := map[extensionKey]bool{}
	for depth := 1; len(level) > 0; depth++ {
		var next []types.RequiredActivatedType
		for _, required := range level {
			key := keyOf(required)
			c.subset(alias, required)
			switch {
			case key == c.self:
				c.problem("The child module %s contains this module: modules must not contain each other.", alias)
				continue
			case key.Kind != schema.Module || seen[key]:
				continue
			case depth >= maxModuleDepth:
				c.problem("Modules nest more than %d levels deep below the child module %s.", maxModuleDepth, alias)
				return nil
			}
			seen[key] = true
			below, _, err := c.requirements(ctx, required)
			if err != nil {
				return err
			}
			next = append(next, below...)
		}
		level = next
	}
	return nil
}

// subset compares the major versions that this module and a child module support of the
// same extension.
func (c *moduleCheck) subset(child string, theirs types.RequiredActivatedType) {
	for _, ours := range c.required {
		if keyOf(ours) != keyOf(theirs) {
			continue
		}
		for _, major := range ours.SupportedMajorVersions {
			if !slices.Contains(theirs.SupportedMajorVersions, major) {
				c.problem("The module supports major version %d of %s, its child module %s only %s.",
					major, keyOf(ours), child, listOf(theirs.SupportedMajorVersions))
			}
		}
	}
}

// requirements returns what the latest supported version of an extension requires.
func (c *moduleCheck) requirements(ctx context.Context, required types.RequiredActivatedType) ([]types.RequiredActivatedType, bool, error) {
	majors, err := c.majors(ctx, keyOf(required))
	if err != nil {
		return nil, false, err
	}
	for _, major := range slices.Backward(slices.Sorted(maps.Keys(majors))) {
		if slices.Contains(required.SupportedMajorVersions, int32(min(major, maxMajor))) {
			return majors[major], true, nil
		}
	}
	return nil, false, nil
}

// keyOf is the extension that is required.
func keyOf(required types.RequiredActivatedType) extensionKey {
	key := extensionKey{Kind: schema.Resource, Publisher: *required.PublisherId, TypeName: *required.OriginalTypeName}
	if isModuleName(key.TypeName) {
		key.Kind = schema.Module
	}
	return key
}

// ofAmazon reports whether a type is one of Amazon's, by the first part of its name, which is
// reserved.
func ofAmazon(typeName string) bool {
	organization, _, _ := strings.Cut(typeName, "::")
	return slices.Contains([]string{"aws", "amazon", "amzn", "alexa"}, strings.ToLower(organization))
}

func isModuleName(typeName string) bool { return strings.HasSuffix(typeName, "::MODULE") }

// publisherIn is the publisher that the metadata of a resource name for a region.
func publisherIn(metadata *document.Value, region string) string {
	if regional := metadata.Get("RegionalPublisherId").Get(region).Str(); regional != "" {
		return regional
	}
	return metadata.Get("PublisherId").Str()
}

// majorsIn reads a list of major versions, sorted. It skips invalid ones.
func majorsIn(list *document.Value) []int32 {
	if list == nil {
		return nil
	}
	var majors []int32
	for _, item := range list.Items {
		if n, err := strconv.ParseInt(item.Text, 10, 32); err == nil && n > 0 && n <= maxMajor {
			majors = append(majors, int32(n))
		}
	}
	slices.Sort(majors)
	return slices.Compact(majors)
}

func listOf(majors []int32) string {
	words := make([]string, len(majors))
	for i, major := range majors {
		words[i] = strconv.Itoa(int(major))
	}
	return strings.Join(words, ", ")
}
