package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// dummySecret signs requests to servers that do not check signatures.
const dummySecret = invoke.LocalSecret

// A variable is set to its value, or removed if the value is empty: no client gets an empty
// credential.
type variable struct{ name, value string }

const sessionTokenVariable = "AWS_SESSION_TOKEN"

// A shell is how variables are set and removed.
type shell struct {
	set, unset func(v variable) string
	hint       string // how to run the output
}

// shells are the shells by name.
var shells = map[string]shell{
	"sh": {
		func(v variable) string { return "export " + v.name + "=" + shellQuote(v.value) },
		func(v variable) string { return "unset " + v.name },
		`eval "$(cfn env)"`,
	},
	"fish": {
		func(v variable) string { return "set -gx " + v.name + " " + shellQuote(v.value) },
		func(v variable) string { return "set -e " + v.name },
		"cfn env --shell fish | source",
	},
	"powershell": {
		func(v variable) string {
			return "$env:" + v.name + " = '" + strings.ReplaceAll(v.value, "'", "''") + "'"
		},
		func(v variable) string { return "Remove-Item Env:" + v.name + " -ErrorAction SilentlyContinue" },
		"cfn env --shell powershell | Out-String | Invoke-Expression",
	},
	"dotenv": {
		func(v variable) string { return v.name + "=" + v.value },
		func(v variable) string { return v.name + "=" },
		`cfn env --shell dotenv >>"$GITHUB_ENV"`,
	},
}

const envLong = `Print the environment variables with which the aws CLI, the SDKs, CDK and cfn itself talk to
the local CloudFormation of cfn serve instead of AWS. Run what it prints:

  eval "$(cfn env)"                                               sh, bash, zsh
  cfn env --shell fish | source                                   fish
  cfn env --shell powershell | Out-String | Invoke-Expression     PowerShell
  cfn env --shell dotenv >>"$GITHUB_ENV"                          GitHub Actions

The credentials are dummies: the access key is the number of the account to work in. For a
server that checks signatures, --auth takes them from its key file. While the variables are set,
cfn refuses to call an AWS endpoint that is not on this machine. cfn env --unset prints what
removes them again.

Some programs ignore AWS_ENDPOINT_URL: older SDKs, and those with fixed addresses. With --proxy, the
variables also make the server the proxy for HTTPS. It answers for the hosts of AWS, and refuses others
unless cfn serve was started with --allow-host. Its certificate changes whenever it starts: run cfn
env --proxy again then.`

