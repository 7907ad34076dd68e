-- +goose Up
CREATE TABLE stacks (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    arn TEXT NOT NULL,
    live BOOLEAN NOT NULL,
    status TEXT NOT NULL,
    detailed_status TEXT NOT NULL,
    reason TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    deployment_id TEXT NOT NULL,
    stable_deployment_id TEXT NOT NULL,
    change_set_id TEXT NOT NULL,
    role_arn TEXT NOT NULL,
    settings TEXT NOT NULL,
    protected BOOLEAN NOT NULL,
    outputs TEXT NOT NULL,
    policy TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    drift TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    deleted_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE UNIQUE INDEX stacks_live ON stacks (account, region, name) WHERE live;
CREATE UNIQUE INDEX stacks_by_arn ON stacks (arn);
CREATE INDEX stacks_in_order ON stacks (account, region, created_at, id);
CREATE INDEX stacks_of_parent ON stacks (parent_id);

CREATE TABLE stack_deployments (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    original TEXT NOT NULL,
    processed TEXT NOT NULL,
    parameters TEXT NOT NULL,
    tags TEXT NOT NULL,
    capabilities TEXT NOT NULL,
    notification_arns TEXT NOT NULL,
    modules TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX stack_deployments_of_stack ON stack_deployments (stack_id);

CREATE TABLE stack_operations (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    client_token TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    options TEXT NOT NULL,
    deployment_id TEXT NOT NULL,
    change_set_id TEXT NOT NULL,
    cancelled BOOLEAN NOT NULL,
    caller TEXT NOT NULL,
    deadline BIGINT,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE INDEX stack_operations_of_stack ON stack_operations (stack_id, started_at);

CREATE TABLE stack_resources (
    stack_id TEXT NOT NULL,
    logical_id TEXT COLLATE "C" NOT NULL,
    type TEXT NOT NULL,
    type_version TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    properties TEXT NOT NULL,
    model TEXT NOT NULL,
    metadata TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    deletion_policy TEXT NOT NULL,
    update_replace_policy TEXT NOT NULL,
    references_hash TEXT NOT NULL,
    shown TEXT NOT NULL,
    origin TEXT NOT NULL,
    drift TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (stack_id, logical_id)
);
CREATE INDEX stack_resources_by_physical_id ON stack_resources (physical_id);

CREATE TABLE stack_cleanup (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    type TEXT NOT NULL,
    type_version TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    properties TEXT NOT NULL,
    model TEXT NOT NULL,
    depends_on TEXT NOT NULL,
    policy TEXT NOT NULL,
    module TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX stack_cleanup_of_stack ON stack_cleanup (stack_id, logical_id);

CREATE TABLE stack_steps (
    id TEXT NOT NULL PRIMARY KEY,
    operation_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    cleanup_id TEXT NOT NULL,
    plan TEXT NOT NULL,
    action TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    properties TEXT NOT NULL,
    pending TEXT NOT NULL,
    call_id TEXT NOT NULL,
    seen BOOLEAN NOT NULL,
    started_at BIGINT,
    ended_at BIGINT
);
CREATE UNIQUE INDEX stack_steps_of_operation ON stack_steps (operation_id, stage, logical_id, cleanup_id);
CREATE INDEX stack_steps_unseen ON stack_steps (operation_id, seen);

CREATE TABLE stack_events (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    client_token TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    detailed_status TEXT NOT NULL,
    properties TEXT NOT NULL,
    details TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX stack_events_of_stack ON stack_events (stack_id, seq);
CREATE INDEX stack_events_of_operation ON stack_events (operation_id, seq);

CREATE TABLE stack_exports (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    stack_id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (account, region, name)
);
CREATE INDEX stack_exports_of_stack ON stack_exports (stack_id);

CREATE TABLE stack_imports (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    PRIMARY KEY (account, region, name, stack_id)
);
CREATE INDEX stack_imports_of_stack ON stack_imports (stack_id);

CREATE TABLE stack_signals (
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    unique_id TEXT NOT NULL,
    status TEXT NOT NULL,
    data TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (stack_id, logical_id, unique_id)
);

CREATE TABLE change_sets (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    arn TEXT NOT NULL,
    live BOOLEAN NOT NULL,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    execution_status TEXT NOT NULL,
    reason TEXT NOT NULL,
    description TEXT NOT NULL,
    client_token TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    options TEXT NOT NULL,
    deployment_id TEXT NOT NULL,
    plan TEXT NOT NULL,
    parent_id TEXT NOT NULL,
    root_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL
);
CREATE UNIQUE INDEX change_sets_live ON change_sets (stack_id, name) WHERE live;
CREATE UNIQUE INDEX change_sets_by_arn ON change_sets (arn);
CREATE INDEX change_sets_of_stack ON change_sets (stack_id, created_at);
CREATE INDEX change_sets_of_root ON change_sets (root_id) WHERE live;
