-- What handlers were asked and answered, for a while. Secrets are removed before a row is
-- written. Times are microseconds since 1970, durations microseconds.

-- +goose Up
CREATE TABLE invocations (
    id TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    kind TEXT NOT NULL,
    type_name TEXT NOT NULL,
    version TEXT NOT NULL,
    action TEXT NOT NULL,
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

-- +goose Down
DROP TABLE invocations;
