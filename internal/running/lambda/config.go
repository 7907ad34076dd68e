package lambda

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// Limits of the Lambda service, in bytes.
const (
	MaxRequestBytes  = 6 << 20     // payload of a synchronous invocation
	MaxEventBytes    = 1 << 20     // payload of an asynchronous invocation
	MaxResponseBytes = 6<<20 + 100 // reply of a function: 6,291,556
	maxLogTailBytes  = 4 << 10     // log returned with LogType=Tail
	maxErrorBytes    = 256 << 10   // error document that a function posts
	longestDeadline  = 8760 * time.Hour
)

// Defaults of Config.
const (
	DefaultTimeout      = 15 * time.Minute
	DefaultInitTimeout  = 10 * time.Second
	DefaultGracePeriod  = 500 * time.Millisecond
	DefaultMaxProcesses = 10
	DefaultMemoryMB     = 2048
	DefaultLogBytes     = 256 << 10
	DefaultRegion       = "us-east-1"
	DefaultAccountID    = "000000000000"
)

// Config describes a function. Only Name and Command must be set.
type Config struct {
	// Name is the function's name: letters, digits, "-" and "_", at most 64.
	Name string

	// Command is the program and its arguments. A name without a slash is
	// looked up in the PATH; a relative path is taken from Dir.
	Command []string

	// Note is the Note of a Program: the error of a function that fails to start has it.
	Note string

	// Dir is the working folder of the processes, which they also get as LAMBDA_TASK_ROOT.
	// Empty means the current one.
	Dir string

	// Env adds to the environment of the processes or replaces parts of it, as
	// NAME=value. It wins over everything else but the variables of the
	// runtime protocol (AWS_LAMBDA_RUNTIME_API, AWS_LAMBDA_FUNCTION_*,
	// AWS_LAMBDA_LOG_*, _HANDLER), which cannot be set.
	Env []string

	// PassEnv names further variables of Environ to pass; a name ending in "*" matches all
	// names with that prefix, "*" alone matches everything.
	//
	// Unasked, a process gets only what a program needs to run: search paths,
	// locale, proxies, certificate bundles, AWS_ENDPOINT_URL* and the region; see
	// the table in environment.go. Never unasked: credentials, profiles and
	// tokens, of AWS or of others. HOME and the folder for temporary files are
	// those of the process, and only Env can change that.
	PassEnv []string

	// Environ is the environment to hand on from. Nil means os.Environ().
	Environ []string

	// Handler becomes _HANDLER. Empty means "bootstrap".
	Handler string

	// Region and AccountID appear in the environment and in the ARN of the
	// function. Empty means AWS_REGION or AWS_DEFAULT_REGION of Environ, else
	// DefaultRegion; and DefaultAccountID.
	Region    string
	AccountID string

	// Credentials are what the processes find as AWS_ACCESS_KEY_ID,
	// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. Without a key ID they find
	// [DummyKeyID] and the others, so that no SDK in a handler ever falls back on the
	// credentials of the person at the keyboard.
	Credentials aws.Credentials

	// MaxProcesses bounds the processes and with them the invocations that run
	// at once. Zero means DefaultMaxProcesses. More invocations wait.
	MaxProcesses int

	// QueueTimeout bounds the wait for a free process, after which Invoke
	// fails with a *ThrottledError. Zero means no bound but the context; a
	// negative value means not to wait at all, as Lambda does.
	QueueTimeout time.Duration

	// Timeout bounds one invocation. Zero means DefaultTimeout, the most that
	// Lambda allows; a negative value means no bound.
	Timeout time.Duration

	// InitTimeout bounds the time from the start of a process, or from its last reply, until
	// it requests an invocation. Zero means DefaultInitTimeout, that of Lambda; a negative
	// value means no bound.
	InitTimeout time.Duration

	// GracePeriod is the time between SIGTERM and SIGKILL when Close or Renew stops a process.
	// Zero means DefaultGracePeriod; a negative value means SIGKILL at once. Processes of
	// failed invocations are always killed at once.
	GracePeriod time.Duration

	// MemoryMB bounds the resident memory of a process and its descendants, in MiB. Zero means
	// DefaultMemoryMB; a negative value means no bound, and the process gets the default in
	// its environment.
	//
	// The bound is kept by looking, every 50 ms while a process starts or
	// works, and at its peak when it replies. A limit on the address space
	// (RLIMIT_AS) would fail every Go, Java and Node program, which reserve
	// far more than they use, and a control group needs rights that a
	// developer's account rarely has. A process may so overshoot for a moment.
	// Kept on Linux and macOS; on Windows the job object keeps it.
	MemoryMB int

	// Sandbox is what the processes see of this machine. The zero value is no sandbox. Linux
	// alone has sandboxes; see sandbox.Mode.
	Sandbox sandbox.Settings

	// Network is what the processes reach at loopback, beside their Runtime API, where the sandbox gives them a
	// network of their own.
	Network Network

	// TmpMB is the size of /tmp and the home of a process together, in MiB, where there is a
	// sandbox. Zero means sandbox.DefaultTmpMB.
	TmpMB int

	// Compiled returns the folder with the compiled modules of a function in Python, "" if there is none. It is called at
	// the start of each process, which may read the folder. Nil means none.
	Compiled func() string

	// Runtime is what the processes need beside Dir, for the sandbox.
	Runtime sandbox.Runtime

	// LogBytes bounds the output kept of one invocation; the oldest output is dropped. Zero
	// means DefaultLogBytes.
	LogBytes int

	// Output also receives what the processes print, as it comes. Writes are
	// serialized. A slow writer slows the function down. Nil means nowhere.
	Output io.Writer

	// LogGroup is passed to the processes as AWS_LAMBDA_LOG_GROUP_NAME. Empty
	// means "/aws/lambda/" and Name.
	LogGroup string

	// Stream returns for each process the writer of its log stream, by the name that the
	// process gets as AWS_LAMBDA_LOG_STREAM_NAME. Output of the process is written there as it
	// arrives, in whole writes and not only whole lines, between the lines START, END and
	// REPORT of each invocation, as Lambda does. Writes of one process are serialized; a slow
	// writer slows it down. Nil discards the output.
	Stream func(name string) io.Writer

	// Logger logs the start and end of processes at debug level, and errors outside of an
	// invocation as warnings. It never gets payloads. Nil disables logging.
	Logger *slog.Logger

	// Debug, if not nil, sets the function up for a debugger: one process, no
	// Timeout and no InitTimeout, no MemoryMB.
	Debug *Debug

	// Lazy makes Start return without starting a process. Otherwise Start waits for the first
	// one to request an invocation.
	Lazy bool

	// NewID makes request IDs. Nil means random UUIDs.
	NewID func() string

	// Now is the clock for deadlines and names of log streams. Nil means
	// time.Now. Time-outs are measured by timers, not by this clock.
	Now func() time.Time

	owner string // see KillOrphans
	plan  *plan  // nil without a network of its own

	unseen func() []string // Unseen, found once
}

