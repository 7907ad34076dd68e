package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// An expectation is one entry of an index of fixtures: what the official tools say.
type expectation struct {
	Kind, Verdict, Reason, Instance string
	Warnings                        map[string][]string
	// The fixtures of the Java library have two verdicts.
	Java, JavaReason string
	CLIWarnings      map[string][]string `json:"cliWarnings"`
	Remote           map[string]string
	// The outcomes of the AWS schemas.
	CLI string `json:"cli"`
}

// warningIDs are our names for the warnings of the official tool.
var warningIDs = map[string]string{
	"lowercase-property":                         "schema/lowercase-property",
	"insertion-order-missing":                    "schema/insertion-order",
	"keyword-type-mismatch":                      "schema/keyword-type",
	"hardcoded-partition":                        "schema/arn-partition",
	"regex-not-compilable":                       "schema/pattern",
	"long-enum":                                  "schema/long-enum",
	"non-ascii":                                  "schema/non-ascii",
	"list-api-option":                            "schema/list-option",
	"read-only-overlap":                          "schema/read-only-overlap",
	"wildcard-permission":                        "schema/wildcard-permission",
	"additional-properties-missing":              "schema/additional-properties",
	"primary-identifier-not-read-or-create-only": "schema/identifier-mutable",
	"tagging-missing":                            "schema/tagging-missing",
}

// warningLedger lists where our warnings differ from the official tool's, and why.
var warningLedger = map[string]string{
	"aws/aws-s3-storagelensgroup.json keyword-type-mismatch":             "uniqueItems on an object with properties, where the official tool does not look",
	"aws/aws-sagemaker-modelpackage.json keyword-type-mismatch":          insertionOrder,
	"third-party/mongodb/mongodb-atlas-teams.json keyword-type-mismatch": insertionOrder,

	"edge/identifier_missing_property.json primary-identifier-not-read-or-create-only":                   unresolved,
	"cli-accept/test-schema-validtypeconfiguration.json primary-identifier-not-read-or-create-only":      unresolved,
	"cli-accept/valid_multityped_property.json primary-identifier-not-read-or-create-only":               unresolved,
	"java-library/minimal-schema.json primary-identifier-not-read-or-create-only":                        unresolved,
	"java-library/minimal-schema-with-typeconfiguration.json primary-identifier-not-read-or-create-only": unresolved,
	"java-library/singleton-test-schema.json primary-identifier-not-read-or-create-only":                 unresolved,
	"java-library/test-schema-with-empty-write-only.json primary-identifier-not-read-or-create-only":     unresolved,
}

const (
	unresolved     = "the identifier names no property, which schema/identifier-unresolved says instead"
	insertionOrder = "insertionOrder on what is no array, which the official tool does not report"
)

func readIndex(t *testing.T, file string) map[string]expectation {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var index map[string]expectation
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	return index
}

