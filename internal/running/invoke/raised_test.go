package invoke

import (
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/lambda"
)

const (
	libraryFrame = `  File "/p/.formwork/python/libraries-1/cloudformation_cli_python_lib/resource.py", line 95, in _invoke_handler
    is_in_progress = progress.status == OperationStatus.IN_PROGRESS
                     ^^^^^^^^^^^^^^^
`
	pythonLog = "Exception caught x\nTraceback (most recent call last):\n" + libraryFrame +
		"  File \"/p/src/acme_notes_page/handlers.py\", line 38, in create_handler\n    json.loads(text)\n    ~~~~^^^\n" +
		"  File \"/usr/lib/python3.13/json/decoder.py\", line 360, in raw_decode\n    obj\n" +
		"json.decoder.JSONDecodeError: Expecting value: line 1 column 2 (char 1)\n"
	nodeLog = `2026-11-27T05:03:08.714Z	6cfe	INFO	Exception caught: Cannot read properties of null (reading 'a') Error
    at Resource.entrypoint (/p/node_modules/lib/dist/resource.js:323:28)
TypeError: Cannot read properties of null (reading 'a')
    at inner (node:internal/process/task_queues:95:5)
    at Resource.create (/p/src/handlers.ts:39:32)
    at BaseResource.invokeHandler (/p/node_modules/lib/dist/resource.js:71:43)
    at async file:///p/.formwork/typescript/runtimes/node-1.mjs:210:1
`
	javaLog = "java.lang.IllegalStateException: no disk\n\tat java.base/java.util.Objects.requireNonNull(Objects.java:233)\n" +
		"\tat com.acme.notes.page.CreateHandler.handleRequest(CreateHandler.java:21)\n\tat software.amazon.cloudformation.AbstractWrapper.run(AbstractWrapper.java:300)\n"
)

// TestRaised: an uncaught exception of each language is described by its name, message and place,
// and nothing is made of the logs of failures that a handler returns itself.
func TestRaised(t *testing.T) {
	for name, test := range map[string]struct {
		event     Event
		log, want string
	}{
		"python":                {Event{}, pythonLog, "raised JSONDecodeError: Expecting value: line 1 column 2 (char 1) (src/acme_notes_page/handlers.py:38)"},
		"python, no message":    {Event{}, "Traceback (most recent call last):\n" + libraryFrame + "KeyboardInterrupt\n", "raised KeyboardInterrupt"},
		"the last of two":       {Event{}, pythonLog + strings.ReplaceAll(pythonLog, "line 38", "line 40"), "raised JSONDecodeError: Expecting value: line 1 column 2 (char 1) (src/acme_notes_page/handlers.py:40)"},
		"returned None":         {Event{}, "Traceback (most recent call last):\n" + libraryFrame + "AttributeError: 'NoneType' object has no attribute 'status'\n", "returned None instead of a ProgressEvent"},
		"returned a dictionary": {Event{}, "Traceback (most recent call last):\n" + libraryFrame + "AttributeError: 'dict' object has no attribute 'status'\n", "returned dict instead of a ProgressEvent"},
		"typescript":            {Event{Message: "Cannot read properties of null (reading 'a')"}, nodeLog, "raised TypeError: Cannot read properties of null (reading 'a') (src/handlers.ts:39)"},
		"java":                  {Event{Message: "no disk"}, javaLog, "raised IllegalStateException: no disk (CreateHandler.java:21)"},
		"elsewhere":             {Event{}, strings.ReplaceAll(pythonLog, "/src/", "/code/"), "raised JSONDecodeError: Expecting value: line 1 column 2 (char 1) (acme_notes_page/handlers.py:38)"},
		"only logged":           {Event{Message: "the service is down"}, pythonLog, ""},
		"another code":          {Event{ErrorCode: "NotFound"}, pythonLog, ""},
		"success":               {Event{Status: Success}, pythonLog, ""},
		"an error":              {Event{Message: "boom"}, "Error: boom\n    at Resource.create (/p/src/handlers.ts:43:37)\n", "raised Error: boom (src/handlers.ts:43)"},
		"cut":                   {Event{}, "Traceback (most recent call last):\n" + libraryFrame, unsent(nil)},
		"no log":                {Event{}, "", unsent(nil)},
		"an unknown code":       {Event{}, "the handler returned the error code 'NoSuchCode', which is not a HandlerErrorCode\n", "returned the error code 'NoSuchCode', which is not a HandlerErrorCode"},
		"null":                  {Event{Message: "Handler failed to provide a response."}, "Error: Handler failed to provide a response.\n    at a (/p/node_modules/b.js:1:1)\n", "returned nothing instead of a ProgressEvent"},
		"no log, a message":     {Event{Message: "no disk"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := test.event
			if e.Status == "" {
				e.Status = Failed
			}
			if e.ErrorCode == "" {
				e.ErrorCode = InternalFailure
			}
			if got := Raised(&e, test.log); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	long := &Event{Status: Failed, ErrorCode: InternalFailure}
	if got := Raised(long, "Traceback (most recent call last):\nValueError: "+strings.Repeat("x", 1<<20)); len(got) > 2*maxRaised {
		t.Errorf("a headline has %d bytes", len(got))
	}
}

// TestRaisedIsRedacted: a secret in an exception is not shown.
func TestRaisedIsRedacted(t *testing.T) {
	f := loggedFunction{
		reply: `{"status":"FAILED","errorCode":"InternalFailure"}`,
		log:   "Traceback (most recent call last):\n  File \"/p/src/a/handlers.py\", line 1, in f\nValueError: key SECRETKEY1\n",
	}
	e, err := New(Config{Function: f, Credentials: Static{SecretAccessKey: "SECRETKEY1"}}).Run(t.Context(), Request{Action: Create})
	if want := "raised ValueError: key <hidden: credentials> (src/a/handlers.py:1)"; err != nil || e.Raised != want {
		t.Errorf("got %q, %v, want %q", e.Raised, err, want)
	}
}

// TestThrownText: the library for TypeScript fails at what is not an Error, and says nothing of it.
func TestThrownText(t *testing.T) {
	failed := &lambda.FunctionError{Function: "f", Type: "TypeError", Message: "invalid_argument", StackTrace: []string{
		"TypeError: invalid_argument", "    at Function.captureStackTrace (<anonymous>)", "    at Resource.entrypoint (/p/node_modules/lib/dist/resource.js:321:23)",
	}}
	err := &CallError{Action: Create, Call: 1, Err: failed}
	if want := "CREATE threw a value that is not an Error, which the library for TypeScript cannot report: use throw new Error(…), or an exception of its module exceptions"; err.Error() != want {
		t.Errorf("got %q", err)
	}
	failed.StackTrace = failed.StackTrace[2:]
	if want := "CREATE, call 1: no answer from the handler: function f failed: TypeError: invalid_argument"; err.Error() != want {
		t.Errorf("got %q", err)
	}
}
