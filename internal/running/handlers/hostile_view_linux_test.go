package handlers_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/services/functions"
)

// TestHostileView holds that neither the environment that a template gives to a function nor links in a folder that
// was cloned make files of the machine visible.
func TestHostileView(t *testing.T) {
	for _, language := range []string{"go", "python", "node", "java"} {
		t.Run(language, func(t *testing.T) {
			runtime, entrypoint, code := agentCode(t, language)
			h := newHouse(t, func(h *house, c *handlers.Config) {
				c.Deployed = functions.New(functions.Config{Store: c.Store, Dir: filepath.Join(h.data, "functions")})
				c.Functions = []handlers.Named{{Name: "cloned", Path: filepath.Join(h.root, "clone")}}
			})
			in := func(name string) string { return filepath.Join(h.root, name) }
			secret := []string{in("home/.ssh/id_rsa"), in("home/.aws/credentials"), in("home/letter"), in("data/secrets.key"), in("home/.ssh"), in("tmp/other"), in("home")}
			for _, dir := range []string{in("clone/node_modules/@scope"), in("home/.config/autostart")} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range code {
				if err := os.WriteFile(filepath.Join(in("clone"), name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for i, path := range secret {
				for _, dir := range []string{"clone/node_modules/", "clone/node_modules/@scope/", "clone/link"} {
					if err := os.Symlink(path, in(dir+string(rune('a'+i)))); err != nil {
						t.Fatal(err)
					}
				}
			}
			all := ""
			for _, path := range secret {
				all += path + ":"
			}
			h.deploy(t, "deployed", runtime, entrypoint, code, map[string]any{
				"PYTHONPATH": all, "NODE_PATH": all, "CLASSPATH": all, "LD_LIBRARY_PATH": all, "PATH": all + os.Getenv("PATH"), "PYTHONUSERBASE": in("home"), "GOCOVERDIR": in("home/.config/autostart"),
				"SSL_CERT_FILE": secret[0], "SSL_CERT_DIR": in("home/.ssh"), "AWS_CA_BUNDLE": secret[1], "NODE_EXTRA_CA_CERTS": secret[2], "JAVA_HOME": in("home"),
				"NODE_OPTIONS": "--redirect-warnings=" + secret[2], "JAVA_TOOL_OPTIONS": "-Dx=" + secret[3], "FORMWORK_AWS_ADDRESS": "127.0.0.1:1",
				"LD_PRELOAD": secret[0], "LD_AUDIT": secret[0], "JDK_JAVA_OPTIONS": "-XX:ErrorFile=" + in("home/.config/autostart/java"), "NODE_V8_COVERAGE": in("home/.config/autostart"),
				"NODE_COMPILE_CACHE": in("home/.config/autostart"), "PYTHONPYCACHEPREFIX": in("home/.config/autostart"), "PYTHONSTARTUP": secret[0], "BASH_ENV": secret[0], "ENV": secret[0],
			})
			directory := &handlers.Directory{Pool: h.Pool, Handler: noHandler}
			for _, name := range []string{"deployed", "cloned"} {
				function, err := directory.Function(t.Context(), caller, name, "")
				if err != nil {
					t.Fatal(err)
				}
				r, _, err := h.do(t, function.(*handlers.Function), deed{Read: secret, Write: []string{in("home/.config/autostart/x.desktop"), in("clone/new"), in("home/letter")}})
				if err != nil || len(r.Read) > 0 || len(r.Written) > 0 {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			}
		})
	}
}

// deploy creates a function as a stack does.
func (h *house) deploy(t *testing.T, name, runtime, entrypoint string, code map[string]string, variables map[string]any) {
	t.Helper()
	deployed := functions.New(functions.Config{Store: h.store, Dir: filepath.Join(h.data, "functions")})
	hash, err := deployed.Store(t.Context(), bytes.NewReader(zipped(t, code)))
	if err != nil {
		t.Fatal(err)
	}
	err = deployed.Create(t.Context(), caller.Place, functions.Resource{Type: functions.TypeFunction, ID: name, CodeHash: hash, Model: map[string]any{
		"Runtime": runtime, "Handler": entrypoint, "MemorySize": 3008, "Timeout": 60, "Environment": map[string]any{"Variables": variables},
	}})
	if err != nil {
		t.Fatal(err)
	}
}
