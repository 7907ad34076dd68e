package smithy

import (
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

var awsRules = []rule{
	{"CfnMutabilityTrait", further, checkCFNMutability},
	{"CfnResourceProperty", further, checkCFNResources},
	{"ArnTrait", further, checkARNs},
	{"ArnTemplate", further, checkARNTemplates},
	{"IamAction", further, checkIAMActions},
	{"ServiceTagging", further, checkServiceTagging},
	{"TagEnabledService", further, checkTagEnabled},
	{"TaggableResource", further, checkTaggable},
	{"TagResourcePropertyName", further, checkTagName},
	{"TagResourcePropertyType", further, checkTagType},
	{"SdkServiceId", further, checkSDKIDs},
}

func checkCFNMutability(c *check) {
	for _, s := range c.with[traitCFNMutability] {
		t := s.Trait(traitCFNMutability)
		if v := t.Value.Text; s.Has(traitCFNAdditionalID) && (v == "write" || v == "create") {
			c.traitError(s, t, "Member with the mutability value of \"%s\" is also marked as an additional identifier", v)
		}
	}
}

func checkCFNResources(c *check) {
	for _, s := range c.shapesWith(traitCFNResource, Resource) {
		t := s.Trait(traitCFNResource)
		if primary := t.Value.Get("primaryIdentifier").Str(); primary != "" {
			target, known := lookup(s.Properties, primary)
			if !known {
				c.traitError(s, t, "The alternative resource primary identifier, `%s`, must be a property of the resource.", primary)
			} else if shape := c.m.Shape(target); shape != nil && !shape.Type.isString() {
				c.traitError(s, t, "The alternative resource primary identifier, `%s`, targets a `%s` shape, it must target a `string`.", primary, shape.Type)
			}
		}
		name := t.Value.Get("name").Str()
		if name == "" {
			name = s.ID.Name()
		}
		for _, p := range deriveCFN(c.m, s, c.bindings, false).properties {
			var targets []ID
			for _, id := range p.shapes {
				if shape := c.m.Shape(id); shape != nil && shape.Type == Member {
					id = shape.Target
				}
				targets = append(targets, id)
			}
			slices.SortFunc(targets, compareIDs)
			if targets = slices.Compact(targets); len(targets) > 1 {
				c.error(s, "The `%s` property of the generated `%s` CloudFormation resource targets multiple shapes: %s. Reusing member names that "+
					"target different shapes can cause confusion for users of the API. This target discrepancy must either be resolved in the model or "+
					"one of the members must be excluded from the conversion.", p.name, name, bracketed(targets))
			}
		}
	}
}

func checkARNs(c *check) {
	for _, s := range c.shapesWith(traitARN, Resource) {
		if t := s.Trait(traitARN); !t.Value.Get("absolute").IsTrue() && t.Value.Get("resourceDelimiter") != nil {
			c.traitError(s, t, "A `resourceDelimiter` can only be set for an `absolute` ARN.")
		}
	}
}

var (
	arnLabel      = lazyregexp.New(`\{([^}]*)\}`)
	arnExpression = lazyregexp.New(`^[!|+]?[a-zA-Z_][a-zA-Z0-9_]*$`)
)

func checkARNTemplates(c *check) {
	for _, service := range c.shapesWith(traitAPIService, Service) {
		resources, _ := c.m.TopDown(service)
		for _, s := range resources {
			if t := s.Trait(traitARN); t != nil {
				c.checkARNTemplate(s, t)
			}
		}
	}
}

func (c *check) checkARNTemplate(s *Shape, t *Trait) {
	template := t.Value.Get("template").Str()
	var labels, invalid, identifiers []string
	for _, match := range arnLabel.FindAllStringSubmatch(template, -1) {
		labels = append(labels, match[1])
		if !arnExpression.MatchString(match[1]) {
			invalid = append(invalid, match[1])
		}
	}
	for _, identifier := range s.Identifiers {
		identifiers = append(identifiers, identifier.Name)
	}
	if invalid != nil {
		c.traitError(s, t, "aws.api#arn trait contains invalid template labels: %s. Template labels must match the following regular expression: %s",
			tickedSorted(invalid), arnExpression)
		return
	}
	without := func(list, other []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(other, name) })
	}
	if missing := without(identifiers, labels); len(missing) > 0 {
		c.traitError(s, t, "Invalid aws.api#arn trait resource, `%s`. The following resource identifier names were missing from the `arn` template: %s",
			template, tickedSorted(missing))
	}
	if extra := without(labels, identifiers); len(extra) > 0 {
		c.traitError(s, t, "Invalid aws.api#arn trait resource, `%s`. Found template labels in the trait that are not the names of the identifiers of "+
			"the resource: %s. Extraneous identifiers: [%s]", template, bracketed(identifiers), tickedSorted(extra))
	}
}

