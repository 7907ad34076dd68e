package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// refForms are the types of AWS for which Ref returns something else than the values of the primary identifier, joined with "|":
// for most of them the last part of what identifies a resource, by its position in the primary identifier. {0} is the value
// at position 0.
var refForms = map[string]string{
	"AWS::ApiGateway::Authorizer":                        "{1}",
	"AWS::ApiGateway::Deployment":                        "{0}",
	"AWS::ApiGateway::DocumentationPart":                 "{0}",
	"AWS::ApiGateway::DocumentationVersion":              "{0}",
	"AWS::ApiGateway::Model":                             "{1}",
	"AWS::ApiGateway::RequestValidator":                  "{1}",
	"AWS::ApiGateway::Resource":                          "{1}",
	"AWS::ApiGateway::Stage":                             "{1}",
	"AWS::ApiGatewayV2::ApiMapping":                      "{0}",
	"AWS::ApiGatewayV2::Authorizer":                      "{0}",
	"AWS::ApiGatewayV2::Deployment":                      "{1}",
	"AWS::ApiGatewayV2::Integration":                     "{1}",
	"AWS::ApiGatewayV2::IntegrationResponse":             "{2}",
	"AWS::ApiGatewayV2::Model":                           "{1}",
	"AWS::ApiGatewayV2::Route":                           "{1}",
	"AWS::ApiGatewayV2::RouteResponse":                   "{2}",
	"AWS::ApiGatewayV2::Stage":                           "{1}",
	"AWS::AppConfig::ConfigurationProfile":               "{1}",
	"AWS::AppConfig::Deployment":                         "{2}",
	"AWS::AppConfig::Environment":                        "{1}",
	"AWS::AppConfig::HostedConfigurationVersion":         "{2}",
	"AWS::ApplicationAutoScaling::ScalingPolicy":         "{0}",
	"AWS::Athena::PreparedStatement":                     "{0}",
	"AWS::AutoScaling::LifecycleHook":                    "{1}",
	"AWS::AutoScaling::ScheduledAction":                  "{0}",
	"AWS::CleanRooms::AnalysisTemplate":                  "{0}",
	"AWS::CodeDeploy::DeploymentGroup":                   "{1}",
	"AWS::Cognito::UserPoolClient":                       "{1}",
	"AWS::Cognito::UserPoolDomain":                       "{1}",
	"AWS::Cognito::UserPoolGroup":                        "{1}",
	"AWS::Cognito::UserPoolIdentityProvider":             "{1}",
	"AWS::Cognito::UserPoolResourceServer":               "{1}",
	"AWS::Cognito::UserPoolRiskConfigurationAttachment":  "UserPoolRiskConfigurationAttachment-{0}-{1}",
	"AWS::Cognito::UserPoolUICustomizationAttachment":    "UserPoolUICustomizationAttachment-{0}-{1}",
	"AWS::Cognito::UserPoolUser":                         "{1}",
	"AWS::EC2::EIP":                                      "{0}",
	"AWS::EC2::TransitGatewayMulticastDomainAssociation": "{0}",
	"AWS::EC2::VPCCidrBlock":                             "{0}",
	"AWS::ECS::Service":                                  "{0}",
	"AWS::EMR::InstanceFleetConfig":                      "{1}",
	"AWS::EMR::InstanceGroupConfig":                      "{0}",
	"AWS::ElasticBeanstalk::ApplicationVersion":          "{1}",
	"AWS::ElasticBeanstalk::ConfigurationTemplate":       "{1}",
	"AWS::Glue::Connection":                              "{1}",
	"AWS::Glue::Table":                                   "{2}",
	"AWS::GroundStation::MissionProfile":                 "{1}",
	"AWS::GuardDuty::Filter":                             "{1}",
	"AWS::GuardDuty::IPSet":                              "{0}",
	"AWS::GuardDuty::Master":                             "{1}",
	"AWS::GuardDuty::Member":                             "{1}",
	"AWS::GuardDuty::ThreatIntelSet":                     "{0}",
	"AWS::Lambda::Permission":                            "{1}",
	"AWS::Logs::LogStream":                               "{1}",
	"AWS::Logs::MetricFilter":                            "{1}",
	"AWS::Logs::SubscriptionFilter":                      "{0}",
	"AWS::OpenSearchServerless::AccessPolicy":            "{1}",
	"AWS::OpenSearchServerless::LifecyclePolicy":         "{1}",
	"AWS::OpenSearchServerless::SecurityPolicy":          "{1}",
	"AWS::QLDB::Stream":                                  "{1}",
	"AWS::Route53::RecordSet":                            "{0}",
	"AWS::SES::ReceiptRule":                              "{0}",
	"AWS::SSM::MaintenanceWindowTarget":                  "{1}",
	"AWS::SSM::MaintenanceWindowTask":                    "{1}",
	"AWS::ServiceDiscovery::Instance":                    "{1}",
	"AWS::Wisdom::AssistantAssociation":                  "{0}",
}

// Ref returns what Ref is for a resource with a physical id. It is the physical id, except for some types of AWS: of most
// with several identifiers it is one of them.
func Ref(typeName, physicalID string) string {
	if typeName == ruleType {
		if _, rule, found := strings.Cut(physicalID, ":rule/"); found {
			return strings.ReplaceAll(rule, "/", "|")
		}
		return physicalID
	}
	form, known := refForms[typeName]
	parts := strings.Split(physicalID, "|")
	if !known || len(parts) < 2 {
		return physicalID
	}
	var values []string
	for i, part := range parts {
		values = append(values, "{"+strconv.Itoa(i)+"}", part)
	}
	return strings.NewReplacer(values...).Replace(form)
}

// RefTypes are the names of the types for which [Ref] may differ from the physical id.
func RefTypes() []string {
	return append(slices.Collect(maps.Keys(refForms)), ruleType)
}

// ruleType is the type whose identifier is an ARN.
const ruleType = "AWS::Events::Rule"

// refAttributes are the types of AWS for which Ref is an attribute that is not part of the primary identifier.
var refAttributes = map[string]string{
	"AWS::AppSync::ApiKey":      "Arn",
	"AWS::Batch::JobDefinition": "JobDefinitionArn",
	"AWS::Transfer::User":       "UserName",
}

// RefOf is [Ref] of a resource whose model is known.
func RefOf(typeName, physicalID string, model map[string]any) string {
	if attribute, known := refAttributes[typeName]; known {
		if value, ok := model[attribute].(string); ok && value != "" {
			return value
		}
	}
	return Ref(typeName, physicalID)
}
