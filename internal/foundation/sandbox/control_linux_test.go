package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// roleVar makes the test binary another program: see TestMain.
const roleVar = "TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "delegate": // a folder of a control group, as systemd does with Delegate=yes
		if err := unix.Setxattr(os.Args[1], "user.delegate", []byte("1"), 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "program": // runs a process until it is killed
		s, err := Start(Process{Path: "/bin/sh", Args: []string{"sh", "-c", "setsid sleep 1000 & echo $$; sleep 1000"}, Env: append(Environ(), "PATH=/usr/bin:/bin"), Dir: os.Args[1]}, os.Stdout)
		if err == nil {
			fmt.Println("dir", s.Control().dir)
			_ = s.Command().Wait() // it is killed
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	default:
		os.Exit(m.Run())
	}
}

// needsControl skips a test where there are no control groups. In the virtual machine of "make vm" it
// fails: there are.
func needsControl(t *testing.T) {
	t.Helper()
	if err := ControlGroups(); err != nil {
		if os.Getenv("FORMWORK_EXPECT_CONTROL_GROUPS") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: no control groups here: ", err)
	}
}

// TestControlGroupsLimit holds that the kernel keeps the limits, with a sandbox and without one.
func TestControlGroupsLimit(t *testing.T) {
	needsControl(t)
	const memory, tmp = 64 << 20, 32 << 20
	env := append(Environ(), "PATH=/usr/bin:/bin")
	begin := func(t *testing.T, inside bool, memory int64, script string) (*exec.Cmd, *Control, *os.File) {
		t.Helper()
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		t.Cleanup(func() { out.Close() })
		args := []string{"sh", "-c", script}
		if inside {
			s, err := Start(Process{Path: "/bin/sh", Args: args, Env: env, Dir: t.TempDir(), TmpMB: tmp >> 20, Memory: memory}, in)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s.Command(), s.Control(), out
		}
		ready, begun, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer ready.Close()
		args[2] = "read line; " + args[2]
		cmd, control, err := StartControlled(func() *exec.Cmd {
			return &exec.Cmd{Path: "/bin/sh", Args: args, Env: os.Environ(), Dir: t.TempDir(), Stdin: ready, Stdout: in, Stderr: in, SysProcAttr: &unix.SysProcAttr{Setpgid: true}}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(control.Close)
		if err := control.Limit(memory, tmp, MaxProcesses); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(begun, "go")
		begun.Close()
		return cmd, control, out
	}
	for _, inside := range []bool{true, false} {
		if inside && Check() != nil {
			continue
		}
		t.Run(fmt.Sprintf("memory/sandbox=%v", inside), func(t *testing.T) {
			cmd, control, out := begin(t, inside, memory, "dd if=/dev/zero of=/dev/null bs=200M count=1 && echo enough")
			text, _ := io.ReadAll(out) // its end is that of the process
			_ = cmd.Wait()             // killed
			if !control.OutOfMemory() || strings.Contains(string(text), "enough") {
				t.Errorf("out of memory: %v, it printed %q", control.OutOfMemory(), text)
			}
		})
		t.Run(fmt.Sprintf("processes/sandbox=%v", inside), func(t *testing.T) {
			cmd, control, out := begin(t, inside, 0, "i=0; while [ $i -lt 1500 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done; echo started all")
			text, _ := io.ReadAll(out)
			_, refused := control.Processes()
			_ = cmd.Wait() // by itself
			// The limit of a user, which a sandbox has as well, is the same and comes first.
			if strings.Contains(string(text), "started all") || control.OutOfMemory() || !refused && (!inside || os.Getuid() == 0) {
				t.Errorf("refused %v, it printed %q", refused, text)
			}
			control.Close()
			if _, err := os.Stat(control.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the group is left: %v", err)
			}
		})
	}
	if Check() == nil {
		t.Run("temporary files", func(t *testing.T) { // are in memory, and count as files
			cmd, control, out := begin(t, true, memory, "head -c 100000000 /dev/zero > /tmp/full; wc -c < /tmp/full; echo ready; read line")
			buffer := make([]byte, 4096)
			text := ""
			for !strings.Contains(text, "ready") {
				n, err := out.Read(buffer)
				if text += string(buffer[:n]); err != nil {
					break
				}
			}
			used, all := control.Memory(tmp), control.Memory(0)
			_ = cmd.Wait()                                                                                             // its input is empty
			if !strings.Contains(text, fmt.Sprint(tmp)) || control.OutOfMemory() || used > memory || all < tmp-tmp/4 { // the kernel counts in batches
				t.Errorf("it printed %q; used %d without and %d with files, out of memory: %v", text, used, all, control.OutOfMemory())
			}
		})
	}
}

// TestControlGroupsOfKilledPrograms: the next program removes what a killed one has left.
func TestControlGroupsOfKilledPrograms(t *testing.T) {
	needsControl(t)
	if err := Check(); err != nil {
		t.Skip("SKIPPED: no sandbox here: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, t.TempDir())
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), roleVar+"=program"), in, in
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	text, buffer := "", make([]byte, 4096)
	for strings.Count(text, "\n") < 2 {
		n, err := out.Read(buffer)
		if text += string(buffer[:n]); err != nil {
			t.Fatal(text, err)
		}
	}
	_, rest, _ := strings.Cut(text, "dir ")
	dir := strings.Fields(rest)[0]
	if err := errors.Join(cmd.Process.Kill(), out.Close()); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // by the signal
	g, err := opened()
	if err != nil {
		t.Fatal(err)
	}
	if rel, err := filepath.Rel(filepath.Dir(g.dir), dir); err != nil || !filepath.IsLocal(rel) {
		t.Fatalf("%s is not beside %s", dir, g.dir)
	}
	fixtures.Await(t, "the end of the group of a killed program", func() bool { // the kernel ends its processes
		g.h.sweep(filepath.Dir(g.dir))
		_, err := os.Stat(filepath.Dir(dir))
		return errors.Is(err, os.ErrNotExist)
	})
	if _, err := os.Stat(g.dir); err != nil {
		t.Errorf("the group of this program: %v", err)
	}
}
