-- The functions that stacks deploy, and the roles and permissions around them: a model by type and
-- identifier, and of functions the blob with the code. The region of what is global is empty.

-- +goose Up
CREATE TABLE deployed_resources (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    type TEXT NOT NULL,
    id TEXT NOT NULL,
    code_hash TEXT NOT NULL,
    model TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, type, id)
);
CREATE INDEX deployed_resources_by_code ON deployed_resources (code_hash) WHERE code_hash <> '';
