package cli

import (
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// TestStartFailure: handlers are not called by the name of a function that their author has never seen, and the hint is what to
// write, install or export.
func TestStartFailure(t *testing.T) {
	for name, test := range map[string]struct {
		function, typ, message string
		text, hint             string
	}{
		"package": {
			typeFunction, "Runtime.ImportModuleError", "Unable to import module 'acme_page.handlers': No module named 'httpx.client'",
			"the handlers failed to start: Runtime.ImportModuleError: Unable to import module 'acme_page.handlers': No module named 'httpx.client'",
			"add the package that has httpx to requirements.txt",
		},
		"own module": {
			typeFunction, "E", "Unable to import module 'acme_page.handlers': No module named 'acme_page.modls'",
			"the handlers failed to start: E: Unable to import module 'acme_page.handlers': No module named 'acme_page.modls'",
			"write src/acme_page/modls.py, or fix the import",
		},
		"handlers": {
			testEntrypoint, "E", "Unable to import module 'acme_page.handlers': No module named 'acme_page.handlers'",
			"the handlers failed to start: E: Unable to import module 'acme_page.handlers': No module named 'acme_page.handlers'",
			`write src/acme_page/handlers.py, or fix "entrypoint" in .rpdk-config`,
		},
		"custom resource": {
			"site", "E", "Unable to import module 'index': No module named 'httpx'",
			"function site failed to start: E: Unable to import module 'index': No module named 'httpx'",
			"install the package that has httpx beside the handler: python3 -m pip install --target DIR PACKAGE",
		},
		"cfnresponse": {
			"site", "E", "Unable to import module 'index': No module named 'cfnresponse'",
			"function site failed to start: E: Unable to import module 'index': No module named 'cfnresponse'",
			"Lambda has cfnresponse only for code in ZipFile of a template: send the response as the handler of cfn cr init python does, or put cfnresponse.py beside the handler",
		},
		"Node.js": {
			typeFunction, "E", "Error: Cannot find module '@acme/site'\nRequire stack:\n- /dist/handlers.js",
			"the handlers failed to start: E: Error: Cannot find module '@acme/site'\nRequire stack:\n- /dist/handlers.js",
			"install the package beside the handler: npm install @acme/site",
		},
		"file in Node.js": {
			typeFunction, "E", "Error: Cannot find module './site'", "the handlers failed to start: E: Error: Cannot find module './site'", "",
		},
		"entrypoint": {
			typeFunction, "Runtime.HandlerNotFound", "dist/handlers.entrypoint is undefined or not exported",
			"the handlers failed to start: Runtime.HandlerNotFound: dist/handlers.entrypoint is undefined or not exported",
			`export the function that "entrypoint" in .rpdk-config names, or fix "entrypoint"`,
		},
		"other": {typeFunction, "KeyError", "'HOST'", "the handlers failed to start: KeyError: 'HOST'", ""},
	} {
		failed := &lambda.FunctionError{Function: test.function, Init: true, Type: test.typ, Message: test.message}
		if text, hint := startFailure(failed.Error(), failed); text != test.text || hint != test.hint {
			t.Errorf("%s:\n%s\nhint: %s", name, text, hint)
		}
	}
}
