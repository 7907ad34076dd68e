package document_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("four", "1234")
	write("five", "12345")
	write("empty", "")
	if err := os.Symlink("four", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	tests := []struct{ name, want, err string }{
		{"four", "1234", ""},
		{"link", "1234", ""},
		{"empty", "", ""},
		{"five", "", "it has more than the 4 bytes that are read"},
		{"none", "", "no such file"},
		{"loop", "", "too many"},
		{".", "", "it is not a regular file"},
		{"socket", "", "it is not a regular file"},
	}
	if runtime.GOOS == "linux" {
		// A device without an end, and a file that says it is empty and is not.
		if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/proc/self/status", filepath.Join(dir, "status")); err != nil {
			t.Fatal(err)
		}
		tests = append(tests, []struct{ name, want, err string }{
			{"zero", "", "it is not a regular file"},
			{"status", "", "it has more than the 4 bytes that are read"},
		}...)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for kind, read := range map[string]func() ([]byte, error){
				"ReadFile": func() ([]byte, error) { return document.ReadFile(filepath.Join(dir, test.name), 4) },
				"ReadFS":   func() ([]byte, error) { return document.ReadFS(os.DirFS(dir), test.name, 4) },
			} {
				data, err := read()
				if string(data) != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("%s: %q, %v", kind, data, err)
				}
				if test.name == "none" && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", kind, err)
				}
			}
		})
	}
}

func TestReadHead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{0: "", 4: "1234", 9: "12345"} {
		if data, err := document.ReadHead(path, most); string(data) != want || err != nil {
			t.Errorf("%d: %q, %v", most, data, err)
		}
	}
	if _, err := document.ReadHead(filepath.Dir(path), 4); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

func TestReadAll(t *testing.T) {
	if data, err := document.ReadAll(strings.NewReader("1234"), 4); string(data) != "1234" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	var large *document.TooLargeError
	if data, err := document.ReadAll(strings.NewReader("12345"), 4); data != nil || !errors.As(err, &large) || large.Max != 4 {
		t.Errorf("%q, %v", data, err)
	}
	broken := errors.New("broken")
	if data, err := document.ReadAll(iotest.ErrReader(broken), 4); data != nil || !errors.Is(err, broken) {
		t.Errorf("%q, %v", data, err)
	}
}
