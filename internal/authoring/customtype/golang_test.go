package customtype

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
)

// styled is a request to code of a style.
func styled(style string, more ...any) map[string]any {
	out := map[string]any{"ResourceProperties": map[string]any{"Style": style}}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

const wrappedData = `{"A":"b","Arn":"arn:aws:lambda:us-east-1:1:function:f","Token":"wrapped"}`

var goStyles = []style{
	{name: "wrapped", request: styled("wrapped"), want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "one", "Data": wrappedData}},
	{name: "wrapped for SNS", request: styled("wrapped"), topic: "arn:aws:sns:us-east-1:1:t", want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "one", "Data": wrappedData}},
	{name: "wrapped failure", request: styled("wrapped failure"), want: map[string]string{"Status": "FAILED", "Reason": "no room"}},
	{name: "wrapped panic", request: styled("wrapped panic"), want: map[string]string{"Status": "FAILED", "Reason": "Function panicked, see log stream for details"}},
	{name: "sent", request: styled("sent"), want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "sent", "Data": `{"Number":12345678901234567890}`}},
	{name: "sent twice", request: styled("sent twice"), want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "first"}},
	{name: "ended after the response", request: styled("sent and ended"), want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "x"}},
	{name: "too long", request: styled("sent too much"), want: map[string]string{"Status": "FAILED", "Reason": "Response object is too long."}},
	{name: "not a response", request: styled("sent without a status"), want: map[string]string{"Reason": "the code of the custom resource sent a response without a Status"}},
	{name: "without an ID", request: styled("sent without an ID"), want: map[string]string{"Status": "FAILED", "Reason": "Vendor response doesn't contain PhysicalResourceId key"}},
	{name: "returned", request: styled("returned"), want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "r", "Data": `{"A":1}`}},
	{name: "returned without an ID", request: styled("returned without an ID", "PhysicalResourceId", "old"), want: map[string]string{"Status": "SUCCESS", "PhysicalResourceId": "old"}},
	{name: "no response", request: styled("returned nothing"), want: map[string]string{"Status": "FAILED", "Reason": "the code of the custom resource sent no response"}},
	{name: "failed", request: styled("failed"), want: map[string]string{"Status": "FAILED", "Reason": "bad name"}},
	{name: "panicked", request: styled("panicked"), want: map[string]string{"Status": "FAILED", "Reason": "lost"}},
	{name: "ended", request: styled("ended"), want: map[string]string{"Status": "FAILED", "Reason": "the code of the custom resource sent no response: its program ended: exit status 3"}},
	{name: "hangs", request: styled("hangs"), seconds: 1, want: map[string]string{"Status": "FAILED", "Reason": "the code of the custom resource sent no response within its time limit"}},
	{name: "reads", request: styled("reads", "RequestType", "Read", "PhysicalResourceId", "p"), want: map[string]string{"Status": "SUCCESS", "Data": `{"Name":"p"}`}},
	{name: "reads nothing", request: styled("returned nothing", "RequestType", "Read", "PhysicalResourceId", "p"), want: map[string]string{"Status": "SUCCESS", "Data": "null"}},
	{name: "reads with an error", request: styled("failed", "RequestType", "Read", "PhysicalResourceId", "p"), want: map[string]string{"Status": "FAILED", "Reason": "bad name"}},
}

// TestGoPrograms calls a program in Go with code of each style.
func TestGoPrograms(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
	if testing.Short() {
		t.Skip("builds programs")
	}
	file := func(name string) string {
		data, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	sdk, err := filepath.Abs("../../../sdk")
	if err != nil {
		t.Fatal(err)
	}
	const library = "../project/custom/go/"
	program := buildGo(t, "program", map[string]string{"main.go": file("testdata/styles.go.txt"), "go.mod": file(library + "go.mod.txt"), "go.sum": file(library + "go.sum.txt")})
	runner, err := render("go/custom_program.go", frame{})
	if err != nil {
		t.Fatal(err)
	}
	harness := buildGo(t, "harness", map[string]string{
		"main.go": file("testdata/harness.go.txt"), "runner.go": strings.Replace(string(runner), "package resource", "package main", 1),
		"go.mod": "module harness\n\ngo 1.26\n\nrequire github.com/formwork-dev/formwork/sdk v0.0.0\n\nreplace github.com/formwork-dev/formwork/sdk => " + sdk + "\n",
	})
	for _, s := range goStyles {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.check(t, harness, program, nil)
		})
	}
}

