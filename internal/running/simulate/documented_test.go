package simulate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/proving/sample"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

// documented are what AWS documents of the types that templates use most: Ref and attributes of a resource with the inputs,
// as regular expressions for whole values.
const documented = `
AWS::ApiGateway::Deployment {"RestApiId": "a1bcdef2gh"} Ref=[a-z0-9]{6} DeploymentId=[a-z0-9]{6}
AWS::ApiGateway::Resource {"RestApiId": "a1bcdef2gh", "ParentId": "p", "PathPart": "x"} Ref=[a-z0-9]{6}
AWS::ApiGateway::RestApi {"Name": "api"} Ref=[a-z0-9]{10} RootResourceId=[a-z0-9]{10}
AWS::ApiGateway::Stage {"RestApiId": "a1bcdef2gh", "StageName": "prod"} Ref=prod
AWS::ApiGateway::UsagePlan {} Ref=[a-z0-9]{6}
AWS::ApiGatewayV2::Api {"Name": "api", "ProtocolType": "HTTP"} Ref=[a-z0-9]{10} ApiEndpoint=https://[a-z0-9]{10}\.execute-api\.eu-west-1\.amazonaws\.com
AWS::ApiGatewayV2::Integration {"ApiId": "a1", "IntegrationType": "AWS_PROXY"} Ref=[a-z0-9]{7}
AWS::ApiGatewayV2::Route {"ApiId": "a1", "RouteKey": "GET /"} Ref=[a-z0-9]{7}
AWS::ApiGatewayV2::Stage {"ApiId": "a1", "StageName": "$default"} Ref=\$default
AWS::AppSync::GraphQLApi {"Name": "api", "AuthenticationType": "API_KEY"} Ref=arn:aws:appsync:eu-west-1:111122223333:apis/[a-z0-9]{26} GraphQLUrl=https://[a-z0-9]{26}\.appsync-api\.eu-west-1\.amazonaws\.com/graphql
AWS::AutoScaling::AutoScalingGroup {"MinSize": "0", "MaxSize": "1"} Ref=Stack-R-[A-Z0-9]{12}
AWS::AutoScaling::ScalingPolicy {"AutoScalingGroupName": "g"} Ref=arn:aws:autoscaling:eu-west-1:111122223333:scalingPolicy:[0-9a-f-]{36}:autoScalingGroupName/g:policyName/Stack-R-[A-Z0-9]{12}
AWS::CertificateManager::Certificate {"DomainName": "example.org"} Ref=arn:aws:acm:eu-west-1:111122223333:certificate/[0-9a-f-]{36}
AWS::CloudFront::CloudFrontOriginAccessIdentity {"CloudFrontOriginAccessIdentityConfig": {"Comment": "c"}} Ref=E[A-Z0-9]{13}
AWS::CloudFront::Distribution {"DistributionConfig": {"Enabled": true}} Ref=E[A-Z0-9]{13} DomainName=d[a-z0-9]{13}\.cloudfront\.net
AWS::CloudWatch::Alarm {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:cloudwatch:eu-west-1:111122223333:alarm:Stack-R-[A-Z0-9]{12}
AWS::CodeBuild::Project {"Name": "build", "Artifacts": {"Type": "NO_ARTIFACTS"}, "ServiceRole": "r", "Source": {"Type": "NO_SOURCE"}, "Environment": {"Type": "LINUX_CONTAINER", "ComputeType": "c", "Image": "i"}} Ref=build Arn=arn:aws:codebuild:eu-west-1:111122223333:project/build
AWS::CodePipeline::Pipeline {"RoleArn": "arn:aws:iam::111122223333:role/r", "Stages": [{"Name": "a", "Actions": [{"Name": "c"}]}, {"Name": "b", "Actions": [{"Name": "c"}]}]} Ref=Stack-R-[A-Z0-9]{12}
AWS::Cognito::IdentityPool {"AllowUnauthenticatedIdentities": false} Ref=eu-west-1:[0-9a-f-]{36}
AWS::Cognito::UserPool {} Ref=eu-west-1_[A-Za-z0-9]{9} Arn=arn:aws:cognito-idp:eu-west-1:111122223333:userpool/eu-west-1_[A-Za-z0-9]{9} ProviderURL=https://cognito-idp\.eu-west-1\.amazonaws\.com/eu-west-1_[A-Za-z0-9]{9}
AWS::Cognito::UserPoolClient {"UserPoolId": "eu-west-1_abcdefghi"} Ref=[a-z0-9]{26} ClientId=[a-z0-9]{26}
AWS::Cognito::UserPoolDomain {"UserPoolId": "eu-west-1_abcdefghi", "Domain": "shop"} Ref=shop
AWS::Config::ConfigRule {"Source": {"Owner": "AWS", "SourceIdentifier": "X"}} Ref=Stack-R-[A-Z0-9]{12} Compliance.Type=COMPLIANT Arn=arn:aws:config:eu-west-1:111122223333:config-rule/config-rule-[a-z0-9]{6}
AWS::DirectoryService::SimpleAD {"Name": "corp.example.com", "Size": "Small", "VpcSettings": {"VpcId": "vpc-12345678", "SubnetIds": ["subnet-12345678", "subnet-23456789"]}} Ref=d-[0-9a-f]{10} DnsIpAddresses.0=10\.0\.[0-9.]+ DnsIpAddresses.1=10\.0\.[0-9.]+
AWS::DynamoDB::Table {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:dynamodb:eu-west-1:111122223333:table/Stack-R-[A-Z0-9]{12} StreamArn=arn:aws:dynamodb:.*/stream/2026-01-02T03:04:05Z
AWS::EC2::EIP {} Ref=198\.18\.[0-9]+\.[0-9]+ AllocationId=eipalloc-[0-9a-f]{17}
AWS::EC2::FlowLog {"ResourceId": "vpc-1", "ResourceType": "VPC"} Ref=fl-[0-9a-f]{17}
AWS::EC2::Instance {"ImageId": "ami-1", "KeyName": "team"} Ref=i-[0-9a-f]{17} AvailabilityZone=eu-west-1a PrivateIp=10\.0\.[0-9.]+ PublicDnsName=ec2-198-18-[0-9]+-[0-9]+\.eu-west-1\.compute\.amazonaws\.com
AWS::EC2::InternetGateway {} Ref=igw-[0-9a-f]{17}
AWS::EC2::LaunchTemplate {"LaunchTemplateData": {}} Ref=lt-[0-9a-f]{17} LatestVersionNumber=1
AWS::EC2::NatGateway {"SubnetId": "subnet-1"} Ref=nat-[0-9a-f]{17}
AWS::EC2::NetworkInterface {"SubnetId": "subnet-1", "SecondaryPrivateIpAddressCount": 2} Ref=eni-[0-9a-f]{17} SecondaryPrivateIpAddresses.1=10\.0\.[0-9.]+
AWS::EC2::NetworkInterface {"SubnetId": "subnet-1", "PrivateIpAddresses": [{"PrivateIpAddress": "10.0.0.4", "Primary": false}, {"PrivateIpAddress": "10.0.0.5", "Primary": true}]} PrimaryPrivateIpAddress=10\.0\.0\.5 SecondaryPrivateIpAddresses.0=10\.0\.0\.4
AWS::EC2::Route {"RouteTableId": "rtb-1", "DestinationCidrBlock": "0.0.0.0/0"} Ref=rtb-1\|0\.0\.0\.0/0
AWS::EC2::RouteTable {"VpcId": "vpc-1"} Ref=rtb-[0-9a-f]{17}
AWS::EC2::SecurityGroup {"GroupDescription": "d", "GroupName": "g"} Ref=sg-[0-9a-f]{17} GroupId=sg-[0-9a-f]{17}
AWS::EC2::SecurityGroupIngress {"IpProtocol": "tcp"} Ref=sgr-[0-9a-f]{17}
AWS::EC2::Subnet {"VpcId": "vpc-1"} Ref=subnet-[0-9a-f]{17} AvailabilityZone=eu-west-1a
AWS::EC2::SubnetRouteTableAssociation {"RouteTableId": "rtb-1", "SubnetId": "subnet-1"} Ref=rtbassoc-[0-9a-f]{17}
AWS::EC2::VPC {"CidrBlock": "10.0.0.0/16"} Ref=vpc-[0-9a-f]{17} DefaultSecurityGroup=sg-[0-9a-f]{17} Ipv6CidrBlocks.0=2001:db8:[0-9a-f]{4}:[0-9a-f]{2}00::/56
AWS::EC2::VPCEndpoint {"VpcId": "vpc-1", "ServiceName": "com.amazonaws.eu-west-1.sqs", "SubnetIds": ["subnet-1", "subnet-2"]} Ref=vpce-[0-9a-f]{17} NetworkInterfaceIds.1=eni-[0-9a-f]{17} DnsEntries.0=Z[A-Z0-9]{13}:vpce-[0-9a-f]{17}-[a-z0-9]{8}\.sqs\.eu-west-1\.vpce\.amazonaws\.com
AWS::EC2::VPCGatewayAttachment {"VpcId": "vpc-1", "InternetGatewayId": "igw-1"} Ref=IGW\|vpc-1
AWS::EC2::Volume {"AvailabilityZone": "eu-west-1a"} Ref=vol-[0-9a-f]{17}
AWS::ECR::Repository {} Ref=stack-r-[a-z0-9]{12} RepositoryUri=111122223333\.dkr\.ecr\.eu-west-1\.amazonaws\.com/stack-r-[a-z0-9]{12}
AWS::ECS::Cluster {} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:ecs:eu-west-1:111122223333:cluster/Stack-R-[A-Z0-9]{12}
AWS::ECS::Service {"ServiceName": "web", "Cluster": "arn:aws:ecs:eu-west-1:111122223333:cluster/c"} Ref=arn:aws:ecs:eu-west-1:111122223333:service/c/web Name=web
AWS::ECS::TaskDefinition {"Family": "web"} Ref=arn:aws:ecs:eu-west-1:111122223333:task-definition/web:[12]
AWS::EFS::FileSystem {} Ref=fs-[0-9a-f]{17}
AWS::EKS::Cluster {"Name": "k", "RoleArn": "r", "ResourcesVpcConfig": {"SubnetIds": []}} Ref=k CertificateAuthority.Data=LS0t[A-Za-z0-9]+ OpenIdConnectIssuerUrl=https://oidc\.eks\.eu-west-1\.amazonaws\.com/id/[A-Z0-9]{32}
AWS::ElastiCache::ReplicationGroup {"ReplicationGroupDescription": "d"} Ref=stack-r-[a-z0-9]{12} PrimaryEndPoint.Address=stack-r-[a-z0-9.]+\.eu-west-1\.cache\.amazonaws\.com PrimaryEndPoint.Port=6379
AWS::ElasticLoadBalancingV2::Listener {"LoadBalancerArn": "arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/app/l/50dc6c495c0c9188", "DefaultActions": [{"Type": "forward"}]} Ref=arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener/app/l/50dc6c495c0c9188/[0-9a-f]{16}
AWS::ElasticLoadBalancingV2::ListenerRule {"ListenerArn": "arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener/app/l/50dc6c495c0c9188/f2f7dc8efc522ab2", "Priority": 1, "Actions": [], "Conditions": []} Ref=arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener-rule/app/l/50dc6c495c0c9188/f2f7dc8efc522ab2/[0-9a-f]{16}
AWS::ElasticLoadBalancingV2::LoadBalancer {"Type": "network"} Ref=arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/net/Stack-R-[A-Z0-9]{12}/[0-9a-f]{16} DNSName=Stack-R-[A-Z0-9]{12}-[0-9]{10}\.eu-west-1\.elb\.amazonaws\.com CanonicalHostedZoneID=Z[A-Z0-9]{13}
AWS::ElasticLoadBalancingV2::TargetGroup {} Ref=arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/Stack-R-[A-Z0-9]{12}/[0-9a-f]{16}
AWS::Events::Connection {"Name": "c"} Ref=c Arn=arn:aws:events:eu-west-1:111122223333:connection/c/[0-9a-f-]{36}
AWS::Events::EventBus {"Name": "bus"} Ref=bus Arn=arn:aws:events:eu-west-1:111122223333:event-bus/bus
AWS::Events::Rule {"EventBusName": "bus", "Name": "r"} Ref=bus\|r Arn=arn:aws:events:eu-west-1:111122223333:rule/bus/r
AWS::IAM::AccessKey {"UserName": "u"} Ref=AKIA[A-Z0-9]{16} SecretAccessKey=[A-Za-z0-9]{40}
AWS::IAM::InstanceProfile {"Roles": ["r"]} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:iam::111122223333:instance-profile/Stack-R-[A-Z0-9]{12}
AWS::IAM::ManagedPolicy {"PolicyDocument": {}} Ref=arn:aws:iam::111122223333:policy/Stack-R-[A-Z0-9]{12}
AWS::IAM::Policy {"PolicyName": "p", "PolicyDocument": {}} Ref=Stack-R-[A-Z0-9]{12}
AWS::IAM::Role {"AssumeRolePolicyDocument": {}, "Path": "/team/"} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:iam::111122223333:role/team/Stack-R-[A-Z0-9]{12} RoleId=AROA[A-Z0-9]{17}
AWS::KMS::Key {} Ref=[0-9a-f-]{36} Arn=arn:aws:kms:eu-west-1:111122223333:key/[0-9a-f-]{36}
AWS::Kinesis::Stream {} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:kinesis:eu-west-1:111122223333:stream/Stack-R-[A-Z0-9]{12}
AWS::Lambda::EventSourceMapping {"FunctionName": "f"} Ref=[0-9a-f-]{36}
AWS::Lambda::Function {"Code": {}, "Role": "arn:aws:iam::111122223333:role/r"} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:lambda:eu-west-1:111122223333:function:Stack-R-[A-Z0-9]{12}
AWS::Lambda::LayerVersion {"LayerName": "l", "Content": {"S3Bucket": "bucket", "S3Key": "k"}} Ref=arn:aws:lambda:eu-west-1:111122223333:layer:l:[12]
AWS::Lambda::Permission {"FunctionName": "f", "Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com"} Ref=Stack-R-[A-Z0-9]{12}
AWS::Lambda::Url {"TargetFunctionArn": "f", "AuthType": "NONE"} Ref=arn:aws:lambda:eu-west-1:111122223333:function:f FunctionUrl=https://[a-z0-9]{32}\.lambda-url\.eu-west-1\.on\.aws/
AWS::Logs::LogGroup {} Ref=Stack-R-[A-Z0-9]{12} Arn=arn:aws:logs:eu-west-1:111122223333:log-group:Stack-R-[A-Z0-9]{12}:\*
AWS::Logs::QueryDefinition {"Name": "q", "QueryString": "s"} Ref=[0-9a-f-]{36}
AWS::RDS::DBInstance {"Engine": "postgres"} Ref=stack-r-[a-z0-9]{12} Endpoint.Address=stack-r-[a-z0-9]{12}\.[a-z0-9]{12}\.eu-west-1\.rds\.amazonaws\.com Endpoint.Port=5432 MasterUserSecret.SecretArn=arn:aws:secretsmanager:eu-west-1:111122223333:secret:rds!db-.*
AWS::Route53::HostedZone {"Name": "example.org"} Ref=Z[A-Z0-9]{20} NameServers.3=ns-[0-9]{3}\.awsdns-[0-9]{2}\.co\.uk
AWS::Route53::RecordSet {"Name": "a.example.org", "Type": "A", "HostedZoneId": "Z1", "SetIdentifier": "s"} Ref=a\.example\.org
AWS::S3::Bucket {} Ref=stack-r-[a-z0-9]{12} RegionalDomainName=stack-r-[a-z0-9]{12}\.s3\.eu-west-1\.amazonaws\.com
AWS::SES::EmailIdentity {"EmailIdentity": "example.com"} Ref=example\.com DkimDNSTokenName1=[a-z0-9]{32}\._domainkey\.example\.com DkimDNSTokenValue2=[a-z0-9]{32}\.dkim\.amazonses\.com
AWS::SNS::Subscription {"TopicArn": "arn:aws:sns:eu-west-1:111122223333:t", "Protocol": "sqs"} Ref=arn:aws:sns:eu-west-1:111122223333:t:[0-9a-f-]{36}
AWS::SNS::Topic {} Ref=arn:aws:sns:eu-west-1:111122223333:Stack-R-[A-Z0-9]{12}
AWS::SQS::Queue {"FifoQueue": true} Ref=https://sqs\.eu-west-1\.amazonaws\.com/111122223333/Stack-R-[A-Z0-9]{12}\.fifo Arn=arn:aws:sqs:eu-west-1:111122223333:Stack-R-[A-Z0-9]{12}\.fifo
AWS::SecretsManager::Secret {"Name": "s"} Ref=arn:aws:secretsmanager:eu-west-1:111122223333:secret:s-[A-Za-z0-9]{6}
AWS::StepFunctions::StateMachine {"RoleArn": "arn:aws:iam::111122223333:role/r"} Ref=arn:aws:states:eu-west-1:111122223333:stateMachine:Stack-R-[A-Z0-9]{12} Name=Stack-R-[A-Z0-9]{12}
AWS::VpcLattice::Service {"Name": "svc"} Ref=arn:aws:vpc-lattice:eu-west-1:111122223333:service/svc-[0-9a-f]{17} DnsEntry.DomainName=svc-[0-9a-f]{17}\.[a-z0-9]{7}\.vpc-lattice-svcs\.eu-west-1\.on\.aws
AWS::WAFv2::WebACL {"Name": "w", "Scope": "REGIONAL", "DefaultAction": {}, "VisibilityConfig": {}} Ref=w\|[0-9a-f-]{36}\|REGIONAL
`

