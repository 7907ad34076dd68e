-- Resources that were made in emulators, and the stacks by which it shows whether an emulator kept them.
-- Times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE delegated_resources (
    token TEXT NOT NULL PRIMARY KEY,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type_name TEXT COLLATE "C" NOT NULL,
    endpoint TEXT NOT NULL,
    emulator TEXT NOT NULL,
    stack_name TEXT NOT NULL,
    stack_id TEXT NOT NULL,
    stack TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    claim TEXT COLLATE "C" NOT NULL,
    physical_id TEXT COLLATE "C" NOT NULL,
    identifier TEXT COLLATE "C" NOT NULL,
    marker TEXT NOT NULL,
    stage TEXT NOT NULL,
    reason TEXT NOT NULL,
    kept TEXT NOT NULL,
    model TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX delegated_claims ON delegated_resources (endpoint, account, region, type_name, claim) WHERE claim <> '';
CREATE INDEX delegated_by_physical_id ON delegated_resources (account, region, type_name, physical_id);
CREATE INDEX delegated_by_identifier ON delegated_resources (account, region, type_name, identifier);

CREATE TABLE delegated_markers (
    id TEXT NOT NULL PRIMARY KEY,
    endpoint TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    state TEXT NOT NULL,
    resources BIGINT NOT NULL
);
CREATE INDEX delegated_markers_of_place ON delegated_markers (endpoint, account, region);

-- +goose Down
DROP TABLE delegated_markers;
DROP TABLE delegated_resources;
