package simulate

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up a Shelf. Store must be set.
type Config struct {
	Store *store.Store

	// Patterns name the types that are simulated: "AWS::SQS::Queue", "AWS::*". None means
	// that no type is.
	Patterns []string

	// Served are the schemas of the types that this server has the services for, by name. They are
	// simulated only if a pattern is their full name.
	Served map[string]string

	Now func() time.Time // nil is time.Now
}

// A Shelf stores published schemas, and the simulated resources of their types.
type Shelf struct {
	config Config

	mu     sync.Mutex
	parsed map[string]*entry  // by hash of the document
	takers map[string]reading // by the beginning of the names of a service's types, "AWS::EC2::"
}

// maxParsed bounds the schemas that are kept parsed.
const maxParsed = 256

// An entry is a parsed schema and when it was last used.
type entry struct {
	schema *schema.Schema
	used   time.Time
}

// New returns a Shelf in a store.
func New(config Config) *Shelf {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Shelf{config: config, parsed: map[string]*entry{}, takers: map[string]reading{}}
}

// A publishedRow is an imported schema. It belongs to no account.
type publishedRow struct {
	store.Row `db:"published_types AS p"`

	TypeName   string     `db:"type_name,pk"`
	Hash       string     `db:"hash"`
	ImportedAt store.Time `db:"imported_at"`
	Schema     string     `db:"schema"`
}

// A Document is a schema to import.
type Document struct {
	Name string // of its file, for messages
	Text []byte
}

// Import stores the schemas of resource types on the shelf, in one transaction, and returns
// the names of the types. An existing type gets the new schema. If a document cannot be used,
// the problems contain the reason and nothing is imported.
func (s *Shelf) Import(ctx context.Context, documents []Document) ([]string, diag.List, error) {
	var problems diag.List
	var names []string
	rows := make([]publishedRow, 0, len(documents))
	for _, d := range documents {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		parsed, found := schema.Load(d.Name, d.Text, schema.Config{Kind: schema.Resource})
		if problem := Unusable(parsed, found); problem != nil {
			problems.Add(*problem)
			continue
		}
		rows = append(rows, publishedRow{TypeName: parsed.TypeName.Value, Hash: hash(d.Text), ImportedAt: store.At(s.config.Now()), Schema: string(d.Text)})
		names = append(names, parsed.TypeName.Value)
	}
	if len(problems) > 0 || len(rows) == 0 {
		return nil, problems, nil
	}
	err := s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return store.Upsert(ctx, tx, store.Pointers(rows), "hash", "imported_at", "schema")
	})
	if err != nil {
		return nil, nil, err
	}
	return names, nil, nil
}

// Unusable returns why a schema cannot be simulated, nil if it can. Published schemas have
// errors that do not matter here, and tools that include them remove descriptions; so only the
// minimum is required: a type name, properties and a primary identifier.
func Unusable(parsed *schema.Schema, problems diag.List) *diag.Problem {
	if parsed != nil && parsed.TypeName.Value != "" && len(parsed.Properties()) > 0 && len(parsed.PrimaryIdentifier) > 0 {
		return nil
	}
	for _, problem := range problems {
		if problem.Severity == diag.Error {
			return &problem
		}
	}
	return &diag.Problem{Severity: diag.Error, ID: "schema/missing-key", Message: "the schema has no properties or no primary identifier"}
}

// A Published is an imported type, or one that this server has the service for.
type Published struct {
	TypeName string
	Schema   string
	Imported time.Time // zero for one that was not imported: its schema is one of the server
	By       Provisioned
}

// Provisioned says how the resources of a type are made here.
type Provisioned int

// How types are provisioned.
const (
	Unprovided Provisioned = iota // by nothing
	ByServices                    // by a service of this server
	BySimulation
)

