package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/build"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/secret"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/proving/httptape"
	"github.com/formwork-dev/formwork/internal/proving/permissions"
	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// faultOptions are the options of cfn test for faults, and for the network calls of handlers.
type faultOptions struct {
	faults             bool
	record, replayHTTP string
	reports            []string

	seedFlag *pflag.Flag
	tape     *httptape.Tape // nil without record and replayHTTP
	proxy    *httptape.Proxy
	outbound outbound
}

func (o *faultOptions) faultFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.faults, "faults", false, "also test handlers with lost responses, repeated calls, killed processes and failing services")
	flags.StringVar(&o.record, "record", "", "record the network calls of handlers in `FILE`, without secrets")
	flags.StringVar(&o.replayHTTP, "replay-http", "", "replay the network calls of handlers from the recording `FILE`")
	flags.StringArrayVar(&o.reports, "report", nil, "write a report: `FORMAT=FILE` with junit, html, json, sarif or github; github without a file is printed (may be repeated)")
	annotate(flags, addition, "faults", "record", "replay-http", "report")
	o.seedFlag = flags.Lookup("seed")
}

// reportWriters are the formats of --report.
var reportWriters = map[string]func(*bytes.Buffer, *contract.Summary, *schema.Schema) error{
	"junit": func(b *bytes.Buffer, s *contract.Summary, _ *schema.Schema) error { return contract.WriteJUnit(b, s) },
	"html":  func(b *bytes.Buffer, s *contract.Summary, _ *schema.Schema) error { return contract.WriteHTML(b, s) },
	"json":  func(b *bytes.Buffer, s *contract.Summary, _ *schema.Schema) error { return contract.WriteJSON(b, s) },
	"sarif": func(b *bytes.Buffer, s *contract.Summary, of *schema.Schema) error {
		return contract.WriteSARIF(b, s, of)
	},
	"github": func(b *bytes.Buffer, s *contract.Summary, of *schema.Schema) error {
		return contract.WriteGitHub(b, s, of)
	},
}

// prepareFaults checks the options before anything runs, and reads the recording.
func (c *app) prepareFaults(opts *testOptions, p *project.Project) error {
	for _, report := range opts.reports {
		format, file, _ := strings.Cut(report, "=")
		if reportWriters[format] == nil {
			return usagef("option --report: invalid choice: %q (choose from junit=FILE, html=FILE, json=FILE, sarif=FILE, github)", report)
		}
		if file == "" && format != "github" {
			return usagef("option --report: %s requires a file: --report %s=FILE", format, format)
		}
	}
	if opts.faults && p.Kind == schema.Hook {
		return usagef("option --faults: not supported for hooks, because they create no resources")
	}
	if opts.record == "" && opts.replayHTTP == "" {
		return nil
	}
	switch {
	case opts.record != "" && opts.replayHTTP != "":
		return usagef("options --record and --replay-http cannot be combined")
	case opts.endpoint != "" || !build.RunsHere(p):
		return withHint(errors.New("cfn can record and replay network calls only of handlers that it starts"), "remove --endpoint")
	case opts.parallel > 1:
		return usagef("option --parallel: not allowed with --record or --replay-http, which run the sets one after the other")
	case opts.record != "":
		opts.tape = &httptape.Tape{Info: httptape.Info{TypeName: p.TypeName, Seed: opts.seed, Tokens: rand.Uint64(), Region: opts.region}}
		return nil
	}
	return c.readTape(opts, p.TypeName)
}

// readTape reads the recording, and takes from it what makes handlers ask the same again.
func (c *app) readTape(opts *testOptions, typeName string) error {
	tape, err := c.readRecording(opts.replayHTTP)
	if err != nil {
		return err
	}
	if tape.Info.TypeName != typeName {
		return fmt.Errorf("%s is a recording of %s, not of %s", opts.replayHTTP, tape.Info.TypeName, typeName)
	}
	opts.tape, opts.region = tape, tape.Info.Region
	if !opts.seedFlag.Changed {
		opts.seed = tape.Info.Seed
	}
	return nil
}

