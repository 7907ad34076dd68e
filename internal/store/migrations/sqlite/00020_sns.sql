-- Topics of SNS and the functions that subscribe to them.

-- +goose Up
CREATE TABLE sns_topics (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (account, region, name)
);

CREATE TABLE sns_subscriptions (
    account TEXT NOT NULL,
    region TEXT NOT NULL,
    topic TEXT NOT NULL,
    id TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    PRIMARY KEY (account, region, topic, id)
);
CREATE UNIQUE INDEX sns_subscriptions_by_endpoint ON sns_subscriptions (account, region, topic, endpoint);

-- +goose Down
DROP TABLE sns_subscriptions;
DROP TABLE sns_topics;
