package lambda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// commandPath is where the program of the command should be.
func (c *Config) commandPath() string {
	name := c.Command[0]
	if filepath.IsAbs(name) {
		return name
	}
	if strings.ContainsRune(filepath.ToSlash(name), '/') {
		return filepath.Join(c.Dir, name)
	}
	// Deliberately, a program in the current folder is not found without "./".
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return name
}

// diagnoseStart explains why the system did not start the program at path.
func diagnoseStart(c *Config, path string, err error) error {
	e := &StartError{Function: c.Name, Command: path, Reason: err.Error(), Err: err}
	if !isFolder(c.Dir) {
		e.Reason = fmt.Sprintf("its working folder %s is no folder", c.Dir)
		return e
	}
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		e.Reason, e.Hint = "there is no such file", "build the handler first"
		return e
	case statErr != nil:
		e.Reason = statErr.Error()
		return e
	case info.IsDir():
		e.Reason, e.Hint = "it is a folder", "name the program in it"
		return e
	}
	head, readErr := readHead(path)
	switch {
	case readErr == nil && len(head) == 0:
		e.Reason, e.Hint = "the file is empty", "build the handler again"
	case errors.Is(err, fs.ErrPermission) && info.Mode().Perm()&0o111 == 0:
		e.Reason, e.Hint = "the file is not executable", "chmod +x "+path
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = "the file is there, but the interpreter or loader that it names is not"
		if line, ok := strings.CutPrefix(head, "#!"); ok {
			line, _, _ = strings.Cut(line, "\n")
			e.Reason = fmt.Sprintf("its first line names an interpreter that is not there: %q", strings.TrimSpace(line))
		} else if strings.HasPrefix(head, "\x7fELF") {
			e.Hint = "build it statically: CGO_ENABLED=0 go build"
		}
	case errors.Is(err, syscall.ENOEXEC), isWrongArchitecture(err):
		e.Reason, e.Hint = wrongFormat(head)
	}
	return e
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// wrongFormat describes a file that this machine cannot run.
func wrongFormat(head string) (reason, hint string) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	hint = fmt.Sprintf("build it for this machine: GOOS=%s GOARCH=%s go build", runtime.GOOS, runtime.GOARCH)
	target := programTarget(head)
	switch {
	case target == here:
		return "the file is damaged", "build the handler again"
	case target != "":
		return fmt.Sprintf("it is a program for %s, this machine is %s", target, here), hint
	case strings.HasPrefix(head, "#!"):
		return "the system does not run scripts by their first line", "give the interpreter as the command"
	case strings.HasPrefix(head, "PK\x03\x04"):
		return "it is a zip archive, not a program", "unpack it and name the bootstrap file in it"
	case isText(head):
		return "it is a text without a first line like #!/bin/sh", "add one, or give the interpreter as the command"
	}
	return "it is not a program for this machine (" + here + ")", hint
}

// foreign reports whether a program is for another system than this one. A program for another
// processor may still run with an emulator that the system has: that shows when it is started.
func foreign(head string) bool {
	system, _, _ := strings.Cut(programTarget(head), "/")
	system, _, _ = strings.Cut(system, " ")
	return system != "" && system != runtime.GOOS
}

// programTarget reads GOOS/GOARCH from the header of a program, "" if it is not one. ELF files
// are assumed to be for Linux: nothing else is deployed to Lambda.
func programTarget(head string) string {
	b := []byte(head)
	switch {
	case len(b) >= 20 && strings.HasPrefix(head, "\x7fELF"):
		order := binary.ByteOrder(binary.LittleEndian)
		if b[5] == 2 {
			order = binary.BigEndian
		}
		machines := map[uint16]string{3: "386", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64", 258: "loong64", 21: "ppc64", 22: "s390x"}
		machine := order.Uint16(b[18:20])
		if arch, ok := machines[machine]; ok {
			return "linux/" + arch
		}
		return fmt.Sprintf("linux on machine type %d", machine)
	case len(b) >= 8 && binary.LittleEndian.Uint32(b) == 0xfeedfacf:
		switch binary.LittleEndian.Uint32(b[4:8]) {
		case 0x01000007:
			return "darwin/amd64"
		case 0x0100000c:
			return "darwin/arm64"
		}
		return "darwin"
	case strings.HasPrefix(head, "\xca\xfe\xba\xbe"):
		return "darwin (universal)"
	case strings.HasPrefix(head, "MZ"):
		return "windows"
	}
	return ""
}

func readHead(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")} // a pipe would be waited for
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [256]byte
	n, err := f.Read(b[:])
	if n > 0 {
		return string(b[:n]), nil
	}
	if info, statErr := f.Stat(); statErr == nil && info.Size() == 0 {
		return "", nil
	}
	return "", err
}

func isText(head string) bool {
	return strings.IndexFunc(head, func(r rune) bool {
		return r == '\uFFFD' || r < ' ' && !strings.ContainsRune("\t\r\n", r)
	}) < 0
}

// isWrongArchitecture knows the codes beyond ENOEXEC: EBADARCH of macOS and
// ERROR_EXE_MACHINE_TYPE_MISMATCH and ERROR_BAD_EXE_FORMAT of Windows.
func isWrongArchitecture(err error) bool {
	var code syscall.Errno
	if !errors.As(err, &code) {
		return false
	}
	switch runtime.GOOS {
	case "darwin":
		return code == 86
	case "windows":
		return code == 216 || code == 193
	}
	return false
}