func checkIAMActions(c *check) {
	for _, s := range c.shapesWith(traitIAMAction, Operation) {
		t := s.Trait(traitIAMAction)
		for _, old := range []struct {
			trait    ID
			property string
		}{{traitIAMName, "name"}, {"aws.iam#actionPermissionDescription", "documentation"}, {traitIAMRequired, "requiredActions"}} {
			if other := s.Trait(old.trait); other != nil && !emptyValue(t.Value.Get(old.property)) {
				c.add(ErrorSeverity, s, other.At, "ConflictingProperty."+old.property,
					"Operation has the `%s` property of the `@aws.iam#iamAction` trait set and the deprecated `@%s` trait applied.", old.property, old.trait)
			}
		}
		resources := t.Value.Get("resources")
		required, optional := resources.Get("required"), resources.Get("optional")
		if required == nil || optional == nil {
			continue
		}
		var both []string
		for _, m := range required.Members {
			if optional.Get(m.Key) != nil {
				both = append(both, m.Key)
			}
		}
		if both != nil {
			c.add(DangerSeverity, s, t.At, "Resources.DuplicateEntries", "Operation has the following resource names defined as both required and "+
				"optional: %s", bracketed(both))
		}
	}
}

func checkServiceTagging(c *check) {
	for _, s := range c.shapesWith(traitTagEnabled, Service) {
		t := s.Trait(traitTagEnabled)
		for op := range tagOperations {
			names := tagOperations[op]
			id := c.m.serviceTagOperation(s, tagOperation(op))
			operation := c.m.Shape(id)
			switch configured := ID(t.Value.Get("apiConfig").Get(names.config).Str()); {
			case id != "" && operation != nil && !c.m.validTagOperation(operation, tagOperation(op)):
				c.traitDanger(s, t, "Shape `%s` does not satisfy '%s' operation requirements.", id, names.name)
			case id != "":
			case configured != "":
				c.traitWarning(s, t, "Service marked `aws.api#TagEnabled` is missing an operation named '%s' (specified by `apiConfig`).", configured.Name())
			default:
				c.traitWarning(s, t, "Service marked `aws.api#TagEnabled` is missing an operation named '%s.'", names.name)
			}
		}
	}
}

// hasTagAPIs reports whether a service has all three operations for tags, and fit ones.
func (c *check) hasTagAPIs(service *Shape) bool {
	for op := range tagOperations {
		operation := c.m.Shape(c.m.serviceTagOperation(service, tagOperation(op)))
		if operation == nil || !c.m.validTagOperation(operation, tagOperation(op)) {
			return false
		}
	}
	return true
}

func checkTagEnabled(c *check) {
	for _, s := range c.shapesWith(traitTagEnabled, Service) {
		t := s.Trait(traitTagEnabled)
		resources, _ := c.m.TopDown(s)
		if !slices.ContainsFunc(resources, func(r *Shape) bool { return r.Has(traitTaggable) }) {
			c.error(s, "Service marked `aws.api#tagEnabled` trait must have at least one `aws.api#taggable` resource.")
		}
		if !t.Value.Get("disableDefaultOperations").IsTrue() && !c.hasTagAPIs(s) {
			c.warning(s, "Service marked `aws.api#tagEnabled` trait does not have consistent tagging operations implemented: {TagResource, "+
				"UntagResource, and ListTagsForResource}.")
		}
		for _, names := range tagOperations {
			configured := ID(t.Value.Get("apiConfig").Get(names.config).Str())
			if configured == "" || configured.Name() == names.name ||
				!slices.ContainsFunc(s.Operations, func(id ID) bool { return id.Name() == names.name }) {
				continue
			}
			c.traitWarning(s, t, "Service has `apiConfig.%s` set to `%s` but also has a service-bound operation named `%s`. The default-named operation "+
				"will be ignored for tagging API discovery. Remove either the `apiConfig` override or the `%s` operation to avoid ambiguity.",
				names.config, configured, names.name, names.name)
		}
	}
}

func checkTaggable(c *check) {
	for _, service := range c.m.OfType(Service) {
		resources, _ := c.m.TopDown(service)
		apis := service.Has(traitTagEnabled) && c.hasTagAPIs(service)
		for _, s := range resources {
			switch {
			case s.Has(traitTaggable):
				c.checkTaggableResource(service, s, apis)
			case s.Has(traitARN) && apis:
				c.warning(s, "Resource is likely missing `aws.api#taggable` trait.")
			default:
				continue
			}
			if !service.Has(traitTagEnabled) {
				c.warning(service, "Service has resources with `aws.api#taggable` applied but does not have the `aws.api#tagEnabled` trait.")
			}
		}
	}
}

