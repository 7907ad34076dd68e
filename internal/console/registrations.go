package console

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/awswire"
)

// A registration is one RegisterType request and how far it has come.
type registration struct {
	Token, Status  string
	Kind, TypeName string
	Version        string
	Stage          string // in words, "" if unknown
	Reason         string // the rest of the description, bounded
}

// registrationsView is the list of registrations.
type registrationsView struct {
	Groups []registrationGroup
}

// A registrationGroup has the registrations of one status.
type registrationGroup struct {
	Status, Title string
	Items         []registration
	More          bool
}

const maxRegistrations = 50 // of each status

func (c *Console) listRegistrations(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	p.Title, p.Section, p.Live = "Registrations", "registrations", true
	v := &registrationsView{}
	for _, g := range []registrationGroup{{Status: "IN_PROGRESS", Title: "In progress"}, {Status: "FAILED", Title: "Failed"}, {Status: "COMPLETE", Title: "Complete"}} {
		items, more, err := c.registrations(r.Context(), c.caller(p), &cloudformation.ListTypeRegistrationsInput{RegistrationStatusFilter: types.RegistrationStatus(g.Status)}, maxRegistrations)
		if err != nil {
			return nil, err
		}
		g.Items, g.More = items, more
		v.Groups = append(v.Groups, g)
	}
	return p.registrationsBody(v), nil
}

// inProgress are the registrations that go on in a place.
func (c *Console) inProgress(ctx context.Context, caller awswire.Caller) ([]registration, error) {
	items, _, err := c.registrations(ctx, caller, &cloudformation.ListTypeRegistrationsInput{RegistrationStatusFilter: types.RegistrationStatusInProgress}, maxInProgress)
	return items, err
}

// registrations describes those that a list names, at most so many, and tells whether there
// are more.
func (c *Console) registrations(ctx context.Context, caller awswire.Caller, in *cloudformation.ListTypeRegistrationsInput, most int) ([]registration, bool, error) {
	in.MaxResults = aws.Int32(int32(min(most, 100))) //nolint:gosec // at most 100
	list, err := c.config.Registry.ListTypeRegistrations(ctx, caller, in)
	if err != nil {
		return nil, false, err
	}
	var out []registration
	for _, token := range list.RegistrationTokenList {
		if len(out) == most {
			return out, true, nil
		}
		d, err := c.config.Registry.DescribeTypeRegistration(ctx, caller, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: aws.String(token)})
		if refused(err) {
			continue // it went between the two requests
		}
		if err != nil {
			return nil, false, err
		}
		out = append(out, describeRegistration(token, d))
	}
	return out, list.NextToken != nil, nil
}

func describeRegistration(token string, d *cloudformation.DescribeTypeRegistrationOutput) registration {
	g := registration{Token: token, Status: string(d.ProgressStatus), Reason: bounded(value(d.Description), 4<<10)}
	arn := value(d.TypeVersionArn)
	if arn == "" {
		arn = value(d.TypeArn)
	}
	g.Kind, g.TypeName, g.Version = readTypeARN(arn)
	if m := stagePattern.FindStringSubmatch(g.Reason); m != nil {
		g.Stage, g.Reason = stages[m[1]], g.Reason[len(m[0]):]
	}
	return g
}

// readTypeARN takes arn:aws:cloudformation:REGION:ACCOUNT:type/resource/Org-Svc-Name/00000001
// apart. The name has its colons again: no part of a type's name has a dash.
func readTypeARN(arn string) (kind, name, version string) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return "", "", ""
	}
	path := strings.Split(parts[5], "/")
	if len(path) < 3 || path[0] != "type" {
		return "", "", ""
	}
	if len(path) > 3 {
		version = path[3]
	}
	return strings.ToUpper(path[1]), strings.ReplaceAll(path[2], "-", "::"), version
}

// stagePattern is how the service begins the description of a registration.
var stagePattern = regexp.MustCompile(`^Deployment is currently in ([A-Z_]+) of status [A-Z_]+;\s*`)

// stages say what a registration does in each of them.
var stages = map[string]string{"FETCH_STAGE": "fetching the package", "VALIDATION_STAGE": "validating the package", "DEPLOY_STAGE": "starting the handler"}

// refused tells whether the registry answered, but not with what was asked for.
func refused(err error) bool {
	var answer *awswire.Error
	return errors.As(err, &answer)
}
