// Package resource has the handlers of Example::Testing::WordPress, after the walkthrough
// in the user guide of the CloudFormation CLI: a website on an EC2 instance of its own,
// which a security group opens to the web.
package resource

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/formwork-dev/formwork/sdk/awscreds"
	"github.com/formwork-dev/formwork/sdk/handler"
)

type (
	request = handler.Request[Model, TypeConfiguration]
	event   = handler.Event[Model]
)

const (
	// supportedRegion is where the image is.
	supportedRegion = "us-west-2"

	wordPressImage = "ami-04fb0368671b6f138"
	instanceType   = "m4.large"
)

// Create starts a site and waits until it runs.
func Create(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, create)
}

// Read returns a site.
func Read(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, read)
}

// Delete takes a site down, and then the security group that was made for it.
func Delete(ctx context.Context, req handler.Request[Model, TypeConfiguration]) handler.Event[Model] {
	return connect(ctx, req, remove)
}

// connect runs a handler with a client of its own: credentials are for one call.
func connect(ctx context.Context, req request, run func(context.Context, request, cloud) event) event {
	if req.Region != supportedRegion {
		return req.Fail(handler.InvalidRequest(TypeName + " is there in " + supportedRegion + " only, not in " + req.Region))
	}
	cfg, err := awscreds.Config(ctx, req.Credentials, req.Region)
	if err != nil {
		return req.Fail(err)
	}
	return run(ctx, req, cloud{ec2.NewFromConfig(cfg)})
}

func create(ctx context.Context, req request, cloud cloud) event {
	model := req.Desired
	name, err := handler.Identifier{LogicalID: groupPrefix + handler.Value(model.Name), Token: req.Token, MaxLength: 255}.Generate()
	if err != nil {
		return req.Fail(err)
	}
	chain := req.Chain(ctx, &model)

	vpc, _ := handler.Call(chain, "find-vpc", func(ctx context.Context) (string, error) {
		return cloud.vpcOf(ctx, *model.SubnetId)
	})
	group, _ := handler.Call(chain, "create-security-group", func(ctx context.Context) (string, error) {
		return cloud.createGroup(ctx, name, "Created for the WordPress site "+*model.Name, vpc)
	})
	chain.Do("open-web-ports", func(ctx context.Context) error { return cloud.openWebPorts(ctx, group) })

	// If the instance cannot be started, nothing must be left of the site.
	orCleanUp := handler.Policy{HandleError: func(err error) error {
		if cleaning := cloud.deleteGroup(ctx, group); cleaning != nil {
			req.Logger.Warn("the security group stays", "group", group, "error", cleaning)
		}
		return err
	}}
	if id, ok := handler.Call(chain.With(orCleanUp), "run-instance", func(ctx context.Context) (string, error) {
		return cloud.run(ctx, launch{site: *model.Name, subnet: *model.SubnetId, group: group, token: req.Token})
	}); ok {
		model.InstanceId = &id
	}
	chain.With(polling()).Stabilize("instance-running", func(ctx context.Context) (bool, error) {
		site, err := cloud.site(ctx, *model.InstanceId)
		switch {
		case errors.Is(err, errNoInstance) && site.state == "":
			return false, nil // a new instance may not be known everywhere yet
		case site.state == "shutting-down" || site.state == "terminated":
			return false, handler.NotStabilized(TypeName, *model.InstanceId)
		}
		return site.state == "running", err
	})
	return chain.Done(func(ctx context.Context) event {
		req.Desired = model
		return read(ctx, req, cloud)
	})
}

func read(ctx context.Context, req request, cloud cloud) event {
	id := handler.Value(req.Desired.InstanceId)
	site, err := cloud.site(ctx, id)
	if err != nil {
		return req.Fail(notFound(err, id))
	}
	return req.Success(site.model)
}

func remove(ctx context.Context, req request, cloud cloud) event {
	id := handler.Value(req.Desired.InstanceId)
	chain := req.Chain(ctx, &req.Desired)

	groups, _ := handler.Call(chain, "find-security-groups", func(ctx context.Context) ([]string, error) {
		site, err := cloud.site(ctx, id)
		return site.groups, notFound(err, id)
	})
	chain.Do("terminate-instance", func(ctx context.Context) error { return cloud.terminate(ctx, id) })
	chain.With(polling()).Stabilize("instance-terminated", func(ctx context.Context) (bool, error) {
		_, err := cloud.site(ctx, id)
		if errors.Is(err, errNoInstance) {
			return true, nil
		}
		return false, err
	})
	for _, group := range groups {
		chain.With(whileAttached()).Do("delete-"+group, func(ctx context.Context) error { return cloud.deleteGroup(ctx, group) })
	}
	return chain.Done(func(context.Context) event { return req.Deleted() })
}

// polling asks every five seconds, sixty times, as the walkthrough does.
func polling() handler.Policy {
	return handler.Policy{Backoff: handler.Constant(5*time.Second, 5*time.Minute)}
}

// whileAttached waits for the network interface of the instance to let go of its group.
func whileAttached() handler.Policy {
	policy := polling()
	policy.Retry = func(err error) bool { return hasCode(err, "DependencyViolation") }
	return policy
}

func notFound(err error, id string) error {
	if errors.Is(err, errNoInstance) {
		return handler.NotFound(TypeName, id)
	}
	return err
}
