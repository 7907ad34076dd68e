package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/formwork-dev/formwork/internal/foundation/docsite"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/proving/contract"
)

type docsOptions struct {
	port                int
	noOpen, list, print bool
	write               string
}

func newDocs(c *app) *cobra.Command {
	var opts docsOptions
	cmd := &cobra.Command{
		Use:   "docs [PAGE]",
		Short: "Open the documentation of this version in a browser, offline",
		Long: `Serve the documentation of this version of cfn on this machine, and open it in a browser. It has a
tutorial, the guides, a page for each command, the rules and the clauses of the handler contract, and
a search. No network is needed.

PAGE is the name of a page (see --list), a command such as "stack drift", the ID of a rule or a clause
of the contract. Without a terminal, no browser is opened. Ctrl-C stops the server.

--print writes the Markdown of PAGE instead, --write writes all pages as files, which a browser can
open from the disk and any web server can publish.

Exit code: 0; 1 if the page does not exist, the port is in use or a file cannot be written.`,
		Example: `  cfn docs
  cfn docs tutorial
  cfn docs stack drift
  cfn docs lint/PR006 --no-open
  cfn docs --print serve | less
  cfn docs --write site`,
		Annotations: map[string]string{"log": "none"},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			site, err := newDocSite(cmd.Root(), c.Version)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return pageNames(site), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen := 0
			for _, set := range []bool{opts.list, opts.print, opts.write != ""} {
				if set {
					chosen++
				}
			}
			if chosen > 1 {
				return usagef("pass only one of --list, --print and --write")
			}
			if opts.port < 0 || opts.port > 65535 {
				return usagef("option --port: %d is not a port; choose from 0 to 65535", opts.port)
			}
			return c.docs(cmd.Context(), cmd.Root(), opts, args)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&opts.port, "port", 0, "the port `N` on 127.0.0.1 to listen on; 0 selects a free port")
	flags.BoolVar(&opts.noOpen, "no-open", false, "do not open a browser, only print the address")
	flags.BoolVar(&opts.list, "list", false, "list the pages and exit")
	flags.BoolVar(&opts.print, "print", false, "print the Markdown of PAGE and exit")
	flags.StringVar(&opts.write, "write", "", "write the pages as files into the folder `DIR` and exit")
	c.formatFlag(cmd, "text", "json")
	return cmd
}

func (c *app) docs(ctx context.Context, root *cobra.Command, opts docsOptions, args []string) error {
	site, err := newDocSite(root, c.Version)
	if err != nil {
		return err
	}
	page, anchor, err := findPage(site, args)
	if err != nil {
		return err
	}
	switch {
	case opts.list:
		return c.listPages(site.Pages())
	case opts.print && c.format == "json":
		return c.printJSON(struct {
			docsite.Page
			Markdown string `json:"markdown"`
		}{page, string(site.Markdown(page.Name))})
	case opts.print:
		c.printf("%s", site.Markdown(page.Name))
		return nil
	case opts.write != "":
		return c.writeDocs(ctx, site, opts.write)
	}
	return c.serveDocs(ctx, site, opts, page.Name+".html"+anchor)
}

// docsHandler serves the documentation, which is made for the first request.
func (c *app) docsHandler(root *cobra.Command) http.Handler {
	site := sync.OnceValues(func() (*docsite.Site, error) { return newDocSite(root, c.Version) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := site()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		s.ServeHTTP(w, r)
	})
}

