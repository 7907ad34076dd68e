package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/local"
)

// sandboxApp is an app in a folder, with settings of a project if they are not "".
func sandboxApp(t *testing.T, settings string) (*app, *bytes.Buffer) {
	t.Helper()
	dir, stderr := t.TempDir(), &bytes.Buffer{}
	if settings != "" {
		if err := os.WriteFile(filepath.Join(dir, ".formwork.json"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &app{Env: &Env{Dir: dir, Stderr: stderr, Environ: []string{"HOME=" + dir}}}, stderr
}

func TestSandboxSettings(t *testing.T) {
	for _, test := range []struct {
		name, settings string
		options        sandboxOptions
		mode           sandbox.Mode
		grants         string // "NAME" or "NAME:rw" below the folder, joined by spaces
		err            string
	}{
		{name: "nothing", mode: sandbox.On},
		{name: "the project", settings: `{"sandbox": "on", "mounts": ["data", "data:rw"]}`, mode: sandbox.On, grants: "data data:rw"},
		{name: "options first", settings: `{"sandbox": "on"}`, options: sandboxOptions{mode: "off", mounts: []string{"data:rw", "new:rw"}}, mode: sandbox.Off, grants: "data:rw new:rw"},
		{name: "a wrong mode", settings: `{"sandbox": "of"}`, err: `"sandbox" is on or required`},
		{name: "a project does not open it", settings: `{"sandbox": "off"}`, err: `"sandbox" is on or required`},
		{name: "a mount elsewhere", settings: `{"mounts": ["../other"]}`, err: `"../other" is outside the folder of the settings`},
		{name: "an absolute mount", settings: `{"mounts": ["/etc"]}`, err: `"/etc" is outside the folder of the settings`},
		{name: "a link elsewhere", settings: `{"mounts": ["link"]}`, err: "leads out of the project"},
		{name: "a missing mount", options: sandboxOptions{mounts: []string{"missing"}}, err: "no such file"},
		{name: "too much", options: sandboxOptions{mounts: []string{"/:rw"}}, err: "/ cannot be granted"},
		{name: "other settings may be wrong", settings: `{"rules": {"nothing": "off"}, "sandbox": "on"}`, mode: sandbox.On},
		{name: "no settings", settings: `[`, err: "settings"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := sandboxApp(t, test.settings)
			if err := os.Symlink("/etc", filepath.Join(c.Dir, "link")); err != nil {
				t.Skip("no links here: ", err)
			}
			s, err := test.options.settings(c, c.Dir)
			if test.err != "" {
				if err == nil || test.name != "no settings" && !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want one with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var grants []string
			for _, g := range s.Grants {
				name, _ := filepath.Rel(c.Dir, g.Path)
				if g.Write {
					name += ":rw"
				}
				grants = append(grants, name)
			}
			if got := strings.Join(grants, " "); s.Mode != test.mode || got != test.grants {
				t.Errorf("mode %s, grants %s", s.Mode, got)
			}
		})
	}
}

// TestWithoutSandbox pretends that the system has none.
func TestWithoutSandbox(t *testing.T) {
	defer sandbox.Forbid("the kernel is too old")()
	c, stderr := sandboxApp(t, "")
	o := &sandboxOptions{}
	s, err := o.settings(c, "")
	if err != nil {
		t.Fatal(err)
	}
	o.note(c, s)
	if got, want := stderr.String(), "warning: handlers run without a sandbox: the kernel is too old; handlers can read and change the files of this user\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	o.mode = "required"
	if _, err := o.settings(c, ""); err == nil || err.Error() != "the sandbox is required: the kernel is too old" {
		t.Errorf("required: %v", err)
	}
	stderr.Reset()
	o.mode = "off"
	if s, err = o.settings(c, ""); err != nil {
		t.Fatal(err)
	}
	if o.note(c, s); stderr.Len() > 0 {
		t.Errorf("--sandbox=off printed %q", stderr)
	}
	if d := c.diagnoseSandbox(); d.Available || d.Reason != "the kernel is too old" {
		t.Errorf("doctor: %+v", d)
	}
	for mode, want := range map[string]string{"": "", "required": "the sandbox is required"} {
		cloud, err := local.Open(t.Context(), local.Config{Sandbox: mode})
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("local.Open with %q: %v", mode, err)
		}
		if err == nil {
			if err := cloud.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
