-- Published schemas and the simulated resources of their types. Times are microseconds
-- since 1970, UTC.

-- +goose Up
CREATE TABLE published_types (
    type_name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash TEXT NOT NULL,
    imported_at BIGINT NOT NULL,
    schema TEXT NOT NULL
);

CREATE TABLE simulated_resources (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    identifier TEXT COLLATE "C" NOT NULL,
    token TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    model TEXT NOT NULL,
    PRIMARY KEY (account, region, type_name, identifier)
);

-- What no two resources of a type may share beside the primary identifier.
CREATE TABLE simulated_keys (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    identifier_key TEXT COLLATE "C" NOT NULL,
    identifier TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (account, region, type_name, identifier_key)
);
CREATE INDEX simulated_keys_of_resource ON simulated_keys (account, region, type_name, identifier);
