package schema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// optionalLedger lists what of the optional part of the suite is not offered, and why.
var optionalLedger = map[string]string{
	"draft7/optional/format/":          "formats are annotations",
	"draft7/optional/content.json":     "contentEncoding and contentMediaType are annotations",
	"draft7/optional/cross-draft.json": "only draft-07 is spoken",
}

// TestDraft07Suite runs the official tests of draft-07 through [Schema.Check]: the
// required part whole, the optional part but for optionalLedger.
func TestDraft07Suite(t *testing.T) {
	dir := fixtures.Dir(t, "json-schema-suite")
	required, optional := 0, 0
	failed := map[string]int{}
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
		name = filepath.ToSlash(name)
		for _, group := range root.Items {
			s := &Schema{Root: group.Get("schema")}
			s.refs = newReferences("", s.Root, Config{Remote: func(url string) ([]byte, error) {
				if local, ok := strings.CutPrefix(url, "http://localhost:1234/"); ok {
					return os.ReadFile(filepath.Join(dir, "remotes", local))
				}
				if url == "http://json-schema.org/draft-07/schema" {
					return os.ReadFile(filepath.Join(dir, "..", "meta-schema", "meta-schema.json"))
				}
				return nil, errors.New("not served")
			}})
			for _, test := range group.Get("tests").Items {
				if strings.Contains(name, "optional/") {
					optional++
				} else {
					required++
				}
				id := name + ": " + group.Get("description").Text + ": " + test.Get("description").Text
				valid := len(s.Check(test.Get("data").Any(), CheckConfig{Node: s.Root})) == 0
				if valid == test.Get("valid").Bool {
					continue
				}
				listed := false
				for prefix := range optionalLedger {
					if strings.HasPrefix(name, prefix) {
						listed = true
						failed[prefix]++
					}
				}
				if !listed {
					t.Errorf("%s: valid is %v", id, valid)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if required != 927 {
		t.Errorf("the required part has %d tests, 927 were expected", required)
	}
	for prefix, reason := range optionalLedger {
		if failed[prefix] == 0 {
			t.Errorf("%s is listed (%s), and nothing of it fails", prefix, reason)
		}
	}
	t.Logf("%d required and %d optional tests; not offered: %v", required, optional, failed)
}
