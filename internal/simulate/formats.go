package simulate

// lowerCase are the types whose names must not have capital letters, which their schemas
// do not say.
var lowerCase = map[string]bool{
	"AWS::S3::Bucket":      true,
	"AWS::ECR::Repository": true,
}

// formats are the read-only values whose form the service fixes and schemas do not say, by
// type and property. See maker.expand for the variables.
var formats = map[string]string{
	"AWS::ApiGateway::RestApi/RootResourceId":     "${id}",
	"AWS::CloudWatch::Alarm/Arn":                  "arn:${partition}:cloudwatch:${region}:${account}:alarm:${AlarmName}",
	"AWS::DynamoDB::Table/Arn":                    "arn:${partition}:dynamodb:${region}:${account}:table/${TableName}",
	"AWS::EC2::InternetGateway/InternetGatewayId": "igw-${id}",
	"AWS::EC2::RouteTable/RouteTableId":           "rtb-${id}",
	"AWS::EC2::SecurityGroup/GroupId":             "sg-${id}",
	"AWS::EC2::SecurityGroup/Id":                  "sg-${id}",
	"AWS::EC2::Subnet/SubnetId":                   "subnet-${id}",
	"AWS::EC2::VPC/VpcId":                         "vpc-${id}",
	"AWS::ECR::Repository/Arn":                    "arn:${partition}:ecr:${region}:${account}:repository/${RepositoryName}",
	"AWS::ECR::Repository/RepositoryUri":          "${account}.dkr.ecr.${region}.amazonaws.com/${RepositoryName}",
	"AWS::ECS::Cluster/Arn":                       "arn:${partition}:ecs:${region}:${account}:cluster/${ClusterName}",
	"AWS::Events::Rule/Arn":                       "arn:${partition}:events:${region}:${account}:rule/${Name}",
	"AWS::IAM::InstanceProfile/Arn":               "arn:${partition}:iam::${account}:instance-profile/${InstanceProfileName}",
	"AWS::IAM::ManagedPolicy/PolicyArn":           "arn:${partition}:iam::${account}:policy/${ManagedPolicyName}",
	"AWS::IAM::Role/Arn":                          "arn:${partition}:iam::${account}:role/${RoleName}",
	"AWS::IAM::Role/RoleId":                       "AROA${id}",
	"AWS::IAM::User/Arn":                          "arn:${partition}:iam::${account}:user/${UserName}",
	"AWS::KMS::Key/Arn":                           "arn:${partition}:kms:${region}:${account}:key/${uuid}",
	"AWS::KMS::Key/KeyId":                         "${uuid}",
	"AWS::Kinesis::Stream/Arn":                    "arn:${partition}:kinesis:${region}:${account}:stream/${Name}",
	"AWS::Lambda::Function/Arn":                   "arn:${partition}:lambda:${region}:${account}:function:${FunctionName}",
	"AWS::S3::Bucket/Arn":                         "arn:${partition}:s3:::${BucketName}",
	"AWS::S3::Bucket/DomainName":                  "${BucketName}.s3.amazonaws.com",
	"AWS::S3::Bucket/DualStackDomainName":         "${BucketName}.s3.dualstack.${region}.amazonaws.com",
	"AWS::S3::Bucket/RegionalDomainName":          "${BucketName}.s3.${region}.amazonaws.com",
	"AWS::S3::Bucket/WebsiteURL":                  "http://${BucketName}.s3-website-${region}.amazonaws.com",
	"AWS::SNS::Topic/TopicArn":                    "arn:${partition}:sns:${region}:${account}:${TopicName}",
	"AWS::SQS::Queue/Arn":                         "arn:${partition}:sqs:${region}:${account}:${QueueName}",
	"AWS::SQS::Queue/QueueUrl":                    "https://sqs.${region}.amazonaws.com/${account}/${QueueName}",
	"AWS::StepFunctions::StateMachine/Arn":        "arn:${partition}:states:${region}:${account}:stateMachine:${StateMachineName}",
	"AWS::SecretsManager::Secret/Id":              "arn:${partition}:secretsmanager:${region}:${account}:secret:${Name}",
}
