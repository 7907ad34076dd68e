-- +goose Up
-- River carried the wake-ups once; the nodes claim them themselves now. due is NULL while a
-- worker runs and nothing new is waiting; node names the running node.
DROP INDEX wakeups_due;
ALTER TABLE wakeups DROP COLUMN queued;
CREATE INDEX wakeups_due ON wakeups (node, due);
DROP TABLE IF EXISTS river_client_queue;
DROP TABLE IF EXISTS river_client;
DROP TABLE IF EXISTS river_job;
DROP TABLE IF EXISTS river_leader;
DROP TABLE IF EXISTS river_queue;
DROP TABLE IF EXISTS river_migration;

-- +goose Down
DROP INDEX wakeups_due;
ALTER TABLE wakeups ADD COLUMN queued BIGINT NOT NULL DEFAULT 0;
CREATE INDEX wakeups_due ON wakeups (node, queued, due);
