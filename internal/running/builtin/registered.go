package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfn "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A state is what a stepped kind remembers between its calls.
type state struct {
	Token   string `json:",omitempty"` // of a registration
	Version string `json:",omitempty"` // ARN of the version that is tested
	Calls   int    // number of calls
}

// state reads the callback context; the zero state is that of the first call.
func (c *call) state() (state, error) {
	var s state
	if c.request.Callback == nil {
		return s, nil
	}
	if err := json.Unmarshal(c.request.Callback, &s); err != nil {
		return s, fmt.Errorf("read the callback context: %w", err)
	}
	return s, nil
}

const (
	firstPoll = 100 * time.Millisecond
	lastPoll  = 5 * time.Second
)

// again is the outcome of a call that has to be followed by another. The waits grow.
func (s state) again(identifier string) (operation.Progress, error) {
	wait := min(firstPoll<<min(s.Calls, 10), lastPoll)
	s.Calls++
	callback, err := json.Marshal(s)
	return operation.Progress{Status: cfn.OperationStatusInProgress, Identifier: identifier, Callback: callback, Delay: wait}, err
}

func succeeded(identifier string) operation.Progress {
	return operation.Progress{Status: cfn.OperationStatusSuccess, Identifier: identifier}
}

// notStabilized is the outcome of a create whose registration or test failed for a reason.
func notStabilized(c *call, identifier, reason string) operation.Progress {
	message := fmt.Sprintf("Resource of type '%s' with identifier '%s' did not stabilize.", c.request.Type, identifier)
	if reason != "" {
		message += " " + reason
	}
	return operation.Progress{Status: cfn.OperationStatusFailed, Identifier: identifier, ErrorCode: string(invoke.NotStabilized), Message: message}
}

// missing is the error of a resource that does not exist.
func missing() error { return awswire.Errorf("NotFound", 0, "The resource does not exist.") }

// unchangeable refuses an update that would make another resource of this one.
func unchangeable(c *call, properties string) operation.Progress {
	return operation.Progress{
		Status: cfn.OperationStatusFailed, Identifier: c.request.Identifier, ErrorCode: "NotUpdatable",
		Message: fmt.Sprintf("%s of %s cannot name another extension in an update. Replace the resource: give it another logical ID.", properties, c.request.Type),
	}
}

// privateARN is the ARN of an extension in the account of the caller.
func (c *call) privateARN(kind schema.Kind, typeName string) schema.TypeARN {
	return schema.TypeARN{Partition: c.request.Caller.Partition(), Region: c.request.Caller.Region, Account: c.request.Caller.Account, Kind: kind, TypeName: typeName}
}

// describe describes the extension of an ARN, which must be a live one of the account.
func (c *call) describe(arn string) (*cloudformation.DescribeTypeOutput, schema.TypeARN, error) {
	parsed, ok := schema.ParseTypeARN(arn)
	if !ok || parsed.Account != c.request.Caller.Account {
		return nil, parsed, missing()
	}
	out, err := do[cloudformation.DescribeTypeOutput](c, "cloudformation", "DescribeType", &cloudformation.DescribeTypeInput{Arn: &arn})
	if err == nil && out.DeprecatedStatus == cfn.DeprecatedStatusDeprecated {
		err = missing()
	}
	return out, parsed, err
}

// describeVersion describes a version that is registered in the account.
func (c *call) describeVersion(arn string, kind cfn.RegistryType) (*cloudformation.DescribeTypeOutput, error) {
	out, parsed, err := c.describe(arn)
	if err == nil && (out.Type != kind || parsed.Version == "" || aws.ToString(out.Arn) != arn || out.Visibility != cfn.VisibilityPrivate) {
		err = missing()
	}
	return out, err
}

// loggingConfig is the property of that name.
func (c *call) loggingConfig() *cfn.LoggingConfig {
	config, ok := c.desired["LoggingConfig"].(map[string]any)
	if !ok {
		return nil
	}
	group, _ := config["LogGroupName"].(string)
	role, _ := config["LogRoleArn"].(string)
	return &cfn.LoggingConfig{LogGroupName: &group, LogRoleArn: &role}
}

// versions are the types whose resources are versions in the registry. name and code are the
// properties with the name of the extension and the URL of its package.
type versions struct {
	kind       cfn.RegistryType
	name, code string
}

func (v versions) step(c *call) (operation.Progress, error) {
	switch c.request.Action {
	case invoke.Create:
		return v.register(c)
	case invoke.Delete:
		return v.deregister(c)
	}
	return succeeded(c.request.Identifier), nil // all properties are create-only
}

