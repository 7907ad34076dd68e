-- Which operation a call of a handler belongs to, and on which resource: the calls of one
-- operation have one client request token.

-- +goose Up
ALTER TABLE invocations ADD COLUMN token TEXT NOT NULL DEFAULT '';
ALTER TABLE invocations ADD COLUMN identifier TEXT NOT NULL DEFAULT '';
ALTER TABLE invocations ADD COLUMN stack_id TEXT NOT NULL DEFAULT '';
ALTER TABLE invocations ADD COLUMN logical_id TEXT NOT NULL DEFAULT '';
CREATE INDEX invocations_of_operation ON invocations (token, started_at);
CREATE INDEX invocations_of_stack ON invocations (stack_id, started_at);

-- +goose Down
DROP INDEX invocations_of_operation;
DROP INDEX invocations_of_stack;
ALTER TABLE invocations DROP COLUMN token;
ALTER TABLE invocations DROP COLUMN identifier;
ALTER TABLE invocations DROP COLUMN stack_id;
ALTER TABLE invocations DROP COLUMN logical_id;