// named are the types of which two resources with the inputs in the table cannot be in one account, as on AWS.
var named = map[string]bool{
	"AWS::ApiGateway::Stage": true, "AWS::ApiGatewayV2::Stage": true, "AWS::CodeBuild::Project": true, "AWS::Cognito::UserPoolDomain": true,
	"AWS::EC2::Route": true, "AWS::EC2::VPCGatewayAttachment": true, "AWS::ECS::Service": true, "AWS::EKS::Cluster": true,
	"AWS::Events::Connection": true, "AWS::Events::EventBus": true, "AWS::Events::Rule": true, "AWS::Lambda::Url": true,
	"AWS::Route53::RecordSet": true, "AWS::SES::EmailIdentity": true, "AWS::VpcLattice::Service": true,
}

// publishedSchemas are the schemas of the AWS types that an installed cfn-lint has, by the name of the type.
func publishedSchemas(t *testing.T) map[string][]byte {
	t.Helper()
	pattern := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "cfncli", "lib", "python3*", "site-packages", "cfnlint", "data", "schemas", "resources", "*.json")
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("FORMWORK_CLIENTS has no folder cfncli with cfn-lint: see .ci/run")
		}
		t.Skip("FORMWORK_CLIENTS has no folder cfncli with cfn-lint")
	}
	out := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var head struct{ TypeName string }
		if err := json.Unmarshal(text, &head); err != nil {
			t.Fatal(err)
		}
		out[head.TypeName] = text
	}
	return out
}

