-- What a run of TestType writes down while it is under way: how far it is, and which resources
-- it has made and not yet deleted.

-- +goose Up
ALTER TABLE test_runs ADD COLUMN notes TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE test_runs DROP COLUMN notes;
