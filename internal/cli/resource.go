package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func newResource(c *app) *cobra.Command {
	opts := &remoteOptions{}
	cmd := &cobra.Command{
		Use:   "resource",
		Short: "Create, read, update, delete and list single resources",
		Long: `Create, read, update, delete and list single resources through the Cloud Control API, without a
stack. The resources are on AWS, or in "cfn serve" on this machine if AWS_ENDPOINT_URL is set to it.

A type and a primary identifier select a resource. If the identifier has several parts, join them with
"|" or pass a JSON object: '{"Zone": "a", "Name": "b"}'.

Exit code: 0; 1 if a file or setting is missing on this machine; 2 if the service returned an error or
the request failed; 130 after Ctrl-C, which stops the wait, not the request.`,
		Args: func(*cobra.Command, []string) error {
			return errors.New("the following arguments are required: create, get, list, update, delete or requests")
		},
		RunE:        func(*cobra.Command, []string) error { return nil }, // Args never lets it run
		Annotations: map[string]string{"log": "none"},
	}
	opts.flags(cmd.PersistentFlags())
	cmd.AddCommand(newResourceCreate(c, opts), newResourceGet(c, opts), newResourceList(c, opts), newResourceUpdate(c, opts), newResourceDelete(c, opts), newResourceRequests(c, opts))
	return cmd
}

