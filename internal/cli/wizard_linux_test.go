package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// A terminal is a pseudo-terminal: the test holds the side of the user.
type terminal struct {
	t    *testing.T
	user *os.File // what is written here is typed, what is read here is shown
	tty  *os.File // the program's side

	mu    sync.Mutex
	shown bytes.Buffer
	read  int // up to where see has looked
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("skipped: there is no pseudo-terminal: %v", err)
	}
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}); err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, user: user, tty: tty}
	go func() {
		chunk := make([]byte, 4096)
		for {
			n, err := user.Read(chunk)
			term.mu.Lock()
			term.shown.Write(chunk[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		tty.Close()
		user.Close()
	})
	return term
}

var escapes = regexp.MustCompile(`\x1b(\[[0-9;?<>=$]*[a-zA-Z]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>]|P[^\x1b]*\x1b\\)`)

// see waits until the text is shown, after what was seen before.
func (term *terminal) see(text string) {
	term.t.Helper()
	var shown string
	if !fixtures.Happens(fixtures.Patience, func() bool {
		term.mu.Lock()
		defer term.mu.Unlock()
		shown = escapes.ReplaceAllString(term.shown.String(), "")
		i := strings.Index(shown[min(term.read, len(shown)):], text)
		if i >= 0 {
			term.read += i + len(text)
		}
		return i >= 0
	}) {
		term.t.Fatalf("the terminal does not show %q; it shows\n%s", text, shown)
	}
}

func (term *terminal) press(keys string) {
	term.t.Helper()
	if _, err := term.user.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// run starts cfn on the terminal; the channel gets its exit code.
func (term *terminal) run(ctx context.Context, dir string, args ...string) <-chan int {
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, Env{
			Stdin: term.tty, Stdout: term.tty, Stderr: term.tty, Terminal: Terminal{true, true, true},
			Environ: append(os.Environ(), "TERM=xterm-256color", "ACCESSIBLE="), Dir: dir, Version: "0.1.0-dev",
		}, args)
	}()
	return code
}

func wait(t *testing.T, code <-chan int, want int) {
	t.Helper()
	select {
	case got := <-code:
		if got != want {
			t.Errorf("exit code %d, want %d", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("cfn does not end")
	}
}

const enter, down, ctrlC = "\r", "\x1b[B", "\x03"

func TestInitForm(t *testing.T) {
	dir := t.TempDir()
	term := newTerminal(t)
	code := term.run(t.Context(), dir, "init")
	term.see("What do you want to develop?")
	term.press(down + down + enter)
	term.see("What's the name of your hook type?")
	term.press("Acme::Foo" + enter)
	term.see("Please enter a value matching")
	term.press("::Bar" + enter)
	term.see("Which language")
	term.see("python313")
	term.press(enter)
	term.see("import path")
	term.see("example.com/acme-foo-bar")
	term.press(enter)
	term.see("Initialized a new project in " + dir)
	wait(t, code, exitOK)
	settings, err := os.ReadFile(filepath.Join(dir, ".rpdk-config"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"artifact_type": "HOOK"`, `"typeName": "Acme::Foo::Bar"`, `"import_path": "example.com/acme-foo-bar"`} {
		if !strings.Contains(string(settings), part) {
			t.Errorf("the settings lack %s:\n%s", part, settings)
		}
	}

	code = term.run(t.Context(), dir, "init", "-a", "HOOK", "-t", "Acme::Foo::Other", "go", "-p", "example.com/x")
	term.see("This folder already contains the project Acme::Foo::Bar")
	term.press(enter) // the answer that is chosen at first is no
	term.see("aborted")
	wait(t, code, exitFailure)
}

func TestInitFormGivenUp(t *testing.T) {
	dir := t.TempDir()
	term := newTerminal(t)
	code := term.run(t.Context(), dir, "init")
	term.see("What do you want to develop?")
	term.press(ctrlC)
	term.see("aborted")
	wait(t, code, exitFailure)

	ctx, cancel := context.WithCancel(t.Context())
	code = term.run(ctx, dir, "init")
	term.see("What do you want to develop?")
	cancel()
	term.see("aborted")
	wait(t, code, exitFailure)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// On a terminal that shows no forms, and for people who cannot use one, init asks plainly.
func TestInitPlainQuestionsOnATerminal(t *testing.T) {
	dir := t.TempDir()
	term := newTerminal(t)
	code := make(chan int, 1)
	go func() {
		code <- Main(t.Context(), Env{
			Stdin: term.tty, Stdout: term.tty, Stderr: term.tty, Terminal: Terminal{true, true, true},
			Environ: []string{"TERM=xterm", "ACCESSIBLE=1"}, Dir: dir, Version: "0.1.0-dev",
		}, []string{"init", "-a", "m"})
	}()
	term.see("What's the name of your module type?")
	term.see(">> ")
	term.press("Acme::Foo::Bar::MODULE\n")
	term.see("Initialized a new project in " + dir)
	wait(t, code, exitOK)
}
