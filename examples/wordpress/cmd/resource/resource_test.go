package resource

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/formwork-dev/formwork/sdk/handler"
	"github.com/formwork-dev/formwork/sdk/handlertest"
)

// A fakeEC2 starts instances in 12 s and terminates them in 7 s, by its clock.
// An instance holds on to its security group for 5 s more.
type fakeEC2 struct {
	clock     *handlertest.Clock
	groups    map[string]*fakeGroup // by ID
	instances map[string]*fakeInstance
	tokens    map[string]string // client token → instance
	calls     []string
	fail      map[string]error // by the name of the call; once

	onlyInterfaces bool // list groups at network interfaces only, as moto does
}

type fakeGroup struct {
	name string
	open []int32
}

type fakeInstance struct {
	in         *ec2.RunInstancesInput
	running    time.Time
	terminated time.Time
}

const (
	startsIn     = 12 * time.Second
	terminatesIn = 7 * time.Second
	letsGoIn     = 5 * time.Second
)

type apiError string

func (e apiError) Error() string        { return "operation error EC2: " + string(e) }
func (e apiError) ErrorCode() string    { return string(e) }
func (e apiError) ErrorMessage() string { return "said EC2" }

func newFake() *fakeEC2 {
	return &fakeEC2{
		clock: handlertest.NewClock(), groups: map[string]*fakeGroup{}, instances: map[string]*fakeInstance{},
		tokens: map[string]string{}, fail: map[string]error{},
	}
}

func (f *fakeEC2) called(name string) error {
	f.calls = append(f.calls, name)
	err := f.fail[name]
	delete(f.fail, name)
	return err
}

func (f *fakeEC2) DescribeSubnets(_ context.Context, in *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	if err := f.called("DescribeSubnets"); err != nil {
		return nil, err
	}
	return &ec2.DescribeSubnetsOutput{Subnets: []types.Subnet{{SubnetId: &in.SubnetIds[0], VpcId: aws.String("vpc-1")}}}, nil
}

func (f *fakeEC2) CreateSecurityGroup(_ context.Context, in *ec2.CreateSecurityGroupInput, _ ...func(*ec2.Options)) (*ec2.CreateSecurityGroupOutput, error) {
	if err := f.called("CreateSecurityGroup"); err != nil {
		return nil, err
	}
	id := "sg-" + *in.GroupName
	if f.groups[id] != nil {
		return nil, apiError("InvalidGroup.Duplicate")
	}
	f.groups[id] = &fakeGroup{name: *in.GroupName}
	return &ec2.CreateSecurityGroupOutput{GroupId: &id}, nil
}

func (f *fakeEC2) DescribeSecurityGroups(_ context.Context, in *ec2.DescribeSecurityGroupsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	if err := f.called("DescribeSecurityGroups"); err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupsOutput{}
	for id, group := range f.groups {
		if group.name == in.Filters[0].Values[0] && in.Filters[1].Values[0] == "vpc-1" {
			out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{GroupId: &id})
		}
	}
	return out, nil
}

func (f *fakeEC2) AuthorizeSecurityGroupIngress(_ context.Context, in *ec2.AuthorizeSecurityGroupIngressInput, _ ...func(*ec2.Options)) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	if err := f.called("AuthorizeSecurityGroupIngress"); err != nil {
		return nil, err
	}
	group := f.groups[*in.GroupId]
	if len(group.open) > 0 {
		return nil, apiError("InvalidPermission.Duplicate")
	}
	for _, permission := range in.IpPermissions {
		group.open = append(group.open, *permission.FromPort)
	}
	return &ec2.AuthorizeSecurityGroupIngressOutput{}, nil
}

func (f *fakeEC2) RunInstances(_ context.Context, in *ec2.RunInstancesInput, _ ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error) {
	if err := f.called("RunInstances"); err != nil {
		return nil, err
	}
	id, again := f.tokens[*in.ClientToken]
	if !again {
		id = "i-" + *in.ClientToken
		f.tokens[*in.ClientToken] = id
		f.instances[id] = &fakeInstance{in: in, running: f.clock.Now().Add(startsIn)}
	}
	return &ec2.RunInstancesOutput{Instances: []types.Instance{{InstanceId: &id}}}, nil
}

