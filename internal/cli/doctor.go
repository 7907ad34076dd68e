package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/authoring/submit"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// tools are the programs that cfn or the projects it makes may call.
var tools = []struct {
	name      string
	args      []string // the arguments that print its version
	languages []string // projects in these languages cannot do without it
	use       string   // what it is for
}{
	{"go", []string{"version"}, []string{"go"}, "building handlers in Go: cfn test, cfn invoke, cfn start-lambda"},
	{"make", []string{"--version"}, nil, "the Makefile of projects in Go, which only calls cfn and go"},
	{"git", []string{"--version"}, nil, "optional: version control"},
	{"python3", []string{"--version"}, []string{"python36", "python37", "python38", "python39", "python310", "python311", "python312", "python313"}, "running handlers in Python; its pip installs their libraries"},
	{"node", []string{"--version"}, []string{"typescript"}, "running and compiling handlers in TypeScript"},
	{"npm", []string{"--version"}, []string{"typescript"}, "installing the libraries of handlers in TypeScript"},
	{"java", []string{"-version"}, []string{"java"}, "running handlers in Java"},
	{"mvn", []string{"--version"}, []string{"java"}, "building handlers in Java, and fetching what runs them"},
	{"docker", []string{"--version"}, nil, "not used by cfn; sam needs it"},
	{"sam", []string{"--version"}, nil, "optional: running handlers in Docker (sam local start-lambda)"},
	{"psql", []string{"--version"}, nil, "optional: PostgreSQL as the database of cfn serve"},
}

// diagnosis is the result of cfn doctor, and its JSON.
type diagnosis struct {
	Version  string        `json:"version"`
	Platform string        `json:"platform"`
	OK       bool          `json:"ok"`
	Tools    []toolState   `json:"tools"`
	AWS      awsState      `json:"aws"`
	Local    localState    `json:"local"`
	Sandbox  sandboxState  `json:"sandbox"`
	Project  *projectState `json:"project"` // null outside of a project
	Advice   []string      `json:"advice"`
}

type toolState struct {
	Name    string `json:"name"`
	Found   bool   `json:"found"`
	Path    string `json:"path"`
	Version string `json:"version"`
	Needed  bool   `json:"needed"` // by the project in this folder
	Use     string `json:"use"`
}

// awsState reports where AWS settings come from, never what they are.
type awsState struct {
	Credentials []string `json:"credentials"` // "environment", a file
	Profile     string   `json:"profile"`
	Region      string   `json:"region"`
	Endpoint    string   `json:"endpoint"`
}

// localState is the state of the local CloudFormation of cfn serve.
type localState struct {
	Endpoint string `json:"endpoint"` // FORMWORK_ENDPOINT, or the default
	State    string `json:"state"`    // "answers", "not running", or what is the matter
	Version  string `json:"version"`  // of the server, "" if none answers
	Data     string `json:"data"`     // the default data folder of cfn serve; "" for none
	Kept     bool   `json:"kept"`     // there is something
}

// sandboxState reports whether handlers can run in a sandbox here.
type sandboxState struct {
	Available bool   `json:"available"`
	Reason    string `json:"reason"` // why not, "" if they can
	Limits    string `json:"limits"` // how memory, processes and temporary files are limited
}

