package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/proving/customtest"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// customInvokeOptions are the options of cfn cr invoke.
type customInvokeOptions struct {
	customOptions
	create, update, remove, request string
	old, properties, physicalID     string
	printRequest                    bool

	given func(name string) bool // reports whether an option was given
}

func newCustomInvoke(c *app) *cobra.Command {
	opts := &customInvokeOptions{}
	cmd := &cobra.Command{
		Use:   "invoke HANDLER",
		Short: "Send one request to a handler of a custom resource",
		Long: `Send one request to a handler of a custom resource, and show the request, the log and the response. Rules
of the protocol that the response violates are printed on standard error.

Pass one of --create, --update, --delete and --request. Files with properties are JSON or YAML; - is the
standard input. --request has a whole request as JSON, such as one from a log; its ResponseURL is
replaced.

` + handlerForms + `

Exit code: 0 if the response is valid, even FAILED; 1 if it is missing or violates a rule.`,
		Example: `  cfn cr invoke . --create create.json
  cfn cr invoke index.mjs --update update.json --old create.json --physical-id orders-1
  cfn cr invoke index.py:main --delete orders-1 --properties create.json
  cfn cr invoke bootstrap --request event.json --format json`,
		Args:        oneHandler,
		Annotations: map[string]string{"log": "none"},
		RunE:        func(cmd *cobra.Command, args []string) error { return c.customInvoke(cmd.Context(), opts, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.create, "create", "", "send a Create with the properties in the `FILE`")
	flags.StringVar(&opts.update, "update", "", "send an Update to the properties in the `FILE`, with --physical-id and --old")
	flags.StringVar(&opts.remove, "delete", "", "send a Delete of the resource with the physical `ID`, with --properties")
	flags.StringVar(&opts.request, "request", "", "send the request in the `FILE`")
	flags.StringVar(&opts.old, "old", "", "with --update, the `FILE` with the old properties")
	flags.StringVar(&opts.physicalID, "physical-id", "", "with --update, the physical `ID` of the resource")
	flags.StringVar(&opts.properties, "properties", "", "with --delete, the `FILE` with the properties of the resource")
	flags.BoolVar(&opts.printRequest, "print-request", false, "print the request without calling the handler")
	opts.flags(flags)
	opts.given = flags.Changed
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// checkInvoke checks the combination of options.
func (o *customInvokeOptions) checkInvoke() error {
	if err := o.check(); err != nil {
		return err
	}
	count := 0
	for _, name := range []string{"create", "update", "delete", "request"} {
		if o.given(name) {
			count++
		}
	}
	switch {
	case count != 1:
		return usagef("pass one of the options --create, --update, --delete and --request")
	case o.given("update") && o.physicalID == "":
		return usagef("option --update requires --physical-id ID, the physical ID that Create returned")
	case o.given("delete") && o.remove == "":
		return usagef("option --delete: expected a physical ID")
	}
	for _, pair := range [][2]string{{"old", "update"}, {"physical-id", "update"}, {"properties", "delete"}} {
		if o.given(pair[0]) && !o.given(pair[1]) {
			return usagef("option --%s: only allowed with --%s", pair[0], pair[1])
		}
	}
	if o.given("request") && o.given("type") {
		return usagef("option --type: not allowed with --request, which has the type")
	}
	return nil
}

// customRequest makes the request of the options.
func (c *app) customRequest(ctx context.Context, o *customInvokeOptions, identity customtest.Identity) (*customresource.Request, error) {
	if o.request != "" {
		return c.readCustomRequest(ctx, o)
	}
	request := identity.NewRequest(customresource.Create, uuid.NewString())
	request.RequestID = uuid.NewString()
	option, name := "create", o.create
	switch {
	case o.given("update"):
		request.RequestType, request.PhysicalResourceID = customresource.Update, o.physicalID
		option, name = "update", o.update
		old, err := c.readCustomProperties(ctx, "old", o.old, &o.customOptions)
		if err != nil {
			return nil, err
		}
		request.OldProperties = withServiceToken(old, identity.ServiceToken)
	case o.given("delete"):
		request.RequestType, request.PhysicalResourceID = customresource.Delete, o.remove
		option, name = "properties", o.properties
	}
	properties, err := c.readCustomProperties(ctx, option, name, &o.customOptions)
	if err != nil {
		return nil, err
	}
	request.Properties = withServiceToken(properties, identity.ServiceToken)
	return request, nil
}

func withServiceToken(properties map[string]any, token string) map[string]any {
	if properties == nil {
		properties = map[string]any{}
	}
	properties[customresource.PropertyToken] = token
	return properties
}

// readCustomRequest reads a whole request.
func (c *app) readCustomRequest(ctx context.Context, o *customInvokeOptions) (*customresource.Request, error) {
	data, err := c.readInput(ctx, o.request)
	if err != nil {
		return nil, missingFile(err, o.request, "the file has a request of CloudFormation to a custom resource as JSON")
	}
	doc, problems := document.ParseJSON(o.request, data, document.Limits{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if doc.Kind != document.Object {
		return nil, fmt.Errorf("%s: expected a JSON object with a request but got %s", o.request, doc.Kind)
	}
	c.hideProperties(doc.Any(), o.secrets)
	request := &customresource.Request{}
	if err := json.Unmarshal(doc.AppendJSON(nil), request); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s: %s has the wrong type: %s", o.request, wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("%s: %w", o.request, err)
	}
	request.ResponseURL = "" // it may be a real one, and gets replaced
	switch request.RequestType {
	case customresource.Create, customresource.Update, customresource.Delete:
	default:
		return nil, fmt.Errorf("%s: RequestType is %q; expected Create, Update or Delete", o.request, request.RequestType)
	}
	for name, value := range map[string]string{"RequestId": request.RequestID, "StackId": request.StackID, "LogicalResourceId": request.LogicalResourceID} {
		if value == "" {
			return nil, fmt.Errorf("%s: %s is missing", o.request, name)
		}
	}
	if request.PhysicalResourceID == "" && request.RequestType != customresource.Create {
		return nil, fmt.Errorf("%s: PhysicalResourceId is missing", o.request)
	}
	return request, nil
}

// customInvoke sends one request and shows what came of it.
func (c *app) customInvoke(ctx context.Context, o *customInvokeOptions, handler string) error {
	if err := o.checkInvoke(); err != nil {
		return err
	}
	if o.printRequest {
		request, err := c.customRequest(ctx, o, o.identity(c.handlerName(handler)))
		if err != nil {
			return err
		}
		data, err := request.Encode()
		if err != nil {
			return err
		}
		c.printf("%s\n", customtest.Shown(c.log.Secrets(), data))
		return nil
	}
	request, err := c.customRequest(ctx, o, o.identity(c.handlerName(handler)))
	if err != nil {
		return err
	}
	h, err := c.openHandler(ctx, &o.customOptions, handler)
	if err != nil {
		return err
	}
	defer h.close()
	done := c.progress("waiting for the response to %s", request.RequestType)
	sender := customtest.Sender{Function: h.function, Receiver: h.receiver, Timeout: o.timeout, Wait: o.wait, Now: c.Now}
	x, err := sender.Send(ctx, request)
	done()
	if err != nil {
		return err
	}
	return c.showExchange(x)
}

// showExchange prints a request, the response and the log. The error is that of a response that
// is missing or not valid.
func (c *app) showExchange(x *customtest.Exchange) error {
	secrets := c.log.Secrets()
	if at, err := url.Parse(x.Request.ResponseURL); err == nil {
		secrets.AddFor("presigned URL", customresource.Signature(at.Query()))
	}
	if x.Response != nil && x.Response.NoEcho {
		secrets.AddFor(secret.Reason("NoEcho"), customtest.Leaves(x.Response.Data)...)
	}
	sent, body, log := customtest.Shown(secrets, x.Sent), customtest.Shown(secrets, x.Body), secrets.Hide(string(x.Log))
	if c.format == "json" {
		if err := c.printExchange(x, sent, body, log); err != nil {
			return err
		}
	} else {
		c.printf("=== Request ===\n%s\n", sent)
		if x.Body != nil {
			c.printf("=== Response ===\n%s\n", body)
		}
		printLog(c.Stderr, log)
		for _, v := range x.Violations {
			c.notef("error: %s\n  the rule: %s\n", secrets.Hide(v.Message), customtest.Clause(v.Rule))
		}
	}
	switch {
	case len(x.Violations) > 0:
		return &exitError{code: exitFailure}
	case x.Err != nil && c.format == "text":
		c.notef("warning: the invocation failed after the response: %s\n", secrets.Hide(x.Err.Error()))
	}
	return nil
}

// printExchange prints an exchange as one document.
func (c *app) printExchange(x *customtest.Exchange, sent, body []byte, log string) error {
	type violation struct {
		Rule    string `json:"rule"`
		Section string `json:"section"`
		Text    string `json:"text"`
		Message string `json:"message"`
	}
	out := struct {
		Request            json.RawMessage `json:"request"`
		Response           any             `json:"response"` // text if it is not JSON, null without one
		Status             string          `json:"status"`   // "" without a valid response
		PhysicalResourceID string          `json:"physicalResourceId"`
		Reason             string          `json:"reason"`
		Violations         []violation     `json:"violations"`
		Seconds            float64         `json:"seconds"`
		Log                string          `json:"log"`
		Error              string          `json:"error"` // of the invocation
	}{Request: sent, Violations: []violation{}, Seconds: x.Duration.Seconds(), Log: log}
	secrets := c.log.Secrets()
	switch {
	case json.Valid(body):
		out.Response = json.RawMessage(body)
	case body != nil:
		out.Response = string(body)
	}
	if x.Response != nil {
		out.Status, out.PhysicalResourceID, out.Reason = x.Response.Status, secrets.Hide(x.Response.PhysicalResourceID), secrets.Hide(x.Response.Reason)
	}
	for _, v := range x.Violations {
		out.Violations = append(out.Violations, violation{v.Rule.ID, v.Rule.Section, v.Rule.Text, secrets.Hide(v.Message)})
	}
	if x.Err != nil {
		out.Error = secrets.Hide(x.Err.Error())
	}
	return c.printJSON(out)
}