func (f *fakeEC2) DescribeInstances(_ context.Context, in *ec2.DescribeInstancesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	if err := f.called("DescribeInstances"); err != nil {
		return nil, err
	}
	instance := f.instances[in.InstanceIds[0]]
	if instance == nil {
		return nil, apiError("InvalidInstanceID.NotFound")
	}
	launched := instance.in.NetworkInterfaces[0]
	made := types.GroupIdentifier{GroupId: &launched.Groups[0], GroupName: aws.String(f.groupName(launched.Groups[0]))}
	out := types.Instance{
		InstanceId: &in.InstanceIds[0], SubnetId: launched.SubnetId, Tags: instance.in.TagSpecifications[0].Tags,
		SecurityGroups:    []types.GroupIdentifier{made, {GroupId: aws.String("sg-of-others"), GroupName: aws.String("default")}},
		NetworkInterfaces: []types.InstanceNetworkInterface{{Groups: []types.GroupIdentifier{made}}},
	}
	if f.onlyInterfaces {
		out.SecurityGroups = nil
	}
	switch now := f.clock.Now(); {
	case !instance.terminated.IsZero() && !now.Before(instance.terminated):
		out.State = &types.InstanceState{Name: types.InstanceStateNameTerminated}
	case !instance.terminated.IsZero():
		out.State = &types.InstanceState{Name: types.InstanceStateNameShuttingDown}
	case now.Before(instance.running):
		out.State = &types.InstanceState{Name: types.InstanceStateNamePending}
	default:
		out.State, out.PublicIpAddress = &types.InstanceState{Name: types.InstanceStateNameRunning}, aws.String("54.0.0.0")
	}
	return &ec2.DescribeInstancesOutput{Reservations: []types.Reservation{{Instances: []types.Instance{out}}}}, nil
}

func (f *fakeEC2) groupName(id string) string {
	if group := f.groups[id]; group != nil {
		return group.name
	}
	return ""
}

func (f *fakeEC2) TerminateInstances(_ context.Context, in *ec2.TerminateInstancesInput, _ ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
	if err := f.called("TerminateInstances"); err != nil {
		return nil, err
	}
	f.instances[in.InstanceIds[0]].terminated = f.clock.Now().Add(terminatesIn)
	return &ec2.TerminateInstancesOutput{}, nil
}

func (f *fakeEC2) DeleteSecurityGroup(_ context.Context, in *ec2.DeleteSecurityGroupInput, _ ...func(*ec2.Options)) (*ec2.DeleteSecurityGroupOutput, error) {
	if err := f.called("DeleteSecurityGroup"); err != nil {
		return nil, err
	}
	for _, instance := range f.instances {
		free := !instance.terminated.IsZero() && !f.clock.Now().Before(instance.terminated.Add(letsGoIn))
		if instance.in.NetworkInterfaces[0].Groups[0] == *in.GroupId && !free {
			return nil, apiError("DependencyViolation")
		}
	}
	if f.groups[*in.GroupId] == nil {
		return nil, apiError("InvalidGroup.NotFound")
	}
	delete(f.groups, *in.GroupId)
	return &ec2.DeleteSecurityGroupOutput{}, nil
}

// start makes a tester over a fake EC2; delays move its clock.
func start(t *testing.T) (*handlertest.Tester[Model, TypeConfiguration], *fakeEC2) {
	t.Helper()
	fake := newFake()
	with := func(run func(context.Context, request, cloud) event) func(context.Context, request) event {
		return func(ctx context.Context, req request) event { return run(ctx, req, cloud{fake}) }
	}
	tester := handlertest.New(t, handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Create: with(create), Read: with(read), Delete: with(remove),
	})
	tester.Clock = fake.clock
	return tester, fake
}

func blog() Model {
	return Model{Name: aws.String("MyBlog"), SubnetId: aws.String("subnet-0bc6136e")}
}

func TestLifeOfASite(t *testing.T) {
	tester, fake := start(t)
	created := tester.Create(blog())
	want := blog()
	want.InstanceId, want.PublicIp = aws.String("i-token-1"), aws.String("54.0.0.0")
	created.WantModel(want)
	if created.Waited != 15*time.Second {
		t.Errorf("waited %v", created.Waited)
	}
	for _, event := range created.Events {
		if !strings.Contains(string(event), `"InstanceId":"i-token-1"`) {
			t.Errorf("%s has no identifier", event)
		}
	}
	if got := strings.Join(fake.calls[:4], " "); got != "DescribeSubnets CreateSecurityGroup AuthorizeSecurityGroupIngress RunInstances" || strings.Count(strings.Join(fake.calls, " "), "RunInstances") != 1 {
		t.Errorf("calls: %v", fake.calls)
	}
	for _, group := range fake.groups {
		if len(group.open) != 2 || group.open[0] != 80 || group.open[1] != 443 || !strings.HasPrefix(group.name, "wordpress-MyBlog-") {
			t.Errorf("group %+v", group)
		}
	}
	tester.Read(Model{InstanceId: want.InstanceId}).WantModel(want)

	deleted := tester.Delete(Model{InstanceId: want.InstanceId})
	deleted.WantSuccess()
	if deleted.Waited != 15*time.Second || len(fake.groups) != 0 || deleted.Model != nil {
		t.Errorf("waited %v, groups left %v, model %v", deleted.Waited, fake.groups, deleted.Model)
	}
	tester.Read(want).WantFailed(handler.CodeNotFound)
	tester.Delete(want).WantFailed(handler.CodeNotFound)
	tester.Update(want, want).WantFailed(handler.CodeNotUpdatable)
}

