-- The services around CloudFormation: S3, STS, SSM parameters, Secrets Manager, CloudWatch Logs.
-- Times are microseconds since 1970, UTC. Columns called sealed are encrypted.

-- +goose Up
CREATE TABLE s3_buckets (
    name        TEXT COLLATE "C" NOT NULL,
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    versioning  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (name)
);
CREATE INDEX s3_buckets_account ON s3_buckets (account);

-- What clients set and read back: policy, encryption, tagging …, as it was sent.
CREATE TABLE s3_documents (
    bucket      TEXT COLLATE "C" NOT NULL,
    kind        TEXT NOT NULL,
    body        TEXT NOT NULL,
    updated_at  BIGINT NOT NULL,
    PRIMARY KEY (bucket, kind)
);

-- One row for each version of an object. An object of a bucket without versioning has the
-- version "null". sequence grows with each version of a key; the newest one is latest.
CREATE TABLE s3_objects (
    bucket      TEXT COLLATE "C" NOT NULL,
    object_key  TEXT COLLATE "C" NOT NULL,
    version     TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    latest      BOOLEAN NOT NULL,
    marker      BOOLEAN NOT NULL,
    size        BIGINT NOT NULL,
    etag        TEXT NOT NULL,
    hash        TEXT NOT NULL,
    segments    BIGINT NOT NULL,
    upload      TEXT NOT NULL,
    attributes  TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (bucket, object_key, version)
);
CREATE INDEX s3_objects_hash ON s3_objects (hash);
CREATE INDEX s3_objects_upload ON s3_objects (upload);
CREATE UNIQUE INDEX s3_objects_sequence ON s3_objects (bucket, object_key, sequence);

-- The parts that a multipart object consists of, shared by its copies.
CREATE TABLE s3_segments (
    upload      TEXT NOT NULL,
    number      BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    hash        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    PRIMARY KEY (upload, number)
);
CREATE INDEX s3_segments_hash ON s3_segments (hash);

CREATE TABLE s3_uploads (
    id          TEXT NOT NULL,
    bucket      TEXT COLLATE "C" NOT NULL,
    object_key  TEXT COLLATE "C" NOT NULL,
    attributes  TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE INDEX s3_uploads_object ON s3_uploads (bucket, object_key, id);

CREATE TABLE s3_parts (
    upload      TEXT NOT NULL,
    number      BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    etag        TEXT NOT NULL,
    hash        TEXT NOT NULL,
    checksum    TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (upload, number)
);
CREATE INDEX s3_parts_hash ON s3_parts (hash);

-- The key that this store's secrets are sealed with, by its fingerprint.
CREATE TABLE sealing_keys (
    id          TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE sts_sessions (
    access_key  TEXT NOT NULL,
    account     TEXT NOT NULL,
    arn         TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    sealed      TEXT NOT NULL,
    expires_at  BIGINT NOT NULL,
    PRIMARY KEY (access_key)
);
CREATE INDEX sts_sessions_expiry ON sts_sessions (expires_at);

CREATE TABLE ssm_parameters (
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL,
    tags        TEXT NOT NULL,
    PRIMARY KEY (account, region, name)
);

CREATE TABLE ssm_versions (
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL,
    type        TEXT NOT NULL,
    value       TEXT NOT NULL,
    sealed      BOOLEAN NOT NULL,
    labels      TEXT NOT NULL,
    description TEXT,
    pattern     TEXT,
    key_id      TEXT,
    tier        TEXT NOT NULL,
    data_type   TEXT NOT NULL,
    modified_by TEXT NOT NULL,
    modified_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, name, version)
);

CREATE TABLE sm_secrets (
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    arn         TEXT NOT NULL,
    description TEXT,
    key_id      TEXT,
    policy      TEXT,
    tags        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    changed_at  BIGINT NOT NULL,
    deleted_at  BIGINT,
    purge_at    BIGINT,
    row_version BIGINT NOT NULL,
    PRIMARY KEY (account, region, name)
);
CREATE UNIQUE INDEX sm_secrets_arn ON sm_secrets (arn);
CREATE INDEX sm_secrets_purge ON sm_secrets (purge_at);

CREATE TABLE sm_versions (
    arn         TEXT NOT NULL,
    version     TEXT NOT NULL,
    stages      TEXT NOT NULL,
    form        TEXT NOT NULL,
    sealed      TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (arn, version)
);

CREATE TABLE logs_groups (
    id          TEXT NOT NULL,
    account     TEXT NOT NULL,
    region      TEXT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    class       TEXT NOT NULL,
    key_id      TEXT,
    tags        TEXT NOT NULL,
    retention   BIGINT NOT NULL,
    sequence    BIGINT NOT NULL,
    events      BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX logs_groups_name ON logs_groups (account, region, name);

CREATE TABLE logs_streams (
    group_id    TEXT NOT NULL,
    name        TEXT COLLATE "C" NOT NULL,
    first_event BIGINT,
    last_event  BIGINT,
    ingested_at BIGINT,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (group_id, name)
);

CREATE TABLE logs_events (
    group_id    TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    stream      TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    ingested_at BIGINT NOT NULL,
    size        BIGINT NOT NULL,
    message     TEXT NOT NULL,
    PRIMARY KEY (group_id, sequence)
);
CREATE INDEX logs_events_time ON logs_events (group_id, at, sequence);
CREATE INDEX logs_events_stream ON logs_events (group_id, stream, at, sequence);