func newEnv(c *app) *cobra.Command {
	var opts struct {
		endpoint, region, account, shell, auth string
		unset, proxy                           bool
	}
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the variables that point AWS clients at cfn serve",
		Long:  envLong,
		Example: `  eval "$(cfn env)"
  eval "$(cfn env --account 222222222222 --region eu-central-1)"
  eval "$(cfn env --unset)"`,
		Args:        noArguments,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			name := opts.shell
			if name == "" {
				name = shellOf(runtime.GOOS, c.Getenv)
			}
			shell, known := shells[name]
			if !known {
				return usagef("option --shell: expected sh, fish, powershell or dotenv but got %q", opts.shell)
			}
			endpoint, err := localURL(opts.endpoint)
			if err != nil {
				return &usageError{message: "option --endpoint: " + err.Error(), hint: "pass the URL printed by cfn serve; for a server elsewhere, set AWS_ENDPOINT_URL yourself"}
			}
			if err := checkPlace(opts.account, opts.region); err != nil {
				return err
			}
			variables := localVariables(c.Environ, endpoint, opts.region, opts.account)
			if opts.auth != "" {
				account := ""
				if cmd.Flags().Changed("account") {
					account = opts.account
				}
				if variables, err = c.keyed(cmd.Context(), variables, opts.auth, account); err != nil {
					return err
				}
			}
			if opts.unset {
				for i := range variables {
					variables[i].value = ""
				}
			}
			if opts.proxy {
				proxied, err := c.proxyVariables(cmd.Context(), endpoint, opts.unset)
				if err != nil {
					return err
				}
				variables = append(variables, proxied...)
			}
			if err := c.printVariables(variables, shell, opts.unset); err != nil {
				return err
			}
			if !opts.unset {
				c.noteServer(cmd.Context(), endpoint, opts.auth != "")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.endpoint, "endpoint", "http://"+defaultServeAddress, "the `URL` printed by cfn serve")
	flags.StringVar(&opts.region, "region", invoke.DefaultRegion, "the `NAME` of the region to use")
	flags.StringVar(&opts.account, "account", lambda.DefaultAccountID, "the `NUMBER` of the account to use")
	flags.StringVar(&opts.auth, "auth", "", "read the credentials from the key `FILE` of the server")
	flags.StringVar(&opts.shell, "shell", "", "the output format: `NAME` is sh, fish, powershell or dotenv (default: from $SHELL)")
	flags.BoolVar(&opts.proxy, "proxy", false, "also make clients that ignore AWS_ENDPOINT_URL use the server, as their HTTPS proxy")
	flags.BoolVar(&opts.unset, "unset", false, "print commands that unset the variables")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

var accountNumber = lazyregexp.New(`^[0-9]{12}$`)

// printVariables prints what sets or removes them.
func (c *app) printVariables(variables []variable, shell shell, unset bool) error {
	if c.format == "json" {
		if unset {
			return usagef("option --unset: not allowed with --format json")
		}
		object := map[string]string{}
		for _, v := range variables {
			if v.value != "" {
				object[v.name] = v.value
			}
		}
		return c.printJSON(object)
	}
	for _, v := range variables {
		if v.value == "" {
			c.printf("%s\n", shell.unset(v))
		} else {
			c.printf("%s\n", shell.set(v))
		}
	}
	if c.Terminal.Stdout && !unset {
		c.notef("# to set them in this shell: %s\n", shell.hint)
	}
	return nil
}

// checkPlace checks --account and --region.
func checkPlace(account, region string) error {
	switch {
	case !accountNumber.MatchString(account):
		return usagef("option --account: expected 12 digits but got %q", account)
	case !regionName.MatchString(region):
		return usagef("option --region: expected a region such as eu-west-1 but got %q", region)
	}
	return nil
}

// keyed is variables with a key of a key file for the dummy; account "" takes the first.
func (c *app) keyed(ctx context.Context, variables []variable, file, account string) ([]variable, error) {
	keys, err := c.keyFile(ctx, file)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(keys, file, account)
	if err != nil {
		return nil, err
	}
	return withKey(variables, key), nil
}

// withKey is variables with another key.
func withKey(variables []variable, key accessKey) []variable {
	out := slices.Clone(variables)
	for i := range out {
		switch out[i].name {
		case "AWS_ACCESS_KEY_ID":
			out[i].value = key.id
		case "AWS_SECRET_ACCESS_KEY":
			out[i].value = key.secret
		}
	}
	return out
}

// noteServer reports what keeps the variables from working.
func (c *app) noteServer(ctx context.Context, endpoint string, keyed bool) {
	state, err := askServer(ctx, endpoint)
	var foreign *submit.ForeignError
	switch {
	case errors.As(err, &foreign):
		c.notef("# %s: start the local CloudFormation at another address with cfn serve --address HOST:PORT, and pass it with --endpoint\n", err)
	case err != nil:
		c.notef("# nothing is listening at %s: start the local CloudFormation with cfn serve\n", endpoint)
	case state.Auth && !keyed:
		c.notef("# the server at %s checks signatures and rejects dummy credentials: pass its key file with cfn env --auth FILE\n", endpoint)
	}
}

// localVariables are the variables for one account and region of the server at endpoint.
//
// They include the variables of environ that lead the clients of one service elsewhere, and
// the session token of environ, which belongs to another key and has to go.
func localVariables(environ []string, endpoint, region, account string) []variable {
	variables := []variable{
		{"AWS_ENDPOINT_URL", endpoint},
		{"AWS_ACCESS_KEY_ID", account},
		{"AWS_SECRET_ACCESS_KEY", dummySecret},
		{"AWS_REGION", region},
		{"AWS_DEFAULT_REGION", region},
		{"AWS_EC2_METADATA_DISABLED", "true"},
		{invoke.LocalVariable, endpoint},
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == sessionTokenVariable:
			variables = append(variables, variable{name, ""})
		case value == "" || value == endpoint:
		case strings.HasPrefix(name, "AWS_ENDPOINT_URL_"):
			variables = append(variables, variable{name, endpoint})
		case name == "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS":
			variables = append(variables, variable{name, "false"})
		}
	}
	return variables
}

// shellOf names the shell that $SHELL is a path of. Windows has none but where a port of
// a Unix shell sets it.
func shellOf(system string, getenv func(string) string) string {
	program := getenv("SHELL")
	switch name := path.Base(strings.ReplaceAll(program, `\`, "/")); {
	case name == "fish":
		return "fish"
	case name == "pwsh", program == "" && system == "windows":
		return "powershell"
	}
	return "sh"
}

// localURL checks the address of a server on this machine.
func localURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("expected a URL such as http://%s but got %q", defaultServeAddress, s)
	}
	if host := u.Hostname(); !invoke.Loopback(host) {
		return "", fmt.Errorf("%s is not on this machine", host)
	}
	return u.Scheme + "://" + u.Host, nil
}

// askServer asks which server is at an endpoint on this machine, for a moment.
func askServer(ctx context.Context, endpoint string) (*submit.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return submit.AskServer(ctx, &http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, CheckRedirect: invoke.CheckRedirect}, endpoint)
}

// defaultServeAddress is the default address of cfn serve.
const defaultServeAddress = "127.0.0.1:4566"
