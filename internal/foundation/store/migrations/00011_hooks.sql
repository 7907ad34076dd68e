-- Hooks: evaluations of targets, the results of the hooks that were invoked for them, and the
-- Lambda Hooks and Guard Hooks of templates. Times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE hook_evaluations (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    owner_key TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    state TEXT NOT NULL,
    details TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE INDEX hook_evaluations_ended ON hook_evaluations (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE hook_results (
    id TEXT NOT NULL PRIMARY KEY,
    evaluation_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_name TEXT NOT NULL,
    type_arn TEXT NOT NULL,
    version TEXT NOT NULL,
    original_type_name TEXT NOT NULL,
    configuration_version TEXT NOT NULL,
    failure_mode TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    annotations TEXT NOT NULL,
    skips_stack BOOLEAN NOT NULL,
    target_kind TEXT NOT NULL,
    target_name TEXT NOT NULL,
    target_id TEXT NOT NULL,
    action TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    change_set_id TEXT NOT NULL,
    execution_target TEXT NOT NULL,
    invoked_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX hook_results_of_evaluation ON hook_results (evaluation_id);
CREATE INDEX hook_results_in_order ON hook_results (account, region, invoked_at);
CREATE INDEX hook_results_of_stack ON hook_results (stack_id, invoked_at);
CREATE INDEX hook_results_of_target ON hook_results (target_id);

CREATE TABLE managed_hooks (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    alias TEXT NOT NULL,
    kind TEXT NOT NULL,
    function TEXT NOT NULL,
    role TEXT NOT NULL,
    configuration TEXT NOT NULL,
    rules TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, alias)
);
