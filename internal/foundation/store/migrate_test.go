package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// postgresTables names the tables that SQLite does not need.
var postgresTables = []string{"blobs", "blob_chunks"}

// TestCataloguesAreEqual: what one database has, the other has, by the same names.
func TestCataloguesAreEqual(t *testing.T) {
	pg := catalogue(t, open(t, postgres(t)))
	lite := catalogue(t, open(t, Config{Dir: fixtures.TempDir(t)}))
	pg = slices.DeleteFunc(pg, func(line string) bool {
		return slices.ContainsFunc(postgresTables, func(table string) bool { return strings.HasPrefix(line, table+" ") })
	})
	// A key that SQLite counts up by itself is its row id, for which it lists no key.
	pg = slices.DeleteFunc(pg, func(line string) bool {
		return line == "stack_events primary key (seq)" || line == "sns_deliveries primary key (seq)"
	})
	if len(lite) < 20 {
		t.Fatalf("the catalogue has %d lines only: %q", len(lite), lite)
	}
	if diff := cmp.Diff(lite, pg); diff != "" {
		t.Errorf("the tables of the two databases differ (-sqlite +postgres):\n%s", diff)
	}
}

// catalogue lists, in lines that do not depend on the database, the columns, keys and
// indexes of every table of ours.
func catalogue(t *testing.T, s *Store) []string {
	t.Helper()
	query := catalogueSQLite
	if s.isPostgres() {
		query = cataloguePostgres
	}
	var lines []string
	if err := Query(t.Context(), s.Read(), &lines, query); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

const (
	catalogueSQLite = `
WITH tables AS (
	SELECT name FROM sqlite_master WHERE type = 'table'
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name <> 'formwork_migrations'
)
SELECT t.name || ' column ' || c.name || ' ' ||
	CASE upper(c.type) WHEN 'TEXT' THEN 'text' WHEN 'BIGINT' THEN 'integer' WHEN 'INTEGER' THEN 'integer'
		WHEN 'BOOLEAN' THEN 'boolean' WHEN 'BLOB' THEN 'bytes' ELSE c.type END ||
	CASE WHEN c."notnull" THEN ' not null' ELSE '' END ||
	CASE WHEN c.dflt_value IS NULL THEN '' ELSE ' default ' || lower(c.dflt_value) END
FROM tables t, pragma_table_info(t.name) c
UNION ALL
SELECT t.name || CASE i.origin WHEN 'pk' THEN ' primary key' WHEN 'u' THEN ' unique'
		ELSE CASE WHEN i."unique" THEN ' unique' ELSE '' END || ' index ' || i.name END ||
	' (' || (SELECT group_concat(k.name || CASE WHEN k.desc THEN ' desc' ELSE '' END, ', ' ORDER BY k.seqno)
		FROM pragma_index_xinfo(i.name) k WHERE k.key) || ')' ||
	CASE WHEN i.partial THEN ' where' ELSE '' END
FROM tables t, pragma_index_list(t.name) i
UNION ALL
SELECT t.name || ' foreign key (' || group_concat(f."from", ', ' ORDER BY f.seq) || ') to ' || f."table" ||
	' on delete ' || lower(f.on_delete)
FROM tables t, pragma_foreign_key_list(t.name) f GROUP BY t.name, f.id`

	cataloguePostgres = `
WITH tables AS (
	SELECT oid, relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
		AND relname <> 'formwork_migrations'
)
SELECT t.name || ' column ' || a.attname || ' ' ||
	CASE a.atttypid::regtype::text WHEN 'bigint' THEN 'integer' WHEN 'bytea' THEN 'bytes' WHEN 'integer' THEN 'four-byte integer'
		ELSE a.atttypid::regtype::text END ||
	CASE WHEN a.attnotnull THEN ' not null' ELSE '' END ||
	coalesce(' default ' || lower(regexp_replace(pg_get_expr(d.adbin, d.adrelid), '::[a-z ]+$', '')), '')
FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
UNION ALL
SELECT t.name || CASE WHEN i.indisprimary THEN ' primary key' WHEN c.oid IS NOT NULL THEN ' unique'
		ELSE CASE WHEN i.indisunique THEN ' unique' ELSE '' END || ' index ' || x.relname END ||
	' (' || (SELECT string_agg(a.attname || CASE WHEN i.indoption[k.n - 1] & 1 = 1 THEN ' desc' ELSE '' END, ', ' ORDER BY k.n)
		FROM unnest(i.indkey) WITH ORDINALITY k (attnum, n) JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum) || ')' ||
	CASE WHEN i.indpred IS NOT NULL THEN ' where' ELSE '' END
FROM tables t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_class x ON x.oid = i.indexrelid
	LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.contype = 'u'
UNION ALL
SELECT t.name || ' foreign key (' || (SELECT string_agg(a.attname, ', ' ORDER BY k.n)
		FROM unnest(c.conkey) WITH ORDINALITY k (attnum, n) JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum) ||
	') to ' || r.relname || ' on delete ' || CASE c.confdeltype WHEN 'c' THEN 'cascade' WHEN 'a' THEN 'no action'
		WHEN 'r' THEN 'restrict' WHEN 'n' THEN 'set null' ELSE 'set default' END
FROM tables t JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype = 'f' JOIN pg_class r ON r.oid = c.confrelid`
)

// unmigrated is a store that Open has not touched yet.
func unmigrated(t *testing.T, config Config) *Store {
	t.Helper()
	s := &Store{config: config.withDefaults()}
	s.logger = s.config.Logger
	var err error
	if s.isPostgres() {
		s.writer, err = openPostgresPool(config.DSN, 4)
		s.reader = s.writer
	} else {
		s.file = config.Dir + "/formwork.db"
		s.writer, s.reader, err = openSQLiteFile(s.file)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.release() })
	return s
}

