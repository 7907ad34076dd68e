package diag

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
)

// The parts of SARIF 2.1.0 (OASIS, 27 March 2020) that a list of problems needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifText     `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
		ByteOffset  int `json:"byteOffset"`
		ByteLength  int `json:"byteLength"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

func printSARIF(w io.Writer, l List) error {
	var ids []string
	for _, p := range l {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "cfn", Rules: []sarifRule{}}}, ColumnKind: "utf16CodeUnits", Results: []sarifResult{}}
	for _, id := range ids {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id})
	}
	levels := map[Severity]string{Error: "error", Warning: "warning", Info: "note"}
	for _, p := range l {
		message := p.Message
		if p.Hint != "" {
			message += ". " + p.Hint
		}
		index, _ := slices.BinarySearch(ids, p.ID)
		result := sarifResult{RuleID: p.ID, RuleIndex: index, Level: levels[p.Severity], Message: sarifText{message}}
		if p.At.File != "" {
			at := sarifPlace(p.At)
			if p.Pointer != "" {
				at.Logical = []sarifLogical{{FullyQualifiedName: p.Pointer, Kind: "member"}}
			}
			result.Locations = []sarifLocation{at}
		}
		for _, n := range p.Related {
			at := sarifPlace(n.At)
			at.Message = &sarifText{n.Message}
			result.Related = append(result.Related, at)
		}
		run.Results = append(run.Results, result)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// sarifPlace leaves the end out where it is not known. Columns are those of the list,
// which count bytes; byteOffset is exact wherever they differ.
func sarifPlace(at Range) sarifLocation {
	uri := url.URL{Path: filepath.ToSlash(at.File)}
	out := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{uri.String()}}}
	if at.Start.Known() {
		out.Physical.Region = &sarifRegion{
			StartLine: at.Start.Line, StartColumn: at.Start.Column,
			EndLine: at.End.Line, EndColumn: at.End.Column,
			ByteOffset: at.Start.Offset, ByteLength: max(0, at.End.Offset-at.Start.Offset),
		}
	}
	return out
}