func TestDocumentedForms(t *testing.T) {
	schemas := publishedSchemas(t)
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "AWS::*")
	var documents []simulate.Document
	rows := strings.Split(strings.TrimSpace(documented), "\n")
	for _, row := range rows {
		name, _, _ := strings.Cut(row, " ")
		documents = append(documents, simulate.Document{Name: name, Text: schemas[name]})
	}
	if _, problems, err := shelf.Import(t.Context(), documents); err != nil || len(problems) > 0 {
		t.Fatalf("Import: %v, %v", problems, err)
	}
	for _, row := range rows {
		name, rest, _ := strings.Cut(row, " ")
		t.Run(name, func(t *testing.T) {
			var desired map[string]any
			decoder := json.NewDecoder(strings.NewReader(rest))
			if err := decoder.Decode(&desired); err != nil {
				t.Fatal(err)
			}
			typ, err := shelf.Type(t.Context(), caller, name, "")
			if err != nil {
				t.Fatal(err)
			}
			r := operation.Request{Caller: caller, Action: invoke.Create, Token: t.Name(), Type: name, StackName: "Stack", LogicalID: "R", Desired: desired}
			created := call(t, typ, r)
			if created.Status != types.OperationStatusSuccess {
				t.Fatalf("create: %+v", created)
			}
			for _, violation := range typ.Schema.Check(created.Model, schema.CheckConfig{Shape: true}) {
				t.Errorf("%s: %s", violation.Pointer, violation.Message)
			}
			for want := range strings.FieldsSeq(rest[decoder.InputOffset():]) {
				attribute, pattern, _ := strings.Cut(want, "=")
				value := any(schema.Ref(name, created.Identifier))
				if attribute != "Ref" {
					value, _ = pointer(attribute).Find(created.Model)
				}
				if got := plain(value); !regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(got) {
					t.Errorf("%s is %q, want %s", attribute, got, pattern)
				}
			}
			r.Token += "again"
			if again := call(t, typ, r); (again.Status == types.OperationStatusSuccess) == named[name] {
				t.Errorf("a second one: %+v", again)
			}
		})
	}
}

