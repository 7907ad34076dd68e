package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

const consoleLong = `Print the URL of the console of cfn serve, and open it in a browser if there is a desktop.

If the server checks signatures, the URL signs a browser in to the account of your AWS credentials, or
with --auth of a key in the key file of the server. It works once, within a minute: run the command
again for another browser. For all accounts, use the URL that cfn serve printed.

The server is that of FORMWORK_ENDPOINT or AWS_ENDPOINT_URL, or http://` + defaultServeAddress + `. The
console is available only on the machine of the server.`

func newConsole(c *app) *cobra.Command {
	var opts struct {
		remoteOptions

		auth, account string
		noOpen        bool
	}
	cmd := &cobra.Command{
		Use:         "console",
		Short:       "Open the console of cfn serve in a browser",
		Long:        consoleLong,
		Example:     "  cfn console\n  cfn console --auth keys.txt --account 222222222222",
		Args:        noArguments,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			source, endpoint := "option --endpoint-url", opts.endpoint
			if endpoint == "" {
				source = "AWS_ENDPOINT_URL"
				endpoint = cmp.Or(c.Getenv(invoke.LocalVariable), c.Getenv(source), "http://"+defaultServeAddress)
			}
			endpoint, err := localURL(endpoint)
			if err != nil {
				return &usageError{message: source + ": " + err.Error(), hint: "pass the URL printed by cfn serve; the console is available only on the machine of the server"}
			}
			config := submit.Config{Region: opts.region, Profile: opts.profile, Endpoint: endpoint, Getenv: c.Getenv, Now: c.Now, Logger: c.logger}
			switch {
			case opts.auth != "" && opts.profile != "":
				return usagef("option --auth: not allowed with --profile")
			case opts.auth == "" && opts.account != "":
				return usagef("option --account: only with --auth")
			case opts.auth != "":
				keys, err := c.keyFile(ctx, opts.auth)
				if err != nil {
					return err
				}
				key, err := keyOf(keys, opts.auth, opts.account)
				if err != nil {
					return err
				}
				config.Key = aws.Credentials{AccessKeyID: key.id, SecretAccessKey: key.secret}
			}
			remote, err := submit.Open(ctx, config)
			if err != nil {
				return c.serviceError(err)
			}
			address, once, err := remote.ConsoleURL(ctx)
			var foreign *submit.ForeignError
			switch {
			case errors.As(err, &foreign):
				return withHint(err, "pass the URL printed by cfn serve: --endpoint-url URL")
			case err != nil && opts.auth == "" && ctx.Err() == nil:
				return withHint(c.serviceError(err), "pass the key file of the server: --auth FILE")
			case err != nil:
				return c.serviceError(err)
			}
			return c.showConsole(cmd, address, once, !opts.noOpen)
		},
	}
	flags := cmd.Flags()
	opts.remoteOptions.flags(flags)
	flags.StringVar(&opts.auth, "auth", "", "sign in with a key of the key `FILE` of the server")
	flags.StringVar(&opts.account, "account", "", "sign in to the account `NUMBER` of the key file (default: that of its first key)")
	flags.BoolVar(&opts.noOpen, "no-open", false, "only print the URL")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// showConsole prints the URL of the console, and opens it on a desktop.
func (c *app) showConsole(cmd *cobra.Command, address string, once, open bool) error {
	if c.format == "json" {
		return c.printJSON(struct {
			URL  string `json:"url"`
			Once bool   `json:"once"` // it works once, within a minute
		}{address, once})
	}
	if _, err := fmt.Fprintln(c.Stdout, address); err != nil {
		return err
	}
	if !c.Terminal.Stdin || !c.Terminal.Stdout {
		return nil
	}
	if once {
		c.notef("# the URL works once, within a minute\n")
	}
	if open {
		c.openBrowser(cmd.Context(), address)
	}
	return nil
}
