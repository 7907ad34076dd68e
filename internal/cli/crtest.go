package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/proving/customtest"
)

// customTestOptions are the options of cfn cr test.
type customTestOptions struct {
	customOptions
	create, update, replace string
	keywords                string
	failFast, list          bool
	reports                 []string

	expression *contract.Expression
}

// customReports are the formats of reports of cfn cr test.
var customReports = []string{"junit", "html", "json"}

func newCustomTest(c *app) *cobra.Command {
	opts := &customTestOptions{}
	cmd := &cobra.Command{
		Use:   "test HANDLER",
		Short: "Test a handler of a custom resource against the protocol, without a stack",
		Long: `Send a handler of a custom resource the requests that CloudFormation may send it, and check its responses
against the rules of the protocol: Create, Update and Delete, requests that are delivered twice, updates
that replace the resource, rollbacks, a function that reaches its time limit, a response that comes too
late, and the Delete of what was never created. For each violated rule, the report has the section of the
reference, the request and the response. docs/custom-resources.md lists the tests and the rules.

--create has the properties of the resource as JSON or YAML, --update those that it is updated to, and
--replace those that need another resource. Without --update or --replace, the tests that need them
are skipped. The tests delete the resources that they create.

A response that is missing is reported when the invocation returns, not after --timeout. If the handler
starts something else that responds, pass --wait.

` + handlerForms + `

Exit code: 0 if all tests passed or were skipped, 1 if not.`,
		Example: `  cfn cr test . --create create.json --update update.json
  cfn cr test index.py:handler --create create.json --secret Password --report html=report.html
  cfn cr test bootstrap --create create.json -k "delete or rollback" --format json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if opts.list {
				return noArguments(cmd, args)
			}
			return oneHandler(cmd, args)
		},
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.checkTest(); err != nil {
				return err
			}
			if opts.list {
				return c.collect(customtest.Select(opts.expression))
			}
			return c.customTest(cmd.Context(), opts, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.create, "create", "", "the `FILE` with the properties of the resource")
	flags.StringVar(&opts.update, "update", "", "the `FILE` with the properties that the resource is updated to")
	flags.StringVar(&opts.replace, "replace", "", "the `FILE` with properties that need another resource")
	flags.StringVarP(&opts.keywords, "keyword", "k", "", "run only the tests whose names match the `EXPRESSION`, such as \"create and not twice\"")
	flags.BoolVarP(&opts.failFast, "exitfirst", "x", false, "stop after the first failure")
	flags.BoolVar(&opts.list, "list", false, "list the tests without running them")
	flags.StringArrayVar(&opts.reports, "report", nil, "write a report: `FORMAT=FILE` with junit, html or json (may be repeated)")
	opts.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// checkTest checks the options before anything is read or started.
func (o *customTestOptions) checkTest() (err error) {
	if err := o.check(); err != nil {
		return err
	}
	for _, report := range o.reports {
		format, file, _ := strings.Cut(report, "=")
		if !slices.Contains(customReports, format) {
			return usagef("option --report: invalid choice: %q (choose from junit=FILE, html=FILE, json=FILE)", report)
		}
		if file == "" {
			return usagef("option --report: %s requires a file: --report %s=FILE", format, format)
		}
	}
	if o.expression, err = contract.ParseExpression(o.keywords); err != nil {
		return usagef("option --keyword: %v", err)
	}
	if o.create == "" && !o.list {
		return &usageError{message: "option --create is required", hint: "pass --create FILE with the properties of the resource as JSON; {} is an object without properties"}
	}
	return nil
}

// customTest runs the tests of a handler and writes the reports.
func (c *app) customTest(ctx context.Context, opts *customTestOptions, handler string) error {
	config := customtest.Config{Keywords: opts.expression, FailFast: opts.failFast, Secrets: c.log.Secrets()}
	for _, file := range []struct {
		option, name string
		to           *map[string]any
	}{{"create", opts.create, &config.Create}, {"update", opts.update, &config.Update}, {"replace", opts.replace, &config.Replace}} {
		properties, err := c.readCustomProperties(ctx, file.option, file.name, &opts.customOptions)
		if err != nil {
			return err
		}
		*file.to = properties
	}
	h, err := c.openHandler(ctx, &opts.customOptions, handler)
	if err != nil {
		return err
	}
	defer h.close()
	text := &contract.Text{W: c.Stdout, Verbosity: c.verbose, Traceback: "long"}
	reporters := contract.Reporters{&testProgress{app: c}, callLog{c}}
	if c.format == "text" {
		reporters = append(reporters, text)
	}
	config.Sender = customtest.Sender{Function: h.function, Receiver: h.receiver, Timeout: opts.timeout, Wait: opts.wait, Now: c.Now}
	config.Name, config.Renew, config.Identity, config.Reporter = h.name, h.renew, opts.identity(h.name), reporters
	summary, err := customtest.Run(ctx, config)
	if summary != nil {
		if c.format == "json" {
			if err := contract.WriteJSON(c.Stdout, summary); err != nil {
				return err
			}
		}
		if err := c.writeFormats(opts.reports, summary, nil); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(err, customtest.ErrNothingSelected):
		return withHint(err, "run cfn cr test --list to list the tests")
	case err != nil:
		return err
	case text.Err() != nil:
		return fmt.Errorf("write the report: %w", text.Err())
	case !summary.OK():
		return &exitError{exitFailure, "One or more tests of the custom resource protocol failed"}
	}
	return nil
}