func buildGo(t *testing.T, name string, sources map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.ReplaceAll(text, "MODULE_PATH", name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, name)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags=lambda.norpc", "-o", program, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

const (
	goMain = "package main\n\nimport \"github.com/aws/aws-lambda-go/lambda\"\n\nfunc main() { lambda.Start(handle) }\n\nfunc handle() {}\n"
	goMod  = "module example.com/app\n\ngo 1.26\n\nrequire github.com/aws/aws-lambda-go v1.55.1\n"
)

// TestGoFiles: which files of a module a program is built from.
func TestGoFiles(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"go.mod": goMod + "\nreplace example.com/near => ./near\n", "go.sum": "x", "other.go": "package app\n", "secret.txt": "x",
		"fn/main.go": goMain, "fn/more.go": "package main\n\nimport _ \"example.com/app/lib\"\n", "fn/main_test.go": "package main\n", "fn/_old.go": "package main\n",
		"fn/on_darwin.go": "package main\n", "fn/fn.json": "{}", "fn/asm_amd64.s": "", "fn/own.go": "//go:build own\n\npackage main\n\nimport _ \"example.com/app/tagged\"\n", "tagged/t.go": "package tagged\n", "fn/deep/deep.go": "package deep\n",
		"lib/lib.go":      "package lib\n\nimport (\n\t_ \"embed\"\n\t_ \"example.com/app/lib/inner\"\n\t_ \"example.com/application\"\n)\n\n//go:embed data one.txt\nvar x embed.FS\n",
		"lib/one.txt":     "x",
		"lib/two.txt":     "x",
		"lib/data/a/b":    "x",
		"lib/data/.c":     "x",
		"lib/gone.go":     "//go:build ignore\n\npackage main\n",
		"lib/inner/in.go": "package inner\n\nimport _ \"example.com/app/lib\"\n",
		"near/go.mod":     "module example.com/near\n", "near/near.go": "package near\n", "near/near_test.go": "package near\n", "near/.git/x": "x", "near/vendor/v.go": "package v\n",
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	files["lib/link.go"] = &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: fs.ModeSymlink}
	got, err := GoFiles(files, "fn", []string{"lambda.norpc", "own"}, 100)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := "fn/asm_amd64.s fn/main.go fn/more.go fn/on_darwin.go fn/own.go go.mod go.sum lib/data/a/b lib/gone.go lib/inner/in.go lib/lib.go lib/one.txt near/go.mod near/near.go tagged/t.go"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("the files are %s; expected %s", text, want)
	}
	if got, err := GoFiles(files, "fn", nil, 5); err != nil || len(got) != 6 {
		t.Errorf("with a limit: %d files, %v", len(got), err)
	}
}

