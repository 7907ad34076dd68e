package stack

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/plan"
)

// parameterName is the type of parameters that name one of SSM.
const parameterName = "AWS::SSM::Parameter::Name"

// namedTypes are the resource types whose identifiers the values of parameters are, by the
// types of the parameters. Values of the other types cannot be looked up here.
var namedTypes = map[string]string{
	"AWS::EC2::Instance::Id":       "AWS::EC2::Instance",
	"AWS::EC2::KeyPair::KeyName":   "AWS::EC2::KeyPair",
	"AWS::EC2::SecurityGroup::Id":  "AWS::EC2::SecurityGroup",
	"AWS::EC2::Subnet::Id":         "AWS::EC2::Subnet",
	"AWS::EC2::Volume::Id":         "AWS::EC2::Volume",
	"AWS::EC2::VPC::Id":            "AWS::EC2::VPC",
	"AWS::Route53::HostedZone::Id": "AWS::Route53::HostedZone",
}

// maxNamed bounds how many values of parameters are looked up.
const maxNamed = 1000

// A namedValue is a value that has to name something that exists.
type namedValue struct{ parameter, of, value string }

// danglingParameter is the reason of an operation one of whose parameters has to name something
// and does not, "" if there is none. The service looks for it after the call.
func (e *Engine) danglingParameter(ctx context.Context, s *stackRow, d *plan.Deployment) (string, error) {
	var named []namedValue
	for _, p := range d.Template.Parameters {
		of := strings.TrimSuffix(strings.TrimPrefix(p.Type, "List<"), ">")
		b, ok := d.Parameters.Get(p.Name)
		if !ok || of != parameterName && of != zoneName && namedTypes[of] == "" {
			continue
		}
		values := []string{b.Value}
		if of != p.Type {
			values = strings.Split(b.Value, ",")
		}
		for _, value := range values {
			if value = strings.TrimSpace(value); value != "" && len(named) < maxNamed {
				named = append(named, namedValue{p.Name, of, value})
			}
		}
	}
	if named == nil {
		return "", nil
	}
	missing := make([]bool, len(named))
	if err := e.missingParameters(ctx, s, named, missing); err != nil {
		return "", err
	}
	err := each(ctx, len(named), func(ctx context.Context, i int) (err error) {
		switch n := named[i]; {
		case n.of == parameterName:
		case n.of == zoneName:
			missing[i] = !strings.HasPrefix(n.value, s.Region)
		default:
			missing[i], err = e.missingResource(ctx, s, namedTypes[n.of], n.value)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	for i, n := range named {
		if missing[i] {
			return fmt.Sprintf(reasonNoParameter, shownValue(d, n), n.parameter), nil
		}
	}
	return "", nil
}

// zoneName is the type of parameters that name an availability zone.
const zoneName = "AWS::EC2::AvailabilityZone::Name"

// shownValue is a value without what NoEcho hides.
func shownValue(d *plan.Deployment, n namedValue) string {
	for _, p := range d.Template.Parameters {
		if p.Name == n.parameter && p.NoEcho {
			return "****"
		}
	}
	return n.value
}

// missingParameters looks up the parameters of SSM among some values.
func (e *Engine) missingParameters(ctx context.Context, s *stackRow, named []namedValue, missing []bool) error {
	var names []string
	for _, n := range named {
		if n.of == parameterName {
			names = append(names, n.value)
		}
	}
	if names == nil || e.config.StoredParameters == nil {
		return nil
	}
	found, err := e.config.StoredParameters(ctx, s.caller(), names)
	if err != nil {
		return fmt.Errorf("look up parameters: %w", err)
	}
	for i, n := range named {
		if _, ok := found[n.value]; n.of == parameterName {
			missing[i] = !ok
		}
	}
	return nil
}

// missingResource reports whether a resource does not exist. What cannot be looked up, because
// the server does not have its type or it does not answer in time, counts as existing.
func (e *Engine) missingResource(ctx context.Context, s *stackRow, typeName, identifier string) (bool, error) {
	typ, err := e.findType(ctx, s.caller(), typeName)
	if err != nil || !importable(typ) {
		return false, err
	}
	within, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	progress, err := e.config.Operations.Read(within, readRequest(s, "", typ, identifier, IdentifierModel(typ.Schema, identifier)))
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return progress.Status == types.OperationStatusFailed && progress.ErrorCode == string(invoke.NotFound), err
}
