-- Guard Hooks, beside Lambda Hooks.

-- +goose Up
ALTER TABLE lambda_hooks RENAME TO managed_hooks;
ALTER TABLE managed_hooks ADD COLUMN kind TEXT NOT NULL DEFAULT 'AWS::Hooks::LambdaHook';
ALTER TABLE managed_hooks ADD COLUMN rules TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE managed_hooks DROP COLUMN rules;
ALTER TABLE managed_hooks DROP COLUMN kind;
ALTER TABLE managed_hooks RENAME TO lambda_hooks;