func TestGroupsOfNetworkInterfacesAreDeleted(t *testing.T) {
	tester, fake := start(t)
	fake.onlyInterfaces = true
	tester.Create(blog()).WantSuccess()
	tester.Delete(Model{InstanceId: aws.String("i-token-1")}).WantSuccess()
	if len(fake.groups) != 0 {
		t.Errorf("groups left: %v", fake.groups)
	}
}

func TestRepeatedCreateMakesNoSecondSite(t *testing.T) {
	tester, fake := start(t)
	tester.Token = "the same"
	first := tester.Create(blog()).WantSuccess()
	second := tester.Create(blog()).WantSuccess()
	if *first.InstanceId != *second.InstanceId || len(fake.groups) != 1 || len(fake.instances) != 1 {
		t.Errorf("%s and %s, %d groups, %d instances", *first.InstanceId, *second.InstanceId, len(fake.groups), len(fake.instances))
	}
}

func TestNothingIsLeftOfASiteThatCannotStart(t *testing.T) {
	tester, fake := start(t)
	fake.fail["RunInstances"] = apiError("InstanceLimitExceeded")
	if message := tester.Create(blog()).WantFailed(handler.CodeServiceLimitExceeded); message != "said EC2 (InstanceLimitExceeded)" {
		t.Error(message)
	}
	if len(fake.groups) != 0 {
		t.Errorf("left %v", fake.groups)
	}
	fake.fail["RunInstances"], fake.fail["DeleteSecurityGroup"] = apiError("InstanceLimitExceeded"), apiError("InternalError")
	tester.Create(blog()).WantFailed(handler.CodeServiceLimitExceeded)
	if len(fake.groups) != 1 {
		t.Errorf("left %v", fake.groups)
	}
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		call string
		err  error
		code handler.Code
	}{
		{"DescribeSubnets", apiError("InvalidSubnetID.NotFound"), handler.CodeInvalidRequest},
		{"DescribeSubnets", broken, handler.CodeInternalFailure},
		{"CreateSecurityGroup", apiError("UnauthorizedOperation"), handler.CodeAccessDenied},
		{"CreateSecurityGroup", apiError("InvalidGroup.Duplicate"), handler.CodeAlreadyExists}, // and yet nowhere to be found
		{"AuthorizeSecurityGroupIngress", broken, handler.CodeInternalFailure},
		{"DescribeInstances", broken, handler.CodeInternalFailure},
	} {
		t.Run(test.call, func(t *testing.T) {
			tester, fake := start(t)
			fake.fail[test.call] = test.err
			tester.Create(blog()).WantFailed(test.code)
		})
	}
	tester, fake := start(t)
	tester.Create(Model{Name: aws.String("not allowed!"), SubnetId: aws.String("subnet")}).WantFailed(handler.CodeInvalidRequest)
	fake.fail["CreateSecurityGroup"], fake.fail["DescribeSecurityGroups"] = apiError("InvalidGroup.Duplicate"), broken
	tester.Create(blog()).WantFailed(handler.CodeInternalFailure)
	tester.Read(Model{}).WantFailed(handler.CodeNotFound)
}

func TestThrottlingAndLateKnowledgeAreWaitedOut(t *testing.T) {
	tester, fake := start(t)
	fake.fail["CreateSecurityGroup"], fake.fail["DescribeInstances"] = apiError("RequestLimitExceeded"), apiError("InvalidInstanceID.NotFound")
	tester.Create(blog()).WantSuccess()
}

func TestSiteThatNeverRuns(t *testing.T) {
	tester, fake := start(t)
	tester.Clock = nil // time stands still for the fake
	result := tester.Create(blog())
	result.WantFailed(handler.CodeNotStabilized)
	if result.Waited != 5*time.Minute || result.Model == nil || *result.Model.InstanceId == "" {
		t.Errorf("waited %v, model %v", result.Waited, result.Model)
	}
	fake.instances[*result.Model.InstanceId].terminated = fake.clock.Now()
	tester.Token = "token-1"
	tester.Create(blog()).WantFailed(handler.CodeNotStabilized)
}

// TestRealClient goes through the AWS SDK, to a server on this machine.
func TestRealClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>no</Message></Error></Errors><RequestID>r</RequestID></Response>`)
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_EC2", server.URL)
	tester := handlertest.New(t, handler.Resource[Model, TypeConfiguration]{TypeName: TypeName, Schema: Schema, Create: Create, Read: Read, Delete: Delete})
	model := blog()
	model.InstanceId = aws.String("i-1")
	if message := tester.Read(model).WantFailed(handler.CodeInvalidRequest); !strings.Contains(message, "us-west-2 only, not in us-east-1") {
		t.Error(message)
	}
	tester.Region = "us-west-2"
	tester.Create(model).WantFailed(handler.CodeInvalidCredentials)
	tester.Credentials = handler.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}
	tester.Read(model).WantFailed(handler.CodeNotFound)
	tester.Delete(model).WantFailed(handler.CodeNotFound)
}
