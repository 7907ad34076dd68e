package handler_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeShowsCodeThatRuns looks for each block of Go in the README among
// the sources that are compiled and tested.
func TestReadmeShowsCodeThatRuns(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, file := range []string{
		"example_test.go", "../handlertest/example_test.go",
		"../../examples/tps-report/cmd/main.go", "../../examples/kinesis-stream/cmd/resource/resource.go",
	} {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Skipf("skipped: %s is not beside this module", file)
		}
		sources = append(sources, squeeze(string(text)))
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 10 {
		t.Errorf("only %d blocks of Go", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		found := false
		for _, source := range sources {
			found = found || strings.Contains(source, squeeze(code))
		}
		if !found {
			t.Errorf("this code of the README is in no tested source:\n%s", code)
		}
	}
}

func squeeze(code string) string { return strings.Join(strings.Fields(code), " ") }
