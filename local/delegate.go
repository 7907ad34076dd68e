package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/running/delegate"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/running/simulate"
)

// rules are those of Delegate.
func (c *Config) rules() ([]delegate.Rule, error) {
	hosts := c.allowedHosts()
	rules, err := delegate.ParseRules(c.Delegate, func(host string) bool { return allows(hosts, host) })
	if err != nil {
		return nil, fmt.Errorf("option --delegate: %w", err)
	}
	own, _ := url.Parse(c.URL)
	for _, rule := range rules {
		at, _ := url.Parse(rule.URL)
		switch {
		case rule.URL == "":
		case c.URL != "" && at.Port() == own.Port() && invoke.Loopback(at.Hostname()) && invoke.Loopback(own.Hostname()):
			return nil, fmt.Errorf("option --delegate: %s is the address of this server: start the emulator on another port", rule.URL)
		case c.RunLambda && (rule.Pattern == delegate.Everything || strings.HasPrefix(rule.Pattern, "AWS::Lambda::")):
			return nil, errors.New("option --delegate: functions of templates run either here or in the emulator: without --run-lambda, or with AWS::Lambda::*=none")
		}
	}
	return rules, nil
}

// lastDeletes bounds the deletion of what a server without lasting data made in emulators, when it stops.
const lastDeletes = 10 * time.Second

// delegates are the types whose resources are made in emulators.
func (c *CloudFormation) delegates(ctx context.Context, shelf *simulate.Shelf, files objects, operations *operation.Engine) (*delegate.Delegates, error) {
	rules, err := c.config.rules()
	if err != nil {
		return nil, err
	}
	made, err := delegate.New(ctx, delegate.Config{
		Store: c.store, Rules: rules, Schema: shelf.Schema, Object: files.code, Ongoing: operations.InProgressWith, Logger: c.config.Logger, Now: c.config.Now,
	})
	if err != nil {
		return nil, err
	}
	if c.temporary != "" && c.config.Database == "" {
		c.atEnd(func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, lastDeletes)
			defer cancel()
			if err := made.Clear(ctx); err != nil {
				c.config.Logger.Warn("resources in emulators are left, and nothing here knows them any more", "error", err)
			}
			return nil
		})
	}
	return made, nil
}

// sdkServices are the services of namespaces of types, as the SDKs name them.
var sdkServices = map[string][]string{
	"ApiGateway": {"api-gateway"}, "ApiGatewayV2": {"apigatewayv2"}, "AppSync": {"appsync"}, "Athena": {"athena"}, "AutoScaling": {"auto-scaling"}, "Backup": {"backup"},
	"CertificateManager": {"acm"}, "CloudFront": {"cloudfront"}, "CloudWatch": {"cloudwatch"}, "CodeBuild": {"codebuild"},
	"Cognito": {"cognito-identity", "cognito-identity-provider"}, "DynamoDB": {"dynamodb", "dynamodb-streams"}, "EC2": {"ec2"}, "ECR": {"ecr"}, "ECS": {"ecs"}, "EFS": {"efs"}, "EKS": {"eks"},
	"ElastiCache": {"elasticache"}, "ElasticLoadBalancing": {"elastic-load-balancing"}, "ElasticLoadBalancingV2": {"elastic-load-balancing-v2"}, "Events": {"eventbridge"},
	"Glue": {"glue"}, "IAM": {"iam"}, "IoT": {"iot"}, "KMS": {"kms"}, "Kinesis": {"kinesis"}, "KinesisFirehose": {"firehose"}, "Lambda": {"lambda"}, "Logs": {"cloudwatch-logs"},
	"OpenSearchService": {"opensearch"}, "Pipes": {"pipes"}, "RDS": {"rds"}, "Route53": {"route-53"}, "S3": {"s3"}, "SES": {"ses", "sesv2"}, "SNS": {"sns"}, "SQS": {"sqs"}, "SSM": {"ssm"},
	"Scheduler": {"scheduler"}, "SecretsManager": {"secrets-manager"}, "ServiceDiscovery": {"servicediscovery"}, "StepFunctions": {"sfn"}, "WAFv2": {"wafv2"},
}

// leadDelegates adds the services whose types are delegated to Endpoints, unless those name them.
func (c *Config) leadDelegates() error {
	if len(c.Delegate) == 0 {
		return nil
	}
	rules, err := c.rules()
	if err != nil {
		return err
	}
	given, err := c.endpoints()
	if err != nil {
		return err
	}
	var names []string
	for namespace := range sdkServices {
		names = append(names, namespace)
	}
	slices.Sort(names)
	c.Endpoints = slices.Clone(c.Endpoints)
	for _, namespace := range names {
		at := delegate.ServiceOf(rules, namespace)
		if at == "" {
			continue
		}
		for _, service := range sdkServices[namespace] {
			if !slices.ContainsFunc(given, func(e endpoint) bool { return e.service == service }) {
				c.Endpoints = append(c.Endpoints, service+"="+at)
			}
		}
	}
	return nil
}
