package main

import (
	"embed"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The extension for Visual Studio Code, which has no dependencies: its files are the package.
//
//go:embed vscode
var extensionFiles embed.FS

// A manifest is the part of the package.json of the extension that its package repeats.
type manifest struct {
	Name        string   `json:"name"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description"`
	Publisher   string   `json:"publisher"`
	Categories  []string `json:"categories"`
	Keywords    []string `json:"keywords"`
	Engines     struct {
		VSCode string `json:"vscode"`
	} `json:"engines"`
}

// writeExtension writes the package of the extension for Visual Studio Code into dir, and returns the name of its file. The
// same version has the same bytes each time. root is the folder of the repository.
func writeExtension(dir, root, version string) (name string, err error) {
	m := semantic.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("the version %q has no form for Visual Studio Code: expected 1.2.3 or 1.2.3-rc.1", version)
	}
	entries, of, err := extensionEntries(m[1])
	if err != nil {
		return "", err
	}
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return "", err
	}
	entries = append(entries, entry{name: "extension/LICENSE.txt", content: license},
		entry{name: "extension.vsixmanifest", content: vsixManifest(of, m[1], m[2] != "")},
		entry{name: "[Content_Types].xml", content: contentTypes(entries)})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name = fmt.Sprintf("%s-vscode-%s.vsix", of.Name, m[1])
	return name, create(filepath.Join(dir, name), func(w io.Writer) error { return writeZip(w, entries) })
}

// extensionEntries are the files of the extension, with its version.
func extensionEntries(version string) (entries []entry, of manifest, err error) {
	files, err := extensionFiles.ReadDir("vscode")
	if err != nil {
		return nil, of, err
	}
	for _, file := range files {
		content, err := extensionFiles.ReadFile(path.Join("vscode", file.Name()))
		if err != nil {
			return nil, of, err
		}
		if file.Name() == "package.json" {
			content = []byte(strings.Replace(string(content), `"version": "0.0.0"`, fmt.Sprintf(`"version": %q`, version), 1))
			if err := json.Unmarshal(content, &of); err != nil {
				return nil, of, fmt.Errorf("vscode/package.json: %w", err)
			}
		}
		entries = append(entries, entry{name: "extension/" + file.Name(), content: content})
	}
	return entries, of, nil
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder does not fail
	return b.String()
}

// vsixManifest is what Visual Studio Code reads first in a package.
func vsixManifest(of manifest, version string, preview bool) []byte {
	property := func(id, value string) string {
		return fmt.Sprintf("      <Property Id=\"Microsoft.VisualStudio.%s\" Value=\"%s\"/>\n", id, escaped(value))
	}
	properties := property("Code.Engine", of.Engines.VSCode) + property("Code.ExtensionKind", "workspace") + property("Services.Links.Source", homepage) + property("Services.GitHubFlavoredMarkdown", "true")
	if preview {
		properties += property("Code.PreRelease", "true")
	}
	return []byte(fmt.Sprintf(`<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="%s" Version="%s" Publisher="%s"/>
    <DisplayName>%s</DisplayName>
    <Description xml:space="preserve">%s</Description>
    <Tags>%s</Tags>
    <Categories>%s</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <License>extension/LICENSE.txt</License>
    <Properties>
%s    </Properties>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`, escaped(of.Name), version, escaped(of.Publisher), escaped(of.DisplayName), escaped(of.Description),
		escaped(strings.Join(of.Keywords, ",")), escaped(strings.Join(of.Categories, ",")), properties))
}

// contentTypes names the type of each file by its extension, as packages of this format must.
func contentTypes(entries []entry) []byte {
	types := map[string]string{".vsixmanifest": "text/xml", ".txt": "text/plain", ".json": "application/json", ".js": "application/javascript", ".md": "text/markdown"}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?>` + "\n" + `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">`)
	for _, extension := range sortedExtensions(entries) {
		fmt.Fprintf(&b, `<Default Extension="%s" ContentType="%s"/>`, extension, types[extension])
	}
	return []byte(b.String() + "</Types>\n")
}

func sortedExtensions(entries []entry) []string {
	out := []string{".txt", ".vsixmanifest"} // of the files that the package adds
	for _, e := range entries {
		out = append(out, path.Ext(e.name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
