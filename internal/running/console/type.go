package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/running/registry"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A typeHead is the header of all pages about one type.
type typeHead struct {
	*cloudformation.DescribeTypeOutput
	Kind, Name string
	Version    string // the requested one, "" for the default one
	Publisher  string // of a public type that is not activated, else ""
	Tab        string
	page       *page
}

// typeView is a type as a whole.
type typeView struct {
	*typeHead
	Versions       []versionRow
	Registrations  []registration
	Configurations []configuration
	LogGroup       string
	Runs           []registry.TestRun
}

// A versionRow is one version of a private type.
type versionRow struct {
	registry.VersionState
	Run string // id of the newest run of the tests, may be ""
}

// A configuration is what is set for a type, without its secrets.
type configuration struct {
	Alias, ARN string
	Masked     string // JSON; "" if nothing is set
	Updated    *time.Time
}

// head reads the type that a request names.
func (c *Console) head(r *http.Request, p *page, tab string) (*typeHead, error) {
	h := &typeHead{Kind: r.PathValue("kind"), Name: r.PathValue("name"), Version: p.query.Get("v"), Publisher: p.query.Get("publisher"), Tab: tab, page: p}
	if !slices.Contains(kindsOf(), types.RegistryType(h.Kind)) {
		return nil, &fault{Status: http.StatusNotFound, Title: "Unknown kind of type", Message: "The kinds are RESOURCE, MODULE and HOOK."}
	}
	in := &cloudformation.DescribeTypeInput{Type: types.RegistryType(h.Kind), TypeName: aws.String(h.Name)}
	if h.Version != "" {
		in.VersionId = aws.String(h.Version)
	}
	if h.Publisher != "" {
		in.PublisherId = aws.String(h.Publisher)
	}
	out, err := c.config.Registry.DescribeType(r.Context(), c.caller(p), in)
	if err != nil {
		return nil, err
	}
	h.DescribeTypeOutput = out
	p.Title, p.Section = h.Name, "types"
	return h, nil
}

// link is an address below the type; version is for the one that the page shows.
func (h *typeHead) link(rest string, pairs ...string) string {
	pairs = append([]string{"publisher", h.Publisher}, pairs...)
	return h.page.link(typePath(h.Kind, h.Name, rest), pairs...)
}

// Registered reports whether the type is one of the account's own.
func (h *typeHead) Registered() bool {
	return h.Visibility != types.VisibilityPublic && h.PublisherId == nil && h.Publisher == ""
}

// Activated reports whether the type is a public one that the account has taken.
func (h *typeHead) Activated() bool { return value(h.IsActivated) }

// Managed reports whether the type is a Lambda Hook or Guard Hook, which a resource of a stack
// activates and deactivates.
func (h *typeHead) Managed() bool { return value(h.PublisherId) == registry.ManagedPublisher }

// CanActivate reports whether the type is a public one that the account may take.
func (h *typeHead) CanActivate() bool {
	return h.Visibility == types.VisibilityPublic && h.PublisherId != nil && !h.Activated()
}

func (h *typeHead) Deprecated() bool { return h.DeprecatedStatus == types.DeprecatedStatusDeprecated }

// schemaName is the type's name in its schema, by which its handlers are called; an alias
// is a name for stacks only.
func (h *typeHead) schemaName() string { return cmp.Or(value(h.OriginalTypeName), h.Name) }

// logGroup is where the type's handlers write to, "" for types that have none here.
func (h *typeHead) logGroup() string {
	switch {
	case h.Kind == "MODULE" || h.Publisher != "" || h.Managed():
		return ""
	case h.LoggingConfig != nil && value(h.LoggingConfig.LogGroupName) != "":
		return value(h.LoggingConfig.LogGroupName)
	}
	return handlers.DefaultLogGroup(h.schemaName())
}

// role is the role that the type was registered with, "" for none. The registry answers
// the service's own role for those without, as AWS does.
func (h *typeHead) role() string {
	role := value(h.ExecutionRoleArn)
	if strings.HasSuffix(role, "/CloudFormationResourceTypeDefault") {
		return ""
	}
	return role
}

func (c *Console) showType(_ http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	h, err := c.head(r, p, "overview")
	if err != nil {
		return c.showUnfinished(r, p, err)
	}
	p.Live = true
	v := &typeView{typeHead: h, LogGroup: h.logGroup()}
	ctx, caller := r.Context(), c.caller(p)
	if h.Registered() {
		if v.Runs, err = c.config.Registry.TestRuns(ctx, caller, registry.TestQuery{Kind: schema.Kind(h.Kind), TypeName: h.Name, Limit: 20}); err != nil {
			return nil, err
		}
		if v.Versions, err = c.versionRows(ctx, caller, h, v.Runs); err != nil {
			return nil, err
		}
		if v.Registrations, err = c.typeRegistrations(ctx, caller, h); err != nil {
			return nil, err
		}
	}
	if h.Publisher == "" {
		if v.Configurations, err = c.configurations(ctx, caller, h); err != nil {
			return nil, err
		}
	}
	return p.typeBody(v), nil
}

