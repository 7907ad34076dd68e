package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/diag"
)

// An Input is a file of inputs/: a model, or a hook's targets, for contract tests.
type Input struct {
	Set    int    // the N of inputs_N_create.json
	Action string // CREATE, UPDATE, INVALID, CREATE_PRE_PROVISION, INVALID_CREATE_PRE_PROVISION …
	File   string // slash-separated, seen from the project
}

// inputName is the form of the names that count.
var inputName = regexp.MustCompile(`^inputs_([0-9]{1,6})([^0-9].*)?\.json$`)

// inputActions maps what a name contains to the action; the first that fits counts.
var inputActions = []struct{ part, action string }{
	{"invalid_pre_create", "INVALID_CREATE_PRE_PROVISION"},
	{"invalid_pre_update", "INVALID_UPDATE_PRE_PROVISION"},
	{"invalid_pre_delete", "INVALID_DELETE_PRE_PROVISION"},
	{"pre_create", "CREATE_PRE_PROVISION"},
	{"pre_update", "UPDATE_PRE_PROVISION"},
	{"pre_delete", "DELETE_PRE_PROVISION"},
	{"create", "CREATE"},
	{"update", "UPDATE"},
	{"invalid", "INVALID"},
}

// Inputs lists the files of inputs/ by set and action. A name that no action can be read
// from, a second file for the same set and action, and a set whose number leaves a gap
// are warnings: the official tool stops at a gap without a word.
func (p *Project) Inputs() ([]Input, diag.List, error) {
	entries, err := os.ReadDir(p.Path(InputsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list the inputs of contract tests: %w", err)
	}
	var inputs []Input
	var problems diag.List
	warn := func(id, name, message, hint string) {
		problems.Add(diag.Problem{ID: "project/" + id, Severity: diag.Warning, At: diag.Range{File: p.Name(name)}, Message: message, Hint: hint})
	}
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		name := InputsDir + "/" + entry.Name()
		match := inputName.FindStringSubmatch(entry.Name())
		i := slices.IndexFunc(inputActions, func(a struct{ part, action string }) bool {
			return match != nil && strings.Contains(match[2], a.part)
		})
		if i < 0 {
			warn("input-name", name, "the name says neither which set of inputs this is nor which action it is for", "inputs are called inputs_1_create.json, inputs_1_update.json, inputs_1_invalid.json, inputs_2_create.json …")
			continue
		}
		set, err := strconv.Atoi(match[1])
		if err != nil || set == 0 {
			warn("input-name", name, "the sets of inputs are numbered from 1", "")
			continue
		}
		inputs = append(inputs, Input{Set: set, Action: inputActions[i].action, File: name})
	}
	slices.SortStableFunc(inputs, func(a, b Input) int {
		return cmp.Or(cmp.Compare(a.Set, b.Set), strings.Compare(a.Action, b.Action), strings.Compare(a.File, b.File))
	})
	kept := inputs[:0]
	last := 0
	for _, input := range inputs {
		if n := len(kept); n > 0 && kept[n-1].Set == input.Set && kept[n-1].Action == input.Action {
			warn("input-twice", input.File, fmt.Sprintf("%s is for the same set and action, and is the one that is used", p.Name(kept[n-1].File)), "give it a set of its own")
			continue
		}
		if input.Set > last+1 {
			warn("input-gap", input.File, fmt.Sprintf("there is no set %d before set %d", last+1, input.Set), "number the sets without gaps: the official tool stops at the first one")
		}
		last = input.Set
		kept = append(kept, input)
	}
	return kept, problems, nil
}
