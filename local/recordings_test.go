package local_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/fixtures"
)

// TestRecordings replays conversations about extensions that were recorded with AWS. Those
// that do not match are in testdata/recordings-ledger.json, each with the reason; one that
// is listed there and matches is a failure as well.
func TestRecordings(t *testing.T) {
	recordings := fixtures.Dir(t, "recordings")
	replay := filepath.Join(filepath.Dir(filepath.Dir(recordings)), "tools", "replay_recordings.py")
	program(t, "python3", "-c", "import boto3")
	program(t, "python3", replay, "--help")
	t.Parallel()
	p := place{url: startLocal(t), account: "123456789012", dir: t.TempDir()}

	var ledger map[string]string
	if err := json.Unmarshal(readFile(t, filepath.Join("testdata", "recordings-ledger.json")), &ledger); err != nil {
		t.Fatal(err)
	}
	results := p.replay(t, replay, recordings)
	if len(results) == 0 {
		t.Fatal("nothing was replayed")
	}
	for _, id := range slices.Sorted(maps.Keys(results)) {
		reason, listed := ledger[id]
		switch failure := results[id]; {
		case failure == "" && listed:
			t.Errorf("%s matches: take it out of the ledger", id)
		case failure != "" && !listed:
			t.Errorf("%s does not match: %s", id, failure)
		case failure != "" && !strings.Contains(failure, reason):
			t.Errorf("%s fails for another reason than %q: %s", id, reason, failure)
		}
	}
	for id := range ledger {
		if _, replayed := results[id]; !replayed {
			t.Errorf("%s is in the ledger, and was not replayed", id)
		}
	}
}

// replay returns how each scenario ended: "" for one that matches, else its first
// difference.
func (p place) replay(t *testing.T, replay, recordings string) map[string]string {
	t.Helper()
	report := filepath.Join(p.dir, "report.json")
	out, err := p.command(t, "python3", replay, "--endpoint", p.url, "--group", "extensions", "--json", report, "--timeout", "120", "--quiet", recordings).CombinedOutput()
	if _, missing := os.Stat(report); missing != nil {
		t.Fatalf("replay: %v\n%s", err, out) // 1 is the exit code of differences
	}
	var found struct {
		Results []struct {
			ID      string
			OK      bool
			Results []struct {
				Op    string
				OK    bool
				First struct{ Actual any }
			}
		}
	}
	if err := json.Unmarshal(readFile(t, report), &found); err != nil {
		t.Fatal(err)
	}
	results := map[string]string{}
	for _, scenario := range found.Results {
		results[scenario.ID] = ""
		for _, step := range scenario.Results {
			if !step.OK && !scenario.OK {
				text, err := json.Marshal(step.First.Actual)
				if err != nil {
					t.Fatal(err)
				}
				results[scenario.ID] = step.Op + ": " + string(text)
				break
			}
		}
	}
	return results
}
