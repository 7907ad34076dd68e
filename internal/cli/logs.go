package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/handlers"
)

func newLogs(c *app) *cobra.Command {
	opts := &typesOptions{}
	var follow bool
	var since time.Duration
	var group string
	cmd := &cobra.Command{
		Use:               "logs [TYPE|FUNCTION]",
		ValidArgsFunction: c.completeTypes(&opts.remoteOptions),
		Short:             "Show the logs of the handlers of a registered type",
		Long: `Show what the handlers of a registered type wrote to their log group in CloudWatch Logs. The log group
is the one that the type was registered with. If it was registered without one, as activated types
are, cfn reads <type-name>-logs, or in cfn serve first /aws/lambda/<Type-Name>, and prints which one
it reads. TYPE defaults to the type of the project. FUNCTION is the name of a Lambda function or of a
function of cfn serve --function; its log group is /aws/lambda/FUNCTION.

--follow prints new events until you press Ctrl-C and then exits with 0. With --format json, each
event is one line: {"time", "stream", "message"}.`,
		Example: "  cfn logs Acme::Foo::Bar --since 1h\n  cfn logs --follow",
		Args:    atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if since <= 0 {
				return usagef("option --since: %s is not in the past", since)
			}
			r, ref, err := opts.findLogs(cmd.Context(), c, args, &group)
			if err != nil {
				return err
			}
			q := submit.LogQuery{Groups: []string{group}, Since: c.Now().Add(-since), Follow: follow}
			if group == "" {
				var registered bool
				if q.Groups, registered, err = r.LogGroupsOf(cmd.Context(), ref, handlers.DefaultLogGroup); err != nil {
					return c.typeError(cmd.Context(), r, ref.Name, err)
				}
				if !registered {
					q.Reading = func(group string) { c.notef("the type has no registered log group; reading %s\n", group) }
				}
			}
			return c.logs(cmd.Context(), r, q)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&follow, "follow", false, "print new events until Ctrl-C")
	flags.DurationVar(&since, "since", 10*time.Minute, "start `DURATION` ago, such as 90s or 24h")
	flags.StringVar(&group, "log-group-name", "", "read the log group `NAME`")
	kindFlag(flags, &opts.kind)
	opts.remoteOptions.flags(flags)
	c.formatFlag(cmd, "text", "json")
	return cmd
}

// findLogs finds the type whose logs are shown, or the log group of a function.
func (o *typesOptions) findLogs(ctx context.Context, c *app, args []string, group *string) (*submit.Remote, *submit.Reference, error) {
	if len(args) == 1 && handlers.IsFunctionName(args[0]) {
		*group = cmp.Or(*group, handlers.FunctionLogGroup(args[0]))
		r, err := c.openRemote(ctx, &o.remoteOptions)
		return r, nil, err
	}
	return o.find(ctx, c, args)
}

func (c *app) logs(ctx context.Context, r *submit.Remote, q submit.LogQuery) error {
	n, read, reading := 0, "", q.Reading
	q.Reading = func(group string) {
		if read = group; reading != nil {
			reading(group)
		}
	}
	err := r.Logs(ctx, q, func(e submit.LogEvent) error {
		n++
		if c.format == "json" {
			line, err := compactJSON(e)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Stdout, "%s\n", line)
			return err
		}
		_, err := fmt.Fprintf(c.Stdout, "%s  %s\n", e.Time.Format("2006-01-02T15:04:05.000Z"), strings.TrimRight(e.Message, "\r\n"))
		return err
	})
	var none *submit.NoLogsError
	switch {
	case q.Follow && errors.Is(err, context.Canceled) && !errors.Is(context.Cause(ctx), errTerminated):
		return nil // Ctrl-C is how one stops; see Signals
	case errors.As(err, &none):
		return withHint(fmt.Errorf("%w in %s", none, r.Region), "%s", c.noLogsHint(ctx, r, none.Groups))
	case err != nil && ctx.Err() == nil && c.out.err == nil:
		return c.serviceError(err)
	case err == nil && n == 0:
		c.notef("no events since %s in %s; pass --since to read older events\n", q.Since.UTC().Format(time.RFC3339), read)
	}
	return err
}

// noLogsHint is what to do if there are no log groups: those of a type, or that of a function.
func (c *app) noLogsHint(ctx context.Context, r *submit.Remote, groups []string) string {
	all := handlers.FunctionLogGroup("")
	name, ofFunction := strings.CutPrefix(groups[0], all)
	if len(groups) != 1 || !ofFunction {
		return "the handlers have not run yet, or the type was registered without a role for logs; pass --follow to wait for the log group, or --log-group-name to read another one"
	}
	known, err := r.LogGroups(ctx, all)
	if err != nil {
		c.logger.Debug("cannot list the log groups of functions", "error", err)
	}
	for i := range known {
		known[i] = strings.TrimPrefix(known[i], all)
	}
	return cmp.Or(words.DidYouMean(name, known), "no function of this name has run here; pass --follow to wait for its first call")
}