// Debug is how a function meets a debugger.
type Debug struct {
	// Started is called with the ID of each process when a debugger can attach to it,
	// before its first invocation is delivered. Nil means not to be called.
	Started func(pid int)

	// WaitForDebugger holds the first invocation of each process back until a
	// debugger is attached to it. Works on Linux and macOS; elsewhere Start
	// refuses.
	WaitForDebugger bool

	// Address is where each process itself waits for a debugger before it does anything
	// else, as its Command says: HOST:PORT. A process is started when the one before has
	// released the port. Empty means that processes do not listen.
	Address string

	// Listening is what a process prints when it listens at Address.
	Listening string
}

var functionName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// complete checks c and fills in the defaults.
func (c Config) complete() (Config, error) {
	if !functionName.MatchString(c.Name) {
		return c, fmt.Errorf("function name %q: expected 1 to 64 letters, digits, - and _", c.Name)
	}
	if len(c.Command) == 0 || c.Command[0] == "" {
		return c, fmt.Errorf("function %s: no command", c.Name)
	}
	if c.MaxProcesses < 0 || c.LogBytes < 0 || c.TmpMB < 0 {
		return c, fmt.Errorf("function %s: MaxProcesses, LogBytes and TmpMB cannot be negative", c.Name)
	}
	if err := c.Sandbox.Mode.Err(); err != nil {
		return c, fmt.Errorf("function %s: %w", c.Name, err)
	}
	if c.Debug != nil {
		if c.Debug.WaitForDebugger && !canDetectDebugger {
			return c, errors.New("waiting for a debugger is not supported on this system: attach during the invocation instead")
		}
		c.MaxProcesses, c.Timeout, c.InitTimeout, c.MemoryMB = 1, -1, -1, -1
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, fmt.Errorf("function %s: %w", c.Name, err)
	}
	c.Dir = dir
	c.owner = owner()
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.plan, err = newPlan(&c); err != nil {
		return c, fmt.Errorf("function %s: %w", c.Name, err)
	}
	orDefault(&c.MaxProcesses, DefaultMaxProcesses)
	orDefault(&c.Timeout, DefaultTimeout)
	orDefault(&c.InitTimeout, DefaultInitTimeout)
	orDefault(&c.GracePeriod, DefaultGracePeriod)
	orDefault(&c.MemoryMB, DefaultMemoryMB)
	orDefault(&c.LogBytes, DefaultLogBytes)
	orDefault(&c.Handler, "bootstrap")
	orDefault(&c.Region, envvar.Get(c.Environ, "AWS_REGION"))
	orDefault(&c.Region, envvar.Get(c.Environ, "AWS_DEFAULT_REGION"))
	orDefault(&c.Region, DefaultRegion)
	orDefault(&c.AccountID, DefaultAccountID)
	orDefault(&c.LogGroup, "/aws/lambda/"+c.Name)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// arn is the name under which Lambda would know the function.
func (c *Config) arn() string {
	return functionARN(c.Region, c.AccountID, c.Name)
}

func functionARN(region, account, name string) string {
	return "arn:aws:lambda:" + region + ":" + account + ":function:" + name
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