// register starts a registration, or polls it. A call that is repeated after a crash starts
// none: the registration has the client request token of the operation.
func (v versions) register(c *call) (operation.Progress, error) {
	now, err := c.state()
	if err != nil {
		return operation.Progress{}, err
	}
	if now.Token == "" {
		out, err := do[cloudformation.RegisterTypeOutput](c, "cloudformation", "RegisterType", &cloudformation.RegisterTypeInput{
			Type: v.kind, TypeName: c.optional(v.name), SchemaHandlerPackage: c.optional(v.code), ClientRequestToken: &c.request.Token,
			ExecutionRoleArn: c.optional("ExecutionRoleArn"), LoggingConfig: c.loggingConfig(),
		})
		if err != nil {
			return operation.Progress{}, err
		}
		now.Token = *out.RegistrationToken
	}
	out, err := do[cloudformation.DescribeTypeRegistrationOutput](c, "cloudformation", "DescribeTypeRegistration",
		&cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &now.Token})
	if err != nil {
		return operation.Progress{}, err
	}
	arn := aws.ToString(out.TypeVersionArn)
	switch out.ProgressStatus {
	case cfn.RegistrationStatusComplete:
		return succeeded(arn), nil
	case cfn.RegistrationStatusFailed:
		return notStabilized(c, arn, aws.ToString(out.Description)), nil
	}
	return now.again(arn)
}

