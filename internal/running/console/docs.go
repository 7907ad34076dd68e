package console

import (
	"cmp"
	"net/http"
)

// helpPages are the pages of the documentation, by the section of the console.
var helpPages = map[string]string{
	"types": "registering", "registrations": "registering", "stacks": "stacks", "requests": "serve", "tests": "testing", "contract": "contract",
}

// HelpPages are the names of the pages that the console links to.
func HelpPages() []string {
	out := []string{"console"}
	for _, name := range helpPages {
		out = append(out, name)
	}
	return out
}

// help is the page of the documentation for a section, "" if the server has no documentation.
func (c *Console) help(section string) string {
	if c.config.Docs == nil {
		return ""
	}
	return Prefix + "/docs/" + cmp.Or(helpPages[section], "console") + ".html"
}

// sendDocs serves the documentation. The server has checked the name of the host; the documentation by itself is for
// loopback only.
func (c *Console) sendDocs(w http.ResponseWriter, r *http.Request) {
	if c.config.Docs == nil {
		http.NotFound(w, r)
		return
	}
	r = r.Clone(r.Context())
	r.Host = "localhost"
	http.StripPrefix(Prefix+"/docs", c.config.Docs).ServeHTTP(w, r)
}
