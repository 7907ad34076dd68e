package local_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/local"
)

// A knownFailure is a scenario of the recordings that does not match.
type knownFailure struct {
	Failure string `json:"failure"` // a part of what the first difference says
	Reason  string `json:"reason"`
}

// TestRecordings replays conversations that were recorded with AWS. Those that do not match
// are in testdata/recordings-ledger.json, each with the reason; one that is listed there and
// matches is a failure as well.
//
// Topics and queues are simulated from AWS's published schemas; everything else that the
// recordings use, this server has.
func TestRecordings(t *testing.T) {
	recordings := fixtures.Dir(t, "recordings")
	schemas := fixtures.Dir(t, "schemas/aws")
	replay := filepath.Join(filepath.Dir(filepath.Dir(recordings)), "tools", "replay_recordings.py")
	program(t, "python3", "-c", "import boto3")
	program(t, "python3", replay, "--help")
	t.Parallel()
	p := place{url: startWith(t, local.Config{Simulate: []string{"AWS::SNS::Topic", "AWS::SQS::Queue"}}), account: "123456789012", dir: t.TempDir()}
	p.importTypes(t, filepath.Join(schemas, "aws-sns-topic.json"), filepath.Join(schemas, "aws-sqs-queue.json"))

	var ledger map[string]knownFailure
	if err := json.Unmarshal(readFile(t, filepath.Join("testdata", "recordings-ledger.json")), &ledger); err != nil {
		t.Fatal(err)
	}
	results := p.replay(t, replay, recordings)
	if len(results) == 0 {
		t.Fatal("nothing was replayed")
	}
	for _, id := range slices.Sorted(maps.Keys(results)) {
		known, listed := ledger[id]
		switch failure := results[id]; {
		case failure == "" && listed:
			t.Errorf("%s matches: remove it from the ledger", id)
		case failure != "" && !listed:
			t.Errorf("%s does not match: %s", id, failure)
		case failure != "" && (!strings.Contains(failure, known.Failure) || known.Failure == "" || known.Reason == ""):
			t.Errorf("%s fails for another reason than %q: %s", id, known.Failure, failure)
		}
	}
	for id := range ledger {
		if _, replayed := results[id]; !replayed {
			t.Errorf("%s is in the ledger and was not replayed", id)
		}
	}
	t.Logf("%d of %d scenarios match", len(results)-len(ledger), len(results))
}

// importTypes puts published schemas on the shelf of the server.
func (p place) importTypes(t testing.TB, files ...string) {
	t.Helper()
	var schemas []map[string]string
	for _, file := range files {
		schemas = append(schemas, map[string]string{"Name": filepath.Base(file), "Schema": string(readFile(t, file))})
	}
	p.formwork(t, "us-east-1", "ImportTypes", map[string]any{"Schemas": schemas})
}

// formwork calls an operation that AWS does not have.
func (p place) formwork(t testing.TB, region, operation string, in any) []byte {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "Formwork."+operation)
	key := aws.Credentials{AccessKeyID: p.account, SecretAccessKey: "x"}
	if err := v4.NewSigner().SignHTTP(t.Context(), key, request, "UNSIGNED-PAYLOAD", "formwork", region, time.Now()); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s %v", operation, response.Status, answer, err)
	}
	return answer
}

// replay returns how each scenario ended: "" for one that matches, else its first
// difference.
func (p place) replay(t *testing.T, replay, recordings string) map[string]string {
	t.Helper()
	report := filepath.Join(p.dir, "report.json")
	out, err := p.command(t, "python3", replay, "--endpoint", p.url, "--json", report, "--timeout", "60", "--quiet", recordings).CombinedOutput()
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
				First struct {
					Path   string
					Actual any
				}
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
				results[scenario.ID] = step.Op + ": " + step.First.Path + ": " + string(text)
				break
			}
		}
	}
	return results
}
