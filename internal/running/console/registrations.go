package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A registration is one RegisterType request and how far it has come.
type registration struct {
	Token, Status  string
	Kind, TypeName string
	Version        string
	Stage          string // in words, "" if unknown
	Reason         string // the rest of the description, bounded
	Started        time.Time
	Took           float64 // seconds, of one that has ended
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
		items, more, err := c.registrations(r.Context(), c.caller(p), registry.RegistrationQuery{Status: types.RegistrationStatus(g.Status), Limit: maxRegistrations})
		if err != nil {
			return nil, err
		}
		g.Items, g.More = items, more
		v.Groups = append(v.Groups, g)
	}
	return p.registrationsBody(v), nil
}

// inProgress are the registrations in progress in an account and region.
func (c *Console) inProgress(ctx context.Context, caller awswire.Caller) ([]registration, error) {
	items, _, err := c.registrations(ctx, caller, registry.RegistrationQuery{Status: types.RegistrationStatusInProgress, Limit: maxInProgress})
	return items, err
}

// registrations lists registrations, the newest first, and reports whether there are more.
func (c *Console) registrations(ctx context.Context, caller awswire.Caller, query registry.RegistrationQuery) ([]registration, bool, error) {
	limit := query.Limit
	query.Limit++
	list, err := c.config.Registry.Registrations(ctx, caller, query)
	if err != nil {
		return nil, false, err
	}
	out := make([]registration, min(len(list), limit))
	for i := range out {
		out[i] = describeRegistration(&list[i])
	}
	return out, len(list) > limit, nil
}

func describeRegistration(r *registry.Registration) registration {
	g := registration{
		Token: r.Token, Status: string(r.Status), Kind: string(r.Kind), TypeName: r.TypeName, Version: r.Version,
		Reason: bounded(r.Description, 4<<10), Started: r.Started,
	}
	if r.Status != types.RegistrationStatusInProgress {
		g.Took = r.Updated.Sub(r.Started).Seconds()
	}
	if m := stagePattern.FindStringSubmatch(g.Reason); m != nil {
		g.Stage, g.Reason = stages[m[1]], g.Reason[len(m[0]):]
	}
	return g
}

// stagePattern matches the beginning of the description of a registration.
var stagePattern = lazyregexp.New(`^Deployment is currently in ([A-Z_]+) of status [A-Z_]+;\s*`)

// stages describe the stages of a registration.
var stages = map[string]string{"FETCH_STAGE": "fetching the package", "VALIDATION_STAGE": "validating the package", "DEPLOY_STAGE": "starting the handler"}

// refused reports whether the registry answered with an error.
func refused(err error) bool {
	var answer *awswire.Error
	return errors.As(err, &answer)
}