// readRecording reads a recording.
func (c *app) readRecording(name string) (*httptape.Tape, error) {
	file, err := files.Open(c.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(fmt.Errorf("the recording %s does not exist", name), "run cfn test --record %s to create it", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	defer file.Close()
	tape, err := httptape.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tape, nil
}

// newToken generates client request tokens, and the values of {{uuid}}. With a recording they
// are the same in every replay; otherwise the result is nil, for random ones.
func (o *faultOptions) newToken(stream uint64) func() string {
	if o.tape == nil {
		return nil
	}
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(o.tape.Info.Tokens, stream))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		high, low := random.Uint64(), random.Uint64()
		return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", high>>32, high>>16&0xffff, high&0xfff, low>>48&0x3fff|0x8000, low&0xffffffffffff)
	}
}

// testRedactor hides in reports, tapes and the log what the schemas of a run say is secret.
func (c *app) testRedactor(config *contract.Config) *invoke.Redactor {
	return invoke.RedactorConfig{Schema: config.Schema, Secrets: c.log.Secrets(), Targets: func(name string) *schema.Schema {
		for _, target := range config.HookTargets {
			if target.Name == name {
				return target.Schema
			}
		}
		return nil
	}}.New()
}

// openProxy starts a proxy between the handlers and the network if an option needs it, and
// shares its redactor with the run. The result closes it.
func (c *app) openProxy(opts *testOptions, p *project.Project, aws *invoke.AWS, config *contract.Config) (stop func(), err error) {
	config.Redactor = c.testRedactor(config)
	here := opts.endpoint == "" && build.RunsHere(p)
	if opts.tape == nil && (!opts.faults || !here) {
		return func() {}, nil
	}
	mode := httptape.Local
	switch {
	case opts.record != "":
		mode, opts.tape.Info.AccountID = httptape.Record, aws.AccountID
	case opts.tape != nil:
		mode, aws.AccountID = httptape.Replay, opts.tape.Info.AccountID
		config.AccountID = aws.AccountID
	}
	environ := slices.Clone(c.Environ)
	for _, entry := range opts.env {
		if strings.Contains(entry, "=") {
			environ = append(environ, entry)
		}
	}
	opts.proxy, err = httptape.Start(httptape.Config{
		Mode: mode, Tape: opts.tape, Redact: withoutReasons(config.Redactor), Environ: environ, UpstreamProxy: http.ProxyFromEnvironment, Report: opts.outbound.note,
	})
	if err != nil {
		return nil, err
	}
	opts.env = append(opts.env, opts.proxy.Env()...)
	return func() {
		if err := opts.proxy.Close(); err != nil {
			c.logger.Warn("The proxy did not end cleanly", "error", err)
		}
	}, nil
}

// withoutReasons hides secrets with the same mark while recording and replaying: calls are
// matched by their text, and the reason of a hidden value may differ.
func withoutReasons(redactor *invoke.Redactor) func(string) string {
	return func(text string) string { return secret.WithoutReasons(redactor.Text(text)) }
}

// underFaults sets a run up with what the handlers are known to run in.
func (opts *testOptions) underFaults(function invoke.Function, config *contract.Config) {
	config.Function = function
	if inner, ok := function.(invoke.LoggedFunction); ok && opts.proxy != nil {
		config.Function = throughProxy{inner, &opts.outbound}
	}
	if config.Faults == nil {
		return
	}
	if opts.proxy != nil {
		config.Faults.Network = opts.proxy
	}
	if local, ok := function.(logged); ok {
		if f, ok := local.Invoker.(*lambda.Function); ok {
			config.Faults.Restarter = f
		}
	}
}

// outbound collects failed calls of handlers to the network.
type outbound struct {
	mu        sync.Mutex
	pending   []string // since the last call of a handler
	unmatched []string
	refused   []string
}

