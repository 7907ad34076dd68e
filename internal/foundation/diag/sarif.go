package diag

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"
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
		ID    string     `json:"id"`
		Short *sarifText `json:"shortDescription,omitempty"`
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
		StartColumn int `json:"startColumn,omitempty"`
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

func (p Printer) printSARIF(w io.Writer, l List) error {
	texts := sources{get: p.Source, known: map[string][]byte{}}
	var ids []string
	for _, p := range l {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "cfn", Rules: []sarifRule{}}}, ColumnKind: "utf16CodeUnits", Results: []sarifResult{}}
	for _, id := range ids {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, p.sarifRule(id))
	}
	for _, problem := range l {
		index, _ := slices.BinarySearch(ids, problem.ID)
		run.Results = append(run.Results, texts.result(problem, index))
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

func (p Printer) sarifRule(id string) sarifRule {
	out := sarifRule{ID: id}
	if p.Describe != nil {
		if text := p.Describe(id); text != "" {
			out.Short = &sarifText{text}
		}
	}
	return out
}

// sources are the texts of the files that problems name.
type sources struct {
	get   func(file string) []byte
	known map[string][]byte
}

func (s sources) text(file string) []byte {
	if s.get == nil {
		return nil
	}
	text, known := s.known[file]
	if !known {
		text = s.get(file)
		s.known[file] = text
	}
	return text
}

func (s sources) result(p Problem, rule int) sarifResult {
	message := p.Message
	if p.Hint != "" {
		message += ". " + p.Hint
	}
	level := map[Severity]string{Error: "error", Warning: "warning", Info: "note"}[p.Severity]
	out := sarifResult{RuleID: p.ID, RuleIndex: rule, Level: level, Message: sarifText{message}}
	if p.At.File != "" {
		at := s.place(p.At)
		if p.Pointer != "" {
			at.Logical = []sarifLogical{{FullyQualifiedName: p.Pointer, Kind: "value"}}
		}
		out.Locations = []sarifLocation{at}
	}
	for _, n := range p.Related {
		at := s.place(n.At)
		at.Message = &sarifText{n.Message}
		out.Related = append(out.Related, at)
	}
	return out
}

// place leaves the end out where it is not known, and the columns where they are not: the
// lines are then meant as a whole. byteOffset and byteLength are exact in any case.
func (s sources) place(at Range) sarifLocation {
	uri := url.URL{Path: filepath.ToSlash(at.File)}
	if filepath.IsAbs(at.File) {
		uri.Scheme = "file"
		uri.Path = "/" + strings.TrimPrefix(uri.Path, "/") // C:/ on Windows
	}
	out := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{uri.String()}}}
	if !at.Start.Known() {
		return out
	}
	region := &sarifRegion{
		StartLine: at.Start.Line, EndLine: at.End.Line,
		ByteOffset: at.Start.Offset, ByteLength: max(0, at.End.Offset-at.Start.Offset),
	}
	out.Physical.Region = region
	text := s.text(at.File)
	start, ok := utf16Column(text, at.Start)
	if !ok {
		return out
	}
	if !at.End.Known() {
		region.StartColumn = start
	} else if end, ok := utf16Column(text, at.End); ok {
		region.StartColumn, region.EndColumn = start, end
	}
	return out
}

// utf16Column counts the column of a position in units of UTF-16, from 1. It fails if the
// text is not the one that the position is of.
func utf16Column(text []byte, p Position) (int, bool) {
	begin := p.Offset - (p.Column - 1)
	if p.Column < 1 || begin < 0 || p.Offset > len(text) {
		return 0, false
	}
	if begin > 0 && text[begin-1] != '\n' && text[begin-1] != '\r' && string(text[:begin]) != byteOrderMark {
		return 0, false
	}
	column := 1
	for _, r := range string(text[begin:p.Offset]) {
		if r == '\n' {
			return 0, false
		}
		column += max(1, utf16.RuneLen(r))
	}
	return column, true
}

const byteOrderMark = "\xef\xbb\xbf"
