package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/local"
)

func getenvOf(environ map[string]string) func(string) string {
	return func(name string) string { return environ[name] }
}

// TestDataHome finds the folder for data on each system.
func TestDataHome(t *testing.T) {
	root, err := filepath.Abs(string(filepath.Separator))
	if err != nil {
		t.Fatal(err)
	}
	xdg := filepath.Join(root, "xdg")
	for _, test := range []struct {
		system  string
		environ map[string]string
		want    string
	}{
		{"windows", map[string]string{"LOCALAPPDATA": `C:\Users\Bill\AppData\Local`, "USERPROFILE": `C:\Users\Bill`, "HOME": "/c/Users/Bill"}, `C:\Users\Bill\AppData\Local`},
		{"windows", map[string]string{"USERPROFILE": `C:\Users\Bill`}, filepath.Join(`C:\Users\Bill`, "AppData", "Local")},
		{"windows", map[string]string{"HOME": "/c/Users/Bill"}, ""},
		{"darwin", map[string]string{"HOME": "/Users/bill", "XDG_DATA_HOME": xdg}, filepath.Join("/Users/bill", "Library", "Application Support")},
		{"linux", map[string]string{"HOME": "/home/bill"}, filepath.Join("/home/bill", ".local", "share")},
		{"linux", map[string]string{"HOME": "/home/bill", "XDG_DATA_HOME": xdg}, xdg},
		{"linux", map[string]string{"HOME": "/home/bill", "XDG_DATA_HOME": "relative"}, filepath.Join("/home/bill", ".local", "share")},
		{"linux", nil, ""},
	} {
		if got := dataHome(test.system, getenvOf(test.environ)); got != test.want {
			t.Errorf("%s %v: %q, want %q", test.system, test.environ, got, test.want)
		}
	}
}

// TestShellOf names shells by what the environment says of them.
func TestShellOf(t *testing.T) {
	for _, test := range []struct{ system, shell, want string }{
		{"linux", "/bin/bash", "sh"},
		{"linux", "", "sh"},
		{"darwin", "/opt/homebrew/bin/fish", "fish"},
		{"linux", "/usr/bin/pwsh", "powershell"},
		{"windows", "", "powershell"},
		{"windows", `C:\Program Files\Git\usr\bin\bash.exe`, "sh"},
	} {
		if got := shellOf(test.system, getenvOf(map[string]string{"SHELL": test.shell})); got != test.want {
			t.Errorf("%s %s: %s, want %s", test.system, test.shell, got, test.want)
		}
	}
}

// TestServeHints says what to do about a server that does not start.
func TestServeHints(t *testing.T) {
	path := filepath.Join("data", local.KeyFile)
	for _, test := range []struct {
		err  error
		want string
	}{
		{&local.OtherKeyError{Path: path, Shared: true, Err: errors.New("another")}, "copy secrets.key from the data folder of another server of this database to " + path},
		{fmt.Errorf("open: %w", &local.OtherKeyError{Path: path, Err: errors.New("another")}), "restore the secrets.key that belongs to this folder"},
		{&local.AddressInUseError{Address: "127.0.0.1:4566"}, "stop the program that uses it, or pass another address: --address"},
		{&local.AddressInUseError{Address: "127.0.0.1:3001"}, "stop the program that uses it, or pass another address for the Invoke API: --lambda-address"},
		{errors.New("anything else"), ""},
	} {
		var hinted *diag.Hinted
		hint := ""
		if errors.As(serveHint(test.err, "127.0.0.1:3001"), &hinted) {
			hint = hinted.Hint
		}
		if !strings.HasPrefix(hint, test.want) || (hint == "") != (test.want == "") {
			t.Errorf("%v: the hint is %q", test.err, hint)
		}
	}
}
