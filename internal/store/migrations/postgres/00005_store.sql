-- +goose Up

-- What has to be looked at, and when. due is NULL while a worker runs and nothing new is
-- waiting; node names the running node; queued is when River was last given the row.
CREATE TABLE wakeups (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    due BIGINT,
    queued BIGINT NOT NULL DEFAULT 0,
    node TEXT NOT NULL DEFAULT '',
    attempts BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT wakeups_pkey PRIMARY KEY (kind, id)
);
CREATE INDEX wakeups_due ON wakeups (node, queued, due);

-- The processes that share the database; seen is by the database's clock.
CREATE TABLE nodes (
    id TEXT NOT NULL,
    seen BIGINT NOT NULL,
    CONSTRAINT nodes_pkey PRIMARY KEY (id)
);

-- Blobs by the SHA-256 of their content. Only in PostgreSQL: SQLite keeps them as files.
CREATE TABLE blobs (
    hash TEXT NOT NULL,
    size BIGINT NOT NULL,
    touched BIGINT NOT NULL,
    CONSTRAINT blobs_pkey PRIMARY KEY (hash)
);

CREATE TABLE blob_chunks (
    hash TEXT NOT NULL REFERENCES blobs (hash) ON DELETE CASCADE,
    part BIGINT NOT NULL,
    data BYTEA NOT NULL,
    CONSTRAINT blob_chunks_pkey PRIMARY KEY (hash, part)
);
ALTER TABLE blob_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
