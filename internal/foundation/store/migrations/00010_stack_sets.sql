-- Stack sets, their instances, operations and results.

-- +goose Up
CREATE TABLE stack_sets (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    live BOOLEAN NOT NULL,
    description TEXT NOT NULL,
    template TEXT NOT NULL,
    parameters TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    tags TEXT NOT NULL,
    admin_role TEXT NOT NULL,
    role TEXT NOT NULL,
    managed BOOLEAN NOT NULL,
    drift TEXT NOT NULL,
    client_token TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE UNIQUE INDEX stack_sets_by_name ON stack_sets (account, region, name) WHERE live;

CREATE TABLE stack_set_instances (
    set_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    stack_name TEXT NOT NULL,
    stack_arn TEXT NOT NULL,
    overrides TEXT NOT NULL,
    status TEXT NOT NULL,
    detailed_status TEXT NOT NULL,
    reason TEXT NOT NULL,
    drift_status TEXT NOT NULL,
    drift_at BIGINT,
    last_operation_id TEXT NOT NULL,
    PRIMARY KEY (set_id, account, region)
);
CREATE INDEX stack_set_instances_by_stack ON stack_set_instances (stack_arn) WHERE stack_arn <> '';

CREATE TABLE stack_set_operations (
    set_id TEXT NOT NULL,
    id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    action TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    input TEXT NOT NULL,
    admin_role TEXT NOT NULL,
    role TEXT NOT NULL,
    drift TEXT NOT NULL,
    caller TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL,
    PRIMARY KEY (set_id, id)
);

CREATE TABLE stack_set_results (
    set_id TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    position BIGINT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    handle TEXT NOT NULL,
    stack_arn TEXT NOT NULL,
    PRIMARY KEY (set_id, operation_id, account, region)
);
CREATE INDEX stack_set_results_by_stack ON stack_set_results (stack_arn) WHERE stack_arn <> '';
