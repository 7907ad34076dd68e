package formwork_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// variableOfTests finds the variables that tests read.
var variableOfTests = regexp.MustCompile(`(?:Getenv|LookupEnv|number)\((?:t, )?"(FORMWORK_[A-Z_]+)"|Var *= "(FORMWORK_[A-Z_]+)"`)

// notInCI are variables that CI leaves alone, with the reason.
var notInCI = map[string]string{
	"FORMWORK_OWNER":       "marks processes; tests set it themselves",
	"FORMWORK_SHARED":      "../shared unless set",
	"FORMWORK_SCREENSHOTS": "saves pictures, tests nothing",
	"FORMWORK_POSTGRES":    "PostgreSQL is installed and found",
	"FORMWORK_TIME_SCALE":  "for measurements",
	"FORMWORK_PAIRS":       "how many, not whether",
	"FORMWORK_SEED":        "which, not whether",
}

// TestCISetsVariablesOfTests: a test that needs a program which a variable names runs in CI. A
// variable that nobody sets is a test that is skipped everywhere.
func TestCISetsVariablesOfTests(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	sets := func(text, name string) bool {
		return regexp.MustCompile(`(?m)(^|[\s;])` + name + `=`).MatchString(text)
	}
	found := 0
	eachGoFile(t, func(path string, source []byte) {
		if !strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, match := range variableOfTests.FindAllStringSubmatch(string(source), -1) {
			name := match[1] + match[2]
			if strings.HasPrefix(name, "FORMWORK_TEST_") && match[2] != "" {
				continue // with which the test binary becomes something else
			}
			found++
			if notInCI[name] == "" && !sets(string(script), name) && !sets(string(makefile), name) {
				t.Errorf("%s reads %s, which neither .ci/run nor the Makefile sets: add it, or the reason to notInCI", path, name)
			}
		}
	})
	if found < 8 {
		t.Errorf("only %d variables found", found)
	}
}
