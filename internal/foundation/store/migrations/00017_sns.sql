-- Topics of SNS, the functions that subscribe to them, and what is to be delivered.

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

-- What a function is still to be invoked with.
CREATE TABLE sns_deliveries (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    access_key TEXT NOT NULL,
    event TEXT NOT NULL
);
CREATE INDEX sns_deliveries_in_order ON sns_deliveries (subscription, seq);
