package stacktest

import "github.com/formwork-dev/formwork/internal/foundation/diag"

// Rules returns the table of what is reported about files of stack tests and by their runs.
func Rules() []diag.Rule {
	return []diag.Rule{
		{ID: "stacktest/unknown-key", Purpose: "A file of stack tests has only the keys and matchers that the format has.",
			Why: "A misspelt expectation would pass always.", Example: "wrong: expect: {Output: {Url: x}}\nright: expect: {Outputs: {Url: x}}"},
		{ID: "stacktest/value", Purpose: "A value in a file of stack tests has the form of its key.",
			Why: "The test would not do what it says."},
		{ID: "stacktest/required", Purpose: "A file of stack tests has its version, a template and at least one step.",
			Why: "A test that does nothing passes."},
		{ID: "stacktest/file", Purpose: "The files that a test names exist.",
			Why: "Paths are relative to the folder of the test, not to the working folder."},
		{ID: "stacktest/setup", Purpose: "Templates, projects and apps of a test can be read and built.",
			Why: "Without them, no case of the file can be run."},
		{ID: "stacktest/expectation", Purpose: "A step of a stack test leads to what is expected of it.",
			Why: "The stack would behave otherwise than the test says."},
		{ID: "stacktest/golden", Purpose: "The changes of a change set are those in the golden file.",
			Why: "A change of the template has another effect than before; --update accepts it."},
		{ID: "stacktest/leftover", Purpose: "Nothing that a test made is left when its stacks are deleted, except what the template retains.",
			Why: "A deletion that fails leaves resources that cost money."},
		{ID: "stacktest/coverage", Purpose: "The cases cover as much of the templates as the file demands.",
			Why: "A branch that no test takes is first taken in production."},
	}
}
