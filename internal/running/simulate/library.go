package simulate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// A Library reads the imported schemas in the data folder of a server, also while the server runs.
type Library struct{ db *store.Reader }

// OpenLibrary opens the schemas in a data folder. It returns nil if the folder has none.
func OpenLibrary(ctx context.Context, dir string) (*Library, error) {
	db, err := store.OpenReader(dir)
	if db == nil {
		return nil, err
	}
	l := &Library{db: db}
	if _, err := l.Schema(ctx, ""); err != nil {
		_ = db.Close() // it was only read
		return nil, err
	}
	return l, nil
}

// Schema returns the imported schema of a type, "" if there is none.
func (l *Library) Schema(ctx context.Context, typeName string) (string, error) {
	row := &publishedRow{}
	err := store.Get(ctx, l.db, row, "WHERE type_name = ?", typeName)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for the imported schema of %s: %w", typeName, err)
	}
	return row.Schema, nil
}

// Names returns the names of the imported types, sorted.
func (l *Library) Names(ctx context.Context) ([]string, error) {
	var names []string
	err := store.Query(ctx, l.db, &names, "SELECT type_name FROM published_types ORDER BY type_name")
	if err != nil {
		return nil, fmt.Errorf("list the imported schemas: %w", err)
	}
	return names, nil
}

// Close closes the database.
func (l *Library) Close() error { return l.db.Close() }

// Carried returns the schema of a type that needs no import, "" if there is none.
func Carried(typeName string) string {
	text, err := schemas.ReadFile("schemas/" + schema.Hyphenated(typeName) + ".json")
	if err != nil {
		return ""
	}
	return string(text)
}