// findPage finds the page that the arguments name, with the anchor in it for a rule or a clause.
func findPage(site *docsite.Site, args []string) (page docsite.Page, anchor string, err error) {
	name := strings.Join(args, " ")
	if name == "" {
		page, _ = site.Find("index")
		return page, "", nil
	}
	if found := allExplanations().find(name); len(found) > 0 {
		page, _ = site.Find(rulesDocument)
		return page, "#" + ruleAnchor(found[0].ID), nil
	}
	for _, clause := range contract.Clauses {
		if clause.ID == name {
			page, _ = site.Find(contractDocument)
			return page, "#" + clause.ID, nil
		}
	}
	dashed := strings.ReplaceAll(name, " ", "-")
	for _, candidate := range []string{name, dashed, "cfn-" + dashed} {
		if page, found := site.Find(candidate); found {
			return page, "", nil
		}
	}
	names := pageNames(site)
	err = fmt.Errorf("the documentation has no page %q", name)
	near := words.Nearest(dashed, names)
	var found []string
	for _, n := range names {
		if n == near || strings.Contains(n, strings.ToLower(dashed)) && len(found) < 4 {
			found = append(found, n)
		}
	}
	if near = words.Nearest("cfn-"+dashed, names); len(found) == 0 && near != "" {
		found = []string{near}
	}
	if len(found) == 0 {
		return page, "", withHint(err, "run cfn docs --list to list the pages")
	}
	return page, "", withHint(err, "did you mean %s?", strings.Join(found, " or "))
}

func pageNames(site *docsite.Site) []string {
	var names []string
	for _, p := range site.Pages() {
		names = append(names, p.Name)
	}
	return names
}

func (c *app) listPages(pages []docsite.Page) error {
	if c.format == "json" {
		return c.printJSON(struct {
			Pages []docsite.Page `json:"pages"`
		}{pages})
	}
	section := ""
	for _, p := range pages {
		if p.Section != section {
			if section != "" {
				c.printf("\n")
			}
			section = p.Section
			c.printf("%s\n", section)
		}
		c.printf("  %-38s  %s\n", p.Name, p.Title)
	}
	return nil
}

// writeDocs writes the site into a folder. Files that are already there and are not of the site
// stay.
func (c *app) writeDocs(ctx context.Context, site *docsite.Site, folder string) error {
	contents, err := site.Files(ctx)
	if err != nil {
		return err
	}
	for name, data := range contents {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := files.Put(c.Dir, filepath.Join(c.path(folder), name), data, 0o644); err != nil {
			return fmt.Errorf("write the documentation: %w", err)
		}
	}
	if c.format == "json" {
		return c.printJSON(struct {
			Folder string `json:"folder"`
			Files  int    `json:"files"`
		}{c.path(folder), len(contents)})
	}
	c.printf("Wrote %d files; open %s\n", len(contents), c.shown(filepath.Join(c.path(folder), "index.html")))
	return nil
}

// serveDocs serves the site on loopback until the context ends.
func (c *app) serveDocs(ctx context.Context, site *docsite.Site, opts docsOptions, start string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(opts.port)))
	if err != nil {
		return withHint(fmt.Errorf("serve the documentation: %w", err), "pass --port 0 to use a free port")
	}
	address := "http://" + listener.Addr().String() + "/" + strings.TrimPrefix(start, "index.html")
	if c.format == "json" {
		err = c.printJSON(struct {
			URL string `json:"url"`
		}{address})
		if err != nil {
			return errors.Join(err, listener.Close())
		}
	} else {
		c.printf("Documentation at %s\nPress Ctrl-C to stop.\n", address)
	}
	if !opts.noOpen && c.Terminal.Stdin && c.Terminal.Stdout {
		c.openBrowser(ctx, address)
	}
	server := &http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	// Pages are small: what a browser still reads is cut off.
	if err := server.Close(); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openBrowser opens an address where the system has a browser. The address is printed: an error
// needs no message.
func (c *app) openBrowser(ctx context.Context, address string) {
	command := browserCommand(c.Getenv, address)
	if command == nil {
		return
	}
	program, err := c.program(command[0])
	if err != nil {
		return
	}
	// The browser outlives this command.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, command[1:]...)
	cmd.Env, cmd.Dir = c.Environ, c.Dir
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // its exit code says nothing to the user
	}
}
