package lambda

import (
	"crypto/rand"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/envvar"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
)

// inherited are the variables that every process gets from Config.Environ. A trailing "*"
// matches a prefix. Others need Config.PassEnv: a list of secrets to exclude would always be
// incomplete.
var inherited = []string{
	// Finding programs and libraries.
	"PATH", "Path", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONPATH", "PYTHONUSERBASE", "NODE_PATH", "JAVA_HOME",
	// The person. Folders are those of the process: see the package sandbox.
	"USER", "LOGNAME",
	// Language.
	"LANG", "LC_*",
	// The way out to the network.
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	// Where AWS is.
	"AWS_ENDPOINT_URL*", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
	"AWS_EC2_METADATA_DISABLED",
	// How the Go runtime behaves and where it writes coverage.
	"GODEBUG", "GOTRACEBACK", "GOMAXPROCS", "GOCOVERDIR",
	// Without these, programs do not start on Windows.
	"SystemRoot", "SYSTEMROOT", "SystemDrive", "ComSpec", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA",
}

// environment is what a process of the function sees. stream is its log
// stream, address that of its Runtime API, compiled the folder with its compiled modules or "", folders are the
// variables that name its own folders.
func (c *Config) environment(address, stream, compiled string, folders []string) []string {
	env := map[string]string{
		"LANG": "en_US.UTF-8",
		"TZ":   ":UTC",

		"AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR", // without it, libraries for X-Ray fail where nothing traces
	}
	for _, entry := range c.Environ {
		name, value, ok := cutEnv(entry)
		if ok && (matches(inherited, name) || matches(c.PassEnv, name)) {
			env[name] = value
		}
	}
	if base := c.userBase(); base != "" && env["PYTHONUSERBASE"] == "" {
		env["PYTHONUSERBASE"] = base
	}
	for _, entry := range folders {
		name, value, _ := cutEnv(entry)
		env[name] = value
	}
	if isJava(c.Command) {
		env[sandbox.JavaOptions] += fmt.Sprintf(" -Xmx%dm", javaHeap(c.memorySize()))
		if env["HOME"] == sandbox.Home {
			// The official library empties this folder, and /tmp may have folders of the user in it.
			env[sandbox.JavaOptions] += " -Djava.io.tmpdir=" + sandbox.Home
		}
	}
	env["AWS_REGION"], env["AWS_DEFAULT_REGION"] = c.Region, c.Region
	env["LAMBDA_TASK_ROOT"] = c.Dir
	c.setCredentials(env)
	// Of options that contradict each other the last one counts: the own folders before those of the
	// proxy, and what the function was given before all.
	setOptions(env, c.proxied(), func(before, value string) string { return value + " " + before })
	setOptions(env, c.Env, func(before, value string) string { return before + " " + value })
	if isJava(c.Command) && env[proxyAddress] != "" {
		// Java has the proxy in its options. Version 1 of the SDK fails at a URL without a user.
		for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
			if env[name] == "http://"+env[proxyAddress] {
				delete(env, name)
			}
		}
	}
	keepOffProxy(env)
	delete(env, "_LAMBDA_SERVER_PORT")        // the older protocol of Go functions
	delete(env, "AWS_LAMBDA_MAX_CONCURRENCY") // several invocations at once
	delete(env, "AWS_LAMBDA_EXEC_WRAPPER")    // of the surrounding function, if any
	env["AWS_LAMBDA_RUNTIME_API"] = address
	env["AWS_LAMBDA_FUNCTION_NAME"] = c.Name
	env["AWS_LAMBDA_FUNCTION_VERSION"] = latest
	env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = strconv.Itoa(c.memorySize())
	env["AWS_LAMBDA_INITIALIZATION_TYPE"] = "on-demand"
	env["AWS_LAMBDA_LOG_GROUP_NAME"] = c.LogGroup
	env["AWS_LAMBDA_LOG_STREAM_NAME"] = stream
	env["_HANDLER"] = c.Handler
	delete(env, pythonCompiled)
	if compiled != "" {
		env[pythonCompiled] = compiled
	}
	if c.owner != "" {
		env[ownerVar] = c.owner
	}

	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

const nodeOptions = "NODE_OPTIONS"

// setOptions sets variables. Those with the options of Java and Node.js are joined with what they
// had before.
func setOptions(env map[string]string, entries []string, join func(before, value string) string) {
	for _, entry := range entries {
		name, value, ok := cutEnv(entry)
		if !ok {
			continue
		}
		if before := env[name]; (name == sandbox.JavaOptions || name == nodeOptions) && before != "" && before != value {
			value = join(before, value)
		}
		env[name] = value
	}
}

// proxied are the variables of "cfn serve --proxy" that lead Node.js and Java, which do not use HTTPS_PROXY, to its
// proxy; none in another environment, whose options are not those of handlers.
func (c *Config) proxied() (entries []string) {
	if envvar.Get(c.Environ, proxyAddress) == "" {
		return nil
	}
	for _, name := range []string{proxyAddress, responseAddress, nodeOptions, sandbox.JavaOptions} {
		if value := envvar.Get(c.Environ, name); value != "" {
			entries = append(entries, name+"="+value)
		}
	}
	return entries
}

