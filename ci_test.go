package formwork_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// variableOfTests finds the variables that tests read.
var variableOfTests = regexp.MustCompile(`(?:Getenv|LookupEnv|number)\((?:t, )?"(FORMWORK_[A-Z_]+)"|Var *= "(FORMWORK_[A-Z_]+)"`)

// notInCI are variables that CI leaves alone, with the reason.
var notInCI = map[string]string{
	"FORMWORK_OWNER":      "marks processes; tests set it themselves",
	"FORMWORK_SHARED":     "../shared unless set",
	"FORMWORK_POSTGRES":   "PostgreSQL is installed and found",
	"FORMWORK_TIME_SCALE": "for measurements",

	"FORMWORK_BENCH_PACKAGES": "for measurements",

	"FORMWORK_EXPECT_CONTROL_GROUPS": "set by make vm, where the kernel has them",

	"FORMWORK_PICTURE": "set by make picture, which rewrites the picture of README",

	"FORMWORK_TEMPLATES": "a folder with further public templates",

	"FORMWORK_PAIRS":  "how many, not whether",
	"FORMWORK_CORPUS": "how many, not whether",
	"FORMWORK_SEED":   "which, not whether",
}

// TestCISetsVariablesOfTests: a test that needs a program which a variable names runs in CI. A
// variable that nobody sets is a test that is skipped everywhere.
func TestCISetsVariablesOfTests(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	torture, err := os.ReadFile(".ci/torture")
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
			if notInCI[name] == "" && !sets(string(script), name) && !sets(string(torture), name) {
				t.Errorf("%s reads %s, which neither .ci/run nor .ci/torture sets: add it, or the reason to notInCI", path, name)
			}
		}
	})
	if found < 8 {
		t.Errorf("only %d variables found", found)
	}
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// TestCampaignsHaveTests: each pattern of a campaign of make torture matches a test in one of its
// packages, and each test that kills servers is part of a campaign. A test that is renamed would
// leave its campaign without a word.
func TestCampaignsHaveTests(t *testing.T) {
	script, err := os.ReadFile(".ci/torture")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(script), "<<'TABLE'\n")
	table, _, found := strings.Cut(table, "\nTABLE\n")
	if !found {
		t.Fatal("the script has no table")
	}
	tests, kills := map[string][]string{}, map[string]bool{} // by package
	eachGoFile(t, func(path string, source []byte) {
		for _, match := range testName.FindAllSubmatch(source, -1) {
			dir := "./" + filepath.ToSlash(filepath.Dir(path))
			tests[dir] = append(tests[dir], string(match[1]))
			if dir == "./local" && strings.HasPrefix(string(match[1]), "TestKill") {
				kills[string(match[1])] = false
			}
		}
	})
	for row := range strings.Lines(table) {
		fields := strings.SplitN(strings.TrimSpace(row), "|", 4)
		if len(fields) != 4 {
			t.Fatalf("the row %q has %d columns", row, len(fields))
		}
		for _, pattern := range strings.FieldsFunc(regexp.MustCompile(`/.*?\)`).ReplaceAllString(fields[3], ""), func(r rune) bool { return r == '|' }) {
			re := regexp.MustCompile(pattern)
			matches := 0
			for dir := range strings.FieldsSeq(fields[2]) {
				for _, name := range tests[dir] {
					if re.MatchString(name) {
						matches++
						kills[name] = true
					}
				}
			}
			if matches == 0 {
				t.Errorf("%s: no test of %s matches %q", fields[0], fields[2], pattern)
			}
		}
	}
	for name, part := range kills {
		if !part {
			t.Errorf("%s is part of no campaign", name)
		}
	}
}

// TestTestsAreSummedUp fails in one of two modules: the other one is tested, too, what passed prints nothing, and the
// last lines name what failed.
func TestTestsAreSummedUp(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: bash is not installed")
	}
	dir := t.TempDir()
	for _, name := range []string{".ci/test", ".ci/summary.awk"} {
		copyFile(t, name, filepath.Join(dir, name))
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/main\n\ngo 1.26\n", "nested/go.mod": "module example.com/nested\n\ngo 1.26\n",
		"local/x_test.go":  "package local\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Run(\"part\", func(t *testing.T) { t.Fatal(\"why\") }) }\n\nfunc TestGood(t *testing.T) { t.Log(\"noise\") }\n",
		"nested/x_test.go": "package nested\n\nimport \"testing\"\n\nfunc TestAbsent(t *testing.T) { t.Skip(\"skipped: nothing here\") }\n",
	} {
		writeText(t, filepath.Join(dir, name), text)
	}
	out, err := exec.Command(filepath.Join(dir, ".ci/test"), "nested").CombinedOutput()
	_, summary, _ := strings.Cut(string(out), "\n== 1 packages passed, 1 failures, ")
	if err == nil || !strings.HasSuffix(summary, " s\nFAIL example.com/main/local TestBad\n") || !strings.Contains(string(out), "1 skipped: nothing here") ||
		!strings.Contains(string(out), ": why\n--- FAIL: TestBad") || strings.Contains(string(out), "noise") {
		t.Errorf("%v\n%s", err, out)
	}
}
