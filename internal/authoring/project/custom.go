package project

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

//go:embed all:custom
var customTemplates embed.FS

// customLanguages are the languages of [CustomResource] with the folders of their templates.
var customLanguages = []string{"go", "python", "node"}

// CustomLanguages are the languages in which handlers of custom resources can be started.
func CustomLanguages() []string { return customLanguages }

// A CustomFile is a file of a new handler of a custom resource.
type CustomFile struct {
	Name string
	Data []byte
}

// CustomNames derives the name of a type and of a function from that of a folder: Custom::DnsZone
// and dns-zone of "dns-zone".
func CustomNames(folder string) (typeName, function string) {
	const longest = 40
	var camel strings.Builder
	words := customWord.FindAllString(folder, -1)
	for _, word := range words {
		camel.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	if camel.Len() == 0 || camel.Len() > longest {
		return "Custom::Resource", "custom-resource"
	}
	return "Custom::" + camel.String(), strings.Join(words, "-")
}

var customWord = lazyregexp.New(`[A-Za-z0-9]+`)

// CustomResource returns the files of a handler in a language, with examples of properties and a
// template that uses it. The handler follows the protocol as it is.
func CustomResource(language, typeName, function string) ([]CustomFile, error) {
	fill := strings.NewReplacer("CUSTOM_TYPE", typeName, "FUNCTION_NAME", function, "MODULE_PATH", "example.com/"+strings.ToLower(function))
	var out []CustomFile
	for _, folder := range []string{language, "all"} {
		dir := path.Join("custom", folder)
		entries, err := fs.ReadDir(customTemplates, dir)
		if err != nil {
			return nil, fmt.Errorf("unknown language %q: choose from %s", language, strings.Join(customLanguages, ", "))
		}
		for _, entry := range entries {
			data, err := fs.ReadFile(customTemplates, path.Join(dir, entry.Name()))
			if err != nil {
				return nil, err
			}
			out = append(out, CustomFile{strings.TrimSuffix(entry.Name(), ".txt"), []byte(fill.Replace(string(data)))})
		}
	}
	return out, nil
}
