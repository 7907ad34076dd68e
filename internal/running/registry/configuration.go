package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

const (
	// defaultAlias is the alias of a configuration that is given none. It is also the one
	// that handlers get.
	defaultAlias = "default"

	// MaxConfiguration is how long a configuration may be, in bytes.
	MaxConfiguration = 204_800

	// maxIdentifiers is how many configurations are looked up at once.
	maxIdentifiers = 100
)

// SetTypeConfiguration stores the configuration of a registered or activated type, after
// validating it against the schema: the type's typeConfiguration, or for hooks the
// ConfigurationSchema of DescribeType. Dynamic references are not resolved, and match any
// text.
//
// A missing type is TypeNotFoundException. An invalid configuration is CFNRegistryException,
// with all violations and without values; so is a Lambda Hook or Guard Hook, whose stack has its
// configuration.
func (r *Registry) SetTypeConfiguration(ctx context.Context, caller awswire.Caller, in *cloudformation.SetTypeConfigurationInput) (*cloudformation.SetTypeConfigurationOutput, error) {
	arn, err := named(caller, in.TypeArn, types.RegistryType(in.Type), in.TypeName, nil)
	if err != nil {
		return nil, err
	}
	if arn.Version != "" {
		return nil, refuse("TypeArn must not name a version: a configuration is that of the whole type.")
	}
	if err := ownARN(caller, arn); err != nil {
		return nil, err
	}
	alias := aliasOf(in.ConfigurationAlias)
	v, err := r.Resolve(ctx, caller, arn.Kind, arn.TypeName, "")
	if err != nil {
		return nil, r.notManaged(ctx, caller, arn, err)
	}
	text := aws.ToString(in.Configuration)
	if err := checkConfiguration(v, text); err != nil {
		return nil, err
	}
	row := &configurationRow{Account: caller.Account, Region: caller.Region, TypeARN: v.TypeARN, Alias: alias, Configuration: text, UpdatedAt: r.now()}
	err = r.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The type may have been deregistered since: a configuration must not outlive it.
		there, err := r.usable(ctx, tx, caller, arn)
		switch {
		case err != nil:
			return err
		case !there:
			return typeNotFound(arn.TypeName)
		}
		if err := store.Upsert(ctx, tx, []*configurationRow{row}, "configuration", "updated_at"); err != nil {
			return fmt.Errorf("store the configuration of %s: %w", arn.TypeName, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.changes.send(Change{Place: caller.Place, Kind: arn.Kind, TypeName: arn.TypeName, What: ConfigurationChanged})
	return &cloudformation.SetTypeConfigurationOutput{ConfigurationArn: aws.String(arn.Configuration(alias))}, nil
}

func aliasOf(alias *string) string { return cmp.Or(aws.ToString(alias), defaultAlias) }

// usable reports whether the account has a live type of the name, registered or activated.
func (r *Registry) usable(ctx context.Context, db store.DB, caller awswire.Caller, arn schema.TypeARN) (bool, error) {
	typ, err := findType(ctx, db, caller, arn.Kind, arn.TypeName)
	if err != nil || typ != nil && !typ.Deprecated {
		return err == nil, err
	}
	activation, err := findActivation(ctx, db, caller, arn.Kind, arn.TypeName)
	return activation != nil, err
}

// removeConfigurations deletes the configurations of a type that is no longer used.
func (r *Registry) removeConfigurations(ctx context.Context, tx *store.Tx, caller awswire.Caller, arn schema.TypeARN) error {
	_, err := store.Exec(ctx, tx, "DELETE FROM type_configurations WHERE account = ? AND region = ? AND type_arn = ?",
		caller.Account, caller.Region, arn.String())
	if err != nil {
		return fmt.Errorf("remove the configurations of %s: %w", arn.TypeName, err)
	}
	return nil
}

// checkConfiguration refuses a configuration that does not fit the type. The texts never
// hold its values, which may be secrets.
func checkConfiguration(v *Version, text string) error {
	if v.Kind == schema.Module {
		return refuse("'%s' is a module, and modules have no configuration.", v.TypeName)
	}
	configuration, err := parseConfiguration(text)
	if err != nil {
		return err
	}
	var wrong []string
	_, err = eachText(configuration, nil, func(at document.Pointer, text string) (string, error) {
		if err := checkReferences(text); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", at, err))
		}
		return text, nil
	})
	if err != nil {
		return err
	}
	if _, there := configuration["CloudFormation"]; there {
		wrong = append(wrong, "/CloudFormation: the name is reserved")
	}
	s, err := configurationSchema(v)
	switch {
	case err != nil:
		return err
	case s == nil && len(configuration) > 0:
		return refuse("The type '%s' has no typeConfiguration in its schema: only {} can be set.", v.TypeName)
	case s != nil:
		wrong = append(wrong, violations(s, configuration)...)
	}
	if len(wrong) > 0 {
		return refuse("The configuration of '%s' is not valid: %s", v.TypeName, strings.Join(wrong, "; "))
	}
	return nil
}

// parseConfiguration reads a configuration, which is a JSON object. An error contains only the
// position.
func parseConfiguration(text string) (map[string]any, error) {
	if len(text) > MaxConfiguration {
		return nil, refuse("The configuration is longer than %d bytes.", MaxConfiguration)
	}
	root, problems := document.ParseJSON("configuration", []byte(text), document.Limits{Bytes: MaxConfiguration, Depth: 64})
	if len(problems) > 0 { // a duplicate member is an error: readers disagree which one counts
		at := problems[0].At.Start
		return nil, refuse("The configuration is not valid JSON (line %d, column %d).", at.Line, at.Column)
	}
	if configuration, ok := root.Any().(map[string]any); ok {
		return configuration, nil
	}
	return nil, refuse("The configuration must be a JSON object.")
}

// configurationSchema is what configurations of a type are held against, nil for nothing.
func configurationSchema(v *Version) (*schema.Schema, error) {
	text, err := describedConfigurationSchema(v.Kind, v.SchemaName, v.ConfigurationSchema, v.Region)
	if err != nil || text == "" {
		return nil, err
	}
	if v.Kind == schema.Hook {
		text = acceptedHookSettings.Replace(text)
	}
	// Problems are ignored: the type's part was checked when it was registered, and the part
	// around it is fixed.
	s, problems := schema.Load("configuration-schema.json", []byte(text), schema.Config{Kind: schema.TypeConfiguration})
	if s == nil {
		return nil, fmt.Errorf("read the configuration schema of %s: %w", v.TypeName, problems.Err())
	}
	return s, nil
}

// violations lists how a configuration violates the schema. A text with a dynamic reference
// counts as any text: it only violates the schema if that requires another type.
func violations(s *schema.Schema, configuration map[string]any) []string {
	var wrong []string
	for _, violation := range s.Check(configuration, schema.CheckConfig{}) {
		if !excused(configuration, violation) {
			wrong = append(wrong, violation.String())
		}
	}
	return wrong
}

// textKeywords are the keywords of draft-07 for the content of a text; combiners apply to
// everything below them.
var textKeywords = map[string]bool{
	"pattern": true, "minLength": true, "maxLength": true, "format": true, "enum": true, "const": true,
	"contentEncoding": true, "contentMediaType": true,
}

var combiners = map[string]bool{"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true, "contains": true, "uniqueItems": true}

func excused(configuration map[string]any, violation schema.Violation) bool {
	value := valueAt(configuration, violation.Pointer)
	_, isText := value.(string)
	return isText && textKeywords[violation.Keyword] && hasReference(value) || combiners[violation.Keyword] && hasReference(value)
}

func valueAt(value any, at document.Pointer) any {
	for _, token := range at {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[token]
		case []any:
			var i int
			if _, err := fmt.Sscanf(token, "%d", &i); err != nil || i < 0 || i >= len(inner) {
				return nil
			}
			value = inner[i]
		default:
			return nil
		}
	}
	return value
}

// Configuration returns the configuration of a type as its handlers get it, with dynamic
// references resolved, and the secrets that they stood for. alias "" is the default. Without a
// configuration it is null: the official library for TypeScript refuses {} for a type whose code has no model of one.
// An *awswire.Error reports that a reference cannot be resolved.
func (r *Registry) Configuration(ctx context.Context, caller awswire.Caller, v *Version, alias string) (text json.RawMessage, secrets []string, err error) {
	row, err := r.findConfiguration(ctx, caller, v.TypeARN, cmp.Or(alias, defaultAlias))
	switch {
	case err != nil:
		return nil, nil, err
	case row == nil:
		return json.RawMessage(`null`), nil, nil
	case !strings.Contains(row.Configuration, "{{resolve:") && !strings.Contains(row.Configuration, `\u`):
		return json.RawMessage(row.Configuration), nil, nil
	}
	configuration, err := parseConfiguration(row.Configuration)
	if err != nil {
		return nil, nil, err
	}
	resolved, secrets, err := r.resolveReferences(ctx, caller, configuration)
	if err != nil {
		return nil, nil, err
	}
	if text, err = json.Marshal(resolved); err != nil {
		return nil, nil, fmt.Errorf("write the configuration of %s: %w", v.TypeName, err)
	}
	return text, secrets, nil
}

// findConfiguration returns a configuration, nil if there is none.
func (r *Registry) findConfiguration(ctx context.Context, caller awswire.Caller, arn, alias string) (*configurationRow, error) {
	return store.Find[configurationRow](ctx, r.store.Read(), "account = ? AND region = ? AND type_arn = ? AND alias = ?", caller.Account, caller.Region, arn, alias)
}

// BatchDescribeTypeConfigurations returns the configurations that identifiers name, with
// unresolved dynamic references. A type without a configuration under the default alias has
// {}. Rejected identifiers are in Errors; identifiers beyond the hundredth, and those whose
// configuration cannot be read because of an internal error, are returned unprocessed.
func (r *Registry) BatchDescribeTypeConfigurations(ctx context.Context, caller awswire.Caller, in *cloudformation.BatchDescribeTypeConfigurationsInput) (*cloudformation.BatchDescribeTypeConfigurationsOutput, error) {
	if emptyIdentifiers(in.TypeConfigurationIdentifiers) {
		return nil, awswire.ValidationErrorf("1 validation error detected: Value null at 'typeConfigurationIdentifiers' failed to satisfy constraint: Member must not be null")
	}
	out := &cloudformation.BatchDescribeTypeConfigurationsOutput{
		Errors: []types.BatchDescribeTypeConfigurationsError{}, TypeConfigurations: []types.TypeConfigurationDetails{},
		UnprocessedTypeConfigurations: []types.TypeConfigurationIdentifier{},
	}
	for i, identifier := range in.TypeConfigurationIdentifiers {
		if i >= maxIdentifiers {
			out.UnprocessedTypeConfigurations = append(out.UnprocessedTypeConfigurations, identifier)
			continue
		}
		details, err := r.describeConfiguration(ctx, caller, identifier)
		var refused *awswire.Error
		switch {
		case err == nil:
			out.TypeConfigurations = append(out.TypeConfigurations, *details)
		case errors.As(err, &refused):
			out.Errors = append(out.Errors, types.BatchDescribeTypeConfigurationsError{
				ErrorCode: &refused.Code, ErrorMessage: &refused.Message, TypeConfigurationIdentifier: &identifier,
			})
		case ctx.Err() != nil:
			return nil, ctx.Err()
		default:
			r.log.ErrorContext(ctx, "a type configuration cannot be read", "request", caller.RequestID, "error", err)
			out.UnprocessedTypeConfigurations = append(out.UnprocessedTypeConfigurations, identifier)
		}
	}
	return out, nil
}

// emptyIdentifiers reports whether there is nothing to look up: on the wire a list of empty
// structures is no list at all.
func emptyIdentifiers(identifiers []types.TypeConfigurationIdentifier) bool {
	for _, identifier := range identifiers {
		if identifier != (types.TypeConfigurationIdentifier{}) {
			return false
		}
	}
	return true
}

func (r *Registry) describeConfiguration(ctx context.Context, caller awswire.Caller, identifier types.TypeConfigurationIdentifier) (*types.TypeConfigurationDetails, error) {
	arn, alias, err := identified(caller, identifier)
	if err != nil {
		return nil, err
	}
	there, err := r.usable(ctx, r.store.Read(), caller, arn)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, typeNotFound(arn.TypeName)
	}
	row, err := r.findConfiguration(ctx, caller, arn.String(), alias)
	if err != nil {
		return nil, err
	}
	details := &types.TypeConfigurationDetails{
		Alias: &alias, Arn: aws.String(arn.Configuration(alias)), TypeArn: aws.String(arn.String()), Configuration: aws.String("{}"), TypeName: identifier.TypeName,
	}
	switch {
	case row != nil:
		details.Configuration, details.LastUpdated = &row.Configuration, &row.UpdatedAt.Time
	case alias != defaultAlias:
		return nil, awswire.Errorf(codeConfigurationNotFound, 404, "The type '%s' has no configuration with the alias '%s'.", arn.TypeName, alias)
	}
	return details, nil
}

// identified reads the three ways to name a configuration: its ARN, or the ARN or the kind
// and name of the type with an alias next to it.
func identified(caller awswire.Caller, identifier types.TypeConfigurationIdentifier) (schema.TypeARN, string, error) {
	if identifier.TypeConfigurationArn != nil {
		arn, alias, err := parseConfigurationARN(*identifier.TypeConfigurationArn)
		switch {
		case err != nil:
			return schema.TypeARN{}, "", err
		case identifier.TypeConfigurationAlias != nil && *identifier.TypeConfigurationAlias != alias:
			return schema.TypeARN{}, "", refuse("TypeConfigurationAlias names another configuration than TypeConfigurationArn.")
		}
		return arn, alias, ownARN(caller, arn)
	}
	arn, err := named(caller, identifier.TypeArn, types.RegistryType(identifier.Type), identifier.TypeName, nil)
	if err != nil {
		return schema.TypeARN{}, "", err
	}
	return arn.WithVersion(""), aliasOf(identifier.TypeConfigurationAlias), ownARN(caller, arn)
}