// TestGoRefusals: what of programs in Go cannot be converted, and what to do.
func TestGoRefusals(t *testing.T) {
	for _, c := range []struct {
		name       string
		files      map[string]string // "" removes one
		read       string
		want, hint string
	}{
		{"a package", map[string]string{"fn/main.go": "package fn\n"}, "", "fn/main.go: the package fn is not a program", "pass the folder of the package main that calls lambda.Start"},
		{"two packages", map[string]string{"fn/b.go": "package other\n"}, "", "found packages other (b.go) and main (main.go) in fn", ""},
		{"for another system", map[string]string{"fn/main.go": "//go:build windows\n\n" + goMain}, "", "the folder fn has no sources in Go for Linux", "pass the folder of the package main"},
		{"cgo", map[string]string{"lib/lib.go": "package lib\n\nimport \"C\"\n", "fn/b.go": "package main\n\nimport _ \"example.com/app/lib\"\n"}, "", `lib/lib.go:3: import "C": handlers are built without cgo`, "use a package in Go"},
		{"not a function", map[string]string{"go.mod": "module example.com/app\n"}, "", "go.mod does not require github.com/aws/aws-lambda-go, with which a program is a function of Lambda", "call lambda.Start(cfn.LambdaWrap(handler)) in main, and run go mod tidy"},
		{"go1.x", map[string]string{"go.mod": strings.Replace(goMod, "1.55.1", "1.17.0", 1)}, "", "go.mod:5: github.com/aws/aws-lambda-go v1.17.0 runs only in the runtime go1.x, which Lambda no longer has", "run go get github.com/aws/aws-lambda-go@latest && go mod tidy"},
		{"outside", map[string]string{"go.mod": goMod + "replace example.com/x => ../x\n"}, "", "go.mod:6: example.com/x is replaced by ../x, which is outside of the folder of go.mod", "move it into the folder, or require a published version"},
		{"absolute", map[string]string{"go.mod": goMod + "replace example.com/x => /x\n"}, "", "go.mod:6: example.com/x is replaced by /x, which is outside of the folder of go.mod", "move it into the folder, or require a published version"},
		{"replaced by nothing", map[string]string{"go.mod": goMod + "replace example.com/x => ./x\n"}, "", "go.mod:6: open x: file does not exist", ""},
		{"invalid go.mod", map[string]string{"go.mod": "module example.com/app\n\nrequire x\n"}, "", "go.mod:3: usage: require module/path v1.2.3", ""},
		{"no module path", map[string]string{"go.mod": "go 1.26\n"}, "", "go.mod has no module path", "run go mod edit -module PATH"},
		{"syntax", map[string]string{"fn/main.go": goMain + "\nfunc f( {\n"}, "", "fn/main.go:9:9: expected ')', found '{'", ""},
		{"no main", map[string]string{"fn/main.go": "package main\n"}, "", "the package in fn has no function main", "write main with lambda.Start(cfn.LambdaWrap(handler))"},
		{"no function that reads", nil, "fetch", "the package in fn has no function fetch, which --read names", "write func fetch(ctx context.Context, event cfn.Event) (map[string]any, error) beside main"},
		{"a method that reads", map[string]string{"fn/b.go": "package main\n\ntype t int\n\nfunc (t) fetch() {}\n"}, "fetch", "the package in fn has no function fetch, which --read names", "write func fetch(ctx context.Context, event cfn.Event) (map[string]any, error) beside main"},
		{"main does not read", nil, "main", "the package in fn has no function main, which --read names", "write func main(ctx context.Context, event cfn.Event) (map[string]any, error) beside main"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"go.mod": {Data: []byte(goMod)}, "fn/main.go": {Data: []byte(goMain)}}
			for name, text := range c.files {
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			_, err := completeGo(files, "fn", c.read)
			if err == nil || err.Error() != c.want {
				t.Fatalf("the error is %v; expected %s", err, c.want)
			}
			var hinted *diag.Hinted
			if errors.As(err, &hinted); (hinted == nil) != (c.hint == "") || hinted != nil && hinted.Hint != c.hint {
				t.Errorf("the hint is %+v; expected %s", hinted, c.hint)
			}
		})
	}
}

func completeGo(files fs.FS, folder, read string) (*Code, error) {
	names, err := GoFiles(files, folder, nil, 100)
	if err != nil {
		return nil, err
	}
	code := &Code{Language: "go", Program: folder}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		code.Files = append(code.Files, codegen.File{Path: name, Data: data})
	}
	return code, code.CompleteGo(read)
}

// TestGoRequests: how a program gets its requests, and the library that another module requires.
func TestGoRequests(t *testing.T) {
	indirect := "module example.com/app\n\nrequire example.com/wrapper v1.0.0\n"
	for _, c := range []struct {
		main, mod, sum string
		topic          bool
	}{
		{goMain, goMod, "", false},
		{strings.Replace(goMain, "Start(handle)", "Start(cfn.LambdaWrapSNS(handle))", 1), goMod, "", true},
		{strings.Replace(goMain, "handle()", "handle(event events.SNSEvent)", 1), goMod, "", true},
		{goMain, indirect, "github.com/aws/aws-lambda-go v1.55.1 h1:x\n", false},
	} {
		code, err := completeGo(fstest.MapFS{"go.mod": {Data: []byte(c.mod)}, "go.sum": {Data: []byte(c.sum)}, "main.go": {Data: []byte(c.main)}}, ".", "handle")
		if err != nil || code.Topic != c.topic || !code.has(readProgram) || code.Read != "handle" {
			t.Errorf("%s: %+v, %v", c.main, code, err)
		}
	}
}
