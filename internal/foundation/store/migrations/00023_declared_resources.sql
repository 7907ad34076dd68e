-- The resources of the template of a deployment, by logical id: what is shown of them without reading it.

-- +goose Up
ALTER TABLE stack_deployments ADD COLUMN resources TEXT NOT NULL DEFAULT '';
