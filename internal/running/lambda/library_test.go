package lambda

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func TestOldLibrary(t *testing.T) {
	for name, test := range map[string]struct {
		deps []*debug.Module
		want string
	}{
		"none":                  {nil, ""},
		"another":               {[]*debug.Module{{Path: "example.com/aws-lambda-go", Version: "v1.0.0"}}, ""},
		"old":                   {[]*debug.Module{{Path: "example.com/a", Version: "v0.1.0"}, {Path: lambdaLibrary, Version: "v1.17.0"}}, "v1.17.0"},
		"first":                 {[]*debug.Module{{Path: lambdaLibrary, Version: "v1.18.0"}}, ""},
		"new":                   {[]*debug.Module{{Path: lambdaLibrary, Version: "v1.55.1"}}, ""},
		"replaced by a new one": {[]*debug.Module{{Path: lambdaLibrary, Version: "v1.0.0", Replace: &debug.Module{Path: lambdaLibrary, Version: "v1.55.1"}}}, ""},
		"replaced by a folder":  {[]*debug.Module{{Path: lambdaLibrary, Version: "v1.0.0", Replace: &debug.Module{Path: "../x"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := oldLibraryIn(&debug.BuildInfo{Deps: test.deps}); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := (&Config{Command: []string{program}}).oldLibrary(); got != "" {
		t.Errorf("this test contains aws-lambda-go %s", got)
	}
	e := &NotReadyError{Function: "f", Limit: time.Second, Library: "v1.13.3"}
	for _, part := range []string{"aws-lambda-go v1.13.3", "run go get github.com/aws/aws-lambda-go@latest", "v1.18.0"} {
		if !strings.Contains(e.Error(), part) {
			t.Errorf("%q is missing in: %v", part, e)
		}
	}
}