type projectState struct {
	Dir      string `json:"dir"`
	TypeName string `json:"typeName"`
	Kind     string `json:"kind"`
	Language string `json:"language"`
	Runtime  string `json:"runtime"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Built    bool   `json:"built"`
	Inputs   int    `json:"inputs"` // files with inputs for contract tests
	Log      bool   `json:"logWritable"`
}

func newDoctor(c *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installed tools, the AWS settings and the project",
		Long: `Show which tools are installed and what each is used for, where AWS settings come from, the state of
the project in the folder, whether cfn serve is running, and where it keeps its data, and whether handlers
can run in a sandbox. cfn itself needs none of the tools; building Go handlers needs the go command.

Exit code: 0, or 1 if the project has errors or a tool for its language is missing.`,
		Args:        noArguments,
		Annotations: map[string]string{"log": "none"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.diagnose(cmd.Context())
			if err != nil {
				return err
			}
			if c.format == "json" {
				err = c.printJSON(d)
			} else {
				err = c.printDiagnosis(d)
			}
			if err == nil && !d.OK {
				err = &exitError{code: exitFailure}
			}
			return err
		},
	}
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) diagnose(ctx context.Context) (*diagnosis, error) {
	d := &diagnosis{Version: c.Version, Platform: runtime.GOOS + "/" + runtime.GOARCH, OK: true, AWS: c.awsState(), Advice: []string{}}
	language, err := c.diagnoseProject(ctx, d)
	if err != nil {
		return nil, err
	}
	defer c.progress("Looking for tools")()
	d.Local = c.localState(ctx)
	d.Sandbox = c.diagnoseSandbox()
	d.Tools = make([]toolState, len(tools))
	var group sync.WaitGroup
	for i, tool := range tools {
		state := &d.Tools[i]
		*state = toolState{Name: tool.name, Use: tool.use}
		for _, l := range tool.languages {
			state.Needed = state.Needed || l == language
		}
		group.Go(func() { c.findTool(ctx, state, tool.args) })
	}
	group.Wait()
	for _, state := range d.Tools {
		if state.Needed && !state.Found {
			d.OK = false
			d.Advice = append(d.Advice, fmt.Sprintf("install %s: it is needed for %s", state.Name, state.Use))
		}
	}
	return d, ctx.Err()
}

// versionNumber is the first thing in a tool's answer that looks like a version.
var versionNumber = lazyregexp.New(`[0-9]+(\.[0-9]+)+[-+.\w]*`)

func (c *app) findTool(ctx context.Context, state *toolState, args []string) {
	path, err := exec.LookPath(state.Name)
	if err != nil {
		return
	}
	state.Found, state.Path = true, path
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir = c.Environ, os.TempDir() // not in the project: its settings change what tools say
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	state.Version = versionNumber.FindString(string(out))
	c.logger.Debug("Asked a tool for its version", "tool", path, "answer", strings.TrimSpace(string(out[:min(len(out), 500)])), "error", err)
}

// localState checks whether a local CloudFormation runs, and where it stores data.
func (c *app) localState(ctx context.Context) localState {
	s := localState{Endpoint: cmp.Or(c.Getenv(invoke.LocalVariable), "http://"+defaultServeAddress), State: "answers"}
	server, err := askServer(ctx, s.Endpoint)
	var foreign *submit.ForeignError
	switch {
	case errors.As(err, &foreign):
		s.State = "port in use by another program: pass --address HOST:PORT to cfn serve"
	case err != nil:
		s.State = "not running"
	default:
		s.Version = server.Version
	}
	if dir, err := c.dataFolder(""); err == nil {
		s.Data = dir
		_, err := os.Stat(filepath.Join(dir, "formwork.db"))
		s.Kept = err == nil
	}
	return s
}

// diagnoseSandbox builds a sandbox to see whether that is possible.
func (c *app) diagnoseSandbox() sandboxState {
	if err := sandbox.Check(); err != nil {
		return sandboxState{Reason: err.Error(), Limits: sandbox.On.Limits()}
	}
	return sandboxState{Available: true, Limits: sandbox.On.Limits()}
}

// awsState looks where the AWS SDKs would look, without reading a secret.
func (c *app) awsState() awsState {
	s := awsState{Credentials: []string{}, Profile: c.Getenv("AWS_PROFILE"), Region: c.Getenv("AWS_REGION"), Endpoint: c.Getenv("AWS_ENDPOINT_URL")}
	if s.Region == "" {
		s.Region = c.Getenv("AWS_DEFAULT_REGION")
	}
	if c.Getenv("AWS_ACCESS_KEY_ID") != "" && c.Getenv("AWS_SECRET_ACCESS_KEY") != "" {
		s.Credentials = append(s.Credentials, "environment")
	}
	for _, file := range []struct{ variable, name string }{{"AWS_SHARED_CREDENTIALS_FILE", "credentials"}, {"AWS_CONFIG_FILE", "config"}} {
		path := c.Getenv(file.variable)
		if path == "" {
			path = filepath.Join(c.home(), ".aws", file.name)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			s.Credentials = append(s.Credentials, path)
		}
	}
	return s
}

// home is the user's home folder, "" if the environment names none.
func (c *app) home() string {
	if runtime.GOOS == "windows" {
		return c.Getenv("USERPROFILE")
	}
	return c.Getenv("HOME")
}

// diagnoseProject fills in the state of the project and returns its language.
func (c *app) diagnoseProject(ctx context.Context, d *diagnosis) (language string, err error) {
	p, _, _, problems, err := c.check(ctx)
	var none *project.NotFoundError
	if errors.As(err, &none) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	state := &projectState{Dir: c.projectDir()}
	d.Project = state
	if p != nil {
		state.TypeName, state.Kind, state.Language, state.Runtime = p.TypeName, string(p.Kind), p.Language, p.Runtime
		inputs, err := filepath.Glob(filepath.Join(files.Pattern(p.Path(project.InputsDir)), "inputs_*.json"))
		if err != nil {
			return "", err
		}
		state.Inputs = len(inputs)
		state.Built = p.CheckBuilt() == nil
		if p.Kind != schema.Module && !state.Built && p.Language == "go" {
			d.Advice = append(d.Advice, "the handlers are not built: run make")
		}
	}
	if p != nil && p.Kind != schema.Module && !project.KnownLanguage(p.Language) {
		d.Advice = append(d.Advice, (&project.UnknownLanguageError{Language: p.Language}).Error())
	}
	state.Errors, state.Warnings = problems.Count(diag.Error), problems.Count(diag.Warning)
	if problems.HasErrors() {
		d.OK = false
		d.Advice = append(d.Advice, "the project has errors: run cfn validate")
	}
	if p == nil && files.Exists(filepath.Join(c.projectDir(), "go.mod")) {
		state.Language = "go" // what the settings would say if they could be read
	}
	if p != nil && p.Language == "go" {
		in, err := c.codegenInput(p, nil)
		if err != nil {
			return "", err
		}
		unbuildable, err := p.CheckGoMod(in.Flavour)
		if err != nil {
			return "", err
		}
		for _, problem := range unbuildable {
			d.OK = false
			state.Warnings++
			d.Advice = append(d.Advice, problem.Message+": "+problem.Hint)
		}
	}
	state.Log = writable(c.projectDir())
	if !state.Log {
		d.Advice = append(d.Advice, "the project's folder is not writable: cfn cannot write rpdk.log or generate files")
	}
	return state.Language, nil
}

// writable reports whether files can be made in a folder.
func writable(dir string) bool {
	file, err := os.CreateTemp(dir, ".cfn-*")
	if err != nil {
		return false
	}
	file.Close()
	return os.Remove(file.Name()) == nil
}

func (c *app) printDiagnosis(d *diagnosis) error {
	var w strings.Builder
	fmt.Fprintf(&w, "cfn\t%s\t%s\n", d.Version, d.Platform)
	if p := d.Project; p == nil {
		fmt.Fprintf(&w, "project\tnone in this folder\n")
	} else {
		fmt.Fprintf(&w, "project\t%s\t%s %s\n", cmp.Or(p.TypeName, "unknown"), strings.ToLower(p.Kind), p.Language)
		fmt.Fprintf(&w, "\terrors: %d, warnings: %d\tinputs for contract tests: %d\n", p.Errors, p.Warnings, p.Inputs)
	}
	fmt.Fprintf(&w, "aws\tcredentials: %s\tregion: %s\n", cmp.Or(strings.Join(d.AWS.Credentials, ", "), "none; using dummy credentials"), cmp.Or(d.AWS.Region, "none; using us-east-1"))
	kept := cmp.Or(d.Local.Data, "no folder: cfn serve needs --data or --temporary")
	if d.Local.Data != "" && !d.Local.Kept {
		kept += ", empty"
	}
	fmt.Fprintf(&w, "local\t%s: %s\tdata: %s\n", d.Local.Endpoint, strings.TrimSpace(d.Local.State+" "+d.Local.Version), kept)
	enforced := "handlers see only what they need of this machine"
	if !d.Sandbox.Available {
		enforced = "not available: " + d.Sandbox.Reason + "; handlers can read and change the files of this user"
	}
	fmt.Fprintf(&w, "sandbox\t%s\n", enforced)
	fmt.Fprintf(&w, "\t%s\n", d.Sandbox.Limits)
	fmt.Fprintln(&w)
	for _, tool := range d.Tools {
		version := "not found"
		if tool.Found {
			version = cmp.Or(tool.Version, "found")
		}
		need := "optional"
		if tool.Needed {
			need = "needed"
		}
		fmt.Fprintf(&w, "%s\t%s\t%s\t%s\n", tool.Name, version, need, tool.Use)
	}
	for _, advice := range d.Advice {
		fmt.Fprintf(&w, "\n%s", advice)
	}
	if len(d.Advice) > 0 {
		fmt.Fprintln(&w)
	}
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, w.String()); err != nil {
		return err
	}
	return table.Flush()
}
