-- Requests to the providers of custom resources: what was sent, how often the function was invoked,
-- and the response. The URL of the response is authenticated by its signature, of which the hash is kept.

-- +goose Up
CREATE TABLE custom_requests (
    token TEXT NOT NULL PRIMARY KEY,
    signature_hash TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    status TEXT NOT NULL,
    invocation TEXT NOT NULL,
    failures BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    row_version BIGINT NOT NULL,
    request TEXT NOT NULL,
    response TEXT NOT NULL
);
CREATE UNIQUE INDEX custom_requests_by_signature ON custom_requests (signature_hash);
CREATE INDEX custom_requests_created ON custom_requests (created_at);
