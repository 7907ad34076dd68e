-- State machines of Step Functions and their executions.

-- +goose Up
CREATE TABLE state_machines (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    type TEXT NOT NULL,
    role_arn TEXT NOT NULL,
    model TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, name)
);

CREATE TABLE state_executions (
    arn TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    machine TEXT NOT NULL,
    name TEXT NOT NULL,
    access_key TEXT NOT NULL,
    status TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts TEXT NOT NULL,
    steps BIGINT NOT NULL,
    next_at BIGINT,
    started_at BIGINT NOT NULL,
    stopped_at BIGINT,
    row_version BIGINT NOT NULL,
    definition TEXT NOT NULL,
    input TEXT NOT NULL,
    data TEXT NOT NULL,
    error TEXT NOT NULL,
    cause TEXT NOT NULL
);
CREATE INDEX state_executions_by_machine ON state_executions (account, region, machine, started_at, arn);
CREATE INDEX state_executions_ended ON state_executions (stopped_at) WHERE stopped_at IS NOT NULL;
