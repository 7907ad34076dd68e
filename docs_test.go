package formwork_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// A block is one fenced block of a document.
type block struct {
	language, text string
	line           int
}

var fence = regexp.MustCompile("^( *)```+ *([A-Za-z]*)")

func blocks(text string) []block {
	var out []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case m != nil && open == nil:
			open = &block{language: m[2], line: i + 1}
		case m != nil:
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return out
}

// TestCommandsOfDocuments runs every block that is marked sh in the documents, in the
// order in which a reader meets them. Each document has a folder of its own that looks
// like a fresh clone, a home of its own, and the cfn of this tree in its PATH; each block
// begins in the folder of the document. A line "# leaves N" before a command says that
// its exit code is N.
//
// The make targets of the README are what CI itself runs; a test cannot run itself.
func TestCommandsOfDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the commands of the documents")
	}
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the documents are written for a POSIX shell")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(bin, "cfn"), "./cmd/cfn")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build cfn: %v\n%s", err, out)
	}
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "sdk/*.md", "examples/*.md", "examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, document := range documents {
		data, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		var script strings.Builder
		for _, b := range blocks(string(data)) {
			if b.language == "sh" {
				script.WriteString("(\n" + commands(b) + ":\n)\n")
			}
		}
		if script.Len() == 0 {
			continue
		}
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			runDocument(t, bin, filepath.Dir(document), script.String())
		})
	}
}

var leaves = regexp.MustCompile(`^# leaves ([0-9]+)$`)

// commands turns a block into a script that stops at the first command with an exit code
// that the block does not promise.
func commands(b block) string {
	var out strings.Builder
	want := ""
	for _, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		if m := leaves.FindStringSubmatch(line); m != nil {
			want = m[1]
			continue
		}
		if strings.HasPrefix(line, "make ") {
			continue
		}
		if want != "" {
			line = "( " + line + " ) && code=0 || code=$?; [ $code = " + want + " ]"
			want = ""
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func runDocument(t *testing.T, bin, dir, script string) {
	home, clone := t.TempDir(), t.TempDir()
	for _, part := range []string{"examples", "sdk"} {
		if err := os.CopyFS(filepath.Join(clone, part), os.DirFS(part)); err != nil {
			t.Fatal(err)
		}
	}
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(cache))
	sh := exec.Command("sh", "-eux", "-c", script)
	sh.Dir = filepath.Join(clone, dir)
	if err := os.MkdirAll(sh.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	sh.Env = append(os.Environ(), "HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"), "CGO_ENABLED=0",
		"GOCACHE="+folders[0], "GOMODCACHE="+folders[1], "GOPATH="+folders[2], "GOFLAGS=-mod=mod")
	if out, err := sh.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