// Find returns a type on the shelf, nil if it does not exist.
func (s *Shelf) Find(ctx context.Context, typeName string) (*Published, error) {
	row, err := s.row(ctx, typeName)
	switch served := s.config.Served[typeName]; {
	case err != nil:
		return nil, err
	case row == nil && served != "":
		return &Published{TypeName: typeName, Schema: served, By: ByServices}, nil
	case row == nil:
		return nil, nil
	}
	return &Published{TypeName: row.TypeName, Schema: row.Schema, Imported: row.ImportedAt.Time, By: s.provisioned(typeName)}, nil
}

// List returns up to limit types whose names are greater than after and begin with prefix, in
// the order of their names.
func (s *Shelf) List(ctx context.Context, prefix, after string, limit int) ([]Published, error) {
	var rows []publishedRow
	var where store.Where
	where.And("type_name > ?", after)
	if prefix != "" { // names are ASCII: the prefix, and everything up to what follows it
		where.And("type_name >= ? AND type_name < ?", prefix, prefix+"\x7f")
	}
	if err := store.List(ctx, s.config.Store.Read(), &rows, where.Clause()+" ORDER BY type_name LIMIT ?", append(where.Args, limit)...); err != nil {
		return nil, fmt.Errorf("list published types: %w", err)
	}
	for _, name := range infrastructure {
		imported := slices.ContainsFunc(rows, func(row publishedRow) bool { return row.TypeName == name })
		if row := s.carried(name); row != nil && !imported && name > after && strings.HasPrefix(name, prefix) {
			rows = append(rows, *row)
		}
	}
	names := map[string]bool{}
	out := make([]Published, len(rows))
	for i, row := range rows {
		names[row.TypeName] = true
		out[i] = Published{TypeName: row.TypeName, Schema: row.Schema, Imported: row.ImportedAt.Time, By: s.provisioned(row.TypeName)}
	}
	for name, text := range s.config.Served {
		if !names[name] && name > after && strings.HasPrefix(name, prefix) {
			out = append(out, Published{TypeName: name, Schema: text, By: ByServices})
		}
	}
	slices.SortFunc(out, func(a, b Published) int { return strings.Compare(a.TypeName, b.TypeName) })
	return out[:min(len(out), limit)], nil
}

// Type implements operation.Types for the simulated types.
func (s *Shelf) Type(ctx context.Context, _ awswire.Caller, name, _ string) (*operation.Type, error) {
	if !s.simulates(name) {
		hint := "register a type of that name with cfn submit, or import its schema with " + importCommand(name) + " and start cfn serve with --simulate " + name
		return nil, &operation.UnknownTypeError{Name: name, Hint: hint}
	}
	row, err := s.row(ctx, name)
	if err != nil {
		return nil, err
	}
	if row == nil {
		hint := "import the schema of the type with " + importCommand(name) + ", so that it can be simulated"
		return nil, &operation.UnknownTypeError{Name: name, Hint: hint}
	}
	parsed, err := s.load(row)
	if err != nil {
		return nil, err
	}
	return &operation.Type{Name: name, Schema: parsed, Provider: s, Simulated: true}, nil
}

// Nearest returns the simulated type of the same service whose name is nearest to an unknown one, "" if none is near.
func (s *Shelf) Nearest(ctx context.Context, name string) (string, error) {
	var names []string
	service := name[:strings.LastIndex(name, ":")+1]
	err := store.Query(ctx, s.config.Store.Read(), &names, "SELECT type_name FROM published_types WHERE type_name >= ? AND type_name < ?",
		service, service+"\x7f")
	if err != nil {
		return "", fmt.Errorf("list published types: %w", err)
	}
	var known []string // without the service, which would make all of its types near
	for _, found := range names {
		if s.simulates(found) {
			known = append(known, found[len(service):])
		}
	}
	if near := words.Nearest(name[len(service):], known); near != "" {
		return service + near, nil
	}
	return "", nil
}

// importCommand is the command that imports the schema of a type.
func importCommand(name string) string {
	if strings.HasPrefix(name, "AWS::") {
		return "cfn types import aws"
	}
	return "cfn types import"
}

