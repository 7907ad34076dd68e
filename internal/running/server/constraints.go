package server

import "github.com/formwork-dev/formwork/internal/services/awswire"

// The patterns of the API's shapes.
const (
	patternTypeName      = `[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}(::MODULE){0,1}`
	patternTypeArn       = `arn:aws[A-Za-z0-9-]{0,64}:cloudformation:[A-Za-z0-9-]{1,64}:([0-9]{12})?:type/.+`
	patternPublicTypeArn = `arn:aws[A-Za-z0-9-]{0,64}:cloudformation:[A-Za-z0-9-]{1,64}::type/.+/[0-9a-zA-Z]{12,40}/.+`
	patternConfiguration = `arn:aws[A-Za-z0-9-]{0,64}:cloudformation:[A-Za-z0-9-]{1,64}:([0-9]{12})?:type-configuration/.+`
	patternRole          = `arn:.+:iam::[0-9]{12}:role/.+`
	patternPrefix        = `([A-Za-z0-9]{2,64}::){0,2}([A-Za-z0-9]{2,64}:?){0,1}`
	patternPublicVersion = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(.*)$`
)

// Constraints of members that several operations have. The ARN of a private type is left
// to the registry, which refuses a malformed one in words of its own.
func typeName(member string) awswire.Constraint {
	return awswire.Constraint{Member: member, MinLength: 10, MaxLength: 204, Pattern: patternTypeName}
}

func anyArn(member string) awswire.Constraint {
	return awswire.Constraint{Member: member, MaxLength: 1024}
}

func publisherID(member string) awswire.Constraint {
	return awswire.Constraint{Member: member, MinLength: 1, MaxLength: 40, Pattern: `[0-9a-zA-Z]{12,40}`}
}

func token(member string, required bool) awswire.Constraint {
	return awswire.Constraint{Member: member, Required: required, MinLength: 1, MaxLength: 128, Pattern: `[a-zA-Z0-9][-a-zA-Z0-9]*`}
}

func role(member string, required bool) awswire.Constraint {
	return awswire.Constraint{Member: member, Required: required, MinLength: 1, MaxLength: 256, Pattern: patternRole}
}

var (
	one, hundred, manyMajors = int64(1), int64(100), int64(100000)

	versionID     = awswire.Constraint{Member: "VersionId", MinLength: 1, MaxLength: 128, Pattern: `[A-Za-z0-9-]+`}
	publicVersion = awswire.Constraint{Member: "PublicVersionNumber", MinLength: 5, Pattern: patternPublicVersion}
	alias         = awswire.Constraint{MinLength: 1, MaxLength: 256, Pattern: `^[a-zA-Z0-9]{1,256}$`}
	paging        = []awswire.Constraint{
		{Member: "MaxResults", Min: &one, Max: &hundred},
		{Member: "NextToken", MinLength: 1, MaxLength: 1024},
	}
	logging = []awswire.Constraint{
		role("LoggingConfig.LogRoleArn", true),
		{Member: "LoggingConfig.LogGroupName", Required: true, MinLength: 1, MaxLength: 512, Pattern: `[\.\-_/#A-Za-z0-9]+`},
	}
)

// named is a constraint for another member.
func named(member string, c awswire.Constraint) awswire.Constraint {
	c.Member = member
	return c
}

// registryConstraints are what the members of the registry's operations must satisfy.
var registryConstraints = map[string][]awswire.Constraint{
	"ActivateType": append([]awswire.Constraint{
		{Member: "PublicTypeArn", MaxLength: 1024, Pattern: patternPublicTypeArn},
		publisherID("PublisherId"), typeName("TypeName"), typeName("TypeNameAlias"), role("ExecutionRoleArn", false),
		{Member: "MajorVersion", Min: &one, Max: &manyMajors},
	}, logging...),
	"BatchDescribeTypeConfigurations": {
		{Member: "TypeConfigurationIdentifiers", Required: true, MinLength: 1},
		{Member: "TypeConfigurationIdentifiers[].TypeArn", MaxLength: 1024, Pattern: patternTypeArn},
		{Member: "TypeConfigurationIdentifiers[].TypeConfigurationArn", MaxLength: 1024, Pattern: patternConfiguration},
		named("TypeConfigurationIdentifiers[].TypeConfigurationAlias", alias),
		typeName("TypeConfigurationIdentifiers[].TypeName"),
	},
	"DeactivateType":           {anyArn("Arn"), typeName("TypeName")},
	"DeregisterType":           {anyArn("Arn"), typeName("TypeName"), versionID},
	"DescribePublisher":        {publisherID("PublisherId")},
	"DescribeType":             {anyArn("Arn"), typeName("TypeName"), versionID, publisherID("PublisherId"), publicVersion},
	"DescribeTypeRegistration": {token("RegistrationToken", true)},
	"ListTypeRegistrations":    append([]awswire.Constraint{typeName("TypeName"), anyArn("TypeArn")}, paging...),
	"ListTypeVersions":         append([]awswire.Constraint{typeName("TypeName"), anyArn("Arn"), publisherID("PublisherId")}, paging...),
	"ListTypes": append([]awswire.Constraint{
		publisherID("Filters.PublisherId"),
		{Member: "Filters.TypeNamePrefix", MinLength: 1, MaxLength: 204, Pattern: patternPrefix},
	}, paging...),
	"PublishType": {anyArn("Arn"), typeName("TypeName"), publicVersion},
	"RecordHandlerProgress": {
		{Member: "BearerToken", Required: true, MinLength: 1, MaxLength: 128, Secret: true},
		{Member: "OperationStatus", Required: true},
		{Member: "StatusMessage", MaxLength: 1024, Secret: true},
		{Member: "ResourceModel", MinLength: 1, MaxLength: 16384, Secret: true},
		token("ClientRequestToken", false),
	},
	"RegisterPublisher": {{Member: "ConnectionArn", MinLength: 1, MaxLength: 256, Pattern: `arn:aws(-[\w]+)*:.+:.+:[0-9]{12}:.+`}},
	"RegisterType": append([]awswire.Constraint{
		required(typeName("TypeName")),
		{Member: "SchemaHandlerPackage", Required: true, MinLength: 1, MaxLength: 4096},
		role("ExecutionRoleArn", false), token("ClientRequestToken", false),
	}, logging...),
	"SetTypeConfiguration": {
		anyArn("TypeArn"), typeName("TypeName"), named("ConfigurationAlias", alias),
		{Member: "Configuration", Required: true, MinLength: 1, MaxLength: 204800, Secret: true},
	},
	"SetTypeDefaultVersion": {anyArn("Arn"), typeName("TypeName"), versionID},
	"TestType": {
		anyArn("Arn"), typeName("TypeName"), versionID,
		{Member: "LogDeliveryBucket", MinLength: 3, MaxLength: 63},
	},
}

func required(c awswire.Constraint) awswire.Constraint {
	c.Required = true
	return c
}