// TestFormsOfSchemas: each form is of a property that the schema of its type has, and the schema accepts it.
func TestFormsOfSchemas(t *testing.T) {
	text, err := os.ReadFile("forms.txt")
	if err != nil {
		t.Fatal(err)
	}
	schemas := publishedSchemas(t)
	shelf := open(t, fixtures.Place{Dir: fixtures.TempDir(t)}, "AWS::*")
	properties := map[string][]string{}
	var documents []simulate.Document
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(name, "AWS::") {
			continue
		}
		property, _, _ := strings.Cut(rest, " ")
		if schemas[name] == nil {
			t.Errorf("there is no type %s", name)
			continue
		}
		if properties[name] == nil {
			documents = append(documents, simulate.Document{Name: name, Text: schemas[name]})
		}
		properties[name] = append(properties[name], property)
	}
	if _, problems, err := shelf.Import(t.Context(), documents); err != nil || len(problems) > 0 {
		t.Fatalf("Import: %v, %v", problems, err)
	}
	for name, all := range properties {
		typ, err := shelf.Type(t.Context(), caller, name, "")
		if err != nil {
			t.Fatal(err)
		}
		desired, err := sample.New(typ.Schema, sample.Config{Seed: 1, Profile: sample.Minimal}).Create()
		if err != nil {
			desired = map[string]any{"PolicyName": "p"} // a pattern of AWS::ApplicationAutoScaling::ScalingPolicy cannot be used
		}
		created := call(t, typ, operation.Request{Caller: caller, Action: invoke.Create, Token: "t", Type: name, StackName: "stack", LogicalID: "R", Desired: desired})
		for _, property := range all {
			if value, ok := pointer(property).Find(created.Model); !ok || strings.Contains(plain(value), "simulated-") {
				t.Errorf("%s: %s is %v", name, property, value)
			}
		}
	}
}
