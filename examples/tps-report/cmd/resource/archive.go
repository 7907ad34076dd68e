package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// errNoReport says that no report has the number.
var errNoReport = errors.New("no such report")

// checksUntilSettled is how often the archive has to be asked until a change has settled.
const checksUntilSettled = 2

var reportNumber = regexp.MustCompile(`^tps-[a-z2-7]{12}$`)

// An archive keeps each report as a JSON file in one folder.
type archive struct{ dir string }

// openArchive finds the folder: REPORTS_DIR, or one of its own among the temporary files.
func openArchive() archive {
	if dir := os.Getenv("REPORTS_DIR"); dir != "" {
		return archive{dir}
	}
	return archive{filepath.Join(os.TempDir(), "initech-tps-reports")}
}

// A record is a report as it is in the archive. The review code is kept as a hash only.
type record struct {
	Report         Model             `json:"report"`
	ReviewCodeHash string            `json:"reviewCodeHash"`
	Labels         map[string]string `json:"labels"` // all tags, those of the stack included
	Shredding      bool              `json:"shredding"`
	ShreddedBy     string            `json:"shreddedBy,omitempty"` // token of the request
	ChecksLeft     int               `json:"checksLeft"`
}

// file stores a new report. One that is there already was filed by the same request, and
// stays as it is.
func (a archive) file(report Model, labels map[string]string) error {
	if _, err := a.get(*report.Id); !errors.Is(err, errNoReport) {
		return err
	}
	return a.refile(record{}, report, labels)
}

// refile replaces a report as a whole. A review code that was not given stays.
func (a archive) refile(filed record, report Model, labels map[string]string) error {
	filed.Labels, filed.ChecksLeft = labels, checksUntilSettled
	if report.ReviewCode != nil {
		sum := sha256.Sum256([]byte(*report.ReviewCode))
		filed.ReviewCodeHash = hex.EncodeToString(sum[:])
		report.ReviewCode = nil
	}
	filed.Report = report
	return a.put(filed)
}

// get returns a report that is filed; one that is being shredded counts as gone.
func (a archive) get(id string) (record, error) {
	filed, err := a.load(id)
	if err == nil && filed.Shredding {
		return record{}, errNoReport
	}
	return filed, err
}

// shred begins to remove a report. A request whose answer was lost is sent again, with the
// same token: it continues with what it began.
func (a archive) shred(id, token string) error {
	filed, err := a.load(id)
	switch {
	case err != nil:
		return err
	case filed.Shredding && filed.ShreddedBy == token:
		return nil
	case filed.Shredding:
		return errNoReport
	}
	filed.Shredding, filed.ShreddedBy, filed.ChecksLeft = true, token, checksUntilSettled
	return a.put(filed)
}

// settled reports whether the last change of a report is through. A report that was
// shredded is then gone: errNoReport.
func (a archive) settled(id string) (bool, error) {
	filed, err := a.load(id)
	switch {
	case err != nil:
		return false, err
	case filed.ChecksLeft > 0:
		filed.ChecksLeft--
		return false, a.put(filed)
	case filed.Shredding:
		if err := os.Remove(a.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("shred report: %w", err)
		}
		return false, errNoReport
	}
	return true, nil
}

// list gives the numbers of the reports behind a number, in order.
func (a archive) list(after string) ([]string, error) {
	entries, err := os.ReadDir(a.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list reports: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || id <= after {
			continue
		}
		if _, err := a.get(id); errors.Is(err, errNoReport) {
			continue // not a report, or shredded in the meantime
		} else if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

func (a archive) path(id string) string { return filepath.Join(a.dir, id+".json") }

func (a archive) load(id string) (record, error) {
	if !reportNumber.MatchString(id) {
		return record{}, errNoReport
	}
	text, err := os.ReadFile(a.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, errNoReport
	}
	if err != nil {
		return record{}, fmt.Errorf("read report: %w", err)
	}
	var filed record
	if err := json.Unmarshal(text, &filed); err != nil {
		return record{}, fmt.Errorf("read report %s: %w", id, err)
	}
	return filed, nil
}

// put replaces the file at once, so that nobody reads half of it.
func (a archive) put(filed record) error {
	text, err := json.MarshalIndent(filed, "", "  ")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	file, err := os.CreateTemp(a.dir, ".report-*")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // gone already if all went well
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.Rename(file.Name(), a.path(*filed.Report.Id)); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
