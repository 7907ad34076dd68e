-- Rules of EventBridge.

-- +goose Up
CREATE TABLE event_rules (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    access_key TEXT NOT NULL,
    schedule TEXT NOT NULL,
    state TEXT NOT NULL,
    description TEXT NOT NULL,
    targets TEXT NOT NULL,
    next_at BIGINT,
    PRIMARY KEY (account, region, name)
);
