package contract

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got\n%s", name, got)
	}
}

// talking writes to a log, with the secret in it.
type talking struct{ *stub }

func (f talking) CallLogged(ctx context.Context, payload []byte) (reply, log []byte, err error) {
	reply, err = f.Call(ctx, payload)
	return reply, []byte("the password is correct horse battery\n"), err
}

// report runs a mutant with a reporter.
func report(t *testing.T, mutant string, args ...string) (string, *Summary) {
	t.Helper()
	a, err := ParseArguments(args)
	if err != nil {
		t.Fatal(err)
	}
	f := flavour{identifier: []string{"Id"}, callbacks: 1}
	var b strings.Builder
	var summary *Summary
	cfg := Config{
		Schema: f.schema(t), Function: talking{newStub(f, mutant)}, Inputs: f.inputs(), Selection: a.Selection, NewToken: func() string { return "token" },
		Reporter: Reporters{&Text{W: &b, Verbosity: a.Verbosity, Live: a.Live, Traceback: a.Traceback}},
	}
	synctest.Test(t, func(t *testing.T) { summary, err = Run(t.Context(), cfg) })
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "correct horse") {
		t.Errorf("the report shows the write-only value:\n%s", b.String())
	}
	return b.String(), summary
}

func TestTextReport(t *testing.T) {
	for name, args := range map[string][]string{
		"short": {"--tb=short"}, "long": {"--tb=long", "-k", "create_read"}, "line": {"--tb=line"}, "no": {"--tb=no", "-q"}, "verbose": {"-v", "-s", "-k", "create_read"},
	} {
		text, _ := report(t, "read forgets", args...)
		golden(t, "text_"+name+".golden", text)
	}
	text, _ := report(t, "delete refuses", "-k", "delete_read")
	golden(t, "text_left_behind.golden", text)
	text, _ = report(t, "", "-q")
	golden(t, "text_quiet.golden", text)
}

func TestMachineReports(t *testing.T) {
	_, summary := report(t, "read forgets", "-k", "create")
	var b strings.Builder
	if err := WriteJSON(&b, summary); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tests []struct{ ID, Outcome, Message string }
	}
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil || len(doc.Tests) != len(summary.Results) {
		t.Fatal(doc, err)
	}
	golden(t, "report.json.golden", b.String())
	b.Reset()
	if err := WriteJUnit(&b, summary); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(b.String()), &junitReport{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.xml.golden", b.String())
}

func TestReportOfSeveralSets(t *testing.T) {
	f := flavours[0]
	inputs := f.inputs()
	inputs.Sets = append(inputs.Sets, InputSet{Number: 2, Create: maps.Clone(inputs.Sets[0].Create), Update: inputs.Sets[0].Update})
	var b strings.Builder
	summary := try(t, newStub(f, "read forgets"), Config{Inputs: inputs, Reporter: &Text{W: &b, Traceback: "line"}, Selection: Selection{IDs: []string{"handler_create.py"}}})
	for _, want := range []string{"\ninputs_1\n", "\ninputs_2\n", "contract_create_read [inputs_2]: one property differs", "[100%]", "4 failed, 4 passed, 2 skipped"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteJUnit(&b, summary); err != nil {
		t.Fatal(err)
	}
	if strings.Count(b.String(), "<testsuite ") != 2 {
		t.Errorf("suites in\n%s", b.String())
	}
}

func TestReportNamesTheSeed(t *testing.T) {
	f := flavours[0]
	var b strings.Builder
	try(t, newStub(f, "read forgets"), Config{Seed: 42, Reporter: &Text{W: &b}})
	if !strings.Contains(b.String(), "to generate the same inputs, pass --seed 42") {
		t.Error(b.String())
	}
}

// raising is a handler in Python whose creation raises an exception.
type raising struct{ *stub }

func (raising) CallLogged(context.Context, []byte) (reply, log []byte, err error) {
	return []byte(`{"status":"FAILED","errorCode":"InternalFailure","message":null}`),
		[]byte("Traceback (most recent call last):\n  File \"/p/src/acme_notes/handlers.py\", line 38, in create_handler\n    x\nTypeError: bad operand\n"), nil
}

// TestExceptionIsTheHeadline: an uncaught exception is what failed a test, in each report.
func TestExceptionIsTheHeadline(t *testing.T) {
	a, err := ParseArguments([]string{"-k", "contract_create_read"})
	if err != nil {
		t.Fatal(err)
	}
	f := flavour{identifier: []string{"Id"}}
	var text, junit, html strings.Builder
	summary, err := Run(t.Context(), Config{
		Schema: f.schema(t), Function: raising{newStub(f, "")}, Inputs: f.inputs(), Selection: a.Selection, Reporter: Reporters{&Text{W: &text}},
	})
	if err := errors.Join(err, WriteJUnit(&junit, summary), WriteHTML(&html, summary)); err != nil {
		t.Fatal(err)
	}
	const want = "CREATE raised TypeError: bad operand (src/acme_notes/handlers.py:38)"
	for name, got := range map[string]string{"text": text.String(), "junit": junit.String(), "html": html.String()} {
		if !strings.Contains(got, want) || strings.Contains(got, "without a message") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
