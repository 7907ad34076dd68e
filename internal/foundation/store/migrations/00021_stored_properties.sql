-- The properties of resources of built-in types that the services of this server do not have. They are
-- stored and read back, without effect.

-- +goose Up
CREATE TABLE stored_properties (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    properties TEXT NOT NULL,
    PRIMARY KEY (account, region, type, id)
);