// showUnfinished shows the registrations of a type without a version, which the registry does
// not list as a type; refusal is its error.
func (c *Console) showUnfinished(r *http.Request, p *page, refusal error) (templ.Component, error) {
	if !refused(refusal) || p.query.Get("v") != "" || p.query.Get("publisher") != "" {
		return nil, refusal
	}
	h := &typeHead{Kind: r.PathValue("kind"), Name: r.PathValue("name"), page: p}
	items, err := c.typeRegistrations(r.Context(), c.caller(p), h)
	if err != nil || len(items) == 0 {
		return nil, refusal
	}
	p.Title, p.Section, p.Live = h.Name, "types", true
	return p.unfinishedBody(h, items), nil
}

// versionRows lists the versions of a private type, the newest first.
func (c *Console) versionRows(ctx context.Context, caller awswire.Caller, h *typeHead, runs []registry.TestRun) ([]versionRow, error) {
	found, err := c.config.Registry.TypeVersions(ctx, caller, schema.Kind(h.Kind), h.Name)
	if err != nil {
		return nil, err
	}
	rows := make([]versionRow, len(found))
	for i, state := range found {
		if state.Deprecated {
			state.Tests, state.TestsReason = "", "" // they say nothing any more
		}
		rows[i] = versionRow{VersionState: state}
		if j := slices.IndexFunc(runs, func(r registry.TestRun) bool { return r.Version == state.ID }); j >= 0 {
			rows[i].Run = runs[j].ID
		}
	}
	return rows, nil
}

// typeRegistrations lists the newest registrations of a type, those in progress first.
func (c *Console) typeRegistrations(ctx context.Context, caller awswire.Caller, h *typeHead) ([]registration, error) {
	var all []registration
	for _, status := range []types.RegistrationStatus{types.RegistrationStatusInProgress, types.RegistrationStatusFailed, types.RegistrationStatusComplete} {
		items, _, err := c.registrations(ctx, caller, registry.RegistrationQuery{
			Kind: schema.Kind(h.Kind), TypeName: h.Name, Status: status, Limit: 10,
		})
		if refused(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// configurations reads what is set for a type.
func (c *Console) configurations(ctx context.Context, caller awswire.Caller, h *typeHead) ([]configuration, error) {
	if h.Kind == "MODULE" {
		return nil, nil
	}
	out, err := c.config.Registry.BatchDescribeTypeConfigurations(ctx, caller, &cloudformation.BatchDescribeTypeConfigurationsInput{
		TypeConfigurationIdentifiers: []types.TypeConfigurationIdentifier{{Type: types.ThirdPartyType(h.Kind), TypeName: aws.String(h.Name)}},
	})
	if refused(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []configuration
	for _, d := range out.TypeConfigurations {
		g := configuration{Alias: value(d.Alias), ARN: value(d.Arn), Updated: d.LastUpdated}
		if text := strings.TrimSpace(value(d.Configuration)); text != "" && text != "{}" {
			g.Masked = mask(text)
		}
		all = append(all, g)
	}
	return all, nil
}

// hidden replaces a value of a configuration.
const hidden = "••••••"

// shownValues are the values of a hook's configuration that are never secret: those that
// the service itself defines.
var shownValues = map[string][]string{
	"TargetStacks":         {"ALL", "NONE"},
	"TargetOperations":     {"STACK", "RESOURCE", "CHANGE_SET", "CLOUD_CONTROL"},
	"FailureMode":          {"FAIL", "WARN"},
	"HookInvocationStatus": {"ENABLED", "DISABLED"},
}

// mask is a configuration without its values, which may all be secret. What stays are the
// names, what the service defines, and dynamic references, which only say where a secret
// is. A text that is no JSON is hidden as a whole.
func mask(text string) string {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var model any
	if err := d.Decode(&model); err != nil {
		return hidden
	}
	masked, err := jsonText(maskValue(model, "", 0))
	if err != nil {
		return hidden
	}
	return masked
}

func maskValue(v any, name string, depth int) any {
	if depth > 64 {
		return hidden
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range v {
			out[key] = maskValue(inner, key, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = maskValue(v[i], name, depth+1)
		}
		return out
	case string:
		if slices.Contains(shownValues[name], v) || dynamicReference(v) {
			return v
		}
	case nil:
		return nil
	}
	return hidden
}

// dynamicReference reports whether a text is exactly one reference.
func dynamicReference(text string) bool {
	inner, found := strings.CutPrefix(text, "{{resolve:")
	if !found {
		return false
	}
	inner, found = strings.CutSuffix(inner, "}}")
	return found && !strings.ContainsAny(inner, "{}")
}

// shown is the version that a page about a type is about.
func (h *typeHead) shown() string {
	return cmp.Or(h.Version, value(h.DefaultVersionId), value(h.PublicVersionNumber))
}

// before is the live version before another one, "" if that is the oldest.
func (v *typeView) before(id string) string {
	for _, row := range v.Versions { // the newest first
		if row.ID < id && !row.Deprecated {
			return row.ID
		}
	}
	return ""
}

// provisioning describes what a resource type supports.
func provisioning(kind string) string {
	switch kind {
	case "FULLY_MUTABLE":
		return "can be created, updated and deleted"
	case "IMMUTABLE":
		return "every change replaces the resource"
	case "NON_PROVISIONABLE":
		return "cannot be created by stacks"
	}
	return words(kind)
}
