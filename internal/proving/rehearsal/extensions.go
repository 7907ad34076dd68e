package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/local"
)

// Handlers of hooks and of resource types run in the sandbox, without a network: what they call is answered from a recording, or fails.
// What turns out not to run is left out, and the rehearsal begins anew: a type is simulated, a hook does not run, and the report says so.

// An Extension is a hook or a resource type, and whether its handler runs in the rehearsal.
type Extension struct {
	Name   string `json:"typeName"`
	Kind   string `json:"kind"` // HOOK, RESOURCE
	Runs   bool   `json:"runs"`
	Reason string `json:"reason"` // why it does not
}

// A brokenError reports that the handler of an extension does not run here.
type brokenError struct{ name, why string }

func (e *brokenError) Error() string { return e.name + ": " + e.why }

// extension is the package of a type, nil if there is none or its handler does not run.
func (c *Config) extension(name string, kind schema.Kind) *submit.Request {
	for _, request := range c.Extensions {
		if request.TypeName == name && request.Kind == kind && c.aside[name] == "" {
			return request
		}
	}
	return nil
}

// setAside notes why an extension does not run. It reports whether that is news.
func (c *Config) setAside(name, why string) bool {
	if c.aside[name] != "" {
		return false
	}
	c.aside[name] = cmp.Or(strings.TrimSpace(words.Flat(why)), "no reason was given")
	return true
}

// checkExtensions sets aside what cannot run on this machine.
func (c *Config) checkExtensions() {
	if err := sandbox.Check(); err != nil {
		for _, request := range c.Extensions {
			c.setAside(request.TypeName, "handlers of a rehearsal run only in the sandbox, which this system does not have: "+err.Error())
		}
	}
}

// unused is the reason of a type that the stack does not have.
const unused = "no resource of the stack is of this type"

