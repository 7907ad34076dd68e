-- The modules that resources of stacks come from.

-- +goose Up
ALTER TABLE stack_deployments ADD COLUMN modules TEXT NOT NULL DEFAULT '';
ALTER TABLE stack_cleanup ADD COLUMN module TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE stack_cleanup DROP COLUMN module;
ALTER TABLE stack_deployments DROP COLUMN modules;
