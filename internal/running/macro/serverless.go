package macro

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

//go:embed serverless.py
var serverlessProgram string

// A Translator runs AWS::Serverless by the public translator, the Python package
// aws-sam-translator, in a process for each template. The zero value finds Python in the
// PATH.
type Translator struct {
	// Python is the interpreter. Empty means python3 or python of the PATH.
	Python string

	// Environ is the environment that the process gets a part of: what Python needs.
	Environ []string

	// Dir is the working folder of the process. It must not be one that others write to:
	// Python imports from it.
	Dir string

	// Timeout bounds one template. Zero means 1 minute.
	Timeout time.Duration
}

const (
	maxTranslated   = 6 << 20 // bytes of a processed template
	maxComplaint    = 4 << 10 // bytes of what Python prints on its standard error
	noTranslator    = 3       // exit code of the program without the package
	installHint     = "install it with: python3 -m pip install aws-sam-translator"
	translatorLimit = 2 // processes at once
)

// translating bounds the processes of all Translators: each needs a hundred megabytes.
var translating = make(chan struct{}, translatorLimit)

// passed are the variables that the process gets.
var passed = []string{"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SystemRoot", "APPDATA", "PYTHONPATH", "PYTHONUSERBASE", "VIRTUAL_ENV", "PYENV_ROOT", "PYENV_VERSION"}

// translate returns the response of a macro.
func (t Translator) translate(ctx context.Context, caller awswire.Caller, call template.MacroCall) ([]byte, error) {
	python, err := t.python()
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(map[string]any{
		"fragment": call.Fragment, "parameters": parameters(caller, call.Values), "partition": caller.Partition(),
	})
	if err != nil {
		return nil, err
	}
	limit := t.Timeout
	if limit == 0 {
		limit = time.Minute
	}
	late := fmt.Errorf("the translator did not finish within %s", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	select {
	case translating <- struct{}{}:
		defer func() { <-translating }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	out, complaint := words.Bounded{Limit: maxTranslated}, words.Bounded{Limit: maxComplaint}
	cmd := exec.CommandContext(ctx, python, "-c", serverlessProgram)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &complaint
	cmd.Dir, cmd.WaitDelay = t.Dir, time.Second
	cmd.Env = append(t.environment(), "AWS_DEFAULT_REGION="+caller.Region, "AWS_EC2_METADATA_DISABLED=true", "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &exit) && exit.ExitCode() == noTranslator:
		return nil, fmt.Errorf("%s does not have aws-sam-translator, which is required for AWS::Serverless; %s", python, installHint)
	case out.Full():
		return nil, fmt.Errorf("the translator's result is larger than %d bytes", maxTranslated)
	case err != nil:
		lines := strings.Split(strings.TrimSpace(complaint.String()), "\n")
		return nil, fmt.Errorf("the translator failed: %w: %s", err, lines[len(lines)-1])
	}
	return out.Bytes(), nil
}

func (t Translator) python() (string, error) {
	names := []string{"python3", "python"}
	if runtime.GOOS == "windows" {
		names = []string{"python", "python3"} // python3 may be a shortcut to a shop
	}
	if t.Python != "" {
		names = []string{t.Python}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("AWS::Serverless requires aws-sam-translator, which needs Python 3 in the PATH; " + installHint)
}

// environment is the part of Environ that the process gets: no credentials, no endpoints.
func (t Translator) environment() (out []string) {
	for _, entry := range t.Environ {
		name, _, _ := strings.Cut(entry, "=")
		for _, wanted := range passed {
			if name == wanted {
				out = append(out, entry)
			}
		}
	}
	return out
}

// parameters are the values of parameters as the translator takes them: lists as one text.
func parameters(caller awswire.Caller, values map[string]any) map[string]any {
	out := map[string]any{"AWS::Region": caller.Region, "AWS::Partition": caller.Partition(), "AWS::AccountId": caller.Account}
	for name, value := range values {
		if list, ok := value.([]any); ok {
			texts := make([]string, len(list))
			for i, item := range list {
				texts[i] = fmt.Sprint(item)
			}
			value = strings.Join(texts, ",")
		}
		out[name] = value
	}
	return out
}