// Imported returns the imported schema of a type, nil if there is none. The type may be one that is not
// simulated.
func (s *Shelf) Imported(ctx context.Context, typeName string) (*schema.Schema, error) {
	row, err := s.row(ctx, typeName)
	if err != nil || row == nil || row.ImportedAt.IsZero() {
		return nil, err
	}
	return s.load(row)
}

// A Coverage is how many types with schemas a pattern matches.
type Coverage struct {
	Pattern  string
	Types    int
	Imported time.Time // when the newest schema was imported; zero for none
}

// Coverage returns what the patterns match.
func (s *Shelf) Coverage(ctx context.Context) ([]Coverage, error) {
	var rows []publishedRow
	if err := store.Query(ctx, s.config.Store.Read(), &rows, "SELECT type_name, imported_at FROM published_types"); err != nil {
		return nil, fmt.Errorf("list published types: %w", err)
	}
	for _, name := range infrastructure {
		if !slices.ContainsFunc(rows, func(row publishedRow) bool { return row.TypeName == name }) {
			rows = append(rows, publishedRow{TypeName: name})
		}
	}
	out := make([]Coverage, len(s.config.Patterns))
	for i, pattern := range s.config.Patterns {
		out[i].Pattern = pattern
		for _, row := range rows {
			if !schema.MatchTarget(pattern, row.TypeName) || pattern != row.TypeName && row.ImportedAt.IsZero() {
				continue // the carried schemas alone do not make a pattern of use
			}
			out[i].Types++
			if row.ImportedAt.After(out[i].Imported) {
				out[i].Imported = row.ImportedAt.Time
			}
		}
	}
	return out, nil
}

// Preferred reports whether a type is simulated although this server may have its service: a
// pattern is its full name.
func (s *Shelf) Preferred(typeName string) bool { return slices.Contains(s.config.Patterns, typeName) }

func (s *Shelf) provisioned(typeName string) Provisioned {
	switch {
	case s.config.Served[typeName] != "" && !s.Preferred(typeName):
		return ByServices
	case s.simulates(typeName):
		return BySimulation
	}
	return Unprovided
}

// simulates reports whether a type is named by the patterns.
func (s *Shelf) simulates(name string) bool {
	for _, pattern := range s.config.Patterns {
		if schema.MatchTarget(pattern, name) {
			return true
		}
	}
	return false
}

func (s *Shelf) row(ctx context.Context, typeName string) (*publishedRow, error) {
	row := &publishedRow{}
	err := store.Get(ctx, s.config.Store.Read(), row, "WHERE type_name = ?", typeName)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s.carried(typeName), nil
	case err != nil:
		return nil, fmt.Errorf("look for the published type %s: %w", typeName, err)
	}
	return row, nil
}

// load parses the schema of a row, or returns it as it was parsed before.
func (s *Shelf) load(row *publishedRow) (*schema.Schema, error) {
	now := s.config.Now()
	s.mu.Lock()
	found := s.parsed[row.Hash]
	if found != nil {
		found.used = now
	}
	s.mu.Unlock()
	if found != nil {
		return found.schema, nil
	}
	parsed, problems := schema.Load(row.TypeName, []byte(row.Schema), schema.Config{Kind: schema.Resource})
	if parsed == nil {
		return nil, fmt.Errorf("read the published schema of %s: %w", row.TypeName, problems.Err())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parsed) >= maxParsed {
		oldest := ""
		for key, e := range s.parsed {
			if oldest == "" || e.used.Before(s.parsed[oldest].used) {
				oldest = key
			}
		}
		delete(s.parsed, oldest)
	}
	if len(parsed.Handlers) == 0 {
		parsed.Handlers = allHandlers()
	}
	s.parsed[row.Hash] = &entry{parsed, now}
	return parsed, nil
}

// allHandlers are those of a type whose published schema has none: AWS leaves them out of the schemas
// of older types, and tools that include schemas remove them.
func allHandlers() (all []schema.Handler) {
	for _, action := range []string{"create", "read", "update", "delete", "list"} {
		all = append(all, schema.Handler{Action: action, TimeoutInMinutes: 120})
	}
	return all
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
