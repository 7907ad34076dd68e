-- +goose Up
CREATE TABLE types (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    default_version BIGINT,
    next_version BIGINT NOT NULL,
    deprecated BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE UNIQUE INDEX types_by_name ON types (account, region, kind, type_name);
CREATE INDEX types_in_order ON types (account, region, type_name, kind);

-- The long columns stand last: lists read the others without them.
CREATE TABLE type_versions (
    id TEXT NOT NULL PRIMARY KEY,
    type_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    deprecated BOOLEAN NOT NULL,
    package_hash TEXT NOT NULL,
    package_url TEXT NOT NULL,
    runtime TEXT NOT NULL,
    entrypoint TEXT NOT NULL,
    description TEXT NOT NULL,
    source_url TEXT NOT NULL,
    documentation_url TEXT NOT NULL,
    provisioning_type TEXT NOT NULL,
    execution_role TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    required_types TEXT NOT NULL,
    test_status TEXT NOT NULL,
    test_status_description TEXT NOT NULL,
    public_version TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL,
    configuration_schema TEXT NOT NULL,
    settings TEXT NOT NULL,
    schema TEXT NOT NULL
);
CREATE UNIQUE INDEX type_versions_by_number ON type_versions (type_id, version);
CREATE INDEX type_versions_by_package ON type_versions (package_hash);

CREATE TABLE registrations (
    token TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    version BIGINT NOT NULL,
    client_token TEXT,
    request_hash TEXT NOT NULL,
    package_url TEXT NOT NULL,
    package_hash TEXT NOT NULL,
    execution_role TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    status TEXT NOT NULL,
    stage TEXT NOT NULL,
    description TEXT NOT NULL,
    caller TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE UNIQUE INDEX registrations_by_client_token ON registrations (account, region, client_token);
CREATE INDEX registrations_in_order ON registrations (account, region, status, created_at, token);
CREATE INDEX registrations_by_type ON registrations (type_id, status);
CREATE INDEX registrations_by_package ON registrations (package_hash);

CREATE TABLE type_configurations (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_arn TEXT NOT NULL,
    alias TEXT NOT NULL,
    configuration TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, type_arn, alias)
);
