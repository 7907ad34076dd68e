package resource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/formwork-dev/formwork/sdk/handler"
)

// groupPrefix begins the names of the security groups that the handlers make.
const groupPrefix = "wordpress-"

// errNoInstance says that an instance does not exist, or is permanently deleted.
var errNoInstance = errors.New("no such instance")

// A client is the part of ec2.Client that the handlers use. Tests have a fake of it.
type client interface {
	AuthorizeSecurityGroupIngress(context.Context, *ec2.AuthorizeSecurityGroupIngressInput, ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error)
	CreateSecurityGroup(context.Context, *ec2.CreateSecurityGroupInput, ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error)
	DeleteSecurityGroup(context.Context, *ec2.DeleteSecurityGroupInput, ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error)
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
	RunInstances(context.Context, *ec2.RunInstancesInput, ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
}

// A cloud does what the handlers need of EC2.
type cloud struct{ client }

// A site is an instance as the handlers see it.
type site struct {
	model  Model
	state  string   // "pending", "running", ...
	groups []string // the IDs of those that the handlers made
}

// site looks an instance up. One that is terminated is errNoInstance; its state tells it
// from one that is not known at all.
func (c cloud) site(ctx context.Context, id string) (site, error) {
	if id == "" {
		return site{}, errNoInstance
	}
	out, err := c.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if hasCode(err, "InvalidInstanceID.NotFound") || hasCode(err, "InvalidInstanceID.Malformed") {
		return site{}, errNoInstance
	}
	if err != nil {
		return site{}, err
	}
	for _, reservation := range out.Reservations {
		for _, instance := range reservation.Instances {
			return siteOf(instance)
		}
	}
	return site{}, errNoInstance
}

func siteOf(instance types.Instance) (site, error) {
	found := site{model: Model{InstanceId: instance.InstanceId, PublicIp: instance.PublicIpAddress, SubnetId: instance.SubnetId}}
	if instance.State != nil {
		found.state = string(instance.State.Name)
	}
	if found.state == string(types.InstanceStateNameTerminated) {
		return found, errNoInstance
	}
	for _, tag := range instance.Tags {
		if handler.Value(tag.Key) == "Name" {
			found.model.Name = tag.Value
		}
	}
	groups := slices.Clone(instance.SecurityGroups)
	for _, face := range instance.NetworkInterfaces { // an emulator may list them here only
		groups = append(groups, face.Groups...)
	}
	for _, group := range groups {
		id := handler.Value(group.GroupId)
		if strings.HasPrefix(handler.Value(group.GroupName), groupPrefix) && !slices.Contains(found.groups, id) {
			found.groups = append(found.groups, id)
		}
	}
	return found, nil
}

func (c cloud) vpcOf(ctx context.Context, subnet string) (string, error) {
	out, err := c.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	if hasCode(err, "InvalidSubnetID.NotFound") || err == nil && len(out.Subnets) == 0 {
		return "", handler.InvalidRequest(fmt.Sprintf("subnet %s was not found", subnet))
	}
	if err != nil {
		return "", err
	}
	return handler.Value(out.Subnets[0].VpcId), nil
}

// createGroup makes a security group, or finds the one that an earlier try of the same
// request made: the name comes from the request token.
func (c cloud) createGroup(ctx context.Context, name, description, vpc string) (string, error) {
	out, err := c.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{GroupName: &name, Description: &description, VpcId: &vpc})
	if err == nil {
		return handler.Value(out.GroupId), nil
	}
	if !hasCode(err, "InvalidGroup.Duplicate") {
		return "", err
	}
	found, lookup := c.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{
		{Name: aws.String("group-name"), Values: []string{name}}, {Name: aws.String("vpc-id"), Values: []string{vpc}},
	}})
	if lookup != nil {
		return "", lookup
	}
	if len(found.SecurityGroups) == 0 {
		return "", err
	}
	return handler.Value(found.SecurityGroups[0].GroupId), nil
}

func (c cloud) openWebPorts(ctx context.Context, group string) error {
	open := func(port int32) types.IpPermission {
		return types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: &port, ToPort: &port, IpRanges: []types.IpRange{{CidrIp: aws.String("0.0.0.0/0")}}}
	}
	_, err := c.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: []types.IpPermission{open(80), open(443)}})
	if hasCode(err, "InvalidPermission.Duplicate") {
		return nil
	}
	return err
}

func (c cloud) deleteGroup(ctx context.Context, group string) error {
	_, err := c.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &group})
	if hasCode(err, "InvalidGroup.NotFound") {
		return nil
	}
	return err
}

type launch struct{ site, subnet, group, token string }

// run starts an instance, once for each token.
func (c cloud) run(ctx context.Context, l launch) (string, error) {
	out, err := c.RunInstances(ctx, &ec2.RunInstancesInput{
		ClientToken: &l.token, ImageId: aws.String(wordPressImage), InstanceType: instanceType, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		NetworkInterfaces: []types.InstanceNetworkInterfaceSpecification{{
			AssociatePublicIpAddress: aws.Bool(true), DeviceIndex: aws.Int32(0), Groups: []string{l.group}, SubnetId: &l.subnet,
		}},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("Name"), Value: &l.site}}}},
	})
	if err != nil {
		return "", err
	}
	if len(out.Instances) == 0 {
		return "", errors.New("run instances: the answer names no instance")
	}
	return handler.Value(out.Instances[0].InstanceId), nil
}

func (c cloud) terminate(ctx context.Context, id string) error {
	_, err := c.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	return err
}

// hasCode looks for an error code of EC2.
func hasCode(err error, code string) bool {
	var api interface{ ErrorCode() string }
	return errors.As(err, &api) && api.ErrorCode() == code
}
