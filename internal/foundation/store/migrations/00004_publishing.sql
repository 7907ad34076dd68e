-- +goose Up
CREATE TABLE publishers (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    publisher_id TEXT COLLATE "C" NOT NULL,
    identity_provider TEXT NOT NULL,
    connection_arn TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, region)
);
CREATE UNIQUE INDEX publishers_by_id ON publishers (region, publisher_id);

CREATE TABLE publications (
    id TEXT NOT NULL PRIMARY KEY,
    region TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    publisher_id TEXT COLLATE "C" NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    major BIGINT NOT NULL,
    minor BIGINT NOT NULL,
    patch BIGINT NOT NULL,
    latest BOOLEAN NOT NULL,
    source_id TEXT NOT NULL,
    account TEXT NOT NULL,
    version BIGINT NOT NULL,
    schema TEXT NOT NULL,
    package_hash TEXT NOT NULL,
    package_url TEXT NOT NULL,
    runtime TEXT NOT NULL,
    entrypoint TEXT NOT NULL,
    description TEXT NOT NULL,
    source_url TEXT NOT NULL,
    documentation_url TEXT NOT NULL,
    provisioning_type TEXT NOT NULL,
    configuration_schema TEXT NOT NULL,
    required_types TEXT NOT NULL,
    settings TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX publications_by_number ON publications (region, kind, publisher_id, type_name, number);
CREATE UNIQUE INDEX publications_by_version ON publications (region, kind, publisher_id, type_name, major, minor, patch);
CREATE UNIQUE INDEX publications_by_source ON publications (source_id);
CREATE INDEX publications_in_order ON publications (region, latest, type_name, kind, publisher_id);
CREATE INDEX publications_by_package ON publications (package_hash);

CREATE TABLE activations (
    account TEXT COLLATE "C" NOT NULL,
    region TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    publisher_id TEXT COLLATE "C" NOT NULL,
    original_type_name TEXT COLLATE "C" NOT NULL,
    publication_id TEXT NOT NULL,
    auto_update BOOLEAN NOT NULL,
    execution_role TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL,
    PRIMARY KEY (account, region, kind, type_name)
);
CREATE INDEX activations_in_order ON activations (account, region, type_name, kind);
CREATE INDEX activations_of_type ON activations (region, kind, publisher_id, original_type_name, account, type_name);
CREATE INDEX activations_of_publication ON activations (publication_id);

-- notes is what a run writes down while it is under way: how far it is, and which resources it
-- has made and not yet deleted.
CREATE TABLE test_runs (
    id TEXT NOT NULL PRIMARY KEY,
    source_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    status TEXT NOT NULL,
    description TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    bucket TEXT NOT NULL,
    delivery TEXT NOT NULL,
    caller TEXT NOT NULL,
    passed BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    report_hash TEXT NOT NULL,
    notes TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE INDEX test_runs_of_type ON test_runs (account, region, kind, type_name, started_at);
CREATE INDEX test_runs_in_order ON test_runs (account, region, started_at);
CREATE INDEX test_runs_of_source ON test_runs (source_id, status);
CREATE INDEX test_runs_by_report ON test_runs (report_hash);

CREATE TABLE handler_progress (
    token_hash TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    status TEXT NOT NULL,
    error_code TEXT NOT NULL,
    message TEXT NOT NULL,
    model TEXT NOT NULL,
    client_token TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE INDEX handler_progress_by_expiry ON handler_progress (expires_at);