func embedded() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err)
	}
	return files
}

// upTo has the files whose numbers are at most version.
func upTo(t *testing.T, files fs.FS, version int64) fs.FS {
	t.Helper()
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	some := fstest.MapFS{}
	for _, name := range names {
		if number, err := strconv.ParseInt(name[:5], 10, 64); err != nil {
			t.Fatal(err)
		} else if number > version {
			continue
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		some[name] = &fstest.MapFile{Data: data}
	}
	return some
}

// TestMigrationsStepByStep takes the real migrations one by one, as releases would, and
// ends where one leap ends.
func TestMigrationsStepByStep(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := unmigrated(t, config)
		known, err := versions(embedded())
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(known)
		for i, version := range known {
			if i > 0 && version == known[i-1] {
				t.Errorf("two migrations have the number %d", version)
			}
			if err := s.migrateTo(t.Context(), upTo(t, embedded(), version)); err != nil {
				t.Fatalf("to %d: %v", version, err)
			}
		}
		stepped := catalogue(t, s)
		if err := s.release(); err != nil {
			t.Fatal(err)
		}
		again := open(t, config) // nothing is left to do
		if diff := cmp.Diff(stepped, catalogue(t, again)); diff != "" {
			t.Error(diff)
		}
	})
}

// The story of a table over three releases.
var releases = fstest.MapFS{
	"00001_people.sql": {Data: []byte(`-- +goose Up
CREATE TABLE people (name TEXT NOT NULL PRIMARY KEY);
INSERT INTO people VALUES ('ada');
`)},
	"00002_age.sql": {Data: []byte(`-- +goose Up
ALTER TABLE people ADD COLUMN age BIGINT NOT NULL DEFAULT 36;
`)},
	"00003_split.sql": {Data: []byte(`-- +goose Up
CREATE TABLE ages (name TEXT NOT NULL PRIMARY KEY, age BIGINT NOT NULL);
INSERT INTO ages SELECT name, age FROM people;
ALTER TABLE people DROP COLUMN age;
`)},
}

func TestDataComesForward(t *testing.T) {
	for _, path := range [][]int64{{3}, {1, 3}, {2, 3}, {1, 2, 3}} {
		t.Run(fmt.Sprint(path), func(t *testing.T) {
			eachStore(t, func(t *testing.T, config Config) {
				s := unmigrated(t, config)
				for _, version := range path {
					if err := s.migrateTo(t.Context(), upTo(t, releases, version)); err != nil {
						t.Fatal(err)
					}
					name := fmt.Sprint("someone of version ", version)
					if _, err := Exec(t.Context(), s.on(s.writer), "INSERT INTO people (name) VALUES (?)", name); err != nil {
						t.Fatal(err)
					}
				}
				var age, people, ages int
				if err := s.writer.QueryRowContext(t.Context(), "SELECT age, (SELECT count(*) FROM people), (SELECT count(*) FROM ages) FROM ages WHERE name = 'ada'").
					Scan(&age, &people, &ages); err != nil {
					t.Fatal(err)
				}
				if age != 36 || people != 1+len(path) || ages != len(path) {
					t.Errorf("age %d, %d people, %d ages", age, people, ages)
				}
			})
		})
	}
}

func TestFailedMigrationLeavesTheLastVersion(t *testing.T) {
	eachStore(t, func(t *testing.T, config Config) {
		s := unmigrated(t, config)
		broken := fstest.MapFS{
			"00001_people.sql": releases["00001_people.sql"],
			"00002_age.sql":    {Data: []byte("-- +goose Up\nDELETE FROM people;\nALTER TABLE nobody ADD COLUMN age BIGINT;\n")},
		}
		err := s.migrateTo(t.Context(), broken)
		if err == nil || !strings.Contains(err.Error(), "00002_age.sql") {
			t.Errorf("got %v, want the name of the file", err)
		}
		var people int
		if err := Query(t.Context(), s.on(s.writer), &people, "SELECT count(*) FROM people"); err != nil || people != 1 {
			t.Errorf("%d people are left (%v)", people, err)
		}
		if err := s.migrateTo(t.Context(), upTo(t, releases, 3)); err != nil {
			t.Errorf("the repaired migration: %v", err)
		}
	})
}

func TestNewerStoreIsRefused(t *testing.T) {
	for _, table := range []struct{ name, insert string }{
		{"ours", "INSERT INTO formwork_migrations (version_id, is_applied) VALUES (99999, TRUE)"},
	} {
		t.Run(table.name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, config Config) {
				s := open(t, config)
				if _, err := Exec(t.Context(), s.on(s.writer), table.insert); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				_, err := Open(t.Context(), config)
				var newer *NewerError
				if !errors.As(err, &newer) {
					t.Fatalf("got %v, want a NewerError", err)
				}
				if newer.Store != 99999 || newer.Program <= 0 || newer.Program >= 99999 {
					t.Errorf("got %+v", newer)
				}
				for _, part := range []string{"99999", fmt.Sprint(newer.Program), "use the newer program"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the message lacks %q: %v", part, err)
					}
				}
			})
		})
	}
}

// TestNodesMigrateTogether opens one empty database from several sides at once.
func TestNodesMigrateTogether(t *testing.T) {
	config := postgres(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			s, err := Open(context.Background(), config)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}