// load loads a fixture; remote documents come from files beside it.
func load(t *testing.T, dir, name string, want expectation) (*schema.Schema, diag.List) {
	t.Helper()
	file := filepath.Join(dir, name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cfg schema.Config
	if want.Remote != nil {
		cfg.Remote = func(url string) ([]byte, error) {
			beside, ok := want.Remote[url]
			if !ok {
				return nil, errors.New("not among the fixtures")
			}
			return os.ReadFile(filepath.Join(dir, beside))
		}
	}
	return schema.Load(name, data, cfg)
}

func TestVerdicts(t *testing.T) {
	counts := map[string]int{}
	for _, folder := range []string{"cli-accept", "cli-reject", "cli-hooks", "edge", "java-library", "third-party", "aws"} {
		dir := fixtures.Dir(t, "schemas/"+folder)
		indexFile := filepath.Join(dir, "index.json")
		if folder == "aws" {
			indexFile = filepath.Join(dir, "..", "aws-cli-outcome.json")
		}
		index := readIndex(t, indexFile)
		for _, name := range slices.Sorted(maps.Keys(index)) {
			want := index[name]
			if want.Kind == "hook-configuration-data" || want.Java+want.Verdict+want.CLI == "" {
				continue // no schema, or one that others refer to
			}
			if folder == "aws" {
				want.Kind, want.Verdict = "resource", want.CLI
			}
			counts[folder]++
			t.Run(folder+"/"+name, func(t *testing.T) { judge(t, dir, folder+"/"+name, name, want) })
		}
	}
	t.Logf("judged %v", counts)
}

func judge(t *testing.T, dir, id, name string, want expectation) {
	s, problems := load(t, dir, name, want)
	verdict := "accept"
	if problems.HasErrors() {
		verdict = "reject"
	}
	wanted := want.Verdict
	if want.Java != "" {
		wanted, want.Warnings, want.Reason = want.Java, want.CLIWarnings, want.JavaReason
	}
	if want.Reason == "too-large" {
		wanted = "accept" // larger schemas are published: here it is a warning
	}
	if wanted != "either" && verdict != wanted {
		t.Errorf("verdict %s, want %s (%s): %v", verdict, wanted, want.Reason, problems.Err())
	}
	if kinds := map[string]schema.Kind{"hook": schema.Hook, "module": schema.Module, "resource": schema.Resource, "hook-configuration-schema": schema.TypeConfiguration}; s != nil && verdict == "accept" && s.Kind != kinds[want.Kind] {
		t.Errorf("taken for a %s, it is a %s", s.Kind, want.Kind)
	}
	if wanted != "accept" || want.Reason == "too-large" || strings.HasPrefix(want.Reason, "meta") {
		return
	}
	if want.Java != "" && want.CLI == "" {
		return // the official tool was not asked
	}
	got := map[string][]string{}
	for _, p := range problems {
		got[p.ID] = append(got[p.ID], named(s, p))
	}
	for theirs, ours := range warningIDs {
		names, wants := want.Warnings[theirs]
		_, warns := got[ours]
		found := slices.Compact(slices.Sorted(slices.Values(got[ours])))
		names = slices.Sorted(slices.Values(splitNames(names)))
		same := wants == warns && (len(names) == 0 || slices.Equal(names, found))
		reason, listed := warningLedger[id+" "+theirs]
		switch {
		case !same && !listed:
			t.Errorf("%s: the official tool warns %v of %q, here %v of %q", theirs, wants, names, warns, found)
		case same && listed:
			t.Errorf("%s: listed as different (%s), and is not", theirs, reason)
		}
	}
}

// splitNames takes "a,b" and "Name: x,y on array" apart.
func splitNames(names []string) []string {
	var out []string
	for _, name := range names {
		subject, rest, found := strings.Cut(name, ": ")
		keywords, kind, isKeywords := strings.Cut(rest, " on ")
		switch {
		case found && isKeywords:
			for _, keyword := range strings.Split(keywords, ",") {
				out = append(out, subject+": "+keyword+" on "+kind)
			}
		case !strings.ContainsAny(name, "\\[({^"):
			out = append(out, strings.Split(name, ",")...)
		default:
			out = append(out, name)
		}
	}
	return out
}

// named is what a problem is about in the words of the indexes.
func named(s *schema.Schema, p diag.Problem) string {
	pointer, _ := document.ParsePointer(p.Pointer)
	last := ""
	if len(pointer) > 0 {
		last = pointer[len(pointer)-1]
	}
	switch p.ID {
	case "schema/lowercase-property", "schema/insertion-order":
		return last
	case "schema/list-option":
		return strings.ToLower(last)
	case "schema/keyword-type":
		words := strings.Fields(p.Message)
		return fmt.Sprintf("%s: %s on %s", last, words[0], words[len(words)-1])
	}
	if v := s.Root.Lookup(pointer); v != nil && v.Kind == document.String {
		return v.Text
	}
	return last
}
