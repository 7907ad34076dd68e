-- What handlers were asked and answered, for a while. The calls of one operation have one client
-- request token. Secrets are removed before a row is written. Times are microseconds since 1970,
-- durations microseconds.

-- +goose Up
CREATE TABLE invocations (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    version TEXT NOT NULL,
    action TEXT NOT NULL,
    token TEXT NOT NULL,
    identifier TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    request TEXT NOT NULL,
    reply TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_stream TEXT NOT NULL,
    duration BIGINT NOT NULL,
    started_at BIGINT NOT NULL
);
CREATE INDEX invocations_of_type ON invocations (account, region, kind, type_name, started_at);
CREATE INDEX invocations_in_order ON invocations (started_at);
CREATE INDEX invocations_of_operation ON invocations (token, started_at);
CREATE INDEX invocations_of_stack ON invocations (stack_id, started_at);