// extensions are those of the report.
func (c *Config) extensions(d *deployed) []Extension {
	out := []Extension{}
	add := func(name, kind string) {
		if !slices.ContainsFunc(out, func(e Extension) bool { return e.Name == name }) {
			out = append(out, Extension{name, kind, c.aside[name] == "", c.aside[name]})
		}
	}
	for _, h := range d.hooks {
		add(h.name, string(schema.Hook))
	}
	for _, request := range c.Extensions {
		add(request.TypeName, string(request.Kind))
		if i := len(out) - 1; request.Kind == schema.Resource && d.schemas[request.TypeName] == nil {
			out[i].Runs, out[i].Reason = false, unused
		}
	}
	slices.SortFunc(out, func(a, b Extension) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// typeConfiguration is the default configuration of a type, "" if it has none. Dynamic references are made-up values in it.
func typeConfiguration(ctx context.Context, config *Config, kind types.ThirdPartyType, name string) (string, error) {
	out, err := config.Remote.CloudFormation().BatchDescribeTypeConfigurations(ctx, &cloudformation.BatchDescribeTypeConfigurationsInput{
		TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{{Type: kind, TypeName: &name}},
	})
	if err != nil {
		return "", err
	}
	for _, found := range out.TypeConfigurations {
		if text := aws.ToString(found.Configuration); text != "" {
			return dynamic.ReplaceAllStringFunc(text, concealed), nil
		}
	}
	return "", nil
}

// confine has handlers of the run reach nothing but the recording and the CloudFormation of the run.
func (r *run) confine(server *local.ServerConfig) error {
	server.Sandbox, server.Network = string(sandbox.On), string(sandbox.Named)
	proxies := []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
	server.Environ = slices.DeleteFunc(slices.Clone(server.Environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(proxies, strings.ToUpper(name))
	})
	if len(r.config.Recordings) == 0 {
		return nil
	}
	var err error
	r.proxy, err = httptape.Start(httptape.Config{Mode: httptape.Replay, Tape: httptape.Join(r.config.Recordings...), Environ: server.Environ, Dir: r.dir, Report: func(e httptape.Exchange) {
		if e.Unmatched {
			r.world.missed.Store(&e.Name)
		}
	}})
	if err != nil {
		return err
	}
	server.Environ = append(server.Environ, r.proxy.Env()...)
	server.HandlerEnv = append(slices.Clone(server.HandlerEnv), "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true")
	return nil
}

// register registers the extensions in the CloudFormation of the run. Hooks are off until hook.
func (r *run) register(ctx context.Context) error {
	d := r.world.deployed
	for _, request := range r.config.Extensions {
		used := request.Kind == schema.Hook || d.schemas[request.TypeName] != nil
		if !used || r.config.extension(request.TypeName, request.Kind) == nil {
			continue
		}
		token, err := r.remote.Register(ctx, *request)
		if err == nil {
			_, err = r.remote.Wait(ctx, token, settleLimit, nil)
		}
		if err == nil && request.Kind == schema.Resource {
			r.world.handled[request.TypeName] = true
			if settings := d.settings[request.TypeName]; settings != "" {
				err = r.configure(ctx, types.ThirdPartyTypeResource, request.TypeName, settings)
			}
		}
		if err != nil {
			return r.broken(ctx, request.TypeName, "it could not be registered: "+refusal(err))
		}
	}
	return nil
}

// broken is that an extension does not run, or that the run has ended.
func (r *run) broken(ctx context.Context, name, why string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &brokenError{name, why}
}

func (r *run) configure(ctx context.Context, kind types.ThirdPartyType, name, configuration string) error {
	_, err := r.remote.CloudFormation().SetTypeConfiguration(ctx, &cloudformation.SetTypeConfigurationInput{
		Type: kind, TypeName: &name, Configuration: &configuration, ConfigurationAlias: aws.String("default"),
	})
	return err
}

// probe has the handlers read the resources that are deployed: what a handler does not know here, it cannot update.
func (r *run) probe(ctx context.Context) error {
	for _, of := range r.world.sorted() {
		if !r.world.handled[of.Type] {
			continue
		}
		if _, err := r.remote.Resource(ctx, of.Type, of.Identifier); err != nil {
			return r.broken(ctx, of.Type, fmt.Sprintf("its handler does not know %s: %s", of.LogicalID, refusal(err)))
		}
	}
	return nil
}

// offline are the codes with which a handler fails that has no network.
var offline = []string{"NetworkFailure", "ServiceTimeout", "ServiceInternalError", "InvalidCredentials", "AccessDenied", "Throttling", "InternalFailure", "HandlerInternalFailure", "InvalidTypeConfiguration"}

// own makes a call of a handler of the user, whose resources it notes.
func (w *world) own(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	if of.Action == "CREATE" && w.exists[w.at(of)] && !of.Rollback {
		return failed("AlreadyExists", "the name of %s is in use", of.LogicalID), nil
	}
	answer, err := w.call(ctx, of, next)
	if err != nil {
		return answer, err
	}
	if answer.Status == "FAILED" && slices.Contains(offline, answer.ErrorCode) {
		w.breaks(of.Type, fmt.Sprintf("its handler failed in %s of %s: %s: %s", of.Action, w.at(of), answer.ErrorCode, answer.Message))
	}
	answer.Message = masked(answer.Message)
	key := of.Type + "|" + cmp.Or(answer.Identifier, of.Identifier)
	switch {
	case of.Action == "CREATE" && answer.Identifier != "" && answer.Status != "FAILED":
		w.things[key] = &thing{LogicalID: w.at(of), Type: of.Type, Identifier: answer.Identifier, model: schema.Clone(answer.Model)}
	case of.Action == "UPDATE" && answer.Status == "SUCCESS" && w.things[key] != nil:
		w.things[key].model = schema.Clone(answer.Model)
	case of.Action == "DELETE" && (answer.Status == "SUCCESS" || answer.ErrorCode == "NotFound"):
		w.lose(key)
	}
	return answer, nil
}

// handlerLimit bounds a call of a handler, with the start of its process.
const handlerLimit = 30 * time.Second

// call makes a call of a handler. One that cannot be called, or calls what is on no recording, does not run here.
func (w *world) call(ctx context.Context, of local.ResourceCall, next func(context.Context) (local.ResourceAnswer, error)) (local.ResourceAnswer, error) {
	within, cancel := context.WithTimeout(ctx, handlerLimit)
	defer cancel()
	w.missed.Store(nil)
	answer, err := next(within)
	missed := w.missed.Load()
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case missed != nil:
		w.breaks(of.Type, fmt.Sprintf("the recording has no answer to %s, which its handler calls in %s of %s", *missed, of.Action, w.at(of)))
	case within.Err() != nil:
		w.breaks(of.Type, fmt.Sprintf("its handler has not answered %s of %s after %s", of.Action, w.at(of), handlerLimit))
	case err != nil:
		w.breaks(of.Type, fmt.Sprintf("its handler could not be called: %v", err))
	}
	if err != nil {
		return failed("InternalFailure", "the handler could not be called"), nil
	}
	return answer, nil
}

// lose notes that a resource is deleted.
func (w *world) lose(key string) {
	if t := w.things[key]; t != nil {
		delete(w.things, key)
		if t.before {
			w.gone = append(w.gone, t)
		}
	}
}

// breaks notes that an extension does not run. The first one counts.
func (w *world) breaks(name, why string) {
	if w.broken == nil {
		w.broken = &brokenError{name, masked(why)}
	}
}

// masked hides the values that stand for secrets.
func masked(text string) string { return madeUpSecrets.ReplaceAllString(text, "****") }
