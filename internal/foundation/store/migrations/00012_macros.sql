-- Macros of templates. Times are microseconds since 1970, UTC.

-- +goose Up
CREATE TABLE macros (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    function TEXT NOT NULL,
    description TEXT NOT NULL,
    log_group TEXT NOT NULL,
    log_role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, name)
);
