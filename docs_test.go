package formwork_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
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

// TestCommandsOfDocuments runs every block that is marked sh in the documents as a reader
// does who follows a document from its top: in one shell, in a fresh clone, without any
// line left out. Only the README builds cfn; the other documents need what it installs, and
// get the cfn of this tree on their PATH. A line "# leaves N" before a command says that
// its exit code is N.
func TestCommandsOfDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short leaves out the commands of the documents")
	}
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the documents are written for a POSIX shell")
	}
	files := tracked(t)
	bin := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(bin, "cfn"), "./cmd/cfn")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build cfn: %v\n%s", err, out)
	}
	linkClients(t, bin)
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
				script.WriteString(commands(b))
			}
		}
		if script.Len() == 0 {
			continue
		}
		path := bin + ":" + os.Getenv("PATH")
		if document == "README.md" {
			path = withoutProgram(os.Getenv("PATH"), "cfn")
		}
		needed := needs.FindStringSubmatch(string(data))
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			if needed != nil {
				needPrograms(t, path, strings.Fields(needed[1])...)
			}
			runDocument(t, files, path, script.String())
		})
	}
}

// tracked lists the files that a clone of this tree has.
func tracked(t *testing.T) []string {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("skipped: git does not list the files of a clone: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// withoutProgram removes the folders of a PATH that hold a program.
func withoutProgram(path, program string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// needs marks a document whose commands need programs that the project does not.
var needs = regexp.MustCompile(`<!-- needs: (.*) -->`)

// needPrograms skips a test where a program is missing in a PATH, which is a failure under CI=true.
func needPrograms(t *testing.T, path string, names ...string) {
	t.Helper()
	for _, name := range names {
		found := slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
			_, err := exec.LookPath(filepath.Join(dir, name))
			return err == nil
		})
		switch {
		case found:
		case os.Getenv("CI") == "true":
			t.Fatalf("%s is not installed", name)
		default:
			t.Skipf("skipped: %s is not installed", name)
		}
	}
}

// linkClients adds the deployers that CI installs in FORMWORK_CLIENTS to a folder of programs. The virtual
// environment of SAM as a whole would bring another Python along.
func linkClients(t *testing.T, bin string) {
	t.Helper()
	for _, client := range []string{"cdk/node_modules/.bin/cdk", "sam/bin/sam"} {
		program := filepath.Join(os.Getenv("FORMWORK_CLIENTS"), filepath.FromSlash(client))
		if _, err := os.Stat(program); err != nil || !filepath.IsAbs(program) {
			continue
		}
		if err := os.Symlink(program, filepath.Join(bin, filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
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
		if want != "" {
			line = "( " + line + " ) && code=0 || code=$?; [ $code = " + want + " ]"
			want = ""
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func runDocument(t *testing.T, files []string, path, script string) {
	home, clone := t.TempDir(), filepath.Join(t.TempDir(), "formwork")
	for _, name := range files {
		copyFile(t, name, filepath.Join(clone, name))
	}
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(cache))
	// The handlers of the example keep reports there, which no other test may change.
	temporary, err := os.MkdirTemp("", "docs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	// What a reader starts in the background and stops at the end stops after a failure, too.
	script = "trap 'jobs -p > \"$HOME/.jobs\"; kill $(cat \"$HOME/.jobs\") 2>&- || true' EXIT\n" + script
	sh := exec.Command("sh", "-eux", "-c", script)
	sh.Dir = clone
	sh.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+temporary, "PATH="+path, "GOCACHE="+folders[0], "GOMODCACHE="+folders[1], "GOPATH="+folders[2])
	sh.Env = append(sh.Env, packageCaches(t)...)
	// The CDK finds the libraries that a reader installs with npm, and leaves out rules that each synthesis spends 9 s on.
	sh.Env = append(sh.Env, "NODE_PATH="+filepath.Join(os.Getenv("FORMWORK_CLIENTS"), "cdk", "node_modules"), "CDK_VALIDATION=false",
		"CDK_DISABLE_CLI_TELEMETRY=true", "SAM_CLI_TELEMETRY=0")
	if out, err := sh.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// packageCaches are the variables with which pip and npm use the caches of the user, as Go does.
func packageCaches(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"PIP_CACHE_DIR=" + filepath.Join(caches, "pip"), "npm_config_cache=" + filepath.Join(home, ".npm")}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return // deleted, and not committed yet
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, info.Mode().Perm())
	}
	if err != nil {
		t.Fatal(err)
	}
}

var payload = regexp.MustCompile(`lambda invoke[^|\x60]*?--payload (\S+)`)

// TestPayloadsOfDocuments: version 2 of the aws CLI takes other payloads than fileb://FILE for base64, which version 1 does not know.
func TestPayloadsOfDocuments(t *testing.T) {
	found := 0
	for _, pattern := range []string{"docs/*.md", "examples/*/README.md", "internal/cli/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range payload.FindAllStringSubmatch(string(data), -1) {
				if found++; !strings.HasPrefix(m[1], "fileb://") {
					t.Errorf("%s: --payload %s: write fileb://FILE", file, m[1])
				}
			}
		}
	}
	if found < 4 {
		t.Errorf("%d payloads", found)
	}
}