func (o *outbound) note(e httptape.Exchange) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case e.Unmatched:
		o.unmatched = append(o.unmatched, e.Name)
		o.pending = append(o.pending, "the recording does not contain "+e.Name)
	case e.Refused:
		o.refused = append(o.refused, e.Name)
		o.pending = append(o.pending, e.Name+" was not sent: without --record nothing leaves this machine")
	case e.Err != "" && e.Fault == "":
		o.pending = append(o.pending, e.Name+": "+e.Err)
	}
}

func (o *outbound) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.pending
	o.pending = nil
	return out
}

// throughProxy is a function whose log also contains its failed network calls.
type throughProxy struct {
	invoke.LoggedFunction
	outbound *outbound
}

func (t throughProxy) CallLogged(ctx context.Context, payload []byte) (reply, log []byte, err error) {
	reply, log, err = t.LoggedFunction.CallLogged(ctx, payload)
	for _, line := range t.outbound.take() {
		log = append(log, "cfn: "+line+"\n"...)
	}
	return reply, log, err
}

// closeTape writes the recording, or reports the calls that a replay did not find.
func (c *app) closeTape(opts *testOptions, of *schema.Schema, redactor *invoke.Redactor) error {
	if len(opts.outbound.refused) > 0 {
		c.notef("cfn blocked network calls of the handlers to other machines:\n%s", names(opts.outbound.refused))
		c.notef("hint: pass --record FILE to allow and record the calls, then --replay-http FILE to replay them\n")
	}
	if opts.record != "" {
		var file bytes.Buffer
		if err := opts.tape.Write(&file, withoutReasons(redactor)); err != nil {
			return err
		}
		if err := c.writeFile(opts.record, file.Bytes(), 0o600); err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
		c.notef("recorded %d network calls of the handlers in %s\n", opts.tape.Len(), opts.record)
		c.noteUndeclared(opts.tape, of)
	}
	if n := len(opts.outbound.unmatched); n > 0 {
		c.notef("the recording does not contain these calls:\n%s", names(opts.outbound.unmatched))
		return withHint(&exitError{exitFailure, fmt.Sprintf("%s has no answer to %d calls of the handlers", opts.replayHTTP, n)}, "run cfn test --record %s to record again", opts.replayHTTP)
	}
	return nil
}

// noteUndeclared prints the actions that handlers called and that no handler declares.
func (c *app) noteUndeclared(tape *httptape.Tape, of *schema.Schema) {
	seen := permissions.Seen{}
	seen.Add(tape)
	if undeclared := seen[tape.Info.TypeName].Undeclared(of); len(undeclared) > 0 {
		c.notef("the handlers called actions that the schema does not declare:\n%s", names(undeclared))
		c.notef("hint: add them to the permissions of the handlers in the schema; cfn generate then writes them into the role\n")
	}
}

// names lists some of many, each once.
func names(all []string) string {
	var b strings.Builder
	slices.Sort(all)
	all = slices.Compact(all)
	for i, name := range all {
		if i == 20 {
			fmt.Fprintf(&b, "  and %d more\n", len(all)-i)
			break
		}
		b.WriteString("  " + name + "\n")
	}
	return b.String()
}

// writeFile writes a file that the user named, completely or not at all, with its parent
// folders.
func (c *app) writeFile(name string, data []byte, mode fs.FileMode) error {
	return files.Put(c.projectDir(), c.path(name), data, mode)
}

// writeFormats writes the reports of --report.
func (c *app) writeFormats(reports []string, summary *contract.Summary, of *schema.Schema) error {
	for _, report := range reports {
		format, file, _ := strings.Cut(report, "=")
		var text bytes.Buffer
		if err := reportWriters[format](&text, summary, of); err != nil {
			return err
		}
		if file != "" {
			if err := c.writeFile(file, text.Bytes(), 0o644); err != nil {
				return fmt.Errorf("write the report: %w", err)
			}
			continue
		}
		out := c.Stdout
		switch {
		case c.format == "json":
			out = c.errScreen // GitHub reads both
		case !c.Terminal.Stdout:
			out = c.out
		}
		if c.Terminal.Stderr && out == c.errScreen {
			out = c.Stderr
		}
		if _, err := text.WriteTo(out); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}
