-- PostgreSQL only: SQLite keeps blobs as files.

-- +goose Up
-- Blobs by the SHA-256 of their content.
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
