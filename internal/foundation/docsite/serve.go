package docsite

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// policy allows only the parts of the site.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Site) loadAssets() {
	s.assets, s.versions = map[string][]byte{}, map[string]string{}
	for _, name := range []string{"site.css", "site.js", "icon.svg"} {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic("docsite: " + err.Error()) // the program carries it
		}
		s.assets[name] = data
	}
	for file, data := range s.config.Files {
		s.assets[path.Base(file)] = data
	}
	for name, data := range s.assets {
		s.versions[name] = version(data)
	}
}

// mediaTypes are those of the files of a site: the types that the system knows may be wrong.
var mediaTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png"}

func version(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// asset is the address of a file, which changes with its content.
func (s *Site) asset(name string) string { return name + "?v=" + s.versions[name] }

// ServeHTTP answers requests for pages and their files, from browsers on this machine only: a
// name that is not of loopback may be that of a foreign page.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	if !loopback(r.Host) {
		http.Error(w, "open the documentation as http://127.0.0.1 or http://localhost", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are supported", http.StatusMethodNotAllowed)
		return
	}
	s.rendered()
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if data, found := s.assets[name]; found {
		header.Set("Content-Type", mediaTypes[path.Ext(name)])
		_, _ = w.Write(data) // the client hung up
		return
	}
	p, status := s.byName[strings.TrimSuffix(name, ".html")], http.StatusOK
	if p == nil {
		status = http.StatusNotFound
		p = &Page{Title: "Page not found", body: "<h1>Page not found</h1>\n<p>This page does not exist. Search for it, or choose one from the list.</p>"}
	}
	data, err := s.page(r.Context(), p)
	if err != nil {
		http.Error(w, "cannot render the page", http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client hung up
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}
