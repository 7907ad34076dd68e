package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/local"
)

// sandboxOptions are the options of all commands that start handlers.
type sandboxOptions struct {
	mode, network string // "" if it is not given
	mounts, reach []string
}

func (o *sandboxOptions) flags(flags *pflag.FlagSet) {
	flags.Var(&enum{&o.mode, wordsOf(sandbox.Modes())}, "sandbox", "whether handlers run in a sandbox, `MODE` on (where the system allows it, the default), off or required")
	flags.Var(&enum{&o.network, wordsOf(sandbox.Networks())}, "network", "what handlers in a sandbox reach, `MODE` open (other machines), named (what --reach and --endpoint name) or host (all that listens on this machine, too)")
	flags.StringArrayVar(&o.reach, "reach", nil, "let handlers reach the address `HOST:PORT`, such as that of a database on this machine (may be repeated)")
	flags.StringArrayVar(&o.mounts, "mount", nil, "let handlers read the file or folder `PATH[:rw]` outside of their code, or write to it; hidden files, such as ~/.aws, only if it names them (may be repeated)")
}

// settings are what the options say, and where they say nothing, the settings of the project in a
// folder; "" is none.
func (o *sandboxOptions) settings(c *app, dir string) (sandbox.Settings, error) {
	s := sandbox.Settings{Mode: sandbox.On, Network: sandbox.Open, Reach: o.reach}
	if dir != "" {
		if err := c.projectSandbox(dir, &s); err != nil {
			return s, err
		}
	}
	if o.mode != "" {
		s.Mode = sandbox.Mode(o.mode)
	}
	if o.network != "" {
		s.Network = sandbox.Network(o.network)
	}
	for _, address := range o.reach {
		if _, _, err := lambda.ParseReach(address); err != nil {
			return s, usagef("option --reach: %v", err)
		}
	}
	for _, mount := range o.mounts {
		grant, err := sandbox.ParseGrant(mount, c.Dir)
		if err != nil {
			return s, usagef("option --mount: %v", err)
		}
		s.Grants = append(s.Grants, grant)
	}
	if kept, err := c.dataFolder(""); err == nil { // without one there is nothing to hide
		s.Hide = append(s.Hide, kept)
	}
	if err := s.Mode.Err(); err != nil {
		return s, withHint(err, "pass --sandbox=on to run handlers without one here")
	}
	return s, nil
}

// serve sets the options of a local CloudFormation.
func (o *sandboxOptions) serve(c *app, dir string, config *local.Config) error {
	s, err := o.settings(c, dir)
	config.Sandbox, config.Network, config.Reach = string(s.Mode), o.network, o.reach
	for _, grant := range s.Grants {
		mount := grant.Path + ":ro"
		if grant.Write {
			mount = grant.Path + ":rw"
		}
		config.Mounts = append(config.Mounts, mount)
	}
	return err
}

// projectSandbox reads the settings of a project.
func (c *app) projectSandbox(dir string, s *sandbox.Settings) error {
	path := lint.FindSettings(dir)
	if path == "" {
		return nil
	}
	text, err := readSchemaFile(path)
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	settings, problems := lint.ParseSettings(c.shown(path), text)
	for _, p := range problems {
		if p.Pointer == "/sandbox" || p.Pointer == "/mounts" || settings == nil || filepath.Dir(p.Pointer) == "/mounts" {
			return &diag.Invalid{Problems: diag.List{p}}
		}
	}
	mode, mounts := settings.Sandbox()
	if mode != "" {
		s.Mode = mode
	}
	for _, mount := range mounts {
		grant, err := sandbox.ParseGrant(mount, filepath.Dir(path))
		if err == nil {
			rel, relErr := filepath.Rel(filepath.Dir(path), grant.Path)
			if err = relErr; err == nil {
				err = files.LinkOut(filepath.Dir(path), filepath.ToSlash(rel))
			}
		}
		if err != nil {
			return fmt.Errorf("%s: mount %s: %w", c.shown(path), mount, err)
		}
		s.Grants = append(s.Grants, grant)
	}
	return nil
}

// warnUnseen prints what a function may need and does not see.
func (c *app) warnUnseen(config *lambda.Config) {
	for _, note := range config.Unseen() {
		c.notef("warning: %s\n", note)
	}
}

// note prints what no sandbox keeps handlers from, if there is none and the command line does not
// say so itself.
func (o *sandboxOptions) note(c *app, s sandbox.Settings) {
	if missing := s.Mode.Missing(); missing != "" && o.mode != string(sandbox.Off) {
		c.notef("warning: %s\n", missing)
	}
	if missing := s.MissingNetwork(); missing != "" {
		c.notef("warning: %s\n", missing)
	}
}
