-- Stack refactors: what moves between stacks, and the stacks with the templates they are to have.

-- +goose Up
CREATE TABLE stack_refactors (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    execution_status TEXT NOT NULL,
    execution_reason TEXT NOT NULL,
    mappings TEXT NOT NULL,
    moves TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE INDEX stack_refactors_of_account ON stack_refactors (account, region, created_at);

CREATE TABLE stack_refactor_stacks (
    refactor_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    stack_id TEXT NOT NULL,
    name TEXT NOT NULL,
    arn TEXT NOT NULL,
    fresh BOOLEAN NOT NULL,
    deployment_id TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    PRIMARY KEY (refactor_id, position)
);
CREATE INDEX stack_refactor_stacks_of_stack ON stack_refactor_stacks (stack_id);
