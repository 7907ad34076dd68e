-- Requests of the Cloud Control API. model is JSON without write-only properties, sealed
-- where the server has a key. Times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE resource_requests (
    token TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    client_token TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    type_name TEXT NOT NULL,
    identifier TEXT NOT NULL,
    status TEXT NOT NULL,
    error_code TEXT NOT NULL,
    message TEXT NOT NULL,
    model TEXT NOT NULL,
    write_only TEXT NOT NULL,
    hooks_token TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    event_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE UNIQUE INDEX resource_requests_by_client_token ON resource_requests (account, region, client_token);
CREATE INDEX resource_requests_in_order ON resource_requests (account, region, created_at);
CREATE INDEX resource_requests_running ON resource_requests (account, region, type_name, identifier) WHERE ended_at IS NULL;
CREATE INDEX resource_requests_ended ON resource_requests (ended_at) WHERE ended_at IS NOT NULL;
