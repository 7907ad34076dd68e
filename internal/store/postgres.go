package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

func openPostgresPool(dsn string, conns int, sealer Sealer) (*bun.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("the URL of the database: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 10 * time.Second
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "formwork"
	}
	// bun writes the arguments into the text of its queries. Preparing each of those texts,
	// as pgx does by default, costs a round trip and is never of use again.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	db := sql.OpenDB(checking{stdlib.GetConnector(*config)})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return bun.NewDB(db, withSealer(pgdialect.New(), sealer)), nil
}
