package cli

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// What the runtimes of Python and Node.js report if handlers cannot be loaded.
var (
	pythonImport = lazyregexp.New(`Unable to import module '([\w.]+)': No module named '([\w.]+)'`)
	nodeImport   = lazyregexp.New(`Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)`)
)

// startFailure describes handlers that failed to start, as the project names them, and what to do.
func startFailure(text string, e *lambda.FunctionError) (message, hint string) {
	ofProject := e.Function == typeFunction || e.Function == testEntrypoint
	if ofProject {
		text = strings.Replace(text, "function "+e.Function+" failed", "the handlers failed", 1)
	}
	if m := pythonImport.FindStringSubmatch(e.Message); m != nil {
		return text, importHint(m[1], m[2], ofProject)
	}
	if m := nodeImport.FindStringSubmatch(e.Message); m != nil {
		return text, "install the package beside the handler: npm install " + m[1]
	}
	if e.Type == "Runtime.HandlerNotFound" && ofProject {
		return text, `export the function that "entrypoint" in .rpdk-config names, or fix "entrypoint"`
	}
	return text, ""
}

// importHint is what to do about a module in Python that the module with the handlers imports.
func importHint(handlers, missing string, ofProject bool) string {
	own, _, _ := strings.Cut(handlers, ".")
	first, _, _ := strings.Cut(missing, ".")
	switch {
	case missing == "cfnresponse":
		return "Lambda has cfnresponse only for code in ZipFile of a template: send the response as the handler of cfn cr init python does, or put cfnresponse.py beside the handler"
	case ofProject && first == own:
		path := "src/" + strings.ReplaceAll(missing, ".", "/") + ".py"
		if missing == handlers {
			return fmt.Sprintf(`write %s, or fix "entrypoint" in .rpdk-config`, path)
		}
		return fmt.Sprintf("write %s, or fix the import", path)
	case ofProject:
		return fmt.Sprintf("add the package that has %s to requirements.txt", first)
	}
	return fmt.Sprintf("install the package that has %s beside the handler: python3 -m pip install --target DIR PACKAGE", first)
}
