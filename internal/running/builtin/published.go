package builtin

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
)

// publishers are AWS::CloudFormation::Publisher: the account, which once it is registered stays
// a publisher.
type publishers struct{}

func (publishers) step(c *call) (operation.Progress, error) {
	if c.request.Action != invoke.Create { // all properties are create-only, and publishers are never removed
		return succeeded(c.request.Identifier), nil
	}
	in := &cloudformation.RegisterPublisherInput{ConnectionArn: c.optional("ConnectionArn")}
	if accepted, ok := c.desired["AcceptTermsAndConditions"].(bool); ok {
		in.AcceptTermsAndConditions = &accepted
	}
	out, err := do[cloudformation.RegisterPublisherOutput](c, "cloudformation", "RegisterPublisher", in)
	if err != nil {
		return operation.Progress{}, err
	}
	return succeeded(*out.PublisherId), nil
}

func (publishers) read(c *call) (map[string]any, error) {
	id, connection, err := c.types.config.PublisherOf(c.ctx, c.request.Caller)
	if err == nil && (id == "" || id != c.request.Identifier) {
		err = missing()
	}
	if err != nil {
		return nil, err
	}
	out, err := do[cloudformation.DescribePublisherOutput](c, "cloudformation", "DescribePublisher", &cloudformation.DescribePublisherInput{PublisherId: &id})
	if err != nil {
		return nil, err
	}
	model := map[string]any{
		"PublisherId": id, "AcceptTermsAndConditions": true,
		"PublisherStatus": string(out.PublisherStatus), "IdentityProvider": string(out.IdentityProvider),
	}
	set(model, "PublisherProfile", out.PublisherProfile)
	if connection != "" {
		model["ConnectionArn"] = connection
	}
	return model, nil
}

// publicVersions are AWS::CloudFormation::PublicTypeVersion: the default version of an extension
// is tested, unless it has passed, and published. What is published stays when the resource is
// deleted.
type publicVersions struct{}

func (p publicVersions) step(c *call) (operation.Progress, error) {
	if c.request.Action != invoke.Create { // all properties are create-only
		return succeeded(c.request.Identifier), nil
	}
	now, err := c.state()
	if err != nil {
		return operation.Progress{}, err
	}
	begun := now.Version != ""
	version, err := p.version(c, now.Version)
	if err != nil {
		return operation.Progress{}, err
	}
	now.Version = *version.Arn
	arn, _ := schema.ParseTypeARN(now.Version)
	public, _, number, err := c.types.config.Published(c.ctx, c.request.Caller, arn)
	if err != nil {
		return operation.Progress{}, err
	}
	if asked := c.text("PublicVersionNumber"); number != "" && (asked == "" || asked == number) {
		return succeeded(public.String()), nil // by an earlier call, or by another client: it is adopted
	}
	switch {
	case version.TypeTestsStatus == cfn.TypeTestsStatusInProgress && begun:
		return now.again("")
	case version.TypeTestsStatus == cfn.TypeTestsStatusFailed && begun:
		return notStabilized(c, now.Version, aws.ToString(version.TypeTestsStatusDescription)), nil
	case version.TypeTestsStatus != cfn.TypeTestsStatusPassed, !begun && c.text("LogDeliveryBucket") != "":
		in := &cloudformation.TestTypeInput{Arn: &now.Version, LogDeliveryBucket: c.optional("LogDeliveryBucket")}
		if _, err := do[cloudformation.TestTypeOutput](c, "cloudformation", "TestType", in); err != nil {
			return operation.Progress{}, err
		}
		return now.again("")
	}
	out, err := do[cloudformation.PublishTypeOutput](c, "cloudformation", "PublishType",
		&cloudformation.PublishTypeInput{Arn: &now.Version, PublicVersionNumber: c.optional("PublicVersionNumber")})
	if err != nil {
		return operation.Progress{}, err
	}
	return succeeded(*out.PublicTypeArn), nil
}

// version describes the version that is published: the one of an ARN, or for "" the one that the
// properties name.
func (publicVersions) version(c *call, arn string) (*cloudformation.DescribeTypeOutput, error) {
	in := &cloudformation.DescribeTypeInput{Arn: &arn}
	if arn == "" {
		if in.Arn = c.optional("Arn"); in.Arn == nil {
			in = &cloudformation.DescribeTypeInput{Type: cfn.RegistryType(c.text("Type")), TypeName: c.optional("TypeName")}
		}
		out, err := do[cloudformation.DescribeTypeOutput](c, "cloudformation", "DescribeType", in)
		switch {
		case err != nil:
			return nil, err
		case out.Visibility != cfn.VisibilityPrivate:
			return nil, invalid(fmt.Sprintf("The extension '%s' cannot be published: it is not registered in this account.", aws.ToString(out.TypeName)))
		}
		in = &cloudformation.DescribeTypeInput{Arn: out.Arn} // only a version has the status of its tests
	}
	return do[cloudformation.DescribeTypeOutput](c, "cloudformation", "DescribeType", in)
}

