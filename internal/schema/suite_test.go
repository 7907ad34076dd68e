package schema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/document"
	"github.com/formwork-dev/formwork/internal/fixtures"
)

// TestDraft07Suite runs the official tests of draft-07 through [Schema.Check].
func TestDraft07Suite(t *testing.T) {
	dir := fixtures.Dir(t, "json-schema-suite")
	ran, failed := 0, 0
	err := filepath.WalkDir(filepath.Join(dir, "tests"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		root, problems := document.ParseJSON(path, data, document.Limits{})
		if err := problems.Err(); err != nil {
			return err
		}
		name, _ := filepath.Rel(filepath.Join(dir, "tests"), path)
		for _, group := range root.Items {
			s := &Schema{Root: group.Get("schema")}
			s.refs = newReferences("", s.Root, Config{Remote: func(url string) ([]byte, error) {
				if local, ok := strings.CutPrefix(url, "http://localhost:1234/"); ok {
					return os.ReadFile(filepath.Join(dir, "remotes", local))
				}
				return nil, errors.New("not served")
			}})
			for _, test := range group.Get("tests").Items {
				ran++
				id := name + ": " + group.Get("description").Text + ": " + test.Get("description").Text
				valid := len(s.Check(test.Get("data").Any(), CheckConfig{Node: s.Root})) == 0
				if valid != test.Get("valid").Bool {
					failed++
					t.Logf("FAILS %s", id)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d fail", failed, ran)
}
