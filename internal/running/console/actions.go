package console

import (
	"net/http"
	"strconv"

	"github.com/a-h/templ"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// notices are the messages after a form was submitted. The address of the next page names one
// of them, so that no text of an address is ever displayed.
var notices = map[string]string{
	"default":      "The default version was changed.",
	"deregistered": "The version was deregistered.",
	"removed":      "The type was deregistered.",
	"testing":      "The contract tests were started.",
	"activated":    "The type was activated.",
	"deactivated":  "The type was deactivated.",
	"executed":     "The change set is being executed.",
	"deleted":      "The change set was deleted.",
	"refactoring":  "The refactor is being executed.",
	"detecting":    "Drift detection was started.",
	"planned":      "The change set is being created: execute it to deploy.",
	"canceling":    "The update is being canceled.",
	"rolling":      "The stack is being rolled back.",
	"deleting":     "The stack is being deleted.",
}

// back sends the browser on with GET, so that reloading the page repeats nothing.
func back(w http.ResponseWriter, r *http.Request, address string) (templ.Component, error) {
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil, nil
}

// named reads which type a form is about, and which version of it, "" for none.
func named(r *http.Request) (kind, name, version string) {
	return r.PathValue("kind"), r.PathValue("name"), r.PostForm.Get("version")
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return aws.String(text)
}

func (c *Console) setDefault(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	kind, name, version := named(r)
	_, err := c.config.Registry.SetTypeDefaultVersion(r.Context(), c.caller(p), &cloudformation.SetTypeDefaultVersionInput{
		Type: types.RegistryType(kind), TypeName: optional(name), VersionId: optional(version),
	})
	if err != nil {
		return nil, err
	}
	return back(w, r, p.link(typePath(kind, name, ""), "done", "default"))
}

func (c *Console) runTests(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	kind, name, version := named(r)
	_, err := c.config.Registry.TestType(r.Context(), c.caller(p), &cloudformation.TestTypeInput{
		Type: types.ThirdPartyType(kind), TypeName: optional(name), VersionId: optional(version),
	})
	if err != nil {
		return nil, err
	}
	return back(w, r, p.link(typePath(kind, name, ""), "done", "testing"))
}

// deregister takes a version away, or the type as a whole if the form names none.
func (c *Console) deregister(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	kind, name, version := named(r)
	_, err := c.config.Registry.DeregisterType(r.Context(), c.caller(p), &cloudformation.DeregisterTypeInput{
		Type: types.RegistryType(kind), TypeName: optional(name), VersionId: optional(version),
	})
	if err != nil {
		return nil, err
	}
	if version == "" {
		return back(w, r, p.link("/types", "done", "removed"))
	}
	return back(w, r, p.link(typePath(kind, name, ""), "done", "deregistered"))
}

func (c *Console) activate(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	kind, name, _ := named(r)
	in := &cloudformation.ActivateTypeInput{
		Type: types.ThirdPartyType(kind), TypeName: optional(name), PublisherId: optional(r.PostForm.Get("publisher")),
		TypeNameAlias: optional(r.PostForm.Get("alias")), ExecutionRoleArn: optional(r.PostForm.Get("role")),
		AutoUpdate: aws.Bool(r.PostForm.Get("autoupdate") == "1"),
	}
	if text := r.PostForm.Get("major"); text != "" {
		major, err := strconv.ParseInt(text, 10, 64)
		if err != nil || major < 1 {
			return nil, &fault{Status: http.StatusBadRequest, Title: "No changes made", Message: "The major version must be a positive integer."}
		}
		in.MajorVersion = aws.Int64(major)
	}
	if _, err := c.config.Registry.ActivateType(r.Context(), c.caller(p), in); err != nil {
		return nil, err
	}
	if in.TypeNameAlias != nil {
		name = *in.TypeNameAlias
	}
	return back(w, r, p.link(typePath(kind, name, ""), "done", "activated"))
}

func (c *Console) deactivate(w http.ResponseWriter, r *http.Request, p *page) (templ.Component, error) {
	kind, name, _ := named(r)
	_, err := c.config.Registry.DeactivateType(r.Context(), c.caller(p), &cloudformation.DeactivateTypeInput{
		Type: types.ThirdPartyType(kind), TypeName: optional(name),
	})
	if err != nil {
		return nil, err
	}
	return back(w, r, p.link("/types", "done", "deactivated"))
}