// The variables with the addresses for connections of Node.js to hosts of AWS, and to response URLs.
const (
	proxyAddress    = "FORMWORK_AWS_ADDRESS"
	responseAddress = "FORMWORK_RESPONSE_ADDRESS"
)

// userBase is where "pip install --user" has put packages of Python, "" if nowhere: Python looks
// below HOME, which is another folder for the process.
func (c *Config) userBase() string {
	home := envvar.Get(c.Environ, "HOME")
	if !filepath.IsAbs(home) {
		return ""
	}
	base := filepath.Join(home, ".local")
	if found, _ := filepath.Glob(filepath.Join(files.Pattern(base), "lib", "python3*", "site-packages")); len(found) == 0 { // the pattern is valid
		return ""
	}
	return base
}

// The dummy credentials of handlers. They are no words: libraries of handlers cut credentials out of
// every text that they print, such as the paths of a stack trace.
const (
	DummyKeyID  = "unchecked-2kq8v5rd"
	DummySecret = "unchecked-8f3kq2vz7mxw"
	DummyToken  = "unchecked-t9w4xn6pjc3h"
)

// setCredentials leaves credentials alone that came by PassEnv as a whole.
func (c *Config) setCredentials(env map[string]string) {
	if c.Credentials.AccessKeyID == "" && env["AWS_ACCESS_KEY_ID"] != "" {
		return
	}
	id, secret, token := DummyKeyID, DummySecret, DummyToken
	if c.Credentials.AccessKeyID != "" {
		id, secret, token = c.Credentials.AccessKeyID, c.Credentials.SecretAccessKey, c.Credentials.SessionToken
	}
	env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"] = id, secret
	if token == "" {
		delete(env, "AWS_SESSION_TOKEN")
		return
	}
	env["AWS_SESSION_TOKEN"] = token
}

// keepOffProxy excludes requests to this machine from a proxy: the Runtime API and local
// endpoints are on it, and not every HTTP client bypasses the proxy for them.
func keepOffProxy(env map[string]string) {
	const local = "127.0.0.1,localhost"
	for _, pair := range [][2]string{{"HTTP_PROXY", "NO_PROXY"}, {"http_proxy", "no_proxy"}} {
		if env[pair[0]] == "" {
			continue
		}
		if list := env[pair[1]]; list == "" {
			env[pair[1]] = local
		} else if list != "*" && !strings.Contains(list, "127.0.0.1") {
			env[pair[1]] = list + "," + local
		}
	}
}

// confined is the process of a program in a sandbox. What it sees depends on the environment of the user, never on its own.
func (c *Config) confined(path, compiled string, env []string) sandbox.Process {
	settings, runtime := c.Sandbox, c.Runtime
	settings.Environ = slices.Concat(c.Environ, settings.Environ)
	runtime.Files = slices.Concat(runtime.Files, c.proxyFiles())
	if compiled != "" {
		runtime.Files = append(runtime.Files, compiled)
	}
	return sandbox.Process{
		Path: path, Args: c.Command, Env: env, Dir: c.Dir, Runtime: runtime,
		TmpMB: c.TmpMB, Memory: c.memoryLimit(), Settings: settings,
	}
}

// Unseen are sentences about what the function may need and does not see in the sandbox.
func (c *Config) Unseen() []string {
	if !c.Sandbox.Mode.Active() {
		return nil
	}
	return sandbox.Unseen(c.confined(c.commandPath(), "", nil))
}

// lookForUnseen logs Unseen, beside the start of the function, which does not wait for it.
func (f *Function) lookForUnseen() {
	f.config.unseen = sync.OnceValue(f.config.Unseen)
	f.ended.Go(func() {
		for _, note := range f.config.unseen() {
			f.config.Logger.Warn(note, "function", f.config.Name)
		}
	})
}

// proxyFiles are what the variables of "cfn serve --proxy" name: certificates, and the module for Node.js.
func (c *Config) proxyFiles() (paths []string) {
	if envvar.Get(c.Environ, proxyAddress) == "" {
		return nil
	}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", nodeOptions, sandbox.JavaOptions} {
		for _, word := range strings.FieldsFunc(envvar.Get(c.Environ, name), func(r rune) bool { return strings.ContainsRune(" \t\"'=", r) }) {
			if filepath.IsAbs(word) && isFile(word) {
				paths = append(paths, word)
			}
		}
	}
	return paths
}

// newLogStream names the log stream of one process as Lambda does. Being unique
// and inherited, the name also marks every descendant of the process.
func newLogStream(now time.Time) string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return fmt.Sprintf("%s/[%s]%x", now.UTC().Format("2006/01/02"), latest, id)
}

// cutEnv splits NAME=value. Windows has names that begin with "=".
func cutEnv(entry string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(entry, "=")
	return name, value, ok && name != ""
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		beginning, open := strings.CutSuffix(p, "*")
		return p == name || open && strings.HasPrefix(name, beginning)
	})
}
