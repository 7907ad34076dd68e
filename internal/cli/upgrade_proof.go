package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/lint"
	"github.com/formwork-dev/formwork/internal/authoring/project"
	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/files"
	"github.com/formwork-dev/formwork/internal/proving/contract"
)

// proofFile has what the last upgrade test of a project found, for cfn diff.
const proofFile = ".formwork/upgrade.json"

// maxProof bounds proofFile, in bytes.
const maxProof = 1 << 20

// A proof is what an upgrade test found.
type proof struct {
	From      string           `json:"from"`
	Old       string           `json:"old"` // hashes of the schemas
	New       string           `json:"new"`
	Simulated bool             `json:"simulated"`
	Passed    int              `json:"passed"`
	Failed    int              `json:"failed"`
	Findings  []upgradeFinding `json:"findings"`
}

// An upgradeFinding is a test that failed, or whose failure is accepted.
type upgradeFinding struct {
	Test      string               `json:"test"`
	Message   string               `json:"message"`
	Announced []contract.Announced `json:"announced,omitempty"`
}

func schemaHash(s *schema.Schema) string {
	sum := sha256.Sum256(s.Root.AppendJSON(nil))
	return hex.EncodeToString(sum[:])
}

func newProof(old *oldVersion, s *schema.Schema, simulated bool, summary *contract.Summary) *proof {
	out := &proof{From: old.name, Old: schemaHash(old.schema), New: schemaHash(s), Simulated: simulated, Passed: summary.Passed, Failed: summary.Failed + summary.Errors, Findings: []upgradeFinding{}}
	seen := map[string]bool{}
	for _, r := range summary.Results {
		message := r.Message
		if r.Outcome == contract.Passed {
			message = r.Note
		}
		if r.Outcome == contract.Skipped || r.Outcome == contract.Errored || message == "" || seen[r.ID()+message] {
			continue
		}
		seen[r.ID()+message] = true
		message, _, _ = strings.Cut(message, contract.AnnouncedBy)
		out.Findings = append(out.Findings, upgradeFinding{r.ID(), message, r.Announced})
	}
	return out
}

// writeProof keeps what an upgrade test found in the project. Only its owner may read it.
func (c *app) writeProof(p *project.Project, found *proof) error {
	data, err := json.MarshalIndent(found, "", "  ")
	if err == nil {
		err = files.Write(p.Dir, filepath.FromSlash(proofFile), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("save the result for cfn diff: %w", err)
	}
	return nil
}

// readProof is what the last upgrade test of a folder found, nil if it was not between two schemas.
func (c *app) readProof(dir string, old, new *schema.Schema) (*proof, error) {
	data, err := document.ReadFile(filepath.Join(dir, filepath.FromSlash(proofFile)), maxProof)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the result of the last upgrade test: %w", err)
	}
	found := &proof{}
	if json.Unmarshal(data, found) != nil || found.Old != schemaHash(old) || found.New != schemaHash(new) {
		return nil, nil
	}
	return found, nil
}

// of returns the findings that a change announces.
func (p *proof) of(change lint.Change) (out []upgradeFinding) {
	if p == nil {
		return nil
	}
	for _, f := range p.Findings {
		for _, a := range f.Announced {
			if a.ID == change.ID && a.Pointer == change.Pointer {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// text is what the test found that no change announces, and its sums.
func (p *proof) text() string {
	if p == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range p.Findings {
		if len(f.Announced) == 0 {
			fmt.Fprintf(&b, "not in the schema: %s: %s\n", f.Test, f.Message)
		}
	}
	how := ""
	if p.Simulated {
		how = ", simulated from the schemas"
	}
	fmt.Fprintf(&b, "The upgrade test from %s%s: %d passed, %d failed.\n", p.From, how, p.Passed, p.Failed)
	return b.String()
}