func (c *check) checkTaggableResource(service, s *Shape, apis bool) {
	t := s.Trait(traitTaggable)
	property := t.Value.Get("property").Str()
	inUpdate := c.m.takesTags(c.bindings, s.Update, property)
	if inUpdate || c.m.takesTags(c.bindings, s.Put, property) && !s.Has(traitNoReplace) {
		id := s.Update
		if id == "" {
			id = s.Put
		}
		c.danger(c.m.Shape(id), "Update and put resource lifecycle operations should not support updating tags because it is a privileged operation "+
			"that modifies access.")
	}
	instance := c.taggableByInstance(t, property)
	if apis && !instance && !s.Has(traitARN) {
		c.error(s, "Resource is taggable only via service-wide tag operations. It must use the `aws.api@arn` trait.")
	}
	if !apis && !instance {
		c.danger(s, "Resource does not have tagging CRUD operations and is not compatible with service-wide tagging operations for service `%s`.", service.ID)
	}
}

// taggableByInstance reports whether a resource has valid operations for its tags.
func (c *check) taggableByInstance(t *Trait, property string) bool {
	config := t.Value.Get("apiConfig")
	if config == nil {
		return false
	}
	count := func(id ID, output bool, fits func(m, target *Shape) bool) bool {
		s := c.m.Shape(id)
		if s == nil || s.Type != Operation {
			return false
		}
		structure := c.m.input(s)
		if output {
			structure = c.m.output(s)
		}
		n := 0
		if structure != nil {
			for _, m := range structure.Members {
				if fits(m, c.m.target(m)) {
					n++
				}
			}
		}
		return n == 1
	}
	tags := func(m, target *Shape) bool { return tagsName.MatchString(m.Name()) && c.m.tagsShape(target) }
	keys := func(m, target *Shape) bool { return tagKeysName.MatchString(m.Name()) && c.m.tagKeysShape(target) }
	tag := ID(config.Get("tagApi").Str())
	return c.m.takesTags(c.bindings, tag, property) && count(tag, false, tags) && count(ID(config.Get("untagApi").Str()), false, keys) &&
		count(ID(config.Get("listTagsApi").Str()), true, tags)
}

func checkTagName(c *check) {
	for _, s := range c.shapesWith(traitTaggable, Resource) {
		if property := s.Trait(traitTaggable).Value.Get("property").Str(); property != "" && !tagsName.MatchString(property) {
			c.warning(s, "Suggested tag property name is '[T|t]ags'.")
		}
	}
}

func checkTagType(c *check) {
	for _, s := range c.shapesWith(traitTaggable, Resource) {
		target, known := lookup(s.Properties, s.Trait(traitTaggable).Value.Get("property").Str())
		if known && !c.m.tagsShape(c.m.Shape(target)) {
			c.error(s, "Tag property must be a list shape targeting a member containing a pair of strings, or a Map shape targeting a string member.")
		}
	}
}

var (
	sdkID = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9]*( [a-zA-Z0-9]+)*$`)

	// releasedSDKIDs break the rules and were there before them.
	releasedSDKIDs = []string{
		"ACM PCA", "ApiGatewayManagementApi", "Config Service", "Cost and Usage Report Service", "Application Discovery Service",
		"Database Migration Service", "Directory Service", "Elasticsearch Service", "IoT 1Click Devices Service", "IoTAnalytics",
		"Lex Model Building Service", "Lex Runtime Service", "Marketplace Entitlement Service", "mq", "Resource Groups Tagging API",
	}
)

func checkSDKIDs(c *check) {
	for _, s := range c.shapesWith(traitAPIService, Service) {
		t := s.Trait(traitAPIService)
		id := t.Value.Get("sdkId").Str()
		if slices.Contains(releasedSDKIDs, id) {
			continue
		}
		var reasons []string
		if !sdkID.MatchString(id) {
			reasons = append(reasons, "Does not match the required pattern `"+sdkID.String()+"`")
		}
		if strings.Contains(id, "AWS") || strings.Contains(id, "Aws") || strings.Contains(id, "Amazon") {
			reasons = append(reasons, "Must not contain any of the following company names: [`AWS`, `Amazon`, `Aws`]")
		}
		for _, suffix := range []string{"service", "client", "api"} {
			if strings.HasSuffix(strings.ToLower(id), suffix) {
				reasons = append(reasons, "Must not case-insensitively end with `"+suffix+"`")
				break
			}
		}
		if id == "" || len(id) > 50 {
			reasons = append(reasons, "Must be between 1 and 50 characters long.")
		}
		if reasons != nil {
			c.traitDanger(s, t, "Invalid SDK service ID value, `%s`: %s", id, strings.Join(reasons, ";"))
		}
	}
}