func (v versions) read(c *call) (map[string]any, error) {
	out, err := c.describeVersion(c.request.Identifier, v.kind)
	if err != nil {
		return nil, err
	}
	typeARN, version, _ := cutLast(*out.Arn)
	model := map[string]any{"Arn": *out.Arn, "VersionId": version, "Visibility": string(out.Visibility), v.name: aws.ToString(out.TypeName)}
	set(model, "IsDefaultVersion", out.IsDefaultVersion)
	if v.kind == cfn.RegistryTypeModule {
		model["DocumentationUrl"] = aws.ToString(out.DocumentationUrl)
		set(model, "Description", out.Description)
		set(model, "Schema", out.Schema)
		if out.TimeCreated != nil {
			model["TimeCreated"] = out.TimeCreated.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		return model, nil
	}
	model["TypeArn"] = typeARN
	set(model, "ExecutionRoleArn", out.ExecutionRoleArn)
	if out.ProvisioningType != "" {
		model["ProvisioningType"] = string(out.ProvisioningType)
	}
	if out.LoggingConfig != nil {
		config := map[string]any{}
		set(config, "LogGroupName", out.LoggingConfig.LogGroupName)
		set(config, "LogRoleArn", out.LoggingConfig.LogRoleArn)
		model["LoggingConfig"] = config
	}
	return model, nil
}

// cutLast splits an ARN of a version into that of the extension and the version.
func cutLast(arn string) (extension, version string, ok bool) {
	i := strings.LastIndexByte(arn, '/')
	if i < 0 {
		return arn, "", false
	}
	return arn[:i], arn[i+1:], true
}

// deregister takes the version out of use: the default version by deregistering the extension,
// which the registry refuses while it has other versions. The registration of a create that was
// canceled is waited for, so that no version is left behind.
func (v versions) deregister(c *call) (operation.Progress, error) {
	now, err := c.state()
	if err != nil {
		return operation.Progress{}, err
	}
	out, err := c.describeVersion(c.request.Identifier, v.kind)
	if err != nil && code(err) == "NotFound" {
		pending, failed := v.registering(c)
		switch {
		case failed != nil:
			return operation.Progress{}, failed
		case pending:
			return now.again(c.request.Identifier)
		}
		out, err = c.describeVersion(c.request.Identifier, v.kind) // its registration may have completed in between
	}
	switch {
	case err != nil && code(err) == "NotFound" && c.request.Callback != nil:
		return succeeded(c.request.Identifier), nil // by an earlier call
	case err != nil:
		return operation.Progress{}, err
	case c.request.Callback == nil:
		return now.again(c.request.Identifier) // a client that finds nothing after this has deleted it
	}
	in := &cloudformation.DeregisterTypeInput{Arn: out.Arn}
	if aws.ToBool(out.IsDefaultVersion) {
		in = &cloudformation.DeregisterTypeInput{Type: v.kind, TypeName: out.TypeName}
	}
	if _, err = do[cloudformation.DeregisterTypeOutput](c, "cloudformation", "DeregisterType", in); err != nil {
		return operation.Progress{}, err
	}
	return succeeded(c.request.Identifier), nil
}

// registering reports whether the version is being registered.
func (v versions) registering(c *call) (bool, error) {
	arn, ok := schema.ParseTypeARN(c.request.Identifier)
	if !ok || cfn.RegistryType(arn.Kind) != v.kind {
		return false, nil
	}
	in := &cloudformation.ListTypeRegistrationsInput{Type: v.kind, TypeName: &arn.TypeName, RegistrationStatusFilter: cfn.RegistrationStatusInProgress}
	for {
		out, err := do[cloudformation.ListTypeRegistrationsOutput](c, "cloudformation", "ListTypeRegistrations", in)
		if err != nil {
			return false, err
		}
		for _, token := range out.RegistrationTokenList {
			one, err := do[cloudformation.DescribeTypeRegistrationOutput](c, "cloudformation", "DescribeTypeRegistration",
				&cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
			if err != nil {
				return false, err
			}
			// One that has completed meanwhile is found by the next call.
			if aws.ToString(one.TypeVersionArn) == c.request.Identifier && one.ProgressStatus != cfn.RegistrationStatusFailed {
				return true, nil
			}
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			return false, nil
		}
	}
}

// defaultVersions are the types whose resources are the default versions of resource types or
// hooks. What they set stays when they are deleted.
type defaultVersions struct{ kind cfn.RegistryType }

func (v defaultVersions) step(c *call) (operation.Progress, error) {
	if c.request.Action == invoke.Delete {
		return succeeded(c.request.Identifier), nil
	}
	in := &cloudformation.SetTypeDefaultVersionInput{Arn: c.optional("TypeVersionArn")}
	var identifier string
	if in.Arn != nil {
		identifier = *in.Arn
		if arn, ok := schema.ParseTypeARN(*in.Arn); ok {
			identifier = arn.WithVersion("").String()
		}
	} else {
		in = &cloudformation.SetTypeDefaultVersionInput{Type: v.kind, TypeName: c.optional("TypeName"), VersionId: c.optional("VersionId")}
		identifier = c.privateARN(schema.Kind(v.kind), c.text("TypeName")).String()
	}
	if c.request.Action == invoke.Update && identifier != c.request.Identifier {
		return unchangeable(c, "TypeVersionArn and TypeName"), nil
	}
	_, err := do[cloudformation.SetTypeDefaultVersionOutput](c, "cloudformation", "SetTypeDefaultVersion", in)
	return succeeded(identifier), err
}

func (v defaultVersions) read(c *call) (map[string]any, error) {
	out, arn, err := c.describe(c.request.Identifier)
	switch {
	case err != nil:
		return nil, err
	case out.Type != v.kind || arn.Version != "" || out.Visibility != cfn.VisibilityPrivate:
		return nil, missing()
	}
	model := map[string]any{"Arn": arn.String()}
	set(model, "TypeVersionArn", out.Arn)
	set(model, "VersionId", out.DefaultVersionId)
	set(model, "TypeName", out.TypeName)
	return model, nil
}

// moduleDefaultVersions are AWS::CloudFormation::ModuleDefaultVersion, which other than those of
// resource types and hooks are identified by the version.
type moduleDefaultVersions struct{}

func (moduleDefaultVersions) step(c *call) (operation.Progress, error) {
	if c.request.Action != invoke.Create { // all properties are create-only
		return succeeded(c.request.Identifier), nil
	}
	identifier := c.text("Arn")
	in := &cloudformation.SetTypeDefaultVersionInput{Arn: c.optional("Arn")}
	if in.Arn == nil {
		in = &cloudformation.SetTypeDefaultVersionInput{Type: cfn.RegistryTypeModule, TypeName: c.optional("ModuleName"), VersionId: c.optional("VersionId")}
		identifier = c.privateARN(schema.Module, c.text("ModuleName")).WithVersion(c.text("VersionId")).String()
	}
	_, err := do[cloudformation.SetTypeDefaultVersionOutput](c, "cloudformation", "SetTypeDefaultVersion", in)
	return succeeded(identifier), err
}

func (moduleDefaultVersions) read(c *call) (map[string]any, error) {
	out, err := c.describeVersion(c.request.Identifier, cfn.RegistryTypeModule)
	if err == nil && !aws.ToBool(out.IsDefaultVersion) {
		err = missing()
	}
	return map[string]any{"Arn": c.request.Identifier}, err
}
