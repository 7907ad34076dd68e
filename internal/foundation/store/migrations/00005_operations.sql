-- +goose Up
-- Operations on resources. request and event are JSON, sealed where the server has a key;
-- once an operation has ended, request is empty and event has no models.
CREATE TABLE operations (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    owner_key TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    action TEXT NOT NULL,
    type_name TEXT NOT NULL,
    token TEXT NOT NULL,
    status TEXT NOT NULL,
    phase TEXT NOT NULL,
    cancelled BOOLEAN NOT NULL,
    calls BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL,
    event TEXT NOT NULL,
    request TEXT NOT NULL
);
CREATE INDEX operations_by_token ON operations (token);
CREATE INDEX operations_ended ON operations (ended_at) WHERE ended_at IS NOT NULL;
