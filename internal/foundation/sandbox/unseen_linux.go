package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/foundation/sandbox/inside"
)

// Unseen are sentences about what a process may need and does not see, with the option that makes it visible:
// what variables of the user name, and where links of its packages lead. They change nothing in its view.
func Unseen(p Process) []string {
	v := newPolicy(p.Settings, userHomes())
	seen, err := p.view(v)
	if err != nil {
		return nil // the start reports it
	}
	shows := func(path string) bool {
		return slices.ContainsFunc(append(inOrder(systemMounts()), seen.mounts...), func(m inside.Mount) bool {
			return through(m, m.Target) != "" && within(path, m.Source)
		})
	}
	var notes []string
	for _, u := range seen.unseen {
		notes = append(notes, fmt.Sprintf("%s needs %s, but %s; pass --mount %[2]s if handlers may read it", u.by, shown(u.path), u.reason))
	}
	for _, link := range slices.Concat(packageLinks(p.Dir, p.Runtime.Files), editable(p.Runtime.Roots)) {
		real := resolved(link.target)
		switch {
		case v.hidden(real, false) || v.above(real) || own(real): // no option is offered that a project would like
			notes = append(notes, fmt.Sprintf("%s leads to %s, which handlers do not see", shown(link.at), shown(link.target)))
		case !shows(real):
			notes = append(notes, fmt.Sprintf("%s leads to %s, which handlers do not see; pass --mount %s if they may read it", shown(link.at), shown(link.target), shown(link.mount)))
		}
	}
	const most = 5
	if more := len(notes) - most; more > 0 {
		notes = append(notes[:most], fmt.Sprintf("and %d more", more))
	}
	return notes
}

// shown is a path for a message: names in a project may have control characters.
func shown(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

// A packageLink leads to where packages are. What is to be mounted is one of both.
type packageLink struct{ at, target, mount string }

// mostPackages bounds the packages of a folder that are looked at.
const mostPackages = 10_000

// packageLinks are the links out of the folders node_modules of the code, and of others with this name.
func packageLinks(code string, others []string) (list []packageLink) {
	if code == "" {
		return nil
	}
	for _, modules := range append([]string{filepath.Join(code, "node_modules")}, others...) {
		if filepath.Base(modules) != "node_modules" {
			continue
		}
		if info, err := os.Lstat(modules); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			list = append(list, packageLink{modules, resolved(modules), modules})
			continue
		}
		list = append(list, linksOut(modules, code)...)
		scopes, _ := filepath.Glob(filepath.Join(files.Pattern(modules), "@*")) // the pattern is valid
		for _, scope := range scopes[:min(len(scopes), mostPackages)] {
			list = append(list, linksOut(scope, code)...)
		}
	}
	return list
}

// linksOut are the links of a folder that lead out of the code.
func linksOut(dir, code string) (list []packageLink) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = folder.Close() }()      // it was only read
	entries, _ := folder.ReadDir(mostPackages) // what was read is looked at
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); entry.Type()&fs.ModeSymlink != 0 {
			if real, err := filepath.EvalSymlinks(path); err == nil && !within(real, resolved(code)) {
				list = append(list, packageLink{path, real, real})
			}
		}
	}
	slices.SortFunc(list, func(a, b packageLink) int { return strings.Compare(a.at, b.at) })
	return list
}

// editable are the folders of packages that pip has installed in place in environments of Python.
func editable(roots []string) (list []packageLink) {
	for _, root := range roots {
		records, _ := filepath.Glob(filepath.Join(files.Pattern(root), "lib", "python3*", "site-packages", "*.dist-info", "direct_url.json")) // the pattern is valid
		for _, record := range records[:min(len(records), mostPackages)] {
			var direct struct {
				URL string `json:"url"`
				Dir struct {
					Editable bool `json:"editable"`
				} `json:"dir_info"`
			}
			text, err := readSmall(record)
			if err != nil || json.NewDecoder(bytes.NewReader(text)).Decode(&direct) != nil || !direct.Dir.Editable {
				continue
			}
			if at, err := url.Parse(direct.URL); err == nil && at.Scheme == "file" && filepath.IsAbs(at.Path) {
				name := strings.TrimSuffix(filepath.Base(filepath.Dir(record)), ".dist-info")
				list = append(list, packageLink{"the editable package " + name, at.Path, at.Path})
			}
		}
	}
	return list
}

// readSmall reads a small file of settings.
func readSmall(path string) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	const most = 64 << 10
	return io.ReadAll(io.LimitReader(file, most))
}