// resourceCommand makes a command about resources. names are its arguments.
func (c *app) resourceCommand(opts *remoteOptions, use, short string, names []string, run func(ctx context.Context, r *submit.Remote, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: strings.Join(append([]string{use}, names...), " "), Short: short,
		Annotations: map[string]string{"log": "none"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < len(names) {
				return fmt.Errorf("the following arguments are required: %s", strings.Join(names[len(args):], ", "))
			}
			return atMost(len(names))(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := c.openRemote(cmd.Context(), opts)
			if err != nil {
				return err
			}
			return run(cmd.Context(), r, args)
		},
	}
}

func newResourceCreate(c *app, opts *remoteOptions) *cobra.Command {
	var properties string
	var noWait bool
	cmd := c.resourceCommand(opts, "create", "Create a resource", []string{"TYPE"}, func(ctx context.Context, r *submit.Remote, args []string) error {
		state, err := c.readProperties(ctx, properties)
		if err != nil {
			return err
		}
		event, err := r.CreateResource(ctx, args[0], state)
		if err != nil {
			return c.typeError(ctx, r, args[0], err)
		}
		return c.resourceRequest(ctx, r, opts, event, err, noWait)
	})
	cmd.Long = `Create a resource and wait until it exists. --properties is a JSON or YAML file with its properties, or
"-" for the standard input.`
	cmd.Example = "  cfn resource create Initech::TPS::Report --properties report.yaml"
	cmd.Flags().StringVar(&properties, "properties", "-", "the JSON or YAML `FILE` with the properties")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the request to finish")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func newResourceGet(c *app, opts *remoteOptions) *cobra.Command {
	cmd := c.resourceCommand(opts, "get", "Print the properties of a resource", []string{"TYPE", "IDENTIFIER"}, func(ctx context.Context, r *submit.Remote, args []string) error {
		found, err := r.Resource(ctx, args[0], args[1])
		if err != nil && submit.Explain(err).Code == "ResourceNotFoundException" {
			c.logger.Debug("The service failed", "error", err)
			return withHint(&downstreamError{fmt.Errorf("%s %s does not exist in %s", args[0], args[1], r.Region)}, "run cfn resource list %s%s", args[0], opts.again(r.Region))
		}
		if err != nil {
			return c.typeError(ctx, r, args[0], err)
		}
		return c.printJSON(json.RawMessage(aws.ToString(found.Properties)))
	})
	cmd.Long = "Print the properties of a resource as JSON, as its read handler returns them."
	cmd.Example = "  cfn resource get AWS::SSM::Parameter /shop/stage"
	return cmd
}

func newResourceList(c *app, opts *remoteOptions) *cobra.Command {
	var model string
	cmd := c.resourceCommand(opts, "list", "List the resources of a type", []string{"TYPE"}, func(ctx context.Context, r *submit.Remote, args []string) error {
		return c.listResources(ctx, r, args[0], model)
	})
	cmd.Long = `List the resources of a type as its list handler returns them. Some list handlers need properties,
such as those of the parent resource: --model passes them.`
	cmd.Example = "  cfn resource list AWS::S3::Bucket\n  cfn resource list AWS::Logs::LogStream --model '{\"LogGroupName\": \"shop\"}'"
	cmd.Flags().StringVar(&model, "model", "", "the properties that the list handler requires, as a `JSON` object")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A foundResource is a resource in a list.
type foundResource struct {
	Identifier string          `json:"identifier"`
	Properties json.RawMessage `json:"properties"`
}

func (c *app) listResources(ctx context.Context, r *submit.Remote, typeName, model string) error {
	found := []foundResource{}
	for d, err := range r.Resources(ctx, typeName, model) {
		if err != nil {
			return c.typeError(ctx, r, typeName, err)
		}
		found = append(found, foundResource{aws.ToString(d.Identifier), json.RawMessage(aws.ToString(d.Properties))})
	}
	if c.format == "json" {
		return c.printJSON(struct {
			TypeName  string          `json:"typeName"`
			Region    string          `json:"region"`
			Resources []foundResource `json:"resources"`
		}{typeName, r.Region, found})
	}
	if len(found) == 0 {
		c.notef("no resources of %s in %s\n", typeName, r.Region)
		return nil
	}
	for _, f := range found {
		c.printf("%s\n", f.Identifier)
	}
	return nil
}

func newResourceUpdate(c *app, opts *remoteOptions) *cobra.Command {
	var patch string
	var set, remove []string
	var noWait bool
	cmd := c.resourceCommand(opts, "update", "Update a resource", []string{"TYPE", "IDENTIFIER"}, func(ctx context.Context, r *submit.Remote, args []string) error {
		if patch == "" && len(set) == 0 && len(remove) == 0 {
			return &usageError{message: "missing option --set, --remove or --patch", hint: `for example --set /Title='"Q3"'`}
		}
		operations, err := c.readPatch(ctx, patch, set, remove)
		if err != nil {
			return err
		}
		event, err := r.UpdateResource(ctx, args[0], args[1], operations)
		return c.resourceRequest(ctx, r, opts, event, err, noWait)
	})
	cmd.Long = `Update a resource and wait for the update to finish. --set and --remove select properties with JSON
Pointers. --patch is a file with a JSON patch (RFC 6902), or "-" for the standard input. The update
handler receives the properties that the read handler returns, with the changes.`
	cmd.Example = `  cfn resource update Initech::TPS::Report b3a1 --set /Title='"Q3"' --remove /Memo
  cfn resource update Initech::TPS::Report b3a1 --patch change.json`
	cmd.Flags().StringVar(&patch, "patch", "", "the `FILE` with a JSON patch")
	cmd.Flags().StringArrayVar(&set, "set", nil, "set the property at a pointer: `POINTER=JSON`; a value that is not JSON is a string")
	cmd.Flags().StringArrayVar(&remove, "remove", nil, "remove the property at a `POINTER`")
	cmd.MarkFlagsMutuallyExclusive("patch", "set")
	cmd.MarkFlagsMutuallyExclusive("patch", "remove")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the request to finish")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func newResourceDelete(c *app, opts *remoteOptions) *cobra.Command {
	var yes, noWait bool
	cmd := c.resourceCommand(opts, "delete", "Delete a resource", []string{"TYPE", "IDENTIFIER"}, func(ctx context.Context, r *submit.Remote, args []string) error {
		if !yes {
			if err := c.confirm(ctx, fmt.Sprintf("Delete %s %s in %s?", args[0], args[1], r.Region)); err != nil {
				return err
			}
		}
		event, err := r.DeleteResource(ctx, args[0], args[1])
		return c.resourceRequest(ctx, r, opts, event, err, noWait)
	})
	cmd.Long = "Delete a resource and wait until it is deleted. On a terminal cfn asks for confirmation; otherwise, pass --yes."
	cmd.Example = "  cfn resource delete Initech::TPS::Report b3a1 --yes"
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the request to finish")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func newResourceRequests(c *app, opts *remoteOptions) *cobra.Command {
	var cancel, follow bool
	cmd := &cobra.Command{
		Use:   "requests [TOKEN]",
		Short: "List requests, or show, follow or cancel one",
		Long: `List the requests that create, update and delete resources, newest first. Finished requests are listed
for seven days. With a TOKEN, show that request; --follow waits for it to finish, --cancel cancels it.
Canceling does not undo what the handler has already done.`,
		Example:     "  cfn resource requests\n  cfn resource requests 3f0c… --follow",
		Annotations: map[string]string{"log": "none"},
		Args:        atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && (cancel || follow) {
				return &usageError{message: "the following arguments are required: TOKEN", hint: "run cfn resource requests to list requests with their tokens"}
			}
			r, err := c.openRemote(cmd.Context(), opts)
			if err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				return c.listRequests(cmd.Context(), r)
			case cancel:
				event, err := r.CancelResourceRequest(cmd.Context(), args[0])
				return c.resourceRequest(cmd.Context(), r, opts, event, err, true)
			}
			event, err := r.ResourceRequest(cmd.Context(), args[0])
			return c.resourceRequest(cmd.Context(), r, opts, event, err, !follow)
		},
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "wait for the request to finish")
	cmd.Flags().BoolVar(&cancel, "cancel", false, "cancel the request")
	cmd.MarkFlagsMutuallyExclusive("follow", "cancel")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// A listedRequest is a request, with --format json.
type listedRequest struct {
	Token      string          `json:"token"`
	Operation  string          `json:"operation"`
	TypeName   string          `json:"typeName"`
	Identifier string          `json:"identifier"`
	Status     string          `json:"status"`
	ErrorCode  string          `json:"errorCode"`
	Message    string          `json:"message"`
	Time       time.Time       `json:"time"`
	Properties json.RawMessage `json:"properties,omitempty"`
}

func listRequest(e *types.ProgressEvent) listedRequest {
	return listedRequest{
		aws.ToString(e.RequestToken), string(e.Operation), aws.ToString(e.TypeName), aws.ToString(e.Identifier), string(e.OperationStatus),
		string(e.ErrorCode), aws.ToString(e.StatusMessage), aws.ToTime(e.EventTime), json.RawMessage(aws.ToString(e.ResourceModel)),
	}
}

func (c *app) listRequests(ctx context.Context, r *submit.Remote) error {
	found := []listedRequest{}
	for e, err := range r.ResourceRequests(ctx, nil) {
		if err != nil {
			return c.serviceError(err)
		}
		found = append(found, listRequest(&e))
	}
	if c.format == "json" {
		return c.printJSON(struct {
			Region   string          `json:"region"`
			Requests []listedRequest `json:"requests"`
		}{r.Region, found})
	}
	if len(found) == 0 {
		c.notef("no requests in %s\n", r.Region)
		return nil
	}
	return c.table("TOKEN\tOPERATION\tSTATUS\tTYPE\tIDENTIFIER\tTIME", func(w *tabwriter.Writer) {
		for _, q := range found {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", q.Token, q.Operation, q.Status, q.TypeName, short(q.Identifier), day(q.Time))
		}
	})
}

// resourceRequest shows a request that was begun, and how it ends unless noWait is set.
func (c *app) resourceRequest(ctx context.Context, r *submit.Remote, opts *remoteOptions, event *types.ProgressEvent, err error, noWait bool) error {
	if err != nil {
		return c.serviceError(err)
	}
	token := aws.ToString(event.RequestToken)
	if !noWait {
		stop := c.progress("%s %s %s", event.Operation, aws.ToString(event.TypeName), aws.ToString(event.Identifier))
		ended, err := r.FollowResourceRequest(ctx, token, func(*types.ProgressEvent) {})
		stop()
		switch {
		case ctx.Err() != nil:
			c.notef("the request continues; to follow it, run: cfn resource requests %s --follow%s\n", token, opts.again(r.Region))
			return ctx.Err()
		case err != nil:
			return c.serviceError(err)
		}
		event = ended
	}
	if c.format == "json" {
		if err := c.printJSON(listRequest(event)); err != nil {
			return err
		}
	} else if event.OperationStatus != types.OperationStatusFailed {
		c.printf("%s %s %s: %s (request %s)\n", event.Operation, aws.ToString(event.TypeName), aws.ToString(event.Identifier), event.OperationStatus, token)
	}
	if event.OperationStatus != types.OperationStatusFailed {
		return nil
	}
	failure := fmt.Errorf("%s of %s failed: %s [%s]", event.Operation, aws.ToString(event.TypeName), aws.ToString(event.StatusMessage), event.ErrorCode)
	if c.format == "json" {
		return &exitError{exitDownstream, ""}
	}
	return &downstreamError{failure}
}

// maxProperties bounds the properties of a resource, in bytes, as the API does.
const maxProperties = 262144

// readProperties reads the properties of a resource, JSON or YAML, and returns JSON.
func (c *app) readProperties(ctx context.Context, file string) (string, error) {
	value, err := c.readDocument(ctx, file)
	if err != nil {
		return "", err
	}
	if value == nil || value.Kind != document.Object {
		return "", withHint(fmt.Errorf("%s: the properties must be an object", shownInput(file)), `for example {"Title": "Q3"}`)
	}
	encoded, err := json.Marshal(value.Any())
	return string(encoded), err
}

// readDocument reads a file, or the standard input.
func (c *app) readDocument(ctx context.Context, file string) (*document.Value, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = c.readStdin(ctx, maxProperties)
	} else {
		data, err = document.ReadFile(c.path(file), maxProperties)
	}
	if err != nil {
		return nil, missingFile(err, shownInput(file), "pass the path of a file in JSON or YAML, or - for the standard input")
	}
	value, problems := document.Parse(shownInput(file), data, document.Limits{})
	return value, problems.Err()
}