func (publicVersions) read(c *call) (map[string]any, error) {
	arn, ok := schema.ParseTypeARN(c.request.Identifier)
	if !ok || !arn.Public() || arn.Version != "" {
		return nil, missing()
	}
	public, private, number, err := c.types.config.Published(c.ctx, c.request.Caller, arn)
	if err == nil && number == "" {
		err = missing()
	}
	if err != nil {
		return nil, err
	}
	model := map[string]any{
		"PublicTypeArn": public.String(), "PublisherId": public.Publisher, "Type": string(public.Kind), "TypeName": public.TypeName,
		"PublicVersionNumber": number, "TypeVersionArn": private.String(),
	}
	if bucket := c.text("LogDeliveryBucket"); bucket != "" {
		model["LogDeliveryBucket"] = bucket // no other source returns it
	}
	return model, nil
}

// activations are AWS::CloudFormation::TypeActivation.
type activations struct{}

func (a activations) step(c *call) (operation.Progress, error) {
	if c.request.Action == invoke.Delete {
		return a.deactivate(c)
	}
	in := &cloudformation.ActivateTypeInput{
		PublicTypeArn: c.optional("PublicTypeArn"), Type: cfn.ThirdPartyType(c.text("Type")), TypeName: c.optional("TypeName"), PublisherId: c.optional("PublisherId"),
		TypeNameAlias: c.optional("TypeNameAlias"), ExecutionRoleArn: c.optional("ExecutionRoleArn"), LoggingConfig: c.loggingConfig(),
		VersionBump: cfn.VersionBump(c.text("VersionBump")),
	}
	if update, ok := c.desired["AutoUpdate"].(bool); ok {
		in.AutoUpdate = &update
	}
	if major := c.text("MajorVersion"); major != "" {
		number, err := strconv.ParseInt(major, 10, 64)
		if err != nil {
			return operation.Progress{}, invalid(fmt.Sprintf("MajorVersion '%s' is not a number.", major))
		}
		in.MajorVersion = &number
	}
	if c.request.Action == invoke.Update && a.name(c, in) != c.request.Identifier {
		return unchangeable(c, "PublicTypeArn, Type, TypeName and TypeNameAlias"), nil
	}
	out, err := do[cloudformation.ActivateTypeOutput](c, "cloudformation", "ActivateType", in)
	if err != nil {
		return operation.Progress{}, err
	}
	return succeeded(*out.Arn), nil
}

// name is the ARN that the extension has in the account once it is activated.
func (activations) name(c *call, in *cloudformation.ActivateTypeInput) string {
	kind, name := schema.Kind(in.Type), aws.ToString(in.TypeName)
	if arn, ok := schema.ParseTypeARN(aws.ToString(in.PublicTypeArn)); ok {
		kind, name = arn.Kind, arn.TypeName
	}
	if alias := aws.ToString(in.TypeNameAlias); alias != "" {
		name = alias
	}
	return c.privateARN(kind, name).String()
}

// deactivate knows from the second call that it existed.
func (a activations) deactivate(c *call) (operation.Progress, error) {
	now, err := c.state()
	if err != nil {
		return operation.Progress{}, err
	}
	if _, err := a.read(c); c.request.Callback == nil {
		if err != nil {
			return operation.Progress{}, err
		}
		return now.again(c.request.Identifier)
	}
	_, err = do[cloudformation.DeactivateTypeOutput](c, "cloudformation", "DeactivateType", &cloudformation.DeactivateTypeInput{Arn: &c.request.Identifier})
	if err != nil && code(err) != "NotFound" {
		return operation.Progress{}, err
	}
	return succeeded(c.request.Identifier), nil
}

func (activations) read(c *call) (map[string]any, error) {
	out, arn, err := c.describe(c.request.Identifier)
	switch {
	case err != nil:
		return nil, err
	case !aws.ToBool(out.IsActivated) || arn.Version != "":
		return nil, missing()
	}
	model := map[string]any{"Arn": arn.String()}
	set(model, "PublicTypeArn", out.OriginalTypeArn)
	set(model, "PublisherId", out.PublisherId)
	set(model, "TypeName", out.OriginalTypeName)
	set(model, "TypeNameAlias", out.TypeName)
	return model, nil
}

