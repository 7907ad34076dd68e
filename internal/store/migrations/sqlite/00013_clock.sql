-- +goose Up
-- set_at is when a wake-up was set, so that one is recognized that was set by a clock that has
-- gone back since.
ALTER TABLE wakeups ADD COLUMN set_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE wakeups DROP COLUMN set_at;
