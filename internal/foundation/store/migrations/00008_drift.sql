-- Drift detection on stacks: its runs, and what the latest said of each resource.

-- +goose Up
CREATE TABLE stack_drift_detections (
    id TEXT NOT NULL PRIMARY KEY,
    stack_id TEXT NOT NULL,
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    stack_status TEXT NOT NULL,
    drifted BIGINT NOT NULL,
    resources TEXT NOT NULL,
    caller TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    row_version BIGINT NOT NULL
);
CREATE INDEX stack_drift_detections_of_stack ON stack_drift_detections (stack_id, started_at);
CREATE UNIQUE INDEX stack_drift_detections_running ON stack_drift_detections (stack_id) WHERE ended_at IS NULL;

CREATE TABLE stack_resource_drifts (
    stack_id TEXT NOT NULL,
    logical_id TEXT NOT NULL,
    physical_id TEXT NOT NULL,
    type TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    expected TEXT NOT NULL,
    actual TEXT NOT NULL,
    differences TEXT NOT NULL,
    checked_at BIGINT NOT NULL,
    PRIMARY KEY (stack_id, logical_id)
);