// hookConfigurations are AWS::CloudFormation::HookTypeConfig.
type hookConfigurations struct{}

func (h hookConfigurations) step(c *call) (operation.Progress, error) {
	in := &cloudformation.SetTypeConfigurationInput{TypeArn: c.optional("TypeArn"), Configuration: c.optional("Configuration"), ConfigurationAlias: c.optional("ConfigurationAlias")}
	if in.TypeArn == nil {
		in.Type, in.TypeName = cfn.ThirdPartyTypeHook, c.optional("TypeName")
	}
	switch c.request.Action {
	case invoke.Delete:
		return h.disable(c)
	case invoke.Update:
		if h.name(c, in) != c.request.Identifier {
			return unchangeable(c, "TypeArn and TypeName"), nil
		}
	}
	out, err := do[cloudformation.SetTypeConfigurationOutput](c, "cloudformation", "SetTypeConfiguration", in)
	if err != nil {
		return operation.Progress{}, err
	}
	return succeeded(*out.ConfigurationArn), nil
}

// name is the ARN of the configuration that a request sets.
func (hookConfigurations) name(c *call, in *cloudformation.SetTypeConfigurationInput) string {
	arn, ok := schema.ParseTypeARN(aws.ToString(in.TypeArn))
	if !ok {
		arn = c.privateARN(schema.Hook, aws.ToString(in.TypeName))
	}
	alias := aws.ToString(in.ConfigurationAlias)
	if alias == "" {
		alias = "default"
	}
	return arn.Configuration(alias)
}

// disable is a delete: a configuration cannot be removed, but the hook applies to no stack any
// more.
func (h hookConfigurations) disable(c *call) (operation.Progress, error) {
	model, err := h.read(c)
	if err != nil {
		return operation.Progress{}, err
	}
	var configuration map[string]any
	text, _ := model["Configuration"].(string)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&configuration); err != nil {
		return operation.Progress{}, fmt.Errorf("read the configuration of a hook: %w", err)
	}
	wrapper, _ := configuration["CloudFormationConfiguration"].(map[string]any)
	hook, ok := wrapper["HookConfiguration"].(map[string]any)
	if !ok {
		return succeeded(c.request.Identifier), nil
	}
	hook["TargetStacks"] = "NONE"
	changed, err := json.Marshal(configuration)
	if err != nil {
		return operation.Progress{}, err
	}
	typeARN, _ := model["TypeArn"].(string)
	_, err = do[cloudformation.SetTypeConfigurationOutput](c, "cloudformation", "SetTypeConfiguration",
		&cloudformation.SetTypeConfigurationInput{TypeArn: &typeARN, Configuration: aws.String(string(changed))})
	return succeeded(c.request.Identifier), err
}

func (hookConfigurations) read(c *call) (map[string]any, error) {
	arn, alias, ok := schema.ParseConfigurationARN(c.request.Identifier)
	if !ok || arn.Kind != schema.Hook {
		return nil, missing()
	}
	return c.hookConfiguration(cfn.TypeConfigurationIdentifier{TypeArn: aws.String(arn.String()), TypeConfigurationAlias: &alias})
}

// hookConfiguration reads a configuration that was set.
func (c *call) hookConfiguration(identifier cfn.TypeConfigurationIdentifier) (map[string]any, error) {
	out, err := do[cloudformation.BatchDescribeTypeConfigurationsOutput](c, "cloudformation", "BatchDescribeTypeConfigurations",
		&cloudformation.BatchDescribeTypeConfigurationsInput{TypeConfigurationIdentifiers: []cfn.TypeConfigurationIdentifier{identifier}})
	switch {
	case err != nil:
		return nil, err
	case len(out.UnprocessedTypeConfigurations) > 0:
		return nil, fmt.Errorf("the configuration %s cannot be read", c.request.Identifier)
	case len(out.TypeConfigurations) == 0 || out.TypeConfigurations[0].LastUpdated == nil:
		return nil, missing()
	}
	found := out.TypeConfigurations[0]
	arn, _ := schema.ParseTypeARN(aws.ToString(found.TypeArn))
	model := map[string]any{"TypeName": arn.TypeName, "TypeArn": arn.String()}
	set(model, "ConfigurationArn", found.Arn)
	set(model, "Configuration", found.Configuration)
	set(model, "ConfigurationAlias", found.Alias)
	return model, nil
}
