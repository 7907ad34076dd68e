package invoke

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/lambda"
)

// Lines of the traces of exceptions in Python, JavaScript and Java.
var (
	pythonFrame = lazyregexp.New(`^\s+File "([^"]+)", line (\d+)`)
	otherHeader = lazyregexp.New(`^((?:[\pL_$][\pL\pN_$.]*)?(?:Error|Exception|Throwable)[\pL\pN_$]*)(?:: (.*))?$`)
	nodeFrame   = lazyregexp.New(`^\s+at (?:.*\(|async )?(?:file://)?(/[^()]+):(\d+):\d+\)?$`)
	javaFrame   = lazyregexp.New(`^\s+at ([\pL\pN_$.<>/@]+)\(([^():]+\.(?:java|kt)):(\d+)\)$`)
	noStatus    = lazyregexp.New(`^'(.+)' object has no attribute 'status'$`)
	notSent     = lazyregexp.New(`^the handler (returned .+)$`)
)

// pythonTrace is the first line of a trace of Python, the outermost call first.
const pythonTrace = "Traceback (most recent call last):"

// A trace is an exception in a log.
type trace struct {
	name, message string
	place         string // FILE:LINE of the frame that is not a library's, "" if there is none
}

// Raised describes the exception that an event stands for, according to the log of the call:
// "raised TypeError: … (src/handlers.py:38)". It is "" for an event that a handler made itself.
func Raised(e *Event, log string) string {
	if e.Status != Failed || e.ErrorCode != InternalFailure {
		return ""
	}
	lines := strings.Split(strings.ReplaceAll(log, "\r\n", "\n"), "\n")
	t := lastTrace(lines)
	switch {
	case e.Message == noResponse:
		return "returned nothing instead of a ProgressEvent"
	case t == nil && e.Message == "":
		return unsent(lines)
	}
	if t == nil || e.Message != "" && !(t.message != "" && strings.Contains(e.Message, t.message)) {
		return ""
	}
	if m := noStatus.FindStringSubmatch(t.message); m != nil && t.place == "" {
		return "returned " + strings.Replace(m[1], "NoneType", "None", 1) + " instead of a ProgressEvent"
	}
	text := "raised " + t.name
	if t.message != "" {
		text += ": " + words.CutRunes(t.message, maxRaised)
	}
	if t.place != "" {
		text += " (" + t.place + ")"
	}
	return text
}

// threwNoError reports whether the library for TypeScript failed because a handler threw a string or another value that cannot
// have a stack.
func threwNoError(err error) bool {
	var function *lambda.FunctionError
	return errors.As(err, &function) && slices.ContainsFunc(function.StackTrace, func(frame string) bool {
		return strings.Contains(frame, "captureStackTrace")
	})
}

// noResponse is the message of the libraries for TypeScript and Java if a handler returns null.
const noResponse = "Handler failed to provide a response."

// unsent describes an event with neither a message nor an exception: the library for Python sends
// it instead of one that it cannot encode, and our runtime logs what that one was.
func unsent(lines []string) string {
	for _, line := range lines {
		if m := notSent.FindStringSubmatch(line); m != nil {
			return words.CutRunes(m[1], maxRaised)
		}
	}
	return "returned InternalFailure without a message; libraries do so for an event that they cannot send, such as one with an unknown error code"
}

// maxRaised bounds the message of an exception in a headline, in characters.
const maxRaised = 300

// lastTrace is the last exception with a trace in the lines of a log, nil if there is none.
func lastTrace(lines []string) (last *trace) {
	for i, line := range lines {
		if line == pythonTrace {
			if t := readPython(lines[i+1:]); t != nil {
				last = t
			}
			continue
		}
		header := otherHeader.FindStringSubmatch(line)
		if header == nil || i+1 == len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[i+1]), "at ") {
			continue
		}
		last = &trace{name: shortName(header[1]), message: header[2], place: otherPlace(lines[i+1:])}
	}
	return last
}

// readPython reads a trace of Python after its first line.
func readPython(lines []string) *trace {
	t := &trace{}
	for _, line := range lines {
		if m := pythonFrame.FindStringSubmatch(line); m != nil && !ofLibrary(m[1]) {
			t.place = shortPath(m[1]) + ":" + m[2]
		}
		if line != "" && !strings.HasPrefix(line, " ") {
			name, message, _ := strings.Cut(line, ": ")
			t.name, t.message = shortName(name), message
			return t
		}
	}
	return nil
}

// otherPlace is the first frame of a trace in JavaScript or Java that is not a library's.
func otherPlace(lines []string) string {
	for _, line := range lines {
		if m := nodeFrame.FindStringSubmatch(line); m != nil && !ofLibrary(m[1]) {
			return shortPath(m[1]) + ":" + m[2]
		}
		if m := javaFrame.FindStringSubmatch(line); m != nil && !ofJavaLibrary(m[1]) {
			return m[2] + ":" + m[3]
		}
		text := strings.TrimSpace(line)
		if !strings.HasPrefix(text, "at ") && !strings.HasPrefix(text, "Caused by: ") && !strings.HasPrefix(text, "... ") {
			return ""
		}
	}
	return ""
}

// shortName is the name of an exception without its package.
func shortName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// ofLibrary reports whether a source file is not the project's: those of installed packages, of
// the language and of cfn.
func ofLibrary(file string) bool {
	for _, part := range []string{"/node_modules/", "/site-packages/", "/.formwork/", "/lib/python3", "/cloudformation_cli_python_lib/", "<frozen "} {
		if strings.Contains(file, part) {
			return true
		}
	}
	return false
}

// ofJavaLibrary reports whether a method is not the project's.
func ofJavaLibrary(method string) bool {
	for _, prefix := range []string{"java.", "java.base/", "javax.", "jdk.", "sun.", "software.amazon.", "com.amazonaws.", "com.fasterxml.", "org.apache."} {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

// shortPath is a source file as the project names it: from src on, or the last two names.
func shortPath(file string) string {
	if i := strings.LastIndex(file, "/src/"); i >= 0 {
		return file[i+1:]
	}
	return path.Join(path.Base(path.Dir(file)), path.Base(file))
}
