package project

import (
	"fmt"
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A RetiredError is the error of [Init] for a language of whose runtime Lambda makes no new functions.
type RetiredError struct{ Language, Runtime string }

func (e *RetiredError) Error() string {
	return fmt.Sprintf("Lambda no longer supports new functions with the runtime %s of %s", e.Runtime, e.Language)
}

// Retired is a [RetiredError] for a language with such a runtime, nil for others.
func Retired(language string) error {
	if runtime := codegen.PythonRuntime(language); slices.Contains(retiredRuntimes, runtime) {
		return &RetiredError{language, runtime}
	}
	return nil
}

// startPython has the runtime of the language and the entry points of the official plug-in.
func startPython(p *Project) error {
	p.Runtime = codegen.PythonRuntime(p.Language)
	if err := Retired(p.Language); err != nil {
		return err
	}
	module := codegen.PythonPackage(p.TypeName) + ".handlers."
	p.Entrypoint, p.TestEntrypoint = module+"resource", module+"test_entrypoint"
	if p.Kind == schema.Hook {
		p.Entrypoint = module + "hook"
	}
	return nil
}

// pythonOptions are those of the official plug-in. It packages with Docker unless no_docker is set; cfn
// never does.
func pythonOptions(config InitConfig) object {
	return object{{"use_docker", config.UseDocker}, {"no_docker", !config.UseDocker}}
}

func authoredPython(p *Project) []string {
	sources := "src/" + codegen.PythonPackage(p.TypeName)
	return []string{sources + "/handlers.py", sources + "/__init__.py", "requirements.txt"}
}
