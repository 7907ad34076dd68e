package invoke

import "testing"

// TestPrintedLog: frames of libraries are folded, those of the project stay with their sources.
func TestPrintedLog(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"plain":      {"one\n\n  at the door\ntwo", "one\n\n  at the door\ntwo"},
		"python":     {"Traceback (most recent call last):\n" + pythonTraces, "Traceback (most recent call last):\n  … 2 frames of libraries\n  File \"/p/src/a/handlers.py\", line 38, in create_handler\n    json.loads(text)\n    ~~~~^^^\n  … 1 frame of libraries\nJSONDecodeError: x\n"},
		"typescript": {nodeLog, "2026-11-27T05:03:08.714Z\t6cfe\tINFO\tException caught: Cannot read properties of null (reading 'a') Error\n    … 1 frame of libraries\nTypeError: Cannot read properties of null (reading 'a')\n    … 1 frame of libraries\n    at Resource.create (/p/src/handlers.ts:39:32)\n    … 2 frames of libraries\n"},
		"java":       {javaLog, "java.lang.IllegalStateException: no disk\n\t… 1 frame of libraries\n\tat com.acme.notes.page.CreateHandler.handleRequest(CreateHandler.java:21)\n\t… 1 frame of libraries\n"},
		"cut":        {"Error: x\n    at JSON.parse (<anonymous>)\n    at async Promise.all (index 0)", "Error: x\n    … 2 frames of libraries"},
		"records":    {"2026-11-27T12:31:55.401Z\t94ca\tINFO\tone\n\n2026-11-27T12:31:55.406Z\t94ca\tINFO\ttwo\n\nthree\n", "2026-11-27T12:31:55.401Z\t94ca\tINFO\tone\n2026-11-27T12:31:55.406Z\t94ca\tINFO\ttwo\n\nthree\n"},
		"runtime": {
			`2026-11-27T12:32:52.173Z	abe2	ERROR	Invoke Error {"errorType":"TypeError","errorMessage":"x","stack":["TypeError: x","    at f (/p/src/handlers.ts:1:2)","    at g (/p/node_modules/a/b.js:1:2)"]}` + "\n",
			`2026-11-27T12:32:52.173Z	abe2	ERROR	Invoke Error {"errorType":"TypeError","errorMessage":"x"}` + "\n    TypeError: x\n    at f (/p/src/handlers.ts:1:2)\n    … 1 frame of libraries\n",
		},
		"the SDK": {`{"msg":"panic","stack":["a.go:1 f","b.go:2 g"],"type":"A::B::C"}` + "\nnext", `{"msg":"panic","type":"A::B::C"}` + "\n    a.go:1 f\n    b.go:2 g\nnext"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PrintedLog(test.log); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

const pythonTraces = libraryFrame + libraryFrame + `  File "/p/src/a/handlers.py", line 38, in create_handler
    json.loads(text)
    ~~~~^^^
  File "/usr/lib/python3.13/json/decoder.py", line 360, in raw_decode
    obj
JSONDecodeError: x
`

// TestUnfoldStacks: only records that are complete have their stacks on lines of their own.
func TestUnfoldStacks(t *testing.T) {
	for given, want := range map[string]string{
		"plain\n":                                 "plain\n",
		`{"msg":"panic","stack":["a.go:1 f"]}`:    `{"msg":"panic"}` + "\n    a.go:1 f",
		`{"msg":"panic","stack":[]}`:              `{"msg":"panic"}`,
		`{"msg":"cut off","stack":["a.go:1`:       `{"msg":"cut off","stack":["a.go:1`,
		`{"msg":"numbers","stack":[1]}`:           `{"msg":"numbers","stack":[1]}`,
		`prefix {"msg":"panic","stack":["a.go"]}`: `prefix {"msg":"panic","stack":["a.go"]}`,
	} {
		if got := unfoldStacks(given); got != want {
			t.Errorf("%s\nbecame %q\nwant   %q", given, got, want)
		}
	}
}
