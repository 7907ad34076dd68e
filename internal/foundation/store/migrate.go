package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// Each package that keeps rows owns a file of its name, in the SQL of PostgreSQL. A file that was
// released never changes; what comes later is a new file with a higher number. There is no way back.
//
//go:embed migrations
var migrations embed.FS

// asSQLite turns what the files have into the SQL of SQLite, whose texts are in the order of their bytes.
var asSQLite = strings.NewReplacer(
	` COLLATE "C"`, "",
	"BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
)

// onlyPostgres begins a file that does nothing on SQLite.
const onlyPostgres = "-- PostgreSQL only"

// sqliteFiles has the migrations for SQLite.
type sqliteFiles struct{ fs.FS }

// Open implements [fs.FS].
func (f sqliteFiles) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(string(text), onlyPostgres) {
		text = []byte("-- +goose Up\n")
	}
	return sqliteFile{file, strings.NewReader(asSQLite.Replace(string(text)))}, nil
}

// A sqliteFile is a file with another text.
type sqliteFile struct {
	fs.File
	text io.Reader
}

// Read implements [io.Reader].
func (f sqliteFile) Read(into []byte) (int, error) { return f.text.Read(into) }

// versionTable lists the migrations that a database has seen.
const versionTable = "formwork_migrations"

// migrationLock is the number of PostgreSQL's advisory lock that lets one node migrate
// while the others wait: "formwork" as ASCII.
const migrationLock = 0x666f726d776f726b

// migrate brings the database forward to the newest version that is embedded. What each
// file does is one transaction, so a crash leaves a version that is whole.
func (s *Store) migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return s.migrateTo(ctx, files)
}

func (s *Store) migrateTo(ctx context.Context, files fs.FS) error {
	if current, err := s.isCurrent(ctx, files); err != nil || current {
		return err
	}
	if !s.isPostgres() {
		return s.migrateForward(ctx, sqliteFiles{files})
	}
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { // the lock ends with its connection at the latest
		_, _ = Exec(context.WithoutCancel(ctx), s.on(conn), "SELECT pg_advisory_unlock(?)", int64(migrationLock))
		_ = conn.Close()
	}()
	if _, err := Exec(ctx, s.on(conn), "SELECT pg_advisory_lock(?)", int64(migrationLock)); err != nil {
		return fmt.Errorf("wait for another node's migration: %w", err)
	}
	if current, err := s.isCurrent(ctx, files); err != nil || current {
		return err
	}
	return s.migrateForward(ctx, files)
}

// isCurrent compares the versions that were applied with those that are known. It is all
// that opening an up-to-date store costs.
func (s *Store) isCurrent(ctx context.Context, files fs.FS) (bool, error) {
	known, err := versions(files)
	if err != nil {
		return false, err
	}
	applied, err := s.applied(ctx)
	if err != nil {
		return false, err
	}
	if err := s.refuseNewer(applied, known); err != nil {
		return false, err
	}
	return len(applied) == len(known), nil
}

func (s *Store) refuseNewer(applied, known []int64) error {
	for _, version := range applied {
		if slices.Contains(known, version) {
			continue
		}
		where := s.file
		if s.isPostgres() {
			where = "the PostgreSQL database"
		}
		return &NewerError{Where: where, Store: slices.Max(applied), Program: slices.Max(known)}
	}
	return nil
}

// applied lists the versions of the database, none for one that is empty.
func (s *Store) applied(ctx context.Context) ([]int64, error) {
	exists := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if s.isPostgres() {
		exists = "SELECT count(*) FROM pg_class WHERE oid = to_regclass(?)"
	}
	var count int
	if err := Query(ctx, s.on(s.writer), &count, exists, versionTable); err != nil || count == 0 {
		return nil, err
	}
	var versions []int64
	if err := Query(ctx, s.on(s.writer), &versions, "SELECT version_id FROM "+versionTable+" WHERE version_id > 0"); err != nil {
		return nil, fmt.Errorf("read the versions of %s: %w", versionTable, err)
	}
	return versions, nil
}

// versions lists the numbers at the start of the file names.
func versions(files fs.FS) ([]int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	var versions []int64
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version <= 0 {
			return nil, fmt.Errorf("the migration %s does not start with a number", name)
		}
		versions = append(versions, version)
	}
	if len(versions) == 0 {
		return nil, fmt.Errorf("no migration is embedded")
	}
	return versions, nil
}

func (s *Store) migrateForward(ctx context.Context, files fs.FS) error {
	dialect := goose.DialectSQLite3
	if s.isPostgres() {
		dialect = goose.DialectPostgres
	}
	provider, err := goose.NewProvider(dialect, s.writer, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		var partial *goose.PartialError
		if errors.As(err, &partial) && partial.Failed != nil && partial.Failed.Source != nil {
			return fmt.Errorf("migrate by %s: %w", partial.Failed.Source.Path, partial.Err)
		}
		return fmt.Errorf("migrate: %w", err)
	}
	for _, result := range results {
		s.logger.DebugContext(ctx, "store migrated", "file", result.Source.Path, "duration", result.Duration)
	}
	return nil
}
