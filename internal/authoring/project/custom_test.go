package project

import (
	"bytes"
	"strings"
	"testing"
)

func TestCustomNames(t *testing.T) {
	for folder, want := range map[string][2]string{
		"dns-zone":                 {"Custom::DnsZone", "dns-zone"},
		"My Handler (2)":           {"Custom::MyHandler2", "My-Handler-2"},
		"/":                        {"Custom::Resource", "custom-resource"},
		"é":                        {"Custom::Resource", "custom-resource"},
		strings.Repeat("long", 20): {"Custom::Resource", "custom-resource"},
	} {
		if typeName, function := CustomNames(folder); typeName != want[0] || function != want[1] {
			t.Errorf("%q: %s, %s", folder, typeName, function)
		}
	}
}

// TestCustomResource leaves no name of a template unfilled.
func TestCustomResource(t *testing.T) {
	for _, language := range CustomLanguages() {
		files, err := CustomResource(language, "Custom::Mine", "mine")
		if err != nil || len(files) < 5 {
			t.Fatalf("%s: %d files, %v", language, len(files), err)
		}
		for _, file := range files {
			for _, name := range []string{"CUSTOM_TYPE", "FUNCTION_NAME", "MODULE_PATH"} {
				if bytes.Contains(file.Data, []byte(name)) || strings.HasSuffix(file.Name, ".txt") {
					t.Errorf("%s: %s has %s", language, file.Name, name)
				}
			}
		}
	}
	if _, err := CustomResource("../go", "", ""); err == nil {
		t.Error("a folder is taken for a language")
	}
}
