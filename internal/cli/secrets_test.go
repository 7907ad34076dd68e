package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/foundation/cfnlog"
	"github.com/formwork-dev/formwork/internal/proving/contract"
	"github.com/formwork-dev/formwork/internal/running/invoke"
)

// What a command learns of secrets is hidden in its log, whoever writes there.
func TestRedactorsShareTheirSecretsWithTheLog(t *testing.T) {
	for name, open := range map[string]func(*app) (*invoke.Redactor, error){
		"invoke": func(c *app) (*invoke.Redactor, error) {
			return c.redactor(nil, nil, &invoke.Request{Action: invoke.Create})
		},
		"test": func(c *app) (*invoke.Redactor, error) { return c.testRedactor(&contract.Config{}), nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, project.SettingsFile), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c := &app{Env: &Env{Stderr: io.Discard, Dir: dir}}
			if err := c.start(&cobra.Command{Use: name}); err != nil {
				t.Fatal(err)
			}
			redactor, err := open(c)
			if err != nil {
				t.Fatal(err)
			}
			redactor.Learn(`PLANT"XQ1`)
			c.logger.Debug("somebody else", "error", `json: "PLANT\"XQ1" is wrong`)
			c.closeLog()
			text, err := os.ReadFile(filepath.Join(dir, cfnlog.Name))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "XQ1") || !strings.Contains(string(text), `json: "<hidden>" is wrong`) {
				t.Errorf("the log is\n%s", text)
			}
		})
	}
}
