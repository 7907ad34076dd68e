-- +goose Up

-- What has to be looked at, and when. due is NULL while a worker runs and nothing new is
-- waiting; node names the running node; set_at is when it was set, so that one is recognized
-- that was set by a clock that has gone back since.
CREATE TABLE wakeups (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    due BIGINT,
    set_at BIGINT NOT NULL DEFAULT 0,
    node TEXT NOT NULL DEFAULT '',
    attempts BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT wakeups_pkey PRIMARY KEY (kind, id)
);
CREATE INDEX wakeups_due ON wakeups (node, due);

-- The processes that share the database; seen is by the database's clock.
CREATE TABLE nodes (
    id TEXT NOT NULL,
    seen BIGINT NOT NULL,
    CONSTRAINT nodes_pkey PRIMARY KEY (id)
);