func shownInput(file string) string {
	if file == "-" {
		return "the standard input"
	}
	return file
}

// readPatch makes a JSON patch of a file, or of what --set and --remove say.
func (c *app) readPatch(ctx context.Context, file string, set, remove []string) (string, error) {
	if file != "" {
		value, err := c.readDocument(ctx, file)
		if err != nil {
			return "", err
		}
		if value == nil || value.Kind != document.Array {
			return "", withHint(fmt.Errorf("%s: a JSON patch must be an array", shownInput(file)), `for example [{"op": "replace", "path": "/Title", "value": "Q3"}]`)
		}
		encoded, err := json.Marshal(value.Any())
		return string(encoded), err
	}
	operations := []map[string]any{}
	for _, s := range set {
		pointer, text, found := strings.Cut(s, "=")
		if !found || !strings.HasPrefix(pointer, "/") {
			return "", withHint(fmt.Errorf("option --set: expected POINTER=JSON but got %q", s), `for example --set /Title='"Q3"'`)
		}
		var value any = text
		if json.Valid([]byte(text)) {
			value = json.RawMessage(text)
		}
		operations = append(operations, map[string]any{"op": "add", "path": pointer, "value": value})
	}
	for _, pointer := range remove {
		if !strings.HasPrefix(pointer, "/") {
			return "", withHint(fmt.Errorf("option --remove: %q is not a JSON Pointer", pointer), "for example --remove /Title")
		}
		operations = append(operations, map[string]any{"op": "remove", "path": pointer})
	}
	encoded, err := json.Marshal(operations)
	return string(encoded), err
}
